# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Scalars of one body for all: operations on parameters alone are carried out as they are recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.program.ir import Scalar
from phalanx.program.rolled.body_graph import BodyGraph

A, B = np.array([0.3, 1.7, 0.9]), np.array([0.8, 0.2, 2.5])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("sqrt", np.sqrt),
        ("exp", np.exp),
        ("log", np.log),
        ("tanh", np.tanh),
        ("arctan2", np.arctan2),
        ("minimum", np.minimum),
        ("maximum", np.maximum),
        ("less", lambda a, b: (a < b).astype(float)),
    ],
)
def test_functions_of_parameters_are_parameters(name: str, wanted: Any) -> None:
    graph = BodyGraph(3)
    columns = (A, B)[: 2 if name in ("arctan2", "minimum", "maximum", "less") else 1]
    made = getattr(graph, name)(*map(graph.param, columns))
    assert graph.is_param(made)
    np.testing.assert_array_equal(graph.column(made), wanted(*columns))


def test_a_choice_between_parameters_is_one() -> None:
    graph = BodyGraph(3)
    a, b = graph.param(A), graph.param(B)
    made = graph.choose(graph.less(a, b), a, b)
    assert isinstance(made, Scalar)
    np.testing.assert_array_equal(graph.column(made), np.where(A < B, A, B))
