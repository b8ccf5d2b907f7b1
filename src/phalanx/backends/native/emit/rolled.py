# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a rolled program to LLVM: loops over bodies, one state per lane.

Rows of inputs are first transposed into scratch memory, one vector per coordinate, and the
output back at the end, so that all indexing in between is by body. All values of a body lie
side by side. A chain carries its recursions in registers; a tree reads the slot of the parent
and adds into it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ....ir.rolled import (
    LINKS,
    Factor,
    InverseOut,
    Levels,
    LimbLevels,
    Loop,
    MatrixOut,
    Once,
    RolledProgram,
    Solve,
)
from ..target import Target
from .bodies import BodyWriter, body_leaf
from .factor import factor_text, inverse_text, solve_text
from .levels import levels_text
from .limbs import limbs_text
from .loops import Counter, run, turn
from .matrix import matrix_text


def rolled_block_function(program: RolledProgram, target: Target, element: str) -> tuple[str, set[str], int]:
    """LLVM text of `block(in0, stride0, …, out, stride, scratch)`, its declarations and bytes of scratch.

    The scratch memory must be aligned to 64 bytes. Before it comes the address of what is told, if any is.
    """
    size = 8 if element == "double" else 4
    w = BodyWriter(element, target.lanes(size), target.fma, program)
    _lay_out(w)
    for k, (name, shape) in enumerate(program.inputs.items()):
        _stage_input(w, name, k, prod(shape))
    if program.joints is not None:
        _prepare_sums(w)
    for stage in program.stages:
        _STAGES[type(stage)](w, stage)
    if "out" in w.regions:
        _stage_output(w, prod(program.output))
    last = len(program.inputs)
    parameters = ", ".join(f"ptr noalias %p{k}, i64 %s{k}" for k in range(last + 1))
    body = "\n  ".join(w.lines)
    # Without its own alignment the stack would hold spilt registers across lines of cache: a third more time.
    told = ", ptr %told" if program.told else ""
    head = (
        f"define internal void @block({parameters}{told}, ptr noalias %scratch) noinline alignstack(64) #0 {{"
    )
    return "\n".join([*w.tables, f"{head}\nentry:\n  {body}\n  ret void\n}}\n"]), w.used, w.scratch


def _lay_out(w: BodyWriter) -> None:
    """Places in scratch for everything but matrices."""
    p = w.program
    for name, shape in p.inputs.items():
        w.region(name, prod(shape) + (p.joints is not None))
    matrix = any(isinstance(s, MatrixOut | InverseOut) for s in p.stages)
    if not matrix:
        # Bodies without a link write past the end.
        w.region("out", prod(p.output) + 16)
    # One row is the world, if limbs hang on each other.
    w.region("slots", (p.n + (p.limbs is not None and p.limbs.branches)) * p.slots)
    w.region("commons", p.commons)
    w.region("angles", 3 * p.n * p.angles)
    if p.rest:
        w.region("rest", 12 * p.n)
    if p.parents is not None:
        w.region("carried", (p.n + 1) * len(p.carries))
        w.region("arrived", (p.n + 1) * len(p.arrivals))
    if p.table.size:
        w.numbers("@table", p.table)


def _prepare_sums(w: BodyWriter) -> None:
    """Zeros where bodies add to what other bodies have, and for those that have nothing of their own."""
    if "out" in w.regions:
        w.clear("out", prod(w.program.output))
    for name, shape in w.program.inputs.items():
        w.save(0.0, w.at(name, "0", prod(shape)))


# ------------------------------------------------------------------- rows in, rows out


def _stage_input(w: BodyWriter, name: str, number: int, size: int) -> None:
    """Transpose the rows of an input into its region."""

    def block(first: str, width: int) -> None:
        base = w.put(f"getelementptr {w.element}, ptr %p{number}, i64 {first}")
        for k, value in enumerate(w.load_rows(base, f"%s{number}", width)):
            w.save(value, w.at(name, first, k))

    w.in_blocks(size, w.lanes, block)


def _stage_output(w: BodyWriter, size: int) -> None:
    """Transpose the output region into rows."""
    number = len(w.program.inputs)

    def block(first: str, width: int) -> None:
        base = w.put(f"getelementptr {w.element}, ptr %p{number}, i64 {first}")
        w.store_rows(base, f"%s{number}", [w.fetch(w.at("out", first, k)) for k in range(width)])

    w.in_blocks(size, w.lanes, block)


# ------------------------------------------------------------------- values per state


def _once(w: BodyWriter, once: Once) -> None:
    """Values per state, between loops."""

    def leaf(what: tuple[Any, ...]) -> str:
        kind, *more = what
        if kind == "global":
            return w.fetch(w.at(more[0], "0", more[1]))
        if kind == "told to all":
            return w.told(more[0])
        if kind == "at":
            return w.fetch(w.at("slots", "0", more[1] * w.program.slots + more[0]))
        return w.fetch(w.at("commons", "0", more[0]))

    for value, (kind, place) in zip(run(w, once.code, leaf), once.targets, strict=True):
        w.save(value, w.at("commons" if kind == "common" else "out", "0", place))


# ------------------------------------------------------------------- loops over bodies


def _loop(w: BodyWriter, loop: Loop) -> None:
    """One pass over the bodies."""
    chain = w.program.parents is None
    if not chain:
        _open_tree(w, loop)
    roots = {k: w.root(r) for k, r in (loop.roots or {}).items()} if chain else {}
    count = w.program.n if loop.bodies is None else len(w.program.maps[loop.bodies])
    counter = w.open(count, down=not loop.outward)
    body = counter.index if loop.bodies is None else w.mapped(loop.bodies, counter.index)
    carried: dict[int, str] = {}
    sums: dict[int, str] = {}
    for kind, number, *_ in loop.targets:
        if kind == "carry" and chain:
            carried[number] = w.phi(counter, roots[number])
        elif kind == "total":
            sums[number] = w.phi(counter, w.operand(0.0))
    _body(w, loop, counter, body, carried, sums)
    w.close(counter)
    for number, name in sums.items():
        w.save(counter.fed[name], w.at("commons", "0", number))


def _open_tree(w: BodyWriter, loop: Loop) -> None:
    """Give the world's slot its values, and start all sums at zero."""
    numbers = [t[1] for t in loop.targets if t[0] == "carry"]
    if loop.outward:
        for number in numbers:
            w.save(w.root((loop.roots or {})[number]), w.at("carried", "0", w.program.carries[number]))
    elif numbers:
        w.clear("arrived", (w.program.n + 1) * len(w.program.arrivals))


def _body(
    w: BodyWriter, loop: Loop, counter: Counter, body: str, carried: dict[int, str], sums: dict[int, str]
) -> None:
    """The instructions for one body and what becomes of their results."""
    p = w.program
    plain = body_leaf(w, body)

    def leaf(what: tuple[Any, ...]) -> str | float:
        if what[0] != "carry":
            return plain(what)
        number = what[1]
        if number in carried:
            return carried[number]
        if number in p.carries:
            row = w.scaled(w.slot_of_parent(body, linked=loop.bodies == LINKS), len(p.carries))
            return w.fetch(w.at("carried", row, p.carries[number]))
        row = w.scaled(w.put(f"add i64 {body}, 1"), len(p.arrivals))
        return w.fetch(w.at("arrived", row, p.arrivals[number]))

    for value, (kind, *more) in zip(run(w, loop.code, leaf), loop.targets, strict=True):
        if kind == "carry":
            _pass_on(w, loop, counter, body, more[0], value, carried)
        elif kind == "total":
            name = sums[more[0]]
            counter.fed[name] = w.binary("fadd", name, value)
        elif kind == "save":
            w.save(value, w.at("slots", w.scaled(body, p.slots), more[0]))
        elif kind == "angle":
            turn(w, w.scaled(body, 3 * p.angles), more[0], value)
        elif kind == "rest":
            w.save(value, w.at("rest", w.scaled(body, 12), more[0]))
        elif kind in ("out", "add"):
            map, width, offset = more
            place = w.at("out", w.scaled(w.mapped(map, body), width), offset)
            w.save(value if kind == "out" else w.binary("fadd", w.fetch(place), value), place)


def _pass_on(
    w: BodyWriter,
    loop: Loop,
    counter: Counter,
    body: str,
    number: int,
    value: str | float,
    carried: dict[int, str],
) -> None:
    """Hand a carried value to the children, or add it to what the parent gets."""
    p = w.program
    if number in carried:
        counter.fed[carried[number]] = w.operand(value)
    elif number in p.carries:
        row = w.scaled(w.put(f"add i64 {body}, 1"), len(p.carries))
        w.save(value, w.at("carried", row, p.carries[number]))
    else:
        row = w.scaled(w.slot_of_parent(body, linked=loop.bodies == LINKS), len(p.arrivals))
        place = w.at("arrived", row, p.arrivals[number])
        w.save(w.binary("fadd", w.fetch(place), value), place)


_STAGES: dict[type, Callable[..., None]] = {
    Loop: _loop,
    Once: _once,
    MatrixOut: matrix_text,
    Factor: factor_text,
    Solve: solve_text,
    InverseOut: inverse_text,
    Levels: levels_text,
    LimbLevels: limbs_text,
}
