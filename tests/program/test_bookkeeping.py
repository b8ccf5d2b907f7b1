# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""General programs: literal zeros and ones, what is given, what is shared, where a count ends."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS
from phalanx.program.bookkeeping import Bookkeeping
from phalanx.program.graph import GeneralGraph
from phalanx.program.ir import Program, Scalar
from phalanx.program.task import TraceTask
from phalanx.program.trace import trace

CHAIN = px.chain(3)


def traced(
    algorithm: str, customise: str = "none", book: Bookkeeping | None = None, external: bool = False
) -> Program:
    shapes = {"q": (3,), "qd": (3,), "qdd": (3,)}
    more = {"external": (3, 6)} if external else {}
    entry = ALGORITHMS["inverse_dynamics"][algorithm]
    return trace(
        TraceTask(entry, CHAIN.model, shapes, {"result": (3,)}, more), customise, book or Bookkeeping()
    )


def made(program: Program) -> Counter[str]:
    return Counter(n.op for n in program.values)


def test_a_literal_zero_or_one_makes_no_operation() -> None:
    g = GeneralGraph()
    x = g.input("q", 0)
    for same in (x + 0.0, 0.0 + x, x - 0.0, x * 1.0, 1.0 * x, x / 1.0):
        assert same is x
    for nothing in (x * 0.0, 0.0 * x, 0.0 / x):
        assert nothing == 0.0
        assert type(nothing) is float
    assert (0.0 - x).op == (x * -1.0).op == "neg"
    assert [n.op for n in g.nodes] == ["input", "neg", "neg"]


def test_arrays_without_axes_count_as_their_scalar() -> None:
    g = GeneralGraph()
    x = g.input("q", 0)
    assert g.add(x, np.array(0.0, dtype=object)) is x
    assert g.mul(np.array(x, dtype=object), 2.0).args == (x, 2.0)


def test_nothing_is_folded_or_shared() -> None:
    g = GeneralGraph()
    x, y = g.input("q", 0), g.input("q", 1)
    assert (x * y) is not (x * y)
    assert (x - x).op == "sub"
    assert ((x * 2.0) * 3.0).args[0].op == "mul"


def test_partial_results_can_be_kept() -> None:
    g = GeneralGraph(shared=True)
    x, y = g.input("q", 0), g.input("q", 1)
    assert (x * y) is (x * y)
    assert (x * y) is not (y * x)
    assert (x * 2.0) is not (x * 3.0)
    assert (x - x).op == "sub"


def test_general_equations_see_no_zero_in_axes_and_rotations() -> None:
    program = traced("zomaya_morris")
    constants = [a for n in program.values if n.op != "input" for a in n.args if not isinstance(a, Scalar)]
    assert constants == []
    leaves = {n.buffer.name for n in program.values if n.op == "input" and n.buffer.name.startswith("given")}
    assert leaves == {"given rotations", "given first_axis"}


def test_what_is_given_is_neither_computed_nor_general_beyond_its_structure() -> None:
    given = Bookkeeping(given=frozenset({"rotations"}))
    assert made(traced("zomaya_morris"))["cos"] == 3
    for customise in ("none", "semi"):
        program = traced("zomaya_morris", customise, given)
        assert made(program)["cos"] == 0
        leaves = [n for n in program.values if n.op == "input" and n.buffer.name == "given rotations"]
        entries = 9 if customise == "none" else 8  # the zero of A is structure
        assert len(leaves) <= entries * 3
        assert ({n.index % 9 for n in leaves} == set(range(9))) == (customise == "none")


def test_a_count_may_end_with_variables_of_the_text() -> None:
    program = traced("zomaya_morris", "none", Bookkeeping(results=frozenset({"n", "f"})))
    assert [buffer.size for buffer in program.outputs] == [18]
    assert "tau" not in {n.quantity for n in program.values}
    with pytest.raises(px.PhalanxError, match='ends a count with psi, which algorithm "newton_euler"'):
        traced("newton_euler", "none", Bookkeeping(results=frozenset({"psi"})))


def test_absent_parameters_are_zero() -> None:
    every, few = traced("zomaya_morris"), Bookkeeping(absent=frozenset({"theta", "armature"}))
    # The angle's offset is one addition a joint, the rotor a product and a sum.
    less = made(traced("zomaya_morris", "none", few))
    assert made(every)["add"] - less["add"] == 6
    assert made(every)["mul"] - less["mul"] == 3


def test_wrenches_act_on_tips_and_may_come_in_a_turned_frame() -> None:
    inputs = {
        (n.buffer.name, n.index) for n in traced("zomaya_morris", external=True).values if n.op == "input"
    }
    assert {a for a in inputs if a[0] == "external"} == {("external", k) for k in range(12, 18)}
    free, held = made(traced("zomaya_morris")), made(traced("zomaya_morris", external=True))
    turned = made(traced("zomaya_morris", "none", Bookkeeping(turned_tool=True), external=True))
    assert turned["mul"] - free["mul"] == 18  # two products of a matrix and a vector
    assert held["mul"] - turned["mul"] == 6  # and the moment of the force about another origin


def test_parts_of_a_tuple_are_announced_one_by_one() -> None:
    found = {n.quantity for n in traced("zomaya_morris").values if n.op == "mul"}
    assert {"A", "p", "zqd", "zqdd"} <= found
