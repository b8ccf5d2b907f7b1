# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What "auto" picks loses at most two digits against articulated bodies, whatever the robot's links weigh."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.analysis.accuracy import exact_result, relative_error
from phalanx.structure import factors_well
from reference.chains import scaled

MAKERS: dict[str, Callable[[int, int], px.Robot]] = {
    "chain": lambda n, seed: px.chain(n, seed=seed),
    "sliding chain": lambda n, seed: px.chain(n, seed=seed, prismatic=0.4),
    "straight chain": lambda n, seed: px.snake(n),
    "tree": lambda n, seed: px.tree(n, 0.4, seed=seed),
    "floating tree": lambda n, seed: px.tree(n, 0.6, seed=seed).with_floating_base(),
}
CASES = ("random", "mass ratio", "light links", "light tail", "light head", "inner light", "heavy tip")


def hard(robot: px.Robot, case: str, seed: int) -> px.Robot:
    """The robot with other masses."""
    if case == "random":
        return robot
    n, rng = len(robot.description.links) - 1, np.random.default_rng(seed)
    index, carriers = np.arange(n), np.zeros(n, dtype=bool)
    names = [link.name for link in robot.description.links[1:]]
    for joint in robot.description.joints:
        if joint.parent in names:
            carriers[names.index(joint.parent)] = True
    factors = {
        "mass ratio": 10.0 ** rng.uniform(-6.0, 0.0, n),
        "light links": np.where(rng.random(n) < 0.3, 1e-9, 1.0),
        "light tail": np.where(index > 0.7 * n, 1e-9, 1.0),
        "light head": np.where(index < 0.3 * n, 1e-9, 1.0),
        "inner light": np.where(carriers, 1e-9, 1.0),
        "heavy tip": np.where(index == n - 1, 1e6, 1.0),
    }[case]
    return scaled(robot, lambda i: float(factors[i]))


@cache
def known(maker: str, n: int, case: str, seed: int) -> tuple[Any, ...]:
    """(robot, state, exact accelerations, error of articulated bodies)."""
    robot = hard(MAKERS[maker](n, seed), case, seed)
    state = robot.random_state(2, rng=seed)
    exact = exact_result(robot, "forward_dynamics", list(state))
    return robot, state, exact, error(robot.forward_dynamics(*state, algorithm="aba", backend="numpy"), exact)


def error(found: Any, exact: Any) -> float:
    return max(relative_error(x, y) for x, y in zip(np.asarray(found), exact, strict=True))


def digits_lost(found: float, reference: float) -> float:
    least = float(np.finfo(float).eps) / 2.0
    return float(np.log10(max(found, least) / max(reference, least)))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("maker", MAKERS)
def test_auto_loses_at_most_two_digits(maker: str, case: str) -> None:
    for n, seed in ((3, 0), (7, 1), (13, 2), (13, 3)):
        robot, state, exact, reference = known(maker, n, case, seed)
        found = error(robot.forward_dynamics(*state, backend="numpy"), exact)
        assert digits_lost(found, reference) <= 2.0, (n, seed, found, reference)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("maker", "n"), [("chain", 60), ("sliding chain", 13), ("tree", 40)])
def test_auto_of_logarithmic_depth_loses_at_most_two_digits(maker: str, n: int, case: str) -> None:
    # The texts are those that run on JAX; NumPy runs them in the same order of joins.
    algorithm = "contraction" if maker == "tree" else "abia"
    robot, state, exact, reference = known(maker, n, case, 4)
    found = error(robot.forward_dynamics(*state, algorithm=algorithm, backend="numpy"), exact)
    assert digits_lost(found, reference) <= 2.0, (found, reference)


def test_jax_picks_those_algorithms() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    from phalanx.backends.jax.functions import fastest_in_depth

    assert fastest_in_depth(px.chain(60), "forward_dynamics") == "abia"
    assert fastest_in_depth(px.tree(40, 0.4, seed=1), "forward_dynamics") == "contraction"


@pytest.mark.parametrize("name", px.robots())
def test_arms_are_factored_and_keep_their_digits(name: str) -> None:
    robot = px.load(name)
    assert px.accuracy(robot, states=2, backend="numpy").digits_lost <= 1.5
    assert factors_well(robot), "the cheaper way stays the choice for ordinary arms"


def test_a_factor_would_lose_more_than_two_digits_where_auto_avoids_it() -> None:
    lost = []
    for seed in range(6):
        robot, state, exact, reference = known("sliding chain", 13, "heavy tip", seed)
        assert not factors_well(robot)
        found = error(robot.forward_dynamics(*state, algorithm="jsiia", backend="numpy"), exact)
        lost.append(digits_lost(found, reference))
    assert max(lost) > 2.0
