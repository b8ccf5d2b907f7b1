# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Linearised steps from analytic derivatives, against tangents of the traced step and differences."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.examples import example


def law(t: Any, q: Any, qd: Any, u: Any, robot: Any, *, gain: Any) -> Any:
    return np.cos(t) * u - gain * np.tanh(qd) + robot.gravity_forces(q)


@pytest.mark.parametrize("integrator", ["implicit", "euler"])
@pytest.mark.parametrize("robot", [px.load("panda"), px.tree(1, seed=2, joints=("floating", "spherical"))])
def test_it_equals_tangents_of_the_step(robot: Any, integrator: Any) -> None:
    sim = robot.replace(armature=0.1).simulation(
        1e-3, integrator=integrator, control=law, controls=robot.nv, parameters={"gain": robot.nv}
    )
    rng = np.random.default_rng(0)
    q, qd, _ = robot.random_state((2, 3), rng)
    u, more = rng.normal(size=(2, 3, robot.nv)), {"gain": np.ones(robot.nv)}
    made = sim.linearize(q, qd, u, parameters=more, start=300)
    expected = sim._linearized_along(q, qd, u, more, 300, None)
    for one, other in zip(made, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    out = tuple(np.zeros_like(x) for x in made)
    assert sim.linearize(q, qd, u, parameters=more, start=300, out=out) is out
    np.testing.assert_array_equal(out[0], made[0])


def pulled(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
    return 50.0 * (u - q) - qd


@pytest.mark.parametrize("name", ["panda", "two_link"])
@pytest.mark.parametrize("damping", [0.0, 1.0, 7.0])
@pytest.mark.parametrize("feedback", [None, pulled])
def test_stiff_forces_of_laws_and_joints_are_counted_once(name: str, damping: float, feedback: Any) -> None:
    robot = px.load(name).replace(damping=damping)
    more = {} if feedback is None else {"control": feedback, "controls": robot.nv}
    sim = robot.simulation(1e-3, integrator="implicit", **more)
    q, qd, u = robot.random_state((3,), np.random.default_rng(0))
    expected = sim._linearized_along(q, qd, u, None, 0, None)
    for one, other in zip(sim.linearize(q, qd, u), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@pytest.mark.exhaustive
@pytest.mark.parametrize("integrator", ["implicit", "euler"])
@pytest.mark.parametrize(("name", "floating"), [("solo12.urdf", True), ("talos_reduced.urdf", False)])
def test_it_equals_tangents_of_the_step_of_long_robots(name: str, floating: bool, integrator: Any) -> None:
    robot = example(name, floating_base=floating)
    if robot is None:
        pytest.skip("the package example-robot-data is not installed")
    sim = robot.simulation(1e-3, integrator=integrator)
    q, qd, u = robot.random_state(10, np.random.default_rng(0))
    expected = sim._linearized_along(q, qd, u, None, 0, None)
    for one, other in zip(sim.linearize(q, qd, u), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_it_is_a_function_that_is_bound_and_exported(tmp_path: Path) -> None:
    robot = px.load("two_link")
    sim = robot.simulation(1e-2, integrator="euler")
    q, qd, u = robot.random_state((), np.random.default_rng(0))
    A, B = sim.linearize(q, qd, u)
    h = 1e-6
    for k, unit in enumerate(np.eye(2)):
        ends = [np.concatenate(sim.step(q + s * h * unit, qd, u)) for s in (1, -1)]
        np.testing.assert_allclose(A[:, k], (ends[0] - ends[1]) / (2 * h), atol=1e-7)
    out = np.zeros((4, 4)), np.zeros((4, 2))
    sim.linearization.bind(q, qd, np.zeros(()), u, out=out)()
    np.testing.assert_array_equal(out[1], B)
    robot.export(tmp_path / "lin.h", {"linearize": sim.linearization})
    assert "lin_linearize(" in (tmp_path / "lin.h").read_text()
    other = robot.simulation(1e-2, integrator="rk4")
    assert other.linearize(q, qd, u)[0].shape == (4, 4)
    with pytest.raises(px.PhalanxError, match="linearize: out is 1 arrays, expected arrays for A, B"):
        other.linearize(q, qd, u, out=(A,))
    with pytest.raises(px.PhalanxError, match='integrator "rk4"'):
        _ = other.linearization
