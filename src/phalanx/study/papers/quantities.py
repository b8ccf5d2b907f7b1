# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The computed side: named quantities, each a function of what a row of a data file gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Quantity = Callable[..., Any]

QUANTITIES: dict[str, Quantity] = {}


def quantity(function: Quantity) -> Quantity:
    """Register a function under its own name; its docstring tells how the value comes about."""
    QUANTITIES[function.__name__] = function
    return function


def find(name: str) -> Quantity:
    """The quantity of that name."""
    return QUANTITIES[name]


def how(name: str) -> str:
    """Where the value of a quantity comes from, in one line."""
    return (find(name).__doc__ or "").strip().split("\n")[0]
