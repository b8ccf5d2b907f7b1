# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a kernel is made of: the program of a call, straight-line or with loops; no compiler is needed."""

from __future__ import annotations

from dataclasses import replace

from ...algorithms import algorithms
from ...errors import PhalanxError, listing
from ...program.form.builder import straight
from ...program.form.program import Program as StraightProgram
from ...program.rewrite import instructions
from ...program.rolled import RolledProgram, roll
from ...program.rolled.segments.roll import SegmentProgram, roll_segments
from ...program.task import Task
from ...program.trace import Program, trace
from ...robot.frames import AnyFrame, branch_of, branches, everywhere, numbers_told, placement_of
from ...robot.model import Model
from ..base import Call
from .extent import is_segmented, is_straight, is_writable, rolls, unrolls


def traced(call: Call, optional: tuple[str, ...], *, quantities: bool = True) -> Program:
    """The scalar program of a call, as its kernel runs it; of several branches, that of the call's frame."""
    if not call.function.frame:
        return trace(call.task(optional, _model(call, optional)), quantities=quantities)
    every = branches(call.robot.model)
    return trace(_task(call, optional, every[branch_of(every, placement_of(call.robot, call.frame))]))


def looped(call: Call, optional: tuple[str, ...]) -> RolledProgram | SegmentProgram | None:
    """The loops that the kernel of a call runs, None if it is straight-line code."""
    if is_segmented(call) and call.algorithm.splits == "segments":
        return roll_segments(call.task(optional, _model(call, optional)))
    if is_straight(call):
        return None
    return roll(_task(call, optional, everywhere(call.robot.model)))


def _task(call: Call, optional: tuple[str, ...], frame: AnyFrame) -> Task:
    """What a kernel shall compute; if it is one of a frame, the frame is told when it runs."""
    return call.task(optional, _model(call, optional), frame if call.function.frame else None)


def _model(call: Call, optional: tuple[str, ...]) -> Model:
    """The robot's model; for functions of the dynamics alone with its inertias regrouped.

    Regrouped inertias have neither mass centres, as in DH frames, nor inverses. Along a
    thousand links regrouping hands masses down the whole chain, which costs a digit and more; loops
    gain little.
    """
    model = call.robot.model
    a = call.algorithm
    as_given = a.frames == "dh" or a.bodies != "any"
    if not call.function.motion or "inertias" in optional or as_given or not unrolls(call):
        return model
    regrouped: Model = call.robot.memo("regrouped", model.regrouped)
    return regrouped


def straight_programs(call: Call, optional: tuple[str, ...]) -> list[StraightProgram]:
    """Straight-line code of a call; for a function of a frame, one program for each branch of the robot."""
    _require_short(call)
    if not call.function.frame:
        return [_program(call, traced(call, optional, quantities=False))]
    made = [trace(_task(call, optional, f), quantities=False) for f in branches(call.robot.model)]
    return [_program(call, each) for each in made]


def _program(call: Call, equations: Program) -> StraightProgram:
    """The equations as a program without loops."""
    told = numbers_told(call.robot.model) if call.function.frame else 0
    return straight(instructions(equations), equations.inputs, equations.outputs, told)


def _require_short(call: Call) -> None:
    """Raise if unrolling, the only way, would compile for minutes."""
    if is_writable(call):
        return
    mode, robot = call.algorithm.derivative, call.robot
    others = (replace(a, derivative=mode) for a in algorithms(call.algorithm.function))
    short = [a.name for a in others if not a.refusal(robot) and rolls(replace(call, algorithm=a))]
    remedy = f"use algorithm {listing(short)}" if short else 'use backend="numpy" or "jax"'
    raise PhalanxError(
        f'{call.function.name}: the code of algorithm "{call.algorithm.name}" for robot "{robot.name}" '
        f"({robot.model.n} bodies) is too long to compile; {remedy}."
    )
