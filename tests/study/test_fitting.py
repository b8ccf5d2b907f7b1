# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Formulas through counts: exact, no longer than needed, refused where none exists."""

from __future__ import annotations

from fractions import Fraction

import pytest

from phalanx.study.fitting import fit


def levels(n: int) -> int:
    return (n - 1).bit_length()


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda n: 150 * n, "150n"),
        (lambda n: 7, "7"),
        (lambda n: 0, "0"),
        (lambda n: 150 * n - 18, "150n - 18"),
        (lambda n: 3 - n, "-n + 3"),
        (lambda n: (39 * n * n + 195 * n) // 2 - 95, "39/2 n^2 + 195/2 n - 95"),
        (lambda n: n**3 - n, "n^3 - n"),
        (lambda n: n * levels(n) // 1 + 2 * levels(n) + 1, "nL + 2L + 1"),
        (lambda n: 5 * n * n + 3 * n * levels(n) - 8, "5n^2 + 3nL - 8"),
    ],
)
def test_a_formula_is_found_and_reads_well(function: object, text: str) -> None:
    values = {n: function(n) for n in range(1, 17)}  # type: ignore[operator]
    found = fit(values)
    assert found is not None
    assert str(found) == text
    assert all(found(n) == value for n, value in values.items())
    assert found.exceptions == ()
    assert set(found.fitted) | set(found.verified) == set(values)
    assert not set(found.fitted) & set(found.verified)
    assert len(found.verified) >= 2


def test_coefficients_are_exact() -> None:
    found = fit({n: (27 * n * n + 221 * n) // 2 - 97 for n in range(1, 10)})
    assert found is not None
    assert found["n^2"] == Fraction(27, 2)
    assert found["n"] == Fraction(221, 2)
    assert found["L"] == 0


def test_the_logarithm_may_count_one_more_element() -> None:
    values = {n: 2 * n.bit_length() + 5 for n in range(1, 20)}
    right, wrong = fit(values, "n+1"), fit(values, "n")
    assert right is not None
    assert wrong is not None
    assert str(right) == "2L + 5"
    assert right.exceptions == ()
    assert wrong.exceptions == (1, 2, 4, 8, 16)


def test_one_wrong_value_spoils_it() -> None:
    values = {n: 150 * n for n in range(1, 13)}
    values[11] += 1
    assert fit(values) is None


def test_what_grows_otherwise_has_no_formula() -> None:
    assert fit({n: 2**n for n in range(1, 13)}) is None


def test_short_chains_may_be_exceptions_and_are_told() -> None:
    found = fit({n: 150 * n + 5 * (n < 3) for n in range(1, 13)})
    assert str(found) == "150n"
    assert found is not None
    assert found.exceptions == (1, 2)
    assert 1 not in found.verified


def test_powers_of_two_may_be_exceptions_and_are_told() -> None:
    found = fit({n: 2 * n.bit_length() + 5 - (n & (n - 1) == 0) for n in range(3, 20)}, "n+1")
    assert str(found) == "2L + 5"
    assert found is not None
    assert found.exceptions == (4, 8, 16)


def test_too_few_sizes_prove_nothing() -> None:
    assert fit({1: 3, 2: 5}) is None
