# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Charts as SVG in the colours of our pictures; ink and ground are those of the page, light or dark."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ...study.markup import Markup, scrolling, svg, svg_line, svg_text, tag
from ...study.plotting import BLUE, COLOURS, GREEN, ORANGE, PURPLE, SKY, VERMILION
from ...study.recommend import duration

# Black lines would be invisible on a dark page: the last colour is the page's text colour.
SERIES = (*COLOURS[:-1], "currentColor")
assert set(SERIES[:-1]) == {BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE}
_DASHES = (None, "6 3", "2 3", "8 3 2 3")
_WIDTH, _HEIGHT = 640, 330
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
        grid += [svg_line(x(p), _TOP, x(p), bottom, "grid"), svg_text(x(p), bottom + 16, str(p), "middle")]
    for power in range(low, high + 1):
        at = y(2.0**power)
        grid += [
            svg_line(_LEFT, at, right, at, "grid"),
            svg_text(_LEFT - 7, at + 4, f"{2.0**power:g}", "end"),
        ]
    top = min(2.0**high, processors[-1])
    grid.append(svg_line(x(1), y(1.0), x(top), y(top), "ideal"))
    grid.append(svg_text((_LEFT + right) / 2, _HEIGHT - 6, "processors", "middle", class_="axis"))
    grid.append(
        svg_text(
            13,
            (_TOP + bottom) / 2,
            "speed-up",
            "middle",
            class_="axis",
            transform=f"rotate(-90 13 {(_TOP + bottom) / 2:.0f})",
        )
    )
    label_ys = _apart([y(curve[-1]) for curve in curves.values()], 15, _TOP + 5, bottom)
    lines = [
        _curve(name, [(x(p), y(v)) for p, v in zip(processors, curve, strict=True)], processors, curve, k, at)
        for k, ((name, curve), at) in enumerate(zip(curves.items(), label_ys, strict=True))
    ]
    return scrolling(
        svg([*grid, *lines], _WIDTH, _HEIGHT, title, class_="chart"),
        title,
        "the chart goes on: scroll sideways",
    )


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
        svg_text(right + 27, label, f"{name}  {values[-1]:.1f}", "start"),
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
            svg_line(at, top, at, height - 24, "grid"),
            svg_text(at, height - 8, time_of(10.0**power * 1.0000001), "middle"),
        ]
    parts.append(svg_text(width - 4, 15, "per state, logarithmic", "end", class_="axis"))
    keys = (("one state", BLUE, names), (f"in a batch of {batch:,}", ORANGE, names + 110))
    for label, colour, at in keys:
        parts += [
            tag("rect", x=at, y=5, width=11, height=11, fill=colour, rx=2),
            svg_text(at + 17, 15, label, "start"),
        ]
    for k, (name, one, each, advised) in enumerate(rows):
        y = top + step * k + 4
        parts.append(
            svg_text(
                names - 8,
                y + 16,
                name + (" ◂" if advised else ""),
                "end",
                class_="strong" if advised else None,
            )
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
                parts.append(svg_text(end + 6, at + 9, time_of(value), "start", class_="small"))
    return scrolling(
        svg(parts, width, height, title, class_="chart"), title, "the chart goes on: scroll sideways"
    )


def _apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions of labels near the wanted ones, at least `gap` apart, within bounds if they fit."""
    order = sorted(range(len(wanted)), key=lambda k: wanted[k])
    found = [0.0] * len(wanted)
    at = low - gap
    for k in order:
        at = max(wanted[k], at + gap)
        found[k] = at
    end = high
    for k in reversed(order):
        found[k] = min(found[k], end)
        end = found[k] - gap
    return [f + 4 for f in found]


def time_of(seconds: float) -> str:
    """A time in the unit that people would use."""
    return duration(seconds).replace(" us", " µs")
