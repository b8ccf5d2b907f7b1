# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""OpenCL C: functions for one state, kernels for graphics processors, and kernels for others.

On graphics processors each work-item has one state (`tiles.py`). On other processors it has as many as their
registers hold, in vector types of the language: their compilers vectorise loops over work-items now and then,
explicit vectors always. States with angles that the fast path does not cover, and the last few of a batch,
are computed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..program.elementary.turns import LARGEST
from .dialects import named, opencl, vector_macros
from .helpers import helpers
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


def text(routines: Sequence[Routine], prefix: str, *, lanes: int = 0, tiles: bool = True) -> str:
    """A program of these functions, with kernels of one state a work-item or of `lanes` states, or both."""
    parts = parts_of([placed(r) for r in routines], lanes=lanes, tiles=tiles)
    return named("\n\n".join(parts), prefix) + "\n"


def parts_of(
    routines: Sequence[Routine], *, lanes: int = 0, tiles: bool = True, notes: Sequence[str] = ()
) -> list[str]:
    """The paragraphs of a program, a note in front of each function."""
    dialect = routines[0].dialect
    called = {name for r in routines for name in r.helpers}
    parts = [_HEAD.format(group=GROUP), *helpers(dialect, called)]
    parts += copies(OPENCL, routines) if tiles else []
    for k, r in enumerate(routines):
        note = f"{notes[k]}\n" if notes else ""
        parts += [*r.tables(), r.text(), note + device_function(r, "static inline")]
        parts += [tiled(r, OPENCL)] if tiles else []
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
    d, sizes = v.dialect, routine.sizes
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
        f"    {kind} far = {d.literal(2 * LARGEST)};",
        f"    if (here == {lanes}) {{",
    ]
    offset, places = routine.workspace, {}
    for name, n in sizes.items():
        if n > _ON_STACK:
            places[name] = f"own + {offset}"
            offset += n
        else:
            places[name] = f"{name}_"
            lines.append(f"      {kind} {name}_[{n}];")
    for name, n in routine.inputs.items():
        row = ", ".join(f"{name}[(first + {k}) * {n} + k]" for k in range(lanes))
        lines.append(f"      for (int k = 0; k < {n}; ++k) ({places[name]})[k] = ({kind})({row});")
    scratch = ["own", "1"] if routine.workspace else []
    lines.append(f"      {v.call([*places.values(), *scratch], step='1', careful=False, farthest='&far')}")
    for name, n in routine.outputs.items():
        each = " ".join(f"{name}[(first + {k}) * {n} + k] = x.s{k:x};" for k in range(lanes))
        lines.append(
            f"      for (int k = 0; k < {n}; ++k) {{ const {kind} x = ({places[name]})[k]; {each} }}"
        )
    limit = opencl(real).literal(LARGEST)
    lines += [
        "    }",
        f"    const {real} *const far_ = (const {real} *)&far;",
        f"    {real} farthest = 0;",
        f"    for (int l = 0; l < {lanes}; ++l) farthest = far_[l] > farthest ? far_[l] : farthest;",
        f"    if (farthest > {limit}) {{",
        "      for (int l = 0; l < here; ++l) {",
        f"        if (far_[l] > {limit}) {{",
        *(f"          {line}" for line in _one(routine)),
        "        }",
        "      }",
        "    }",
        "  }",
        "}",
    ]
    return "\n".join(lines)


def _one(routine: Routine) -> list[str]:
    """Statements that compute the state in lane `l` by itself."""
    real, sizes = routine.dialect.real, routine.sizes
    narrow = [name for name in sizes if name not in routine.spaces]
    lines = [f"{real} {name}_[{sizes[name]}];" for name in narrow]
    loop = "for (int k = 0; k < {n}; ++k)"
    for name in (x for x in narrow if x in routine.inputs):
        n = sizes[name]
        lines.append(f"{loop.format(n=n)} {name}_[k] = {name}[(first + l) * {n} + k];")
    arguments = [f"{name}_" if name in narrow else f"{name} + (first + l) * {n}" for name, n in sizes.items()]
    scratch = [f"(__global {real} *)own", "1"] if routine.workspace else []
    lines.append(f"${routine.name}({', '.join([*arguments, *scratch])});")
    for name in (x for x in narrow if x in routine.outputs):
        n = sizes[name]
        lines.append(f"{loop.format(n=n)} {name}[(first + l) * {n} + k] = {name}_[k];")
    return lines
