# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sweeps on a symbolic body: loop-carried values, matrices, eliminations, and how fields are indexed."""
