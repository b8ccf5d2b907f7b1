# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""HTML and SVG in which everything that is not our own markup is escaped: no other module writes either.

Pages of schedules, the studio's panel and reports are made of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from ..errors import printable

_VOID = ("br", "meta", "img", "input", "link")  # HTML elements without an end tag
_ALONE = frozenset((*_VOID, "line", "rect", "circle", "path", "polyline"))  # without children


class Markup(str):
    """A string of markup, which is not escaped again."""

    __slots__ = ()

    def __add__(self, other: str) -> Markup:
        return Markup(str(self) + escaped(other))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; children that are no markup are escaped. `class_` is class, `data_x` is data-x."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        if value is not True
        else f" {key.rstrip('_')}"
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _ALONE and not children:
        return Markup(f"<{name}{given}>" if name in _VOID else f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """The children concatenated, escaped unless they are markup; None is left out."""
    return Markup("".join(escaped(child) for child in children if child is not None))


def escaped(value: Any) -> str:
    """A value escaped for HTML; markup is unchanged, control characters become their code points."""
    if isinstance(value, Markup):
        return value
    return escape(printable(value), quote=True)


def document(
    title: str, style: str, script: str, *body: Any, head: Sequence[Markup] = (), is_module: bool = False
) -> str:
    """A page that is one file: its elements, then its script; `head` comes first in its head."""
    top = tag(
        "head",
        tag("meta", charset="utf-8"),
        *head,
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(style)),
    )
    code = tag("script", Markup(script), type="module" if is_module else None)
    return f'<!DOCTYPE html>\n<html lang="en">{top}{tag("body", *body, code)}</html>\n'


def embedded(data: Any) -> str:
    """Data as JSON for use inside a script element: nothing in it can end the element."""
    plain = json.dumps(_plain(data), allow_nan=False, separators=(",", ":"))
    return plain.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, np.ndarray | np.generic):
        return _plain(data.tolist())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data


# ------------------------------------------------------------------- SVG


def svg(parts: Iterable[Markup], width: float, height: float, name: str, **attributes: Any) -> Markup:
    """An SVG element of some size, with a label for screen readers."""
    box = f"0 0 {width:g} {height:.0f}"
    return tag("svg", join(parts), viewBox=box, role="img", aria_label=name, **attributes)


def svg_line(x0: float, y0: float, x1: float, y1: float, class_: str | None = None) -> Markup:
    """A line; a grid line unless a class is given."""
    grid = {} if class_ else {"stroke": "currentColor", "stroke_opacity": 0.15}
    return tag("line", x1=f"{x0:.1f}", y1=f"{y0:.1f}", x2=f"{x1:.1f}", y2=f"{y1:.1f}", class_=class_, **grid)


def svg_text(
    x: float, y: float, words: str, anchor: str, title: str | None = None, **attributes: Any
) -> Markup:
    """A text element anchored by its start, middle or end at a point; `title` is its tooltip."""
    hint = None if title is None else tag("title", title)
    return tag("text", words, hint, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **attributes)


def ticks(low: float, high: float, count: int) -> list[float]:
    """Round numbers between two values, for the ticks of an axis."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    raw = span / count
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(k * size for k in (1, 2, 5, 10) if k * size >= raw)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


# ------------------------------------------------------------------- tables


def table(
    head: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]], *, label: str, sortable: bool = True
) -> Markup:
    """A table: its head is (title, explanation); a cell is a value, or (value to sort by, what is shown).

    Columns of numbers are aligned right. The first entry of a row may be a dict of its attributes.
    """
    rows = list(rows)
    first = [cell for cell in rows[0] if not isinstance(cell, dict)] if rows else [""] * len(head)
    cells = [
        tag(
            "th",
            tag("button", title, type="button") if sortable else title,
            scope="col",
            title=hint or None,
            class_="number" if _is_number(cell) else None,
        )
        for (title, hint), cell in zip(head, first, strict=True)
    ]
    made = tag(
        "table",
        tag("caption", label, class_="hidden"),
        tag("thead", tag("tr", *cells)),
        tag("tbody", *(_row(row) for row in rows)),
        class_="sortable" if sortable else None,
    )
    return scrolling(made, label, "more columns: scroll sideways")


def scrolling(inside: Markup, label: str, hint: str) -> Markup:
    """A box that scrolls sideways, with a hint below that the script shows if the content is too wide."""
    return tag("div", inside, class_="wide scrolls", tabindex="0", role="region", aria_label=label) + tag(
        "p", "⇆ ", hint, class_="more note"
    )


def _row(row: Sequence[Any]) -> Markup:
    attributes: dict[str, Any] = {}
    if row and isinstance(row[0], dict):
        attributes, row = row[0], row[1:]
    return tag("tr", *(_cell(k, cell) for k, cell in enumerate(row)), **attributes)


def _is_number(cell: Any) -> bool:
    value = cell[0] if isinstance(cell, tuple) else cell
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _cell(k: int, cell: Any) -> Markup:
    value, shown = cell if isinstance(cell, tuple) else (cell, cell)
    if _is_number(cell):
        known = math.isfinite(value)
        return tag(
            "td", shown if known else "–", class_="number", data_value=repr(float(value)) if known else ""
        )
    if k == 0:
        return tag("th", shown, scope="row")
    return tag("td", shown)
