# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The verbs that walk over a robot's bodies (verbs.py), and the orders in which they run (orders/)."""
