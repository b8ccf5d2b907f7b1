# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""HTML and SVG as text in which whatever is not markup of ours is escaped."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from ...errors import printable
from ...study.recommend import duration

_ALONE = frozenset(("br", "meta", "img", "input", "link", "line", "rect", "circle", "path", "polyline"))


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()

    def __add__(self, other: str) -> Markup:
        return Markup(str(self) + text(other))


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """An element; children that are no markup are escaped. `class_` is class, `data_x` is data-x."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        if value is not True
        else f" {key.rstrip('_')}"
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _ALONE and not children:
        return Markup(
            f"<{name}{told}/>" if name not in ("br", "meta", "img", "input", "link") else f"<{name}{told}>"
        )
    return Markup(f"<{name}{told}>{join(children)}</{name}>")


def join(children: Iterable[Any]) -> Markup:
    """All children one after another; None is nothing."""
    return Markup("".join(text(child) for child in children if child is not None))


def text(value: Any) -> str:
    """A value as it may stand in a page: escaped unless it is markup, and controls by number."""
    if isinstance(value, Markup):
        return value
    return escape(printable(value), quote=True)


def time_of(seconds: float) -> str:
    """A time in the unit that people would use."""
    return duration(seconds).replace(" us", " µs")


def embedded(data: Any) -> str:
    """Data as JSON that may stand inside a script element: nothing in it can end the element."""
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


def table(
    head: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]], *, label: str, sortable: bool = True
) -> Markup:
    """A table: its head is (title, explanation); a cell is a value, or (value to sort by, what is shown).

    Columns of numbers stand right. A row may be told apart by a dict of attributes as its first entry.
    """
    rows = list(rows)
    first = [cell for cell in rows[0] if not isinstance(cell, dict)] if rows else [""] * len(head)
    cells = [
        tag(
            "th",
            tag("button", title, type="button") if sortable else title,
            scope="col",
            title=told or None,
            class_="number" if _is_number(cell) else None,
        )
        for (title, told), cell in zip(head, first, strict=True)
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
    """What may be wider than the page, with a line below it that the script shows where it is."""
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
