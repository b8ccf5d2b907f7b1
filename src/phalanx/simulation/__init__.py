# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whole rollouts inside one kernel: a step is traced once, law and surroundings included, and looped over time."""
