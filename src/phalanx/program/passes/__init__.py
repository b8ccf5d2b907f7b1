# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Passes: functions from a program to a program."""
