# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Instants as papers print them: the latest of some events, each so many operations after a symbol."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import PhalanxError

Delay = tuple[int, int]  # multiplications, additions

# What vector operations take when all coordinates are computed at once.
DELAYS: dict[str, Delay] = {"VA": (0, 1), "SV": (1, 0), "VC": (1, 1), "MV": (1, 2)}
_TOKEN = re.compile(r"max\(|[(),+]|\d*[A-Z]{2}|[a-z]")


@dataclass(frozen=True)
class Instant:
    """The latest of events (symbol, multiplications, additions); dominated ones are left out."""

    events: frozenset[tuple[str, int, int]]

    def after(self, delay: Delay) -> Instant:
        """So much later."""
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
    """The instant of a text such as `max(b, a+VC+VA)+MV`."""
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
    told = " ".join(f"{count}{letter}" for count, letter in counts if count)
    return f" + {told}" if told else ""


def _named(token: str) -> Instant:
    if not token.isalpha() or not token.islower():
        raise ValueError(token)
    return symbol(token)
