# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Writes the tables of `px.papers.reproduce` into the pages of the papers, between their markers.

python docs/make_tables.py            # all papers
python docs/make_tables.py lathrop    # one
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent / "papers"
SUMMARY = "In all"
MEASURED = "(measured)"
NO_BREAK = "\N{NO-BREAK SPACE}"


def table(records: Sequence[Any], sources: Mapping[str, str], left_out: Mapping[str, str]) -> str:
    """The records of a paper in Markdown: verdicts of each kind, a table per source, and what has no row."""
    from phalanx.study.papers.verdicts import count_in_words

    parts = [f"{SUMMARY} {count_in_words(records)}."]
    for source in dict.fromkeys(r.source for r in records):
        heading = f"### {_plain(source)}: {_plain(sources[source])}"
        parts += [heading, _rows(r for r in records if r.source == source)]
    if left_out:
        lines = [f"- {_plain(place)}: {_plain(what)}." for place, what in left_out.items()]
        parts += ["### Not recomputed", "\n".join(lines)]
    return "\n\n".join(parts)


def measured(record: Any) -> bool:
    """Whether the computed side is a time of this machine, another one each time."""
    return record.how.startswith("measured")


def _rows(records: Iterable[Any]) -> str:
    from phalanx.study.papers.verdicts import shown

    lines = ["| item | published | computed | verdict |", "|---|---|---|---|"]
    for r in records:
        unit = f" [{r.unit.replace(' ', NO_BREAK)}]" if r.unit else ""
        item = r.item + unit
        computed = shown(r.computed) + (f" {MEASURED}" if measured(r) else "")
        cells = [_plain(cell) for cell in (item, shown(r.published), computed, r.verdict)]
        notes = [*filter(None, [r.note]), *([r.how] if measured(r) else [])]
        note = f"<br><small>{_plain('; '.join(notes))}</small>" if notes else ""
        lines.append(f"| {' | '.join(cells)}{note} |")
    return "\n".join(lines)


def without_measurements(page: str) -> str:
    """A page for comparison: rows of measured times and of rounding errors keep their first two cells.

    Their verdicts are not counted either: the line that sums up is left out.
    """
    varying = re.compile(rf"{re.escape(MEASURED)}|\de-\d\d")
    lines = (line.split(" | ") for line in page.splitlines() if not line.startswith(SUMMARY))
    return "\n".join(" | ".join(c[:2] if len(c) > 2 and varying.search(c[2]) else c) for c in lines)


def _plain(text: str) -> str:
    """Text that no Markdown reader takes for markup."""
    return re.sub(r"([|*_<\\`])", r"\\\1", text.replace("\n", " "))


def with_table(page: str, name: str, made: str) -> str:
    """The page with its table replaced."""
    begin, end = f"<!-- table: {name} -->", "<!-- end of table -->"
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n\n{made}\n\n{end}{after}"


def fresh(name: str) -> tuple[Path, str]:
    """A paper's page and its text as it has to be."""
    from phalanx.study.papers import reproduce
    from phalanx.study.papers.catalogue import paper

    file = PAGES / f"{name}.md"
    about = paper(name)
    made = table(reproduce(name), about.sources, about.left_out)
    return file, with_table(file.read_text(encoding="utf-8"), name, made)


def main(chosen: Sequence[str]) -> None:
    from phalanx.study.papers import names

    for name in chosen or names():
        file, text = fresh(name)
        file.write_text(text, encoding="utf-8")
        print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
