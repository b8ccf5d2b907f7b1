# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Fields of one symbolic body: their scalars, selections by masks, and values of other bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.program.ir import Value
from phalanx.program.rolled import leaves as L
from phalanx.program.rolled.body_graph import BodyGraph
from phalanx.program.rolled.sweeps.indexing import Mask, chosen, each, elsewhere, rebuilt, scalars


@pytest.fixture(name="graph")
def graph_() -> BodyGraph:
    return BodyGraph(4)


def inputs(graph: BodyGraph, count: int) -> np.ndarray:
    made = np.empty(count, dtype=object)
    made[:] = [graph.placed(L.State("q", L.OWN, count, k), phase=-1) for k in range(count)]
    return made


def test_a_field_is_rebuilt_from_its_scalars(graph: BodyGraph) -> None:
    field: Any = (inputs(graph, 3), np.array([[1.0, 2.0]]))
    again = rebuilt(field, scalars(field))
    assert [x is y or x == y for x, y in zip(scalars(again), scalars(field), strict=True)] == [True] * 5
    assert again[1].shape == (1, 2)
    assert list(scalars(each(np.array([1.0, 2.0]), lambda x: 2 * x))) == [2.0, 4.0]


def test_columns_are_gathered_as_columns_and_numbers_are_the_same_everywhere(graph: BodyGraph) -> None:
    column, computed = graph.param(np.arange(4.0)), inputs(graph, 1)[0] * 2.0
    assert elsewhere(graph, 3.0, 0) == 3.0
    assert elsewhere(graph, column, 1).leaf == L.Param(column.leaf.column, 1)
    assert elsewhere(graph, computed, 1).leaf == L.Gathered(computed.number, 1)
    shared = graph.placed(L.Global("g", 0), phase=-1, common=True)
    assert elsewhere(graph, shared, 1) is shared


def test_a_mask_that_all_bodies_share_selects_while_tracing(graph: BodyGraph) -> None:
    x, y = inputs(graph, 2)
    a, b = np.array([x], dtype=object), np.array([y], dtype=object)
    every, some = Mask.of(graph, np.ones(4, bool)), Mask.of(graph, np.array([True, False, False, True]))
    assert every.all()
    assert not some.all()
    assert some.any()
    assert np.where(every, a, b)[0] is x
    assert chosen(graph, 0.0, a, b)[0] is y
    selected = np.where(some, a, b)[0]
    assert isinstance(selected, Value)
    assert (selected.op, selected.args[1:]) == ("choose", (x, y))
