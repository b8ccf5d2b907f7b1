# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops written out: the results of the loops, and the operations of equations traced body by body."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.analyses.cost import cost_of, cost_of_loops
from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret, program_on_arrays
from phalanx.program.passes.unroll import unroll
from phalanx.program.rolled import roll
from phalanx.program.rolled.segments.roll import roll_segments
from phalanx.program.text import parse
from phalanx.program.trace import trace
from phalanx.program.verify import verify
from reference.loops import kepler, smoothing

CASES = [("inverse_dynamics", "newton_euler"), ("forward_dynamics", "aba"), ("mass_matrix", "crba")]
ROBOTS = {"ur5": lambda: px.load("ur5"), "tree": lambda: px.tree(9, seed=5), "chain": lambda: px.chain(12)}


@pytest.mark.parametrize(("function", "algorithm"), CASES)
@pytest.mark.parametrize("name", ROBOTS)
def test_it_has_the_results_of_loops_and_the_operations_of_equations(
    name: str, function: str, algorithm: str
) -> None:
    robot = ROBOTS[name]()
    task = resolve(robot, function, algorithm).task()
    loops = roll(task).built(1)
    made = unroll(loops)
    verify(made)
    q, qd, third = robot.random_state(3, rng=1)
    known: dict[str, Any] = {"q": q, "qd": qd, "qdd": third, "tau": third}
    given = {key: known[key] for key in task.shapes}
    found = program_on_arrays(made, given)
    for k in range(3):
        (wanted,) = interpret(loops, {key: x[k] for key, x in given.items()}).values()
        np.testing.assert_allclose(found[k], wanted, rtol=1e-9, atol=1e-11 * np.abs(wanted).max())
    traced = cost_of(trace(task))
    assert cost_of(made).total == pytest.approx(traced.total, rel=0.02)
    assert traced.total < cost_of_loops(loops, "x").total  # whose zeros and ones are operands


def test_trees_of_joins_are_another_program_than_their_loops() -> None:
    task = resolve(px.chain(12), "inverse_dynamics", "lathrop").task()
    in_tree, in_row = cost_of(trace(task)), cost_of(unroll(roll(task).built(1)))
    assert in_tree.total > 1.5 * in_row.total
    assert in_tree.span.total < in_row.span.total


def test_loops_in_lanes_or_of_any_length_are_refused() -> None:
    task = resolve(px.snake(20), "forward_dynamics", "partition").task()
    b = Builder({"x": (1,)}, {"out": (1,)})
    b.size()
    for program in (roll_segments(task).built(8), b.finished()):
        with pytest.raises(TypeError, match="unroll: no rule"):
            unroll(program)


def test_parallel_iterations_are_written_out_and_loops_that_end_on_data_refused() -> None:
    made, x = smoothing(11), np.random.default_rng(2).normal(size=11)
    found = unroll(made)
    assert found.is_straight
    wanted = interpret(made, {"x": x})
    for name, array in interpret(found, {"x": x}).items():
        np.testing.assert_array_equal(array, wanted[name])
    with pytest.raises(TypeError, match="unroll: no rule for the statement Until"):
        unroll(kepler())


LOOP = """\
program bodies=3
input q[3]
output tau[3]
table m[3] of float64 = 0.0, 1.0, 2.5

for i in range(0, 3):
  carry c0 = 0.0
  body i:
    q0 = q[i]
    m0 = m[i]
    x0 = fma(m0, q0, c0)
    x1 = x0 if i < 2 else q0
    x2 = x1 * x0
    tau[i] = x2
  next c0 = x0
"""

UNROLLED = """\
program bodies=3
input q[3]
output tau[3]

q1 = q[1]
q2 = q[2]
x0 = q1 * q1  # of body 1
x1 = q2 * 2.5  # of body 2
x2 = q1 + x1  # of body 2
x3 = q2 * x2  # of body 2
tau[0] = 0.0
tau[1] = x0
tau[2] = x3
"""


def test_the_text_of_a_loop_written_out() -> None:
    assert unroll(parse(LOOP)).text() == UNROLLED
