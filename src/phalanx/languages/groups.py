# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels of OpenCL C and CUDA in which a group of work-items has one state.

Iterations of a `ParallelFor` are distributed over the work-items, followed by a barrier. All items compute
everything else redundantly and store the same bits, between barriers: PoCL 3.1 miscompiles stores of one item
next to loops with barriers. Scratch buffers are in local memory as far as that goes, smallest first, the
others in global memory. Groups process a batch in a grid-stride loop.

In OpenCL C, tables are arguments: constant memory ends at 64 KB on many devices, and serialises accesses of
neighbouring items to different addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..program.grouped import local_offsets
from ..program.ir import Buffer, Load, ParallelFor, Program, Store, Table, checked, is_scratch, statements
from .codegen import FAR, STEP, WORKSPACE, Body
from .dialects import Dialect, contracted, contraction, helpers, named
from .opencl import HEAD
from .tiles import OPENCL, SHARED, GridDialect

ITEM, LOCAL, REALS, INTEGERS = "item", "local_memory", "reals", "integers"


class GroupBody(Body):
    """The statements of one program for the work-items of a group."""

    def __init__(
        self, grid: GridDialect, barrier: str, local: Mapping[Buffer, int], *args: Any, **keywords: Any
    ) -> None:
        self.grid, self.barrier, self.local = grid, barrier, local
        self.arrays: dict[str, list[np.ndarray]] = {REALS: [], INTEGERS: []}
        self._offsets: dict[tuple[str, bytes], int] = {}
        self._parallel = False
        self._loaded = self._stored = False  # scratch memory, since the last barrier
        self._global = 0  # numbers of scratch buffers in global memory
        super().__init__(*args, **keywords)

    def space_of(self, buffer: Buffer) -> str:
        return self.grid.passed if buffer in self.local else self.grid.rows

    def base_of(self, buffer: Buffer, offset: int) -> str:
        if buffer in self.local:
            return f"{LOCAL} + {self.local[buffer]}"
        self._global += buffer.size
        return f"{WORKSPACE} + {self._global - buffer.size}"

    def _table(self, table: Table, kind: str) -> str:
        if self.dialect.local_tables:
            return super()._table(table, kind)
        name = INTEGERS if kind == "int" else REALS
        values = table.values.ravel().astype(np.int32 if kind == "int" else np.float64)
        key = name, values.tobytes()
        if key not in self._offsets:
            self._offsets[key] = sum(len(x) for x in self.arrays[name])
            self.arrays[name].append(values)
        return f"({name} + {self._offsets[key]})"

    def body(self, body: tuple[Any, ...]) -> None:
        for s in body:
            if isinstance(s, Store):
                self.on_store(s)
            elif isinstance(s, ParallelFor):
                self.on_parallel_for(s)
            else:
                if isinstance(s, Load) and is_scratch(s.buffer) and not self._parallel:
                    self._wait(after_stores=True)
                    self._loaded = True
                super().body((s,))

    def _wait(self, *, after_stores: bool = False, after_loads: bool = False) -> None:
        """Write a barrier if other items may still store to or load from scratch memory."""
        if (after_stores and self._stored) or (after_loads and self._loaded):
            self.do(self.barrier)
            self._loaded = self._stored = False

    def on_store(self, s: Store) -> None:
        if self._parallel:
            super().on_store(s)
            return
        if is_scratch(s.buffer):
            self._wait(after_loads=True)
            self._stored = True
        super().on_store(s)

    def on_parallel_for(self, s: ParallelFor) -> None:
        if self._parallel:
            super().on_parallel_for(s)
            return
        self._wait(after_stores=True, after_loads=True)
        index = self.names[s.counter] = self.fresh("i")
        first, end = self.index(s.first), self.index(s.end)
        kind = self.dialect.index
        self.do("#pragma unroll 1")  # compilers would unroll long bodies, and take minutes
        self.do(f"for ({kind} {index} = {first} + {ITEM}; {index} < {end}; {index} += $GROUP) {{")
        self._parallel = True
        self._inside(s.body)
        self._parallel = False
        self.do("}")
        self._loaded = self._stored = True
        self._wait(after_stores=True)

    def _inside(self, body: tuple[Any, ...]) -> None:
        """Write a block; accesses at the end of a loop's body may precede those at its beginning."""
        touched = [x for x in statements(body) if isinstance(x, Load | Store) and is_scratch(x.buffer)]
        if not self._parallel and touched:
            self._loaded = self._stored = True
        super()._inside(body)
        if not self._parallel and touched:
            self._loaded = self._stored = True


@dataclass(frozen=True)
class GroupKernel:
    """A program under a name as a kernel whose groups have one state each."""

    name: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    program: Program
    dialect: Dialect
    grid: GridDialect
    most_local: int = SHARED  # bytes of local memory that a group may take

    @cached_property
    def body(self) -> GroupBody:
        """The statements."""
        program = checked(self.program)
        names = dict(zip((*program.inputs, *program.outputs), (*self.inputs, *self.outputs), strict=True))
        dialect = replace(self.dialect, strided=False)
        return GroupBody(self.grid, self._barrier, self.local, dialect, program, names, careful="1")

    @property
    def _barrier(self) -> str:
        """A barrier for local and global memory."""
        return self.grid.barrier.replace("CLK_LOCAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE")

    @cached_property
    def local(self) -> dict[Buffer, int]:
        """The scratch buffers in local memory, and where each begins there."""
        return local_offsets(self.program, self._bytes(1), self.most_local)

    def _bytes(self, numbers: int) -> int:
        return numbers * (8 if self.dialect.real == "double" else 4)

    @property
    def local_bytes(self) -> int:
        """Bytes of local memory that a group takes."""
        return self._bytes(sum(buffer.size for buffer in self.local))

    @property
    def scratch_bytes(self) -> int:
        """Bytes of all scratch memory of a state."""
        return self._bytes(sum(buffer.size for buffer in self.program.scratch))

    @property
    def workspace(self) -> int:
        """Numbers of scratch memory of a state in global memory."""
        return sum(buffer.size for buffer in self.program.scratch if buffer not in self.local)

    @property
    def helpers(self) -> set[str]:
        """Functions of `dialects.helpers` that it calls."""
        return self.body.helpers

    def tables(self) -> dict[str, np.ndarray]:
        """The arrays of constants that are arguments of the kernel, by name."""
        if self.dialect.local_tables:
            return {}
        real = np.float64 if self.dialect.real == "double" else np.float32
        kinds = {REALS: real, INTEGERS: np.int32}
        with np.errstate(over="ignore"):
            return {
                name: np.concatenate([*parts, np.zeros(1)]).astype(kinds[name])
                for name, parts in self.body.arrays.items()
            }

    def source(self) -> str:
        """The kernel `<name>_group(count, inputs…, outputs…[, reals, integers][, workspace])`."""
        grid, real, sizes = self.grid, self.dialect.real, {**self.inputs, **self.outputs}
        body = self.body.source.replace("@t", f"${self.name}_group_t")
        parameters = [f"const {grid.count} count"]
        parameters += [f"const {grid.rows}{real} *$RESTRICT {name}_rows" for name in self.inputs]
        parameters += [f"{grid.rows}{real} *$RESTRICT {name}_rows" for name in self.outputs]
        lines, tables = [f"  const int {ITEM} = {grid.item}, {STEP} = 1;"], list[str]()
        if self.dialect.local_tables:
            constants = self.body.constants(f"${self.name}_group_")
            tables = [f"  {line}" for table in constants for line in table.splitlines()]
        else:
            parameters += [f"const {grid.rows}{real} *$RESTRICT {REALS}"]
            parameters += [f"const {grid.rows}int *$RESTRICT {INTEGERS}"]
        if self.local:
            numbers = sum(buffer.size for buffer in self.local)
            lines.append(f"  {grid.shared}{real} {LOCAL}[{numbers}];")
        if self.workspace:
            parameters.append(f"{grid.rows}{real} *$RESTRICT {WORKSPACE}_rows")
            own = f"{WORKSPACE}_rows + {grid.group} * {self.workspace}"
            lines.append(f"  {grid.rows}{real} *const {WORKSPACE} = {own};")
        return "\n".join(
            [
                f"{grid.kernel} {group_name(self.name)}({', '.join(parameters)}) {{",
                *lines,
                *tables,
                f"  for ({grid.count} state = {grid.group}; state < count; state += {grid.groups}) {{",
                *(f"    const {grid.rows}{real} *{n} = {n}_rows + state * {sizes[n]};" for n in self.inputs),
                *(f"    {grid.rows}{real} *{n} = {n}_rows + state * {sizes[n]};" for n in self.outputs),
                f"    {self.dialect.type} {FAR} = {self.dialect.literal(0.0)};",
                body,
                f"    (void){FAR}; (void){STEP};",
                f"    {self._barrier}",
                "  }",
                "}",
            ]
        )


def group_name(name: str) -> str:
    """The name of a function's kernel for groups."""
    return f"${name}_group"


def opencl_source(kernel: GroupKernel, prefix: str, items: int, *, fused: bool) -> str:
    """The source of a kernel for groups of `items`; `fused` where compilers contract multiply-adds."""
    fast = replace(kernel, dialect=contracted(kernel.dialect)) if fused else kernel
    parts = [HEAD.format(group=items)]
    parts += ["#pragma OPENCL FP_CONTRACT ON", contraction(fast.dialect)] if fused else []
    return named("\n\n".join([*parts, *helpers(fast.dialect, fast.helpers), fast.source()]), prefix) + "\n"


__all__ = ["OPENCL", "GroupBody", "GroupKernel", "group_name", "opencl_source"]
