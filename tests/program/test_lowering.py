# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Straight-line code, loops or segments: counts of the programs decide, and they are told."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program import unroll_policy
from phalanx.program.ir import Program, Value
from phalanx.program.lowering import form_of, lowered, operations_in_loops, unrolls
from phalanx.program.task import Call
from phalanx.program.trace import TooLongError, trace


def call_of(robot: px.Robot, function: str, algorithm: Any = "auto") -> Call:
    return resolve(robot, function, algorithm)


def counts(call: Call) -> list[int]:
    """The integers in the reason for a form."""
    return [int(x.replace(",", "")) for x in re.findall(r"[\d,]*\d", form_of(call).reason)]


def written(call: Call) -> list[Program]:
    made = lowered(call, ())
    assert isinstance(made, list)
    return made


@pytest.mark.parametrize(
    ("robot", "function", "algorithm", "wanted"),
    [
        (lambda: px.load("panda"), "inverse_dynamics", "newton_euler", "unrolled"),
        (lambda: px.load("ur5"), "forward_dynamics", "contraction", "unrolled"),
        (lambda: px.load("panda"), "forward_dynamics", "contraction", "looped"),
        (lambda: px.chain(18), "forward_dynamics", "aba", "unrolled"),
        (lambda: px.chain(20), "forward_dynamics", "jsiia", "unrolled"),  # whose loops move much
        (lambda: px.chain(20), "mass_matrix_inverse", "ltl", "unrolled"),  # so, too
        (lambda: px.chain(44), "inverse_dynamics", "newton_euler", "unrolled"),
        (lambda: px.chain(60), "inverse_dynamics", "newton_euler", "looped"),
        (lambda: px.chain(12), "inverse_dynamics", "scan", "looped"),  # which do less than its text
        (lambda: px.chain(30), "forward_dynamics", "aba", "looped"),
        (lambda: px.chain(30), "mass_matrix", "crba", "looped"),
        (lambda: px.snake(60), "mass_matrix", "crba", "looped"),  # for its results
        (lambda: px.chain(60), "forward_kinematics", "auto", "looped"),  # so, too
        (lambda: px.chain(200), "inverse_dynamics", "newton_euler", "looped"),
        (lambda: px.snake(30), "forward_dynamics", "partition", "segments"),
    ],
)
def test_forms_of_some_kernels(robot: Any, function: str, algorithm: str, wanted: str) -> None:
    call = call_of(robot(), function, algorithm)
    made = lowered(call, ())
    assert (form_of(call).name, isinstance(made, list)) == (wanted, wanted == "unrolled")
    again = lowered(call, ())  # what is remembered leads to the same programs
    assert type(again) is type(made)
    if isinstance(made, list):
        assert isinstance(again, list)
        assert [str(p) for p in again] == [str(p) for p in made]


@pytest.mark.parametrize(
    ("robot", "function", "name"),
    [
        (lambda: px.load("ur5"), "forward_dynamics", "dca"),
        (lambda: px.chain(22), "mass_matrix", "composite_variant"),
    ],
)
def test_nothing_but_the_program_decides(robot: Any, function: str, name: str) -> None:
    call = call_of(robot(), function, name)
    told = replace(call.algorithm, work="O(n^3 log depth)", span="", source="")
    assert form_of(
        replace(call_of(robot().replace(name="other"), function, name), algorithm=told)
    ) == form_of(call)


def test_derivatives_are_looped_where_their_function_is() -> None:
    for robot in (px.load("ur5"), px.chain(30)):
        plain = call_of(robot, "forward_dynamics", "aba")
        call = replace(plain, algorithm=replace(plain.algorithm, derivative="vjp"))
        assert form_of(call).name == form_of(plain).name
    assert form_of(call).reason == f"as forward_dynamics, {form_of(plain).reason}"


def test_the_reason_tells_the_counts() -> None:
    call = call_of(px.load("panda"), "forward_dynamics", "cfa")
    length, limit, in_loops, moves = counts(call)
    assert length == sum(type(s) is Value for p in written(call) for s in p.body)
    assert in_loops == operations_in_loops(call)
    assert length <= limit
    assert moves > 0


def test_code_may_be_longer_where_loops_move_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> list[Call]:
        return [call_of(px.chain(14), "forward_dynamics", name) for name in ("aba", "jsiia")]

    few, many = map(counts, made())
    assert many[0] > few[0]
    assert many[3] > 3 * few[3]
    monkeypatch.setattr(unroll_policy, "_LONG", int(0.9 * few[0]))
    assert [unrolls(call) for call in made()] == [False, True]


def test_what_loops_refuse_is_unrolled() -> None:
    call = call_of(px.chain(8), "inverse_dynamics_derivatives", "carpentier_mansard")
    assert form_of(call).reason == "there are no loops for it"
    assert operations_in_loops(call) == 0


def test_tracing_stops_at_its_limit() -> None:
    call = call_of(px.load("two_link"), "inverse_dynamics")
    full = len(trace(call.task()).results[0].graph.nodes)
    assert trace(call.task(), most=full).values
    with pytest.raises(TooLongError):
        trace(call.task(), most=full - 1)


def test_what_would_be_too_long_to_write_out_is_looped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unroll_policy, "_LONGEST", 1000)
    form = form_of(call_of(px.load("ur5"), "forward_dynamics", "dca"))
    assert str(form).startswith("looped over bodies: more than 3,000 scalars unrolled, the limit; 8,739 ")


def test_cost_and_kernel_tell_the_form() -> None:
    robot = px.chain(60)
    kernel, cost = robot.kernel("inverse_dynamics"), px.cost(robot, "inverse_dynamics")
    assert kernel.form == f"{cost.form}; one thread computes a state"
    assert cost.form == "looped over bodies: 540 entries of rotations between bodies, limit 480"
    assert cost.form.split()[-1] in str(cost)
    told = px.cost(px.load("ur5"), "inverse_dynamics", "newton_euler").form
    assert told == "unrolled: 287 instructions, limit 3,000"
    assert px.cost(robot, "inverse_dynamics", customise="semi").form == ""


def test_a_frame_finds_its_code_whatever_the_form() -> None:
    for robot in (px.load("panda"), px.snake(120)):
        q = robot.random_state(rng=0)[0]
        for frame in (robot.frame_names[1], robot.frame_names[-1]):
            found = robot.frame_pose(q, frame, backend="native")
            assert abs(found - robot.frame_pose(q, frame, backend="numpy")).max() < 1e-11
