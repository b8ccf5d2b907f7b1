# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lathrop's operators: associative, the same torques in any order, one level per doubling of the chain."""

from __future__ import annotations

from functools import partial
from math import ceil, log2
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import find
from phalanx.algorithms.inverse.lathrop import Force, RunMotion, join_forces, join_motions
from phalanx.program.graph import Graph, live
from phalanx.program.ir import Scalar
from phalanx.program.ops import ADD, MUL, SUB
from phalanx.spatial import Field
from phalanx.sweeps.orders.joining import JOININGS, segments
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.doubling import Doubling
from reference.sampling import agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

ORDERS = {**JOININGS, "three segments": partial(segments, pieces=3)}


def random_element(kind: type[Field], rng: np.random.Generator) -> Any:
    """A run of links that may be anything, but whose rotation is one."""
    arrays = [np.linalg.qr(rng.standard_normal((2, 3, 3)))[0]]
    arrays[0] *= np.linalg.det(arrays[0])[:, None, None]
    arrays += [rng.standard_normal((2, 3)) for _ in kind.ranks[1:]]
    return kind(*arrays)


@pytest.mark.parametrize(
    ("kind", "join"), [(RunMotion, join_motions), (Force, join_forces)], ids=["out", "in"]
)
def test_joining_is_associative(kind: type[Field], join: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (random_element(kind, rng) for _ in range(3))
    left, right = join(join(a, b), c), join(a, join(b, c))
    for (x, _), (y, _) in zip(left.arrays(), right.arrays(), strict=True):
        agree(x, y, 1e-14)


@pytest.mark.parametrize("joining", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 7, 8, 20])
def test_all_orders_give_the_same_torques(n: int, joining: Any) -> None:
    robot = px.chain(n, seed=n, prismatic=0.3)
    model, state = robot.model, robot.random_state((3,), rng=n)
    rng = np.random.default_rng(n)
    more = {
        "external": rng.standard_normal((n, 6)),
        "base_velocity": rng.standard_normal((3, 6)),
        "base_acceleration": rng.standard_normal(6),
    }
    for given in ({}, more):
        with ordering(Sequential(model.parents, joining=joining)):
            tau = find("inverse_dynamics", "lathrop")(model, *state, **given)
        agree(tau, robot.inverse_dynamics(*state, **given, algorithm="newton_euler"), 1e-12)


def test_the_order_of_logarithmic_depth_serves_it_too() -> None:
    robot = px.chain(9)
    state = robot.random_state(rng=0)
    with ordering(Doubling(robot.model.parents)):
        tau = find("inverse_dynamics", "lathrop")(robot.model, *state)
    agree(tau, robot.inverse_dynamics(*state), 1e-12)


class Counting(Sequential):
    """Notes how many pairs are joined in each level that really runs."""

    def __init__(self, parents: np.ndarray) -> None:
        super().__init__(parents)
        self.scans: list[list[int]] = []

    def scan(self, join: Any, elements: Any, root: Any, reverse: bool) -> Any:
        widths: list[int] = []

        def counted(left: Any, right: Any) -> Any:
            widths.append(left.arrays().__next__()[0].shape[-3])
            return join(left, right)

        self.scans.append(widths)
        return super().scan(counted, elements, root, reverse)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 7, 8, 15, 16, 33])
def test_a_stage_takes_the_logarithm_of_the_number_of_leaves_in_levels(n: int) -> None:
    robot = px.chain(n)
    order = Counting(robot.model.parents)
    with ordering(order):
        external = np.ones((n, 6))
        find("inverse_dynamics", "lathrop")(robot.model, *robot.random_state(rng=0), external=external)
    outward, inward = order.scans
    assert len(outward) == len(inward) == ceil(log2(n + 1))
    if n == 7:
        assert (sum(outward), sum(inward)) == (12, 12)


def test_six_links_with_a_free_tip_take_seven_joins_inward() -> None:
    robot = px.chain(6)
    order = Counting(robot.model.parents)
    with ordering(order):
        find("inverse_dynamics", "lathrop")(robot.model, *robot.random_state(rng=0))
    assert order.scans[1] == [3, 2, 2]


def symbols(kind: type[Field], graph: Graph, shape: tuple[int, ...]) -> Any:
    """Elements in which everything is unknown."""
    return kind(
        *(
            np.reshape(
                [graph.leaf(k, j) for j in range(3**rank * int(np.prod(shape)))], (*shape, *(3,) * rank)
            )
            for k, rank in enumerate(kind.ranks)
        )
    )


def depth(values: np.ndarray) -> int:
    """Operations on the critical path to any of the values."""
    length: dict[int, int] = {}
    for node in live(values.ravel().tolist()):
        before = max((length[a.number] for a in node.args if isinstance(a, Scalar)), default=0)
        length[node.number] = before + (node.op in (ADD, SUB, MUL))
    return max(length.values())


@pytest.mark.parametrize("n", [3, 7, 12])
def test_every_level_takes_the_time_of_a_rotation_and_a_sum(n: int) -> None:
    # One matrix-vector product and one sum of vectors are 4 operations; quantities are staggered by
    # what a joint needs once: w' by a cross product and a sum, p'' by two of them and another sum.
    K = ceil(log2(n + 1))
    order = Sequential(np.arange(-1, n - 1))
    graph = Graph()
    out = order.scan(join_motions, symbols(RunMotion, graph, (n,)), symbols(RunMotion, graph, ()), False)
    assert (depth(out.w), depth(out.wd), depth(out.pdd)) == (4 * K, 4 * K + 3, 4 * K + 7)
    back = order.scan(join_forces, symbols(Force, graph, (n,)), symbols(Force, graph, ()), True)
    assert (depth(back.f), depth(back.n)) == (4 * K, 4 * K + 3)
