# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arithmetic with the same bits everywhere: right, and independent of the processor."""

import math
import random

import mpmath
import numpy as np
import pytest

from phalanx import reproducible
from phalanx.reproducible import composed, congruent, moved, product, times
from phalanx.spatial import Inertia, Transform


def angles() -> list[float]:
    rng = random.Random(7)
    made = [rng.uniform(-8.0, 8.0) for _ in range(200)]
    made += [rng.choice((-1.0, 1.0)) * 10.0 ** rng.uniform(-300.0, 300.0) for _ in range(60)]
    return (
        made + [k * math.pi / 12 for k in range(-30, 30)] + [0.0, 1e-8, 1e22, 5e-324, 1.7976931348623157e308]
    )


def test_sines_and_cosines_are_correctly_rounded():
    with mpmath.workprec(1400):
        for angle in angles():
            expected = float(mpmath.cos(angle)), float(mpmath.sin(angle))
            assert reproducible.cos_sin(angle) == expected, angle


def test_quick_and_slow_sines_agree():
    found = [(angle, reproducible._quick(angle)) for angle in angles()]
    known = [(angle, pair) for angle, pair in found if pair is not None]
    assert len(known) > 150
    assert all(pair == reproducible._slow(angle) for angle, pair in known)


def test_angles_of_points_are_correctly_rounded():
    rng = random.Random(8)
    points = [[rng.uniform(-1, 1) * 10.0 ** rng.uniform(-25, 25) for _ in "yx"] for _ in range(150)]
    points += [[y, x] for y in (0.0, -0.0, 1.0, -1.0) for x in (0.0, -0.0, 2.0, -2.0)]
    with mpmath.workprec(300):
        for y, x in points:
            expected = float(mpmath.atan2(y, x)) if y and x else math.atan2(y, x)
            assert reproducible.arctan2(y, x) == expected, (y, x)


def test_no_angle_has_a_sine_beyond_the_numbers():
    assert all(map(math.isnan, (*reproducible.cos_sin(math.inf), *reproducible.cos_sin(math.nan))))


@pytest.mark.parametrize("batch", [(), (5,)])
def test_products_are_those_of_matrices(batch):
    rng = np.random.default_rng(1)
    A, B, x = (rng.normal(size=(*batch, *shape)) for shape in ((3, 4), (4, 2), (4,)))
    np.testing.assert_allclose(product(A, B), A @ B, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(times(A, x), np.einsum("...ij,...j->...i", A, x), rtol=1e-13, atol=1e-14)
    square = rng.normal(size=(*batch, 4, 4))
    np.testing.assert_allclose(congruent(A, square), A @ square @ A.swapaxes(-1, -2), rtol=1e-12, atol=1e-13)


def test_sums_go_from_left_to_right():
    row, column = [[1e16, 1.0, -1e16]], [[1.0], [1.0], [1.0]]
    assert product(row, column) == times(row, [1.0, 1.0, 1.0]) == (1e16 + 1.0) - 1e16


def test_transforms_are_those_of_the_operators():
    rng = np.random.default_rng(2)
    turns = np.linalg.qr(rng.normal(size=(2, 3, 3)))[0]
    X, Y = (Transform(turn, rng.normal(size=3)) for turn in turns)
    G = Inertia(np.array(2.0), rng.normal(size=3), rng.normal(size=6))
    for mine, theirs in (
        (composed(X, Y), X @ Y),
        (composed(X, X.inverse()), Transform(np.eye(3), np.zeros(3))),
        (moved(X, G), X.T @ G),
    ):
        for (a, _), (b, _) in zip(mine.arrays(), theirs.arrays(), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-14)


def test_lengths_neither_overflow_nor_vanish():
    assert reproducible.length(3e200, 4e200) == pytest.approx(5e200)
    assert reproducible.length(3e-200, -4e-200) == pytest.approx(5e-200)
    assert reproducible.length(0.0, 0.0) == 0.0


def test_coarse_numbers_do_not_see_the_last_bits():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200) * 10.0 ** rng.uniform(-200.0, 200.0, 200)
    found = reproducible.coarse(x)
    np.testing.assert_allclose(found, x, rtol=2.0**-24)
    for other in (np.nextafter(x, np.inf), np.nextafter(x, -np.inf)):
        np.testing.assert_array_equal(reproducible.coarse(other), found)
    np.testing.assert_array_equal(reproducible.coarse([0.0, np.inf, 1.5]), [0.0, np.inf, 1.5])
