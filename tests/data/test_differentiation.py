# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rates from positions: SciPy's filter, exact polynomials, rotations, borders of episodes."""

import numpy as np
import pytest

import phalanx as px
from phalanx.data.differentiation import episode


@pytest.mark.parametrize("frames", [3, 4, 9, 11, 40])
def test_it_is_the_filter_of_savitzky_and_golay(frames: int) -> None:
    signal = pytest.importorskip("scipy.signal")
    robot = px.load("two_link")
    q = np.random.default_rng(0).normal(size=(frames, 2))
    rates = px.data.differentiate(robot, q, 50.0)
    window = min(11, frames - 1 + frames % 2)
    degree = min(3, window - 1)
    for order, found in ((1, rates.qd), (2, rates.qdd)):
        wanted = signal.savgol_filter(q, window, degree, deriv=order, delta=0.02, axis=0, mode="interp")
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


def test_a_cubic_is_differentiated_exactly_up_to_its_ends() -> None:
    robot, t = px.load("two_link"), np.arange(30) / 10.0
    q = np.stack([t**3 - t, 2 * t**2], axis=1)
    rates = px.data.differentiate(robot, q, 10.0)
    np.testing.assert_allclose(rates.qd, np.stack([3 * t**2 - 1, 4 * t], axis=1), atol=1e-10)
    np.testing.assert_allclose(rates.qdd, np.stack([6 * t, 4 + 0 * t], axis=1), atol=1e-9)


def test_no_window_reaches_across_episodes() -> None:
    robot = px.load("two_link")
    parts = [np.random.default_rng(k).normal(size=(n, 2)) + 100 * k for k, n in enumerate((20, 5, 33))]
    whole = px.data.differentiate(robot, np.concatenate(parts), 50.0, ends=[20, 25, 58])
    apart = [px.data.differentiate(robot, part, 50.0) for part in parts]
    np.testing.assert_array_equal(whole.qd, np.concatenate([a.qd for a in apart]))
    np.testing.assert_array_equal(whole.qdd, np.concatenate([a.qdd for a in apart]))


def test_a_body_that_turns_and_flies_has_the_rates_of_its_path() -> None:
    """Along integrate(q0, t V) with a constant twist V, qd is V and qdd is zero."""
    robot = px.load("two_link").with_floating_base()
    rng = np.random.default_rng(1)
    q0, V = robot.random_state(rng=1)[0], 0.7 * rng.normal(size=robot.nv)
    t = np.arange(60) / 100.0
    q = robot.integrate(np.broadcast_to(q0, (60, robot.nq)), t[:, None] * V)
    q[::7, 3:7] *= -1.0  # the same rotation
    rates = px.data.differentiate(robot, q, 100.0)
    np.testing.assert_allclose(rates.qd, np.broadcast_to(V, (60, robot.nv)), atol=1e-9)
    np.testing.assert_allclose(rates.qdd, 0.0, atol=1e-7)


def test_a_frame_has_the_same_bits_whatever_is_read_with_it() -> None:
    robot = px.tree(6, joints=("revolute", "spherical"), seed=3)
    q = robot.random_state(80, rng=0)[0]
    whole = episode(robot, q, 30.0, None, 11, 3)
    for low, high in ((0, 80), (3, 9), (20, 60), (70, 80)):
        a, b = max(0, low - 10), min(80, high + 10)
        part = episode(robot, q[a:b], 30.0, None, 11, 3, inner=(low - a, high - a))
        for x, y in zip(whole, part, strict=True):
            np.testing.assert_array_equal(x[low:high], y)


def test_recorded_rates_are_taken_as_they_are() -> None:
    robot, t = px.load("two_link"), np.arange(40) / 20.0
    qd = np.stack([np.sin(t), np.cos(t)], axis=1)
    rates = px.data.differentiate(robot, np.zeros((40, 2)), 20.0, qd=qd)
    np.testing.assert_array_equal(rates.qd, qd)
    np.testing.assert_allclose(rates.qdd[8:-8], np.stack([np.cos(t), -np.sin(t)], axis=1)[8:-8], atol=2e-3)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"q": np.zeros((5, 3))}, r"q has shape \(5, 3\)"),
        ({"rate": 0.0}, "rate: got 0.0"),
        ({"rate": 1e300}, r"rate: got 1e\+300, expected frames a second above 0, up to 1e\+12"),
        ({"window": 4}, "odd window"),
        ({"polynomial": 11}, "degree"),
        ({"ends": [5, 5, 20]}, "ends must rise"),
        ({"qd": np.zeros((3, 2))}, "qd has shape"),
        ({"q": np.zeros((2, 2))}, "at least 3"),
    ],
)
def test_what_cannot_be_differentiated_is_refused(options: dict[str, object], told: str) -> None:
    given = {"q": np.zeros((20, 2)), "rate": 10.0, **options}
    with pytest.raises(px.PhalanxError, match=told):
        px.data.differentiate(px.load("two_link"), **given)  # type: ignore[arg-type]
