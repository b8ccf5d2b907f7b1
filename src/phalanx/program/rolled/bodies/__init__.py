# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The body that stands for all: its model, its joint, its link in Denavit-Hartenberg frames."""
