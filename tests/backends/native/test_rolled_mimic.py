# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled kernels of robots whose joints follow others: sums over the bodies of a degree of freedom."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FUNCTIONS
from phalanx.dispatch import resolve
from phalanx.robot.description import Mimic
from reference.sampling import agree

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.program import unroll_policy
from reference.rolling import block_lines, kernel, program, reference, states, tolerance

EVERY: list[tuple[str, Any]] = [
    (function, (a.name, options))
    for function, known in ALGORITHMS.items()
    for a in known.values()
    if a.coupled and a.symmetric
    for options in ({}, *({k: v} for k, values in a.options.items() for v in list(values)[1:]))
]


def coupled(robot: px.Robot, drives: dict[str, tuple[str, float, float]], floating: bool = False) -> px.Robot:
    """The robot with joints that follow others."""
    joints = tuple(
        replace(j, mimic=Mimic(*drives[j.name])) if j.name in drives else j for j in robot.description.joints
    )
    made = px.load(replace(robot.description, joints=joints, floating_base=floating))
    return made.replace(armature=np.linspace(0.1, 0.3, made.nv))


@cache
def robots() -> dict[str, px.Robot]:
    """Followers before and behind their drivers, on other branches, in chains; a long one, a floating one."""
    drives = {
        "joint2": ("joint1", 0.7, 0.3),
        "joint4": ("joint5", -1.3, 0.1),
        "joint6": ("joint2", 1.0, -0.2),
        "joint7": ("joint6", 0.5, 0.0),
    }
    tree = px.tree(9, 0.5, seed=3, joints=("revolute", "prismatic", "helical"))
    follow = {f"joint{k}": (f"joint{k - 1}", 0.9, 0.01) for k in range(3, 60, 3)}
    return {
        "tree": coupled(tree, drives),
        "floating tree": coupled(tree, drives, floating=True),
        "snake": coupled(px.chain(60), follow),
    }


@pytest.mark.parametrize("which", ["tree", "floating tree", "snake"])
@pytest.mark.parametrize(("function", "algorithm"), EVERY)
def test_every_function_agrees_with_the_reference(which: str, function: str, algorithm: Any) -> None:
    robot = robots()[which]
    inputs = states(robot, function, 11)
    out = kernel(program(robot, function, algorithm))(*inputs)
    agree(out, reference(robot, function, algorithm, *inputs), tolerance(robot, function, inputs[0]))


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("inverse_dynamics", ("external", "base_velocity", "base_acceleration")),
        ("forward_dynamics", ("external",)),
    ],
)
def test_optional_inputs_agree_with_the_reference(function: str, names: tuple[str, ...]) -> None:
    robot, algorithm = (
        robots()["tree"],
        {"inverse_dynamics": "newton_euler", "forward_dynamics": "jsiia"}[function],
    )
    inputs = states(robot, function, 9)
    rolled = program(robot, function, algorithm, names)
    rng = np.random.default_rng(1)
    more = {name: rng.standard_normal((9, *rolled.layout.inputs[name])) for name in names}
    wanted = reference(robot, function, algorithm, *inputs, **more)
    agree(kernel(rolled)(*inputs, *more.values()), wanted, tolerance(robot, function, inputs[0]))


@pytest.mark.parametrize(
    ("function", "algorithm"),
    [("inverse_dynamics", "newton_euler"), ("forward_dynamics", "jsiia"), ("mass_matrix", "crba")],
)
def test_a_state_gives_the_same_bits_wherever_it_stands(function: str, algorithm: str) -> None:
    robot = robots()["floating tree"]
    inputs = states(robot, function, 29)
    run = kernel(program(robot, function, algorithm))
    out = run(*inputs)
    np.testing.assert_array_equal(run(*(x[::-1] for x in inputs))[::-1], out)
    np.testing.assert_array_equal(run(*(x[5:12] for x in inputs)), out[5:12])
    np.testing.assert_array_equal(run(*(x[7] for x in inputs)), out[7])


def test_a_long_robot_is_served_by_loops() -> None:
    drives = {f"joint{k}": (f"joint{k - 1}", 0.9, 0.01) for k in range(3, 300, 3)}
    robot = coupled(px.chain(300), drives)
    for function, algorithm in EVERY:
        frame = robot.frame_names[-1] if FUNCTIONS[function].frame else None
        assert unroll_policy.serves(resolve(robot, function, algorithm, frame)), function
    q, qd, qdd = robot.random_state(3, rng=0)
    tau = robot.inverse_dynamics(q, qd, qdd, backend="native")
    agree(tau, robot.inverse_dynamics(q, qd, qdd, backend="numpy"), 1e-12)


def test_the_text_does_not_grow_with_the_robot() -> None:
    def lines(n: int, function: str, algorithm: Any) -> int:
        follow = {f"joint{k}": (f"joint{k - 1}", 0.9, 0.01) for k in range(2, n, 2)}
        return block_lines(coupled(px.chain(n), follow), function, algorithm)[0]

    for function in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
        algorithm = {"inverse_dynamics": "newton_euler", "mass_matrix": "crba"}.get(function, "jsiia")
        assert lines(97, function, algorithm) <= lines(65, function, algorithm) + 10
