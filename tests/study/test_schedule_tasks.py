# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Task graphs: the same operations, cut into pieces that never wait for each other."""

from __future__ import annotations

import sys

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from phalanx.program.analyses.cost import Count
from phalanx.study.machines import Times
from phalanx.study.schedule import task_graph
from reference.sampling import trees

FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_kinematics", "kinetic_energy")


@given(trees(5), st.sampled_from(FUNCTIONS), st.sampled_from(("none", "semi", "full")))
def test_every_granularity_has_the_same_work_and_no_circle(
    robot: px.Robot, function: str, customise: str
) -> None:
    cost = px.cost(robot, function, customise=customise)
    expected = Count(cost.multiplications, cost.additions, cost.divisions, cost.trigonometric)
    spans = []
    for granularity in ("scalar", "vector", "equation"):
        graph = task_graph(robot, function, granularity=granularity, customise=customise)
        assert sum((t.work for t in graph.tasks), Count()) == expected
        flow = graph.networkx()
        assert len(flow) == len(graph)
        assert networkx.is_directed_acyclic_graph(flow)
        assert all(a < k for k, t in enumerate(graph.tasks) for a in t.before), "in order"
        spans.append(px.schedule(robot, function, machine=px.machines.pram(10**4), granularity=granularity,
                                 customise=customise).span)  # fmt: skip
    assert spans[0] <= min(spans[1:]), "whole vectors and equations wait for all that they need"


def test_scalar_tasks_are_the_operations_with_their_quantities_and_links() -> None:
    robot = px.load("puma560")
    cost = px.cost(robot, "inverse_dynamics", algorithm="newton_euler")
    graph = task_graph(robot, "inverse_dynamics", "newton_euler")
    for quantity, count in cost.by_quantity.items():
        mine = [t.work for t in graph.tasks if t.quantity == quantity]
        assert sum(mine, Count()) == count
        assert len(mine) == count.total + count.trigonometric
    assert {t.link for t in graph.tasks} == set(range(6))


@pytest.mark.parametrize("n", [1, 2, 6, 9])
def test_vector_tasks_of_the_linear_recursion_are_the_steps_of_table_4(n: int) -> None:
    graph = task_graph(
        px.chain(n), "inverse_dynamics", "luh_walker_paul", granularity="vector", customise="none"
    )
    assert len(graph) == 30 * n, "22 outward and 8 inward per link"
    times = {"VA": (0, 3), "SV": (3, 0), "VC": (6, 3), "MV": (9, 6)}
    alone = {"VA": (0, 1), "SV": (1, 0), "VC": (1, 1), "MV": (1, 2)}
    for t in graph.tasks:
        assert (t.work.multiplications, t.work.additions) == times[t.kind]
        assert (t.path.multiplications, t.path.additions) == alone[t.kind], "coordinates at once"
        assert t.words == 3
    outward = [t for t in graph.tasks if t.quantity in ("w", "wJd", "wd", "c", "pdd", "rdd", "F", "N")]
    assert len(outward) == 22 * n


def test_vectors_hold_at_most_three_coordinates_that_stand_side_by_side() -> None:
    graph = task_graph(px.load("panda"), "forward_dynamics", "aba", granularity="vector")
    for t in graph.tasks:
        assert t.work.total <= 15
        assert t.path.total <= 3


def test_equations_are_quantities_of_links() -> None:
    robot = px.load("puma560")
    graph = task_graph(robot, "inverse_dynamics", "newton_euler", granularity="equation")
    quantities = px.cost(robot, "inverse_dynamics", algorithm="newton_euler").by_quantity
    assert {(t.quantity, t.link) for t in graph.tasks} <= {(q, i) for q in quantities for i in range(6)}
    flow = graph.networkx()
    assert flow.nodes[0]["quantity"] == graph.tasks[0].quantity
    assert sum(work for _, work in flow.nodes(data="work")) == sum(graph.durations(Times()))
    words = {(a, b): w for a, b, w in flow.edges(data="words")}
    assert all(w == graph.tasks[a].words > 0 for (a, _), w in words.items())


def test_without_networkx_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = task_graph(px.chain(2), "inverse_dynamics", "newton_euler")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(px.PhalanxError, match=r'networkx is not installed.*pip install "\.\[explain\]"'):
        graph.networkx()
