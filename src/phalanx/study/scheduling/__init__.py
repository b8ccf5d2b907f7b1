# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Tasks of a program placed on the processors of a machine, and the proof that they fit."""
