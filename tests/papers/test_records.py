# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Verdicts on two values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from phalanx.papers.formulas import parse
from phalanx.papers.records import Claim, shown, verdict


@pytest.mark.parametrize(
    ("published", "computed"),
    [
        (432, 432),
        ((150, 116), (150, 116)),
        (parse("150n"), parse("150n")),
        ((parse("2n+3"), parse("6n+7")), (parse("2n+3"), parse("6n+7"))),
        (Decimal("2.98"), 1179 / 396),
        (Decimal("2.0"), 1.99982),
        (12, Fraction(12)),
        ("01 23", "01 23"),
        ("whatever is claimed", Claim(True, "figures")),
    ],
)
def test_equal_values_are_exact(published: Any, computed: Any) -> None:
    assert verdict(published, computed, "a reason that is not needed") == "exact"


@pytest.mark.parametrize(
    ("published", "computed", "told"),
    [
        (100, 101, "within 1 %"),
        ((1192, 948), (1176, 918), "within 3.2 %"),
        (Decimal("2.40"), 1179 / 498, "within 1.4 %"),
        (1000, 1001, "within 0.1 %"),
    ],
)
def test_small_deviations_are_bounded(published: Any, computed: Any, told: str) -> None:
    assert verdict(published, computed) == told


@pytest.mark.parametrize(
    ("published", "computed", "told"),
    [
        (432, 567, "differs: +31 %; waiting"),
        (3, 6, "differs: 6 instead of 3; waiting"),
        ((644, 535), (744, 535), "differs: +16 % / equal; waiting"),
        (parse("19n^2+55n-66"), parse("19n^2+43n-24"), "differs: -12n+42; waiting"),
        ("n3", "n2", "differs: n2 instead of n3; waiting"),
        ((1, 2), (1, 2, 3), "differs: 3 parts instead of 2; waiting"),
        ("many", Claim(False, "few"), "differs: few; waiting"),
        (0, 1, "differs: 1 instead of 0; waiting"),
        (parse("L"), "no formula: 1 at 2", "differs: no formula: 1 at 2 instead of L; waiting"),
    ],
)
def test_differences_tell_what_and_why(published: Any, computed: Any, told: str) -> None:
    assert verdict(published, computed, "waiting") == told
    assert verdict(published, computed) == told.removesuffix("; waiting")


def test_values_in_print() -> None:
    assert shown((parse("2n+3"), Fraction(1, 2), 2.71234, Decimal("2.40"))) == "2n+3 / 1/2 / 2.712 / 2.40"
    assert shown(Claim(True, "3 at n = 8")) == "holds: 3 at n = 8"
