# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot is: its description, its joints, the bodies that equations see."""
