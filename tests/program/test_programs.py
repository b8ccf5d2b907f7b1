# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One program form: compiled code, counts and the interpreter agree on what a program does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.dispatch import resolve
from phalanx.program import ops
from phalanx.program.analyses.count import runs
from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret
from phalanx.program.ir import (
    IntExpr,
    Program,
    SimdRegion,
    Table,
    Value,
    entry,
    evaluate,
    int_expr,
    less,
    plus,
    select,
    statements,
    times,
)
from phalanx.program.passes.fuse import fuse
from phalanx.program.passes.order import sincos_first
from phalanx.program.rolled import roll
from phalanx.program.rolled.segments.roll import roll_segments
from phalanx.program.trace import trace

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.backends.native.compile import host
from phalanx.backends.native.emit.codegen import block_function
from reference.compiled import compiled
from reference.lanes import RULES as OWN

KINDS = ("revolute", "prismatic", "spherical", "universal")


@cache
def robot(name: str) -> px.Robot:
    match name:
        case "chain":
            return px.chain(6, seed=3, prismatic=0.3)
        case "tree":
            return px.tree(7, 0.5, seed=2)
        case "mixed":
            return px.tree(6, 0.4, seed=5, joints=KINDS)
        case "long":
            return px.chain(21, seed=4, prismatic=0.3)
        case "wrists":
            return px.tree(5, 0.0, seed=6, joints=KINDS)
    raise AssertionError(name)


CASES = [
    ("chain", "inverse_dynamics", "newton_euler"),
    ("chain", "inverse_dynamics", "lathrop"),
    ("chain", "mass_matrix", "crba"),
    ("chain", "mass_matrix", "kane_original"),
    ("chain", "mass_matrix", "recursive_doubling"),
    ("chain", "forward_dynamics", "jsiia"),
    ("chain", "forward_dynamics", "cfa"),
    ("chain", "forward_dynamics", ("cfa", {"solver": "odd_even"})),
    ("chain", "forward_dynamics", "partition"),
    ("chain", "inverse_dynamics", "partition"),
    ("long", "mass_matrix", "partition"),
    ("chain", "mass_matrix_inverse", "ltl"),
    ("tree", "forward_dynamics", "aba"),
    ("tree", "forward_dynamics", "dca"),
    ("tree", "mass_matrix", "crba"),
    ("tree", "center_of_mass", "auto"),
    ("mixed", "inverse_dynamics", "newton_euler"),
    ("mixed", "forward_dynamics", "jsiia"),
    ("wrists", "forward_dynamics", "dca"),
    ("wrists", "forward_dynamics", "partition"),
]
FORMS = ("loops", "straight")


def program(name: str, function: str, algorithm: Any, form: str = "loops", lanes: int = 0) -> Program:
    task = resolve(robot(name), function, algorithm).task(())
    if form == "straight":
        return sincos_first(fuse(trace(task)))
    rolled = roll_segments(task) if task.algorithm.splits == "segments" else roll(task)
    return rolled.built(lanes or host().lanes(8))


def inputs(name: str, function: str, count: int = 3) -> dict[str, np.ndarray]:
    state = robot(name).random_state(count, rng=1)
    return dict(zip(FUNCTIONS[function].inputs, state, strict=False))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "function", "algorithm"), CASES)
def test_without_multiply_adds_compiled_code_gives_the_bits_of_the_interpreter(
    name: str, function: str, algorithm: Any, form: str
) -> None:
    if algorithm == "partition" and form == "straight":
        made = program(name, function, algorithm, "loops", lanes=host().lanes(8))
    else:
        made = program(name, function, algorithm, form)
    given = inputs(name, function)
    found = compiled(made, np.float64, fma=False)(*given.values())
    for k in range(3):
        (wanted,) = interpret(made, {key: x[k] for key, x in given.items()}, rules=OWN).values()
        np.testing.assert_array_equal(found[k], wanted)


@pytest.mark.parametrize(("name", "function", "algorithm"), CASES)
def test_the_interpreter_of_loops_gives_what_the_equations_give(
    name: str, function: str, algorithm: Any
) -> None:
    given = inputs(name, function)
    wanted = getattr(robot(name), function)(*given.values(), algorithm=algorithm, backend="numpy")
    made = program(name, function, algorithm)
    for k in range(3):
        (found,) = interpret(made, {key: x[k] for key, x in given.items()}).values()
        np.testing.assert_allclose(found, wanted[k], rtol=1e-9, atol=1e-9 * np.abs(wanted[k]).max())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "function", "algorithm"), CASES)
def test_counts_are_what_the_interpreter_carries_out(
    name: str, function: str, algorithm: Any, form: str
) -> None:
    made = program(name, function, algorithm, form)
    if made.lanes > 1 and function != "mass_matrix":  # what brings a state into lanes is not counted
        parts = tuple(s for s in made.body if isinstance(s, SimdRegion))
        assert parts
        assert len(parts) < len(made.body) or function == "mass_matrix"
    seen: Counter[str] = Counter()

    def counting(op: str, rule: Any) -> Any:
        def carried_out(*args: Any) -> Any:
            seen[op] += 1
            return rule(*args)

        return carried_out

    rules = {name: counting(name, op.numpy) for name, op in ops.OPS.items()}
    interpret(made, {key: x[0] for key, x in inputs(name, function).items()}, rules=rules)
    counted: Counter[str] = Counter()
    for run in runs(made):
        for s in run.values:
            counted[s.op] += run.rounds
        if made.lanes == 1:
            assert run.rounds == run.times.sum()
    if made.lanes > 1:
        counted[ops.SELECT] = seen[ops.SELECT]
    assert +counted == +seen


# ------------------------------------------------------------------- the parts of the form


def test_unknown_operations_and_statements_raise_everywhere() -> None:
    with pytest.raises(TypeError, match="unknown operation on real numbers 'power'"):
        Value("power", (1.0, 2.0))
    with pytest.raises(TypeError, match="unknown operation on integers 'modulo'"):
        IntExpr("modulo", (1, 2))

    @dataclass(frozen=True, eq=False)
    class Wish:
        body: tuple[Any, ...] = ()

    b = Builder({"q": (1,)}, {"out": (1,)})
    with b.loop(2):
        b.put(Wish())
    made = b.finished()
    with pytest.raises(TypeError, match="no rule for the statement Wish"):
        interpret(made, {"q": np.zeros(1)})
    with pytest.raises(TypeError, match="no rule for the statement Wish"):
        block_function(made, host(), "double")
    with pytest.raises(TypeError, match="no rule for the statement Wish"):
        runs(made)


UNARY = (ops.SQRT, ops.ABS, ops.FLOOR, ops.EXP, ops.TANH, ops.LOG)
BINARY = (ops.MIN, ops.MAX, ops.LESS, ops.ARCTAN2)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.3, -0.7, 1e-310, 5e-324, 33.3, -740.0, 800.0, np.inf, -np.inf, np.nan)


def some_operations() -> Program:
    """One of two numbers each, of both, with constants, and one chosen."""
    made = Builder({"x": (2,)}, {"out": (len(UNARY) + len(BINARY) + 5,)})
    x, y = (made.load(made.inputs["x"], k) for k in range(2))
    values = [made.value(op, x) for op in UNARY] + [made.value(op, x, y) for op in BINARY]
    values += [made.value(op, x, c) for op in (ops.MIN, ops.MAX) for c in (0.0, 2.5)]
    values.append(made.value(ops.SELECT, values[len(UNARY) + 2], x, y))
    for k, value in enumerate(values):
        made.store(made.outputs["out"], k, value)
    return made.finished()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_operations_give_the_bits_of_the_interpreter_at_every_kind_of_number(dtype: Any) -> None:
    built = some_operations()
    rng = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        given = np.array([(a, b) for a in SPECIAL for b in SPECIAL], dtype)
        given = np.concatenate([given, rng.normal(size=(200, 2)) * 10.0 ** rng.integers(-3, 4, (200, 2))])
        given = given.astype(dtype)
    found = compiled(built, dtype, fma=False)(given)
    for row, out in zip(given, found, strict=True):
        wanted = interpret(built, {"x": row}, dtype, rules=OWN)["out"]
        np.testing.assert_array_equal(out, wanted, str(row))
        zero = (out == 0.0) & (wanted == 0.0)
        np.testing.assert_array_equal(np.signbit(out[zero]), np.signbit(wanted[zero]), str(row))


def test_operations_mean_what_numpy_means() -> None:
    built = some_operations()
    given = np.array([(a, b) for a in SPECIAL for b in SPECIAL])
    found = compiled(built, np.float64, fma=True)(given)
    x, y = given.T
    with np.errstate(all="ignore"):
        wanted = [np.sqrt(x), np.abs(x), np.floor(x), np.exp(x), np.tanh(x), np.log(x)]
        wanted += [np.minimum(x, y), np.maximum(x, y), x < y, np.arctan2(x, y)]
        wanted += [np.minimum(x, 0.0), np.minimum(x, 2.5), np.maximum(x, 0.0), np.maximum(x, 2.5)]
        wanted.append(np.where(x < y, x, y))
    np.testing.assert_allclose(found, np.stack(wanted, axis=1), rtol=5e-16)


def test_a_program_may_have_several_outputs_and_a_loop_over_time() -> None:
    """A falling point: ten steps in one loop, position and height recorded."""
    b = Builder({"state": (2,)}, {"end": (2,), "heights": (10,)})
    kept = b.buffer("heights", 10)
    state = b.buffer("state", 2)
    b.move(state, 0, b.inputs["state"], 0, 2)
    start = [b.load(state, k) for k in range(2)]
    with b.loop(10) as steps:
        x, v = (steps.carry(value) for value in start)
        faster = b.add(v, -0.1)
        higher = b.multiply_add(faster, 0.1, x)
        steps.feed(x, higher)
        steps.feed(v, faster)
        b.store(kept, steps.index, higher)
    end = b.buffer("end", 2)
    for k, value in enumerate((x, v)):
        b.store(end, k, value)
    b.move(b.outputs["end"], 0, end, 0, 2)
    b.move(b.outputs["heights"], 0, kept, 0, 10)
    made = b.finished()
    found = interpret(made, {"state": np.array([1.0, 2.0])})
    heights, x, v = [], 1.0, 2.0
    for _ in range(10):
        v = v - 0.1
        x = v * 0.1 + x
        heights.append(x)
    np.testing.assert_array_equal(found["heights"], heights)
    np.testing.assert_array_equal(found["end"], [x, v])
    text, _, _ = block_function(made, host(), "double")
    assert text.count("ptr noalias %p") == 3
    assert [run.rounds for run in runs(made) if any(s.op == ops.FMA for s in run.values)] == [10]


def test_whole_numbers_fold_and_merge_constants() -> None:
    b = Builder({"q": (1,)}, {"out": (1,)})
    with b.loop(3) as i, b.loop(2) as j:
        pass
    x, y = i.index, j.index
    assert plus(plus(x, 2), -2) is x
    assert plus(plus(x, 2), plus(y, 3)) == plus(int_expr("add", x, y), 5)
    assert plus(2, 3) == 5
    assert plus(0, x) is x
    assert times(x, 1) is x
    assert times(0, x) == 0
    assert less(7, 3) == 4
    assert select(1, x, y) is x
    assert select(int_expr("lt", 3, 2), x, y) is y
    assert entry(Table("same", np.array([4, 4, 4])), x) == 4
    assert entry(Table("own", np.arange(3)), x) is x
    table = entry(Table("other", np.array([2, 0, 1])), x)
    assert evaluate(plus(times(table, 3), y), {x: 0, y: 1}, {}) == 7
    assert sum(1 for s in statements(b.finished().body)) == 2
