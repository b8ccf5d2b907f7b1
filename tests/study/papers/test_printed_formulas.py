# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Formulas as papers print them; instants in terms of symbols and operations."""

from __future__ import annotations

from fractions import Fraction

import pytest

import phalanx as px
from phalanx.study.papers.lathrop.timing import operator_time
from phalanx.study.papers.printed_formulas import DELAYS, formula, latest, parse, parse_instant, symbol


@pytest.mark.parametrize(
    ("text", "n", "value"),
    [
        ("150n", 6, 900),
        ("39/2n^2+195/2n-95", 6, 1192),
        ("65/2n^4+1037/12n^3+685/4n^2+160/3n-128", 6, 67143),
        ("2K+5", 6, 11),
        ("2K+5", 7, 11),
        ("2K+5", 8, 13),
        ("48L+100", 6, 244),
        ("48L+100", 8, 244),
        ("48L+100", 1, 100),
        ("n^3+n^2+2n", 6, 264),
        ("-18+57n", 6, 324),
        ("7", 3, 7),
    ],
)
def test_values_are_those_of_the_formula(text: str, n: int, value: int) -> None:
    assert parse(text)(n) == value


@pytest.mark.parametrize("text", ["39/2 n^2 + 195/2 n - 95", "2K + 5", "-n + 1", "9n + 48L + 58", "nL - n"])
def test_print_gives_the_text_back(text: str) -> None:
    assert str(parse(text)) == repr(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_formulas_are_equal_if_all_coefficients_are() -> None:
    assert parse("2n+3") == formula({"n": Fraction(2), "1": 3, "L": 0})
    assert parse("2n+3") != parse("2n+4")
    assert parse("2L") != parse("2K")
    assert str(parse("2n+3") - parse("n-1")) == "n + 4"


@pytest.mark.parametrize("text", ["2m+3", "n^5", "2n+", "", "n n", "3//2n"])
def test_other_texts_are_refused(text: str) -> None:
    if text == "":
        assert str(parse(text)) == "0"
        return
    with pytest.raises(px.PhalanxError, match="cannot read the formula"):
        parse(text)


@pytest.mark.parametrize("operator", DELAYS)
def test_delays_are_those_of_the_library(operator: str) -> None:
    assert operator_time(operator) == DELAYS[operator]


def test_sums_distribute_over_the_latest() -> None:
    assert parse_instant("max(b, a+VC+VA)+MV") == parse_instant("max(b+MV, a+VC+VA+MV)")
    assert parse_instant("a+2VC") == symbol("a").after((2, 2))
    assert parse_instant("a+VC") != parse_instant("a+MV")


def test_what_is_never_the_latest_is_left_out() -> None:
    assert latest([parse_instant("a+VA"), parse_instant("a+MV")]) == parse_instant("a+MV")
    assert len(latest([parse_instant("a+2VA"), parse_instant("a+SV")]).events) == 2


@pytest.mark.parametrize("text", ["a+XY", "a+", "max(a", "a b", "a+VA)", "", "+VA"])
def test_other_instants_are_refused(text: str) -> None:
    with pytest.raises(px.PhalanxError, match="cannot read the instant"):
        parse_instant(text)
