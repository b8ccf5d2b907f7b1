# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The data files: nothing that the papers print is missing, everything has a source."""

from __future__ import annotations

from collections import Counter
from importlib import resources

import pytest

import phalanx as px
from phalanx.study.papers import names, paper
from phalanx.study.papers.catalogue import register_quantities
from phalanx.study.papers.printed_formulas import PrintedFormula, parse
from phalanx.study.papers.quantities import QUANTITIES, how

register_quantities()

# How many rows each table, equation and figure has in print.
LISTING = {
    "lathrop": {
        "Table 1": 14,
        "Table 4": 8,
        "Table 6": 4,
        "eqs. (1), (5)": 2,
        "eqs. (2), (17)": 2,
        "eq. (3)": 1,
        "eq. (4)": 4,
        "eqs. (15), (16)": 1,
        "section 5": 4,
        "Fig. 2": 1,
        "Fig. 3": 3,
        "Fig. 5": 4,
        "Fig. 6": 1,
        "section 7": 4,
        "section 7.1.1": 1,
        "text": 8,
    },
    "zomaya_morris": {
        "Table 1": 3,
        "Table 2": 13,
        "Table 3": 13,
        "eq. (2)": 6,
        "eq. (13)": 6,
        "section 5": 2,
        "section 7": 6,
        "section 8": 7,
        "Fig. 3": 2,
    },
    "recursive_doubling": {
        "eq. (8)": 2,
        "eqs. (9), (10)": 2,
        "eqs. (3)-(5)": 3,
        "eq. (16)": 1,
        "eqs. (17), (18)": 3,
        "Fig. 2": 1,
        "Fig. 3": 1,
        "Table 2": 2,
        "text": 10,
    },
    "kane": {
        "serial costs": 14,
        "parallel costs": 30,
        "orders": 10,
        "frames": 6,
        "mapping": 5,
        "conclusion": 3,
    },
    "band_sparsity": {
        "section I": 6,
        "eqs. (4), (5), (17)": 3,
        "section II-C": 2,
        "section IV": 1,
        "Fig. 1": 1,
        "Fig. 2": 4,
        "Fig. 3a": 1,
        "Fig. 3b": 2,
        "conclusion": 3,
    },
}
# Formulas and totals that must be there, whoever edits the files.
PRINTED = {
    "lathrop": ["150n-48 / 131n-48", "57n-18 / 50n-18", "2n+3 / 6n+7", "2n+5 / 6n+9", "2K+5 / 6K+10"],
    "zomaya_morris": ["150n / 116n", "117n / 95n", "105n / 83n", "40n / 32n"],
    "recursive_doubling": ["L"],
    "kane": [
        "39/2n^2+195/2n-95 / 19n^2+55n-66",
        "9/2n^2+231/2n-181 / 4n^2+88n-137",
        "48L+100 / 63L+65",
        "33L+109 / 33L+89",
        "9n+48L+58 / 8n+63L+24",
        "39n+27L+25 / 38n+18L-2",
    ],
    "band_sparsity": ["L"],
}


def test_there_is_a_file_for_every_paper() -> None:
    folders = [entry for entry in resources.files("phalanx.study.papers").iterdir() if entry.is_dir()]
    assert {f.name for f in folders if f.joinpath(f"{f.name}.toml").is_file()} == set(names())
    assert set(names()) == set(LISTING)


@pytest.mark.parametrize("name", LISTING)
def test_every_printed_row_is_there(name: str) -> None:
    assert Counter(row.source for row in paper(name).rows if row.printed) == LISTING[name]


@pytest.mark.parametrize("name", LISTING)
def test_every_source_has_rows_and_a_caption(name: str) -> None:
    told = paper(name)
    assert set(told.sources) == {row.source for row in told.rows}
    assert all(told.sources.values())
    assert told.title
    assert told.authors
    assert 1980 < told.year < 2020


@pytest.mark.parametrize("name", LISTING)
def test_what_has_no_row_is_named(name: str) -> None:
    assert all(paper(name).left_out.values())
    assert paper(name).left_out


def test_figures_and_claims_without_a_row_are_named() -> None:
    assert "appendix B" in paper("lathrop").left_out
    assert {"frames", "conclusion"} <= set(paper("kane").left_out)


def test_places_in_the_paper_on_band_sparsity() -> None:
    sources = {a.name: a.source for f in ("inverse_dynamics", "forward_dynamics") for a in px.algorithms(f)}
    for name, place in {"jsiia": "II-B", "abia": "II-B", "scan": "II-C", "cfa": "III"}.items():
        assert f"2017, section {place}" in sources[name].replace(";", " ").replace("(", " ")
    (row,) = [r for r in paper("band_sparsity").rows if r.item == "inverse dynamics by scans: O(log n)"]
    assert row.source == "section II-C"
    assert row.given["algorithm"] == "scan"


@pytest.mark.parametrize("name", LISTING)
def test_printed_formulas_are_there(name: str) -> None:
    found = [row.published for row in paper(name).rows if row.printed and row.kind == "formula"]
    pairs = [value if isinstance(value, tuple) else (value,) for value in found]
    for text in PRINTED[name]:
        wanted = tuple(map(parse, text.split(" / ")))
        assert any(
            len(pair) == len(wanted) and all(map(PrintedFormula.__eq__, pair, wanted)) for pair in pairs
        ), text


@pytest.mark.parametrize("name", LISTING)
def test_rows_are_of_a_known_kind_and_of_a_source_of_the_paper(name: str) -> None:
    assert {row.kind for row in paper(name).rows} <= {"value", "formula", "instants", "claim"}
    assert {row.source for row in paper(name).rows} <= set(paper(name).sources)


@pytest.mark.parametrize("name", LISTING)
def test_items_are_different_within_a_source(name: str) -> None:
    twice = [x for x, count in Counter((r.source, r.item) for r in paper(name).rows).items() if count > 1]
    assert twice == []


@pytest.mark.parametrize("name", LISTING)
def test_every_row_names_a_quantity_that_says_how_it_is_computed(name: str) -> None:
    for row in paper(name).rows:
        assert how(row.quantity), row.item


def test_every_quantity_is_used() -> None:
    used = {row.quantity for name in names() for row in paper(name).rows}
    assert set(QUANTITIES) - used == set()


def test_an_unknown_paper_is_refused_with_the_nearest() -> None:
    with pytest.raises(px.PhalanxError, match=r"no paper 'lathrup'.*lathrop"):
        px.papers.reproduce("lathrup")
