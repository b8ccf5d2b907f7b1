# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Composite rigid bodies by moments: the published coefficients of n^2."""

from reference.counting import depth, operations, quadratic


def test_pairs_cost_nine_multiplications_and_eight_additions() -> None:
    multiplications, additions, divisions = zip(
        *(operations("composite_variant", n) for n in (4, 6, 8)), strict=True
    )
    assert quadratic(multiplications) == 9 / 2
    assert quadratic(additions) == 4
    assert set(divisions) == {0}


def test_depth_grows_by_eight_a_link() -> None:
    assert depth("composite_variant", 13) - depth("composite_variant", 6) == 8 * 7
