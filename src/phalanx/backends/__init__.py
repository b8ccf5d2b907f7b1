# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machines that run the equations; each is imported only when it is asked for."""
