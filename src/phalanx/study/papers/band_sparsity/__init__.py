# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Yang, Wu and Pan 2017: forward dynamics by band sparsity."""
