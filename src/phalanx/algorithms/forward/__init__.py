# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics: joint accelerations from joint forces."""

from . import aba as aba
from . import jsiia as jsiia
