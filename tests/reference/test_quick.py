# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Of the cases of a test, quick runs meet every value of every parameter."""

from itertools import product
from typing import Any

import numpy as np

from reference.quick import representatives


def cases(**choices: Any) -> list[dict[str, Any]]:
    return [dict(zip(choices, values, strict=True)) for values in product(*choices.values())]


def test_every_value_of_a_product_occurs_in_as_few_cases_as_the_longest_choice_has() -> None:
    product_of_three = cases(a=range(4), b="xyz", c=(True, False))
    chosen = representatives(product_of_three)
    assert len(chosen) == 4
    for name in "abc":
        assert {product_of_three[k][name] for k in chosen} == {case[name] for case in product_of_three}


def test_all_cases_stay_where_each_has_a_value_of_its_own() -> None:
    assert representatives([{"text": t, "status": 2} for t in "abc"]) == {0, 1, 2}
    assert representatives([{}]) == set()


def test_equal_numbers_of_different_types_are_different_values() -> None:
    assert representatives([{"x": 1}, {"x": 1.0}, {"x": True}, {"x": 1}]) == {0, 1, 2}


def test_arrays_are_told_apart_as_objects() -> None:
    a, b = np.zeros(3), np.zeros(3)
    assert representatives([{"x": a}, {"x": b}, {"x": a}]) == {0, 1}


def test_lists_and_tables_are_told_apart_by_what_they_hold() -> None:
    huge = 10**5000  # too long to be written
    rows = [{"x": {"a": [1]}}, {"x": {"a": [1]}}, {"x": {"a": [2]}}, {"x": [huge]}, {"x": [huge]}]
    assert representatives(rows) == {0, 2, 3}
