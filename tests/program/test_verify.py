# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The verifier: broken programs are refused with number and text of the statement, all others pass."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS
from phalanx.dispatch import resolve
from phalanx.products import derivative_of
from phalanx.program.builder import Builder
from phalanx.program.ir import (
    Attributed,
    Buffer,
    For,
    If,
    InductionVariable,
    IntExpr,
    Load,
    LoopCarried,
    ParallelFor,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Until,
    Value,
    plus,
    times,
)
from phalanx.program.lowering import lowered, specialised, unrolls
from phalanx.program.passes.nonfinite import spread
from phalanx.program.passes.order import for_registers
from phalanx.program.rolled import roll
from phalanx.program.task import Call, refusal_of_loops
from phalanx.program.text import parse, text
from phalanx.program.verify import InvalidProgramError, verify

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import fingerprints

TABLE = Table("parent", np.array([-1, 0, 1, 2]))
AXES = Table("axis", np.array([0.5, 0.25]))


class Wish:
    """A statement that nobody knows."""


def builder() -> Builder:
    b = Builder({"q": (4,)}, {"out": (4,)})
    b.buffer("memory", 8)
    return b


def broken(*, lanes: int = 1) -> Iterator[tuple[str, Callable[[Builder], Any], str]]:
    """(name, statements of a broken program, what the message says)."""
    yield from _operands()
    yield from _integers()
    yield from _memory()
    yield from _loops()
    yield from _parallel()


Case = tuple[str, Callable[[Builder], Any], str]


def _operands() -> Iterator[Case]:
    def later(b: Builder) -> None:
        x = Load(b.inputs["q"], 0)
        b.value("neg", x)
        b.put(x)

    yield "an operand defined later", later, r"statement 1, .*-q0.*: an operand is not defined here"
    yield (
        "an operand that is nowhere",
        lambda b: b.store(b.outputs["out"], 0, Value("neg", (1.0,))),
        "statement 1, .*the stored value is not defined",
    )

    def inside(b: Builder) -> None:
        with b.loop(3):
            x = b.value("neg", 1.0)
        b.store(b.outputs["out"], 0, x)

    yield "a value of a loop behind it", inside, "statement 3, .*is not defined here"

    def conditional(b: Builder) -> None:
        with b.loop(3) as loop, b.only_if(IntExpr("lt", (loop.index, 2))):
            x = b.value("neg", 1.0)
        b.value("neg", x)

    yield "a value of a condition behind it", conditional, "statement 4, .*is not defined here"
    yield (
        "an integer as an operand",
        lambda b: b.value("add", 1.0, 2),
        "statement 1, .*an operand is an integer, expected a real number",
    )
    yield "a string as an operand", lambda b: b.value("neg", "q"), "an operand is no number, but str"  # type: ignore[arg-type]
    yield "too few operands", lambda b: b.value("add", 1.0), "add has 1 operands, expected 2"
    yield "too many operands", lambda b: b.value("sin", 1.0, 2.0), "sin has 2 operands, expected 1"
    yield (
        "an unknown statement",
        lambda b: b.put(Wish()),
        'statement 1, "<Wish>": no rule for the statement Wish',
    )

    def twice(b: Builder) -> None:
        b.put(x := Load(b.inputs["q"], 0))
        b.put(x)

    yield "a statement that stands twice", twice, "statement 2, .*stands in two places"
    yield (
        "a selection of integers",
        lambda b: b.put(Select(1, 1, 2.0)),
        "an operand is an integer, expected a real number",
    )


def _integers() -> Iterator[Case]:
    yield (
        "a real number as an index",
        lambda b: b.load(b.inputs["q"], b.load(b.inputs["q"], 0)),  # type: ignore[arg-type]
        "statement 2, .*the index is a real number, expected an integer",
    )
    yield (
        "a counter of no loop",
        lambda b: b.load(b.inputs["q"], InductionVariable()),
        "the index has a counter of a loop that is not around it",
    )

    def behind(b: Builder) -> None:
        with b.loop(3) as loop:
            b.load(b.inputs["q"], loop.index)
        b.load(b.inputs["q"], loop.index)

    yield "a counter behind its loop", behind, "statement 3, .*a counter of a loop that is not around it"
    yield (
        "a real condition",
        lambda b: b.put(If(1.0, ())),  # type: ignore[arg-type]
        "the condition is a real number, expected an integer",
    )
    yield (
        "integers without operands",
        lambda b: b.load(b.inputs["q"], IntExpr("add", (1,))),
        "add has 1 operands",
    )

    def table(index: int, values: Table) -> Callable[[Builder], Any]:
        return lambda b: b.load(b.inputs["q"], IntExpr("entry", (values, index)))

    yield "beyond a table", table(4, TABLE), r"index 4 of table parent is outside of 0 … 3"

    def divided(b: Builder) -> None:
        with b.loop(3) as loop:
            b.load(b.inputs["q"], IntExpr("div", (4, loop.index)))

    def negative(b: Builder) -> None:
        with b.loop(3) as loop:
            b.load(b.inputs["q"], IntExpr("div", (plus(loop.index, -1), 2)))

    yield "a division by zero", divided, r"statement 2, .*the index divides by 0, expected at least 1"
    yield "a quotient of a negative number", negative, "the index divides -1, expected at least 0"
    yield "a real table of integers", table(0, AXES), "comes from table axis of real numbers"
    yield (
        "a table that is none",
        lambda b: b.load(b.inputs["q"], IntExpr("entry", (3, 0))),
        "is one of a table",
    )

    def body(b: Builder) -> None:
        b.put(Attributed(7, ()))

    yield "a body that does not exist", body, "body 7 of 3"


def _memory() -> Iterator[Case]:
    yield (
        "beyond an input",
        lambda b: b.load(b.inputs["q"], 4),
        r'statement 1, "q4 = q\[4\]": index 4 of q is outside',
    )
    yield "before an input", lambda b: b.load(b.inputs["q"], -1), r"index -1 of q is outside of 0 … 3"

    def looped(b: Builder) -> None:
        with b.loop(5) as loop:
            b.load(b.inputs["q"], loop.index)

    yield "beyond an input in the last iteration", looped, r"statement 2, \"q0 = q\[i\]\": index 4 of q"

    def nested(b: Builder) -> None:
        with b.loop(3) as outer, b.loop(3, first=0) as inner:
            b.load(b.inputs["q"], plus(times(outer.index, 2), inner.index))

    yield "beyond an input in nested loops", nested, r"index 4 of q"

    def guarded(b: Builder) -> None:
        with b.loop(8) as loop, b.only_if(IntExpr("lt", (loop.index, 5))):
            b.load(b.inputs["q"], loop.index)

    yield "beyond an input where a condition holds", guarded, r"statement 3, .*index 4 of q"

    def along(b: Builder) -> None:
        with b.walk(3, lambda i: b.entry("parents", TABLE.values, i)) as loop:
            b.load(b.inputs["q"], plus(loop.index, 1))

    yield "beyond an input along successors", along, r"index 4 of q"
    yield "store to an input", lambda b: b.store(b.inputs["q"], 0, 1.0), "stores to the input q"
    yield "load of an output", lambda b: b.load(b.outputs["out"], 0), "loads from the output out"
    yield "store to a uniform", lambda b: b.store(b.uniform("told", 2), 0, 1.0), "stores to the uniform told"
    yield "store to a table", lambda b: b.put(Store(AXES, 0, 1.0)), "stores to the table axis"  # type: ignore[arg-type]
    yield (
        "memory that is not declared",
        lambda b: b.load(Buffer("other", 3), 0),
        "the buffer other is not declared",
    )
    yield "no memory at all", lambda b: b.put(Load("q", 0)), "neither a buffer nor a table"  # type: ignore[arg-type]
    yield "integers loaded as real", lambda b: b.load(TABLE, 0), "a real number from table parent of integers"
    yield (
        "beyond scratch memory",
        lambda b: b.store(b.buffers["memory"], 8, 1.0),
        "index 8 of memory is outside",
    )


def _loops() -> Iterator[Case]:
    def missing(b: Builder) -> None:
        b.put(For(InductionVariable(), 0, 2, False, (LoopCarried(0.0),), (), ()))

    yield "a loop that yields too little", missing, "it carries 1 values and yields 0"
    yield (
        "a loop without iterations",
        lambda b: b.put(For(InductionVariable(), 3, 3, False, (), (), ())),
        "the number of iterations is not positive",
    )

    def integer(b: Builder) -> None:
        with b.loop(2) as loop:
            loop.feed(loop.carry(0.0), loop.index)  # type: ignore[arg-type]

    yield "an integer that is carried", integer, "a yielded value is an integer"

    def start(b: Builder) -> None:
        with b.loop(2) as loop:
            loop.carry(Value("neg", (1.0,)))

    yield "a start that is nowhere", start, "the start of a loop-carried value is not defined"

    def shared(b: Builder) -> None:
        carried = LoopCarried(0.0)
        for _ in range(2):
            b.put(For(InductionVariable(), 0, 2, False, (carried,), (1.0,), ()))

    yield "a value that two loops carry", shared, "statement 2, .*belongs to two loops"

    def counter(b: Builder) -> None:
        i = InductionVariable()
        for _ in range(2):
            b.put(For(i, 0, 2, False, (), (), ()))

    yield "a counter of two loops", counter, "its counter is that of another loop"

    def never(b: Builder) -> None:
        b.put(For(InductionVariable(), -1, 0, False, (), (), (), 0))

    yield "successors of none", never, "the first index is negative"

    def ring(b: Builder) -> None:
        with b.walk(0, lambda i: b.entry("ring", np.array([1, 2, 0]), i)):
            pass

    yield "successors in a ring", ring, r"statement 1, .*its successors never end"

    def astray(b: Builder) -> None:
        with b.walk(0, lambda i: b.entry("next", np.array([1, 5]), i)):
            pass

    yield "successors beyond their table", astray, "an index of a table is outside of the table"

    def until(b: Builder) -> None:
        with b.until(limit=0) as loop:
            loop.stop(1.0)

    yield "a limit of none", until, "the limit is not positive"

    def stop(b: Builder) -> None:
        b.put(Until(InductionVariable(), 3, (), (), Value("neg", (1.0,)), ()))

    yield "a stop that is nowhere", stop, "the condition to stop is not defined"

    def output(b: Builder) -> None:
        with b.until(limit=3) as loop:
            b.store(b.outputs["out"], 0, 1.0)
            loop.stop(1.0)

    yield "an output in a loop that ends on data", output, "statement 2, .*stores to an output inside"
    yield "lanes of another number", lambda b: b.put(SimdRegion(4, ())), "4 lanes in a program of 1"

    def outer(b: Builder) -> None:
        x = b.load(b.inputs["q"], 0)
        with b.part(1):
            b.value("neg", x)

    yield "a value from around lanes", outer, "statement 3, .*is not defined here"
    yield "lanes in lanes", lambda b: b.put(SimdRegion(1, (SimdRegion(1, ()),))), "lanes stand inside lanes"


def _parallel() -> Iterator[Case]:
    def same(b: Builder) -> None:
        with b.parallel(4):
            b.store(b.buffers["memory"], 0, 1.0)

    yield "parallel stores to one address", same, r"statement 2, .*iterations 0 and \d store to memory\[0\]"

    def overlapping(b: Builder) -> None:
        with b.parallel(4) as i:
            b.store(b.buffers["memory"], i, 1.0)
            b.store(b.buffers["memory"], plus(i, 1), 1.0)

    yield "parallel stores that overlap", overlapping, r"statement 3, .*iterations \d and \d store to memory"

    def repeated(b: Builder) -> None:
        with b.parallel(4) as i:
            b.store(b.buffers["memory"], b.entry("twice", np.array([0, 3, 3, 1]), i), 1.0)

    yield "a table that is no permutation", repeated, r"iterations 1 and 2 store to memory\[3\]"

    def neighbour(b: Builder) -> None:
        with b.parallel(4) as i:
            b.store(b.buffers["memory"], i, b.load(b.buffers["memory"], plus(i, 1)))

    yield "a load of what a neighbour stores", neighbour, r"load what another stores at memory\[1\]"

    def second(b: Builder) -> None:
        with b.loop(2) as outer, b.parallel(4) as i:
            b.store(b.buffers["memory"], IntExpr("mul", (i, IntExpr("sub", (1, outer.index)))), 1.0)

    yield "parallel stores that meet in the second run", second, r"iterations 0 and \d store to memory\[0\]"

    def shifted(b: Builder) -> None:
        with b.loop(2) as outer, b.parallel(4) as i:
            b.store(b.buffers["memory"], i, b.load(b.buffers["memory"], plus(i, outer.index)))

    yield "a load of a neighbour in the second run", shifted, r"load what another stores at memory\[1\]"

    def nested(b: Builder) -> None:
        with b.parallel(2) as i:
            b.put(ParallelFor(InductionVariable(), 0, plus(i, 1), ()))

    yield "parallel in parallel", nested, "parallel iterations stand inside others"

    def deciding(b: Builder) -> None:
        with b.parallel(2), b.until(limit=2) as loop:
            loop.stop(1.0)

    yield "a loop that ends on data in parallel", deciding, "stands inside parallel iterations"


BROKEN = list(broken())


@pytest.mark.parametrize(
    ("build", "message"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_broken_programs_are_refused_with_number_and_text(
    build: Callable[[Builder], Any], message: str
) -> None:
    b = builder()
    build(b)
    with pytest.raises(InvalidProgramError, match=message) as caught:
        verify(b.finished(bodies=3))
    assert re.search(r'^program: statement \d+, ".+": ', str(caught.value))


def test_there_are_thirty_kinds_of_broken_programs() -> None:
    assert len({message for _, _, message in BROKEN}) >= 30


def test_declarations_are_checked() -> None:
    made = builder().finished()
    for wrong, message in (
        (replace(made, shapes={"q": (4,)}), "out has no shape"),
        (replace(made, shapes={"q": (5,), "out": (4,)}), "q has shape"),
        (replace(made, scratch=made.inputs), 'q is declared as scratch, but is "input"'),
        (replace(made, lanes=0), "there are 0 lanes"),
        (replace(made, inputs=made.inputs * 2), "named q"),
    ):
        with pytest.raises(InvalidProgramError, match=message):
            verify(wrong)


def test_parallel_stores_by_stride_and_by_permutation_pass() -> None:
    b = builder()
    with b.loop(2) as outer, b.parallel(4) as i:
        b.store(b.buffers["memory"], plus(times(i, 2), outer.index), 1.0)
    with b.parallel(4) as i:
        at = b.entry("order", np.array([2, 0, 3, 1]), i)
        b.store(b.buffers["memory"], at, b.load(b.buffers["memory"], at))
    verify(b.finished())


def test_what_is_not_finished_is_verified_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    from phalanx.backends.native.compile import host
    from phalanx.backends.native.emit.codegen import block_function

    b = builder()
    b.load(b.inputs["q"], 4)
    monkeypatch.setenv("PHALANX_VERIFY", "0")
    block_function(b.finished(), host(), "double")
    monkeypatch.setenv("PHALANX_VERIFY", "1")
    with pytest.raises(InvalidProgramError, match="index 4 of q"):
        block_function(b.finished(), host(), "double")


# ------------------------------------------------------------------- today's programs


@cache
def robots() -> dict[str, px.Robot]:
    return fingerprints.robots()


def programs(robot: px.Robot, function: str, algorithm: str) -> Iterator[Program]:
    """All programs of a kernel, and that of its export."""
    frame = robot.frame_names[-1] if FUNCTIONS[function].frame else None
    yield from programs_of(resolve(robot, function, algorithm, frame))


def programs_of(call: Call, optional: tuple[str, ...] = ()) -> Iterator[Program]:
    """All programs of a call, and that of its export."""
    made = lowered(call, optional)
    if isinstance(made, list):
        yield from made
    else:
        yield from in_lanes(made)
    yield specialised(call, optional)(8)


def in_lanes(loops: Any) -> Iterator[Program]:
    """The programs of loops in one lane and in several, and that of one state alone."""
    for lanes in (1, 4, 8):
        yield loops.built(lanes)
    single = loops.alone(8)
    yield from () if single is None else (single,)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", ["two_link", "ur5", "tree of 9", "chain of 40", "tree of 120"])
def test_programs_of_robots_pass_and_their_texts_are_read_back(name: str, function: str) -> None:
    robot = robots()[name]
    try:
        made = list(programs(robot, function, "auto"))
    except px.PhalanxError as error:
        pytest.skip(str(error))
    for program in made:
        verify(program)
        verify(spread(program))
        if len(program.body) < 2000:
            assert text(verify(parse(text(program)))) == text(program)


ALGORITHMS = [
    (f, a.name) for f in ("inverse_dynamics", "mass_matrix", "forward_dynamics") for a in px.algorithms(f)
]


@pytest.mark.parametrize(("function", "algorithm"), ALGORITHMS)
@pytest.mark.parametrize("name", ["panda", "tree of 9", "chain of 40", "tree of 120"])
def test_programs_of_algorithms_pass(name: str, function: str, algorithm: str) -> None:
    robot = robots()[name]
    try:
        made = list(programs(robot, function, algorithm))
    except px.PhalanxError as error:
        pytest.skip(str(error))
    for program in made:
        verify(spread(program))


@pytest.mark.parametrize("integrator", ["euler", "implicit", "rk4"])
def test_programs_of_rollouts_pass(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="llvmlite is not installed")
    from phalanx.backends.native import rollout

    seen = []
    module = rollout.module
    monkeypatch.setattr(rollout, "module", lambda p, *rest: (seen.append(p), module(p, *rest))[1])
    simulation = px.load("two_link").simulation(integrator=integrator)
    simulation.rollout(np.zeros(2), np.zeros(2), steps=3)
    assert seen
    for program in seen:
        assert text(parse(text(verify(program)))) == text(program)


def calls(robot: px.Robot) -> Iterator[tuple[Call, tuple[str, ...]]]:
    """Every function by every algorithm, its derivatives, and its optional inputs, one at a time."""
    for function, f in FUNCTIONS.items():
        frame = robot.link_names[-1] if f.frame else None
        for a in px.algorithms(function):
            with suppress(px.PhalanxError):  # of algorithms that refuse this robot
                call = resolve(robot, function, a.name, frame)
                yield call, ()
                yield from ((call, (name,)) for name in f.optional)
        for mode in ("jvp", "vjp", "hvp") if robot.nv <= 7 else ("jvp", "vjp"):  # hvp of many joints are long
            with suppress(px.PhalanxError):  # of functions that have no such product
                yield derivative_of(robot, mode, function, "auto", frame), ()


def every_form(call: Call, optional: tuple[str, ...]) -> Iterator[Program]:
    """The programs of a call in the form that was chosen, and its loops where straight-line code was."""
    yield from programs_of(call, optional)
    if unrolls(call, optional) and not refusal_of_loops(call.algorithm, call.robot.model):
        with suppress(px.PhalanxError):  # of joints that loops do not know
            yield from in_lanes(roll(call.task(optional)))


EVERY = [*px.robots(), "tree of 9", "floating tree of 12", "chain of 40", "tree of 120"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EVERY)
def test_every_program_passes(name: str) -> None:
    robot = robots()[name] if name in robots() else px.load(name)
    count = 0
    for call, optional in calls(robot):
        try:
            for program in every_form(call, optional):
                verify(for_registers(verify(program)))
                verify(spread(program))
                count += 1
        except InvalidProgramError as fault:
            raise AssertionError(f"{call.function.name} by {call.algorithm.name}, {optional}") from fault
        except px.PhalanxError:  # too long to compile, or not for this robot
            continue
    assert count > 50
