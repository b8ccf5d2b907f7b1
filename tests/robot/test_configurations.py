# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Coordinates of whole robots: random and neutral ones, and steps from one to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.sampling import MOVING_TYPES


def test_random_states_lie_within_the_limits() -> None:
    robot = px.tree(30, seed=4, joints=MOVING_TYPES)
    q, qd, qdd = robot.random_state(500, rng=1)
    limits = robot.limits
    plain = np.ones(robot.nq, bool)
    for name, part in robot.q_slices.items():
        kind = dict(zip(robot.joint_names, robot.joint_types, strict=True))[name]
        if kind in ("spherical", "floating"):
            plain[part.stop - 4 : part.stop] = False
            np.testing.assert_allclose(
                np.linalg.norm(q[:, part.stop - 4 : part.stop], axis=-1), 1.0, rtol=1e-14
            )
    lower = np.where(np.isfinite(limits.lower), limits.lower, -np.pi)
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.pi)
    assert ((q >= lower) & (q <= upper))[:, plain].all()
    spread = (q.max(axis=0) - q.min(axis=0)) / (upper - lower)
    assert (spread[plain] > 0.95).all()
    assert (np.abs(qd) <= limits.velocity).all()
    free = np.isinf(limits.velocity)
    assert 0.9 < qd[:, free].std() < 1.1
    assert 0.9 < qdd.std() < 1.1
    assert np.abs(qdd).max() > 3.0


def test_a_limit_on_one_side_leaves_a_window_on_the_other() -> None:
    builder = px.RobotBuilder("door")
    builder.add_link("frame")
    builder.add_link("leaf", mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("hinge", "revolute", "frame", "leaf", upper=1.0)
    q, _, _ = builder.build().random_state(400, rng=0)
    assert (1.0 - 2 * np.pi <= q).all()
    assert (q <= 1.0).all()
    assert q.min() < 1.0 - 1.9 * np.pi


@pytest.mark.parametrize(
    ("batch", "shape"), [((), ()), (3, (3,)), ((2, 3), (2, 3)), ([0], (0,)), (np.int64(2), (2,))]
)
def test_random_states_have_the_batch_that_is_asked_for(batch: Any, shape: tuple[int, ...]) -> None:
    q, qd, qdd = px.chain(3).random_state(batch)
    assert q.shape == qd.shape == qdd.shape == (*shape, 3)


def test_random_states_repeat_with_their_seed_and_advance_a_generator() -> None:
    robot = px.chain(3)
    np.testing.assert_array_equal(robot.random_state(rng=5), robot.random_state(rng=5))
    rng = np.random.default_rng(5)
    first, second = robot.random_state(rng=rng), robot.random_state(rng=rng)
    np.testing.assert_array_equal(first, robot.random_state(rng=5))
    assert (first[0] != second[0]).any()


@pytest.mark.parametrize("batch", [-1, (2, -3), "many", (2, 1.5), None])
def test_a_bad_batch_is_refused(batch: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r"random_state: batch is .*; expected a size or a shape"):
        px.chain(2).random_state(batch)


@pytest.mark.parametrize("rng", ["seed", -1, 1.5])
def test_a_bad_seed_is_refused(rng: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r"random_state: rng is .*numpy\.random\.Generator"):
        px.chain(2).random_state(rng=rng)


# ------------------------------------------------------------------- points and steps


def test_neutral_is_zero_with_unit_quaternions() -> None:
    robot = px.tree(4, 0.0, seed=1, joints=("spherical", "revolute")).with_floating_base()
    q = robot.neutral()
    assert (robot.normalize(q) == q).all()
    assert q[:7].tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert q.sum() == 3.0


def test_integrate_and_difference_are_inverse_on_whole_robots() -> None:
    robot = px.tree(12, seed=3, joints=MOVING_TYPES).with_floating_base()
    q, dq, _ = robot.random_state((4, 3), rng=0)
    there = robot.integrate(q, 0.5 * dq)
    np.testing.assert_allclose(robot.difference(q, there), 0.5 * dq, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(robot.difference(there, q), -0.5 * dq, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(robot.normalize(there), there, rtol=0.0, atol=1e-14)


def test_integrate_broadcasts_and_keeps_the_dtype() -> None:
    robot = px.tree(5, seed=3, joints=("spherical", "floating", "planar"))
    q, dq, _ = robot.random_state((3, 1), rng=0)
    _, more, _ = robot.random_state(2, rng=1)
    assert robot.integrate(q, more).shape == (3, 2, robot.nq)
    assert robot.difference(q, q[0]).shape == (3, 1, robot.nv)
    narrow = robot.integrate(q.astype(np.float32), dq.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, robot.integrate(q, dq), atol=2e-5)
    assert robot.difference(q.astype(np.float32), narrow).dtype == np.float32
    assert robot.normalize(narrow).dtype == np.float32


def test_normalize_changes_quaternions_only_and_copies() -> None:
    robot = px.tree(3, 0.0, seed=0, joints=("floating", "revolute"))
    q, _, _ = robot.random_state(rng=1)
    stretched = q.copy()
    for part in robot.q_slices.values():
        if part.stop - part.start == 7:
            stretched[part.stop - 4 : part.stop] *= 5.0
    kept = stretched.copy()
    np.testing.assert_allclose(robot.normalize(stretched), q, rtol=1e-15)
    np.testing.assert_array_equal(stretched, kept)


def test_a_quaternion_of_zeros_becomes_nan_without_noise() -> None:
    robot = px.tree(1, seed=0, joints=("spherical",))
    assert np.isnan(robot.normalize(np.zeros((2, 4)))).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.integrate(np.zeros(4), np.zeros(3)), r"q has shape \(4,\), expected \(…, 3\).*nq = 3"),
        (lambda r: r.integrate(np.zeros(3), np.zeros(4)), r"dq has shape \(4,\), expected \(…, 3\).*nv = 3"),
        (lambda r: r.difference(np.zeros(3), "abc"), "q1 has dtype <U3, expected real numbers"),
        (lambda r: r.normalize([1j, 0, 0]), "q has dtype complex128, expected real numbers"),
        (
            lambda r: r.integrate(np.zeros((2, 3)), np.zeros((4, 3))),
            r"integrate: .*broadcast: q \(2,\), dq \(4,\)",
        ),
        (lambda r: r.difference(np.zeros((2, 3)), np.zeros((4, 3))), r"difference: .*q0 \(2,\), q1 \(4,\)"),
    ],
)
def test_bad_coordinates_are_refused(call: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        call(px.chain(3))
