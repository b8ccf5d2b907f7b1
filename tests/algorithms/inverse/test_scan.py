# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse dynamics by scans on trees of all joint types, and how many steps they take."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from phalanx.algorithms import find
from phalanx.sweeps.orders.hops import Paths
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference import dynamics as textbook
from reference.sampling import agree, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_it_agrees_with_the_textbook(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, qdd = robot.random_state(rng=rng)
    more = {
        "external": rng.standard_normal((robot.n_links, 6)),
        "base_velocity": rng.standard_normal(6),
        "base_acceleration": rng.standard_normal(6),
    }
    for some in ({}, {"base_velocity": more["base_velocity"]}, more):
        tau = robot.inverse_dynamics(q, qd, qdd, **some, algorithm="scan")
        agree(tau, textbook.inverse_dynamics(robot, q, qd, qdd, **some))


@pytest.mark.parametrize("n", [1, 2, 5, 16, 33])
def test_transforms_are_composed_once_and_in_logarithmically_many_steps(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[int] = []
    plain = Paths._compose

    def counting(self: Paths, values: object, bodies: np.ndarray, others: np.ndarray) -> None:
        composed.append(len(bodies))
        plain(self, values, bodies, others)

    monkeypatch.setattr(Paths, "_compose", counting)
    robot = px.chain(n)
    with ordering(Sequential(robot.model.parents)):
        find("inverse_dynamics", "scan")(robot.model, *robot.random_state(rng=0))
    # One hop needs no composition; V, Vd and F share the others.
    assert composed == [n - 2**k for k in range(1, ceil(log2(n)))]


def test_a_long_chain_and_a_star_take_few_steps() -> None:
    for robot in (px.chain(2000), px.tree(2000, branching=1.0, seed=0)):
        q, qd, qdd = robot.random_state(rng=0)
        qd, qdd = 0.01 * qd, 0.01 * qdd
        tau = robot.inverse_dynamics(q, qd, qdd, algorithm="scan")
        agree(tau, robot.inverse_dynamics(q, qd, qdd), 1e-11)
