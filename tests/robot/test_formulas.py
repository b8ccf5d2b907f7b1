# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Steps of coordinates by compiled formulas: right, the same at every call, and no more than they cover."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot import configurations
from reference.effort import calls_of

# Angles of turns: none, where series take over, an ordinary one, and next to half a turn.
ANGLES = (0.0, 1e-18, 1e-9, 0.9999e-4, 1.0001e-4, 0.499, 0.501, 2.0, np.pi - 1e-3, np.pi - 1e-7)


@cache
def floating() -> px.Robot:
    """Two links on a floating base."""
    return px.load("two_link").with_floating_base()


def turned(angle: float, rng: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A state and rates that turn the base by an angle."""
    robot = floating()
    q, dq, _ = robot.random_state(rng=rng)
    dq[:3] *= angle / np.linalg.norm(dq[:3])
    return q, dq


def twice(call: Callable[[], Any]) -> Any:
    """The result of a second call, which finds compiled code."""
    call()
    return call()


@pytest.mark.parametrize("angle", ANGLES)
def test_steps_are_those_of_pinocchio(angle: float) -> None:
    pin = pytest.importorskip("pinocchio")
    model = pin.Model()
    base = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    model.addJoint(base, pin.JointModelRX(), pin.SE3.Identity(), "one")
    model.addJoint(base, pin.JointModelRX(), pin.SE3.Identity(), "two")
    robot, (q, dq) = floating(), turned(angle)
    swapped = np.r_[3:6, 0:3, 6:8]  # linear rates come first there
    reached = twice(lambda: robot.integrate(q, dq))
    np.testing.assert_allclose(reached, pin.integrate(model, q, dq[swapped]), rtol=0, atol=4e-15)
    back = twice(lambda: robot.difference(q, reached))
    exact = 1e-14 if angle < 3.0 else 1e-14 / (np.pi - angle)
    np.testing.assert_allclose(back[swapped], pin.difference(model, q, reached), rtol=0, atol=10 * exact)
    np.testing.assert_allclose(back, dq, rtol=0, atol=exact)


def test_compiled_steps_are_those_of_numpy() -> None:
    robot = floating()
    q, dq, _ = robot.random_state((3, 50), rng=2)
    other = robot.random_state((3, 50), rng=3)[0]
    q[0] *= 1e-3  # quaternions of any length
    other[1] *= -40.0
    pairs: list[tuple[Callable[..., Any], Callable[..., Any], tuple[np.ndarray, ...]]] = [
        (robot.integrate, configurations.integrate, (q, dq)),
        (robot.integrate, configurations.integrate, (q[0, 0], dq)),
        (robot.integrate, configurations.integrate, (q[:, ::-2], dq[:, ::-2])),
        (robot.difference, configurations.difference, (q, other)),
        (robot.difference, configurations.difference, (q, q)),
        (robot.normalize, configurations.normalize, (q,)),
    ]
    for method, numpys, arrays in pairs:
        wanted = numpys(robot._assembly, *arrays)
        np.testing.assert_allclose(twice(lambda m=method, a=arrays: m(*a)), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("make", [floating, lambda: px.load("two_link")], ids=["quaternions", "adding"])
def test_the_slow_path_is_left_after_the_first_call(
    make: Callable[[], px.Robot], monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = make().replace(name="again")
    q, dq, _ = robot.random_state(rng=1)
    calls: list[Callable[[], Any]] = [
        lambda: robot.integrate(q, dq),
        lambda: robot.difference(q, q[::1]),
        lambda: robot.normalize(q),
    ]
    for call in calls:
        call()
    for name in ("integrate", "difference", "normalize"):
        monkeypatch.setattr(configurations, name, lambda *args: pytest.fail("the slow path"))
    for call in calls:
        call()
        assert calls_of(call) <= 12


def test_every_call_has_the_same_bits() -> None:
    robot = floating().replace(name="fresh")
    q, dq, _ = robot.random_state(40, rng=7)
    other = robot.random_state(40, rng=8)[0]
    for call in (
        lambda: robot.integrate(q, dq),
        lambda: robot.difference(q, other),
        lambda: robot.normalize(3 * q),
    ):
        first = call()
        for _ in range(2):
            np.testing.assert_array_equal(call(), first)


def test_what_is_odd_and_what_is_wrong_stay_as_they_were() -> None:
    for robot in (floating(), px.load("two_link")):
        q, dq, _ = robot.random_state(rng=4)
        for _ in range(3):
            wanted = robot.integrate(q, dq)
            np.testing.assert_allclose(robot.integrate(q.tolist(), dq.tolist()), wanted, atol=1e-15)
            assert robot.integrate(q.astype("f4"), dq.astype("f4")).dtype == np.float32
            assert robot.normalize(q) is not q
            assert not np.shares_memory(robot.normalize(q), q)
            assert robot.integrate(np.zeros((0, robot.nq)), np.zeros((0, robot.nv))).shape == (0, robot.nq)
            with pytest.raises(px.PhalanxError, match=r"dq has shape \(1,\), expected"):
                robot.integrate(q, dq[:1])
            with pytest.raises(px.PhalanxError, match="do not broadcast"):
                robot.difference(np.zeros((2, robot.nq)), np.zeros((3, robot.nq)))
            with pytest.raises(px.PhalanxError, match="masked"):
                robot.normalize(np.ma.masked_array(q, mask=True))


def test_a_quaternion_of_zeros_becomes_nan_without_a_warning() -> None:
    robot, q = floating(), floating().neutral()
    q[3:7] = 0.0
    for _ in range(3):
        assert np.isnan(robot.normalize(q)[3:7]).all()


def test_without_machine_code_numpy_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = floating().replace(name="bare")
    monkeypatch.setattr(px.Robot, "_formula", lambda *args: None)
    q, dq, _ = robot.random_state(rng=5)
    wanted = configurations.integrate(robot._assembly, q, dq)
    for _ in range(3):
        np.testing.assert_array_equal(robot.integrate(q, dq), wanted)
