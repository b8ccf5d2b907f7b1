# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Chains cut into segments: one link stands for all, one segment for all segments."""
