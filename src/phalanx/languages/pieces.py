# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels of OpenCL C in which each work-item has one segment of a state.

A program with segments side by side is cut where its width changes: in wide pieces a work-item has a segment,
in the others, which join segments, a state. Pieces are launched one after another. Scratch memory holds what
passes from one to the next: for every place the numbers of all segments, for each of them those of all
states, so that neighbouring work-items find theirs next to each other; on processors, where neighbours would
wait for each other's cache lines, each work-item has its own memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..program.form.program import (
    Buffer,
    For,
    Index,
    IntExpr,
    Load,
    LoopCarried,
    Program,
    Select,
    SimdRegion,
    Store,
    Value,
    statements,
)
from .codegen import FAR, LANE, Body, operands
from .dialects import Dialect
from .routine import STEP, STRIDE, WORKSPACE


@dataclass(frozen=True)
class Piece:
    """Consecutive statements of one width."""

    width: int
    body: tuple[Any, ...]


def pieces_of(program: Program) -> list[Piece]:
    """The pieces of a program whose lanes need not be in lockstep.

    Lanes meet between pieces only: each writes into its own lane, or into the output, and what
    several lanes may write there has a piece of its own.
    """
    made: list[Piece] = []
    for s in program.body:
        width, body = (s.width, s.body) if isinstance(s, SimdRegion) else (program.lanes, (s,))
        last = made[-1] if made else None
        if last is None or last.width != width or (_gives(last.body) and _gives(body)):
            made.append(Piece(width, body))
        else:
            made[-1] = Piece(width, last.body + body)
    for piece in made:
        _require_apart(piece)
    return made


def _gives(body: tuple[Any, ...]) -> bool:
    """Whether statements write an output."""
    return any(isinstance(s, Store) and s.region.kind == "output" for s in statements(body))


def _require_apart(piece: Piece) -> None:
    """Raise unless work-items can carry out a piece without each other and without values of others."""
    known: set[Any] = set()
    for s in statements(piece.body):
        known.update(
            s.carried if isinstance(s, For) else (s,) if isinstance(s, Value | Load | Select) else ()
        )
        if isinstance(s, SimdRegion):
            raise PhalanxError(
                "segments: a part inside of a loop cannot be launched; take another algorithm."
            )
        if isinstance(s, Load | Store) and piece.width > 1 and not _is_own(s.region, s.index):
            raise PhalanxError(
                f'segments: a segment reaches into others at "{s.region.name}"; take another algorithm.'
            )
    used = {x for x in operands(piece.body) if isinstance(x, Value | Load | Select | LoopCarried)}
    if used - known:
        raise PhalanxError("segments: a value passes between launches; take another algorithm.")


def _is_own(region: Any, index: Index) -> bool:
    """Whether a lane that reads or writes there leaves alone what belongs to other lanes."""
    if region.kind == "scratch":
        return not _differs(index)
    return not isinstance(region, Buffer) or region.kind == "uniform" or _differs(index)


def _differs(index: Any) -> bool:
    """Whether an index tells each lane a single number of its own."""
    if not isinstance(index, IntExpr):
        return False
    if index.op == "lanes" or (index.op == "entry" and index.args[0].wide):
        return True
    return any(_differs(a) for a in index.args)


@dataclass(frozen=True)
class Pieces:
    """A program under a name, as kernels to launch one after another."""

    name: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    program: Program
    dialect: Dialect
    told: tuple[float, ...] = ()

    @cached_property
    def _bodies(self) -> list[tuple[int, Body]]:
        program = self.program
        regions = (*program.inputs, *program.outputs)
        names = dict(zip(regions, (*self.inputs, *self.outputs), strict=True))
        tables: dict[str, tuple[str, np.ndarray]] = {}  # which pieces share
        made = []
        for piece in pieces_of(program):
            part = Program(
                program.inputs,
                program.outputs,
                piece.body,
                program.scratch,
                program.lanes,
                uniform=program.uniform,
            )
            body = Body(self.dialect, part, names, self.told, careful="1", width=piece.width, tables=tables)
            made.append((piece.width, body))
        return made

    @property
    def widths(self) -> list[int]:
        """Work-items of each launch for one state."""
        return [width for width, _ in self._bodies]

    @property
    def workspace(self) -> int:
        """Numbers of scratch memory for one state."""
        return self._bodies[0][1].workspace

    @property
    def helpers(self) -> set[str]:
        """Functions of `helpers.py` that the text calls."""
        return {name for _, body in self._bodies for name in body.helpers}

    def parts(self) -> list[str]:
        """The paragraphs of a program, the functions that they call left out."""
        tables = self._bodies[0][1].constants(f"${self.name}_piece_")
        return tables + [self._kernel(k, *each) for k, each in enumerate(self._bodies)]

    def _kernel(self, number: int, width: int, body: Body) -> str:
        real, sizes = self.dialect.real, {**self.inputs, **self.outputs}
        parameters = ["const ulong count"]
        parameters += [f"const __global {real} *$RESTRICT {name}" for name in self.inputs]
        parameters += [f"__global {real} *$RESTRICT {name}" for name in (*self.outputs, WORKSPACE)]
        return "\n".join(
            [
                f"__kernel void {piece_name(self.name, number)}({', '.join(parameters)}) {{",
                f"  if (get_global_id(0) >= count * {width}) return;",
                f"  const ulong {STRIDE} = count, state = get_global_id(0) % count;",
                f"  const int {LANE} = (int)(get_global_id(0) / count), {STEP} = 1;",
                *(f"  {name} += state * {size};" for name, size in sizes.items()),
                f"  {WORKSPACE} += state{'' if self.dialect.strided else f' * {self.workspace}'};",
                f"  {real} {FAR} = {self.dialect.literal(0.0)};",
                body.text.replace("@t", f"${self.name}_piece_t"),
                "}",
            ]
        )


def piece_name(name: str, number: int) -> str:
    """The name of the kernel of a piece."""
    return f"${name}_piece{number}"
