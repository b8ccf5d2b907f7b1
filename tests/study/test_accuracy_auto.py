# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What "auto" picks loses at most two digits against articulated bodies, whatever the robot's links weigh.

Rounding errors of single states differ by a digit and more, and from processor to processor, since sines
and sums are rounded differently. So typical errors of many states are compared, never two single ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends import structure
from phalanx.backends.structure import factors_well
from phalanx.dispatch import choose
from phalanx.robot.robot import Robot
from phalanx.study.accuracy import exact_result, largest_error, longdouble_result, state_errors, typical_error
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


STATES = 12


@cache
def known(maker: str, n: int, case: str, seed: int) -> tuple[Any, ...]:
    """(robot, states, exact accelerations, typical error of articulated bodies)."""
    robot = hard(MAKERS[maker](n, seed), case, seed)
    state = robot.random_state(STATES if n < 20 else 6, rng=seed)
    exact = exact_result(robot, "forward_dynamics", list(state))
    found = robot.forward_dynamics(*state, algorithm="aba", backend="numpy")
    return robot, state, exact, typical_error(state_errors(found, exact))


def digits_lost(found: Any, exact: Any, reference: float) -> float:
    return float(np.log10(typical_error(state_errors(found, exact)) / reference))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("maker", MAKERS)
def test_auto_loses_at_most_two_digits(maker: str, case: str) -> None:
    for n, seed in ((6, 1), (13, 2)):
        robot, state, exact, reference = known(maker, n, case, seed)
        found = robot.forward_dynamics(*state, backend="numpy")
        assert digits_lost(found, exact, reference) <= 2.0, (n, seed, reference)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("maker", "n"), [("chain", 40), ("sliding chain", 13), ("tree", 25)])
def test_auto_of_logarithmic_depth_loses_at_most_two_digits(maker: str, n: int, case: str) -> None:
    # The texts are those that run on JAX; NumPy runs them in the same order of joins.
    algorithm = "contraction" if maker == "tree" else "abia"
    robot, state, exact, reference = known(maker, n, case, 4)
    found = robot.forward_dynamics(*state, algorithm=algorithm, backend="numpy")
    assert digits_lost(found, exact, reference) <= 2.0, reference


def test_jax_picks_those_algorithms() -> None:
    pytest.importorskip("jax", reason="JAX is not installed")
    from phalanx.backends.jax.functions import fastest_in_depth

    assert fastest_in_depth(px.chain(60), "forward_dynamics") == "abia"
    assert fastest_in_depth(px.tree(40, 0.4, seed=1), "forward_dynamics") == "contraction"


@pytest.mark.parametrize("name", px.robots())
def test_arms_are_factored_and_keep_their_digits(name: str) -> None:
    robot = px.load(name)
    assert px.accuracy(robot, backend="numpy").digits_lost <= 1.5
    assert factors_well(robot), "the cheaper way stays the choice for ordinary arms"


def test_a_factor_would_lose_more_digits_where_auto_avoids_it() -> None:
    lost = []
    for seed in range(6):
        robot, state, exact, reference = known("sliding chain", 13, "inner light", seed)
        assert not factors_well(robot)
        found = robot.forward_dynamics(*state, algorithm="jsiia", backend="numpy")
        lost.append(digits_lost(found, exact, reference))
    assert np.mean(lost) > 1.5, lost


def test_the_choice_does_not_depend_on_the_configurations_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    # The largest condition of four configurations differed by a factor of ten between draws.
    robot = px.chain(13, seed=2)
    found = []
    for seed in range(8):
        with monkeypatch.context() as patch:
            drawn = Robot.random_state
            patch.setattr(
                Robot, "random_state", lambda self, batch, rng, s=seed, d=drawn: d(self, batch, rng=s)
            )
            found.append(structure._condition(robot))
    assert max(found) < 2.0 * min(found)


@pytest.mark.parametrize("factor", [1.0, 20.0])
def test_segments_of_one_state_lose_little_where_auto_takes_them(factor: float) -> None:
    robot = scaled(px.chain(210, seed=2), lambda i: factor if i == 70 else 1.0)
    assert choose(robot, "forward_dynamics", 1).name == "partition"
    states = robot.random_state(6, rng=0)
    right = longdouble_result(robot, "forward_dynamics", states)
    errors = []
    for algorithm in ("partition", "aba"):
        found = robot.forward_dynamics(*states, algorithm=algorithm, backend="native")
        each = [largest_error(found[k : k + 1], right[k : k + 1]) for k in range(6)]
        errors.append(np.exp(np.mean(np.log(each))))
    assert errors[0] < 30.0 * errors[1]  # one and a half digits


def test_segments_are_left_where_they_would_lose_digits() -> None:
    robot = scaled(px.chain(210, seed=2), lambda i: 1e3 if i == 70 else 1.0)
    assert choose(robot, "forward_dynamics", 1).name == "aba"
