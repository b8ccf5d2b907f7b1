# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Published against computed: every row judged, the known results confirmed, wrong figures found."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import phalanx as px
from phalanx.study import papers
from phalanx.study.papers import Record, catalogue, names, paper, quantities
from phalanx.study.papers.band_sparsity.rankings import LEVEL, order_of_errors
from phalanx.study.papers.operations import span_order, work_order
from phalanx.study.papers.printed_formulas import Instant, PrintedFormula, formula
from phalanx.study.papers.verdicts import Claim, verdict

DOCS = Path(__file__).parents[3] / "docs"


@cache
def records(name: str) -> list[Record]:
    return px.papers.reproduce(name)


def row(name: str, item: str) -> Record:
    (found,) = [r for r in records(name) if r.item == item and r.printed]
    return found


@pytest.mark.parametrize("name", names())
def test_every_row_has_a_value_and_a_verdict(name: str) -> None:
    for r in records(name):
        assert r.computed is not None, r.item
        assert str(r.computed), r.item
        assert r.how, r.item
        plain = r.verdict.removeprefix("not printed: ").removeprefix("arithmetic of the print: ")
        within = plain.startswith("within ") and plain.endswith(" %")
        assert r.agrees or within or (plain.startswith("differs: ") and len(plain) > 10), r


def test_rows_that_prove_less_have_their_own_verdicts() -> None:
    kinds = Counter(r.kind for name in names() for r in records(name))
    assert kinds["exact under an assumption"] == 3
    assert kinds["arithmetic of the print"] == 17
    assert kinds["not printed"] == 40
    everything = [r for name in names() for r in records(name)]
    assert sum(r.agrees for r in everything if r.kind == "arithmetic of the print") == 13
    assert sum(r.agrees for r in everything if r.kind == "not printed") in (32, 33)  # one ranks errors
    assert all((r.kind == "not printed") == (not r.printed) for r in everything)


def test_the_index_says_how_many_rows_have_which_verdict() -> None:
    page = (DOCS / "papers" / "index.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| ([a-z ]+?)(?: x %)? \| ((?:about )?\d+) \|", page, re.MULTILINE))
    counted = Counter(r.kind for name in names() for r in records(name))
    assert set(told) == set(counted)
    for kind, number in told.items():
        margin = 4 if number.startswith("about ") else 0  # some rows rank times or errors of this machine
        assert abs(int(number.removeprefix("about ")) - counted[kind]) <= margin, kind


@pytest.mark.parametrize(
    ("item", "published"),
    [
        ("time of PSCSNEA", "2.0"),
        ("reduction of time, PSCSNEA against NE", "58"),
        ("reduction of time, PSCSNEA against SCSNEA", "41"),
    ],
)
def test_times_that_need_the_rate_of_a_link_say_so(item: str, published: str) -> None:
    found = row("zomaya_morris", item)
    assert str(found.published) == published
    assert found.verdict.startswith("exact under an assumption: the rate of a link")
    assert not found.exact


EXACT = {
    "lathrop": [
        "Lathrop: linear parallel",
        "Lathrop: linear parallel, n = 6",
        "Lathrop: logarithmic parallel",
        "Lathrop: logarithmic parallel, n = 6",
        "linear time, eq. (1)",
        "linear time, eq. (5)",
        "logarithmic time",
        "levels until X_{0,n} is there",
        "linear outward: per node, single device, pipeline",
        "linear inward: per node, single device, pipeline",
        "logarithmic outward: per node, tier, device, pipeline",
        "logarithmic inward: per node, tier, device, pipeline",
    ],
    "zomaya_morris": [
        "general Newton-Euler",
        "general Newton-Euler, n = 6",
        "semi-customised Newton-Euler",
        "semi-customised Newton-Euler, n = 6",
        "semi-customised Newton-Euler, diagonal J",
        "semi-customised Newton-Euler, diagonal J, n = 6",
        "parallel form: operations",
        "parallel form: operations of the busiest worker, n = 6",
    ],
    "recursive_doubling": [
        "levels of Stage A",
        "levels of Stage B",
        "computations of a level, n a power of two",
        "rows of column 6 formed on levels 1, 2, 3, n = 8",
        "off-diagonal elements formed, each once",
    ],
    "kane": [
        "VN-EB: coefficients of n^2",
        "VCR-B: coefficients of n^2",
        "PPA VN-EB: coefficients",
        "PA VN-EB: coefficients",
        "PA VCR-B",
        "PA VCR-B, n = 6",
        "PPA VCR-B: coefficients of n",
        "PPA VCR-B: coefficients, multiplications",
        "OKE on O(n^3) processors: O(log n)",
        "PA VN-EB: processors",
        "PPA VN-EB: processors",
    ],
    "band_sparsity": [
        "odd-even elimination: steps",
        "eight block rows become diagonal: steps",
        "scan on n processors: levels",
        "JSIIA on one processor: O(n^3)",
        "CFA in parallel: O(log n)",
    ],
}


@pytest.mark.parametrize(("name", "item"), [(name, item) for name, items in EXACT.items() for item in items])
def test_known_results_are_exact(name: str, item: str) -> None:
    assert row(name, item).verdict == "exact"


@pytest.mark.parametrize("source", ["Table 2", "Table 3"])
def test_every_row_of_the_operation_tables_is_exact(source: str) -> None:
    assert {r.verdict for r in records("zomaya_morris") if r.source == source} == {"exact"}


@pytest.mark.parametrize("source", ["Table 4", "Table 6"])
def test_steps_and_processors_of_lathrop_are_exact(source: str) -> None:
    assert {r.verdict for r in records("lathrop") if r.source == source} == {"exact"}


def test_the_transputers_take_567_operations_and_not_432() -> None:
    found = row("zomaya_morris", "parallel form: operations until the last torque, n = 6")
    assert (found.published, found.computed) == (432, 567)
    assert found.differs
    assert "Workers wait" in found.verdict


def test_errors_of_the_papers_are_found() -> None:
    assert row("zomaya_morris", "torque tau_3 of Table 1's arm").computed == "n2"
    assert row("lathrop", "Uicker, Kahn: original Lagrangian, n = 6").computed == (67143, 51548)
    assert row("kane", "VCR-B, n = 6, by the printed formula").computed == (674, 535)
    assert row("band_sparsity", "articulated inertias gain at most a constant factor").differs


@pytest.mark.parametrize("name", names())
def test_figures_counted_by_other_code_agree_or_say_why(name: str) -> None:
    # What nobody printed was counted independently; a good part of it has to come out.
    others = [r for r in records(name) if not r.printed]
    assert all(r.verdict.endswith(".") for r in others if r.differs), "a reason is given"
    assert sum(r.agrees for r in others) >= len(others) / 3


@pytest.mark.parametrize("name", [n for n in names() if (DOCS / "papers" / f"{n}.md").exists()])
def test_the_table_of_a_papers_page_is_what_it_is_now(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python docs/make_tables.py` brings it up to date."""
    monkeypatch.syspath_prepend(str(DOCS))
    monkeypatch.setattr(papers, "reproduce", records)
    from make_tables import fresh, without_measurements

    file, text = fresh(name)
    assert without_measurements(file.read_text(encoding="utf-8")) == without_measurements(text)


@pytest.mark.parametrize(
    ("claim", "item"),
    [
        ("Fig. 2, 10 links: JSIIA fastest, ABIA and CFA level",
         "10 links: JSIIA, then ABIA and CFA about equal"),
        ("Fig. 2, long chains: CFA, then ABIA, then JSIIA", "many links: CFA, then ABIA, then JSIIA"),
        ("Fig. 3a, above 100 chains: JSIIA and CFA level, ABIA slower",
         "above 100 robots: JSIIA and CFA about equal, then ABIA"),
    ],
)  # fmt: skip
def test_both_pages_on_band_sparsity_say_the_same(claim: str, item: str) -> None:
    measured, paper_page = (DOCS / name for name in ("band_sparsity.md", "papers/band_sparsity.md"))
    texts = [" ".join(page.read_text(encoding="utf-8").split()) for page in (measured, paper_page)]
    assert all(f"within a factor of {LEVEL} are called" in text for text in texts), "one tolerance"
    (verdict,) = re.findall(rf"\| {re.escape(claim)} \|[^|]*\| ([^|]*) \|", texts[0])
    (computed,) = re.findall(rf"\| {re.escape(item)} \|[^|]*\| (holds|does not hold):", texts[1])
    assert verdict == computed


def test_every_page_of_a_paper_with_a_table_is_of_a_known_one() -> None:
    pages = [page for page in DOCS.rglob("*.md") if "<!-- table:" in page.read_text("utf-8")]
    assert {page.stem for page in pages} == set(names())


def altered(value: Any) -> Any:
    """A published value with one figure changed a little."""
    if isinstance(value, tuple):
        return (altered(value[0]), *value[1:])
    if isinstance(value, PrintedFormula):
        return formula({**value.coefficients, "1": value["1"] + 1})
    if isinstance(value, Instant):
        return value.after((0, 1))
    if isinstance(value, Decimal):
        return value + Decimal(1).scaleb(int(value.as_tuple().exponent))
    return value + 1 if isinstance(value, int | Fraction) else value + " 9"


@pytest.mark.parametrize("name", names())
def test_an_altered_figure_is_not_exact(name: str) -> None:
    exact = [r for r in records(name) if r.agrees and not isinstance(r.computed, Claim)]
    assert exact
    for r in exact:
        assert verdict(altered(r.published), r.computed) != "exact", r.item


def test_an_altered_data_file_flips_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    told = paper("recursive_doubling")
    rows = tuple(
        replace(r, published=altered(r.published)) for r in told.rows if r.item == "levels of Stage A"
    )
    monkeypatch.setattr(catalogue, "paper", lambda name: replace(told, rows=rows))
    (found,) = catalogue.reproduce("recursive_doubling")
    assert found.verdict == "differs: 1 less"


def test_a_row_that_cannot_be_computed_says_so_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(**_: Any) -> Any:
        raise px.PhalanxError("install what is missing.")

    monkeypatch.setitem(quantities.QUANTITIES, "levels_of_stage", missing)
    told = paper("recursive_doubling")
    monkeypatch.setattr(catalogue, "paper", lambda name: replace(told, rows=told.rows[:3]))
    first, second, third = catalogue.reproduce("recursive_doubling")
    assert first.verdict == second.verdict == "not computed: install what is missing"
    assert third.exact


def test_wrong_claims_do_not_hold() -> None:
    assert not span_order("inverse_dynamics", "lathrop", "n").holds
    assert not span_order("mass_matrix", "composite_original", "L").holds
    assert not work_order("mass_matrix", "composite_original", "n^3").holds
    assert not order_of_errors(["cfa", "aba"], "random", 30).holds
    assert order_of_errors(["aba", "cfa"], "random", 30).holds


def test_progress_is_told_row_by_row() -> None:
    seen: list[tuple[str, int, int]] = []
    found = px.papers.reproduce("recursive_doubling", progress=lambda *told: seen.append(told))
    assert [item for item, _, _ in seen] == [r.item for r in found]
    assert [done for _, done, _ in seen] == list(range(len(found)))
    assert {count for _, _, count in seen} == {len(found)}


def test_what_cannot_be_computed_is_not_called_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(quantity: str) -> Any:
        def fail(**given: Any) -> Any:
            raise px.PhalanxError("install a package.")

        return fail

    monkeypatch.setattr(catalogue, "find", missing)
    found = px.papers.reproduce("recursive_doubling")
    assert {r.verdict for r in found} == {"not computed: install a package"}
    assert not any(r.differs or r.exact for r in found)
