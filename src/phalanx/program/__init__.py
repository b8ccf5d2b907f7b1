# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Scalar programs: what the equations of one robot come down to."""
