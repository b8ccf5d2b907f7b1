# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pages with the robot, its costs and its schedules."""
