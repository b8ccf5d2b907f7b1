# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Traced programs: which quantity and link each scalar belongs to, and that tracing is repeatable."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.dispatch import resolve
from phalanx.program import quantities
from phalanx.program.graph import Graph
from phalanx.program.ir import Program, Scalar
from phalanx.program.trace import trace
from reference.kernels import covered, frame_of, robot


def traced(r: px.Robot, function: str, algorithm: str = "auto", optional: tuple[str, ...] = ()) -> Program:
    call = resolve(r, function, algorithm, **frame_of(function, r))
    return trace(call.task(optional))


EVERY = covered("mixed", "panda")
each = pytest.mark.parametrize(("name", "function", "algorithm"), EVERY, ids=["-".join(c) for c in EVERY])


def computed(program: Program) -> list[Scalar]:
    return [n for n in program.values if n.op != "input"]


@cache
def names_in_the_texts() -> set[str]:
    """The names on the left of every assignment in the texts of algorithms, and their functions."""
    names = {f.symbol for f in FUNCTIONS.values()}
    for file in (Path(px.__file__).parent / "algorithms").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign):
                names |= {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
            elif isinstance(node, ast.FunctionDef):
                names.add(node.name)
    return names


def test_quantities_of_the_arm_are_the_names_in_the_text() -> None:
    program = traced(robot("panda"), "inverse_dynamics", "cartesian_tensor")
    # Without prismatic joints `along` and `vJ` vanish, without base motion `w0`; `VJ` and `R` take
    # what is there already, and so does `tau` where the axis is z.
    assert {n.quantity for n in computed(program)} == {"X", "w", "wd", "K", "a", "F"}


@each
def test_every_computed_scalar_has_a_quantity_of_the_texts_and_a_link_of_the_robot(
    name: str, function: str, algorithm: str
) -> None:
    r = robot(name)
    program = traced(r, function, algorithm)
    assert {n.quantity for n in computed(program)} <= names_in_the_texts()
    for node in computed(program):
        assert node.quantity, node
        assert 0 <= node.body_index < r.model.n, node


def test_a_link_of_the_arm_has_work_of_its_own() -> None:
    r = robot("panda")
    program = traced(r, "inverse_dynamics")
    # With the axis of the first joint along gravity, its link has no trigonometry.
    assert {n.body_index for n in computed(program)} == set(range(r.n_links))
    sines = [n for n in program.values if n.op in ("sin", "cos")]
    assert sorted(n.body_index for n in sines) == sorted([*range(1, 7), *range(1, 7)])
    assert all(n.body_index == n.args[0].index for n in sines if n.args[0].op == "input")


def test_what_another_file_computes_keeps_its_own_names() -> None:
    program = traced(robot("panda"), "inverse_dynamics", "cartesian_tensor", ("base_velocity",))
    found = {n.quantity for n in computed(program)}
    assert {"a0", "base_motion"} <= found
    assert {n.body_index for n in computed(program) if n.quantity == "a0"} == {-1}  # of no link: the base


def test_the_result_is_called_what_the_literature_calls_it() -> None:
    for function, name in (("inverse_dynamics", "tau"), ("mass_matrix", "M"), ("forward_dynamics", "qdd")):
        program = traced(robot("mixed"), function)
        last = [n for n in program.results if isinstance(n, Scalar)]
        assert name in {n.quantity for n in last}, function


def test_a_function_without_source_is_one_quantity() -> None:
    graph = Graph()
    graph.quantity = "before"
    scope: dict[str, Any] = {}
    exec("def double(x):\n    y = x + x\n    return y * x\n", scope)
    result = quantities.announcing(scope["double"], graph, "twice")(graph.input("q", 0))
    assert {n.quantity for n in graph.nodes if n.op != "input"} == {"twice"}
    assert result.op == "mul"
    assert graph.quantity == "before"


def told(program: Program) -> list[Any]:
    place = {n.number: k for k, n in enumerate(program.values)}
    rows = [
        (n.op, str(n.leaf), [place[a.number] if isinstance(a, Scalar) else a for a in n.args], n.quantity)
        for n in program.values
    ]
    return [*rows, [place[x.number] if isinstance(x, Scalar) else x for x in program.results]]


@each
def test_tracing_twice_gives_the_same_program(name: str, function: str, algorithm: str) -> None:
    r = robot(name)
    assert told(traced(r, function, algorithm)) == told(traced(r, function, algorithm))


@each
def test_results_are_nodes_or_floats(name: str, function: str, algorithm: str) -> None:
    program = traced(robot(name), function, algorithm)
    assert len(program.results) == sum(buffer.size for buffer in program.outputs)
    assert all(isinstance(x, Scalar | float) for x in program.results)
    constants = [a for n in computed(program) for a in n.args if not isinstance(a, Scalar)]
    assert {type(a) for a in constants} <= {float}


def test_parameters_are_folded_and_unused_inputs_are_dead() -> None:
    r = robot("panda")
    weightless = traced(r.replace(gravity=(0.0, 0.0, 0.0)), "gravity_forces")
    assert weightless.values == []
    assert set(weightless.results) == {0.0}
    first = {(n.buffer.name, n.index) for n in traced(r, "mass_matrix").values if n.op == "input"}
    assert first == {("q", k) for k in range(1, 7)}  # the first angle turns the whole arm


def test_coordinates_rates_and_wrenches_belong_to_the_bodies_they_move() -> None:
    r = robot("floating")
    program = traced(r, "inverse_dynamics", optional=("external",))
    owner = {(n.buffer.name, n.index): n.body_index for n in program.values if n.op == "input"}
    # The base has bodies 0 to 5; its seven coordinates move the first.
    assert {owner["q", k] for k in range(3, 7)} == {0}
    assert [owner["q", 7 + k] for k in range(4)] == [6, 7, 8, 9]
    assert [owner["qdd", k] for k in range(10)] == list(range(10))
    assert [owner["external", 6 * k] for k in range(5)] == r.model.links.tolist()


def test_a_mimic_joint_belongs_to_its_driver() -> None:
    builder = px.RobotBuilder("gripper")
    builder.add_link("base")
    for name in ("left", "right"):
        builder.add_link(name, mass=1.0, com=(0.1, 0.2, 0.0), inertia=np.eye(3))
    builder.add_joint("open", "revolute", "base", "left", axis=(1.0, 0.0, 0.0))
    builder.add_joint("follow", "revolute", "base", "right", mimic=("open", 2.0, 0.1), axis=(1.0, 0.0, 0.0))
    program = traced(builder.build(), "inverse_dynamics", "newton_euler")
    assert {(n.buffer.name, n.index, n.body_index) for n in program.values if n.op == "input"} <= {
        (name, 0, 0) for name in ("q", "qd", "qdd")
    }
    assert {n.body_index for n in computed(program)} <= {0, 1}


def test_the_inputs_of_a_program_keep_their_shapes() -> None:
    program = traced(robot("panda"), "inverse_dynamics", optional=("external",))
    assert program.shapes == {"q": (7,), "qd": (7,), "qdd": (7,), "external": (7, 6), "tau": (7,)}
    assert [buffer.size for buffer in (*program.inputs, *program.outputs)] == [7, 7, 7, 42, 7]


def test_constants_that_divide_by_zero_are_told() -> None:
    robot = px.load("two_link")
    weightless = replace(robot.model.inertia, m=robot.model.inertia.m * 0.0, h=robot.model.inertia.h * 0.0)
    task = resolve(robot, "forward_dynamics", "aba").task()
    nothing = replace(weightless, moment=weightless.moment * 0.0)
    with pytest.raises(
        px.PhalanxError, match='algorithm "aba" divides by zero, because numbers of the robot'
    ):
        trace(replace(task, model=replace(robot.model, inertia=nothing)))
