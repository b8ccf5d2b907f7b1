# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sweeps over a robot's bodies (`verbs`) and links (`links`), and the orders in which they run (`orders`)."""
