# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What an algorithm costs on a robot, how it runs on p processors, and which one to take."""
