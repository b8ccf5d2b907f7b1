# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Formulas in the number of joints, as papers print them: exact, and compared term by term."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from ...errors import PhalanxError

# What a formula is made of; L and K are the levels of a tree over n and over n + 1 leaves.
TERMS: dict[str, Callable[[int], int]] = {
    "n^4": lambda n: n**4,
    "n^3": lambda n: n**3,
    "n^2": lambda n: n**2,
    "nL": lambda n: n * (n - 1).bit_length(),
    "n": lambda n: n,
    "L": lambda n: (n - 1).bit_length(),
    "K": lambda n: n.bit_length(),
    "1": lambda n: 1,
}
_TERM = re.compile(r"([+-]?)(?:(\d+(?:/\d+)?)\s*\*?\s*)?(n\^[234]|nL|n|L|K)?(?=[+-]|$)")


@dataclass(frozen=True, eq=False)
class PrintedFormula:
    """A sum of rational multiples of `TERMS`; terms that are not there are zero."""

    coefficients: Mapping[str, Fraction]

    def __call__(self, n: int) -> Fraction:
        return sum((c * TERMS[term](n) for term, c in self.coefficients.items()), Fraction(0))

    def __getitem__(self, term: str) -> Fraction:
        return self.coefficients.get(term, Fraction(0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrintedFormula) and all(self[term] == other[term] for term in TERMS)

    def __sub__(self, other: PrintedFormula) -> PrintedFormula:
        return formula({term: self[term] - other[term] for term in TERMS})

    def __truediv__(self, divisor: Fraction) -> PrintedFormula:
        return formula({term: c / divisor for term, c in self.coefficients.items()})

    def __neg__(self) -> PrintedFormula:
        return formula({term: -c for term, c in self.coefficients.items()})

    @property
    def leading(self) -> Fraction:
        """The coefficient of the fastest growing term."""
        return next((c for term in TERMS if (c := self[term])), Fraction(0))

    def __str__(self) -> str:
        texts = [(c < 0, _term(abs(c), term)) for term in TERMS if (c := self[term])]
        if not texts:
            return "0"
        first = f"{'-' if texts[0][0] else ''}{texts[0][1]}"
        return first + "".join(f" {'-' if negative else '+'} {text}" for negative, text in texts[1:])

    __repr__ = __str__


def _term(c: Fraction, term: str) -> str:
    """A multiple of a term: 48L, 39/2 n^2, n."""
    if term == "1":
        return str(c)
    return f"{'' if c == 1 else c}{' ' if c.denominator > 1 else ''}{term}"


def formula(coefficients: Mapping[str, Fraction | int]) -> PrintedFormula:
    """A formula of these coefficients, zeros dropped."""
    return PrintedFormula({term: Fraction(c) for term, c in coefficients.items() if c})


def parse(text: str) -> PrintedFormula:
    """The formula of a text such as `39/2n^2+195/2n-95` or `2K+5`."""
    found: dict[str, Fraction] = {}
    compact, place = text.replace(" ", ""), 0
    while place < len(compact):
        match = _TERM.match(compact, place)
        if match is None or match.end() == place or not (match[2] or match[3]):
            raise PhalanxError(f"papers: cannot read the formula {text!r} from {compact[place:]!r} on.")
        term = match[3] or "1"
        value = Fraction(match[2] or 1) * (-1 if match[1] == "-" else 1)
        found[term] = found.get(term, Fraction(0)) + value
        place = match.end()
    return formula(found)
