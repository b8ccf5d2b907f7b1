# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Charts as SVG in the colours of our pictures; ink and ground are those of the page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...study.plotting import BLUE, COLOURS, GREEN, ORANGE, PURPLE, SKY, VERMILION
from .markup import Markup, join, scrolling, tag, time_of

# Black lines would vanish on a dark page: the last colour is the page's own ink.
SERIES = (*COLOURS[:-1], "currentColor")
assert set(SERIES[:-1]) == {BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE}
_DASHES = (None, "6 3", "2 3", "8 3 2 3")
_WIDTH, _HEIGHT = 640, 330
_COLOURED = 11  # quantities with a colour of their own
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 196, 14, 44


def speedup_lines(processors: Sequence[int], curves: Mapping[str, Sequence[float]], title: str) -> Markup:
    """Lines over processors, both axes logarithmic to base two, with the ideal as a thin one."""
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    values = [v for curve in curves.values() for v in curve]
    low, high = math.floor(math.log2(min(values))), math.ceil(math.log2(max(values)) + 0.15)
    last = math.log2(processors[-1])

    def x(p: float) -> float:
        return _LEFT + math.log2(p) / last * (right - _LEFT)

    def y(v: float) -> float:
        return bottom - (math.log2(v) - low) / (high - low) * (bottom - _TOP)

    grid = []
    for p in processors:
        grid += [_line(x(p), _TOP, x(p), bottom, "grid"), _text(x(p), bottom + 16, str(p), "middle")]
    for power in range(low, high + 1):
        at = y(2.0**power)
        grid += [_line(_LEFT, at, right, at, "grid"), _text(_LEFT - 7, at + 4, f"{2.0**power:g}", "end")]
    top = min(2.0**high, processors[-1])
    grid.append(_line(x(1), y(1.0), x(top), y(top), "ideal"))
    grid.append(_text((_LEFT + right) / 2, _HEIGHT - 6, "processors", "middle", "axis"))
    grid.append(
        _text(
            13, (_TOP + bottom) / 2, "speed-up", "middle", "axis", f"rotate(-90 13 {(_TOP + bottom) / 2:.0f})"
        )
    )
    places = _apart([y(curve[-1]) for curve in curves.values()], 15, _TOP + 5, bottom)
    lines = [
        _curve(name, [(x(p), y(v)) for p, v in zip(processors, curve, strict=True)], processors, curve, k, at)
        for k, ((name, curve), at) in enumerate(zip(curves.items(), places, strict=True))
    ]
    return scrolling(_svg(_WIDTH, _HEIGHT, title, *grid, *lines), title, "the chart goes on: scroll sideways")


def _curve(
    name: str,
    points: Sequence[tuple[float, float]],
    processors: Sequence[int],
    values: Sequence[float],
    k: int,
    label: float,
) -> Markup:
    colour, dashes = SERIES[k % len(SERIES)], _DASHES[k // len(SERIES) % len(_DASHES)]
    right = _WIDTH - _RIGHT
    drawn = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    marks = [
        tag(
            "g",
            tag("title", f"{name}: {v:.2f} on {p} processor{'s' * (p > 1)}"),
            _mark(k, a, b),
        )
        for (a, b), p, v in zip(points, processors, values, strict=True)
    ]
    return tag(
        "g",
        tag("polyline", points=drawn, fill="none", stroke=colour, stroke_width=1.8, stroke_dasharray=dashes),
        *marks,
        tag(
            "path",
            d=f"M{right + 3:.0f} {points[-1][1]:.1f}L{right + 14:.0f} {label - 4:.1f}",
            stroke=colour,
            fill="none",
        ),
        tag("g", _mark(k, right + 19, label - 4)),
        _text(right + 27, label, f"{name}  {values[-1]:.1f}", "start"),
        fill=colour,
        class_="series",
    )


def _mark(k: int, x: float, y: float) -> Markup:
    """A mark of its own shape for each of the first lines, for print without colour."""
    r = 3.6
    shapes = (
        f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0z",
        f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z",
        f"M{x:.1f} {y - r - 0.6:.1f}l{r + 0.6} {2 * r}h{-2 * r - 1.2}z",
        f"M{x:.1f} {y - r - 1:.1f}l{r + 1} {r + 1}l{-r - 1} {r + 1}l{-r - 1} {-r - 1}z",
        f"M{x:.1f} {y + r + 0.6:.1f}l{r + 0.6} {-2 * r}h{-2 * r - 1.2}z",
    )
    return tag("path", d=shapes[k % len(shapes)])


def time_bars(rows: Sequence[tuple[str, float, float, bool]], batch: int, title: str) -> Markup:
    """Bars of seconds per state, alone and in a batch, on a logarithmic axis; `True`: it is advised."""
    names = min(200, 30 + 7 * max(len(name) for name, *_ in rows))
    step, top, width = 34, 26, 640
    seconds = [s for _, one, each, _ in rows for s in (one, each) if s > 0 and math.isfinite(s)]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)) + 0.05)
    height = top + step * len(rows) + 26
    right = width - 78

    def x(s: float) -> float:
        return names + (math.log10(s) - low) / max(high - low, 1) * (right - names)

    parts = []
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts += [
            _line(at, top, at, height - 24, "grid"),
            _text(at, height - 8, time_of(10.0**power * 1.0000001), "middle"),
        ]
    parts.append(_text(width - 4, 15, "per state, logarithmic", "end", "axis"))
    keys = (("one state", BLUE, names), (f"in a batch of {batch:,}", ORANGE, names + 110))
    for label, colour, at in keys:
        parts += [
            tag("rect", x=at, y=5, width=11, height=11, fill=colour, rx=2),
            _text(at + 17, 15, label, "start"),
        ]
    for k, (name, one, each, advised) in enumerate(rows):
        y = top + step * k + 4
        parts.append(
            _text(names - 8, y + 16, name + (" ◂" if advised else ""), "end", "strong" if advised else None)
        )
        for value, colour, at in ((one, BLUE, y), (each, ORANGE, y + 12)):
            if value > 0 and math.isfinite(value):
                end = x(value)
                parts.append(
                    tag(
                        "rect",
                        x=f"{names}",
                        y=at,
                        width=f"{max(end - names, 1):.1f}",
                        height=10,
                        fill=colour,
                        rx=1.5,
                    )
                )
                parts.append(_text(end + 6, at + 9, time_of(value), "start", "small"))
    return scrolling(_svg(width, height, title, *parts), title, "the chart goes on: scroll sideways")


def gantt(chart: Mapping[str, Any], title: str) -> Markup:
    """A schedule at a glance: what is shown where no script runs, and in print."""
    rows = chart["processors"][:32]
    names = 24 + 7 * max(map(len, rows))
    step, width = max(8, min(30, 360 // max(len(rows), 1))), 640
    scale = (width - names - 10) / (chart["makespan"] or 1)
    parts = [_text(names - 8, step * (k + 0.5) + 4, name, "end") for k, name in enumerate(rows)]
    for processor, begin, length, quantity, _, _ in chart["tasks"]:
        if processor < len(rows):
            x, wide = names + begin * scale, max(length * scale - 0.5, 0.5)
            colour = chart["quantities"][quantity][1]
            parts.append(
                tag(
                    "rect",
                    x=f"{x:.1f}",
                    y=step * processor + 1,
                    width=f"{wide:.1f}",
                    height=step - 2,
                    fill=colour,
                )
            )
    foot = step * len(rows) + 24
    parts.append(_text(names, foot - 6, "0", "start"))
    parts.append(_text(width - 10, foot - 6, f"{chart['makespan']:g} {chart['unit']}", "end"))
    for k, (name, colour, _, meaning) in enumerate(chart["quantities"][:_COLOURED]):
        at = foot + 17 * k
        parts.append(tag("rect", x=names, y=at, width=11, height=11, fill=colour, rx=2))
        parts.append(_text(names + 17, at + 10, f"{name}: {meaning}" if meaning else name, "start"))
    height = foot + 17 * min(len(chart["quantities"]), _COLOURED) + 4
    return _svg(width, height, title, *parts)


def _apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places of labels in the order of their lines, at least so far apart, within bounds if there is room."""
    order = sorted(range(len(places)), key=lambda k: places[k])
    found = [0.0] * len(places)
    at = low - gap
    for k in order:
        at = max(places[k], at + gap)
        found[k] = at
    end = high
    for k in reversed(order):
        found[k] = min(found[k], end)
        end = found[k] - gap
    return [f + 4 for f in found]


def _svg(width: int, height: float, title: str, *parts: Markup) -> Markup:
    return tag(
        "svg",
        tag("title", title),
        join(parts),
        viewBox=f"0 0 {width} {height:.0f}",
        role="img",
        class_="chart",
    )


def _line(x0: float, y0: float, x1: float, y1: float, kind: str) -> Markup:
    return tag("line", x1=f"{x0:.1f}", y1=f"{y0:.1f}", x2=f"{x1:.1f}", y2=f"{y1:.1f}", class_=kind)


def _text(
    x: float, y: float, words: str, anchor: str, kind: str | None = None, turn: str | None = None
) -> Markup:
    return tag("text", words, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, class_=kind, transform=turn)
