# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recording scalars: what folds, what is shared, what is dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from phalanx.program.graph import Graph, live
from phalanx.program.ir import Scalar

GRAPH = Graph()
X, Y, Z = (GRAPH.input("q", k) for k in range(3))

SAME: list[tuple[str, Callable[[], Any], Callable[[], Any]]] = [
    ("x + 0 is x", lambda: X + 0.0, lambda: X),
    ("0 + x is x", lambda: 0.0 + X, lambda: X),
    ("x + -0 is x", lambda: X + -0.0, lambda: X),
    ("x - 0 is x", lambda: X - 0.0, lambda: X),
    ("0 - x is -x", lambda: 0.0 - X, lambda: -X),
    ("x 1 is x", lambda: X * 1.0, lambda: X),
    ("1 x is x", lambda: 1.0 * X, lambda: X),
    ("x (-1) is -x", lambda: X * -1.0, lambda: -X),
    ("-(-x) is x", lambda: GRAPH.neg(-X), lambda: X),
    ("(-x) (-1) is x", lambda: -X * -1.0, lambda: X),
    ("x / 1 is x", lambda: X / 1.0, lambda: X),
    ("x / -1 is -x", lambda: X / -1.0, lambda: -X),
    ("x / 4 is x 0.25", lambda: X / 4.0, lambda: X * 0.25),
    ("x y is y x", lambda: X * Y, lambda: Y * X),
    ("x + y is y + x", lambda: X + Y, lambda: Y + X),
    ("2 x is x 2", lambda: 2.0 * X, lambda: X * 2.0),
    ("a constant first or last is the same sum", lambda: 2.0 + X, lambda: X + 2.0),
    ("x - 2 is x + (-2)", lambda: X - 2.0, lambda: X + -2.0),
    ("factors gather", lambda: X * 2.0 * 4.0, lambda: X * 8.0),
    ("factors cancel", lambda: X * 2.0 * 0.5, lambda: X),
    ("a negative factor goes outward", lambda: X * -2.0, lambda: -(X * 2.0)),
    ("(-x) y is -(x y)", lambda: -X * Y, lambda: -(X * Y)),
    ("(-x) (-y) is x y", lambda: -X * -Y, lambda: X * Y),
    ("x + (-y) is x - y", lambda: X + -Y, lambda: X - Y),
    ("(-x) + y is y - x", lambda: -X + Y, lambda: Y - X),
    ("x - (-y) is x + y", lambda: X - -Y, lambda: X + Y),
    ("(-x) - y is -(x + y)", lambda: -X - Y, lambda: -(X + Y)),
    ("(-x) - (-y) is y - x", lambda: -X - -Y, lambda: Y - X),
    ("2 - (-x) is x + 2", lambda: 2.0 - -X, lambda: X + 2.0),
    ("y - x is -(x - y)", lambda: Y - X, lambda: -(X - Y)),
    ("(-x) / y is -(x / y)", lambda: -X / Y, lambda: -(X / Y)),
    ("x / (-y) is -(x / y)", lambda: X / -Y, lambda: -(X / Y)),
    ("2 / (-y) is -(2 / y)", lambda: 2.0 / -Y, lambda: -(2.0 / Y)),
    ("sin(-x) is -sin x", lambda: (-X).sin(), lambda: -X.sin()),
    ("cos(-x) is cos x", lambda: (-X).cos(), lambda: X.cos()),
    ("tanh(-x) is -tanh x", lambda: (-X).tanh(), lambda: -X.tanh()),
    ("|-x| is |x|", lambda: abs(-X), lambda: abs(X)),
    ("||x|| is |x|", lambda: abs(abs(X)), lambda: abs(X)),
    ("arctan2(-y, x) is -arctan2(y, x)", lambda: (-Y).arctan2(X), lambda: -Y.arctan2(X)),
    ("max(x, x) is x", lambda: X.maximum(X), lambda: X),
    ("min(2, x) is min(x, 2)", lambda: GRAPH.minimum(2.0, X), lambda: X.minimum(2.0)),
    ("min(x, inf) is x", lambda: X.minimum(np.inf), lambda: X),
    ("max(x, -inf) is x", lambda: X.maximum(-np.inf), lambda: X),
    ("a mask that is known chooses at once", lambda: GRAPH.choose(1.0, X, Y), lambda: X),
    ("what is equal needs no choice", lambda: X.less(Y).choose(Z, Z), lambda: Z),
    ("roots are made once", lambda: X.sqrt(), lambda: X.sqrt()),
    ("an array without axes is its number", lambda: X * np.array(2.0), lambda: X * 2.0),
    ("and so in a sum", lambda: X + np.array(2.0), lambda: X + 2.0),
    ("and so in a difference", lambda: X - np.array(2.0), lambda: X - 2.0),
    ("and so in a quotient", lambda: X / np.array(2.0), lambda: X * 0.5),
    ("equal inputs are one", lambda: GRAPH.input("q", 0), lambda: X),
]


@pytest.mark.parametrize(("made", "wanted"), [s[1:] for s in SAME], ids=[s[0] for s in SAME])
def test_equal_scalars_are_the_same_node(made: Callable[[], Any], wanted: Callable[[], Any]) -> None:
    assert made() is wanted()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (X * 0.0, 0.0),
        (0.0 * X, 0.0),
        (X - X, 0.0),
        (0.0 / X, 0.0),
        (GRAPH.neg(2.0), -2.0),
        (GRAPH.exp(0.0), 1.0),
        (GRAPH.sqrt(4.0), 2.0),
        (GRAPH.tanh(0.0), 0.0),
        (GRAPH.log(1.0), 0.0),
        (GRAPH.sin(0.0), 0.0),
        (GRAPH.cos(0.0), 1.0),
        (GRAPH.arctan2(0.0, 1.0), 0.0),
        (GRAPH.less(1.0, 2.0), 1.0),
        (X.less(X), 0.0),
        (GRAPH.minimum(1.0, 2.0), 1.0),
        (X.maximum(np.inf), np.inf),
        (GRAPH.choose(0.0, 1.0, 2.0), 2.0),
    ],
)
def test_what_is_known_becomes_a_plain_number(value: Any, wanted: float) -> None:
    assert type(value) is float
    assert value == wanted


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda: X - Y, lambda: X + Y),
        (lambda: X / Y, lambda: Y / X),
        (lambda: X + 2.0, lambda: X + 3.0),
        (lambda: X * 2.0, lambda: X + 2.0),
        (lambda: X * 2.0, lambda: X * 3.0),
        (lambda: 2.0 - X, lambda: X - 2.0),
        (lambda: 2.0 / X, lambda: X / 2.0),
        (lambda: X.sin(), lambda: X.cos()),
        (lambda: X.exp(), lambda: X.tanh()),
        (lambda: X.less(Y), lambda: Y.less(X)),
        (lambda: X.less(2.0), lambda: X.less(3.0)),
        (lambda: X.minimum(2.0), lambda: X.maximum(2.0)),
        (lambda: X.arctan2(Y), lambda: Y.arctan2(X)),
        (lambda: X.less(Y).choose(1.0, 2.0), lambda: X.less(Y).choose(2.0, 1.0)),
        (lambda: GRAPH.input("q", 0), lambda: GRAPH.input("qd", 0)),
        (lambda: GRAPH.input("q", 0), lambda: GRAPH.input("q", 1)),
    ],
)
def test_different_scalars_are_different_nodes(first: Callable[[], Any], second: Callable[[], Any]) -> None:
    assert first() is not second()


def test_a_difference_and_its_negative_share_one_subtraction() -> None:
    graph = Graph()
    x, y = graph.input("q", 0), graph.input("q", 1)
    made = [x - y, y - x, -(x - y), -(y - x)]
    assert made[0] is made[3]
    assert made[1] is made[2]
    assert sorted(n.op for n in live(made)) == ["input", "input", "neg", "sub"]


def test_factors_are_never_negative() -> None:
    graph = Graph()
    x = graph.input("q", 0)
    for factor in (-3.0, -0.5, -1.0):
        product = x * factor
        assert product.op == "neg"
        assert all(a >= 0.0 for n in live([product]) for a in n.args if type(a) is float)


def test_every_node_is_made_once() -> None:
    graph = Graph()
    x, y = graph.input("q", 0), graph.input("q", 1)
    for _ in range(3):
        assert ((x * y + x.sin()) / (x - y)).op == "div"
    assert len(graph.nodes) == 2 + 5
    assert [n.number for n in graph.nodes] == list(range(7))


def test_only_what_the_outputs_need_is_live_and_operands_come_first() -> None:
    graph = Graph()
    x, y = graph.input("q", 0), graph.input("q", 1)
    dead = x * y
    wanted = (x + y).sin() * 2.0
    found = live([wanted, 1.0, wanted])
    assert dead not in found
    assert wanted in found
    assert len(found) == 5
    seen: set[int] = set()
    for node in found:
        assert all(a.number in seen for a in node.args if isinstance(a, Scalar))
        seen.add(node.number)


def test_constants_alone_need_nothing() -> None:
    assert live([1.0, 0.0]) == []


def test_a_node_belongs_to_the_body_in_hand_else_to_its_last_operand() -> None:
    graph = Graph()
    graph.body_index = 2
    x = graph.input("q", 2)
    graph.body_index = 4
    y = graph.input("q", 4)
    graph.body_index = -1
    assert (x.body_index, y.body_index, (x + y).body_index, (x + 1.0).body_index) == (2, 4, 4, 2)
    graph.body_index = 3
    assert (x * y).body_index == 3
    assert (x + y).body_index == 4  # known since before


def test_a_node_belongs_to_the_quantity_in_hand_when_it_was_made() -> None:
    graph = Graph()
    graph.quantity = "w"
    x = graph.input("q", 0)
    s = x.sin()
    graph.quantity = "K"
    assert x.sin().quantity == s.quantity == "w"
    assert x.cos().quantity == "K"


def test_a_node_prints_its_operation_and_operands() -> None:
    assert repr(X) == "q[0]"
    graph = Graph()
    x = graph.input("q", 0)
    assert repr(x * 2.0) == "%1 = mul(%0, 2.0)"
