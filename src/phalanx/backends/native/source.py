# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a kernel is made of: the program of a call as straight-line code, loops over bodies, or segments.

Straight-line code drops every operation with a zero or a one of the robot, and its compile time grows with
its length; loops compile in a tenth of a second. So the more operations unrolling saves, the longer the
code may be. Both programs are counted before anything is compiled, and nothing but the robot, the
function and the algorithm enters. No compiler is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...program.form.builder import straight
from ...program.form.count import runs
from ...program.form.program import Program as StraightProgram
from ...program.ops import INPUT
from ...program.rewrite import Code, instructions
from ...program.rolled import RolledProgram, roll
from ...program.rolled.segments.roll import SegmentProgram, roll_segments
from ...program.scalar import TooLongError
from ...program.task import Task
from ...program.trace import Program, trace
from ...robot.frames import AnyFrame, branch_of, branches, everywhere, numbers_told, placement_of
from ...robot.model import Model
from ..base import Call
from .extent import MOST_BODIES, is_segmented, rolls

# Instructions and results that are unrolled if the loops would carry out as many operations, about a second
# of compiling. Code that saves more may be longer, by the power 1.5, but not longer than `_LONGEST`: measured
# on all robots of example-robot-data, it keeps what pays.
_UNROLLED, _NUMBERS, _LONGEST = 6_500, 900, 24_000
_WIDEST = 2.2  # the saving that counts for results, which loops write as fast
_SHORT, _FEW = 3_000, 800  # instructions and results that are unrolled whatever loops would do
# Scalars that tracing may make for one instruction that is left; more are given up.
_SCALARS = 3 * _LONGEST
_ENDLESS = 5 * _SCALARS  # where there are no loops
# Beyond so many bodies loops are counted before anything is written out, since that takes longer.
_FEW_BODIES = 20
# What unrolling can save at most, if the robot's numbers have zeros among them, and if they have none.
_SPARSE, _DENSE = 3.5, 1.25
_ZEROS = 0.1
_DENSE_BODIES = 53  # as many bodies without zeros may become straight-line code


@dataclass(frozen=True)
class Form:
    """How a kernel is written, and why."""

    name: str  # "unrolled", "looped" or "segments"
    reason: str

    def __str__(self) -> str:
        return f"{_TOLD[self.name]}: {self.reason}"


_TOLD = {"unrolled": "unrolled", "looped": "looped over bodies", "segments": "one state in all lanes"}


@dataclass(frozen=True)
class Draft:
    """The programs of a call in the form that was chosen."""

    form: Form
    loops: RolledProgram | SegmentProgram | None = None
    written: list[tuple[Program, Code]] = field(default_factory=list)  # for each branch of a robot
    told: int = 0  # numbers that are told with a call

    def programs(self) -> list[StraightProgram]:
        """Straight-line programs; for a function of a frame, one for each branch of the robot."""
        return [straight(code, p.inputs, p.outputs, self.told) for p, code in self.written]


def form_of(call: Call, optional: tuple[str, ...] = ()) -> Form:
    """The form of a call's kernel; remembered by the robot."""
    known: Form | None = call.robot._memo.get(_key(call, optional))
    return known or draft(call, optional).form


def unrolls(call: Call, optional: tuple[str, ...] = ()) -> bool:
    """Whether a call becomes straight-line code."""
    return form_of(call, optional).name == "unrolled"


def draft(call: Call, optional: tuple[str, ...]) -> Draft:
    """The programs of a call, in the form that counts have chosen."""
    made = _draft(call, optional)
    if call.function.frame:
        made = replace(made, told=numbers_told(call.robot.model))
    call.robot._memo.setdefault(_key(call, optional), made.form)
    return made


def traced(call: Call, optional: tuple[str, ...], *, quantities: bool = True) -> Program:
    """The equations of a kernel, written out; of several branches, that of the call's frame."""
    regrouped = unrolls(call, optional)
    if not call.function.frame:
        task = call.task(optional, _model(call, optional, regrouped=regrouped))
        return trace(task, quantities=quantities)
    every = branches(call.robot.model)
    here = every[branch_of(every, placement_of(call.robot, call.frame))]
    return trace(_task(call, optional, here, regrouped=regrouped), quantities=quantities)


def looped(call: Call, optional: tuple[str, ...]) -> RolledProgram | SegmentProgram | None:
    """The loops that the kernel of a call runs, None if it is straight-line code."""
    return draft(call, optional).loops


def operations_in_loops(call: Call) -> int:
    """Operations that loops over bodies, or over segments, would carry out for one state; remembered."""
    if call.robot.model.n == 0 or not (is_segmented(call) or rolls(call)):
        return 0
    key = ("operations in loops", call.function.name, call.algorithm.name, call.options)
    found: int = call.robot.memo(key, lambda: _operations(_rolled(call, ())))
    return found


# ------------------------------------------------------------------- the choice


def _key(call: Call, optional: tuple[str, ...]) -> tuple[Any, ...]:
    return ("form", call.function.name, call.algorithm.name, call.options, optional)


def _draft(call: Call, optional: tuple[str, ...]) -> Draft:
    known: Form | None = call.robot._memo.get(_key(call, optional))
    if known is not None:
        if known.name == "unrolled":
            return Draft(known, None, _written(call, optional))
        return Draft(known, _rolled(call, optional))
    if is_segmented(call):
        return Draft(Form("segments", f"the algorithm has {call.algorithm.splits}"), _rolled(call, optional))
    if not rolls(call):
        return Draft(Form("unrolled", "there are no loops for it"), None, _only_way(call, optional))
    loops = None
    n, numbers = call.robot.model.n, sum(map(prod, call.task(optional).outputs.values()))
    if told := _too_large(n, numbers):
        return Draft(Form("looped", told), _rolled(call, optional))
    if n > _FEW_BODIES:
        loops = _rolled(call, optional)
        assert isinstance(loops, RolledProgram)
        if told := _hopeless(loops):
            return Draft(Form("looped", told), loops)
    try:
        written = _written(call, optional, _SCALARS)
    except TooLongError:
        told = f"more than {_SCALARS:,} scalars unrolled, the limit"
        return Draft(Form("looped", told), loops or _rolled(call, optional))
    length = sum(_length(code) for _, code in written)
    if length <= _SHORT and numbers <= _FEW:
        return Draft(Form("unrolled", f"{length:,} instructions, limit {_SHORT:,}"), None, written)
    loops = loops or _rolled(call, optional)
    in_loops = _operations(loops)
    saving = in_loops / max(length, 1)
    most, widest = int(min(_UNROLLED * saving**1.5, _LONGEST)), int(_NUMBERS * min(saving, _WIDEST))
    told = f"{length:,} instructions unrolled, {in_loops:,} in loops, limit {most:,}"
    if numbers > widest:
        told = f"{numbers:,} results, limit {widest:,}"
    if length <= most and numbers <= widest:
        return Draft(Form("unrolled", told), None, written)
    return Draft(Form("looped", told), loops)


def _too_large(n: int, numbers: int) -> str:
    """Why a robot is too large to unroll anything; empty if it is not."""
    if n > MOST_BODIES:
        return f"{n:,} bodies, limit {MOST_BODIES:,}"
    widest = int(_NUMBERS * _WIDEST)
    return f"{numbers:,} results, limit {widest:,}" if numbers > widest else ""


def _hopeless(loops: RolledProgram) -> str:
    """Why loops are taken without writing anything out; empty if they are not."""
    table = loops.layout.table
    sparse = np.count_nonzero(table) <= (1.0 - _ZEROS) * table.size
    kind = "some" if sparse else "hardly any"
    if not sparse and loops.layout.n > _DENSE_BODIES:
        return f"{loops.layout.n:,} bodies, limit {_DENSE_BODIES:,} where {kind} parameters are zero"
    # What is saved at most by writing out tells how long the code is at least.
    saving = _SPARSE if sparse else _DENSE
    most = int(saving * min(_UNROLLED * saving**1.5, _LONGEST))
    if (least := loops.least) <= most and (least := _operations(loops)) <= most:
        return ""
    return f"{least:,} operations in loops, limit {most:,} where {kind} parameters are zero"


def _length(code: Code) -> int:
    return sum(i.op != INPUT for i in code.instructions)


def _operations(loops: RolledProgram | SegmentProgram) -> int:
    return sum(int(run.times.sum()) * _length(run.code) for run in runs(loops.built()))


# ------------------------------------------------------------------- programs


def _rolled(call: Call, optional: tuple[str, ...]) -> RolledProgram | SegmentProgram:
    task = _task(call, optional, everywhere(call.robot.model), regrouped=False)
    return roll_segments(task) if call.algorithm.splits == "segments" else roll(task)


def _only_way(call: Call, optional: tuple[str, ...]) -> list[tuple[Program, Code]]:
    """The equations of a call that has no loops, or an error if they would compile for minutes."""
    try:
        return _written(call, optional, _ENDLESS)
    except TooLongError:
        raise PhalanxError(
            f'{call.function.name}: the code of algorithm "{call.algorithm.name}" for robot '
            f'"{call.robot.name}" ({call.robot.model.n} bodies) is too long to compile; '
            f'use backend="numpy" or "jax".'
        ) from None


def _written(call: Call, optional: tuple[str, ...], most: int = 1 << 62) -> list[tuple[Program, Code]]:
    """The equations and their instructions, for a function of a frame those of each branch of the robot."""
    frames = branches(call.robot.model) if call.function.frame else [everywhere(call.robot.model)]
    made = []
    for frame in frames:
        equations = trace(_task(call, optional, frame, regrouped=True), quantities=False, most=most)
        made.append((equations, instructions(equations)))
    return made


def _task(call: Call, optional: tuple[str, ...], frame: AnyFrame, *, regrouped: bool) -> Task:
    """What a kernel shall compute; if it is one of a frame, the frame is told when it runs."""
    model = _model(call, optional, regrouped=regrouped)
    return call.task(optional, model, frame if call.function.frame else None)


def _model(call: Call, optional: tuple[str, ...], *, regrouped: bool) -> Model:
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
    found: Model = call.robot.memo("regrouped", model.regrouped)
    return found
