# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Analyses: functions from a program to a fact about it."""
