# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""File formats of recordings: each reads into sources and writes parts."""
