# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One robot compiled to SIMD machine code, called as a NumPy generalized ufunc."""
