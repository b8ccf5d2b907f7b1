# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lower a call to its program: straight-line code, loops over bodies, or segments of a chain in lanes.

Both programs are counted before anything is compiled (`unroll_policy.py`), and nothing but the robot, the
function and the algorithm enters. No compiler is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ..algorithms import algorithms
from ..errors import PhalanxError, listing
from ..robot.frames import AnyFrame, everywhere, placement_of
from .analyses.count import runs
from .ir import Program, Scalar, Value
from .passes.fuse import fuse
from .passes.order import sincos_first
from .passes.specialise import specialise
from .task import SEGMENTS, Call, TraceTask
from .trace import TooLongError, trace
from .unroll_policy import (
    Form,
    InLoops,
    allowance,
    branch_of,
    branches,
    is_segmented,
    large_form,
    most_scalars,
    rolls,
    short_form,
)

if TYPE_CHECKING:
    from .rolled.program import RolledProgram
    from .rolled.segments.roll import SegmentProgram

    Loops: TypeAlias = RolledProgram | SegmentProgram  # from which `built(lanes)` makes programs
    _Chosen: TypeAlias = tuple[Form, Loops | list[Program]]

_FEW = 16  # bodies up to which equations are unrolled before loops are counted
_ENDLESS = 360_000  # scalars that are traced at most where there are no loops


def specialised(call: Call, optional: tuple[str, ...] = ()) -> Callable[[int], Program]:
    """A function from the number of lanes to the program of a call, with its frame as constants."""
    if call.function.frame and unrolls(call, optional):
        task = call.task(optional, call.model(optional, regrouped=True))
        program = sincos_first(fuse(trace(task, quantities=False, most=_ENDLESS)))
        return lambda lanes: program
    made = lowered(call, optional)
    if isinstance(made, list):
        (program,) = made
        return lambda lanes: program
    frame = placement_of(call.robot, call.frame).numbers().tolist() if call.function.frame else ()
    return lambda lanes: specialise(made.built(lanes), frame)


def form_of(call: Call, optional: tuple[str, ...] = ()) -> Form:
    """The form of a call's kernel; remembered by the robot."""
    if _key(call, optional) not in call.robot._memo:
        lowered(call, optional)
    found: Form = call.robot._memo[_key(call, optional)]
    return found


def unrolls(call: Call, optional: tuple[str, ...] = ()) -> bool:
    """Whether a call becomes straight-line code."""
    return form_of(call, optional).name == "unrolled"


def lowered(call: Call, optional: tuple[str, ...]) -> Loops | list[Program]:
    """The loops of a call or its straight-line programs, as counts have chosen (`form_of`).

    For a function of a frame there is a straight-line program for each branch of the robot.
    """
    form, made = _lowered(call, optional)
    call.robot._memo.setdefault(_key(call, optional), form)
    return [sincos_first(program) for program in made] if isinstance(made, list) else made


def traced(call: Call, optional: tuple[str, ...], *, quantities: bool = True) -> Program:
    """The straight-line code of a call without multiply-adds; of several branches, that of its frame."""
    regrouped = unrolls(call, optional)
    if not call.function.frame:
        task = call.task(optional, call.model(optional, regrouped=regrouped))
        return trace(task, quantities=quantities)
    every = branches(call.robot.model)
    here = every[branch_of(every, placement_of(call.robot, call.frame))]
    return trace(_task(call, optional, here, regrouped=regrouped), quantities=quantities)


def annotated(call: Call, optional: tuple[str, ...] = ()) -> Program:
    """The straight-line code of a call without multiply-adds; its frame is constant, values know their
    quantities.
    """
    return trace(call.task(optional, call.model(optional, regrouped=True)), quantities=True, most=_ENDLESS)


def readable(call: Call, lanes: int) -> Program:
    """The program of a kernel for printing: its values know their quantities and bodies.

    Of a robot's branches, that of the call's frame.
    """
    if (loops := looped(call, ())) is not None:
        return loops.built(lanes)
    return sincos_first(fuse(traced(call, ())))


def looped(call: Call, optional: tuple[str, ...]) -> Loops | None:
    """The loops of the kernel of a call, None if it is straight-line code."""
    made = lowered(call, optional)
    return None if isinstance(made, list) else made


def operations_in_loops(call: Call) -> int:
    """Operations of loops over bodies or segments for one state, 0 if there are none; remembered."""
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


def _lowered(call: Call, optional: tuple[str, ...]) -> _Chosen:
    known: Form | None = call.robot._memo.get(_key(call, optional))
    if known is not None:
        if known.name == "unrolled":
            return known, _written(call, optional)
        return known, _rolled(call, optional)
    if is_segmented(call):
        return Form("segments", _reason(call)), _rolled(call, optional)
    if not rolls(call):
        return _without_loops(call, optional)
    if form := large_form(call):
        return form, _rolled(call, optional)
    try:
        return _chosen(call, optional)
    except PhalanxError:  # of joints that loops do not know, or of the equations themselves
        return _without_loops(call, optional)


def _chosen(call: Call, optional: tuple[str, ...]) -> _Chosen:
    """The programs of a call that has both forms; derivatives are looped where their function is."""
    plain = replace(call, algorithm=replace(call.algorithm, derivative=""))
    if plain != call and (known := form_of(plain, optional)).name == "looped":
        return Form("looped", f"as {plain.function.name}, {known.reason}"), _rolled(call, optional)
    written: list[Program] = []
    if call.robot.model.n <= _FEW:
        with suppress(TooLongError):
            written = _written(call, optional, most_scalars(call))
        if written and (form := short_form(call, _lengths(written))):
            return form, written
    loops = _rolled(call, optional)
    counts = _counted(call, loops)
    if not written:
        if form := counts.refusal():
            return form, loops
        try:
            written = _written(call, optional, most := most_scalars(call, counts.moves))
        except TooLongError:
            return Form("looped", f"more than {most:,} scalars unrolled, the limit; {counts}"), loops
    results = max(sum(isinstance(x, Scalar) for x in program.results) for program in written)
    results //= len(call.function.outputs)  # loops write several matrices no faster than one
    form = short_form(call, _lengths(written)) or counts.form(_lengths(written), results)
    return (form, written) if form.name == "unrolled" else (form, loops)


def _without_loops(call: Call, optional: tuple[str, ...]) -> _Chosen:
    return Form("unrolled", "there are no loops for it"), _only_way(call, optional)


def _lengths(written: list[Program]) -> list[int]:
    return [sum(type(s) is Value for s in program.body) for program in written]


def _counted(call: Call, loops: Loops) -> InLoops:
    every = runs(loops.built())
    operations = sum(int(run.times.sum()) * len(run.values) for run in every)
    moves = sum(run.rounds * run.moves for run in every)
    return InLoops(operations, moves, loops.reordered, allowance(call))


# ------------------------------------------------------------------- programs


def _rolled(call: Call, optional: tuple[str, ...]) -> Loops:
    task = loop_task(call, optional)
    if call.algorithm.splits == SEGMENTS or (call.segments is not None and not call.is_matrix):
        from .rolled.segments.roll import roll_segments  # only what has loops imports them

        return roll_segments(task)
    from .rolled import roll

    return roll(task)


def loop_task(call: Call, optional: tuple[str, ...]) -> TraceTask:
    """The task of loops over the bodies of a robot."""
    frame = everywhere(call.robot.model) if call.function.frame else None
    return _task(call, optional, frame, regrouped=False)


def _reason(call: Call) -> str:
    """Why one state fills all lanes."""
    if call.segments is None:
        return f"the algorithm has {call.algorithm.splits}"
    if call.is_matrix:
        return "columns pass several links of the chain at once"
    return f"sweeps run in {call.segments} segments of the chain, one in each lane"


def _only_way(call: Call, optional: tuple[str, ...]) -> list[Program]:
    """The straight-line programs of a call that has no loops; raise if they would compile for minutes."""
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


def _written(call: Call, optional: tuple[str, ...], most: int = 1 << 62) -> list[Program]:
    """The straight-line programs of a call with multiply-adds; of a frame, one for each branch."""
    frames = branches(call.robot.model) if call.function.frame else [None]
    tasks = (_task(call, optional, frame, regrouped=True) for frame in frames)
    return [fuse(trace(task, quantities=False, most=most)) for task in tasks]


def _task(call: Call, optional: tuple[str, ...], frame: AnyFrame | None, *, regrouped: bool) -> TraceTask:
    """The task of a kernel; a frame is a uniform, passed at run time."""
    return call.task(optional, call.model(optional, regrouped=regrouped), frame)
