# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A module of LLVM text: the functions of one or several programs, and the tables that they share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....program.form.program import Program
from ..target import Target
from .places import Frame
from .walk import Text


def scratch_bytes(program: Program, target: Target, size: int) -> int:
    """Scratch memory that a block of a program needs."""
    lanes = target.lanes(size) if program.lanes == 1 else program.lanes
    return sum(region.size for region in program.scratch) * lanes * size


def block_function(program: Program, target: Target, element: str) -> tuple[str, set[str], int]:
    """LLVM text of the function `block` of a program, its declarations, and bytes of scratch memory."""
    module = Module(element)
    module.add(program, target)
    return module.text, module.used, scratch_bytes(program, target, module.size)


def branched_block_function(
    programs: list[Program], target: Target, element: str
) -> tuple[str, set[str], int]:
    """A block that runs one of several programs: the number in front of what is told says which."""
    module = Module(element)
    for k, program in enumerate(programs):
        module.add(program, target, f"branch{k}", told=True)
    count = len(programs[0].inputs) + len(programs[0].outputs)
    parameters = ", ".join(f"ptr %p{k}, i64 %s{k}" for k in range(count)) + ", ptr %told"
    labels = " ".join(f"i64 {k}, label %b{k}" for k in range(1, len(programs)))
    lines = [
        "%whichp = getelementptr i64, ptr %told, i64 -1",
        "%which = load i64, ptr %whichp",
        f"switch i64 %which, label %b0 [ {labels} ]",
    ]
    for k in range(len(programs)):
        lines += [f"b{k}:", f"call void @branch{k}({parameters})", "ret void"]
    body = "\n  ".join(lines)
    module.texts.append(f"define internal void @block({parameters}) noinline #0 {{\n  {body}\n}}\n")
    return module.text, module.used, 0


class Module:
    """The functions of one or several programs, and the tables that they share."""

    def __init__(self, element: str) -> None:
        self.element = element
        self.size = 8 if element == "double" else 4
        self.texts: list[str] = []
        self.used: set[str] = set()
        self._tables: dict[bytes, str] = {}

    @property
    def text(self) -> str:
        return "\n".join([*self._constants(), *self.texts])

    def table(self, values: np.ndarray) -> str:
        """The name of a constant array."""
        kind = np.int64 if values.dtype.kind in "iu" else np.float64 if self.size == 8 else np.float32
        return self._tables.setdefault(values.astype(kind).tobytes(), f"@table{len(self._tables)}")

    def _constants(self) -> Iterator[str]:
        for data, name in self._tables.items():
            text = "\\" + data.hex("\\") if data else ""
            yield f'{name} = internal constant [{len(data)} x i8] c"{text}", align 64'

    def add(self, program: Program, target: Target, name: str = "block", *, told: bool = False) -> None:
        """The function `name(in0, stride0, …, out0, stride0, …, told, scratch)`.

        The scratch memory must be aligned to 64 bytes. With `told` there is the address of the numbers
        that are for all states alike.
        """
        told = told or program.uniform is not None
        frame = Frame(self, program, target.lanes(self.size), name)
        w = Text(frame, target.fma, program.lanes)
        w.body(program.body)
        straight = program.is_straight
        alone = "" if straight else "noalias "
        parameters = ", ".join(f"ptr {alone}%p{k}, i64 %s{k}" for k in range(len(frame.pointers)))
        if told:
            parameters += ", ptr %told"
        if not straight:
            parameters += ", ptr noalias %scratch"
        # Unless aligned, the stack would hold spilt registers across lines of cache: a third more time.
        aligned = "" if straight or program.lanes > 1 else "alignstack(64) "
        head = f"define internal void @{name}({parameters}) noinline {aligned}#0 {{"
        self.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")
