# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a kernel is made of: the program of a call as straight-line code, loops over bodies, or segments.

Both programs are counted before anything is compiled (`extent.py`), and nothing but the robot, the function
and the algorithm enters. No compiler is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ...algorithms import algorithms
from ...errors import PhalanxError, listing
from ...program.form.builder import straight
from ...program.form.count import runs
from ...program.form.program import Program as StraightProgram
from ...program.ops import INPUT
from ...program.rewrite import Code, instructions
from ...program.rolled import RolledProgram, roll
from ...program.rolled.segments.roll import SegmentProgram, roll_segments
from ...program.scalar import Node
from ...program.task import TraceTask
from ...program.trace import TooLongError, TracedProgram, trace
from ...robot.frames import AnyFrame, branch_of, branches, everywhere, placement_of, uniform_count
from ...robot.model import Model
from ..base import Call
from .unroll_policy import Form, InLoops, allowance, is_segmented, large_form, most_scalars, rolls, short_form

_FEW = 16  # bodies up to which equations are written out before loops are counted
_ENDLESS = 360_000  # scalars that are traced where there are no loops


@dataclass(frozen=True)
class LoweredProgram:
    """The programs of a call in the form that was chosen."""

    form: Form
    loops: RolledProgram | SegmentProgram | None = None
    written: list[tuple[TracedProgram, Code]] = field(default_factory=list)  # for each branch of a robot
    told: int = 0  # numbers that are told with a call

    def programs(self) -> list[StraightProgram]:
        """Straight-line programs; for a function of a frame, one for each branch of the robot."""
        return [straight(code, p.inputs, p.outputs, self.told) for p, code in self.written]


@dataclass(frozen=True)
class SpecialisedProgram:
    """The program of a call by itself, for other languages and machines: its frame is a part of it."""

    form: Form
    built: Callable[[int], StraightProgram]  # for registers of so many lanes
    told: tuple[float, ...] = ()  # what it is told with every call


def alone(call: Call, optional: tuple[str, ...] = ()) -> SpecialisedProgram:
    """The program of a call, in the form that counts have chosen, with nothing left to tell but its frame."""
    if call.function.frame and unrolls(call, optional):
        equations = trace(
            call.task(optional, model_of(call, optional, regrouped=True)), quantities=False, most=_ENDLESS
        )
        program = straight(instructions(equations), equations.inputs, equations.outputs)
        return SpecialisedProgram(form_of(call, optional), lambda lanes: program)
    made = lowered(call, optional)
    if made.loops is not None:
        told = tuple(placement_of(call.robot, call.frame).numbers().tolist()) if call.function.frame else ()
        return SpecialisedProgram(made.form, made.loops.built, told)
    (program,) = made.programs()
    return SpecialisedProgram(made.form, lambda lanes: program)


def form_of(call: Call, optional: tuple[str, ...] = ()) -> Form:
    """The form of a call's kernel; remembered by the robot."""
    known: Form | None = call.robot._memo.get(_key(call, optional))
    return known or lowered(call, optional).form


def unrolls(call: Call, optional: tuple[str, ...] = ()) -> bool:
    """Whether a call becomes straight-line code."""
    return form_of(call, optional).name == "unrolled"


def lowered(call: Call, optional: tuple[str, ...]) -> LoweredProgram:
    """The programs of a call, in the form that counts have chosen."""
    made = _lowered(call, optional)
    if call.function.frame:
        made = replace(made, told=uniform_count(call.robot.model))
    call.robot._memo.setdefault(_key(call, optional), made.form)
    return made


def traced(call: Call, optional: tuple[str, ...], *, quantities: bool = True) -> TracedProgram:
    """The equations of a kernel, written out; of several branches, that of the call's frame."""
    regrouped = unrolls(call, optional)
    if not call.function.frame:
        task = call.task(optional, model_of(call, optional, regrouped=regrouped))
        return trace(task, quantities=quantities)
    every = branches(call.robot.model)
    here = every[branch_of(every, placement_of(call.robot, call.frame))]
    return trace(_task(call, optional, here, regrouped=regrouped), quantities=quantities)


def looped(call: Call, optional: tuple[str, ...]) -> RolledProgram | SegmentProgram | None:
    """The loops that the kernel of a call runs, None if it is straight-line code."""
    return lowered(call, optional).loops


def operations_in_loops(call: Call) -> int:
    """Operations that loops over bodies, or over segments, would carry out for one state; remembered."""
    if call.robot.model.n == 0 or not (is_segmented(call) or rolls(call)):
        return 0
    key = ("operations in loops", call.function.name, call.algorithm.name, call.options)
    try:
        found: int = call.robot._memoized(key, lambda: _counted(call, _rolled(call, ())).operations)
    except PhalanxError:  # of joints that loops do not know
        return 0
    return found


# ------------------------------------------------------------------- the choice


def _key(call: Call, optional: tuple[str, ...]) -> tuple[Any, ...]:
    return ("form", call.function.name, call.algorithm.name, call.options, optional)


def _lowered(call: Call, optional: tuple[str, ...]) -> LoweredProgram:
    known: Form | None = call.robot._memo.get(_key(call, optional))
    if known is not None:
        if known.name == "unrolled":
            return LoweredProgram(known, None, _written(call, optional))
        return LoweredProgram(known, _rolled(call, optional))
    if is_segmented(call):
        return LoweredProgram(
            Form("segments", f"the algorithm has {call.algorithm.splits}"), _rolled(call, optional)
        )
    if not rolls(call):
        return _without_loops(call, optional)
    if form := large_form(call):
        return LoweredProgram(form, _rolled(call, optional))
    try:
        return _chosen(call, optional)
    except PhalanxError:  # of joints that loops do not know, or of the equations themselves
        return _without_loops(call, optional)


def _chosen(call: Call, optional: tuple[str, ...]) -> LoweredProgram:
    """The programs of a call that has both forms; derivatives are looped where their function is."""
    plain = replace(call, algorithm=replace(call.algorithm, derivative=""))
    if plain != call and (known := form_of(plain, optional)).name == "looped":
        return LoweredProgram(
            Form("looped", f"as {plain.function.name}, {known.reason}"), _rolled(call, optional)
        )
    written: list[tuple[TracedProgram, Code]] = []
    if call.robot.model.n <= _FEW:
        with suppress(TooLongError):
            written = _written(call, optional, most_scalars(call))
        if written and (form := short_form(call, _lengths(written))):
            return LoweredProgram(form, None, written)
    loops = _rolled(call, optional)
    counts = _counted(call, loops)
    if not written:
        if form := counts.refusal():
            return LoweredProgram(form, loops)
        try:
            written = _written(call, optional, most := most_scalars(call, counts.moves))
        except TooLongError:
            return LoweredProgram(
                Form("looped", f"more than {most:,} scalars unrolled, the limit; {counts}"), loops
            )
    results = max(sum(type(x) is Node for x in equations.results) for equations, _ in written)
    results //= len(call.function.outputs)  # loops write several matrices no faster than one
    form = short_form(call, _lengths(written)) or counts.form(_lengths(written), results)
    return LoweredProgram(form, None, written) if form.name == "unrolled" else LoweredProgram(form, loops)


def _without_loops(call: Call, optional: tuple[str, ...]) -> LoweredProgram:
    return LoweredProgram(Form("unrolled", "there are no loops for it"), None, _only_way(call, optional))


def _lengths(written: list[tuple[TracedProgram, Code]]) -> list[int]:
    return [_length(code) for _, code in written]


def _length(code: Code) -> int:
    return sum(i.op != INPUT for i in code.instructions)


def _counted(call: Call, loops: RolledProgram | SegmentProgram) -> InLoops:
    every = runs(loops.built())
    operations = sum(int(run.times.sum()) * _length(run.code) for run in every)
    moves = sum(run.rounds * run.moves for run in every)
    joins = isinstance(loops, RolledProgram) and loops.reordered
    return InLoops(operations, moves, joins, allowance(call))


# ------------------------------------------------------------------- programs


def _rolled(call: Call, optional: tuple[str, ...]) -> RolledProgram | SegmentProgram:
    task = _task(call, optional, everywhere(call.robot.model), regrouped=False)
    return roll_segments(task) if call.algorithm.splits == "segments" else roll(task)


def _only_way(call: Call, optional: tuple[str, ...]) -> list[tuple[TracedProgram, Code]]:
    """The equations of a call that has no loops, or an error if they would compile for minutes."""
    with suppress(TooLongError):
        return _written(call, optional, _ENDLESS)
    mode, robot = call.algorithm.derivative, call.robot
    others = (replace(a, derivative=mode) for a in algorithms(call.algorithm.function))
    short = [a.name for a in others if not a.refusal(robot) and rolls(replace(call, algorithm=a))]
    remedy = f"use algorithm {listing(short)}" if short else 'use backend="numpy" or "jax"'
    raise PhalanxError(
        f'{call.function.name}: the code of algorithm "{call.algorithm.name}" for robot "{robot.name}" '
        f"({robot.model.n} bodies) is too long to compile; {remedy}."
    )


def _written(call: Call, optional: tuple[str, ...], most: int = 1 << 62) -> list[tuple[TracedProgram, Code]]:
    """The equations and their instructions, for a function of a frame those of each branch of the robot."""
    frames = branches(call.robot.model) if call.function.frame else [everywhere(call.robot.model)]
    made = []
    for frame in frames:
        equations = trace(_task(call, optional, frame, regrouped=True), quantities=False, most=most)
        made.append((equations, instructions(equations)))
    return made


def _task(call: Call, optional: tuple[str, ...], frame: AnyFrame, *, regrouped: bool) -> TraceTask:
    """What a kernel shall compute; if it is one of a frame, the frame is told when it runs."""
    model = model_of(call, optional, regrouped=regrouped)
    return call.task(optional, model, frame if call.function.frame else None)


def model_of(call: Call, optional: tuple[str, ...], *, regrouped: bool) -> Model:
    """The robot's model; in straight-line code of the dynamics alone with its inertias regrouped.

    Regrouped inertias have neither mass centres, as in DH frames, nor inverses. Along a
    thousand links regrouping hands masses down the whole chain, which costs a digit and more; loops
    gain little.
    """
    model = call.robot.model
    a = call.algorithm
    as_given = a.frames == "dh" or a.bodies != "any"
    if not call.function.motion or "inertias" in optional or as_given or not regrouped:
        return model
    found: Model = call.robot._memoized("regrouped", model.regrouped)
    return found
