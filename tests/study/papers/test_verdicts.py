# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Verdicts on two values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from phalanx.study.papers.printed_formulas import parse
from phalanx.study.papers.verdicts import KINDS, Claim, Record, qualified, sentence, shown, verdict


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
    ("published", "computed", "unit", "told"),
    [
        (432, 567, "operations", "differs: 31 % more. Waiting."),
        (4, 3, "", "differs: 25 % less. Waiting."),
        (3, 6, "links", "differs: 6 instead of 3. Waiting."),
        ((644, 535), (744, 535), "* / +", "differs: multiplications 16 % more, additions agree. Waiting."),
        ((244, 254), (499, 389), "* / +",
         "differs: 499 instead of 244 multiplications, 389 instead of 254 additions. Waiting."),
        (parse("19n^2+55n-66"), parse("19n^2+43n-24"), "*", "differs: 12n - 42 less. Waiting."),
        (parse("n"), parse("n+27"), "*", "differs: 27 more. Waiting."),
        ("n3", "n2", "", "differs: n2 instead of n3. Waiting."),
        ((1, 2), (1, 2, 3), "", "differs: 3 parts instead of 2. Waiting."),
        ((90, 0, 1), (-90, 0, 1), "degrees", "differs: -90 / 0 / 1 instead of 90 / 0 / 1. Waiting."),
        ("many", Claim(False, "few"), "", "differs: few. Waiting."),
        (0, 1, "", "differs: 1 instead of 0. Waiting."),
        (parse("L"), "no formula: 1 at 2", "", "differs: no formula: 1 at 2 instead of L. Waiting."),
    ],
)  # fmt: skip
def test_differences_tell_what_and_why(published: Any, computed: Any, unit: str, told: str) -> None:
    assert verdict(published, computed, "waiting", unit) == told
    assert verdict(published, computed, unit=unit) == told.removesuffix(". Waiting.")


def test_a_symbol_begins_a_sentence_as_it_is() -> None:
    assert sentence("tau_1 closes early") == "tau_1 closes early."
    assert sentence("see the formula") == "See the formula."
    assert sentence("") == ""


@pytest.mark.parametrize(
    ("published", "computed", "told"),
    [
        ((parse("48L+100"), parse("63L+65")), (parse("48L+100"), parse("63L+65")),
         "PA: 48L + 100 / 63L + 65 published and computed."),
        ((208, 188), (208, 173), "PA: 208 / 188 published, 208 / 173 computed; within 8 %."),
        (parse("9n+58"), parse("9n+85"),
         "PA: 9n + 58 published, 9n + 85 computed; differs: 27 more. Waiting."),
        ("O(log n)", Claim(True, "4L + 14"), "PA: O(log n) published; it holds: 4L + 14."),
        ("O(log n)", Claim(False, "3n"), "PA: O(log n) published; it does not hold: 3n. Waiting."),
    ],
)  # fmt: skip
def test_a_record_reads_as_sentences(published: Any, computed: Any, told: str) -> None:
    found = verdict(published, computed, "waiting", "* / +")
    record = Record("kane", "costs", "PA", published, computed, found, "", "* / +", "counted")
    assert str(record) == told
    assert repr(record) == f"<Record of kane, costs: {told}>"


def test_values_in_print() -> None:
    assert shown((parse("2n+3"), Fraction(1, 2), 2.71234, Decimal("2.40"))) == "2n + 3 / 1/2 / 2.712 / 2.40"
    assert shown(Claim(True, "3 at n = 8")) == "holds: 3 at n = 8"


@pytest.mark.parametrize(
    ("plain", "limits", "told", "agrees", "differs"),
    [
        ("exact", {}, "exact", True, False),
        ("exact", {"printed": False}, "not printed: agrees", True, False),
        ("differs: 3 less.", {"printed": False}, "not printed: differs: 3 less.", False, True),
        ("exact", {"of_print": True}, "arithmetic of the print: agrees", True, False),
        ("within 1.4 %", {"of_print": True}, "arithmetic of the print: within 1.4 %", False, False),
        ("exact", {"assumption": "1.7 MB/s"}, "exact under an assumption: 1.7 MB/s", True, False),
        ("within 2 %", {"assumption": "1.7 MB/s"}, "within 2 %", False, False),
    ],
)  # fmt: skip
def test_what_limits_a_verdict_stands_in_front(
    plain: str, limits: dict[str, Any], told: str, agrees: bool, differs: bool
) -> None:
    found = qualified(plain, **limits)
    assert found == told
    record = Record("kane", "costs", "PA", 1, 1, found, "", "", "counted", limits.get("printed", True))
    assert record.kind in KINDS
    assert told.startswith(record.kind)
    assert (record.exact, record.agrees, record.differs) == (told == "exact", agrees, differs)


def test_a_row_with_a_limit_reads_as_a_sentence() -> None:
    record = Record("kane", "costs", "PA", 21, 21, "not printed: agrees", "", "", "counted", False)
    assert str(record) == "PA: 21 counted elsewhere and computed; not printed: agrees."
