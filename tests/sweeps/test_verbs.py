# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The five walks over a tree against recursion written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.spatial import Inertia, Tensor, Transform
from phalanx.sweeps import verbs as sweeps
from phalanx.sweeps.orders.sequential import Sequential
from reference.sampling import agree, seeds

parents_of_trees = st.integers(1, 9).flatmap(
    lambda n: st.tuples(*(st.integers(-1, i - 1) for i in range(n))).map(lambda p: np.array(p, dtype=np.intp))
)


def transforms(n: int, rng: np.random.Generator, batch: tuple[int, ...] = ()) -> Transform:
    return Transform(rng.standard_normal((*batch, n, 3, 3)), rng.standard_normal((*batch, n, 3)))


@given(parents_of_trees, seeds)
def test_propagate_goes_from_the_root_to_the_tips(parents: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(parents)
    X, c, root = transforms(n, rng, (2,)), rng.standard_normal((2, n, 6)), rng.standard_normal(6)
    with sweeps.ordering(Sequential(parents)):
        x = sweeps.propagate(X, c, root=root)
        free = sweeps.propagate(X, c)
    for i, p in enumerate(parents):
        agree(x[:, i], X[i] @ (np.broadcast_to(root, (2, 6)) if p < 0 else x[:, p]) + c[:, i], 1e-14)
        agree(free[:, i], c[:, i] if p < 0 else X[i] @ free[:, p] + c[:, i], 1e-14)


@given(parents_of_trees, seeds)
def test_propagate_may_pass_through_each_body(parents: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(parents)
    X, Y, c, plus = transforms(n, rng), transforms(n, rng), *rng.standard_normal((2, n, 6))
    root = rng.standard_normal(6)
    with sweeps.ordering(Sequential(parents)):
        x = sweeps.propagate(X, c, root=root, through=Y, plus=plus)
    for i, p in enumerate(parents):
        agree(x[i], Y[i] @ (X[i] @ (root if p < 0 else x[p]) + c[i]) + plus[i], 1e-13)


@given(parents_of_trees, seeds)
def test_accumulate_adds_what_the_children_hand_down(parents: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(parents)
    X, c = transforms(n, rng), rng.standard_normal((n, 6))
    G = Inertia(rng.standard_normal(n), rng.standard_normal((n, 3)), rng.standard_normal((n, 6)))
    with sweeps.ordering(Sequential(parents)):
        y, H = sweeps.accumulate(X, c), sweeps.accumulate(X, G)
    for i in range(n):
        children = np.flatnonzero(parents == i)
        agree(y[i], c[i] + sum((X[j].T @ y[j] for j in children), np.zeros(6)), 1e-12)
        agree(H.m[i], G.m[i] + sum(H.m[j] for j in children), 1e-12)
    assert not np.shares_memory(y, c)


@given(parents_of_trees, seeds)
def test_fold_keeps_what_each_body_computes_from_its_children(parents: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(parents)
    start, local = rng.standard_normal((2, 3, n, 1))

    def step(state: tuple[np.ndarray, ...], a: np.ndarray) -> tuple:
        (x,) = state
        return (np.tanh(a * x),), (x, 2.0 * x)

    with sweeps.ordering(Sequential(parents)):
        kept, double = sweeps.fold(step, (start,), local)
    for i in range(n):
        total = start[:, i] + sum(np.tanh(local[:, j] * kept[:, j]) for j in np.flatnonzero(parents == i))
        agree(kept[:, i], total, 1e-13)
    np.testing.assert_array_equal(double, 2.0 * kept)


@given(parents_of_trees, seeds)
def test_pairs_visit_each_body_with_each_of_its_ancestors(parents: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(parents)
    start, weight = rng.standard_normal((2, n, 1))
    with sweeps.ordering(Sequential(parents)):
        matrix = sweeps.pairs(
            start, carry=lambda x, w: 2.0 * x * w, emit=lambda x, w: (x + w)[..., 0], along=(weight,)
        )
    wanted = np.zeros((n, n))
    for i in range(n):
        x, j = start[i], i
        while j >= 0:
            wanted[i, j] = wanted[j, i] = (x + weight[j])[0]
            x, j = 2.0 * x * weight[j], parents[j]
    agree(matrix, wanted, 1e-14)


@given(parents_of_trees, seeds)
def test_parent_looks_one_body_up(parents: np.ndarray, seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal((2, len(parents), 6))
    root = np.arange(6.0)
    with sweeps.ordering(Sequential(parents)):
        above = sweeps.parent(x, root=root)
    for i, p in enumerate(parents):
        np.testing.assert_array_equal(above[:, i], np.broadcast_to(root, (2, 6)) if p < 0 else x[:, p])


def test_relay_reads_a_whole_level_before_it_writes_and_keeps_every_state() -> None:
    x, weight = np.array([[1.0], [2.0], [4.0]]), np.array([[10.0], [100.0], [1000.0]])
    levels = [[(0, 1), (1, 2)], [], [(2, 0)]]
    with sweeps.ordering(Sequential(np.arange(-1, 2))):
        history = sweeps.relay(
            levels,
            (x, -x),
            lambda mine, theirs, w: (mine[0] + w * theirs[0], theirs[1]),
            along=lambda level, targets: (weight[targets] + level,),
        )
    assert [[y.ravel().tolist() for y in state] for state in history] == [
        [[1.0, 2.0, 4.0], [-1.0, -2.0, -4.0]],
        [[21.0, 402.0, 4.0], [-2.0, -4.0, -4.0]],
        [[21.0, 402.0, 4.0], [-2.0, -4.0, -4.0]],
        [[21.0, 402.0, 21046.0], [-2.0, -4.0, -2.0]],
    ]
    assert x.ravel().tolist() == [1.0, 2.0, 4.0], "what comes in is left alone"


def test_relay_gives_constants_a_batch_and_takes_operators() -> None:
    turn = Tensor(np.array([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]] * 4))
    c, batch = np.ones((4, 1)), np.arange(6.0).reshape(2, 3)
    with sweeps.ordering(Sequential(np.arange(-1, 3))):
        R = sweeps.relay([[(i, i - 1)] for i in (1, 2, 3)], (turn,), lambda own, last: (last[0] @ own[0],))[
            -1
        ][0]
        y = sweeps.relay(
            [[(1, 0)]], (c,), lambda own, last, w: (own[0] + w,), along=lambda *_: (batch[..., None, None],)
        )[-1][0]
    agree(R.matrix[3], np.eye(3), 1e-15)
    assert y.shape == (2, 3, 4, 1)
    agree(y[..., 1, 0], batch + 1.0, 1e-15)


@given(parents_of_trees, seeds)
def test_eliminate_and_substitute_solve_with_branches_kept_apart(parents: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = len(parents)
    related = np.eye(n, dtype=bool)
    for i in range(n):
        j = parents[i]
        while j >= 0:
            related[i, j] = related[j, i] = True
            j = parents[j]
    M = np.where(related, rng.standard_normal((2, n, n)), 0.0)
    M = M + np.swapaxes(M, -1, -2) + 4 * n * np.eye(n)
    b = rng.standard_normal((2, n))
    with sweeps.ordering(Sequential(parents)):
        factor = sweeps.eliminate(M)
        x = sweeps.substitute(factor, b)
    agree(np.einsum("bij,bj->bi", M, x), b, 1e-13)
    lower = np.tril(factor, -1) + np.eye(n)
    diagonal = 1.0 / np.diagonal(factor, axis1=-2, axis2=-1)
    agree(np.swapaxes(lower, -1, -2) @ (diagonal[..., None] * lower), M, 1e-13)
    assert (np.tril(factor, -1)[:, ~related] == 0.0).all()


def test_sums_over_children_have_one_order() -> None:
    order = Sequential(np.array([-1, 0, 0, 0, 1]))
    assert [[part.tolist() for part in level] for level in order.inward] == [[[4]], [[3], [2], [1]], [[0]]]
    assert [level.tolist() for level in order.outward] == [[0], [1, 2, 3], [4]]


def test_sweeps_outside_an_order_are_refused() -> None:
    with pytest.raises(LookupError):
        sweeps.propagate(None)
