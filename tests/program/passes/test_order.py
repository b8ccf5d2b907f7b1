# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Orders of straight-line code, and code inlined into other programs."""

from __future__ import annotations

from typing import Any

from phalanx.program.builder import Builder, run, straight, template
from phalanx.program.graph import Graph
from phalanx.program.ir import Program, Store
from phalanx.program.passes.fuse import fuse
from phalanx.program.passes.order import depth_first, nearest_first, sincos_first
from phalanx.program.text import parse
from phalanx.program.verify import verify


def operations(program: Program) -> list[str]:
    return [s.op for s in program.values]


def equations() -> Program:
    """Quantity by quantity, as equations run: sums, then a product, then a sine; one value is dead."""
    graph = Graph()
    x, y, z = (graph.input("q", k) for k in range(3))
    first, second = x + y, y + z
    first.sqrt()
    return straight({"q": (3,)}, {"out": (2,)}, [first * second, z.sin() * first])


def test_traced_code_is_a_program_without_what_is_dead() -> None:
    program = equations()
    verify(program)
    assert operations(program) == ["input"] * 3 + ["add", "add", "mul", "sin", "mul"]
    assert [s.buffer.name for s in program.body if isinstance(s, Store)] == ["out", "out"]


def test_depth_first_puts_values_before_their_first_use() -> None:
    program = depth_first(equations())
    verify(program)
    assert operations(program) == ["input", "input", "add", "input", "add", "mul", "sin", "mul"]


def test_the_result_that_needs_least_comes_first() -> None:
    graph = Graph()
    x, y = graph.input("q", 0), graph.input("q", 1)
    long, short = (x + y) * (x - y) * y, x.sqrt()
    program = nearest_first(straight({"q": (2,)}, {"out": (2,)}, [long, short]))
    verify(program)
    assert operations(program)[:2] == ["input", "sqrt"]
    assert program.results == [long, short]


def test_all_inputs_are_loaded_then_sines_taken() -> None:
    program = sincos_first(fuse(equations()))
    verify(program)
    assert operations(program)[:4] == ["input", "input", "input", "sin"]
    assert [s.index for s in program.body[:3]] == [0, 1, 2]


def test_templates_read_symbolic_addresses_where_they_are_first_used() -> None:
    graph = Graph()
    made = template([graph.leaf("a") * 2.0 + graph.leaf("b"), 1.5], ["t", "u"])
    assert made.targets == ["t", "u"]
    b = Builder({"x": (2,)}, {"out": (2,)})
    read: list[Any] = []

    def leaf(address: Any) -> Any:
        read.append(address)
        return b.load(b.inputs["x"], len(read) - 1)

    for k, value in enumerate(run(b, fuse(made), leaf)):
        b.store(b.outputs["out"], k, value)
    verify(b.finished())
    assert read == ["a", "b"]
    assert operations(b.finished()) == ["input", "input", "fma"]


RECORDED = """\
program
input q[3]
output y[2]

q0 = q[0]
q1 = q[1]
q2 = q[2]
x0 = q0 + q1
x1 = q1 + q2
x2 = sqrt(x0)
x3 = x0 * x1
x4 = sin(q2)
x5 = x4 * x0
y[0] = x3
y[1] = x5
"""

DEPTH_FIRST = """\
program
input q[3]
output y[2]

q0 = q[0]
q1 = q[1]
x0 = q0 + q1
q2 = q[2]
x1 = q1 + q2
x2 = x0 * x1
x3 = sin(q2)
x4 = x3 * x0
y[0] = x2
y[1] = x4
"""

SINCOS_FIRST = """\
program
input q[3]
output y[2]

q0 = q[0]
q1 = q[1]
q2 = q[2]
x0 = sin(q2)
x1 = q0 + q1
x2 = q1 + q2
x3 = sqrt(x1)
x4 = x1 * x2
x5 = x0 * x1
y[0] = x4
y[1] = x5
"""


def test_the_texts_of_two_orders() -> None:
    assert depth_first(parse(RECORDED)).text() == DEPTH_FIRST
    assert sincos_first(parse(RECORDED)).text() == SINCOS_FIRST
