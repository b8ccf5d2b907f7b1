# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels of OpenCL C and CUDA in which each work-item has one state.

Rows of a batch lie one after another, so neighbouring work-items would read memory far apart. The items of a
group therefore copy the rows of a group together, neighbours next to each other, into memory that they share,
and each takes its own row from there; results go back in the same way. Rows in shared memory have an odd
length: then no two items of a warp meet in one bank. What is too wide for that is read and written in place.
Groups go through a batch with the stride of all groups, so that any launch serves any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .routine import STRIDE, WORKSPACE, Routine

GROUP = 64  # work-items of a group, unless the file is told otherwise
_SHARED = 32 << 10  # bytes that every device shares among a group


@dataclass(frozen=True)
class Words:
    """What OpenCL C and CUDA call the same things."""

    kernel: str
    rows: str  # the address space of rows
    shared: str  # that of a group, in front of variables
    passed: str  # and in front of parameters
    barrier: str
    item: str
    group: str
    groups: str
    items: str
    whole: str  # counts of states
    function: str


OPENCL = Words(
    kernel="__kernel __attribute__((reqd_work_group_size($GROUP, 1, 1)))\nvoid",
    rows="__global ",
    shared="__local ",
    passed="__local ",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    item="(int)get_local_id(0)",
    group="get_group_id(0)",
    groups="get_num_groups(0)",
    items="get_global_size(0)",
    whole="ulong",
    function="static inline",
)
CUDA = Words(
    kernel="$GLOBAL void __launch_bounds__($GROUP)\n",
    rows="",
    shared="__shared__ ",
    passed="",
    barrier="__syncthreads();",
    item="(int)threadIdx.x",
    group="blockIdx.x",
    groups="gridDim.x",
    items="(size_t)gridDim.x * $GROUP",
    whole="unsigned long long",
    function="static __device__ __forceinline__",
)


def widest(real: str) -> int:
    """Numbers of a row up to which it goes through shared memory."""
    return _SHARED // (GROUP * (8 if real == "double" else 4)) - 1


def kernel_name(name: str) -> str:
    """The name of a function's kernel."""
    return f"${name}_kernel"


def copies(words: Words, routines: Sequence[Routine]) -> list[str]:
    """The functions by which a group moves its rows, if any are narrow enough."""
    real = routines[0].dialect.real
    narrow = [
        [n <= widest(real) for n in sizes.values()] for r in routines for sizes in (r.inputs, r.outputs)
    ]
    used = [any(any(each) for each in narrow[k::2]) for k in (0, 1)]
    return [text for text, is_used in zip(_copies(words, real), used, strict=True) if is_used]


def _copies(words: Words, real: str) -> tuple[str, str]:
    shared, rows = f"{words.passed}{real}", f"{words.rows}{real}"
    parameters = "const int size, const int here, const int item"
    take = f"""/* The row of an item, copied by all items of a group; rows beyond the batch are zero. */
{words.function} void $take({shared} *tile, const {rows} *rows, {real} *own, {parameters}) {{
  const int pitch = size | 1;
  {words.barrier}
  for (int k = item; k < size * $GROUP; k += $GROUP)
    tile[k / size * pitch + k % size] = k < size * here ? rows[k] : 0;
  {words.barrier}
  #pragma unroll
  for (int k = 0; k < size; ++k) own[k] = tile[item * pitch + k];
}}"""
    give = f"""/* The same in the other direction. */
{words.function} void $give({shared} *tile, {rows} *rows, const {real} *own, {parameters}) {{
  const int pitch = size | 1;
  {words.barrier}
  #pragma unroll
  for (int k = 0; k < size; ++k) tile[item * pitch + k] = own[k];
  {words.barrier}
  for (int k = item; k < size * here; k += $GROUP) rows[k] = tile[k / size * pitch + k % size];
}}"""
    return take, give


def tiled(routine: Routine, words: Words) -> str:
    """The kernel of a function: every work-item computes states of its own."""
    real, whole, sizes = routine.dialect.real, words.whole, routine.sizes
    narrow = {name: n for name, n in sizes.items() if n <= widest(real)}
    lines = [f"{words.kernel} {kernel_name(routine.name)}({', '.join(row_parameters(routine, words))}) {{"]
    if narrow:
        lines.append(f"  {words.shared}{real} tile[$GROUP * {max(narrow.values()) | 1}];")
    lines.append(f"  const int item = {words.item};")
    if routine.workspace:
        lines.append(f"  const size_t {STRIDE} = {words.items};")
        lines.append(f"  {WORKSPACE} += ({whole}){words.group} * $GROUP + item;")
    lines += [
        f"  const {whole} apart = ({whole}){words.groups} * $GROUP;",
        f"  for ({whole} first = ({whole}){words.group} * $GROUP; first < count; first += apart) {{",
        "    const int here = count - first < $GROUP ? (int)(count - first) : $GROUP;",
        *(f"    {real} {name}_[{n}];" for name, n in narrow.items()),
        *(
            f"    $take(tile, {name} + first * {n}, {name}_, {n}, here, item);"
            for name, n in narrow.items()
            if name in routine.inputs
        ),
    ]
    arguments = [
        f"{name}_" if name in narrow else f"{name} + (first + item) * {n}" for name, n in sizes.items()
    ]
    more = [WORKSPACE, STRIDE] if routine.workspace else []
    guard = "" if len(narrow) == len(sizes) else "if (item < here) "
    lines.append(f"    {guard}${routine.name}({', '.join([*arguments, *more])});")
    lines += [
        f"    $give(tile, {name} + first * {n}, {name}_, {n}, here, item);"
        for name, n in narrow.items()
        if name in routine.outputs
    ]
    return "\n".join([*lines, "  }", "}"])


def row_parameters(routine: Routine, words: Words) -> list[str]:
    """Parameters of a kernel: how many states, their rows, and scratch memory."""
    real, more = routine.dialect.real, " *$RESTRICT "
    made = [f"const {words.whole} count"]
    made += [f"const {words.rows}{real}{more}{name}" for name in routine.inputs]
    made += [f"{words.rows}{real}{more}{name}" for name in routine.outputs]
    return made + ([f"{words.rows}{real}{more}{WORKSPACE}"] if routine.workspace else [])


def device_function(routine: Routine, qualifier: str) -> str:
    """The function for one state, for kernels of one's own."""
    real = routine.dialect.real
    call = routine.call(routine.arguments(), step="1", careful=True, farthest="&far")
    listed = ", ".join(routine.parameters(routine.dialect.pointer))
    return f"{qualifier} void ${routine.name}({listed}) {{\n  {real} far;\n  {call}\n  (void)far;\n}}"
