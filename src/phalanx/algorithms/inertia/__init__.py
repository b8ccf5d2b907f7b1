# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The joint-space mass matrix and its inverse."""

from . import crba as crba
