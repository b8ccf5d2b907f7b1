# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Straight-line programs in an order that keeps few values alive."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.export.api import entries
from phalanx.program.interpret import interpret
from phalanx.program.ir import Buffer, Load, Program, Store, Value
from phalanx.program.passes.order import for_registers, peak
from phalanx.program.text import parse
from reference.examples import example


def program_of(robot: px.Robot, function: str) -> Program:
    (entry,) = entries(robot, function)
    return entry.built(1)


def pairs_of_sums(count: int) -> Program:
    """All sums of pairs first, then all their products with a third number."""
    given, results = Buffer("x", 3 * count, "input", given=True), Buffer("y", count, "output")
    loads = [Load(given, k) for k in range(3 * count)]
    sums = [Value("add", (loads[3 * k], loads[3 * k + 1])) for k in range(count)]
    products = [Value("mul", (s, loads[3 * k + 2])) for k, s in enumerate(sums)]
    stores = [Store(results, k, p) for k, p in enumerate(products)]
    return Program((given,), (results,), (*loads, *sums, *products, *stores))


def test_independent_results_follow_one_another() -> None:
    program = pairs_of_sums(20)
    assert peak(program) == 61  # all that is given, and the first sum
    assert peak(for_registers(program)) == 3


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_the_same_statements_give_the_same_bits(function: str) -> None:
    program = program_of(px.load("panda"), function)
    ordered = for_registers(program)
    used = {s for s in program.body if not isinstance(s, Load)}
    assert {s for s in ordered.body if not isinstance(s, Load)} == used
    assert len(ordered.body) == len(set(ordered.body))
    rng = np.random.default_rng(1)
    given = {buffer.name: rng.normal(size=buffer.size) for buffer in program.inputs}
    found, wanted = interpret(ordered, given), interpret(program, given)
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def test_every_operand_stands_before_its_use() -> None:
    known: set[object] = set()
    for s in for_registers(program_of(px.load("panda"), "forward_dynamics")).body:
        needed = s.args if isinstance(s, Value) else (s.value,) if isinstance(s, Store) else ()
        assert all(isinstance(a, float) or a in known for a in needed)
        known.add(s)


def test_limbs_of_a_quadruped_follow_one_another() -> None:
    robot = example("anymal.urdf", floating_base=True)
    if robot is None:
        pytest.skip("the package example-robot-data is not installed")
    program = program_of(robot, "inverse_dynamics")
    assert peak(for_registers(program)) < 0.5 * peak(program)


def test_loops_stay_as_they_are() -> None:
    program = program_of(px.chain(100), "inverse_dynamics")
    assert for_registers(program) is program


RECORDED = """\
program
input x[4]
output y[2]

x0 = x[0]
x1 = x[1]
x2 = x[2]
x3 = x[3]
x4 = x0 + x1
x5 = x2 + x3
x6 = sin(x3)
x7 = x4 * x0
x8 = x5 * x6
y[0] = x7
y[1] = x8
"""

ORDERED = """\
program
input x[4]
output y[2]

x3 = x[3]
x0 = sin(x3)
x2 = x[2]
x1 = x2 + x3
x4 = x1 * x0
y[1] = x4
x5 = x[0]
x6 = x[1]
x7 = x5 + x6
x8 = x7 * x5
y[0] = x8
"""


def test_the_text_of_an_ordered_program() -> None:
    before, after = parse(RECORDED), for_registers(parse(RECORDED))
    assert after.text() == ORDERED
    assert (peak(before), peak(after)) == (5, 4)
