# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Contraction of trees: against Pinocchio, articulated bodies and fifty digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from phalanx.study.accuracy import exact_result, relative_error
from reference.chains import (
    KINDS,
    agrees_with_articulated_bodies,
    agrees_with_pinocchio,
    chains_of_all_types,
    error,
    scaled,
)
from reference.sampling import seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


def shaped(parents: list[int], seed: int = 0) -> px.Robot:
    """A robot of random links, each on the one that `parents` tells (-1: the base)."""
    rng = np.random.default_rng(seed)
    builder = px.RobotBuilder("shaped")
    builder.add_link("base")
    for i, p in enumerate(parents):
        inertia = tuple(0.1 + rng.random(3) * 0.05)
        builder.add_link(f"link{i}", mass=1.0 + rng.random(), com=tuple(rng.random(3)), inertia=inertia)
        origin = tuple(rng.random(3))
        kind, axis = ("revolute", "prismatic")[i % 5 == 3], tuple(rng.standard_normal(3))
        carrier = "base" if p < 0 else f"link{p}"
        builder.add_joint(f"joint{i}", kind, carrier, f"link{i}", axis=axis, origin=origin)
    return builder.build()


SHAPES = {
    "star": [-1] + [0] * 30,
    "binary": [(i - 1) // 2 if i else -1 for i in range(31)],
    "caterpillar": [-1, *(i - 1 if i % 2 else i - 2 for i in range(1, 32))],
    "two on the world": [-1, -1, 0, 0, 2, 1, 5, 6],
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_pinocchio(kind: str) -> None:
    for n in (1, 2, 9, 40):
        agrees_with_pinocchio("contraction", kind, n)


def test_it_covers_all_joint_types() -> None:
    for k, robot in enumerate(chains_of_all_types()):
        agrees_with_articulated_bodies("contraction", robot, k)


@given(trees(largest=14), seeds)
def test_trees_agree_with_articulated_bodies(robot: px.Robot, seed: int) -> None:
    agrees_with_articulated_bodies("contraction", robot, seed)


@pytest.mark.parametrize("shape", SHAPES)
def test_trees_of_every_shape_agree_with_articulated_bodies(shape: str) -> None:
    agrees_with_articulated_bodies("contraction", shaped(SHAPES[shape]), 1)


@pytest.mark.parametrize(
    "robot", [px.generators.dill(6), px.tree(200, 0.2, seed=1), px.tree(200, 1.0, seed=2)]
)
def test_large_trees_agree_with_articulated_bodies(robot: px.Robot) -> None:
    q, qd, tau = robot.random_state((2,), rng=1)
    found, wanted = (robot.forward_dynamics(q, qd, tau, algorithm=a) for a in ("contraction", "aba"))
    assert np.abs(found - wanted).max() < 1e-11 * np.abs(wanted).max()


@pytest.mark.parametrize("case", ["random", "mass ratio", "light links", "light tail", "heavy tip"])
def test_it_loses_at_most_a_digit_on_hard_chains(case: str) -> None:
    assert error("contraction", case, 100) < 10.0 * max(error("aba", case, 100), 1e-15)


@pytest.mark.parametrize("light", ["tips", "third", "inner"])
def test_it_loses_at_most_a_digit_on_trees_with_light_links(light: str) -> None:
    tree = px.tree(40, 0.4, seed=3)
    tips = set(range(40)) - set(tree.parents)
    chosen = {"tips": tips, "third": set(range(0, 40, 3)), "inner": set(range(40)) - tips}[light]
    robot = scaled(tree, lambda i: 1e-9 if i in chosen else 1.0)
    state = robot.random_state(1, rng=5)
    exact = exact_result(robot, "forward_dynamics", list(state))
    found, wanted = (
        relative_error(robot.forward_dynamics(*state, algorithm=a), exact) for a in ("contraction", "aba")
    )
    assert found < 10.0 * max(wanted, 1e-15)


def test_its_span_grows_with_the_logarithm_on_a_star_of_chains_as_on_a_chain() -> None:
    for parents in ([*range(-1, 31)], [-1, *(0 if i % 4 == 1 else i - 1 for i in range(1, 33))]):
        spans = []
        for count in (8, 16, 32):
            cost = px.cost(shaped(parents[:count]), "forward_dynamics", algorithm="contraction")
            spans.append(cost.written_out.span.total)  # loops go from body to body
        assert spans[2] - spans[1] <= 1.5 * (spans[1] - spans[0]) + 20, spans
