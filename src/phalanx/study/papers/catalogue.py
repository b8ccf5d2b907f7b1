# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The printed figures of the papers: a data file in the folder of each, with the source of every figure."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from importlib import import_module, resources
from pkgutil import iter_modules
from typing import Any

from ...errors import PhalanxError, is_one_of, nearest, shown
from ...progress import steps
from .printed_formulas import parse, parse_instant
from .quantities import find, how, is_arithmetic_of_print
from .verdicts import Record, qualified, sentence, verdict

NAMES = ("lathrop", "zomaya_morris", "recursive_doubling", "kane", "band_sparsity")


@dataclass(frozen=True)
class CatalogueRow:
    """One published figure, formula or claim, and the quantity that computes it."""

    source: str
    item: str
    published: Any
    quantity: str
    given: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "value"  # or "formula": strings in n; "instants": ends of steps; "claim": holds or does not
    unit: str = ""
    why: str = ""  # why the computed value differs, where that is known
    note: str = ""
    assumption: str = ""  # a figure that the paper does not give and the computed side assumes
    printed: bool = True


@dataclass(frozen=True)
class Paper:
    """A paper: who wrote it, what its tables and formulas are, and all rows of them."""

    name: str
    title: str
    authors: str
    year: int
    sources: Mapping[str, str]  # of every table, formula, figure: what it shows
    facts: Mapping[str, Any]  # figures that nothing computes: machines, dates
    left_out: Mapping[str, str]  # figures and claims without a row: where, and what they say
    rows: tuple[CatalogueRow, ...]


def names() -> list[str]:
    """Names of the papers."""
    return list(NAMES)


def paper(name: str) -> Paper:
    """The paper of that name."""
    if not is_one_of(name, NAMES):
        raise PhalanxError(f"papers: no paper {shown(name)};{nearest(name, NAMES, what='papers')}")
    return _read(name)


@cache
def _read(name: str) -> Paper:
    text = resources.files(__package__).joinpath(name, f"{name}.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text, parse_float=Decimal)  # keeps the digits that were printed
    rows = tuple(_row(name, entry) for entry in data.pop("row"))
    return Paper(name, **{"facts": {}, "left_out": {}, **data}, rows=rows)


def _row(name: str, entry: dict[str, Any]) -> CatalogueRow:
    row = CatalogueRow(**entry)
    if row.kind == "formula":
        texts = row.published if isinstance(row.published, list) else [row.published]
        made = tuple(map(parse, texts))
        return replace(row, published=made if len(made) > 1 else made[0])
    if row.kind == "instants":
        return replace(row, published=tuple(sorted(map(parse_instant, row.published), key=str)))
    return replace(row, published=tuple(row.published)) if isinstance(row.published, list) else row


Progress = Callable[[str, int, int], None]  # item, how many are done, of how many


def register_quantities() -> None:
    """Import the modules whose functions compute the rows, those of each paper's folder and common ones."""
    import_module(".operations", __package__)
    for name in NAMES:
        folder = import_module(f".{name}", __package__)
        for module in iter_modules(folder.__path__, f"{folder.__name__}."):
            import_module(module.name)


def reproduce(name: str, *, progress: Progress | None = None) -> list[Record]:
    """A record for every row of a paper (`paper(name).rows`): published, computed, verdict.

    What a paper has beyond its rows is listed in `paper(name).left_out`.
    `progress` is called before each row with its item, its number and the number of rows.
    """
    register_quantities()
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
    register_quantities()
    papers = [paper(name) for name in names]
    found: dict[str, list[Record]] = {chosen.name: [] for chosen in papers}
    rows = [(chosen, row) for chosen in papers for row in chosen.rows]
    for chosen, row in steps(rows, "papers", lambda pair: f"{pair[0].name}: {pair[1].item}"):
        found[chosen.name].append(_record(chosen, row))
    return found


def _record(chosen: Paper, row: CatalogueRow) -> Record:
    try:
        value = find(row.quantity)(**row.given)
    except PhalanxError as error:  # a package that is not installed, say: the other rows are still computed
        value, judged = None, f"not computed: {error}".rstrip(".")
        cause = ""
    else:
        plain = verdict(row.published, value, row.why, row.unit)
        # Of a small deviation the verdict gives the size; its cause goes to the notes.
        cause = row.why if plain.startswith("within") else ""
        judged = qualified(
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
        verdict=judged,
        note=" ".join(x for x in (sentence(cause), row.note) if x),
        unit=row.unit,
        how=how(row.quantity),
        printed=row.printed,
    )
