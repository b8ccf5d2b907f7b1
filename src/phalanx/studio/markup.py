# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Elements of the studio's panel: notes, tables, bars, charts; names from files are escaped and shortened.

Words and lines have the colours of the page, light or dark; data have the colours of our pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import printable, shortened
from ..study.charts.gantt import row_height, svg_chart
from ..study.markup import Markup, join, svg, svg_line, svg_text, tag, ticks
from ..study.plotting import BLUE, COLOURS, VERMILION
from .playback import Playback

LINES = COLOURS[:-1]  # without black, which is invisible on a dark page
BEYOND = "▲"  # marks a value over its limit
_DASHES = ("", "6 3", "2 2", "9 3 2 3")  # of the second, third and fourth line of a colour
_LONGEST = 60  # characters of a name
_SMALL = "font-size:0.78em;line-height:1.35"
_PAD = "padding:0 1.1em 0.35em 0.6em"
_WIDTH, _LEFT, _FOOT = 400.0, 54.0, 26.0  # of a Gantt chart: all of it, names of processors, times
_GAP = "0.4em"  # from a chart to what the page shows below it


def short(value: object) -> str:
    """A name or a message that fits into the panel."""
    return shortened(printable(value), _LONGEST)


def figure(value: float, unit: str = "", digits: int = 4) -> str:
    """A number with its unit; values as small as rounding errors become zero."""
    return f"{0.0 if abs(value) < 1e-9 else value:.{digits}g} {unit}".strip()


def note(message: object, *, is_error: bool = False) -> str:
    """A paragraph."""
    colour = f"color:{VERMILION};font-weight:600;" if is_error else "opacity:0.8;"
    return _plain("div", message, role="alert" if is_error else "note", style=f"{_SMALL};{_PAD};{colour}")


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, name: str = "") -> str:
    """A table with words in its first column and numbers in the others."""
    cell = "padding:0.1em 0.35em;white-space:nowrap;text-align:"
    sides = [f"{cell}{side}" for side in ("left", "right")]
    top = [
        tag("th", short(h), style=f"{sides[k > 0]};font-weight:600;opacity:0.75") for k, h in enumerate(head)
    ]
    body = [
        tag(
            "tr",
            *(
                tag("td", short(x), style=sides[k > 0] + ";font-variant-numeric:tabular-nums" * (k > 0))
                for k, x in enumerate(row)
            ),
        )
        for row in rows
    ]
    made = tag(
        "table",
        tag("thead", tag("tr", *top)),
        tag("tbody", *body),
        data_name=short(name),
        style="border-collapse:collapse;width:100%",
    )
    return _plain(
        "div", tag("div", made, class_="scrolls", style="overflow-x:auto"), style=f"{_SMALL};{_PAD}"
    )


def bars(
    rows: Sequence[tuple[str, float, str]],
    *,
    name: str,
    unit: str = "",
    limits: Sequence[float] | None = None,
    most: float | None = None,
) -> str:
    """Bars from zero; each row is a label, a value and the value in words.

    With `limits`, zero is in the middle and each bar reaches to its own limit, with a mark beyond it; where
    that is infinite, and without limits, to `most`, by default the largest value shown.
    """
    largest = most or max((abs(v) for _, v, _ in rows if math.isfinite(v)), default=0.0) or 1.0
    zero = 50.0 if limits is not None or any(v < 0 for _, v, _ in rows) else 0.0
    lines = []
    if unit:
        lines.append(tag("div", short(unit), style="opacity:0.75;font-weight:600"))
    for k, (label, value, words) in enumerate(rows):
        limit = limits[k] if limits is not None else math.inf
        full = limit if 0.0 < limit < math.inf else largest
        length = (100.0 - zero) * min(abs(value) / full, 1.0) if math.isfinite(value) else 0.0
        start = zero if value >= 0 else zero - length
        against = f"{words} of {limit:.4g}" if math.isfinite(limit) else f"{words}, no limit"
        bar = tag(
            "div",
            style=f"position:absolute;top:0;bottom:0;left:{start:.1f}%;width:{length:.1f}%;"
            f"background:{BLUE if value >= 0 else VERMILION};border-radius:2px",
        )
        cells = [
            tag("div", short(label), style=_LABEL, title=short(label)),
            tag("div", bar, title=None if limits is None else short(against), style=_TRACK),
            tag("div", f"{BEYOND} " if abs(value) > limit else "", short(words), style=_FIGURE),
        ]
        lines.append(tag("div", *cells, style="display:flex;align-items:center;gap:0.5em"))
    return _plain("div", *lines, data_name=short(name), style=f"{_SMALL};{_PAD}")


_LABEL = "flex:0 0 36%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"
_TRACK = "flex:1;position:relative;height:0.75em;background:rgba(128,128,128,0.18);border-radius:2px"
_FIGURE = "flex:0 0 25%;text-align:right;font-variant-numeric:tabular-nums"


def swatches(names: Mapping[str, str], *, dashes: Sequence[str] = ()) -> str:
    """The meaning of colours, and of dashes where lines have some; the part before a colon is bold."""
    items = []
    for k, (label, colour) in enumerate(names.items()):
        if dashes:
            dash = {"stroke_width": 2.5, "stroke_dasharray": dashes[k % len(dashes)]}
            line = tag("line", x1=0, x2=22, y1=4, y2=4, stroke=colour, **dash)
            mark = tag("svg", line, width=22, height=8, style="margin-right:0.3em")
        else:
            square = "display:inline-block;width:0.75em;height:0.75em;border-radius:2px;margin-right:0.35em"
            mark = tag("span", style=f"{square};background:{colour}")
        letter, colon, meaning = label.partition(": ")
        words = join([tag("b", short(letter)), " ", short(meaning)]) if colon else short(label)
        items.append(tag("span", mark, words, style="display:inline-block;margin-right:0.9em"))
    return _plain("div", *items, data_name="legend", style=f"{_SMALL};{_PAD}")


def gantt(play: Playback, *, name: str, longest: float | None = None) -> str:
    """The chart of a schedule; `longest` is the end of its time axis, where several share one."""
    return _framed(
        svg_chart(
            play,
            rows=len(play.rows),
            row=row_height(len(play.rows)),
            left=_LEFT,
            width=_WIDTH,
            longest=longest,
            name=short(name),
            **_drawing(name),
        )
    )


def playhead(part: float, rows: int) -> str:
    """A vertical line over the chart of so many rows above it, at the fraction `part` of its time."""
    height = row_height(rows) * rows + _FOOT
    at = 100.0 * (_LEFT + min(max(part, 0.0), 1.0) * (_WIDTH - _LEFT - 6.0)) / _WIDTH
    line = f"position:absolute;left:{at:.2f}%;top:0;bottom:{100.0 * _FOOT / height:.1f}%;width:2px"
    frame = f"position:absolute;left:0;right:0;bottom:{_GAP};aspect-ratio:{_WIDTH:g}/{height:g}"
    return _plain(
        "div",
        tag("div", tag("div", style=f"{line};background:{VERMILION}"), style=f"{frame};pointer-events:none"),
        data_name="playhead",
        data_part=f"{part:.3f}",
        style="position:relative;height:0;margin:0 1.1em 0 0.6em",
    )


def curves(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    *,
    name: str,
    x_label: str,
    y_label: str,
    log: bool = False,
    dots: bool = False,
) -> str:
    """Lines over a common axis, in the colours of our pictures."""
    width, height, left, foot = 400.0, 170.0, 46.0, 30.0
    values = [y for ys in lines.values() for y in ys if math.isfinite(y)]
    if not values or len(x) < 2:
        return note("nothing to draw yet")
    scaled = (lambda v: math.log2(max(v, 1e-9))) if log else (lambda v: v)
    low, high = scaled(min(values)), scaled(max(values))
    if high - low < 1e-9:
        low, high = low - 1.0, high + 1.0
    pad = 0.05 * (high - low)
    low, high = low - pad, high + pad
    x0, x1 = scaled(x[0]), scaled(x[-1])

    def point(a: float, b: float) -> tuple[float, float]:
        across = left + (scaled(a) - x0) / ((x1 - x0) or 1.0) * (width - left - 8.0)
        return across, (height - foot) * (1.0 - (scaled(b) - low) / (high - low))

    parts = []
    grid = [2.0**k for k in range(math.ceil(low), math.floor(high) + 1)] if log else ticks(low, high, 4)
    for y in grid:
        at = point(x[0], y)[1]
        parts += [svg_line(left, at, width - 8, at), svg_text(left - 4, at + 3, f"{y:.4g}", "end")]
    for a in x if log else ticks(x[0], x[-1], 5):
        parts.append(svg_text(point(a, values[0])[0], height - foot + 12, f"{a:.4g}", "middle"))
    colours = {label: LINES[k % len(LINES)] for k, label in enumerate(lines)}
    dashes = [_DASHES[k // len(LINES) % len(_DASHES)] for k in range(len(lines))]
    for (label, ys), dash in zip(lines.items(), dashes, strict=True):
        points = [point(a, b) for a, b in zip(x, ys, strict=True) if math.isfinite(b)]
        parts.append(
            tag(
                "polyline",
                tag("title", short(label)),
                points=" ".join(f"{a:.1f},{b:.1f}" for a, b in points),
                fill="none",
                stroke=colours[label],
                stroke_width=1.6,
                stroke_dasharray=dash,
            )
        )
        if dots:
            parts += [
                tag("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=2.6, fill=colours[label]) for a, b in points
            ]
    middle = (height - foot) / 2
    parts.append(svg_text((left + width) / 2, height - 4, short(x_label), "middle"))
    parts.append(svg_text(10, middle, short(y_label), "middle", transform=f"rotate(-90 10 {middle})"))
    legend = swatches(colours, dashes=dashes if any(dashes) else ())
    return _framed(svg(parts, width, height, short(name), **_drawing(name))) + legend


def _framed(drawing: Markup) -> str:
    return _plain("div", drawing, style=_PAD)


def _plain(name: str, *children: Any, **attributes: Any) -> str:
    """An element as a plain `str`, not a subclass, as viser requires."""
    return str(tag(name, *children, **attributes))


def _drawing(name: str) -> dict[str, Any]:
    """The attributes of a drawing in the panel."""
    style = "width:100%;display:block;font-size:9px;overflow:visible"
    return {"data_name": short(name), "style": style, "fill": "currentColor"}
