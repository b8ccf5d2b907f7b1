# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A published figure next to the computed one, and what to say about the two."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .printed_formulas import PrintedFormula

EXACT = "exact"
ASSUMED = "exact under an assumption"
OF_PRINT = "arithmetic of the print"
NOT_PRINTED = "not printed"
# Of every verdict the kind, which is how it begins; the first that fits.
KINDS = (ASSUMED, EXACT, "within", "differs", OF_PRINT, NOT_PRINTED, "not computed")
CLOSE = 0.1  # relative deviations up to this are given as a percentage


@dataclass(frozen=True)
class Record:
    """One figure, formula or claim of a paper; `how` says where the computed side comes from."""

    paper: str
    source: str  # table, equation or figure
    item: str
    published: Any
    computed: Any
    verdict: str  # its kind first, then how much, why or on which assumption
    note: str
    unit: str
    how: str
    printed: bool = True  # False: not in the paper, but counted independently from its equations

    @property
    def kind(self) -> str:
        """The verdict without figures and reasons, one of these.

        - "exact", "within" (some percent), "differs": a printed figure and what the library computes;
        - "exact under an assumption": the same, with a figure that the paper does not give;
        - "arithmetic of the print": both sides follow from printed figures, no algorithm ran;
        - "not printed": the other side is no figure of the paper, but counted from its equations elsewhere;
        - "not computed": a package is missing.
        """
        return next(kind for kind in KINDS if self.verdict.startswith(kind))

    @property
    def exact(self) -> bool:
        """Whether a printed figure is the computed one, without any assumption."""
        return self.kind == EXACT

    @property
    def agrees(self) -> bool:
        """Whether both sides are the same, whatever the kind of the row."""
        return self.kind in (EXACT, ASSUMED) or self.verdict.endswith(": agrees")

    @property
    def differs(self) -> bool:
        """Whether the two sides differ by more than a few percent, whatever the kind of the row."""
        return "differs:" in self.verdict

    def __str__(self) -> str:
        """The record as sentences."""
        words = f"{self.item}: {shown(self.published)} {'published' if self.printed else 'counted elsewhere'}"
        if isinstance(self.computed, Claim):
            words += f"; {'it holds' if self.computed.holds else 'it does not hold'}: {self.computed.figures}"
            why = self.verdict.partition(f"{self.computed.figures}. ")[2]
            return f"{words}.{f' {why}' if why else ''}"
        if self.computed is None:
            return f"{words}; {self.verdict}."
        if self.agrees:
            return f"{words} and computed{'' if self.exact else f'; {self.verdict}'}."
        return f"{words}, {shown(self.computed)} computed; {self.verdict.removesuffix('.')}."

    def __repr__(self) -> str:
        return f"<Record of {self.paper}, {self.source}: {self}>"


@dataclass(frozen=True)
class Claim:
    """Whether a statement holds, and the figures that show it."""

    holds: bool
    figures: str

    def __str__(self) -> str:
        return f"{'holds' if self.holds else 'does not hold'}: {self.figures}"


def verdict(published: Any, computed: Any, why: str = "", unit: str = "") -> str:
    """What to say about two values: numbers, formulas, words, claims or rows of them.

    `why` explains a difference that is known; what differs follows from the values themselves, by the
    names that the `unit` has for their parts.
    """
    ours, theirs = _parts(computed), _parts(published)
    if isinstance(computed, Claim):
        return EXACT if computed.holds else _differs(computed.figures, why)
    if len(ours) == len(theirs) and all(map(_same, theirs, ours)):
        return EXACT
    if (part := _deviation(theirs, ours)) <= CLOSE:
        return f"within {_percent(part)} %"
    return _differs(_difference(theirs, ours, unit), why)


def count_in_words(records: Sequence[Record]) -> str:
    """How many records there are of each kind of verdict."""
    counts = Counter(record.kind for record in records)
    words = ", ".join(f"{counts[kind]} {word}" for kind, word in _IN_WORDS.items() if counts[kind])
    return f"{len(records)} rows: {words}"


_IN_WORDS = {
    EXACT: "exact",
    ASSUMED: "exact under an assumption",
    "within": "within 10 %",
    "differs": "differ",
    OF_PRINT: "arithmetic of the print",
    NOT_PRINTED: "not printed",
    "not computed": "not computed",
}


def qualified(plain: str, *, printed: bool = True, of_print: bool = False, assumption: str = "") -> str:
    """A verdict with what limits it: both sides from print, one side not printed, a figure assumed."""
    limit = OF_PRINT if of_print else "" if printed else NOT_PRINTED
    if limit:
        return f"{limit}: {'agrees' if plain == EXACT else plain}"
    return f"{ASSUMED}: {assumption}" if assumption and plain == EXACT else plain


def sentence(text: str) -> str:
    """A text with a capital letter in front and a full stop in the end; a symbol in front stays as it is."""
    first = text.partition(" ")[0]
    return text and (text if "_" in first else text[0].upper() + text[1:]) + "."


def shown(value: Any) -> str:
    """A value in print."""
    if value is None:
        return "–"
    if isinstance(value, tuple | list):
        return " / ".join(map(shown, value))
    if isinstance(value, Fraction):
        return str(value) if value.denominator < 10 else f"{float(value):.4g}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def _parts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple | list) else (value,)


def _same(a: Any, b: Any) -> bool:
    """Whether a printed value is the computed one, rounded as it was printed."""
    if isinstance(a, Decimal) and isinstance(b, int | float | Fraction):
        return a == Decimal(float(b)).quantize(a)
    return bool(a == b)


def _deviation(published: Sequence[Any], computed: Sequence[Any]) -> float:
    """The largest relative deviation of numbers; infinite where something else is compared."""
    if len(published) != len(computed):
        return math.inf
    return max(map(_relative, published, computed), default=math.inf)


def _relative(a: Any, b: Any) -> float:
    if not all(isinstance(x, int | float | Fraction | Decimal) for x in (a, b)) or not a:
        return 0.0 if _same(a, b) else math.inf
    return abs(float(b) / float(a) - 1.0)


def _percent(part: float) -> str:
    """Rounded up, so that it is a bound; two digits."""
    percent = 100.0 * part
    size = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{math.ceil(percent / size - 1e-9) * size:.2g}"


def _differs(what: str, why: str) -> str:
    return "differs: " + ". ".join(x for x in (what, sentence(why)) if x)


_PARTS = {"*": "multiplications", "+": "additions", "÷": "divisions"}


def _difference(published: Sequence[Any], computed: Sequence[Any], unit: str) -> str:
    """Which parts differ, and by how much."""
    names = [_PARTS.get(name, name) for name in unit.split(" / ")]
    if len(published) != len(computed):
        return f"{len(computed)} parts instead of {len(published)}"
    if len(published) == 1:
        return _one_difference(published[0], computed[0], "")
    if len(names) != len(published):
        return f"{shown(computed)} instead of {shown(published)}"
    return ", ".join(map(_one_difference, published, computed, names))


def _one_difference(a: Any, b: Any, name: str) -> str:
    of = f"{name} " if name else ""
    if _same(a, b):
        return f"{of}agree"
    if isinstance(a, PrintedFormula) and isinstance(b, PrintedFormula):
        more = b - a
        return f"{of}{more} more" if more.leading > 0 else f"{of}{-more} less"
    if _relative(a, b) <= 0.5:
        percent = 100.0 * (float(b) / float(a) - 1.0)
        return f"{of}{abs(percent):.2g} % {'more' if percent > 0 else 'less'}"
    return f"{shown(b)} instead of {shown(a)}{f' {name}' if name else ''}"
