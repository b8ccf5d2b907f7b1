# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A call knows its shapes, its arguments and its segments."""

from __future__ import annotations

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.task import cuts, refusal_of_loops
from phalanx.robot.frames import everywhere


def test_shapes_of_inputs_and_outputs() -> None:
    robot = px.load("panda")
    call = resolve(robot, "inverse_dynamics")
    assert call.input_sizes() == {"q": (7,), "qd": (7,), "qdd": (7,)}
    assert call.output_sizes() == {"tau": (7,)}
    assert call.shapes() == ((7,), (7,), (7,), (7,))
    task = call.task(("external",))
    assert list(task.shapes) == ["q", "qd", "qdd", "external"]
    assert task.output == (7,)


def test_a_frame_is_an_argument_or_a_uniform() -> None:
    robot = px.load("panda")
    call = resolve(robot, "frame_pose", "auto", robot.frame_names[-1])
    assert not call.task().has_uniforms
    assert call.task(frame=everywhere(robot.model)).has_uniforms


def test_chains_are_cut_and_trees_are_not() -> None:
    assert cuts(px.chain(8).model)
    assert not cuts(px.tree(8, seed=1).model)
    call = resolve(px.snake(40), "forward_dynamics", ("abia", {"segments": 4}))
    assert call.segments == 4
    assert not call.uncut
    tree = resolve(px.tree(40, seed=1), "inverse_dynamics", ("newton_euler", {"segments": 4}))
    assert tree.segments is None
    assert tree.uncut == "one segment: the robot is no chain that moves by itself"


def test_what_has_no_loops_says_why() -> None:
    (a,) = (x for x in px.algorithms("inverse_dynamics_derivatives") if x.name == "carpentier_mansard")
    assert refusal_of_loops(a, px.chain(5).model)
    assert not refusal_of_loops(resolve(px.chain(5), "inverse_dynamics").algorithm, px.chain(5).model)
