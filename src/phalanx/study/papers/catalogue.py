# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the papers print: a data file in a folder each, with the source of every figure."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any

from ...errors import PhalanxError, is_one_of, nearest, shown
from .formulas import parse
from .instants import parse_instant

NAMES = ("lathrop", "zomaya_morris", "recursive_doubling", "kane", "band_sparsity")


@dataclass(frozen=True)
class CatalogueRow:
    """One published figure, formula or claim, and the quantity that computes it."""

    source: str
    item: str
    published: Any
    quantity: str
    given: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "value"  # or "formula": texts in n; "instants": ends of steps; "claim": holds or does not
    unit: str = ""
    why: str = ""  # why the computed value differs, where that is known
    note: str = ""
    assumption: str = ""  # a figure that the paper does not give and the computed side takes from elsewhere
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
