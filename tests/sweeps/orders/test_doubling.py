# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pointer jumping gives what walking link by link gives, in logarithmically many steps."""

from __future__ import annotations

from math import ceil, log2

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FUNCTIONS
from phalanx.spatial import Identity, Inertia, Tensor, Transform
from phalanx.sweeps import verbs as sweeps
from phalanx.sweeps.orders.hops import hops_of
from phalanx.sweeps.orders.sequential import Sequential
from reference.doubling import Doubling
from reference.sampling import agree, seeds, trees

PARENTS = np.array([-1, 0, 1, 1, 3, -1, 4, 4, 5, 6, 9])
ORDERS = (Sequential(PARENTS), Doubling(PARENTS))


def both(sweep: object) -> list:
    """A sweep in both orders."""
    results = []
    for order in ORDERS:
        with sweeps.ordering(order):
            results.append(sweep())
    return results


def test_hops_lead_to_ancestors_twice_as_far() -> None:
    hops = [(h.bodies.tolist(), h.ancestors.tolist()) for h in hops_of(np.array([-1, 0, 1, 2, 1]))]
    assert hops == [([1, 2, 3, 4], [0, 1, 2, 1]), ([2, 3, 4], [0, 1, 0])]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 33])
def test_a_chain_takes_the_logarithm_of_its_length_in_hops(n: int) -> None:
    assert len(hops_of(np.arange(-1, n - 1))) == ceil(log2(n))


def test_affine_sweeps_agree_with_walking() -> None:
    rng = np.random.default_rng(0)
    n = len(PARENTS)
    # Composing transforms takes their rotations for such.
    X = Transform(np.linalg.qr(rng.standard_normal((2, n, 3, 3)))[0], rng.standard_normal((n, 3)))
    R = Tensor(rng.standard_normal((2, n, 3, 3)))
    c, root, v, plus = rng.standard_normal((n, 6)), rng.standard_normal(6), *rng.standard_normal((2, n, 3))
    G = Inertia(rng.standard_normal(n), rng.standard_normal((n, 3)), rng.standard_normal((n, 6)))
    for sweep in (
        lambda: sweeps.propagate(X, c),
        lambda: sweeps.propagate(X, c, root=root),
        lambda: sweeps.propagate(X, root=root),
        lambda: sweeps.propagate(Identity(), v),
        lambda: sweeps.propagate(Identity(), v, root=root[:3], through=R, plus=plus),
        lambda: sweeps.propagate(R, v, through=R),
        lambda: sweeps.propagate(R, plus=plus, root=root[:3]),
        lambda: sweeps.accumulate(X, c),
        lambda: sweeps.accumulate(R, v),
        lambda: sweeps.accumulate(X, G).moment,
        lambda: sweeps.total(c.T),
        lambda: sweeps.children(c),
        lambda: sweeps.children(R, tip=Tensor(np.eye(3))).matrix,
        lambda: sweeps.paths(X) @ c,
        lambda: sweeps.paths(X).T @ c,
    ):
        walked, hopped = both(sweep)
        agree(hopped, walked, 1e-12)


@given(trees(), seeds)
def test_texts_of_affine_sweeps_run_in_it_unchanged(robot: px.Robot, seed: int) -> None:
    model, (q, qd, qdd) = robot.model, robot.random_state((2,), rng=seed)
    given = {"q": q, "qd": qd, "qdd": qdd}
    order = Doubling(model.parents)
    for function, name in (
        ("inverse_dynamics", "newton_euler"),
        ("inverse_dynamics", "cartesian_tensor"),
        ("gravity_forces", "newton_euler"),
        ("forward_kinematics", next(iter(ALGORITHMS["forward_kinematics"]))),
        ("center_of_mass", next(iter(ALGORITHMS["center_of_mass"]))),
    ):
        inputs = [given[label] for label in FUNCTIONS[function].inputs]
        with sweeps.ordering(order):
            result = ALGORITHMS[function][name](model, *inputs)
        agree(result, getattr(robot, function)(*inputs, algorithm=name, backend="numpy"))


def test_it_runs_in_single_precision() -> None:
    robot = px.tree(9, 0.4, seed=2)
    state = robot.random_state(rng=0)
    model = robot.model.cast(lambda a: a.astype(np.float32))
    with sweeps.ordering(Doubling(model.parents)):
        tau = ALGORITHMS["inverse_dynamics"]["newton_euler"](model, *(x.astype(np.float32) for x in state))
    assert tau.dtype == np.float32
    agree(tau, robot.inverse_dynamics(*state), 1e-5)


@pytest.mark.parametrize(
    ("function", "name", "sweep"),
    [
        ("forward_dynamics", "aba", "fold"),
        ("mass_matrix", "crba", "pairs"),
        ("forward_dynamics", "jsiia", "pairs"),
    ],
)
def test_texts_with_other_sweeps_are_refused(function: str, name: str, sweep: str) -> None:
    robot = px.chain(4)
    inputs = robot.random_state(rng=0)[: len(FUNCTIONS[function].inputs)]
    with (
        sweeps.ordering(Doubling(robot.model.parents)),
        pytest.raises(
            px.PhalanxError,
            match=f"{sweep}: no order of logarithmic depth, .*use an algorithm whose span is logarithmic",
        ),
    ):
        ALGORITHMS[function][name](robot.model, *inputs)


@pytest.mark.parametrize("sweep", ["eliminate", "substitute"])
def test_factoring_is_refused(sweep: str) -> None:
    with pytest.raises(px.PhalanxError, match=f"{sweep}: no order of logarithmic depth"):
        getattr(Doubling(PARENTS), sweep)(np.eye(len(PARENTS)), np.zeros(len(PARENTS)))


def test_a_robot_without_bodies_is_served() -> None:
    with sweeps.ordering(Doubling(np.empty(0, dtype=np.intp))):
        assert sweeps.propagate(Identity(), np.zeros((0, 3))).shape == (0, 3)
        assert sweeps.total(np.zeros((2, 0))).shape == (2,)
