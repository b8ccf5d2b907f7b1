# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The quantities that rows of the data files name; importing this module registers them."""

from .band_sparsity import factors, forward
from .common import forms, growth, operations
from .kane import array
from .lathrop import pipelines, timing, vectors
from .recursive_doubling import doubling_levels
from .zomaya_morris import arm

__all__ = [
    "arm",
    "array",
    "doubling_levels",
    "factors",
    "forms",
    "forward",
    "growth",
    "operations",
    "pipelines",
    "timing",
    "vectors",
]
