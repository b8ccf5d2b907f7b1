# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Slow textbook loops and samplers of robots, for comparison only."""
