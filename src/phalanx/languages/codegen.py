# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a program to statements of a language like C: one walk over it, one state at a time.

An input or output is an array whose numbers lie `step` apart, so that the same text serves one state and, in
a loop over neighbouring states, a compiler that vectorises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..program import ops
from ..program.elementary.rules import RULES
from ..program.form.program import (
    Attributed,
    Buffer,
    For,
    If,
    Index,
    InductionVariable,
    Load,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Value,
    statements,
)
from .dialects import Dialect
from .writer import SourceWriter

_TURNS = (ops.SIN, ops.COS)
_HELPED = (ops.EXP, ops.TANH, ops.LOG, ops.ARCTAN2, ops.RESCALE)  # functions of their own in the text
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "shl": "<<", "div": "/", "and": "&&"}
_OPERATORS |= {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ROW = 8  # numbers of a table in a line
FAR = "far"  # the largest angle
LANE = "lane"  # the number of a segment, where work-items take segments


class Body(SourceWriter):
    """The statements of one program."""

    def __init__(
        self,
        dialect: Dialect,
        program: Program,
        names: dict[Buffer, str],
        told: tuple[float, ...] = (),
        *,
        careful: str = "careful",
        width: int = 1,
        tables: dict[str, tuple[str, np.ndarray]] | None = None,
    ) -> None:
        super().__init__(dialect)
        self.program = program
        self.width = width  # segments of a state that take these statements, number `lane` here
        self.told = told
        self.careful = careful  # whether an angle may be beyond what the fast path takes
        self.names: dict[Any, str] = {}
        self.regions = {region: f"{name}[({{}}) * step]" for region, name in names.items()}
        self.tables = {} if tables is None else tables
        self.turns = 0
        self._used = set(operands(program.body))
        offset = 0
        for k, region in enumerate(program.scratch):
            if region.size:
                spread = " * stride" if dialect.strided else ""
                own = "" if spread or width == 1 else f" + {LANE} * {region.size}"
                self.do(f"{dialect.workspace}{dialect.type} *const r{k} = workspace + {offset}{spread}{own};")
                self.regions[region] = f"r{k}[({{}}){spread}]" if spread else f"r{k}[{{}}]"
                offset += region.size * program.lanes
        self.body(program.body)

    @property
    def workspace(self) -> int:
        """Numbers of scratch memory."""
        return sum(region.size for region in self.program.scratch) * self.program.lanes

    def constants(self, name: str) -> list[str]:
        """The tables of the program, `name` in front of the names of their own."""
        made = []
        for table, (kind, values) in self.tables.items():
            texts = [str(int(x)) if kind == "int" else self._constant(float(x)) for x in values]
            rows = [", ".join(texts[k : k + _ROW]) for k in range(0, len(texts), _ROW)]
            listed = ",\n  ".join(rows)
            head = f"{self.dialect.constant} {kind} {table.replace('@', name)}[{len(texts)}]"
            made.append(f"{head} = {{\n  {listed}\n}};")
        return made

    def _constant(self, x: float) -> str:
        """An entry of a table, which no function may make of bits."""
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

    # ------------------------------------------------------------- whole numbers and places

    def whole(self, x: Index) -> str:
        """An expression of whole numbers."""
        if isinstance(x, int):
            return str(x)
        if isinstance(x, InductionVariable):
            return self.names[x]
        if x.op == "entry":
            table, index = x.args
            return f"{self._table(table, 'int')}[{self._of_lane(index) if table.wide else self.whole(index)}]"
        if x.op == "lanes" and len(x.args) == 1:
            return self.whole(x.args[0])
        args = [self.whole(a) for a in x.args]
        if x.op == "select":
            return f"({args[0]} ? {args[1]} : {args[2]})"
        if x.op not in _OPERATORS:
            raise TypeError(f"{self.dialect.name}: no rule for the operation {x.op} on whole numbers.")
        second = f"({args[1]})" if args[1].startswith("-") else args[1]
        return f"({args[0]} {_OPERATORS[x.op]} {second})"

    def _of_lane(self, index: Index) -> str:
        """The place of a lane's own number, where each place has one for every lane."""
        return f"{self.whole(index)} * {self.width} + {LANE}" if self.width > 1 else self.whole(index)

    def _in_scratch(self, region: Buffer, index: Index) -> str:
        """The same in scratch memory, which is lane by lane unless it is strided."""
        at, lanes = self.whole(index), self.program.lanes
        if self.dialect.strided:
            return self._of_lane(index)
        return at if lanes == 1 or self.width > 1 else f"{at} % {lanes} * {region.size} + {at} / {lanes}"

    def _table(self, table: Table, kind: str) -> str:
        values = table.values.ravel()
        for name, (_, known) in self.tables.items():
            if known is values or (known.dtype == values.dtype and np.array_equal(known, values)):
                return name
        name = f"@t{len(self.tables)}"
        self.tables[name] = kind, values
        return name

    def place(self, region: Buffer | Table, index: Index) -> str:
        """Where a number stands."""
        if isinstance(region, Table):
            at = self._of_lane(index) if region.wide else self.whole(index)
            return f"{self._table(region, self.dialect.real)}[{at}]"
        if region.kind == "uniform":
            told = Table(region.name, np.array(self.told))
            return f"{self._table(told, self.dialect.real)}[{self.whole(index)}]"
        at = self._in_scratch(region, index) if region.kind == "scratch" else self.whole(index)
        return self.regions[region].format(at).replace("[(0) * step]", "[0]")

    def real(self, x: Any) -> Any:
        return x if isinstance(x, float) else self.names[x]

    # ------------------------------------------------------------- statements

    def on_load(self, s: Load) -> None:
        if s not in self._used:  # some coordinates change nothing, and compilers would warn of them
            return
        self.names[s] = self.put(self.place(s.region, s.index))

    def on_store(self, s: Store) -> None:
        self.do(f"{self.place(s.region, s.index)} = {self.operand(self.real(s.value))};")

    def on_select(self, s: Select) -> None:
        self.names[s] = self.select(self.whole(s.condition), self.real(s.a), self.real(s.b))

    def on_value(self, s: Value) -> None:
        if s not in self._used:
            return
        args = [self.real(a) for a in s.args]
        if s.op in _TURNS:
            self._turn(s.op, s.args[0], args[0])
            self.names[s] = self.names[s.op, s.args[0]]
        elif s.op in _HELPED:
            self.names[s] = self.put(self.called(s.op, *args))
        elif s.op in RULES:
            self.names[s] = RULES[s.op](self, *args)
        else:
            raise TypeError(f"{self.dialect.name}: no rule for the operation {s.op}.")

    def _turn(self, op: str, angle: Any, x: Any) -> None:
        """Sine and cosine of an angle, and how far the farthest one is."""
        if (op, angle) in self.names:
            return
        sine, cosine = self.fresh("s"), self.fresh("c")
        self.helpers.add("turn")
        self.turns += 1
        self.do(f"{self.dialect.type} {sine}, {cosine};")
        self.do(f"$turn{self.dialect.tag}({self.operand(x)}, {self.careful}, &{sine}, &{cosine}, &{FAR});")
        self.names[ops.SIN, angle], self.names[ops.COS, angle] = sine, cosine

    def on_for(self, s: For) -> None:
        index = self.names[s.counter] = self.fresh("i")
        carried = [self.fresh("w") for _ in s.carried]
        for name, each in zip(carried, s.carried, strict=True):
            self.do(f"{self.dialect.type} {name} = {self.operand(self.real(each.start))};")
        self.names.update(zip(s.carried, carried, strict=True))
        kind, first, end = self.dialect.index, self.whole(s.first), self.whole(s.end)
        if s.successor is not None:
            head = f"{kind} {index} = {first}; {index} >= 0; {index} = {self.whole(s.successor)}"
        elif s.down:
            head = f"{kind} {index} = {end} - 1; {index} >= {first}; --{index}"
        else:
            head = f"{kind} {index} = {first}; {index} < {end}; ++{index}"
        self.do(f"for ({head}) {{")
        self._inside(s.body)
        self.depth += 1
        # All at once: one may feed another.
        fed = [self.operand(self.real(x)) for x in s.yields]
        if len(fed) > 1:
            fed = [x if x not in carried else self.put(x) for x in fed]
        for name, value in zip(carried, fed, strict=True):
            self.do(f"{name} = {value};")
        self.depth -= 1
        self.do("}")

    def _inside(self, body: tuple[Any, ...]) -> None:
        """Statements between braces; sines and cosines of there are not known behind."""
        before = {key for key in self.names if isinstance(key, tuple)}
        self.depth += 1
        self.body(body)
        self.depth -= 1
        for key in [k for k in self.names if isinstance(k, tuple) and k not in before]:
            del self.names[key]

    def on_if(self, s: If) -> None:
        self.do(f"if ({self.whole(s.condition)}) {{")
        self._inside(s.body)
        self.do("}")

    def on_attributed(self, s: Attributed) -> None:
        self.body(s.body)

    def on_simd_region(self, s: SimdRegion) -> None:
        if s.width > 1:
            raise PhalanxError(
                f"{self.dialect.name}: the program takes segments of one state side by side in SIMD lanes, "
                'which this language has none of; take another algorithm, such as "aba" or "newton_euler".'
            )
        self.body(s.body)


def operands(body: tuple[Any, ...]) -> Iterator[Any]:
    """All real numbers that statements read."""
    for s in statements(body):
        if isinstance(s, Value):
            yield from s.args
        elif isinstance(s, Select):
            yield from (s.a, s.b)
        elif isinstance(s, Store):
            yield s.value
        elif isinstance(s, For):
            yield from (*(c.start for c in s.carried), *s.yields)


_STATEMENTS: dict[type, Callable[[Body, Any], None]] = {
    Load: Body.on_load,
    Value: Body.on_value,
    Select: Body.on_select,
    Store: Body.on_store,
    For: Body.on_for,
    If: Body.on_if,
    Attributed: Body.on_attributed,
    SimdRegion: Body.on_simd_region,
}
