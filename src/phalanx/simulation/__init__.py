# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whole rollouts inside one kernel: a step, law and surroundings included, traced once, looped over time."""
