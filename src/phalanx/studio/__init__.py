# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The page with the robot, its dynamics and its schedules: `phalanx studio`."""
