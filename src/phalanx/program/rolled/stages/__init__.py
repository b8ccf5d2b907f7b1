# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Stages of a rolled program: each builds its statements, one after another."""
