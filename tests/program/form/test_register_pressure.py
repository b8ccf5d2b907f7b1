# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Straight-line programs in an order that keeps few values alive."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.export.entries import entries
from phalanx.program.form.interpret import interpret
from phalanx.program.form.program import Buffer, Load, Program, Store, Value
from phalanx.program.form.register_pressure import for_registers, peak
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
    given = {region.name: rng.normal(size=region.size) for region in program.inputs}
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
