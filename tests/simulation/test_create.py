# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Parameters of a simulation: those of the robot do what another robot would, and each is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.simulation.create import MOST
from phalanx.simulation.integrators import INTEGRATORS

DT = 1e-3


def arm() -> px.Robot:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    for k, parent in enumerate(("base", "l0")):
        builder.add_link(f"l{k}", mass=1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.1))
        own: dict[str, Any] = {"armature": 0.1, "stiffness": 1.0, "spring_reference": 0.2}
        builder.add_joint(f"j{k}", "revolute", parent, f"l{k}", origin=(0, 0, -0.5), axis=(0, 1, 0), **own)
    return builder.build()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_armature_stiffness_and_effort_are_those_of_each_simulation(integrator: str) -> None:
    robot = arm()
    given = {
        "armature": np.array([[0.3, 0.7], [0.1, 0.1]]),
        "stiffness": np.array([[9.0, 0.0], [1.0, 1.0]]),
        "effort": np.array([[0.5, 2.0], [np.inf, np.inf]]),
    }
    sim = robot.simulation(DT, integrator=integrator, parameters=list(given))
    q, qd, u = np.array([0.3, -0.4]), np.array([0.1, 0.2]), np.array([3.0, -1.0])
    run = sim.rollout(q, qd, u, steps=50, every=50, record=("q", "tau"), parameters=given)
    plain = robot.simulation(DT, integrator=integrator).rollout(q, qd, u, steps=50, every=50)
    np.testing.assert_allclose(run.q[1], plain.q, rtol=1e-12)
    np.testing.assert_array_equal(run.tau[:, 0], [[0.5, -1.0], [3.0, -1.0]])
    # Another robot with these rotors, springs as forces, motors within their limits.
    other = robot.replace(armature=given["armature"][0])

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return np.clip(u, -given["effort"][0], given["effort"][0]) - given["stiffness"][0] * (q - 0.2)

    same = other.simulation(DT, integrator=integrator, control=law, springs=False).rollout(
        q, qd, u, steps=50, every=50
    )
    np.testing.assert_allclose(run.q[0], same.q, rtol=1e-12)


def test_functions_of_a_law_have_the_armature_of_the_simulation() -> None:
    robot, rotors = arm(), np.array([0.3, 0.7])
    sim = robot.simulation(DT, parameters=["armature"])

    def matrix(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        return robot.mass_matrix(q) + 0.0 * robot.armature

    run = sim.rollout(np.zeros(2), np.zeros(2), steps=1, record=matrix, parameters={"armature": rotors})
    np.testing.assert_allclose(
        run.matrix[0],
        robot.replace(armature=rotors).mass_matrix(
            sim.step([0, 0], [0, 0], parameters={"armature": rotors})[0]
        ),
        rtol=1e-12,
    )


def test_names_that_nothing_reads_are_refused_and_the_nearest_offered() -> None:
    robot = arm()

    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any, *, gain: Any) -> Any:
        return gain * u

    for options, told in (
        ({"parameters": {"gravitiy": 3}}, 'nothing reads the parameter .gravitiy.*did you mean "gravity"'),
        ({"parameters": ["gravitiy"]}, 'did you mean "gravity"'),
        ({"parameters": {"mass": 3}}, 'declare "inertias"'),
        ({"parameters": {"gain": 2, "gian": 2}, "control": law}, 'did you mean "gain"'),
        ({"parameters": {"kp": 2}, "control": px.control.pd(1.0, "kd")}, "nothing reads the parameter 'kp'"),
        ({"parameters": {"armature": 7}}, r"size 7, expected \(2,\): it replaces that of robot"),
    ):
        with pytest.raises(px.PhalanxError, match=told):
            robot.simulation(DT, **options)
    ground = px.contact.ground(["l1"], stiffness="hard", friction="rough")
    sim = robot.simulation(DT, control=law, forces=ground, parameters={"hard": 1, "rough": 1, "gain": 2})
    assert list(sim.parameters) == ["hard", "rough", "gain"]


def test_names_without_end_are_refused() -> None:
    with pytest.raises(px.PhalanxError, match="expected a mapping of names to sizes"):
        arm().simulation(DT, parameters=np.broadcast_to(0.0, 10**13))  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [10**9, MOST + 1, (10**30, 2)])
def test_sizes_that_no_step_could_read_are_refused(size: Any) -> None:
    def law(t: Any, q: Any, qd: Any, u: Any, robot: Any, *, gain: Any) -> Any:
        return u

    with pytest.raises(px.PhalanxError, match=f"numbers for each simulation, expected at most {MOST}"):
        arm().simulation(DT, control=law, parameters={"gain": size})
    with pytest.raises(px.PhalanxError, match=f"controls: got 1000000000, expected at most {MOST}"):
        arm().simulation(DT, control=law, parameters={"gain": 1}, controls=10**9)
