# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The rows of a paper recomputed and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...errors import PhalanxError, shown
from ...progress import steps
from .catalogue import CatalogueRow, Paper, paper
from .quantities import find, how, is_arithmetic_of_print
from .records import Record, qualified, sentence, verdict

Progress = Callable[[str, int, int], None]  # item, how many are done, of how many


def reproduce(name: str, *, progress: Progress | None = None) -> list[Record]:
    """A record for every row of a paper (`paper(name).rows`): published, computed, verdict.

    What a paper has beyond its rows is listed in `paper(name).left_out`.
    `progress` is called before each row with its item, its number and the number of rows.
    """
    from . import computed as _registered  # noqa: F401  the quantities, imported when first needed

    chosen = paper(name)
    if progress is not None and not callable(progress):
        raise PhalanxError(
            f"papers.reproduce: progress is {shown(progress)}, expected a function of three arguments."
        )
    records = []
    for done, row in enumerate(steps(chosen.rows, f"papers {name}", lambda row: row.item)):
        if progress is not None:
            progress(row.item, done, len(chosen.rows))
        records.append(_record(chosen, row))
    return records


def reproduce_all(names: Iterable[str]) -> dict[str, list[Record]]:
    """The records of several papers by name, with one progress bar over all their rows."""
    from . import computed as _registered  # noqa: F401

    papers = [paper(name) for name in names]
    found: dict[str, list[Record]] = {chosen.name: [] for chosen in papers}
    rows = [(chosen, row) for chosen in papers for row in chosen.rows]
    for chosen, row in steps(rows, "papers", lambda pair: f"{pair[0].name}: {pair[1].item}"):
        found[chosen.name].append(_record(chosen, row))
    return found


def _record(chosen: Paper, row: CatalogueRow) -> Record:
    try:
        value = find(row.quantity)(**row.given)
    except PhalanxError as error:  # a package that is not installed, say: the other rows are still worth it
        value, told = None, f"not computed: {error}".rstrip(".")
        cause = ""
    else:
        plain = verdict(row.published, value, row.why, row.unit)
        # Of a small deviation the verdict gives the size; its cause goes to the notes.
        cause = row.why if plain.startswith("within") else ""
        told = qualified(
            plain,
            printed=row.printed,
            of_print=is_arithmetic_of_print(row.quantity),
            assumption=row.assumption,
        )
    return Record(
        paper=chosen.name,
        source=row.source,
        item=row.item,
        published=row.published,
        computed=value,
        verdict=told,
        note=" ".join(x for x in (sentence(cause), row.note) if x),
        unit=row.unit,
        how=how(row.quantity),
        printed=row.printed,
    )
