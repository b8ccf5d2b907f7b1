# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A chain cut into segments: sweeps inside and along them against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.spatial import Identity, Tensor
from phalanx.sweeps.orders.segments import CutChain, starts
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import (
    accumulate,
    children,
    contract,
    fold,
    marked,
    ordering,
    parent,
    paths,
    pick,
    propagate,
    scan,
    segments,
    total,
)
from reference.doubling import Doubling

N, COUNT = 11, 4
rng = np.random.default_rng(0)
A, C = rng.standard_normal((N, 3, 3)), rng.standard_normal((2, N, 3))
ROOTS = rng.standard_normal((2, COUNT, 3))
ENDS = np.arange(N)
FIRST = starts(ENDS, COUNT)
SEGMENTS = np.split(np.arange(N), FIRST[1:])


def order(parents: Any = None) -> Sequential:
    return Sequential(np.arange(-1, N - 1) if parents is None else parents)


def test_lengths_differ_by_one_and_the_last_segment_is_a_longest_one() -> None:
    for n in range(1, 40):
        for count in range(1, 50):
            lengths = np.diff(starts(np.arange(n), count), append=n)
            assert len(lengths) == min(n, count)
            assert lengths.min() >= lengths.max() - 1
            assert lengths[-1] == lengths.max()


def test_joints_with_several_axes_stay_whole() -> None:
    for seed in range(40):
        ends = np.cumsum(np.random.default_rng(seed).choice([1, 2, 3, 6], 1 + seed)) - 1
        for count in (1, 2, 5, 8, 100, None):
            first = starts(ends, count)
            assert first[0] == 0
            assert (np.diff(first, append=ends[-1] + 1) > 0).all()
            assert set((first[1:] - 1).tolist()) <= set(ends.tolist())
            if count is not None:
                lengths = np.diff(first, append=ends[-1] + 1)
                assert len(first) <= count
                assert lengths.max() <= -(-(ends[-1] + 1) // min(count, len(ends))) + 5


def test_long_chains_are_cut_more_often() -> None:
    for n, count in ((100, 6), (9_999, 8), (10_000, 16), (10_240, 16), (10_241, 32), (30_000, 48)):
        assert len(starts(np.arange(n), None)) == count


def test_outward_each_segment_starts_from_its_own_root() -> None:
    with ordering(order()):
        parts = segments(COUNT, ENDS)
        with parts.inside():
            x = propagate(Tensor(A), C, root=ROOTS)
            before = parent(x, root=ROOTS)
    for k, links in enumerate(SEGMENTS):
        value = ROOTS[:, k]
        for i in links:
            np.testing.assert_allclose(before[:, i], value)
            value = value @ A[i].T + C[:, i]
            np.testing.assert_allclose(x[:, i], value)


def test_inward_each_segment_ends_at_its_first_link() -> None:
    with ordering(order()):
        parts = segments(COUNT, ENDS)
        with parts.inside():
            y = accumulate(Tensor(A), C)
            step = lambda state, A: ((A.T @ state[0],), state)  # noqa: E731
            (started,) = fold(step, (C,), Tensor(A), tips=(ROOTS,))
    for k, links in enumerate(SEGMENTS):
        value, other = np.zeros((2, 3)), ROOTS[:, k]
        for i in links[::-1]:
            value, other = value + C[:, i], other + C[:, i]
            np.testing.assert_allclose(y[:, i], value)
            np.testing.assert_allclose(started[:, i], other)
            value, other = value @ A[i], other @ A[i]


def test_values_pass_between_links_and_segments() -> None:
    with ordering(order()):
        parts = segments(COUNT, ENDS)
        with parts.along():
            sums = propagate(Tensor(np.tile(np.eye(3), (COUNT, 1, 1))), parts.last(C))
    np.testing.assert_array_equal(parts.first(C), C[:, FIRST])
    np.testing.assert_array_equal(parts.last(C), C[:, [s[-1] for s in SEGMENTS]])
    np.testing.assert_allclose(sums, np.cumsum(parts.last(C), axis=1))
    np.testing.assert_array_equal(parts.spread(ROOTS)[:, SEGMENTS[2]], ROOTS[:, [2] * len(SEGMENTS[2])])


def test_what_has_no_segments_is_refused() -> None:
    with ordering(order(np.array([-1, 0, 0]))), pytest.raises(px.PhalanxError, match="unbranched chain"):
        segments(2, ENDS)
    with ordering(Doubling(np.arange(-1, 3))), pytest.raises(px.PhalanxError, match="logarithmic depth"):
        segments(2, ENDS)
    with ordering(order()):
        with segments(2, ENDS).inside():
            with pytest.raises(px.PhalanxError, match="inside, there are the sweeps"):
                total(C[..., 0])
            with pytest.raises(px.PhalanxError, match="segments: WithinSegments does not cut a chain"):
                segments(2, ENDS)
            with pytest.raises(px.PhalanxError, match="contract: joins runs of single links, which this"):
                contract(None, C, load=None, loaded=None)
            with pytest.raises(px.PhalanxError, match="marked: this order has no single bodies"):
                marked(C, np.zeros(N))
        with pytest.raises(px.PhalanxError, match="arrives at their tips"):
            fold(lambda state: (state, state), (C,), tips=(C,))


def sweeps_of_a_chain() -> list[Any]:
    """The results of all sweeps that are linear or associative, with and without a root."""
    X, root = Tensor(A), rng_root()
    made = [propagate(X, C), propagate(X, C, root=root), propagate(X, root=root), accumulate(X, C)]
    made += [propagate(Identity(), C, root=root, through=X, plus=C), paths(X) @ C, paths(X).T @ C]
    made += [
        parent(C, root=root),
        parent(C),
        children(C),
        children(C, tip=root),
        pick(C, 4),
        total(C[..., 0]),
    ]
    for reverse in (False, True):
        for start in (None, Tensor(np.full((3, 3), 0.25))):
            made.append(scan(lambda a, b: a @ b, X, root=start, reverse=reverse).matrix)
    return made


def rng_root() -> np.ndarray:
    return np.random.default_rng(5).standard_normal((2, 3))


@pytest.mark.parametrize("count", [1, 2, COUNT, N])
def test_sweeps_of_the_whole_chain_in_segments(count: int) -> None:
    with ordering(order()):
        wanted = sweeps_of_a_chain()
        parts = segments(count, ENDS)
    with ordering(CutChain(parts)):
        found = sweeps_of_a_chain()
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12 * np.abs(theirs).max())


def test_a_fold_of_the_whole_chain_is_refused_in_segments() -> None:
    with ordering(order()):
        parts = segments(COUNT, ENDS)
    with (
        ordering(CutChain(parts)),
        pytest.raises(px.PhalanxError, match="only linear and associative sweeps"),
    ):
        fold(lambda state: (state, state), (C,))
