# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules as pictures, pages and traces."""
