# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The quantities that rows of the data files name; importing this package registers them."""

from . import arm, array, doubling, factors, forms, forward, machines, operations, orders, timing, vectors

__all__ = [
    "arm",
    "array",
    "doubling",
    "factors",
    "forms",
    "forward",
    "machines",
    "operations",
    "orders",
    "timing",
    "vectors",
]
