# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Floating-point instructions that a kernel carries out, by walking through its LLVM text.

Integers, branches and tables of indices are interpreted; what works on numbers is only counted. Angles are
taken to be small.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from phalanx.backends.native import loop
from phalanx.backends.native.emit import widths

FUNCTION = re.compile(r"^define [^@]*@(\w+)\(([^)]*)\)[^{]*\{\n(.*?)^\}", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"^(@\w+) = internal constant \[\d+ x i8\] c\"([^\"]*)\"", re.MULTILINE)
NUMBERS = re.compile(r"= (fmul|fadd|fsub|fdiv|fcmp une|call [^@]*@llvm\.fma)\b")
TWO_OVER_PI = "0x3FE45F306DC9C883"
ARITHMETIC = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << b,
    "lshr": lambda a, b: a >> b,
    "udiv": lambda a, b: a // b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
}
COMPARED = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


@dataclass
class Block:
    """A basic block: what it does to numbers, and the text that decides where to go."""

    numbers: Counter[str] = field(default_factory=Counter)
    phis: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    steps: list[tuple[str, ...]] = field(default_factory=list)


def carried_out(text: str) -> dict[str, Counter[str]]:
    """Instructions that `block` and each function it calls carry out.

    fmul, fadd, fsub, fdiv, fma, `choose` for selections by a mask, `turn` for sine and cosine of an angle.
    """
    functions = {f: (parameters, body) for f, parameters, body in FUNCTION.findall(text)}
    tables = {t: bytes.fromhex(data.replace("\\", "")) for t, data in TABLE.findall(text)}
    walk = _Walk(functions, tables)
    walk.call("block", [])
    return walk.total


def _blocks(body: str) -> dict[str, Block]:
    """The blocks of a function by label; the first one is `entry`."""
    blocks: dict[str, Block] = {}
    block = blocks.setdefault("entry", Block())
    for line in (part.strip() for part in body.split("\n")):
        if label := re.fullmatch(r"(\w+):", line):
            block = blocks.setdefault(label.group(1), Block())
        elif found := NUMBERS.search(line):
            kind = found.group(1).rpartition(".")[2]
            block.numbers["choose" if kind == "fcmp une" else kind] += 1
            block.numbers["turn"] += TWO_OVER_PI in line
        elif step := _step(line):
            if step[0] == "phi":
                sources = re.findall(r"\[ (\S+), %(\w+) \]", step[2])
                block.phis.append((step[1], {label: value for value, label in sources}))
            else:
                block.steps.append(step)
    return blocks


def _step(line: str) -> tuple[str, ...] | None:
    """Instructions on integers, branches and calls of the module's own functions, taken apart."""
    patterns = (
        r"(%\w+) = (phi) i64 (.*)",
        r"(%\w+) = (add|sub|mul|shl|lshr|udiv|and|or) (?:i64|i1) (\S+), (\S+)",
        r"(%\w+) = (icmp) (\w+) i64 (\S+), (\S+)",
        r"(%\w+) = (select) i1 (\S+), i64 (\S+), i64 (\S+)",
        r"(%\w+) = (getelementptr) i64, ptr (@\w+), i64 (\S+)",
        r"(%\w+) = (load) i64, ptr (%\w+), align 8",
    )
    for pattern in patterns:
        if found := re.fullmatch(pattern, line):
            name, kind, *rest = found.groups()
            return kind, name, *rest
    if found := re.fullmatch(r"br label %(\w+)", line):
        return "go", found.group(1)
    if found := re.fullmatch(r"br i1 (\S+), label %(\w+), label %(\w+)(, !prof !0)?", line):
        condition, first, second, rare = found.groups()
        return ("go", second) if rare else ("branch", condition, first, second)
    if found := re.fullmatch(r"call void @(block_\w+)\((.*)\)", line):
        return "call", found.group(1), *re.findall(r"i64 ([^\s,]+)", found.group(2))
    assert not re.match(r"br |switch |call void @(?!llvm\.|sincos_large)", line), line
    return ("return",) if line == "ret void" else None


class _Walk:
    """The functions and tables of a module, on their way."""

    def __init__(self, functions: dict[str, tuple[str, str]], tables: dict[str, bytes]) -> None:
        self.functions, self.tables = functions, tables
        self.blocks: dict[str, dict[str, Block]] = {}
        self.total: dict[str, Counter[str]] = {}

    def call(self, name: str, arguments: list[int]) -> None:
        parameters, body = self.functions[name]
        blocks = self.blocks.get(name) or self.blocks.setdefault(name, _blocks(body))
        # How far rows lie apart steers nothing.
        values = dict.fromkeys(re.findall(r"i64 (%\w+)", parameters), 0)
        values |= dict(zip(values, arguments, strict=False))
        total = self.total.setdefault(name, Counter())
        visits: Counter[str] = Counter()

        def value(x: str) -> int:
            return values[x] if x.startswith("%") else int(x)

        before, at = "", "entry"
        while at:
            block = blocks[at]
            visits[at] += 1
            values.update({phi: value(sources[before]) for phi, sources in block.phis})
            before, following = at, ""
            for kind, *rest in block.steps:
                if kind == "go":
                    following = rest[0]
                elif kind == "branch":
                    following = rest[1] if value(rest[0]) else rest[2]
                elif kind == "call":
                    self.call(rest[0], [value(x) for x in rest[1:]])
                elif kind == "icmp":
                    values[rest[0]] = int(COMPARED[rest[1]](value(rest[2]), value(rest[3])))
                elif kind == "select":
                    values[rest[0]] = value(rest[2]) if value(rest[1]) else value(rest[3])
                elif kind == "getelementptr":
                    (values[rest[0]],) = struct.unpack_from("<q", self.tables[rest[1]], 8 * value(rest[2]))
                elif kind == "load":
                    values[rest[0]] = value(rest[1])
                elif kind in ARITHMETIC:
                    values[rest[0]] = ARITHMETIC[kind](value(rest[1]), value(rest[2]))
            at = following
        for label, count in visits.items():
            for kind, number in blocks[label].numbers.items():
                total[kind] += count * number


def counted_module(call: Any, optional: tuple[str, ...], dtype: Any, target: Any) -> str:
    """The LLVM text of a kernel without the pass that spreads NaN, which runs behind all counting."""
    with pytest.MonkeyPatch.context() as patch:
        for place in (loop, widths):
            patch.setattr(place, "spread", lambda program: program)
        return loop.module(call, optional, dtype, target)
