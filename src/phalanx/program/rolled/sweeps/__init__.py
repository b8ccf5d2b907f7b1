# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sweeps of one body that stands for all, and the places where it finds values."""
