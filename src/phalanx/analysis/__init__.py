# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What an algorithm costs on a robot, computed from its program."""
