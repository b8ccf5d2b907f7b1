# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Zomaya and Morris 1989: semi-customised Newton–Euler on transputers."""
