# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Trees as heavy paths on limbs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import phalanx as px
from phalanx.sweeps.heavy_paths import ArrayLinks, Collected

TREES = [
    px.chain(9).parents,
    px.generators.dill(6).parents,
    px.tree(80, 0.4, seed=1).parents,
    px.tree(50, 1.0, seed=2).parents,
]


@pytest.mark.parametrize("parents", TREES)
def test_every_link_is_in_one_limb_and_limbs_are_chains(parents: np.ndarray) -> None:
    ranks = ArrayLinks(parents).ranks
    assert sorted(i for rank in ranks for group in rank for i in group.ravel()) == list(range(len(parents)))
    for group in (g for rank in ranks for g in rank):
        assert np.array_equal(parents[group[:, 1:]], group[:, :-1])


@pytest.mark.parametrize("parents", TREES)
def test_limbs_hang_on_higher_ranks_and_ranks_are_few(parents: np.ndarray) -> None:
    ranks = ArrayLinks(parents).ranks
    rank_of = {int(i): r for r, rank in enumerate(ranks) for group in rank for i in group.ravel()}
    for r, rank in enumerate(ranks):
        for group in rank:
            assert all(p < 0 or rank_of[int(p)] > r for p in parents[group[:, 0]])
    assert len(ranks) <= math.log2(len(parents)) + 1


@pytest.mark.parametrize("parents", TREES)
def test_sums_over_children_and_values_of_parents(parents: np.ndarray) -> None:
    heavy_paths, x = ArrayLinks(parents), np.arange(1.0, len(parents) + 1.0)[:, None]
    sums = np.zeros_like(x)
    for i, p in enumerate(parents):
        if p >= 0:
            sums[p] += x[i]
    assert np.array_equal(heavy_paths.children(x), sums)
    world = np.array([-5.0])
    assert heavy_paths.parent(x, first=world)[:, 0].tolist() == [-5.0 if p < 0 else p + 1.0 for p in parents]


def test_values_are_collected_in_any_order() -> None:
    found = Collected(3, world=np.array([7.0]))
    found.add(np.array([[1, 2]]), np.array([[[1.0], [2.0]]]))
    found.add(np.array([[0]]), np.zeros((4, 1, 1, 1)))
    assert found.all().shape == (4, 3, 1)
    assert found.all()[2, :, 0].tolist() == [0.0, 1.0, 2.0]
    assert found.at(np.array([-1]))[0, 0, 0] == 7.0
