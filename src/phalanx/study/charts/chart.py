# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The contents of every Gantt chart: rows, bars, and colours with their meanings.

`gantt` draws it with matplotlib and as SVG, `assets/gantt.js` in pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from ...errors import shortened
from ..plotting import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from ..scheduling.placement import PlacedTask, Schedule
from .meanings import explained, explained_kinds, meaning

# The common colours, then dark ones of Paul Tol's muted scheme and light ones in between.
PALETTE = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, "#332288", "#F0E442", "#882255", "#117733", "#D9C6F0")
OTHERS = "#B8B8B8"
OTHERS_NAME = "others"
MOST_ARROWS = 300  # messages up to which arrows are drawn
_MOST_BARS = 1200  # beyond which adjacent bars of one quantity are merged
_LONGEST = 100  # characters of a label
_DIGITS = 8  # significant digits of a time in a browser


class Bar(NamedTuple):
    """A bar of a chart: its row, start, end and colour, and what it is."""

    row: int
    start: float
    end: float
    colour: str
    label: str


@dataclass(frozen=True, eq=False)
class Chart:
    """A schedule as a chart, in the colours of another chart if one is given."""

    schedule: Schedule
    beside: Chart | None = field(default=None, kw_only=True)

    @property
    def title(self) -> str:
        """The title: function, algorithm, robot and machine."""
        return f"{self.schedule.graph.title} on {self.schedule.machine}"

    @cached_property
    def colours(self) -> dict[str, str]:
        """The colour of each quantity, those that take the most time first."""
        tasks = self.schedule.timed
        if self.beside is not None:
            return {t.quantity: OTHERS for t in tasks} | self.beside.colours
        return colours_of((t.quantity for t in tasks), (t.end - t.start for t in tasks))

    def legend(self) -> dict[str, str]:
        """Quantities with their plain names and their colours, the rest as one."""
        algorithm = self.schedule.graph.algorithm
        return {
            OTHERS_NAME if colour == OTHERS else explained(name, algorithm): colour
            for name, colour in self.colours.items()
        }

    def kinds(self) -> str:
        """What the letters in the names of the processors mean."""
        return explained_kinds(self.schedule.drawn)

    def link_name(self, link: int) -> str:
        """The name of a link of a task; empty for none."""
        names = self.schedule.graph.links
        return names[link] if 0 <= link < len(names) else ""

    def bars(self, rows: int) -> list[Bar]:
        """The bars of the first rows; adjacent ones of a quantity and link are merged if there are many."""
        tasks = [t for t in self.schedule.timed if t.processor < rows]
        if len(tasks) <= _MOST_BARS:
            return [self._bar(t, t.end) for t in tasks]
        found = []
        last: dict[int, tuple[PlacedTask, float]] = {}
        for t in sorted(tasks, key=lambda t: (t.processor, t.start)):
            first, end = last.get(t.processor, (None, 0.0))
            if first and (first.quantity, first.link) == (t.quantity, t.link) and t.start <= end:
                last[t.processor] = first, t.end
                continue
            if first:
                found.append(self._bar(first, end))
            last[t.processor] = t, t.end
        found += [self._bar(*pair) for pair in last.values()]
        return found[: 4 * _MOST_BARS]

    def _bar(self, t: PlacedTask, end: float) -> Bar:
        link, name = self.link_name(t.link), meaning(t.quantity, self.schedule.graph.algorithm)
        label = f"{t.name}, {link}" if link and link not in t.name else t.name
        label = shortened(f"{label}: {name}" if name else label, _LONGEST)
        return Bar(t.processor, t.start, end, self.colours[t.quantity], label)

    def data(self) -> dict[str, Any]:
        """The chart as `assets/gantt.js` draws it.

        A quantity is [name, colour, ink, meaning], a task [processor, start, end, quantity, link, critical].
        """
        s = self.schedule
        number = {q: k for k, q in enumerate(self.colours)}
        critical = {id(event) for event in s.critical}
        return {
            "unit": s.machine.unit,
            "makespan": _short(s.makespan),
            "processors": list(s.drawn),
            "quantities": [
                [q, colour, ink_on(colour), meaning(q, s.graph.algorithm)]
                for q, colour in self.colours.items()
            ],
            "kinds": self.kinds(),
            "tasks": [
                [
                    t.processor,
                    _short(t.start),
                    _short(t.end),
                    number[t.quantity],
                    t.link,
                    int(id(t) in critical),
                ]
                for t in s.timed
            ],
        }

    def messages(self) -> list[list[float]]:
        """The messages for `assets/gantt.js`: [sender, receiver, start, arrival, critical]."""
        critical = {id(event) for event in self.schedule.critical}
        return [
            [m.sender, m.receiver, _short(m.start), _short(m.arrival), int(id(m) in critical)]
            for m in self.schedule.messages
        ]


def colours_of(quantities: Iterable[str], weights: Iterable[float]) -> dict[str, str]:
    """A colour for each quantity, in order of weight; when colours run out, the others are grey."""
    total: dict[str, float] = {}
    for quantity, weight in zip(quantities, weights, strict=True):
        total[quantity] = total.get(quantity, 0.0) + weight
    ranked = sorted(total, key=lambda q: (-total[q], q))
    return {q: PALETTE[k] if k < len(PALETTE) else OTHERS for k, q in enumerate(ranked)}


def ink_on(colour: str) -> str:
    """Black or white, whichever is readable on a colour."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return "#000000" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18 else "#ffffff"


def _short(value: float) -> float | int:
    """A time rounded to the digits that a browser can show."""
    return int(value) if value == int(value) else float(f"{value:.{_DIGITS}g}")
