# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Analyses: functions from a program to a fact about it.

`count` has the operations of each block, `critical_path` the longest dependence, `cost` both for a call of a
user; `ranges` has an interval for each value, `traffic` the bytes that loads and stores move.
"""
