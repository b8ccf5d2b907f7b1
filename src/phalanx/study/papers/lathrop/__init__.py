# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lathrop 1985: parallelism in Newton–Euler inverse dynamics."""
