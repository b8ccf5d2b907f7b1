# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kane's equations as they stand: the counted work."""

from reference.counting import operations


def test_work_is_that_of_oke() -> None:
    assert operations("kane_original", 6) == (2208, 1398, 0)


def test_work_grows_with_the_cube() -> None:
    m = [operations("kane_original", n)[0] for n in (4, 6, 8, 10)]
    third_difference = m[3] - 3 * m[2] + 3 * m[1] - m[0]
    assert third_difference == 6 * 5 * 2**3
