# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The table of operations: what a row says holds for arrays, for constants, and for compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.program.builder import straight
from phalanx.program.graph import Graph, substituted
from phalanx.program.interpret import program_on_arrays
from phalanx.program.ir import Scalar
from phalanx.program.ops import CONSTANT, COS, OPS, SIN
from phalanx.program.passes.differentiate import tangents

RECORDED = [op for op in OPS.values() if not op.is_lowered]
SPECIAL = np.array([-np.inf, -2.5, -1.0, -0.3, -0.0, 0.0, 0.3, 0.5, 1.0, 2.5, 2.0**53, np.inf, np.nan])


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_a_row_has_steps_unless_sine_and_cosine_are_taken_together(op: Any) -> None:
    assert callable(op.numpy)
    assert callable(op.record)
    assert (op.steps is None) == (op.name in (SIN, COS))
    assert callable(op.derivative) or op.derivative == CONSTANT
    assert len(op.parameters) in (0, op.arity)
    assert 0 <= op.reached_by <= 3


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_operands_that_reach_the_result_make_it_nan_or_infinite(op: Any) -> None:
    others = np.stack(np.meshgrid(*[SPECIAL] * op.arity), axis=-1).reshape(-1, op.arity)
    with np.errstate(all="ignore"):
        for k in range(min(op.reached_by, op.arity)):
            reached = others[~np.isfinite(others[:, k])]
            assert not np.isfinite(op.numpy(*reached.T)).any()


@pytest.mark.parametrize("op", RECORDED, ids=lambda op: op.name)
def test_recording_makes_the_operation_and_folds_constants_to_its_meaning(op: Any) -> None:
    graph = Graph()
    made = op.record(graph, *(graph.input("x", k) for k in range(op.arity)))
    assert isinstance(made, Scalar)
    assert made.op == op.name
    args = np.array([0.75, 0.5, 0.25])[: op.arity]
    np.testing.assert_allclose(op.record(graph, *args.tolist()), op.numpy(*args), rtol=1e-15)


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_operands_that_are_replaced_fold_as_they_do_while_recording(op: Any) -> None:
    graph = Graph()
    given = [graph.input("x", k) for k in range(op.arity)]
    others = [-graph.input("y", k) for k in range(op.arity)]  # the minus sign moves out of odd functions
    node = graph.operation(op.name, *given)
    wanted = graph.operation(op.name, *others) if op.is_lowered else op.record(graph, *others)
    (found,) = substituted([node], {x.number: y for x, y in zip(given, others, strict=True)})
    assert found is wanted
    numbers = np.array([0.75, 0.5, 0.25])[: op.arity]
    (found,) = substituted([node], {x.number: a for x, a in zip(given, numbers.tolist(), strict=True)})
    np.testing.assert_allclose(found, op.numpy(*numbers), rtol=1e-15)


def test_a_denominator_that_becomes_a_number_divides() -> None:
    graph = Graph()
    x, y = graph.input("x", 0), graph.input("x", 1)
    (found,) = substituted([x / y], {y.number: 0.05})
    assert (found.op, found.args) == ("div", (x, 0.05))


@pytest.mark.parametrize("op", RECORDED, ids=lambda op: op.name)
def test_tangents_are_differences(op: Any) -> None:
    graph = Graph()
    given = [graph.input("x", k) for k in range(op.arity)]
    node = op.record(graph, *given)
    x, h = np.array([0.7, 0.4, 0.2])[: op.arity], 1e-6
    for k, leaf in enumerate(given):
        if op.name == "choose" and k == 0:  # a mask
            continue
        slope = straight({"x": (op.arity,)}, {"out": (1,)}, tangents([node], {leaf.number: 1.0}))
        (found,) = program_on_arrays(slope, {"x": x[None]})[0]
        step = h * (np.arange(op.arity) == k)
        assert found == pytest.approx((op.numpy(*(x + step)) - op.numpy(*(x - step))) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("name", ["min", "max"])
def test_of_two_zeros_the_negative_one_is_less(name: str) -> None:
    row, wanted = OPS[name], name == "min"
    for a, b in ((0.0, -0.0), (-0.0, 0.0)):
        assert np.signbit(row.numpy(np.float64(a), np.float64(b))) == wanted
        assert np.signbit(row.numpy(np.array([a]), np.array([b]))).all() == wanted
        assert np.signbit(row.record(Graph(), a, b)) == wanted


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floor_is_that_of_numpy_everywhere(dtype: Any) -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    from reference.compiled import compiled

    graph = Graph()
    program = straight({"x": (1,)}, {"out": (1,)}, [graph.input("x", 0).floor()])
    rng = np.random.default_rng(2)
    x = np.concatenate(
        [SPECIAL, rng.uniform(-5, 5, 500), np.arange(-9, 9) / 2, 10.0 ** rng.uniform(-9, 18, 500)]
    )
    x = np.concatenate([x, -x]).astype(dtype)
    found = compiled(program, dtype, fma=True)(x[:, None])[:, 0]
    np.testing.assert_array_equal(found, np.floor(x))
    kept = ~np.isnan(x)
    np.testing.assert_array_equal(np.signbit(found[kept]), np.signbit(np.floor(x)[kept]))


def test_users_divide_by_constants_and_robots_multiply() -> None:
    graph = Graph()
    x = graph.input("x", 0)
    assert graph.quotient(x, 0.05).op == "div"
    assert graph.quotient(-x, -0.05) is graph.quotient(x, 0.05)
    assert graph.quotient(x, 0.25).args == (x, 4.0)
    assert (x / 0.05).op == "mul"
