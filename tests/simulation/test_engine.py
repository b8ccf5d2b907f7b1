# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A step goes straight to compiled code from the second call on, and says what is wrong as before."""

from functools import cache

import numpy as np
import pytest

import phalanx as px
from phalanx.simulation import simulation
from reference.effort import calls_of


@cache
def pendulum() -> px.Simulation:
    return px.load("two_link").simulation(dt=1e-3, control=lambda t, q, qd, u, robot: u - qd * t)


def step(*state: object, start: int = 0) -> tuple[np.ndarray, ...]:
    """A step by the slow path: lists are checked."""
    return pendulum().step(*(np.asarray(x).tolist() for x in state), start=start)  # type: ignore[arg-type]


@pytest.mark.parametrize("batch", [(), 3, (2, 2)])
@pytest.mark.parametrize("start", [0, 7])
def test_the_second_step_is_quick_and_has_the_same_bits(
    batch: int | tuple[int, ...], start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim = pendulum()
    q, qd, u = sim.robot.random_state(batch, rng=1)
    wanted = step(q, qd, u, start=start)
    monkeypatch.setattr(simulation, "checked", lambda *args: pytest.fail("the slow path"))
    for force in (u, u.copy()):
        for found, each in zip(sim.step(q, qd, force, start=start), wanted, strict=True):
            np.testing.assert_array_equal(found, each, strict=True)
    assert calls_of(lambda: sim.step(q, qd, u, start=start)) <= 14
    sim.step(q, qd)


def test_other_orders_of_memory_and_batches_that_broadcast_are_right() -> None:
    sim = pendulum()
    q, qd, u = sim.robot.random_state(4, rng=2)
    wanted = step(q, qd, u)
    for arrays in (
        [np.asfortranarray(x) for x in (q, qd, u)],
        [np.repeat(x, 2, axis=1)[:, ::2] for x in (q, qd, u)],
        [np.repeat(x, 2, axis=0)[::2] for x in (q, qd, u)],
    ):
        for found, each in zip(sim.step(*arrays), wanted, strict=True):
            np.testing.assert_array_equal(found, each)
    for arrays in ([q[0], qd, u[0]], [q[0], qd[0], u], [q[:1], qd, u]):
        for found, each in zip(sim.step(*arrays), step(*arrays), strict=True):
            np.testing.assert_array_equal(found, each)


def test_what_is_wrong_is_said_at_every_step() -> None:
    sim = pendulum()
    q, qd, u = sim.robot.random_state(rng=3)
    for _ in range(2):
        sim.step(q, qd, u)
        with pytest.raises(px.PhalanxError, match=r"step: q has shape \(3,\)"):
            sim.step(np.zeros(3), qd, u)
        with pytest.raises(px.PhalanxError, match="step: start"):
            sim.step(q, qd, u, start=-1)
        with pytest.raises(px.PhalanxError, match="threads"):
            sim.step(q, qd, u, threads=0)
