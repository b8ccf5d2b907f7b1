# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Critical paths of loops: against those of the same equations written out."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.dispatch import resolve
from phalanx.program.analyses.cost import Cost, cost_of, cost_of_loops
from phalanx.program.analyses.critical_path import chains_of
from phalanx.program.ir import Program
from phalanx.program.passes.fuse import fuse
from phalanx.program.passes.order import sincos_first
from phalanx.program.rolled import roll
from phalanx.program.task import TraceTask, refusal_of_loops
from phalanx.program.trace import trace


@cache
def robot(name: str, n: int) -> px.Robot:
    made: px.Robot = getattr(px, name)(n)
    return made


CASES = [
    ("chain", n, function, "auto")
    for n in (10, 37)
    for function in FUNCTIONS
    for algorithm in px.algorithms(function)[:1]
    if not FUNCTIONS[function].frame and (function != "mass_matrix_inverse" or n == 10)
    if function != "forward_dynamics_derivatives"  # which loops solve in an order of their own
    if not refusal_of_loops(algorithm, robot("chain", n).model)
]
CASES += [("chain", 60, "inverse_dynamics", "newton_euler"), ("chain", 60, "forward_dynamics", "aba")]
CASES += [("snake", 24, function, "auto") for function in ("inverse_dynamics", "forward_dynamics")]
CASES += [
    ("chain", 11, "inverse_dynamics", "luh_walker_paul"),
    ("chain", 11, "inverse_dynamics", "zomaya_morris"),
    ("chain", 11, "forward_dynamics", "jsiia"),
]


def written_out(task: TraceTask) -> Cost:
    return cost_of(trace(task), fused=True)


@pytest.mark.parametrize(("name", "n", "function", "algorithm"), CASES)
def test_the_path_of_loops_is_no_shorter_than_that_of_the_equations(
    name: str, n: int, function: str, algorithm: str
) -> None:
    task = resolve(robot(name, n), function, algorithm).task()
    program = roll(task).built()
    run = chains_of(program)
    path, width = run.longest, run.width
    # Loops multiply by ones and add zeros, of which equations written out have none.
    assert sum(path[:3]) >= written_out(task).span.total
    assert len(width) == sum(path[:3])
    assert sum(width) == cost_of_loops(program, task.function.symbol).total


def test_straight_line_code_has_path_and_width_of_its_equations() -> None:
    for function in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
        equations = trace(resolve(px.load("panda"), function).task())
        program = sincos_first(fuse(equations))
        found = cost_of(equations, fused=True)
        run = chains_of(program)
        path, width = run.longest, run.width
        assert path[:3] == (found.span.multiplications, found.span.additions, found.span.divisions)
        assert width == found.width


def test_a_long_chain_has_a_path_that_grows_with_every_body() -> None:
    spans = [px.cost(px.chain(n), "inverse_dynamics", "newton_euler").span for n in (500, 501, 502)]
    assert spans[2].total - spans[1].total == spans[1].total - spans[0].total > 0


def test_what_is_unknown_raises() -> None:
    task = resolve(px.chain(3), "inverse_dynamics").task()
    program = roll(task).built()
    strange: Any = object()
    with pytest.raises(TypeError, match="no rule for the statement object"):
        chains_of(replace(program, body=(*program.body, strange)))
    with pytest.raises(TypeError, match="lanes are segments"):
        chains_of(Program((), (), (), lanes=4))
