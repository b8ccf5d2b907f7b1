# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics: joint forces from joint accelerations."""

from . import bias as bias
from . import cartesian_tensor as cartesian_tensor
from . import newton_euler as newton_euler
from . import scan as scan
