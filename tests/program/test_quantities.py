# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Scalars carry the name on the left of the line that made them."""

from __future__ import annotations

from typing import Any

from phalanx.program.builder import straight
from phalanx.program.graph import Graph
from phalanx.program.quantities import announcing


def equations(x: Any, y: Any) -> Any:
    V = x + y
    a, F = V * x, V * y

    def moved(z: Any) -> Any:
        return z * z

    b = moved(a)
    return b + F


def test_assignments_name_what_they_make() -> None:
    graph = Graph()
    x, y = graph.input("q", 0), graph.input("q", 1)
    result = announcing(equations, graph, "tau")(x, y)
    assert graph.quantity == ""
    made = straight({"q": (2,)}, {"tau": ()}, [result])
    assert [s.quantity for s in made.values] == ["", "", "V", "a", "F", "moved", "tau"]


def test_a_function_without_source_is_one_quantity() -> None:
    graph = Graph()
    scope: dict[str, Any] = {}
    exec("def f(x):\n    y = x * x\n    return y + x", scope)
    result = announcing(scope["f"], graph, "tau")(graph.input("q", 0))
    assert {s.quantity for s in straight({"q": (1,)}, {"tau": ()}, [result]).values[1:]} == {"tau"}
