# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kane's equations made recursive: the counted work."""

from reference.counting import operations, quadratic


def test_work_is_that_of_vke() -> None:
    assert operations("kane_variant", 6) == (1185, 933, 0)


def test_pairs_cost_33_multiplications_and_35_additions() -> None:
    multiplications, additions, _ = zip(*(operations("kane_variant", n) for n in (4, 6, 8)), strict=True)
    assert quadratic(multiplications) == 33 / 2
    assert quadratic(additions) == 35 / 2
