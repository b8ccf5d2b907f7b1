# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Constraint forces: against Pinocchio, articulated bodies and fifty digits."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import find
from phalanx.algorithms.links import links_of, singular_link
from phalanx.robot.model import joint_kinematics
from reference.chains import (
    KINDS,
    SIZES,
    agrees_with_articulated_bodies,
    agrees_with_pinocchio,
    chain,
    chains_of_all_types,
    error,
)

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

OPTIONS = [
    ("cfa", {"solver": solver, "bias": bias})
    for solver, bias in product(("cyclic_reduction", "odd_even", "serial"), ("local", "global"))
]
each_option = pytest.mark.parametrize("algorithm", OPTIONS, ids=["-".join(o.values()) for _, o in OPTIONS])


@each_option
@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_pinocchio(algorithm: Any, kind: str) -> None:
    # As published it loses more digits than it may where slides make a chain long.
    published = algorithm[1] == {"solver": "odd_even", "bias": "global"}
    for n in SIZES:
        agrees_with_pinocchio(algorithm, kind, n, 1e-6 if published else 1e-9)


@each_option
def test_it_covers_all_joint_types(algorithm: Any) -> None:
    for k, robot in enumerate(chains_of_all_types()):
        agrees_with_articulated_bodies(algorithm, robot, k, scale=1e3)


@pytest.mark.parametrize("solver", ["cyclic_reduction", "serial"])
def test_three_hundred_links_agree_with_the_serial_recursion(solver: str) -> None:
    robot = chain(300, "mixed")
    q, qd, tau = robot.random_state(rng=1)
    found = robot.forward_dynamics(q, qd, tau, algorithm=("cfa", {"solver": solver}))
    wanted = robot.forward_dynamics(q, qd, tau, algorithm="aba")
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_bases_split_the_wrenches_of_every_joint() -> None:
    for robot in chains_of_all_types():
        q, _, _ = robot.random_state((3,), rng=1)
        X, S, _ = joint_kinematics(robot.model, q)
        plain = robot.replace(armature=0.0).model
        links = links_of(plain, X)
        for i, (last, d) in enumerate(zip(plain.links, np.diff(plain.links, prepend=-1), strict=True)):
            axes = axes_at_link(X, S.axis, last, d)
            W = np.broadcast_to(links.W, (3, *links.W.shape[-3:]))[:, i]
            T = np.stack(
                [links.driven(unit)[..., i, :] for unit in np.eye(plain.n)[last - d + 1 : last + 1]], -1
            )
            T = np.broadcast_to(T, (3, 6, d))
            np.testing.assert_allclose(W.swapaxes(-1, -2) @ axes, 0.0, atol=1e-14)
            np.testing.assert_allclose(T.swapaxes(-1, -2) @ axes, np.eye(d) + np.zeros((3, 1, 1)), atol=1e-14)
            assert (np.linalg.matrix_rank(np.concatenate([W, T], axis=-1)) == 6).all()


def axes_at_link(X: Any, axis: np.ndarray, last: int, d: int) -> np.ndarray:
    """The axes (3, 6, d) of a joint in the frame of the link that it carries."""
    columns = []
    for body in range(last - d + 1, last + 1):
        S = np.broadcast_to(axis[body], (3, 6))
        for further in range(body + 1, last + 1):
            S = X[further] @ S
        columns.append(S)
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("n", [10, 100])
def test_local_bias_keeps_the_digits_of_the_digest(n: int) -> None:
    bounds = {
        "random": 1e-12,
        "light tail": 1e-11,
        "heavy tip": 3e-12,
        "mass ratio": 5e-8,
        "light links": 1e-3,
    }
    for case, bound in bounds.items():
        assert error("cfa", case, n) < bound, case


def test_constraint_forces_are_the_best_form_for_a_heavy_tip() -> None:
    assert error("cfa", "heavy tip", 100) < 1e-2 * error("aba", "heavy tip", 100)


def test_odd_even_elimination_and_global_bias_cost_digits() -> None:
    local, everywhere = ("cfa", {}), ("cfa", {"bias": "global"})
    published = ("cfa", {"bias": "global", "solver": "odd_even"})
    assert error(local, "random", 100) < 0.1 * error(everywhere, "random", 100)
    assert error(everywhere, "random", 100) < 0.5 * error(published, "random", 100)
    assert error(published, "light links", 100) > 1e3 * error(local, "light links", 100)


def test_refinement_gives_the_lost_digits_back() -> None:
    plain, refined = (("cfa", {"solver": "odd_even", "refine": r}) for r in (0, 1))
    assert error(refined, "random", 100) < 0.1 * error(plain, "random", 100)
    assert error(refined, "mass ratio", 100) < 1e-3 * error(plain, "mass ratio", 100)
    robot = chains_of_all_types()[-2]
    agrees_with_articulated_bodies(refined, robot, 4, scale=1e3)


def test_a_link_without_an_inverse_inertia_is_named() -> None:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    builder.add_link("upper", mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    builder.add_link("ball", mass=1.0, com=(0.2, 0.0, 0.0))
    builder.add_joint("shoulder", "revolute", "base", "upper")
    builder.add_joint("elbow", "universal", "upper", "ball")  # which lets no moment of inertia pass
    robot = builder.build()
    assert singular_link(robot.model) == 1
    for name in ("cfa", "dca"):
        with pytest.raises(px.PhalanxError) as caught:
            robot.forward_dynamics([0.1, 0.2, 0.3], [0.0] * 3, [0.0] * 3, algorithm=name)
        message = f'"{name}" does not cover robot "arm": the inertia of link "ball" has no inverse; use "aba"'
        assert message in str(caught.value)


def test_unknown_solvers_are_answered_with_the_known_ones() -> None:
    robot = px.chain(2)
    with pytest.raises(px.PhalanxError, match=r"solver='magic', expected 'cyclic_reduction' or"):
        robot.forward_dynamics(*robot.random_state(), algorithm=("cfa", {"solver": "magic"}))
    for value in ("serial", "odd_even"):  # the options told do not depend on the others
        told = r'no option solvr=1; did you mean "solver"\? options: "solver", "bias", "refine", "segments"'
        with pytest.raises(px.PhalanxError, match=told):
            robot.kernel("forward_dynamics", ("cfa", {"solver": value, "solvr": 1}))


def test_defaults_come_first() -> None:
    options = find("forward_dynamics", "cfa").options
    assert [values[0] for values in options.values()] == ["cyclic_reduction", "local", 0]
