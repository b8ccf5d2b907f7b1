# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The equations on JAX: any device, derivatives, batches; sequential or in logarithmic depth."""
