# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The joint-space mass matrix, its inverse, and the inertia at a frame."""

from . import crba as crba

# The first algorithm to be registered is the default.
# isort: split
from . import composite_original as composite_original
from . import composite_variant as composite_variant
from . import kane_original as kane_original
from . import kane_variant as kane_variant
from . import newton_euler_original as newton_euler_original
from . import newton_euler_variant as newton_euler_variant
from . import operational_space as operational_space
from . import partition as partition
from . import processor_array as processor_array
from . import recursive_doubling as recursive_doubling
