# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The computed side: named quantities, each a function of what a row of a data file gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Quantity = Callable[..., Any]

QUANTITIES: dict[str, Quantity] = {}
_OF_PRINT: set[str] = set()  # quantities that take nothing but printed figures


def quantity(function: Quantity) -> Quantity:
    """Register a function under its own name; its docstring tells how the value comes about."""
    QUANTITIES[function.__name__] = function
    return function


def arithmetic_of_print(function: Quantity) -> Quantity:
    """Register a quantity that only calculates with printed figures: no algorithm runs for it."""
    _OF_PRINT.add(function.__name__)
    return quantity(function)


def is_arithmetic_of_print(name: str) -> bool:
    """Whether the quantity of that name compares print with print."""
    return name in _OF_PRINT


def find(name: str) -> Quantity:
    """The quantity of that name."""
    return QUANTITIES[name]


def how(name: str) -> str:
    """Where the value of a quantity comes from, in one line."""
    return (find(name).__doc__ or "").strip().split("\n")[0]
