# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels of OpenCL C and CUDA in which each work-item has one state.

The rows of a batch are contiguous, so neighbouring work-items would read memory far apart. The items of a
group therefore copy the rows of the group together, with coalesced accesses, into shared memory, and each
reads its own row there; results are written in the same way. The pitch of rows in shared memory is odd, which
avoids bank conflicts. Rows too wide for shared memory are read and written in place. Groups go through a
batch in a grid-stride loop, so that any launch serves any batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .codegen import STRIDE, WORKSPACE, Routine

GROUP = 64  # work-items of a group, unless the macro is defined; no script measures it
SHARED = 32 << 10  # bytes of shared memory that every device has for a group


@dataclass(frozen=True)
class GridDialect:
    """How OpenCL C and CUDA spell kernels, address spaces and indices of work-items."""

    kernel: str
    rows: str  # the address space of rows
    shared: str  # the address space of a group, of variables
    passed: str  # and of parameters
    barrier: str
    item: str
    group: str
    groups: str
    items: str
    count: str  # the type of numbers of states
    function: str


OPENCL = GridDialect(
    kernel="__kernel __attribute__((reqd_work_group_size($GROUP, 1, 1)))\nvoid",
    rows="__global ",
    shared="__local ",
    passed="__local ",
    barrier="barrier(CLK_LOCAL_MEM_FENCE);",
    item="(int)get_local_id(0)",
    group="get_group_id(0)",
    groups="get_num_groups(0)",
    items="get_global_size(0)",
    count="ulong",
    function="static inline",
)
CUDA = GridDialect(
    kernel="$GLOBAL void __launch_bounds__($GROUP)\n",
    rows="",
    shared="__shared__ ",
    passed="",
    barrier="__syncthreads();",
    item="(int)threadIdx.x",
    group="blockIdx.x",
    groups="gridDim.x",
    items="(size_t)gridDim.x * $GROUP",
    count="unsigned long long",
    function="static __device__ __forceinline__",
)


def widest(real: str) -> int:
    """Numbers of a row up to which it goes through shared memory."""
    return SHARED // (GROUP * (8 if real == "double" else 4)) - 1


def kernel_name(name: str) -> str:
    """The name of a function's kernel."""
    return f"${name}_kernel"


def copies(grid: GridDialect, routines: Sequence[Routine]) -> list[str]:
    """The functions that copy the rows of a group, if any are narrow enough."""
    real = routines[0].dialect.real
    narrow = [
        [n <= widest(real) for n in sizes.values()] for r in routines for sizes in (r.inputs, r.outputs)
    ]
    used = [any(any(each) for each in narrow[k::2]) for k in (0, 1)]
    return [source for source, is_used in zip(_copies(grid, real), used, strict=True) if is_used]


def _copies(grid: GridDialect, real: str) -> tuple[str, str]:
    shared, rows = f"{grid.passed}{real}", f"{grid.rows}{real}"
    parameters = "const int size, const int here, const int item"
    take = f"""/* The row of an item, copied by all items of a group; rows beyond the batch are zero. */
{grid.function} void $take({shared} *tile, const {rows} *rows, {real} *own, {parameters}) {{
  const int pitch = size | 1;
  {grid.barrier}
  for (int k = item; k < size * $GROUP; k += $GROUP)
    tile[k / size * pitch + k % size] = k < size * here ? rows[k] : 0;
  {grid.barrier}
  #pragma unroll
  for (int k = 0; k < size; ++k) own[k] = tile[item * pitch + k];
}}"""
    give = f"""/* The same in the other direction. */
{grid.function} void $give({shared} *tile, {rows} *rows, const {real} *own, {parameters}) {{
  const int pitch = size | 1;
  {grid.barrier}
  #pragma unroll
  for (int k = 0; k < size; ++k) tile[item * pitch + k] = own[k];
  {grid.barrier}
  for (int k = item; k < size * here; k += $GROUP) rows[k] = tile[k / size * pitch + k % size];
}}"""
    return take, give


def tiled(routine: Routine, grid: GridDialect) -> str:
    """The kernel of a function: every work-item computes states of its own."""
    real, number, sizes = routine.dialect.real, grid.count, routine.sizes
    narrow = {name: n for name, n in sizes.items() if n <= widest(real)}
    lines = [f"{grid.kernel} {kernel_name(routine.name)}({', '.join(row_parameters(routine, grid))}) {{"]
    if narrow:
        lines.append(f"  {grid.shared}{real} tile[$GROUP * {max(narrow.values()) | 1}];")
    lines.append(f"  const int item = {grid.item};")
    if routine.workspace:
        lines.append(f"  const size_t {STRIDE} = {grid.items};")
        lines.append(f"  {WORKSPACE} += ({number}){grid.group} * $GROUP + item;")
    lines += [
        f"  const {number} apart = ({number}){grid.groups} * $GROUP;",
        f"  for ({number} first = ({number}){grid.group} * $GROUP; first < count; first += apart) {{",
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


def row_parameters(routine: Routine, grid: GridDialect) -> list[str]:
    """Parameters of a kernel: the number of states, their rows, and scratch memory."""
    real, more = routine.dialect.real, " *$RESTRICT "
    made = [f"const {grid.count} count"]
    made += [f"const {grid.rows}{real}{more}{name}" for name in routine.inputs]
    made += [f"{grid.rows}{real}{more}{name}" for name in routine.outputs]
    return made + ([f"{grid.rows}{real}{more}{WORKSPACE}"] if routine.workspace else [])
