# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forward dynamics: joint accelerations from joint forces."""

from . import aba as aba
from . import abia as abia
from . import cfa as cfa
from . import contraction as contraction
from . import dca as dca
from . import jsiia as jsiia
from . import partition as partition
