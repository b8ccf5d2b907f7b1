# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of scalar programs, operation by operation: against JAX, and against differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from phalanx.errors import PhalanxError
from phalanx.program.builder import straight
from phalanx.program.graph import Graph
from phalanx.program.interpret import program_on_arrays
from phalanx.program.ops import FMA
from phalanx.program.passes.differentiate import adjoints, tangents

Function = Callable[[Graph, Any, Any, Any], Any]

CASES: dict[str, tuple[Function, Callable[..., Any]]] = {
    "exp": (lambda g, x, y, z: g.exp(x * y), lambda xp, x, y, z: xp.exp(x * y)),
    "tanh": (lambda g, x, y, z: g.tanh(x * y + z), lambda xp, x, y, z: xp.tanh(x * y + z)),
    "log": (lambda g, x, y, z: g.log(x * x + 1.0), lambda xp, x, y, z: xp.log(x * x + 1.0)),
    "sqrt": (lambda g, x, y, z: g.sqrt(x * x + y * y), lambda xp, x, y, z: xp.sqrt(x * x + y * y)),
    "abs": (lambda g, x, y, z: g.abs(x * y), lambda xp, x, y, z: xp.abs(x * y)),
    "arctan2": (lambda g, x, y, z: g.arctan2(x * y, z), lambda xp, x, y, z: xp.arctan2(x * y, z)),
    "half plane": (lambda g, x, y, z: g.arctan2(2.0, z), lambda xp, x, y, z: xp.arctan2(2.0, z)),
    "minimum": (lambda g, x, y, z: g.minimum(x * y, z), lambda xp, x, y, z: xp.minimum(x * y, z)),
    "maximum": (lambda g, x, y, z: g.maximum(x * y, z * z), lambda xp, x, y, z: xp.maximum(x * y, z * z)),
    "limit": (lambda g, x, y, z: g.minimum(x * y, 0.2), lambda xp, x, y, z: xp.minimum(x * y, 0.2)),
    "floor": (lambda g, x, y, z: y * g.maximum(0.1, x), lambda xp, x, y, z: y * xp.maximum(0.1, x)),
    "choose": (
        lambda g, x, y, z: g.choose(g.less(x, y), g.sin(x) * z, y * y),
        lambda xp, x, y, z: xp.where(x < y, xp.sin(x) * z, y * y),
    ),
    "one side": (
        lambda g, x, y, z: g.choose(g.less(x, 0.0), y, 3.0),
        lambda xp, x, y, z: xp.where(x < 0.0, y, 3.0),
    ),
    "together": (
        lambda g, x, y, z: g.exp(g.tanh(x / (z * z + 1.0))) * g.sqrt(g.abs(y) + 1.0) - g.cos(x) * z,
        lambda xp, x, y, z: xp.exp(xp.tanh(x / (z * z + 1.0))) * xp.sqrt(xp.abs(y) + 1.0) - xp.cos(x) * z,
    ),
}


def values(results: list[Any], given: np.ndarray) -> np.ndarray:
    """Results of a graph of one input (…, k)."""
    program = straight({"x": given.shape[1:]}, {"out": (len(results),)}, results)
    with np.errstate(all="ignore"):
        found: np.ndarray = program_on_arrays(program, {"x": given})
    return found


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_those_of_jax_forward_and_backward(name: str) -> None:
    jax = pytest.importorskip("jax", reason="JAX is the reference")
    own, theirs = CASES[name]
    graph = Graph()
    x = [graph.input("x", k) for k in range(3)]
    result = own(graph, *x)
    given = np.random.default_rng(2).normal(size=(40, 3))
    forward = [tangents([result], {x[k].number: 1.0})[0] for k in range(3)]
    backward = adjoints([result], [1.0])
    second = [adjoints([f], [1.0]).get(x[0].number, 0.0) for f in forward]
    with jax.enable_x64(True):
        slope = jax.grad(lambda v: theirs(jax.numpy, *v))
        wanted = np.asarray(jax.vmap(slope)(given))
        twice = np.asarray(jax.vmap(jax.jacobian(slope))(given))[:, :, 0]
    np.testing.assert_allclose(values(forward, given), wanted, rtol=1e-12, atol=1e-12)
    found = values([backward.get(n.number, 0.0) for n in x], given)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(values(second, given), twice, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_those_of_differences(name: str) -> None:
    graph = Graph()
    x = [graph.input("x", k) for k in range(3)]
    result = CASES[name][0](graph, *x)
    given, h = np.random.default_rng(3).normal(size=(40, 3)), 1e-6
    for k in range(3):
        step = h * np.eye(3)[k]
        wanted = (values([result], given + step) - values([result], given - step)) / (2.0 * h)
        found = values(tangents([result], {x[k].number: 1.0}), given)
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7)


def test_at_kinks_the_slope_is_one_of_the_possible_ones_and_never_nan() -> None:
    graph = Graph()
    x = graph.input("x", 0)
    kinks = [
        (graph.abs(x), 0.0),
        (graph.sqrt(x * x), 0.0),
        (graph.maximum(x, 0.0), 1.0),
        (graph.minimum(x, 0.0), 1.0),
        (graph.choose(graph.less(0.0, x), graph.sqrt(x), 0.0), 0.0),
        (graph.choose(graph.less(x, 0.0), graph.log(x), x), 1.0),
        (graph.choose(graph.less(0.0, x * x), x / graph.sqrt(x * x), 0.0), 0.0),
    ]
    for result, wanted in kinks:
        found = values(tangents([result], {x.number: 1.0}), np.zeros((1, 1)))
        np.testing.assert_array_equal(found, [[wanted]])


def test_a_choice_keeps_what_is_infinite_on_the_other_side_out_of_rates() -> None:
    graph = Graph()
    x = graph.input("x", 0)
    result = graph.choose(graph.less(0.0, x), graph.log(x), 2.0 * x)
    found = values(tangents([result], {x.number: 1.0}), np.array([[-1.0], [0.0], [4.0]]))
    np.testing.assert_array_equal(found, [[2.0], [2.0], [0.25]])


def test_a_choice_keeps_what_is_infinite_on_the_other_side_out_of_adjoints() -> None:
    graph = Graph()
    x = graph.input("x", 0)
    steep, above, far = graph.log(x), graph.less(0.0, x), graph.less(1.0, x)
    cases = [
        (graph.choose(above, steep, 2.0 * x), [2.0, 2.0, 0.5, 0.25]),
        (graph.choose(above, steep * steep, x), [1.0, 1.0, np.log(2.0), 0.5 * np.log(4.0)]),
        (graph.choose(above, graph.choose(far, steep, x), x), [1.0, 1.0, 0.5, 0.25]),
        (graph.choose(above, steep, x) + graph.choose(far, steep, 3.0 * x), [4.0, 4.0, 1.0, 0.5]),
        (graph.maximum(graph.choose(above, steep, -1.0), x), [0.0, 1.0, 1.0, 1.0]),  # equal: the first
        (graph.choose(above, steep, 0.0) + 1.0 / x, [-1.0, -np.inf, 0.25, 0.25 - 1.0 / 16.0]),
    ]
    given = np.array([[-1.0], [0.0], [2.0], [4.0]])
    for number, (result, wanted) in enumerate(cases):
        found = values([adjoints([result], [1.0])[x.number]], given)[:, 0]
        np.testing.assert_allclose(found, wanted, rtol=1e-15, err_msg=str(number))
        along = values(tangents([result], {x.number: 1.0}), given)[:, 0]
        np.testing.assert_allclose(along, wanted, rtol=1e-15, err_msg=str(number))


TANGENT = """\
program
input q[2]
input dq[2]
output jvp[1]

q0 = q[0]
q1 = q[1]
x0 = less(0.0, q0)
x1 = log(q0)
dq0 = dq[0]
dq1 = dq[1]
x2 = 1.0 / q0
x3 = dq0 * x2
x4 = x1 * dq1
x5 = q1 * x3
x6 = x4 + x5
x7 = q1 * dq0
x8 = q0 * dq1
x9 = x7 + x8
x10 = choose(x0, x6, x9)
jvp[0] = x10
"""

ADJOINT = """\
program
input q[2]
input w[1]
output vjp[2]

q0 = q[0]
q1 = q[1]
w0 = w[0]
x0 = less(0.0, q0)
x1 = log(q0)
x2 = q1 * w0
x3 = q0 * w0
x4 = w0 * x1
x5 = choose(x0, x4, x3)
x6 = 1.0 / q0
x7 = x2 * x6
x8 = choose(x0, x7, x2)
vjp[0] = x8
vjp[1] = x5
"""


def test_derivatives_of_a_selection_are_selected_last() -> None:
    graph = Graph()
    x, y = graph.input("q", 0), graph.input("q", 1)
    result = graph.choose(graph.less(0.0, x), graph.log(x) * y, x * y)
    seeds = {x.number: graph.input("dq", 0), y.number: graph.input("dq", 1)}
    assert (
        straight({"q": (2,), "dq": (2,)}, {"jvp": (1,)}, tangents([result], seeds)).text().strip()
        == TANGENT.strip()
    )
    graph = Graph()
    x, y, w = graph.input("q", 0), graph.input("q", 1), graph.input("w", 0)
    result = graph.choose(graph.less(0.0, x), graph.log(x) * y, x * y)
    found = adjoints([result], [w])
    made = straight({"q": (2,), "w": (1,)}, {"vjp": (2,)}, [found[x.number], found[y.number]])
    assert made.text().strip() == ADJOINT.strip()


def test_what_passes_make_has_no_slope() -> None:
    graph = Graph()
    node = graph._make(FMA, (graph.input("x", 0), 1.0, 2.0), (FMA,))
    with pytest.raises(PhalanxError, match="no rule for the operation fma"):
        tangents([node], {0: 1.0})
