# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The code generator for languages like C: a program becomes the statements of one inline function.

The function computes one state. Inputs and outputs have a stride of `step` numbers, so that the same function
serves rows of one state and, with states interleaved in a loop over lanes, a compiler that vectorises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..program import ops
from ..program.ir import (
    Attributed,
    Buffer,
    For,
    If,
    Index,
    InductionVariable,
    Load,
    ParallelFor,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Until,
    Value,
    checked,
    read_by,
    statements,
)
from .dialects import Dialect, SourceWriter

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "shl": "<<", "div": "/", "and": "&&"}
_OPERATORS |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ROW = 8  # numbers of a table in a line
# Identifiers of generated functions: `far` is the largest angle, written to `farthest` at the end; without
# `careful`, callers compute a state again whose angles are beyond the fast path of sine and cosine. `lane` is
# the number of a segment where each work-item has one.
FAR, LANE, CAREFUL, FARTHEST = "far", "lane", "careful", "farthest"
STEP, WORKSPACE, STRIDE = "step", "workspace", "stride"


class Body(SourceWriter):
    """Writes the statements of one program."""

    def __init__(
        self,
        dialect: Dialect,
        program: Program,
        names: dict[Buffer, str],
        *,
        careful: str = CAREFUL,
        width: int = 1,
        tables: dict[str, tuple[str, np.ndarray]] | None = None,
    ) -> None:
        super().__init__(dialect)
        self.program = program
        self.width = width  # segments of a state that run these statements
        self.careful = careful
        self.names: dict[Any, str] = {}
        self.buffers = {buffer: f"{name}[({{}}) * step]" for buffer, name in names.items()}
        self.tables = {} if tables is None else tables
        self._used = read_by(program.body)
        self._active = ""  # with states in lanes: the mask of those that are not done
        offset = 0
        for k, buffer in enumerate(program.scratch):
            if buffer.size:
                spread = f" * {STRIDE}" if dialect.strided else ""
                self.do(
                    f"{self.space_of(buffer)}{dialect.type} *const r{k} = {self.base_of(buffer, offset)};"
                )
                self.buffers[buffer] = f"r{k}[({{}}){spread}]" if spread else f"r{k}[{{}}]"
                offset += buffer.size * program.lanes
        self.body(program.body)

    def space_of(self, buffer: Buffer) -> str:
        """The address space of a scratch buffer."""
        return self.dialect.workspace

    def base_of(self, buffer: Buffer, offset: int) -> str:
        """The address of a scratch buffer, which `offset` numbers of others precede."""
        spread = f" * {STRIDE}" if self.dialect.strided else ""
        own = "" if spread or self.width == 1 else f" + {LANE} * {buffer.size}"
        return f"{WORKSPACE} + {offset}{spread}{own}"

    @property
    def workspace(self) -> int:
        """Numbers of scratch memory."""
        return sum(buffer.size for buffer in self.program.scratch) * self.program.lanes

    def constants(self, name: str) -> list[str]:
        """The tables of the program; their names begin with `name`."""
        made = []
        for table, (kind, values) in self.tables.items():
            entries = [str(int(x)) if kind == "int" else self._constant(float(x)) for x in values]
            rows = [", ".join(entries[k : k + _ROW]) for k in range(0, len(entries), _ROW)]
            head = f"{self.dialect.constant} {kind} {table.replace('@', name)}[{len(entries)}]"
            made.append(f"{head} = {{\n  " + ",\n  ".join(rows) + "\n};")
        return made

    def _constant(self, x: float) -> str:
        """An entry of a table, whose initialiser may call no function."""
        with np.errstate(over="ignore"):
            x = float(np.float32(x)) if self.dialect.real == "float" else x
        if np.isfinite(x):
            return replace(self.dialect, lanes=1).literal(x)
        return "NAN" if np.isnan(x) else "INFINITY" if x > 0 else "-INFINITY"

    def body(self, body: tuple[Any, ...]) -> None:
        for s in body:
            write = _STATEMENTS.get(type(s))
            if write is None:
                raise TypeError(f"{self.dialect.name}: no rule for the statement {type(s).__name__}.")
            write(self, s)

    # ------------------------------------------------------------- integers and addresses

    def index(self, x: Index) -> str:
        """An integer expression in the language."""
        if isinstance(x, int):
            return str(x)
        if isinstance(x, InductionVariable):
            return self.names[x]
        if x.op == "entry":
            table, index = x.args
            return f"{self._table(table, 'int')}[{self._of_lane(index) if table.wide else self.index(index)}]"
        if x.op == "lanes" and len(x.args) == 1:
            return self.index(x.args[0])
        args = [self.index(a) for a in x.args]
        if x.op == "select":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if x.op not in _OPERATORS:
            raise TypeError(f"{self.dialect.name}: no rule for the operation {x.op} on integers.")
        second = f"({args[1]})" if args[1].startswith("-") else args[1]
        return f"({args[0]} {_OPERATORS[x.op]} {second})"

    def _of_lane(self, index: Index) -> str:
        """The index of a lane's own number in a table or a buffer that interleaves lanes."""
        return f"{self.index(index)} * {self.width} + {LANE}" if self.width > 1 else self.index(index)

    def _in_scratch(self, buffer: Buffer, index: Index) -> str:
        """The address of a number in scratch memory, which is contiguous for each lane unless strided."""
        at, lanes = self.index(index), self.program.lanes
        if self.dialect.strided:
            return self._of_lane(index)
        return at if lanes == 1 or self.width > 1 else f"{at} % {lanes} * {buffer.size} + {at} / {lanes}"

    def _table(self, table: Table, kind: str) -> str:
        values = table.values.ravel()
        for name, (_, known) in self.tables.items():
            if known is values or (known.dtype == values.dtype and np.array_equal(known, values)):
                return name
        name = f"@t{len(self.tables)}"
        self.tables[name] = kind, values
        return name

    def element_of(self, buffer: Buffer | Table, index: Index) -> str:
        """The element of a buffer or table at an index, as an lvalue."""
        if isinstance(buffer, Table):
            at = self._of_lane(index) if buffer.wide else self.index(index)
            return f"{self._table(buffer, self.dialect.real)}[{at}]"
        at = self._in_scratch(buffer, index) if buffer.kind == "scratch" else self.index(index)
        return self.buffers[buffer].format(at).replace("[(0) * step]", "[0]")

    def real(self, x: Any) -> Any:
        return x if isinstance(x, float) else self.names[x]

    # ------------------------------------------------------------- statements

    def on_load(self, s: Load) -> None:
        if s in self._used:  # compilers would warn of unused variables
            self.names[s] = self.put(self.element_of(s.buffer, s.index))

    def on_store(self, s: Store) -> None:
        element, value = self.element_of(s.buffer, s.index), self.operand(self.real(s.value))
        self.do(f"{element} = {f'{self._active} ? {value} : {element}' if self._active else value};")

    def on_select(self, s: Select) -> None:
        self.names[s] = self.select(self.index(s.condition), self.real(s.a), self.real(s.b))

    def on_value(self, s: Value) -> None:
        if s not in self._used:
            return
        args = [self.real(a) for a in s.args]
        if s.op in (ops.SIN, ops.COS):
            self._sincos(s.args[0], args[0])
            self.names[s] = self.names[s.op, s.args[0]]
        elif ops.OPS[s.op].parameters:
            self.names[s] = self.put(self.called(s.op, *args))
        else:
            self.names[s] = self.steps(s.op, *args)

    def _sincos(self, angle: Any, x: Any) -> None:
        """Name sine and cosine of an angle, computed together when the first of them is needed."""
        if (ops.SIN, angle) in self.names:
            return
        sine, cosine = self.fresh("s"), self.fresh("c")
        self.helpers.add("sincos")
        self.do(f"{self.dialect.type} {sine}, {cosine};")
        self.do(f"$sincos{self.dialect.tag}({self.operand(x)}, {self.careful}, &{sine}, &{cosine}, &{FAR});")
        self.names[ops.SIN, angle], self.names[ops.COS, angle] = sine, cosine

    def on_for(self, s: For) -> None:
        index = self.names[s.counter] = self.fresh("i")
        carried = [self.fresh("w") for _ in s.carried]
        for name, each in zip(carried, s.carried, strict=True):
            self.do(f"{self.dialect.type} {name} = {self.operand(self.real(each.start))};")
        self.names.update(zip(s.carried, carried, strict=True))
        kind, first, end = self.dialect.index, self.index(s.first), self.index(s.end)
        if s.successor is not None:
            head = f"{kind} {index} = {first}; {index} >= 0; {index} = {self.index(s.successor)}"
        elif s.down:
            head = f"{kind} {index} = {end} - 1; {index} >= {first}; --{index}"
        else:
            head = f"{kind} {index} = {first}; {index} < {end}; ++{index}"
        self.do(f"for ({head}) {{")
        self._inside(s.body)
        self.depth += 1
        self._yield(carried, s.yields)
        self.depth -= 1
        self.do("}")

    def _yield(self, carried: list[str], yields: tuple[Any, ...]) -> None:
        """A parallel assignment: one loop-carried value may yield another."""
        fed = [self.operand(self.real(x)) for x in yields]
        if len(fed) > 1:
            fed = [x if x not in carried else self.put(x) for x in fed]
        for name, value in zip(carried, fed, strict=True):
            self.do(f"{name} = {f'{self._active} ? {value} : {name}' if self._active else value};")

    def on_until(self, s: Until) -> None:
        """A loop that ends on data; with states in lanes, a mask preserves those that are done."""
        d, index, outside = self.dialect, self.fresh("i"), self._active
        self.names[s.counter] = index
        carried = [self.fresh("w") for _ in s.carried]
        for name, each in zip(carried, s.carried, strict=True):
            self.do(f"{d.type} {name} = {self.operand(self.real(each.start))};")
        self.names.update(zip(s.carried, carried, strict=True))
        if d.lanes > 1:
            self._active = self.fresh("active")
            kind = d.unsigned.removeprefix("u")
            self.do(f"{kind} {self._active} = {outside or f'({kind})(-1)'};")
        done = self.fresh("done")
        self.do(f"int {done} = 0;")
        limit = self.index(s.limit)
        self.do(f"for ({d.index} {index} = 0; !{done} && {index} < {limit}; ++{index}) {{")
        self._inside(s.body)
        self.depth += 1
        stop = self.compare("une", self.real(s.stop), 0.0)
        if d.lanes > 1:
            self._yield(carried, s.yields)
            self.do(f"{self._active} &= ~{stop};")
            self.do(f"{done} = !any({self._active});")
        else:
            self.do(f"{done} = {stop};")
            self._yield(carried, s.yields)
        self.depth -= 1
        self.do("}")
        self._active = outside

    def on_parallel_for(self, s: ParallelFor) -> None:
        """A sequential loop; `groups.py` distributes its iterations over work-items."""
        self.on_for(For(s.counter, s.first, s.end, False, (), (), s.body))

    def _inside(self, body: tuple[Any, ...]) -> None:
        """Write statements between braces; sines and cosines computed there are out of scope afterwards."""
        before = {key for key in self.names if isinstance(key, tuple)}
        self.depth += 1
        self.body(body)
        self.depth -= 1
        for key in [k for k in self.names if isinstance(k, tuple) and k not in before]:
            del self.names[key]

    def on_if(self, s: If) -> None:
        self.do(f"if ({self.index(s.condition)}) {{")
        self._inside(s.body)
        self.do("}")

    def on_attributed(self, s: Attributed) -> None:
        self.body(s.body)

    def on_simd_region(self, s: SimdRegion) -> None:
        if s.width > 1:
            raise PhalanxError(
                f"{self.dialect.name}: the program has segments of one state in SIMD lanes, which this "
                'language lacks; take another algorithm, such as "aba" or "newton_euler".'
            )
        self.body(s.body)


_STATEMENTS: dict[type, Callable[[Body, Any], None]] = {
    Load: Body.on_load,
    Value: Body.on_value,
    Select: Body.on_select,
    Store: Body.on_store,
    For: Body.on_for,
    Until: Body.on_until,
    ParallelFor: Body.on_parallel_for,
    If: Body.on_if,
    Attributed: Body.on_attributed,
    SimdRegion: Body.on_simd_region,
}


@dataclass(frozen=True)
class Routine:
    """A function of a file: a program under a name, with identifiers and sizes of its inputs and outputs."""

    name: str
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    program: Program
    dialect: Dialect
    spaces: Mapping[str, str] = field(default_factory=dict)  # address spaces that differ from the dialect's

    @property
    def sizes(self) -> dict[str, int]:
        """The length of each input and output, in numbers."""
        return {**self.inputs, **self.outputs}

    @property
    def numbers(self) -> int:
        """The total length of inputs and outputs, in numbers."""
        return sum(self.sizes.values())

    @cached_property
    def length(self) -> int:
        """The number of statements, those inside loops counted once."""
        return sum(1 for _ in statements(self.program.body))

    @cached_property
    def body(self) -> Body:
        """The statements."""
        program = checked(self.program)
        names = dict(zip((*program.inputs, *program.outputs), self.sizes, strict=True))
        return Body(self.dialect, program, names)

    @property
    def workspace(self) -> int:
        """Numbers of scratch memory that a call needs, 0 in straight-line code."""
        return self.body.workspace

    @property
    def helpers(self) -> set[str]:
        """Functions of `dialects.helpers` that it calls."""
        return self.body.helpers

    @property
    def has_angles(self) -> bool:
        """Whether it computes any sine or cosine."""
        return "sincos" in self.helpers

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
        """Arguments of a call for inputs, outputs and workspace: `form` with `name` and `size` filled in."""
        made = [form.format(name=name, size=size) for name, size in self.sizes.items()]
        if not self.workspace:
            return made
        return [*made, WORKSPACE, *([STRIDE] if self.dialect.strided else [])]

    @property
    def inner(self) -> str:
        """The name of the inline function."""
        return f"${self.name}_body{self.dialect.tag}"

    def tables(self) -> list[str]:
        """The tables of constants, before the function or local to it."""
        return self.body.constants(f"${self.name}_")

    def source(self) -> str:
        """The inline function: `step` is the stride of a state's numbers, `farthest` its largest angle."""
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
        body = self.body.source.replace("@t", f"${self.name}_t")
        if d.local_tables:
            lines += [f"  {line}" for table in self.tables() for line in table.splitlines()]
        unused = [name for name in self.inputs if f" {name}[" not in body]
        unused += [CAREFUL] * (not self.has_angles) + [STEP] * (f"* {STEP}]" not in body)
        lines += [f"  (void){name};" for name in unused]
        return "\n".join([*lines, body, f"  *{FARTHEST} = {FAR};", "}"])

    def call(self, arguments: list[str], *, step: str, careful: bool, farthest: str) -> str:
        """A call of the inline function."""
        return f"{self.inner}({', '.join([*arguments, step, str(int(careful)), farthest])});"

    def of_one_state(self, qualifiers: str) -> str:
        """The function of one state that users call, around the inline function."""
        call = self.call(self.arguments(), step="1", careful=True, farthest="&far")
        listed = ", ".join(self.parameters(self.dialect.pointer))
        head = f"{qualifiers} void ${self.name}({listed}) {{"
        return f"{head}\n  {self.dialect.real} far;\n  {call}\n  (void)far;\n}}"
