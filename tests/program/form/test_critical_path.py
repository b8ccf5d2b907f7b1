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
from phalanx.program.cost import cost_of
from phalanx.program.form.builder import straight
from phalanx.program.form.critical_path import critical_path
from phalanx.program.form.program import Program
from phalanx.program.rewrite import instructions
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


def path_written_out(task: TraceTask) -> tuple[int, int, int]:
    span = cost_of(trace(task), fused=True).span
    return span.multiplications, span.additions, span.divisions


@pytest.mark.parametrize(("name", "n", "function", "algorithm"), CASES)
def test_paths_of_loops_are_those_of_the_equations(name: str, n: int, function: str, algorithm: str) -> None:
    task = resolve(robot(name, n), function, algorithm).task()
    loops = roll(task)
    assert loops.keeps_order
    assert critical_path(loops.built())[:3] == path_written_out(task)


@pytest.mark.parametrize("algorithm", ["composite_original", "kane_variant", "newton_euler_variant"])
def test_so_are_those_of_loops_over_pairs_and_of_two_constant_factors(algorithm: str) -> None:
    task = resolve(robot("chain", 11), "mass_matrix", algorithm).task()
    assert critical_path(roll(task).built())[:3] == path_written_out(task)


@pytest.mark.parametrize(
    ("name", "function", "algorithm"),
    [
        ("chain", "inverse_dynamics", "scan"),
        ("chain", "inverse_dynamics", "lathrop"),
        ("chain", "mass_matrix", "recursive_doubling"),
        ("chain", "mass_matrix", "processor_array"),
        ("chain", "forward_dynamics", "abia"),
        ("chain", "forward_dynamics", "contraction"),
        ("chain", "forward_dynamics", "cfa"),
        ("chain", "forward_dynamics_derivatives", "through_inverse"),
        ("tree", "forward_dynamics", "aba"),
    ],
)
def test_loops_in_another_order_than_the_equations_say_so(name: str, function: str, algorithm: str) -> None:
    assert not roll(resolve(robot(name, 8), function, algorithm).task()).keeps_order


def test_straight_line_code_has_the_path_of_its_equations() -> None:
    for function in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
        equations = trace(resolve(px.load("panda"), function).task())
        program = straight(instructions(equations), equations.inputs, equations.outputs)
        assert sum(critical_path(program)[:3]) == cost_of(equations, fused=True).span.total


def test_a_long_chain_has_a_path_that_grows_with_every_body() -> None:
    spans = [px.cost(px.chain(n), "inverse_dynamics", "newton_euler").span for n in (500, 501, 502)]
    assert spans[2].total - spans[1].total == spans[1].total - spans[0].total > 0


def test_what_is_unknown_raises() -> None:
    task = resolve(px.chain(3), "inverse_dynamics").task()
    program = roll(task).built()
    strange: Any = object()
    with pytest.raises(TypeError, match="no rule for the statement object"):
        critical_path(replace(program, body=(*program.body, strange)))
    with pytest.raises(TypeError, match="lanes are segments"):
        critical_path(Program((), (), (), lanes=4))
