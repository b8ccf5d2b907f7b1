# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One function of a file: its parameters, its tables, and the inline function that holds its statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..program.form.program import Program, statements
from .codegen import FAR, Body
from .dialects import Dialect

CAREFUL, FARTHEST, STEP, WORKSPACE, STRIDE = "careful", "farthest", "step", "workspace", "stride"


@dataclass(frozen=True)
class Routine:
    """A program under a name, with identifiers and sizes of its inputs and outputs in order."""

    name: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    program: Program
    dialect: Dialect
    told: tuple[float, ...] = ()
    spaces: Mapping[str, str] = field(default_factory=dict)  # of inputs and outputs that lie elsewhere

    @property
    def sizes(self) -> dict[str, int]:
        """How many numbers each input and output is."""
        return {**self.inputs, **self.outputs}

    @property
    def numbers(self) -> int:
        """How many numbers go in and out."""
        return sum(self.sizes.values())

    @cached_property
    def length(self) -> int:
        """Statements, those inside loops counted once."""
        return sum(1 for _ in statements(self.program.body))

    @cached_property
    def body(self) -> Body:
        """The statements as text."""
        regions = (*self.program.inputs, *self.program.outputs)
        return Body(self.dialect, self.program, dict(zip(regions, self.sizes, strict=True)), self.told)

    @property
    def workspace(self) -> int:
        """Numbers of scratch memory that a call needs, 0 in straight-line code."""
        return self.body.workspace

    @property
    def turns(self) -> bool:
        """Whether there is any angle to turn."""
        return self.body.turns > 0

    @property
    def helpers(self) -> set[str]:
        """Functions of `helpers.py` that the text calls."""
        return self.body.helpers

    def parameters(self, pointer: str = "", more: str = " *$RESTRICT ") -> list[str]:
        """Declarations of inputs, outputs and workspace."""
        real = self.dialect.type
        made = [f"const {self.spaces.get(name, pointer)}{real}{more}{name}" for name in self.inputs]
        made += [f"{self.spaces.get(name, pointer)}{real}{more}{name}" for name in self.outputs]
        if not self.workspace:
            return made
        made.append(f"{self.dialect.workspace}{real}{more}{WORKSPACE}")
        return made + ([f"const size_t {STRIDE}"] if self.dialect.strided else [])

    def arguments(self, form: str = "{name}") -> list[str]:
        """What a call passes for inputs, outputs and workspace: `form` with `name` and `size` filled in."""
        made = [form.format(name=name, size=size) for name, size in self.sizes.items()]
        if not self.workspace:
            return made
        return [*made, WORKSPACE, *([STRIDE] if self.dialect.strided else [])]

    @property
    def inner(self) -> str:
        """The name of the inline function."""
        return f"${self.name}_body{self.dialect.tag}"

    def tables(self) -> list[str]:
        """The constants of the program, in front of its function or inside."""
        return self.body.constants(f"${self.name}_")

    def text(self) -> str:
        """The inline function: numbers of a state lie `step` apart; `farthest` is its largest angle."""
        d = self.dialect
        parameters = [
            *self.parameters(d.pointer),
            f"const {d.index} {STEP}",
            f"const int {CAREFUL}",
            f"{d.type} *{FARTHEST}",
        ]
        listed = ",\n    ".join(parameters)
        lines = [
            f"{d.function} void {self.inner}(\n    {listed}) {{",
            f"  {d.type} {FAR} = {d.literal(0.0)};",
        ]
        text = self.body.text.replace("@t", f"${self.name}_t")
        if d.local_tables:
            lines += [f"  {line}" for table in self.tables() for line in table.splitlines()]
        unused = [name for name in self.inputs if f" {name}[" not in text]
        unused += [CAREFUL] * (not self.turns) + [STEP] * (f"* {STEP}]" not in text)
        lines += [f"  (void){name};" for name in unused]
        return "\n".join([*lines, text, f"  *{FARTHEST} = {FAR};", "}"])

    def call(self, arguments: list[str], *, step: str, careful: bool, farthest: str) -> str:
        """A call of the inline function."""
        return f"{self.inner}({', '.join([*arguments, step, str(int(careful)), farthest])});"
