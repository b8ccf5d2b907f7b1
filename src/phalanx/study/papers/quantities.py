# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The computed side: named quantities, each a function of what a row of a data file gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ..fitting import fit
from .printed_formulas import PrintedFormula, formula, parse

Quantity = Callable[..., Any]

QUANTITIES: dict[str, Quantity] = {}
_OF_PRINT: set[str] = set()  # quantities that take nothing but printed figures


def quantity(function: Quantity) -> Quantity:
    """Register a function under its own name; its docstring says how the value is computed."""
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


def fitted(values: Mapping[int, int], levels: str = "n") -> PrintedFormula | str:
    """The formula of counted values, verified on more of them than it has terms; else the values."""
    found = fit(values, levels)
    if found is None:
        return "no formula: " + ", ".join(f"{v} at {n}" for n, v in values.items())
    level = "K" if levels == "n+1" else "L"
    return formula({level if term == "L" else term: c for term, c in found.coefficients.items()})


@arithmetic_of_print
def formula_at(formulas: Sequence[str], n: int) -> tuple[int | Fraction, ...]:
    """the printed formula evaluated"""
    return tuple(whole(parse(text)(n)) for text in formulas)


@arithmetic_of_print
def formula_over(
    formulas: Sequence[str], divisor: str, n: int | None = None
) -> tuple[PrintedFormula | int, ...]:
    """the printed formula divided and rounded"""
    parts = [parse(text) for text in formulas]
    if n is not None:
        return tuple(round(part(n) / Fraction(divisor)) for part in parts)
    return tuple(_rounded(part / Fraction(divisor)) for part in parts)


def _rounded(part: PrintedFormula) -> PrintedFormula:
    return formula({term: round(c) for term, c in part.coefficients.items()})


def whole(value: Fraction) -> int | Fraction:
    """The value as an integer if it is one."""
    return int(value) if value.denominator == 1 else value


def at_sizes(values: Mapping[int, Any], shown: str = "{}") -> str:
    """Values over the number of joints in words."""
    return ", ".join(f"{shown.format(value)} at n = {n}" for n, value in values.items())
