# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs as people write them, and back: `text` prints a program, `parse` reads it.

Lines are declarations, then statements, blocks indented. Expressions are those of Python; `#` precedes the
quantity that a value belongs to, that of the product in a multiply-add, and the body. Names are generated
whenever a program is printed: equal texts are equal programs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np

from ..errors import PhalanxError
from .ir import (
    Attributed,
    Buffer,
    Containers,
    For,
    If,
    InductionVariable,
    IntExpr,
    Load,
    LoopCarried,
    ParallelFor,
    Program,
    Select,
    SimdRegion,
    Store,
    Table,
    Until,
    Value,
    statements,
)
from .ops import ADD, DIV, FMA, FMS, FNMA, MUL, NEG, OPS, SUB

_WIDTH = 110
_INFIX = {ADD: "+", SUB: "-", MUL: "*", DIV: "/"}
# Operations on integers: operator and precedence.
_INTEGERS = {"add": ("+", 4), "sub": ("-", 4), "mul": ("*", 5), "div": ("//", 5), "shl": ("<<", 3)}
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FUSED = (FMA, FMS, FNMA)
_RESERVED = {*OPS, *_INTEGERS, *_COMPARED}
_RESERVED |= {"lanes", "range", "reversed", "successors", "select", "and", "or", "not", "if", "else", "for"}
_RESERVED |= {
    "body",
    "carry",
    "next",
    "stop",
    "repeat",
    "parallel",
    "in",
    "is",
    "lambda",
    "inf",
    "nan",
    "table",
}
_COUNTERS = "ijklmn"


# ------------------------------------------------------------------- printing


def text(program: Program) -> str:
    """A program as text that `parse` reads back."""
    return "\n".join(_ProgramPrinter(program).lines()) + "\n"


def statement_texts(program: Program) -> dict[int, str]:
    """The first line of each statement by its number, which counts from 1 through blocks as they are printed.

    The program may be broken: what is not defined prints as `undefined`.
    """
    printer = _ProgramPrinter(program)
    printer.prepare()
    return {number: printer.line(s) for number, s in enumerate(statements(program.body), 1)}


class _ProgramPrinter:
    """The names of a program's buffers, tables and values."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.taken: set[str] = set(_RESERVED)
        self.names: dict[Any, str] = {}
        self.numbers: dict[str, int] = {}

    def prepare(self) -> None:
        """Name all buffers, tables, sizes and values."""
        p = self.program
        for buffer in (*p.inputs, *p.outputs, *([] if p.uniform is None else [p.uniform]), *p.scratch):
            self.names[buffer] = self._unique(_identifier(buffer.name))
        self.tables = list(dict.fromkeys(_tables(p.body)))
        for table in self.tables:
            self.names[table] = self._unique(_identifier(table.name))
        for size in p.sizes:
            self.names[size] = self._numbered("n")
        self._name_values(p.body, 0)

    def lines(self) -> Iterator[str]:
        """The lines of the program."""
        self.prepare()
        p = self.program
        facts = (("lanes", p.lanes, 1), ("bodies", p.bodies, 0), ("parameters", p.parameters, 0))
        yield " ".join(["program", *(f"{name}={value}" for name, value, usual in facts if value != usual)])
        for kind, buffers in (("input", p.inputs), ("output", p.outputs), ("scratch", p.scratch)):
            for buffer in buffers:
                yield self._declared(kind, buffer)
        if p.uniform is not None:
            yield self._declared("uniform", p.uniform)
        for size in p.sizes:
            yield f"size {self.names[size]}"
        for table in self.tables:
            yield from self._table(table)
        yield ""
        yield from self._block(p.body, "")

    def _declared(self, kind: str, buffer: Buffer) -> str:
        shape = self.program.shapes.get(buffer.name, ()) if kind in ("input", "output") else ()
        if prod(shape) != buffer.size or kind in ("scratch", "uniform"):
            shape = (buffer.size,)  # of an input whose adjoint has its name, but another size
        made = f"{kind} {self.names[buffer]}[{', '.join(map(str, shape))}]"
        usual = kind in ("input", "uniform")
        given = "" if buffer.given == usual else " given" if buffer.given else " not given"
        return made + given + self._original(buffer)

    def _original(self, x: Buffer | Table) -> str:
        return "" if self.names[x] == x.name else f" named {x.name!r}"

    def _table(self, table: Table) -> Iterator[str]:
        wide = "wide " if table.wide else ""
        shape = ", ".join(map(str, table.values.shape))
        head = (
            f"{wide}table {self.names[table]}[{shape}] of {table.values.dtype.name}{self._original(table)} ="
        )
        is_integer = table.values.dtype.kind in "iub"
        line = head
        for x in table.values.ravel().tolist():
            entry = f" {int(x) if is_integer else _float(x)},"
            if len(line) + len(entry) > _WIDTH:
                yield line
                line = "   "
            line += entry
        yield line.removesuffix(",")

    # ------------------------------------------------------------- names

    def _unique(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name

    def _numbered(self, base: str) -> str:
        """The next free name of a base and a number."""
        base += "_" if base[-1:].isdigit() else ""
        number = self.numbers.get(base, 0)
        while (name := f"{base}{number}") in self.taken:
            number += 1
        self.numbers[base] = number + 1
        self.taken.add(name)
        return name

    def _name_values(self, body: tuple[Any, ...], depth: int) -> None:
        for s in body:
            if isinstance(s, Load):
                base = self.names.get(s.buffer, "undefined")
                fixed = f"{base}{s.index}" if isinstance(s.index, int) and s.index >= 0 else ""
                if fixed and fixed not in self.taken and not base[-1:].isdigit():
                    self.names[s] = self._unique(fixed)
                else:
                    self.names[s] = self._numbered(base)
            elif isinstance(s, Value):
                self.names[s] = self._numbered(s.quantity if s.quantity.isidentifier() else "x")
            elif isinstance(s, Select):
                self.names[s] = self._numbered("x")
            elif isinstance(s, For | Until | ParallelFor):
                letter = _COUNTERS[depth % len(_COUNTERS)] + str(depth // len(_COUNTERS) or "")
                self.names[s.counter] = letter if letter not in self.taken else self._numbered(letter)
                for c in () if isinstance(s, ParallelFor) else s.carried:
                    self.names[c] = self._numbered("c")
                self._name_values(s.body, depth + 1)
            elif isinstance(s, Containers):
                self._name_values(s.body, depth)

    # ------------------------------------------------------------- statements

    def _block(self, body: tuple[Any, ...], margin: str) -> Iterator[str]:
        for s in body:
            yield margin + self.line(s)
            if not isinstance(s, Containers):
                continue
            inside = margin + "  "
            if isinstance(s, For | Until):
                for c in s.carried:
                    yield f"{inside}carry {self.names[c]} = {self.real(c.start)}"
            yield from self._block(s.body, inside)
            if isinstance(s, For | Until):
                for c, x in zip(s.carried, s.yields, strict=True):
                    yield f"{inside}next {self.names[c]} = {self.real(x)}"
            if isinstance(s, Until):
                yield f"{inside}stop if {self.real(s.stop)}"

    def line(self, s: Any) -> str:
        """The first line of a statement."""
        rule = _LINES.get(type(s))
        return rule(self, s) if rule else f"<{type(s).__name__}>"

    def load(self, s: Load) -> str:
        return f"{self.name(s)} = {self.name(s.buffer)}[{self.integer(s.index)}]"

    def store(self, s: Store) -> str:
        return f"{self.name(s.buffer)}[{self.integer(s.index)}] = {self.real(s.value)}"

    def select(self, s: Select) -> str:
        return f"{self.name(s)} = {self.real(s.a)} if {self.integer(s.condition)} else {self.real(s.b)}"

    def value(self, s: Value) -> str:
        args = [self.real(a) for a in s.args]
        if s.op in _INFIX and len(args) == 2:
            made = f"{args[0]} {_INFIX[s.op]} {args[1]}"
        elif s.op == NEG and len(args) == 1 and not isinstance(s.args[0], float):
            made = f"-{args[0]}"
        else:
            made = f"{s.op}({', '.join(args)})"
        return f"{self.name(s)} = {made}{_annotation(s)}"

    def loop(self, s: For) -> str:
        counter, first, end = self.name(s.counter), self.integer(s.first), self.integer(s.end)
        if s.successor is not None:
            return f"for {counter} in successors({first}, {self.integer(s.successor)}):"
        steps = f"range({first}, {end})"
        return f"for {counter} in {f'reversed({steps})' if s.down else steps}:"

    def until(self, s: Until) -> str:
        return f"repeat {self.name(s.counter)} in range({self.integer(s.limit)}):"

    def parallel(self, s: ParallelFor) -> str:
        return (
            f"parallel for {self.name(s.counter)} in range({self.integer(s.first)}, {self.integer(s.end)}):"
        )

    def when(self, s: If) -> str:
        return f"if {self.integer(s.condition)}:"

    def attributed(self, s: Attributed) -> str:
        return f"body {self.integer(s.body_index)}:"

    def simd(self, s: SimdRegion) -> str:
        return f"lanes {s.width}:"

    # ------------------------------------------------------------- operands

    def name(self, x: Any) -> str:
        try:
            return self.names.get(x, "undefined")
        except TypeError:
            return "undefined"

    def real(self, x: Any) -> str:
        return _float(x) if isinstance(x, float) else self.name(x)

    def integer(self, x: Any, outside: int = 0) -> str:
        """An expression of integers; in brackets if the operator around it binds more tightly."""
        if isinstance(x, int | np.integer):
            return str(int(x))
        if not isinstance(x, IntExpr):
            return self.name(x) if isinstance(x, InductionVariable) else repr(x)
        made, strength = self._integer(x)
        return f"({made})" if strength < outside else made

    def _integer(self, x: IntExpr) -> tuple[str, int]:
        op, args = x.op, x.args
        if op == "entry" and len(args) == 2:
            return f"{self.name(args[0])}[{self.integer(args[1])}]", 9
        if op in _INTEGERS and len(args) == 2:
            sign, strength = _INTEGERS[op]
            if op == "add" and isinstance(args[1], int) and args[1] < 0:
                return f"{self.integer(args[0], strength)} - {-args[1]}", strength
            if op != "sub" or not isinstance(args[1], int):
                return (
                    f"{self.integer(args[0], strength)} {sign} {self.integer(args[1], strength + 1)}",
                    strength,
                )
        if op in _COMPARED and len(args) == 2:
            return f"{self.integer(args[0], 3)} {_COMPARED[op]} {self.integer(args[1], 3)}", 2
        if op == "and" and len(args) == 2:
            return f"{self.integer(args[0], 2)} and {self.integer(args[1], 2)}", 1
        if op == "select" and len(args) == 3:
            condition, a, b = (self.integer(a, 1) for a in args)
            return f"{a} if {condition} else {b}", 0
        return f"{op}({', '.join(self.integer(a) for a in args)})", 9


_LINES: dict[type, Callable[[_ProgramPrinter, Any], str]] = {
    Load: _ProgramPrinter.load,
    Store: _ProgramPrinter.store,
    Select: _ProgramPrinter.select,
    Value: _ProgramPrinter.value,
    For: _ProgramPrinter.loop,
    Until: _ProgramPrinter.until,
    ParallelFor: _ProgramPrinter.parallel,
    If: _ProgramPrinter.when,
    Attributed: _ProgramPrinter.attributed,
    SimdRegion: _ProgramPrinter.simd,
}


def _identifier(name: str) -> str:
    made = re.sub(r"\W", "_", name)
    return made if made.isidentifier() else f"_{made}"


def _float(x: float) -> str:
    return repr(float(x))


def _annotation(s: Value) -> str:
    made = s.quantity
    if s.op in _FUSED and s.of_product != s.quantity:
        made += f" (product {s.of_product})"
    if s.body_index >= 0:
        made += f" of body {s.body_index}"
    return f"  # {made.strip()}" if made else ""


def _tables(body: tuple[Any, ...]) -> Iterator[Table]:
    """The tables that statements read."""
    for s in statements(body):
        if isinstance(s, Load) and isinstance(s.buffer, Table):
            yield s.buffer
        for field in ("index", "condition", "first", "end", "successor", "limit", "body_index"):
            yield from _tables_of(getattr(s, field, None))


def _tables_of(index: Any) -> Iterator[Table]:
    if isinstance(index, Table):
        yield index
    elif isinstance(index, IntExpr):
        for a in index.args:
            yield from _tables_of(a)


# ------------------------------------------------------------------- parsing


def parse(source: str) -> Program:
    """The program that a text describes."""
    return _ProgramReader(source).program()


_SHAPED = re.compile(
    r"(?P<wide>wide )?(?P<kind>input|output|scratch|uniform|table) (?P<name>\w+)\[(?P<shape>[\d, ]*)\]"
    r"(?: of (?P<dtype>\w+))?(?P<given> not given| given)?"
    r"(?: named (?P<original>'.*?'|\".*?\"))?(?: =(?P<values>.*))?$"
)
_NOTE = re.compile(r"(?P<quantity>.*?)(?: ?\(product (?P<product>.*?)\))?(?: ?of body (?P<body>\d+))?$")
_HEADS = {
    "for": re.compile(r"for (\w+) in (.*):$"),
    "repeat": re.compile(r"repeat (\w+) in range\((.*)\):$"),
    "parallel": re.compile(r"parallel for (\w+) in (.*):$"),
    "if": re.compile(r"if (.*):$"),
    "body": re.compile(r"body (.*):$"),
    "lanes": re.compile(r"lanes (\d+):$"),
}
_SIGNS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "div", ast.LShift: "shl"}
_TESTS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
_ARITHMETIC = {ast.Add: ADD, ast.Sub: SUB, ast.Mult: MUL, ast.Div: DIV}


class _ProgramReader:
    """A parser: its lines, and the objects that names denote so far."""

    def __init__(self, source: str) -> None:
        self.lines = [(k, line) for k, line in enumerate(source.splitlines(), 1) if line.strip()]
        self.at = 0
        self.names: dict[str, Any] = {}
        self.buffers: dict[str, list[Buffer]] = {"input": [], "output": [], "scratch": [], "uniform": []}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.sizes: list[InductionVariable] = []

    def program(self) -> Program:
        try:
            return self._program()
        except (SyntaxError, ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
            number, line = self.lines[min(self.at, len(self.lines)) - 1] if self.lines else (0, "")
            what = f"{error.args[0]} is not defined" if isinstance(error, KeyError) else str(error)
            raise PhalanxError(f"program text, line {number}, {line.strip()!r}: {what}.") from None

    def _program(self) -> Program:
        head = self._take().split()
        if head[0] != "program":
            raise ValueError('a program begins with "program"')
        facts: dict[str, Any] = {name: int(value) for name, value in (fact.split("=") for fact in head[1:])}
        while self.at < len(self.lines) and self._declared():
            pass
        body = self._block(0)
        if self.at < len(self.lines):
            self.at += 1
            raise ValueError("this line is indented as no block is")
        uniforms = self.buffers["uniform"]
        return Program(
            tuple(self.buffers["input"]),
            tuple(self.buffers["output"]),
            body,
            tuple(self.buffers["scratch"]),
            shapes=self.shapes,
            uniform=uniforms[0] if uniforms else None,
            sizes=tuple(self.sizes),
            **facts,
        )

    def _take(self) -> str:
        self.at += 1
        return self.lines[self.at - 1][1]

    # ------------------------------------------------------------- declarations

    def _declared(self) -> bool:
        line = self.lines[self.at][1]
        if match := re.fullmatch(r"size (\w+)", line):
            self.at += 1
            self.sizes.append(InductionVariable())
            self.names[match[1]] = self.sizes[-1]
            return True
        match = _SHAPED.match(line)
        if not match:
            return False
        self.at += 1
        shape = tuple(int(n) for n in match["shape"].split(",") if n.strip())
        name = ast.literal_eval(match["original"]) if match["original"] else match["name"]
        kind = match["kind"]
        if kind == "table":
            self.names[match["name"]] = self._table(name, shape, match)
            return True
        usual = kind in ("input", "uniform")
        given = usual if match["given"] is None else match["given"] == " given"
        buffer = Buffer(name, prod(shape), kind, given)
        self.names[match["name"]] = buffer
        self.buffers[kind].append(buffer)
        if kind in ("input", "output"):
            self.shapes[name] = shape
        return True

    def _table(self, name: str, shape: tuple[int, ...], match: re.Match[str]) -> Table:
        numbers = match["values"] or ""
        while self.at < len(self.lines) and self.lines[self.at][1].startswith("    "):
            numbers += self._take()
        dtype = np.dtype(match["dtype"])
        kind: Callable[[str], Any] = float if dtype.kind == "f" else int
        entries = [kind(x) for x in numbers.split(",") if x.strip()]
        return Table(name, np.array(entries, dtype).reshape(shape), bool(match["wide"]))

    # ------------------------------------------------------------- statements

    def _block(self, depth: int) -> tuple[Any, ...]:
        """The statements that are indented by `depth` levels."""
        margin, made = "  " * depth, []
        while self.at < len(self.lines):
            line = self.lines[self.at][1]
            if not line.startswith(margin) or line[len(margin) :].startswith(" "):
                break
            line = line[len(margin) :]
            if re.match(r"(next|stop) ", line):
                break
            self.at += 1
            made.append(self._statement(line, depth))
        return tuple(made)

    def _statement(self, line: str, depth: int) -> Any:
        word = line.split(" ", 1)[0]
        if word in _HEADS and line.endswith(":"):
            match = _HEADS[word].match(line)
            if match is None:
                raise ValueError("not the head of a block")
            return getattr(self, f"_{word}")(match, depth + 1)
        code, _, note = line.partition("  # ")
        tree = ast.parse(code).body[0]
        if not isinstance(tree, ast.Assign):
            raise ValueError("expected an assignment")
        target = tree.targets[0]
        if isinstance(target, ast.Subscript):
            return Store(self.names[_name(target.value)], self._integer(target.slice), self._real(tree.value))
        made = self._made(tree.value, note)
        self.names[_name(target)] = made
        return made

    def _made(self, tree: ast.expr, note: str) -> Any:
        """The load, selection or operation of an assignment."""
        if isinstance(tree, ast.Subscript):
            return Load(self.names[_name(tree.value)], self._integer(tree.slice))
        if isinstance(tree, ast.IfExp):
            return Select(self._integer(tree.test), self._real(tree.body), self._real(tree.orelse))
        if isinstance(tree, ast.BinOp):
            op, args = _ARITHMETIC[type(tree.op)], [tree.left, tree.right]
        elif isinstance(tree, ast.UnaryOp):
            op, args = NEG, [tree.operand]
        elif isinstance(tree, ast.Call):
            op, args = _name(tree.func), tree.args
        else:
            raise ValueError("expected a load, a selection or an operation")
        match = _NOTE.fullmatch(note)
        assert match is not None
        quantity = match["quantity"]
        product = (quantity if match["product"] is None else match["product"]) if op in _FUSED else ""
        return Value(op, tuple(map(self._real, args)), quantity, product, int(match["body"] or -1))

    def _carried(self, depth: int) -> list[tuple[str, LoopCarried]]:
        margin, made = "  " * depth, []
        while self.at < len(self.lines) and self.lines[self.at][1].startswith(f"{margin}carry "):
            name, _, start = self._take().strip().removeprefix("carry ").partition(" = ")
            made.append((name, LoopCarried(self._real(_expression(start)))))
        return made

    def _loop_body(self, depth: int) -> tuple[tuple[LoopCarried, ...], tuple[Any, ...], tuple[Any, ...]]:
        """(loop-carried values, yields, body) of a loop."""
        carried = self._carried(depth)
        self.names.update(carried)
        body = self._block(depth)
        yields = []
        for name, _ in carried:
            head = f"{'  ' * depth}next {name} = "
            line = self._take()
            if not line.startswith(head):
                raise ValueError(f'expected "next {name} = …"')
            yields.append(self._real(_expression(line.removeprefix(head))))
        return tuple(c for _, c in carried), tuple(yields), body

    def _counter(self, name: str) -> InductionVariable:
        made = self.names[name] = InductionVariable()
        return made

    def _for(self, match: re.Match[str], depth: int) -> For:
        tree, down, successor = _expression(match[2]), False, None
        assert isinstance(tree, ast.Call)
        if _name(tree.func) == "reversed":
            down, tree = True, tree.args[0]
            assert isinstance(tree, ast.Call)
        first, last = tree.args
        start = self._integer(first)
        end = 0 if (by_successor := _name(tree.func) == "successors") else self._integer(last)
        counter = self._counter(match[1])
        if by_successor:
            successor = self._integer(last)
        carried, yields, body = self._loop_body(depth)
        return For(counter, start, end, down, carried, yields, body, successor)

    def _repeat(self, match: re.Match[str], depth: int) -> Until:
        limit = self._integer(_expression(match[2]))
        counter = self._counter(match[1])
        carried, yields, body = self._loop_body(depth)
        line = self._take().strip()
        if not line.startswith("stop if "):
            raise ValueError('expected "stop if …"')
        stop = self._real(_expression(line.removeprefix("stop if ")))
        return Until(counter, limit, carried, yields, stop, body)

    def _parallel(self, match: re.Match[str], depth: int) -> ParallelFor:
        tree = _expression(match[2])
        assert isinstance(tree, ast.Call)
        first, end = map(self._integer, tree.args)
        return ParallelFor(self._counter(match[1]), first, end, self._block(depth))

    def _if(self, match: re.Match[str], depth: int) -> If:
        return If(self._integer(_expression(match[1])), self._block(depth))

    def _body(self, match: re.Match[str], depth: int) -> Attributed:
        return Attributed(self._integer(_expression(match[1])), self._block(depth))

    def _lanes(self, match: re.Match[str], depth: int) -> SimdRegion:
        return SimdRegion(int(match[1]), self._block(depth))

    # ------------------------------------------------------------- expressions

    def _real(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return -self._real(tree.operand)
        if isinstance(tree, ast.Constant):
            return float(tree.value)  # type: ignore[arg-type]
        name = _name(tree)
        return {"inf": np.inf, "nan": np.nan}[name] if name in ("inf", "nan") else self.names[name]

    def _integer(self, tree: ast.expr) -> Any:
        if isinstance(tree, ast.Constant):
            return int(tree.value)  # type: ignore[arg-type]
        if isinstance(tree, ast.UnaryOp):
            return -self._integer(tree.operand)
        if isinstance(tree, ast.Name):
            return self.names[tree.id]
        if isinstance(tree, ast.Subscript):
            return IntExpr("entry", (self.names[_name(tree.value)], self._integer(tree.slice)))
        if isinstance(tree, ast.BinOp):
            a, b = self._integer(tree.left), self._integer(tree.right)
            if isinstance(tree.op, ast.Sub) and isinstance(b, int):
                return IntExpr("add", (a, -b))
            return IntExpr(_SIGNS[type(tree.op)], (a, b))
        if isinstance(tree, ast.Compare):
            return IntExpr(
                _TESTS[type(tree.ops[0])], (self._integer(tree.left), self._integer(tree.comparators[0]))
            )
        if isinstance(tree, ast.BoolOp):
            return IntExpr("and", tuple(map(self._integer, tree.values)))
        if isinstance(tree, ast.IfExp):
            return IntExpr("select", tuple(map(self._integer, (tree.test, tree.body, tree.orelse))))
        if isinstance(tree, ast.Call):
            return IntExpr(_name(tree.func), tuple(map(self._integer, tree.args)))
        raise ValueError("expected an integer")


def _expression(source: str) -> ast.expr:
    return ast.parse(source.strip(), mode="eval").body


def _name(tree: ast.expr) -> str:
    if not isinstance(tree, ast.Name):
        raise ValueError("expected a name")
    return tree.id
