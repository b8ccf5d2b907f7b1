# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Articulated inertias by scans: against Pinocchio, the serial recursion and fifty digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
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

FORMS: tuple[Any, ...] = ("abia", ("abia", {"form": "hybrid"}))
each_form = pytest.mark.parametrize("algorithm", FORMS, ids=["scanned", "hybrid"])


@each_form
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_it_agrees_with_pinocchio(algorithm: Any, kind: str, n: int) -> None:
    agrees_with_pinocchio(algorithm, kind, n)


@each_form
def test_it_covers_all_joint_types(algorithm: Any) -> None:
    for k, robot in enumerate(chains_of_all_types()):
        agrees_with_articulated_bodies(algorithm, robot, k)


@each_form
def test_three_hundred_links_agree_with_the_serial_recursion(algorithm: Any) -> None:
    robot = chain(300, "mixed")
    q, qd, tau = robot.random_state(rng=1)
    found, wanted = (robot.forward_dynamics(q, qd, tau, algorithm=a) for a in (algorithm, "aba"))
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


@pytest.mark.parametrize("n", [10, 100])
@pytest.mark.parametrize("case", ["random", "mass ratio", "light links", "light tail", "heavy tip"])
def test_the_scanned_form_loses_at_most_a_digit_against_articulated_bodies(case: str, n: int) -> None:
    assert error("abia", case, n) < 10.0 * max(error("aba", case, n), 1e-15)


def test_subtracting_the_bias_of_the_whole_chain_costs_digits() -> None:
    assert error(FORMS[1], "random", 100) > 10.0 * error(FORMS[0], "random", 100)


def test_massless_links_are_no_obstacle() -> None:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    for i, name in enumerate(("upper", "elbow", "hand")):
        mass = {} if name == "elbow" else {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.3)}
        builder.add_link(name, **mass)
        axis = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))[i]
        builder.add_joint(f"joint{i}", "revolute", ("base", "upper", "elbow")[i], name, axis=axis)
    agrees_with_articulated_bodies("abia", builder.build(), 3)


def test_trees_are_refused_with_the_algorithms_that_cover_them() -> None:
    robot = px.tree(5, 1.0, seed=1)
    with pytest.raises(px.PhalanxError) as caught:
        robot.forward_dynamics(*robot.random_state(), algorithm="abia")
    message = str(caught.value)
    assert message.startswith(
        'forward_dynamics: algorithm "abia" does not cover robot "tree": it branches; use "aba"'
    )
