# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Formulas in the number of joints, as papers print them: exact, and compared term by term."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
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
    """A sum of rational multiples of `TERMS`; absent terms are zero."""

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
    """Parse a formula such as `39/2n^2+195/2n-95` or `2K+5`."""
    found: dict[str, Fraction] = {}
    compact, at = text.replace(" ", ""), 0
    while at < len(compact):
        match = _TERM.match(compact, at)
        if match is None or match.end() == at or not (match[2] or match[3]):
            raise PhalanxError(f"papers: cannot read the formula {text!r} from {compact[at:]!r} on.")
        term = match[3] or "1"
        value = Fraction(match[2] or 1) * (-1 if match[1] == "-" else 1)
        found[term] = found.get(term, Fraction(0)) + value
        at = match.end()
    return formula(found)


Delay = tuple[int, int]  # multiplications, additions

# What vector operations take when all coordinates are computed at once.
DELAYS: dict[str, Delay] = {"VA": (0, 1), "SV": (1, 0), "VC": (1, 1), "MV": (1, 2)}
_TOKEN = re.compile(r"max\(|[(),+]|\d*[A-Z]{2}|[a-z]")


@dataclass(frozen=True)
class Instant:
    """The latest of events (symbol, multiplications, additions); dominated ones are left out."""

    events: frozenset[tuple[str, int, int]]

    def after(self, delay: Delay) -> Instant:
        """This instant, delayed by `delay`: (multiplications, additions)."""
        return Instant(frozenset((s, m + delay[0], a + delay[1]) for s, m, a in self.events))

    def __str__(self) -> str:
        texts = [s + _shown(m, a) for s, m, a in sorted(self.events)]
        return texts[0] if len(texts) == 1 else f"max({', '.join(texts)})"

    __repr__ = __str__


def latest(instants: Iterable[Instant]) -> Instant:
    """The latest of several instants."""
    events = {e for instant in instants for e in instant.events}
    return Instant(
        frozenset(
            e
            for e in events
            if not any(o != e and o[0] == e[0] and o[1] >= e[1] and o[2] >= e[2] for o in events)
        )
    )


def symbol(name: str) -> Instant:
    """The instant of that name itself."""
    return Instant(frozenset({(name, 0, 0)}))


def parse_instant(text: str) -> Instant:
    """Parse an instant such as `max(b, a+VC+VA)+MV`."""
    compact = text.replace(" ", "")
    tokens = _TOKEN.findall(compact)
    try:
        value, rest = _sum(tokens)
    except (IndexError, KeyError, ValueError):
        value, rest = Instant(frozenset()), ["?"]
    if rest or "".join(tokens) != compact:
        raise PhalanxError(f"papers: cannot read the instant {text!r}.")
    return value


def _sum(tokens: list[str]) -> tuple[Instant, list[str]]:
    head, rest = tokens[0], tokens[1:]
    if head == "max(":
        parts = []
        while True:
            part, rest = _sum(rest)
            parts.append(part)
            closing, rest = rest[0], rest[1:]
            if closing == ")":
                break
        value = latest(parts)
    else:
        value = _named(head)
    while rest[:1] == ["+"]:
        times, name = int(rest[1][:-2] or 1), rest[1][-2:]
        multiplications, additions = DELAYS[name]
        value, rest = value.after((times * multiplications, times * additions)), rest[2:]
    return value, rest


def _shown(multiplications: int, additions: int) -> str:
    counts = ((multiplications, "m"), (additions, "a"))
    delay = " ".join(f"{count}{letter}" for count, letter in counts if count)
    return f" + {delay}" if delay else ""


def _named(token: str) -> Instant:
    if not token.isalpha() or not token.islower():
        raise ValueError(token)
    return symbol(token)
