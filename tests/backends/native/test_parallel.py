# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Parallel loops of one state in SIMD lanes: the bits of the interpreter, in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.backends.native.compile import host
from phalanx.backends.native.emit.codegen import block_function
from phalanx.backends.native.emit.parallel import runs_in_lanes, stride
from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret
from phalanx.program.ir import (
    InductionVariable,
    IntExpr,
    ParallelFor,
    Program,
    int_expr,
    plus,
    select,
    statements,
    times,
)
from phalanx.program.verify import verify
from reference.compiled import compiled
from reference.lanes import RULES
from reference.loops import smoothing


def only(made: Program, name: str) -> Program:
    """A program with one output."""
    shapes = {k: v for k, v in made.shapes.items() if k == name or k in {b.name for b in made.inputs}}
    keep = tuple(b for b in made.outputs if b.name == name)

    def kept(body: tuple[Any, ...]) -> tuple[Any, ...]:
        left = [s for s in body if getattr(getattr(s, "buffer", None), "name", name) == name or not _drops(s)]
        return tuple(replace(s, body=kept(s.body)) if hasattr(s, "body") else s for s in left)

    def _drops(s: Any) -> bool:
        return s.buffer.kind == "output"

    return replace(made, outputs=keep, shapes=shapes, body=kept(made.body))


@pytest.mark.parametrize("count", [9, 16, 37, 100])
@pytest.mark.parametrize("output", ["y", "z"])
def test_lanes_give_the_bits_of_the_interpreter(output: str, count: int) -> None:
    made = verify(only(smoothing(count), output))
    x = np.random.default_rng(1).standard_normal((3, count))
    run, serial = (compiled(made, np.float64, fma=False, parallel=p) for p in (True, False))
    for k in range(3):
        wanted = interpret(made, {"x": x[k]}, rules=RULES, order=lambda i: i[::-1])[output]
        np.testing.assert_array_equal(run(x[k]), wanted)
        np.testing.assert_array_equal(serial(x[k]), wanted)
    np.testing.assert_array_equal(run(x), serial(x))


def test_loads_are_contiguous_where_indices_grow_by_one() -> None:
    made = only(smoothing(64), "y")
    ir, *_ = block_function(made, host(), "double", parallel=True)
    lanes = host().lanes(8)
    loops = sum(isinstance(s, ParallelFor) for s in statements(made.body))
    assert ir.count("= phi i64") > loops
    assert f"load <{lanes} x double>, ptr" in ir
    assert ir.count(f"call <{lanes} x double> @llvm.masked.gather") == 2  # of the permutation, of the table
    assert f"masked.gather.v{lanes}i64" in ir
    assert "scatter" not in ir
    assert (
        f"@llvm.masked.scatter.v{lanes}f64"
        in block_function(only(smoothing(64), "z"), host(), "double", parallel=True)[0]
    )


def test_lanes_that_hold_states_run_iterations_one_after_another() -> None:
    ir, *_ = block_function(only(smoothing(64), "y"), host(), "double")
    assert "gather" not in ir


def choosing(count: int) -> Program:
    """Conditions, selections and tables that differ from iteration to iteration."""
    b = Builder({"x": (count,)}, {"y": (count,)})
    outer = b.value("abs", b.load(b.inputs["x"], 0))
    test = b.value("less", outer, 0.5)
    with b.parallel(count - 1, first=1) as i:
        middle = IntExpr("and", (IntExpr("ge", (i, 3)), IntExpr("lt", (i, 2 * count))))
        other = select(middle, plus(i, -1), IntExpr("div", (i, 2)))
        loaded = b.load(b.inputs["x"], other)
        chosen = b.value("choose", test, loaded, outer)
        chosen = b.value("choose", b.value("less", chosen, 0.0), outer, chosen)
        b.store(b.outputs["y"], i, b.choice(IntExpr("eq", (i, 4)), chosen, b.mul(chosen, outer)))
    b.store(b.outputs["y"], 0, outer)
    b.store(b.outputs["y"], count - 1, outer)
    return b.finished()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("start", [0.25, 0.75])
def test_conditions_of_each_iteration(start: float, dtype: Any) -> None:
    made = verify(choosing(45))
    x = np.random.default_rng(2).standard_normal(45).astype(dtype)
    x[0] = start
    found = compiled(made, dtype, fma=False, parallel=True)(x)
    np.testing.assert_array_equal(found, interpret(made, {"x": x}, dtype, rules=RULES)["y"])


@pytest.mark.parametrize("count", [1, 7, 8, 30])
def test_bounds_that_depend_on_a_loop_around(count: int) -> None:
    b = Builder({"x": (32,)}, {"y": (32,)})
    kept = b.buffer("kept", 64)
    with b.parallel(32) as i:
        b.store(kept, i, b.load(b.inputs["x"], i))
        b.store(kept, plus(i, 32), 0.25)
    with b.loop(3) as outer:
        first, end = plus(outer.index, 1), plus(outer.index, count)
        with b.only_if(int_expr("lt", first, end)), b.parallel(end, first=first) as i:
            there = b.load(kept, plus(i, select(int_expr("eq", outer.index, 1), 32, 0)))
            b.store(kept, plus(i, select(int_expr("eq", outer.index, 0), 32, 0)), b.add(there, 1.5))
    with b.parallel(32) as i:
        b.store(b.outputs["y"], i, b.load(kept, i))
    made = verify(b.finished())
    x = np.random.default_rng(3).standard_normal(32)
    found = compiled(made, np.float64, fma=False, parallel=True)(x)
    np.testing.assert_array_equal(found, interpret(made, {"x": x}, rules=RULES)["y"])


def test_loops_that_differ_run_one_after_another() -> None:
    b = Builder({"x": (20,)}, {"y": (20,)})
    with b.parallel(20) as i:
        with b.loop(plus(i, 1)) as inner:
            total = inner.carry(0.0)
            inner.feed(total, b.add(total, b.load(b.inputs["x"], inner.index)))
        b.store(b.outputs["y"], i, total)
    made = verify(b.finished())
    assert not any(runs_in_lanes(s) for s in statements(made.body) if isinstance(s, ParallelFor))
    x = np.arange(20.0)
    np.testing.assert_array_equal(compiled(made, np.float64, fma=True, parallel=True)(x), np.cumsum(x))


def test_strides_of_indices() -> None:
    i, j = InductionVariable(), InductionVariable()
    for index, grows in (
        (i, 1),
        (j, 0),
        (7, 0),
        (plus(times(i, 3), times(j, 2)), 3),
        (int_expr("sub", j, i), -1),
        (IntExpr("shl", (i, 2)), 4),
        (times(i, j), None),
        (IntExpr("div", (i, 2)), None),
    ):
        assert stride(index, i) == grows
