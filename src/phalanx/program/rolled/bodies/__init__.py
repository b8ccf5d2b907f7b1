# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The symbolic body of a rolled program: its model, its joint, its link in Denavit-Hartenberg frames."""
