# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx papers`: published tables, formulas and claims next to what this library computes."""

from __future__ import annotations

import argparse
import textwrap
from itertools import zip_longest
from typing import Any

from ..study.papers import Record, names, paper
from ..study.papers.catalogue import reproduce_all
from ..study.papers.verdicts import ASSUMED, NOT_PRINTED, OF_PRINT, Claim, count_in_words, shown
from .output import GAP, emit, emit_json, terminal_width

# Words of the command line for the kinds of verdicts.
VERDICTS = {
    "exact": "exact",
    "assumption": ASSUMED,
    "within": "within",
    "differs": "differs",
    "arithmetic": OF_PRINT,
    "not-printed": NOT_PRINTED,
}


EXAMPLES = """
phalanx papers
phalanx papers lathrop
phalanx papers kane --only differs
phalanx papers kane --only arithmetic
phalanx papers zomaya_morris --json

all papers take about a minute; a bar on a terminal shows how far it is.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", metavar="NAME", nargs="?", help=f"one of {', '.join(names())} (default: all)")
    parser.add_argument(
        "--only",
        choices=VERDICTS,
        metavar="KIND",
        help=f"only rows with this kind of verdict: {', '.join(VERDICTS)}",
    )


def run(args: argparse.Namespace) -> int:
    """Print a table for each paper; exit status 0."""
    chosen = names() if args.name is None else [args.name]
    found = reproduce_all(chosen)
    kind = VERDICTS.get(args.only)
    rows_of = {name: [r for r in rows if kind in (None, r.kind)] for name, rows in found.items()}
    if args.json:
        emit_json([_plain(record) for rows in rows_of.values() for record in rows])
        return 0
    width = terminal_width()
    emit("\n\n".join("\n".join(_page(name, rows_of[name], found[name], width)) for name in chosen))
    return 0


def _plain(record: Record) -> dict[str, Any]:
    """A record for JSON: numbers stay numbers, formulas and claims become text."""
    sides = {"published": _value(record.published), "computed": _value(record.computed)}
    return {**vars(record), **sides, "kind": record.kind}


def _value(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_value(part) for part in value]
    return value if isinstance(value, int | float | str) else shown(value)


def _page(name: str, records: list[Record], everything: list[Record], width: int) -> list[str]:
    """The table of a paper, its notes, and how many rows have which verdict."""
    printed = paper(name)
    title = textwrap.wrap(f"{name}: {printed.authors}, “{printed.title}”, {printed.year}", width)
    lines: list[str] = []
    notes: dict[str, int] = {"": 0}
    source, order = "", list(printed.sources).index
    for record in sorted(records, key=lambda r: order(r.source)):
        if record.source != source:
            source = record.source
            lines += ["", *textwrap.wrap(f"{source}: {printed.sources[source]}", width)]
        lines += _row(record, notes.setdefault(_note(record), len(notes)), width)
    below = [f"({number}) {note}" for note, number in notes.items() if number]
    below += [text for sign, text in _LEGEND.items() if any(sign in line for line in lines)]
    wrapped = [line for note in below for line in textwrap.wrap(note, width, subsequent_indent="    ")]
    without = [f"Not recomputed: {part}: {what}." for part, what in printed.left_out.items()]
    wrapped += [line for text in without for line in textwrap.wrap(text, width, subsequent_indent="    ")]
    head = _cells([["item"], ["published"], ["computed"], ["verdict"]], width)
    rule = [GAP.join("─" * size for size in _sizes(width))]
    return [
        *title,
        "",
        *head,
        *rule,
        *lines,
        "",
        *wrapped,
        "",
        *textwrap.wrap(f"{count_in_words(everything)}.", width),
    ]


_LEGEND = {
    " / ": "a / b / c: multiplications, additions and divisions where no unit says otherwise.",
    "not printed": "not printed: counted from the paper's equations by other code than this library.",
    "arithmetic": "arithmetic of the print: both sides follow from printed figures, no algorithm ran.",
}


def _row(record: Record, note: int, width: int) -> list[str]:
    item, published, computed, verdict = _sizes(width)
    unit = f" [{record.unit}]" if record.unit and not record.unit.startswith("*") else ""
    mark = f" ({note})" if note else ""
    return _cells(
        [
            textwrap.wrap(record.item + unit, item),
            _lines(shown(record.published), published),
            _lines(_short(record.computed), computed),
            textwrap.wrap(_short_verdict(record) + mark, verdict),
        ],
        width,
    )


def _lines(text: str, size: int) -> list[str]:
    """A value in a column; of several parts each has its own lines if they do not fit side by side."""
    if len(text) <= size:
        return [text]
    *parts, last = text.split(" / ")
    return [line for part in (*(f"{p} /" for p in parts), last) for line in textwrap.wrap(part, size)]


def _short(value: Any) -> str:
    """A computed value; of a claim only whether it holds."""
    if isinstance(value, Claim):
        return "holds" if value.holds else "does not hold"
    text = shown(value)
    return text if not text.startswith("no formula") else "no formula"


def _short_verdict(record: Record) -> str:
    """A verdict without its reason or assumption, which go to the notes."""
    if record.kind == ASSUMED:
        return ASSUMED
    if record.computed is None:
        return record.kind
    first, differs, _ = record.verdict.partition("differs: ")
    return first + differs.removesuffix(": ")


def _note(record: Record) -> str:
    """The note below the table: figures of a claim, the reason of a difference, remarks."""
    parts = [record.note]
    if record.differs or record.computed is None or record.kind == ASSUMED:
        *_, why = record.verdict.partition("differs: " if record.differs else ": ")
        parts.insert(0, f"{record.item}: {why.removesuffix('.')}.")
    elif isinstance(record.computed, Claim):
        parts.insert(0, f"{record.computed.figures}.")
    return " ".join(part for part in parts if part)


def _cells(cells: list[list[str]], width: int) -> list[str]:
    """One row of the table, as many lines as its highest cell."""
    return [
        GAP.join(f"{cell:{size}}" for cell, size in zip(line, _sizes(width), strict=True)).rstrip()
        for line in zip_longest(*cells, fillvalue="")
    ]


def _sizes(width: int) -> tuple[int, int, int, int]:
    """Columns of item, published, computed and verdict; the item takes what is left."""
    value, verdict = 18 + max(width - 80, 0) // 4, 14
    return width - 2 * value - verdict - 3 * len(GAP), value, value, verdict
