# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""OpenCL C: functions for one state, kernels for graphics processors, and kernels for others.

On graphics processors each work-item has one state (`tiles.py`). On other processors it has as many as their
registers hold, in vector types of the language: their compilers vectorise loops over work-items now and then,
explicit vectors always. States with angles that the fast path does not cover are computed once more, with the
library's sines; lanes beyond the end of a batch repeat the first state of their block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..program.elementary.sincos import LARGEST
from .dialects import contracted, contraction, named, opencl, vector_macros
from .helpers import helpers
from .pieces import Pieces
from .routine import WORKSPACE, Routine
from .tiles import GROUP, OPENCL, copies, device_function, row_parameters, tiled, widest

# States of a work-item in vector types: 256 bits. Twice as many take a third longer on such registers.
LANES = {"double": 4, "float": 8}
_ON_STACK = 256  # numbers of a row up to which those of all lanes lie on the stack

_HEAD = """#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
/* Every operation rounds, multiply-adds once: the numbers are those of every other machine. */
#pragma OPENCL FP_CONTRACT OFF
#define $RESTRICT restrict
/* Work-items of a group, if each has one state. */
#ifndef $GROUP
#define $GROUP {group}
#endif"""


def placed(routine: Routine) -> Routine:
    """A routine whose wide rows stay in global memory."""
    limit = widest(routine.dialect.real)
    return replace(routine, spaces={name: "__global " for name, n in routine.sizes.items() if n > limit})


def text(
    routines: Sequence[Routine],
    prefix: str,
    *,
    lanes: int = 0,
    tiles: bool = True,
    pieces: Pieces | None = None,
) -> str:
    """A program of these functions, with kernels of one state a work-item or of `lanes` states, or both.

    With `pieces`, there are also kernels of one segment a work-item.
    """
    parts = parts_of([placed(r) for r in routines], lanes=lanes, tiles=tiles)
    if pieces is not None and tiles:
        known = {name for r in routines for name in r.helpers}
        parts += [*helpers(pieces.dialect, pieces.helpers - known), *pieces.parts()]
    elif pieces is not None:
        fast = replace(pieces, dialect=contracted(pieces.dialect))
        parts += ["#pragma OPENCL FP_CONTRACT ON", contraction(fast.dialect)]
        parts += [*helpers(fast.dialect, fast.helpers), *fast.parts()]
    return named("\n\n".join(parts), prefix) + "\n"


def parts_of(
    routines: Sequence[Routine], *, lanes: int = 0, tiles: bool = True, notes: Sequence[str] = ()
) -> list[str]:
    """The paragraphs of a program, a note in front of each function."""
    dialect = routines[0].dialect
    parts = [_HEAD.format(group=GROUP), *(table for r in routines for table in r.tables())]
    if tiles:
        called = {name for r in routines for name in r.helpers}
        parts += [*helpers(dialect, called), *copies(OPENCL, routines)]
    for k, r in enumerate(routines if tiles else ()):
        note = f"{notes[k]}\n" if notes else ""
        parts += [r.text(), note + device_function(r, "static inline"), tiled(r, OPENCL)]
    return parts + (_vectors(routines, lanes) if lanes else [])


def vector_workspace(routine: Routine, lanes: int) -> int:
    """Numbers of scratch memory that a work-item with vectors needs."""
    return lanes * (routine.workspace + sum(n for n in routine.sizes.values() if n > _ON_STACK))


def vector_name(name: str) -> str:
    """The name of a function's kernel with vectors."""
    return f"${name}_vectors"


def _vectors(routines: Sequence[Routine], lanes: int) -> list[str]:
    """Functions and kernels with several states in a number."""
    dialect = opencl(routines[0].dialect.real, lanes)
    pairs = []
    for r in routines:
        wide = {name: "__global " for name, n in r.sizes.items() if n > _ON_STACK}
        pairs.append((r, replace(r, dialect=dialect, spaces=wide)))
    called = {name for _, v in pairs for name in v.helpers}
    parts = ["#pragma OPENCL FP_CONTRACT ON", vector_macros(dialect), *helpers(dialect, called)]
    for r, v in pairs:
        parts += [v.text(), _vector_kernel(r, v)]
    return [*parts, "#pragma OPENCL FP_CONTRACT OFF"]


def _vector_kernel(routine: Routine, v: Routine) -> str:
    """The kernel whose work-items have several states each, one block of them after another."""
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
    offset, places = routine.workspace, {}
    for name, n in routine.sizes.items():
        if n > _ON_STACK:
            places[name] = f"own + {offset}"
            offset += n
        else:
            places[name] = f"{name}_"
            lines.append(f"    {kind} {name}_[{n}];")
    for name, n in routine.inputs.items():
        rows = ", ".join(f"{name}[row{k} * {n} + k]" for k in range(lanes))
        lines.append(f"    for (int k = 0; k < {n}; ++k) ({places[name]})[k] = ({kind})({rows});")
    arguments = [*places.values(), *(["own", "1"] if routine.workspace else [])]
    lines += _twice(v, arguments)
    for name, n in routine.outputs.items():
        each = [f"{name}[row{k} * {n} + k] = x.s{k:x};" for k in range(lanes)]
        lines.append(f"    for (int k = 0; k < {n}; ++k) {{")
        lines.append(f"      const {kind} x = ({places[name]})[k];")
        lines += [f"      {text}" for text in reversed(each)]  # the first row belongs to the first lane
        lines.append("    }")
    return "\n".join([*lines, "  }", "}"])


def _twice(v: Routine, arguments: list[str]) -> list[str]:
    """A call of the inline function, and another one, with care, if an angle went too far."""
    d = v.dialect
    if not v.turns:
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
