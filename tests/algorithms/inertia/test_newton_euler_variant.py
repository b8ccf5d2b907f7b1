# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The Newton-Euler recursion for columns: the published coefficients of n^2 and the depth."""

import pytest

from reference.counting import depth, operations, quadratic


def test_pairs_cost_39_multiplications_and_38_additions() -> None:
    multiplications, additions, _ = zip(
        *(operations("newton_euler_variant", n) for n in (4, 6, 8)), strict=True
    )
    assert quadratic(multiplications) == 39 / 2
    assert quadratic(additions) == 19


def test_work_is_within_four_percent_of_the_digest() -> None:
    multiplications, additions, _ = operations("newton_euler_variant", 6)
    assert multiplications == pytest.approx(1192, rel=0.04)
    assert additions == pytest.approx(948, rel=0.04)


@pytest.mark.parametrize("n", [3, 6, 13])
def test_depth_grows_with_the_number_of_links(n: int) -> None:
    assert depth("newton_euler_variant", n) == 5 * n + 7
