# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics: joint forces from joint accelerations."""

from . import bias as bias
from . import cartesian_tensor as cartesian_tensor
from . import lathrop as lathrop
from . import luh_walker_paul as luh_walker_paul
from . import newton_euler as newton_euler
from . import partition as partition
from . import scan as scan
from . import zomaya_morris as zomaya_morris
