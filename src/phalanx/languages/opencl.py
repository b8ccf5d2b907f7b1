# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""OpenCL C: functions for one state, kernels for graphics processors, and kernels for others.

On graphics processors each work-item has one state (`tiles.py`). On other processors it has as many as their
registers hold, in vector types of the language: their compilers do not vectorise every loop over work-items.
States with angles beyond the fast path of sine and cosine are computed again, with the library's sines; lanes
beyond the end of a batch repeat the first state of their block.

A program with segments of one state in lanes becomes several kernels, launched one after another: it is
split where its width changes. In wide pieces a work-item has a segment, in the others, which join segments, a
state. Scratch memory carries values from one to the next. It is interleaved by segments and states, so that
accesses coalesce; on processors, where neighbours would share cache lines, each work-item has its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..program.elementary import LARGEST
from ..program.ir import (
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
    read_by,
    statements,
    stores_output,
)
from .codegen import FAR, LANE, STEP, STRIDE, WORKSPACE, Body, Routine
from .dialects import Dialect, contracted, contraction, helpers, named, opencl, vector_macros
from .tiles import GROUP, OPENCL, copies, row_parameters, tiled, widest

# States of a work-item in vector types: 256 bits. Twice as many take a third longer on such registers; no
# script repeats that comparison, benchmarks/opencl.py times kernels with these.
LANES = {"double": 4, "float": 8}
_ON_STACK = 256  # numbers of a row up to which those of all lanes are on the stack; no script measures it

HEAD = """#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
/* Every operation rounds, multiply-adds once: the numbers are those of every other machine. */
#pragma OPENCL FP_CONTRACT OFF
#define $RESTRICT restrict
/* Work-items of a group, if each has one state. */
#ifndef $GROUP
#define $GROUP {group}
#endif"""


def with_wide_rows_global(routine: Routine) -> Routine:
    """A routine that reads and writes its wide rows in global memory."""
    limit = widest(routine.dialect.real)
    return replace(routine, spaces={name: "__global " for name, n in routine.sizes.items() if n > limit})


def program_source(
    routines: Sequence[Routine],
    prefix: str,
    *,
    lanes: int = 0,
    tiles: bool = True,
    pieces: Pieces | None = None,
) -> str:
    """The source of these functions, with kernels of one state a work-item or of `lanes` states, or both.

    With `pieces`, there are also kernels of one segment a work-item.
    """
    parts = paragraphs([with_wide_rows_global(r) for r in routines], lanes=lanes, tiles=tiles)
    if pieces is not None and tiles:
        known = {name for r in routines for name in r.helpers}
        parts += [*helpers(pieces.dialect, pieces.helpers - known), *pieces.paragraphs()]
    elif pieces is not None:
        fast = replace(pieces, dialect=contracted(pieces.dialect))
        parts += ["#pragma OPENCL FP_CONTRACT ON", contraction(fast.dialect)]
        parts += [*helpers(fast.dialect, fast.helpers), *fast.paragraphs()]
    return named("\n\n".join(parts), prefix) + "\n"


def paragraphs(
    routines: Sequence[Routine], *, lanes: int = 0, tiles: bool = True, notes: Sequence[str] = ()
) -> list[str]:
    """The paragraphs of a source, a comment before each function."""
    dialect = routines[0].dialect
    parts = [HEAD.format(group=GROUP), *(table for r in routines for table in r.tables())]
    if tiles:
        called = {name for r in routines for name in r.helpers}
        parts += [*helpers(dialect, called), *copies(OPENCL, routines)]
    for k, r in enumerate(routines if tiles else ()):
        note = f"{notes[k]}\n" if notes else ""
        parts += [r.source(), note + r.of_one_state("static inline"), tiled(r, OPENCL)]
    return parts + (_vectors(routines, lanes) if lanes else [])


def vector_workspace(routine: Routine, lanes: int) -> int:
    """Numbers of scratch memory that a work-item with vectors needs."""
    return lanes * (routine.workspace + sum(n for n in routine.sizes.values() if n > _ON_STACK))


def vector_name(name: str) -> str:
    """The name of a function's kernel with vectors."""
    return f"${name}_vectors"


def _vectors(routines: Sequence[Routine], lanes: int) -> list[str]:
    """Functions and kernels in vector types, one state in each lane."""
    dialect = opencl(routines[0].dialect.real, lanes)
    pairs = []
    for r in routines:
        wide = {name: "__global " for name, n in r.sizes.items() if n > _ON_STACK}
        pairs.append((r, replace(r, dialect=dialect, spaces=wide)))
    called = {name for _, v in pairs for name in v.helpers}
    parts = ["#pragma OPENCL FP_CONTRACT ON", vector_macros(dialect), *helpers(dialect, called)]
    for r, v in pairs:
        parts += [v.source(), _vector_kernel(r, v)]
    return [*parts, "#pragma OPENCL FP_CONTRACT OFF"]


def _vector_kernel(routine: Routine, v: Routine) -> str:
    """The kernel whose work-items compute several states each, block by block."""
    d = v.dialect
    lanes, real, kind = d.lanes, d.real, d.type
    numbers = vector_workspace(routine, lanes)
    parameters = row_parameters(routine, OPENCL)
    if numbers and not routine.workspace:
        parameters.append(f"__global {real} *$RESTRICT {WORKSPACE}")
    lines = [f"__kernel void {vector_name(routine.name)}({', '.join(parameters)}) {{"]
    lines += [
        f"  const ulong blocks = count / {lanes} + (count % {lanes} != 0);",
        "  const ulong items = get_global_size(0), share = blocks / items + (blocks % items != 0);",
        "  ulong block = get_global_id(0) * share;",
        "  const ulong end = block < blocks && blocks - block > share ? block + share : blocks;",
    ]
    if numbers:
        own = f"(__global {kind} *){WORKSPACE} + get_global_id(0) * {numbers // lanes}"
        lines.append(f"  __global {kind} *const own = {own};")
    lines += [
        "  for (; block < end; ++block) {",
        f"    const ulong first = block * {lanes};",
        f"    const int here = count - first < {lanes} ? (int)(count - first) : {lanes};",
        *(f"    const ulong row{k} = first + ({k} < here ? {k} : 0);" for k in range(lanes)),
    ]
    offset, arrays = routine.workspace, {}
    for name, n in routine.sizes.items():
        if n > _ON_STACK:
            arrays[name] = f"own + {offset}"
            offset += n
        else:
            arrays[name] = f"{name}_"
            lines.append(f"    {kind} {name}_[{n}];")
    for name, n in routine.inputs.items():
        rows = ", ".join(f"{name}[row{k} * {n} + k]" for k in range(lanes))
        lines.append(f"    for (int k = 0; k < {n}; ++k) ({arrays[name]})[k] = ({kind})({rows});")
    arguments = [*arrays.values(), *(["own", "1"] if routine.workspace else [])]
    lines += _careful_if_needed(v, arguments)
    for name, n in routine.outputs.items():
        each = [f"{name}[row{k} * {n} + k] = x.s{k:x};" for k in range(lanes)]
        lines.append(f"    for (int k = 0; k < {n}; ++k) {{")
        lines.append(f"      const {kind} x = ({arrays[name]})[k];")
        lines += [f"      {store}" for store in reversed(each)]  # spare lanes repeat row 0; lane 0 is last
        lines.append("    }")
    return "\n".join([*lines, "  }", "}"])


def _careful_if_needed(v: Routine, arguments: list[str]) -> list[str]:
    """A call of the inline function, repeated with `careful` if an angle is beyond the fast path."""
    d = v.dialect
    if not v.has_angles:
        call = v.call(arguments, step="1", careful=False, farthest="&far")
        return [f"    {d.type} far;", f"    {call}"]
    listed = ", ".join([*arguments, "1", "careful", "&far"])
    farther = " || ".join(f"far.s{k:x} > {replace(d, lanes=1).literal(LARGEST)}" for k in range(d.lanes))
    return [
        "    #pragma unroll 1",
        "    for (int careful = 0; careful < 2; ++careful) {",
        f"      {d.type} far;",
        f"      {v.inner}({listed});",
        f"      if (!({farther})) break;",
        "    }",
    ]


# ------------------------------------------------------------------- segments of a state


@dataclass(frozen=True)
class Piece:
    """Consecutive statements of one SIMD width."""

    width: int
    body: tuple[Any, ...]


def pieces_of(program: Program) -> list[Piece]:
    """The pieces of a program whose lanes need not run in lockstep.

    Lanes exchange values between pieces only: each writes into its own lane, or into an output; statements by
    which several lanes may write the same output are in a piece of their own.
    """
    made: list[Piece] = []
    for s in program.body:
        width, body = (s.width, s.body) if isinstance(s, SimdRegion) else (program.lanes, (s,))
        last = made[-1] if made else None
        if last is None or last.width != width or (stores_output(last.body) and stores_output(body)):
            made.append(Piece(width, body))
        else:
            made[-1] = Piece(width, last.body + body)
    for piece in made:
        _require_independent(piece)
    return made


def _require_independent(piece: Piece) -> None:
    """Raise unless work-items can run a piece without synchronisation and without values of other pieces."""
    known: set[Any] = set()
    for s in statements(piece.body):
        known.update(
            s.carried if isinstance(s, For) else (s,) if isinstance(s, Value | Load | Select) else ()
        )
        if isinstance(s, SimdRegion):
            raise PhalanxError(
                "segments: a region inside of a loop cannot be launched; take another algorithm."
            )
        if isinstance(s, Load | Store) and piece.width > 1 and not _is_own(s.buffer, s.index):
            raise PhalanxError(
                f'segments: a segment accesses another one in "{s.buffer.name}"; take another algorithm.'
            )
    used = {x for x in read_by(piece.body) if isinstance(x, Value | Load | Select | LoopCarried)}
    if used - known:
        raise PhalanxError("segments: a value passes between launches; take another algorithm.")


def _is_own(buffer: Any, index: Index) -> bool:
    """Whether an access of a lane touches nothing of other lanes."""
    if buffer.kind == "scratch":
        return not _differs(index)
    return not isinstance(buffer, Buffer) or _differs(index)


def _differs(index: Any) -> bool:
    """Whether the lanes of an access have different indices."""
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

    @cached_property
    def _bodies(self) -> list[tuple[int, Body]]:
        program = self.program
        buffers = (*program.inputs, *program.outputs)
        names = dict(zip(buffers, (*self.inputs, *self.outputs), strict=True))
        tables: dict[str, tuple[str, np.ndarray]] = {}  # shared by all pieces
        made = []
        for piece in pieces_of(program):
            own = replace(program, body=piece.body)
            body = Body(self.dialect, own, names, careful="1", width=piece.width, tables=tables)
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
        """Functions of `dialects.helpers` that they call."""
        return {name for _, body in self._bodies for name in body.helpers}

    def paragraphs(self) -> list[str]:
        """The paragraphs of a source, without the functions that they call."""
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
                body.source.replace("@t", f"${self.name}_piece_t"),
                "}",
            ]
        )


def piece_name(name: str, number: int) -> str:
    """The name of the kernel of a piece."""
    return f"${name}_piece{number}"
