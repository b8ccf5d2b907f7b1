# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Instants in terms of symbols and operations."""

from __future__ import annotations

import pytest

import phalanx as px
from phalanx.study.papers.instants import DELAYS, latest, parse_instant, symbol
from phalanx.study.papers.lathrop.timing import operator_time


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
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(px.PhalanxError, match="cannot read the instant"):
        parse_instant(text)
