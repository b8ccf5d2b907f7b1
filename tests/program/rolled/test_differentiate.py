# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of loops over bodies against those of the equations written out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.dispatch import resolve
from phalanx.program.rolled import roll
from reference.rolling import frame_of, kernel
from reference.sampling import agree


def hand() -> px.Robot:
    """A palm that floats, with two fingers; the second one's tip follows the first finger."""
    builder = px.RobotBuilder("hand")
    builder.add_link("palm", mass=1.0, com=(0.02, 0.01, 0.03), inertia=[0.02, 0.03, 0.04])
    for name, more in (("a", {}), ("b", {"mimic": ("a0", 0.7, 0.1)})):
        for k, told in ((0, {}), (1, more)):
            link = builder.add_link(
                f"{name}{k}", mass=0.3, com=(0.1, 0.02, 0.05 * k), inertia=[0.01, 0.02, 0.02]
            )
            parent = f"{name}0" if k else "palm"
            origin = (0.1, 0.05, 0.02 if name == "a" else -0.1)
            builder.add_joint(
                f"{name}{k}", "revolute", parent, link, axis=(0.0, 1.0, k), origin=origin, **told
            )
    return builder.build().with_floating_base()


JOINTS = ("revolute", "prismatic", "spherical", "floating", "planar", "universal", "helical")
ROBOTS = {
    "arm": px.load("ur5"),
    "joints": px.tree(7, seed=5, joints=JOINTS),
    "hand": hand(),
}
CASES = [
    ("inverse_dynamics", "cartesian_tensor"),
    ("inverse_dynamics", "newton_euler"),
    ("forward_dynamics", "aba"),
    ("forward_kinematics", "recursive"),
    ("jacobian", "recursive"),
    ("centroidal_momentum", "sum"),
]


def products(robot: px.Robot, function: str, algorithm: str, mode: str, optional: Any = ()) -> None:
    frame = frame_of(robot, function)
    call = resolve(robot, function, algorithm, frame)
    call = replace(call, algorithm=replace(call.algorithm, derivative=mode))
    made = kernel(roll(call.task(tuple(optional))))
    rng, f = np.random.default_rng(3), FUNCTIONS[function]
    q, qd, qdd = robot.random_state(11, rng=rng)
    inputs = (q, qd, qdd)[: len(f.inputs)]
    (size,) = resolve(robot, function, algorithm, frame).output_sizes().values()
    cotangent = rng.standard_normal((11, *size))
    tangents = tuple(rng.standard_normal((11, robot.nv)) for _ in inputs)
    given = {"jvp": (tangents,), "vjp": (cotangent,), "hvp": (cotangent, tangents)}[mode]
    flat = [x for each in given for x in (each if isinstance(each, tuple) else (each,))]
    found = made(*inputs, *flat, *dict(optional).values())
    named = {} if frame is None else {"frame": frame}
    wanted = getattr(robot, mode)(
        function, inputs, *given, algorithm=algorithm, backend="numpy", **named, **dict(optional)
    )
    found, wanted = (x if isinstance(x, tuple) else (x,) for x in (found, wanted))
    for mine, theirs in zip(found, wanted, strict=True):
        agree(mine, theirs, 1e-11, least=1.0)


@pytest.mark.parametrize(("function", "algorithm"), CASES)
@pytest.mark.parametrize("name", ROBOTS)
def test_loops_give_products(name: str, function: str, algorithm: str) -> None:
    robot = ROBOTS[name]
    if robot.is_coupled and function == "forward_dynamics":
        pytest.skip("articulated bodies know no joints that follow others")
    for mode in ("jvp", "vjp"):
        products(robot, function, algorithm, mode)


@pytest.mark.parametrize("algorithm", ["lathrop", "luh_walker_paul", "scan", "zomaya_morris"])
def test_loops_of_published_algorithms_give_products(algorithm: str) -> None:
    products(ROBOTS["arm"], "inverse_dynamics", algorithm, "vjp")


@pytest.mark.parametrize(
    ("name", "function", "algorithm"),
    [
        ("arm", "forward_dynamics", "aba"),
        ("joints", "inverse_dynamics", "cartesian_tensor"),
        ("hand", "kinetic_energy", "sum"),
    ],
)
def test_loops_give_second_derivatives(name: str, function: str, algorithm: str) -> None:
    products(ROBOTS[name], function, algorithm, "hvp")


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics"])
def test_loops_take_wrenches_and_inertias(function: str) -> None:
    robot, rng = ROBOTS["joints"], np.random.default_rng(7)
    wrench = rng.standard_normal((11, robot.n_links, 6))
    inertias = robot.inertial_parameters.reshape(-1, 10) * rng.uniform(1.0, 1.1, (11, 1, 1))
    algorithm = "aba" if function == "forward_dynamics" else "cartesian_tensor"
    products(robot, function, algorithm, "vjp", {"external": wrench, "inertias": inertias})


def test_a_long_chain_is_differentiated_in_loops() -> None:
    robot = px.chain(300)
    q, qd, tau = robot.random_state(3, rng=0)
    rng = np.random.default_rng(0)
    tangents = tuple(rng.standard_normal((3, 300)) for _ in range(3))
    along = robot.jvp("forward_dynamics", (q, qd, tau), tangents)
    weights = rng.standard_normal((3, 300))
    back = robot.vjp("forward_dynamics", (q, qd, tau), weights)
    both = sum((b * t).sum(-1) for b, t in zip(back, tangents, strict=True))
    agree((weights * along).sum(-1), both, 1e-9)


def test_forces_come_back_as_the_solution_for_the_cotangent() -> None:
    robot = px.chain(100)
    q, qd, tau = robot.random_state(2, rng=0)
    weights = np.random.default_rng(0).standard_normal((2, 100))
    *_, solution = robot.kernel("forward_dynamics", "aba").vjp(q, qd, tau, weights)
    agree(robot.mass_matrix(q) @ solution[..., None], weights[..., None], 1e-8)


def test_algorithms_that_solve_with_a_matrix_name_one_that_does_not() -> None:
    robot = px.chain(300)
    q, qd, tau = robot.random_state(rng=0)
    with pytest.raises(px.PhalanxError, match=r'"jsiia" .*too long to compile; use algorithm "aba"'):
        robot.vjp("forward_dynamics", (q, qd, tau), qd, algorithm="jsiia", backend="native")
