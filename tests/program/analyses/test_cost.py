# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Counting a program: totals, critical paths and widths, against networkx and by hand."""

from __future__ import annotations

import gc
import pickle
import weakref
from dataclasses import asdict

import networkx as nx
import pytest

import phalanx as px
from phalanx.program.analyses.cost import Count, cost_of, flow_of
from phalanx.program.builder import straight
from phalanx.program.graph import Graph
from phalanx.program.ir import Program, Scalar
from phalanx.program.ops import OPS
from phalanx.study.cost import program_of


def small() -> Program:
    """(x y + x) / y - sin z, and x y once more."""
    g = Graph()
    x, y, z = (g.input("q", k) for k in range(3))
    g.quantity, g.body_index = "w", 0
    product = x * y
    g.quantity, g.body_index = "tau", 1
    return straight({"q": (3,)}, {"x": (2,)}, [(product + x) / y - z.sin(), product * 2.0])


def test_operations_are_counted_by_quantity_and_link() -> None:
    cost = cost_of(small())
    assert (cost.multiplications, cost.additions, cost.divisions, cost.trigonometric) == (2, 2, 1, 1)
    assert cost.total == 5
    assert cost.by_quantity == {"w": Count(1), "tau": Count(1, 2, 1, 1)}
    assert cost.by_link == {0: Count(1), 1: Count(1, 2, 1, 1)}


def test_free_quantities_take_neither_work_nor_time() -> None:
    cost = cost_of(small(), free=("w",))
    assert "w" not in cost.by_quantity
    assert cost.span == Count(0, 2, 1)


def test_longest_path_depends_on_the_weights() -> None:
    cost = cost_of(small())
    assert cost.span == Count(1, 2, 1)  # product, sum, quotient, difference
    assert cost.span_with(trigonometric=10.0) == Count(0, 1, 0, 1)
    assert cost.span_with(multiplication=9.0, addition=0.1, division=0.1) == Count(2)


@pytest.mark.parametrize("time", [-1.0, float("nan"), float("inf")])
def test_times_below_zero_and_without_end_are_refused(time: float) -> None:
    with pytest.raises(
        px.PhalanxError, match=rf"span_with: addition={time}, expected a time of zero or more"
    ):
        cost_of(small()).span_with(addition=time)


def test_a_cost_tells_itself_in_a_line_or_a_few() -> None:
    cost = cost_of(small())
    assert repr(cost) == "<Cost 5: 2 multiplications, 2 additions, critical path 4>"
    assert str(cost).splitlines() == [
        "operations    5 for one state; 1 sines and cosines",
        "              2 *, 2 +, 1 /",
        "critical path 4 operations; at most 2 at once",
        "most in       tau 4, w 1",
        "bytes         24 in, 16 out, 8 of parameters",
        "counted as    customise 'full', convention 'program'",
    ]
    robot = px.load("panda")
    for algorithm in px.algorithms("forward_dynamics"):
        if not algorithm.refusal(robot):
            told = px.cost(robot, "forward_dynamics", algorithm.name)
            assert max(map(len, [repr(told), *str(told).splitlines()])) <= 80


def test_loops_without_a_path_say_so() -> None:
    cost = px.cost(px.chain(1000), "mass_matrix")
    assert not cost.has_path
    assert "in loops" in repr(cost)
    assert "critical path not known" in str(cost)
    with pytest.raises(px.PhalanxError, match=r"span_with: .* operations in loops .* ask written_out"):
        cost.span_with(multiplication=2.0)
    assert max(map(len, str(cost).splitlines())) <= 80


def test_width_is_what_can_start_as_early_as_possible() -> None:
    assert cost_of(small()).width == (1, 2, 1, 1)
    assert cost_of(small()).max_width == 2


def test_bytes_are_those_of_inputs_outputs_and_different_constants() -> None:
    b = cost_of(small()).bytes
    assert (b.inputs, b.outputs, b.parameters, b.total) == (24, 16, 8, 48)
    assert b.intermediate == 8 * (6 + 5)  # six results, of which four are read, one of them twice


def test_a_product_that_two_sums_swallow_is_multiplied_twice_by_the_kernel() -> None:
    g = Graph()
    x, y, z = (g.input("q", k) for k in range(3))
    program = straight({"q": (3,)}, {"x": (2,)}, [x * y + z, x * y - z])
    assert cost_of(program).multiplications == 1
    fused = cost_of(program, fused=True)
    assert (fused.multiplications, fused.additions, fused.span) == (2, 2, Count(1, 1))


@pytest.mark.parametrize("customise", ["none", "semi", "full"])
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (2.0, 1.0, 10.0), (0.3, 0.7, 4.0)])
def test_spans_are_the_longest_paths_that_networkx_finds(
    customise: str, weights: tuple[float, float, float]
) -> None:
    program, _ = program_of(px.load("ur5"), "forward_dynamics", "aba", customise)
    graph = nx.DiGraph()
    for node in program.values:
        counts = (0, 0, 0) if node.op == "input" else OPS[node.op].counts[:3]
        length = sum(w * c for w, c in zip(weights, counts, strict=True))
        graph.add_node(node.number)
        graph.add_edges_from(
            (a.number, node.number, {"weight": length}) for a in node.args if isinstance(a, Scalar)
        )
    cost = cost_of(program)
    names = ("multiplication", "addition", "division")
    path = cost.span_with(**dict(zip(names, weights, strict=True)))
    found = sum(
        w * c for w, c in zip(weights, (path.multiplications, path.additions, path.divisions), strict=True)
    )
    assert found == pytest.approx(nx.dag_longest_path_length(graph))


@pytest.mark.parametrize("algorithm", ["lathrop", "cartesian_tensor", "scan"])
def test_widths_add_up_to_the_work_and_are_as_long_as_the_path(algorithm: str) -> None:
    for customise in ("none", "semi", "full"):
        cost = px.cost(px.load("ur5"), "inverse_dynamics", algorithm, customise=customise)
        assert sum(cost.width) == cost.total
        assert len(cost.width) == cost.span.total
        assert sum((c for c in cost.by_quantity.values()), Count()) == Count(*cost._all())
        assert sum((c for c in cost.by_link.values()), Count()) == Count(*cost._all())


def test_operands_come_before_operations_in_a_flow() -> None:
    program = small()
    flow = flow_of(program.values)
    assert all(k < place for place, operands in enumerate(flow.operands) for k in operands)
    assert [n.op for n in flow.nodes] == [n.op for n in program.values]


def test_a_cost_can_be_told_kept_and_sent_without_its_program() -> None:
    program, _ = program_of(px.load("two_link"), "inverse_dynamics")
    graph = weakref.ref(program.values[0].graph)
    cost = cost_of(program)
    assert asdict(cost)["span"]["multiplications"] == cost.span.multiplications
    again = pickle.loads(pickle.dumps(cost))
    assert again == cost
    assert again.span_with(multiplication=3.0) == cost.span_with(multiplication=3.0)
    del program
    gc.collect()
    assert graph() is None
