# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Amin-Javaheri and Orin 1989: the inertia matrix by recursive doubling."""
