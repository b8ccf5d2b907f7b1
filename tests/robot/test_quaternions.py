# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Quaternions of any length that numbers can have mean the same turn, in every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from phalanx.backends.base import installed
from phalanx.robot.joints import leveled, rescale
from reference.sampling import agree

LENGTHS = {
    np.float64: (1e-322, 1e-310, 1e-200, 1e-160, 1e-20, 3.0, 1e20, 1e155, 1e200, 1.7e308),
    np.float32: (1e-44, 1e-40, 1e-30, 1e-20, 1e-5, 3.0, 1e5, 1e20, 1e30, 3.4e38),
}
CASES = [(dtype, length) for dtype, lengths in LENGTHS.items() for length in lengths]


def robot(n: int = 3) -> px.Robot:
    """A floating chain with ball joints."""
    return px.tree(n, 0.0, seed=5, joints=("spherical",)).with_floating_base()


def stretched(r: px.Robot, q: np.ndarray, length: float, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    """q with quaternions of about that length, and with the same ones of unit length in float64."""
    with np.errstate(all="ignore"):
        long = q.astype(dtype)
        unit = q.astype(np.float64)
        for part in r.q_slices.values():
            turn = slice(part.stop - 4, part.stop)
            largest = np.abs(q[..., turn]).max(axis=-1, keepdims=True)
            long[..., turn] = (q[..., turn] / largest * length).astype(dtype)
            # What is left of small numbers is what counts.
            left = np.longdouble(1.0) * long[..., turn]
            unit[..., turn] = (left / np.sqrt((left * left).sum(axis=-1, keepdims=True))).astype(float)
    return long, unit


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize(("dtype", "length"), CASES)
def test_dynamics_do_not_depend_on_the_length(backend: str, dtype: Any, length: float) -> None:
    if backend == "jax" and dtype is np.float64:
        jax = pytest.importorskip("jax")
        if not jax.config.jax_enable_x64:
            pytest.skip("JAX works in float32 now")
    if backend == "jax" and length < np.finfo(dtype).tiny:
        pytest.skip("XLA takes subnormal numbers for zero")
    r = robot()
    q, qd, qdd = r.random_state(5, rng=1)
    long, unit = stretched(r, q, length, dtype)
    given = qd.astype(dtype), qdd.astype(dtype)
    bound = 1e-12 if dtype is np.float64 else 3e-5
    wanted = r.inverse_dynamics(unit, *(x.astype(float) for x in given), backend="numpy")
    agree(r.inverse_dynamics(long, *given, backend=backend), wanted, bound)
    agree(r.frame_pose(long, "link3", backend=backend), r.frame_pose(unit, "link3", backend="numpy"), bound)


@pytest.mark.parametrize("algorithm", ["aba", "partition", "cfa"])
@pytest.mark.parametrize(("dtype", "length"), CASES)
def test_loops_and_segments_do_not_depend_on_the_length(algorithm: str, dtype: Any, length: float) -> None:
    r = robot(40)
    q, qd, tau = r.random_state(3, rng=1)
    long, unit = stretched(r, q, length, dtype)
    found = r.forward_dynamics(long, qd.astype(dtype), tau.astype(dtype), algorithm=algorithm)
    given = (x.astype(dtype).astype(float) for x in (qd, tau))
    wanted = r.forward_dynamics(unit, *given, algorithm=algorithm)
    agree(found, wanted, 1e-9 if dtype is np.float64 else 0.05)


@pytest.mark.parametrize(("dtype", "length"), CASES)
def test_coordinates_do_not_depend_on_the_length(dtype: Any, length: float) -> None:
    r = robot()
    q0, q1 = (r.random_state(5, rng=seed)[0] for seed in (1, 2))
    (long0, unit0), (long1, unit1) = (stretched(r, q, length, dtype) for q in (q0, q1))
    bound = 1e-13 if dtype is np.float64 else 1e-5
    agree(r.normalize(long0), unit0, bound)
    agree(r.difference(long0, long1), r.difference(unit0, unit1), bound)
    agree(r.difference(long0, unit1.astype(dtype)), r.difference(unit0, unit1), bound)
    step = r.difference(unit0, unit1).astype(dtype)
    if np.finfo(dtype).tiny < length < 1e-3 * np.finfo(dtype).max:  # the steps themselves keep the length
        agree(r.normalize(r.integrate(long0, step)), r.normalize(r.integrate(unit0, step)), 10 * bound)


def test_converted_states_do_not_depend_on_the_length() -> None:
    mujoco = pytest.importorskip("mujoco", reason="its model is needed")
    text = '<mujoco><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>'
    r, model = px.load(text), mujoco.MjModel.from_xml_string(text)
    q, qd, qdd = r.random_state(rng=3)
    for length in LENGTHS[np.float64]:
        long, unit = stretched(r, q, length, np.float64)
        for got, wanted in zip(
            convert.to_mujoco(r, model, long, qd, qdd)[1:],
            convert.to_mujoco(r, model, unit, qd, qdd)[1:],
            strict=True,
        ):
            agree(got, wanted, 1e-14)


@pytest.mark.parametrize("backend", [b for b in installed() if b != "jax"])
def test_powers_of_two_change_no_bit(backend: str) -> None:
    r = robot()
    q, qd, qdd = r.random_state(5, rng=1)
    wanted = r.inverse_dynamics(q, qd, qdd, backend=backend)
    for exponent in (-800, -1, 1, 800):
        scaled = q.copy()
        for part in r.q_slices.values():
            scaled[..., part.stop - 4 : part.stop] *= 2.0**exponent
        np.testing.assert_array_equal(r.inverse_dynamics(scaled, qd, qdd, backend=backend), wanted)


@pytest.mark.parametrize("backend", installed())
@pytest.mark.parametrize("turn", [(0, 0, 0, 0), (np.inf, 0, 0, 1), (np.nan, 0, 0, 1), (0, 0, 0, -np.inf)])
def test_what_is_no_rotation_gives_nan_for_its_state_only(backend: str, turn: Any) -> None:
    r = robot()
    q, qd, qdd = (x.astype(np.float32) for x in r.random_state(3, rng=1))
    wanted = r.inverse_dynamics(q, qd, qdd, backend=backend)
    q[1, 3:7] = turn
    found = r.inverse_dynamics(q, qd, qdd, backend=backend)
    assert np.isnan(found[1]).all()
    np.testing.assert_array_equal(found[[0, 2]], wanted[[0, 2]])


def test_levelled_quaternions_are_between_two_and_four() -> None:
    for dtype in LENGTHS:
        info = np.finfo(dtype)
        x = np.array([info.tiny, 1e-20, 0.999, 1.0, 2.0, 3.99, 1e20, info.max], dtype=dtype)
        scaled = x * rescale(x)
        assert ((scaled >= 2.0) & (scaled < 4.0)).all()
        assert scaled.dtype == dtype
        small = np.array([[0, 0, 0, info.smallest_subnormal]], dtype=dtype)
        assert 0.0 < leveled(small)[0, 3] < 4.0
