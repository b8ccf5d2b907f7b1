# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Counts as exact functions of the number of joints, in the basis 1, n, n^2, n^3, L, nL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

# L = ceil(log2 n), or ceil(log2(n+1)) where a paper's base or tip is one more element.
BASIS = ("n^3", "n^2", "nL", "n", "L", "1")
# Smaller ones first: a form takes no more terms than it needs.
_BASES = (
    ("1",),
    ("n", "1"),
    ("L", "1"),
    ("n^2", "n", "1"),
    ("n", "L", "1"),
    ("n^3", "n^2", "n", "1"),
    ("nL", "n", "L", "1"),
    ("n^2", "nL", "n", "1"),
    ("n^2", "nL", "n", "L", "1"),
    BASIS,
)
FURTHER = 2  # sizes that must verify a form beyond those it was fitted on


@dataclass(frozen=True)
class FittedFormula:
    """A count as a function of n: exact coefficients, and the sizes it was fitted and verified on."""

    coefficients: Mapping[str, Fraction]
    levels: str  # L is ceil(log2 of this)
    fitted: tuple[int, ...]
    verified: tuple[int, ...]
    exceptions: tuple[int, ...] = ()  # sizes that were tried and do not follow the formula

    def __call__(self, n: int) -> Fraction:
        return sum((c * _term(t, n, self.levels) for t, c in self.coefficients.items()), Fraction(0))

    def __getitem__(self, term: str) -> Fraction:
        """The coefficient of a term of the basis."""
        return self.coefficients.get(term, Fraction(0))

    def __str__(self) -> str:
        shown = ""
        for term in BASIS:
            c = self[term]
            if c:
                shown += (" - " if c < 0 else " + ") if shown else "-" * (c < 0)
                shown += _shown_term(abs(c), term)
        return shown or "0"


def fit(values: Mapping[int, int], levels: str = "n") -> FittedFormula | None:
    """The formula that gives these values, or None.

    The first sizes determine the coefficients, all others verify them. Where no form meets every size,
    the smallest ones (up to 3) may be exceptions, and powers of two, where trees close a level early.
    """
    sizes = sorted(values)
    without = [(), *(tuple(s for s in sizes if s < start) for start in (2, 3, 4))]
    powers = tuple(s for s in sizes if s & (s - 1) == 0)
    without += [tuple(sorted({*few, *powers})) for few in without]
    for exceptions in without:
        regular = [s for s in sizes if s not in exceptions]
        for terms in _BASES:
            found = _fitted(regular, values, terms, levels)
            if found is not None:
                coefficients, fitted = found
                verified = tuple(s for s in regular if s not in fitted)
                wrong = tuple(s for s in exceptions if values[s] != _value(coefficients, terms, s, levels))
                nonzero = {t: c for t, c in zip(terms, coefficients, strict=True) if c}
                return FittedFormula(nonzero, levels, fitted, verified, wrong)
    return None


def _fitted(
    sizes: Sequence[int], values: Mapping[int, int], terms: tuple[str, ...], levels: str
) -> tuple[list[Fraction], tuple[int, ...]] | None:
    """Coefficients of the terms and the sizes that determine them, if all other sizes agree."""
    rows: list[list[Fraction]] = []  # in echelon form, each with its right-hand side
    used: list[int] = []
    for n in sizes:
        if len(rows) == len(terms):
            break
        row = [*(Fraction(_term(t, n, levels)) for t in terms), Fraction(values[n])]
        for other in rows:
            pivot = _pivot(other)
            row = [x - row[pivot] * y for x, y in zip(row, other, strict=True)]
        if any(row[:-1]):
            pivot = _pivot(row)
            row = [x / row[pivot] for x in row]
            rows = [[x - other[pivot] * y for x, y in zip(other, row, strict=True)] for other in rows]
            rows.append(row)
            used.append(n)
    if len(rows) < len(terms) or len(sizes) < len(terms) + FURTHER:
        return None
    solution = {_pivot(row): row[-1] for row in rows}
    coefficients = [solution[k] for k in range(len(terms))]
    if any(_value(coefficients, terms, n, levels) != values[n] for n in sizes):
        return None
    return coefficients, tuple(used)


def _pivot(row: list[Fraction]) -> int:
    return next(k for k, x in enumerate(row) if x)


def _value(coefficients: Sequence[Fraction], terms: Sequence[str], n: int, levels: str) -> Fraction:
    return sum((c * _term(t, n, levels) for t, c in zip(terms, coefficients, strict=True)), Fraction(0))


def _term(term: str, n: int, levels: str) -> int:
    log = (n if levels == "n+1" else n - 1).bit_length()
    return {"1": 1, "n": n, "n^2": n * n, "n^3": n**3, "L": log, "nL": n * log}[term]


def _shown_term(c: Fraction, term: str) -> str:
    if term == "1":
        return str(c)
    if c == 1:
        return term
    return f"{c}{term}" if c.denominator == 1 else f"{c} {term}"
