# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Tables and charts as HTML: the only place that writes markup, so that names from files stay text.

Colours of text and lines are those of the page, light or dark; data have the colours of our pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from ..errors import printable, shortened

BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"
LINES = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE)
BEYOND = "▲"  # of a value over its limit
_DASHES = ("", "6 3", "2 2", "9 3 2 3")  # of the second, third and fourth line of a colour
_LONGEST = 60  # characters of a name
_SMALL = "font-size:0.78em;line-height:1.35"
_PAD = "padding:0 1.1em 0.35em 0.6em"
_WIDTH, _LEFT, _FOOT = 400.0, 54.0, 26.0  # of a Gantt chart: all of it, names of processors, times
_GAP = "0.4em"  # from a chart to what the page shows below it


def text(value: object) -> str:
    """A name or a message as HTML that shows it and nothing else."""
    return escape(shortened(printable(value), _LONGEST), quote=True)


def figure(value: float, unit: str = "", digits: int = 4) -> str:
    """A number with its unit; what is only rounding is zero."""
    return f"{0.0 if abs(value) < 1e-9 else value:.{digits}g} {unit}".strip()


def note(message: object, *, is_error: bool = False) -> str:
    """A paragraph."""
    words = escape(printable(message), quote=True)
    colour = f"color:{VERMILION};font-weight:600;" if is_error else "opacity:0.8;"
    return f'<div role="{"alert" if is_error else "note"}" style="{_SMALL};{_PAD};{colour}">{words}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], *, name: str = "") -> str:
    """A table whose first column is text and whose others are figures."""
    cell = "padding:0.1em 0.35em;white-space:nowrap;text-align:"
    top = "".join(
        f'<th style="{cell}{"right" if k else "left"};font-weight:600;opacity:0.75">{text(h)}</th>'
        for k, h in enumerate(head)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{cell}{"right;font-variant-numeric:tabular-nums" if k else "left"}">{text(x)}</td>'
            for k, x in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div style="{_SMALL};{_PAD}"><div class="scrolls" style="overflow-x:auto">'
        f'<table data-name="{text(name)}" style="border-collapse:collapse;width:100%">'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div></div>"
    )


def bars(
    rows: Sequence[tuple[str, float, str]],
    *,
    name: str,
    unit: str = "",
    limits: Sequence[float] | None = None,
    most: float | None = None,
) -> str:
    """Bars from zero: a label, a value and its text for each.

    With `limits`, zero is in the middle and each bar reaches to its own limit, with a mark beyond it; where
    that is infinite, and without limits, to `most`, by default the largest value shown.
    """
    largest = most or max((abs(v) for _, v, _ in rows if math.isfinite(v)), default=0.0) or 1.0
    zero = 50.0 if limits is not None or any(v < 0 for _, v, _ in rows) else 0.0
    lines = []
    for k, (label, value, told) in enumerate(rows):
        limit = limits[k] if limits is not None else math.inf
        whole = limit if 0.0 < limit < math.inf else largest
        part = (100.0 - zero) * min(abs(value) / whole, 1.0) if math.isfinite(value) else 0.0
        start = zero if value >= 0 else zero - part
        colour = BLUE if value >= 0 else VERMILION
        mark = f"{BEYOND} " if abs(value) > limit else ""
        words = text(label)
        against = f"{told} of {limit:.4g}" if math.isfinite(limit) else f"{told}, no limit"
        hint = f' title="{text(against)}"' if limits is not None else ""
        lines.append(
            '<div style="display:flex;align-items:center;gap:0.5em">'
            '<div style="flex:0 0 36%;overflow:hidden;text-overflow:ellipsis;white-space:nowrap" '
            f'title="{words}">{words}</div><div{hint} style="flex:1;position:relative;height:0.75em;'
            'background:rgba(128,128,128,0.18);border-radius:2px">'
            f'<div style="position:absolute;top:0;bottom:0;left:{start:.1f}%;width:{part:.1f}%;'
            f'background:{colour};border-radius:2px"></div></div>'
            '<div style="flex:0 0 25%;text-align:right;font-variant-numeric:tabular-nums">'
            f"{mark}{text(told)}</div></div>"
        )
    head = f'<div style="opacity:0.75;font-weight:600">{text(unit)}</div>' if unit else ""
    return f'<div data-name="{text(name)}" style="{_SMALL};{_PAD}">{head}{"".join(lines)}</div>'


def swatches(names: Mapping[str, str], *, dashes: Sequence[str] = ()) -> str:
    """The meaning of colours, and of dashes where lines have some; what stands before a colon is bold."""
    items = []
    for k, (label, colour) in enumerate(names.items()):
        dash = dashes[k % len(dashes)] if dashes else ""
        mark = (
            f'<svg width="22" height="8" style="margin-right:0.3em"><line x1="0" x2="22" y1="4" y2="4" '
            f'stroke="{colour}" stroke-width="2.5" stroke-dasharray="{dash}"/></svg>'
            if dashes
            else f'<span style="display:inline-block;width:0.75em;height:0.75em;border-radius:2px;'
            f'background:{colour};margin-right:0.35em"></span>'
        )
        letter, colon, meaning = label.partition(": ")
        words = f"<b>{text(letter)}</b> {text(meaning)}" if colon else text(label)
        items.append(f'<span style="display:inline-block;margin-right:0.9em">{mark}{words}</span>')
    return f'<div data-name="legend" style="{_SMALL};{_PAD}">{"".join(items)}</div>'


def gantt(
    rows: Sequence[str],
    spans: Sequence[tuple[int, float, float, str, str]],
    makespan: float,
    unit: str,
    *,
    name: str,
) -> str:
    """Processors from top to bottom, time to the right; a span is row, start, end, colour and label."""
    width, left, foot = _WIDTH, _LEFT, _FOOT
    step, height = _row(len(rows)), gantt_height(len(rows))
    scale = (width - left - 6.0) / (makespan or 1.0)
    parts = []
    for x in ticks(0.0, makespan or 1.0, 5):
        at = left + x * scale
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{height - foot:.1f}" stroke="currentColor" '
            f'stroke-opacity="0.15"/><text x="{at:.1f}" y="{height - foot + 11:.1f}" '
            f'text-anchor="middle">{x:g}</text>'
        )
    every = math.ceil(10.0 / step)
    for k, row in enumerate(rows):
        if k % every == 0:
            label = text(row if len(row) <= 9 else row[:8] + "…")
            parts.append(
                f'<text x="{left - 5}" y="{step * (k + 0.5) + 3:.1f}" text-anchor="end">{label}'
                f"<title>{text(row)}</title></text>"
            )
    for row_, start, end, colour, label in spans:
        parts.append(
            f'<rect x="{left + start * scale:.2f}" y="{step * row_ + 0.08 * step:.1f}" '
            f'width="{max((end - start) * scale - 0.15, 0.4):.2f}" height="{0.84 * step:.1f}" '
            f'fill="{colour}"><title>{text(label)}</title></rect>'
        )
    parts.append(
        f'<text x="{(left + width) / 2}" y="{height - 3:.1f}" text-anchor="middle">'
        f"time in {text(unit)}</text>"
    )
    return _svg(parts, width, height, name)


def playhead(part: float, rows: int) -> str:
    """A line over a chart of so many rows just above it, where so much of its time has passed."""
    height = gantt_height(rows)
    at = 100.0 * (_LEFT + min(max(part, 0.0), 1.0) * (_WIDTH - _LEFT - 6.0)) / _WIDTH
    foot = 100.0 * _FOOT / height
    return (
        f'<div data-name="playhead" data-part="{part:.3f}" style="position:relative;height:0;'
        f'margin:0 1.1em 0 0.6em"><div style="position:absolute;left:0;right:0;bottom:{_GAP};'
        f'aspect-ratio:{_WIDTH:g}/{height:g};pointer-events:none"><div style="position:absolute;'
        f'left:{at:.2f}%;top:0;bottom:{foot:.1f}%;width:2px;background:{VERMILION}"></div></div></div>'
    )


def gantt_height(rows: int) -> float:
    """The height of a chart of so many rows, in the units of its drawing."""
    return _row(rows) * rows + _FOOT


def _row(rows: int) -> float:
    return min(16.0, max(3.0, 240.0 / max(rows, 1)))


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
    turn = (lambda v: math.log2(max(v, 1e-9))) if log else (lambda v: v)
    low, high = turn(min(values)), turn(max(values))
    if high - low < 1e-9:
        low, high = low - 1.0, high + 1.0
    pad = 0.05 * (high - low)
    low, high = low - pad, high + pad
    x0, x1 = turn(x[0]), turn(x[-1])

    def place(a: float, b: float) -> tuple[float, float]:
        across = left + (turn(a) - x0) / ((x1 - x0) or 1.0) * (width - left - 8.0)
        return across, (height - foot) * (1.0 - (turn(b) - low) / (high - low))

    parts = []
    grid = [2.0**k for k in range(math.ceil(low), math.floor(high) + 1)] if log else ticks(low, high, 4)
    for y in grid:
        at = place(x[0], y)[1]
        parts.append(
            f'<line x1="{left}" x2="{width - 8}" y1="{at:.1f}" y2="{at:.1f}" stroke="currentColor" '
            f'stroke-opacity="0.15"/><text x="{left - 4}" y="{at + 3:.1f}" text-anchor="end">{y:.4g}</text>'
        )
    for a in x if log else ticks(x[0], x[-1], 5):
        at = place(a, values[0])[0]
        parts.append(f'<text x="{at:.1f}" y="{height - foot + 12:.1f}" text-anchor="middle">{a:.4g}</text>')
    dashes = [_DASHES[k // len(LINES) % len(_DASHES)] for k in range(len(lines))]
    for (label, ys), colour, dash in zip(lines.items(), _cycled(len(lines)), dashes, strict=True):
        points = [place(a, b) for a, b in zip(x, ys, strict=True) if math.isfinite(b)]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6" '
            f'stroke-dasharray="{dash}"><title>{text(label)}'
            "</title></polyline>"
        )
        if dots:
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6" fill="{colour}"/>' for a, b in points]
    parts.append(
        f'<text x="{(left + width) / 2}" y="{height - 4}" text-anchor="middle">{text(x_label)}</text>'
        f'<text x="10" y="{(height - foot) / 2}" text-anchor="middle" '
        f'transform="rotate(-90 10 {(height - foot) / 2})">{text(y_label)}</text>'
    )
    colours = dict(zip(lines, _cycled(len(lines)), strict=True))
    legend = swatches(colours, dashes=dashes if any(dashes) else ())
    return _svg(parts, width, height, name) + legend


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers between two values."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    raw = span / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(k * size for k in (1, 2, 5, 10) if k * size >= raw)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _cycled(count: int) -> list[str]:
    return [LINES[k % len(LINES)] for k in range(count)]


def _svg(parts: Sequence[str], width: float, height: float, name: str) -> str:
    return (
        f'<div style="{_PAD}"><svg data-name="{text(name)}" role="img" aria-label="{text(name)}" '
        f'viewBox="0 0 {width:g} {height:g}" style="width:100%;display:block;font-size:9px;overflow:visible" '
        f'fill="currentColor">{"".join(parts)}</svg></div>'
    )
