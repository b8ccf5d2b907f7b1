# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A machine that runs PTX as its specification tells, slowly: the threads of a block on NumPy's arrays.

Threads may part and meet: whoever stands at the lowest instruction goes on. Every address is looked up, so
that a kernel which reads or writes where nothing was allocated, or reads what nobody has written, raises.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_KINDS = {"f32": np.float32, "f64": np.float64, "pred": np.bool_}
_KINDS |= {
    f"{a}{n}": np.dtype(f"{b}{n // 8}").type for a, b in zip("sub", "iuu", strict=True) for n in (16, 32, 64)
}
_SPACES = {"global": 1 << 44, "shared": 1 << 40, "local": 1 << 36, "const": 1 << 43}
_LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
_LIBM.fma.restype, _LIBM.fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
_FMA = np.frompyfunc(_LIBM.fma, 3, 1)


@dataclass
class Memory:
    """Bytes at addresses from a base on; a column for each thread, or one for all."""

    base: int
    data: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    written: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    attributed: list[tuple[int, int]] = field(
        default_factory=list
    )  # from where to where something is allocated

    def allocate(self, content: bytes | int) -> int:
        """The address of some bytes; those without content must be written before they are read."""
        start = -(-len(self.data) // 256) * 256 + 256  # nothing lies directly behind anything
        size = content if isinstance(content, int) else len(content)
        self.data = np.concatenate([self.data, np.zeros(start + size - len(self.data), np.uint8)])
        self.written = np.concatenate([self.written, np.zeros(start + size - len(self.written), bool)])
        self.attributed.append((start, start + size))
        if isinstance(content, bytes):
            self.data[start:] = np.frombuffer(content, np.uint8)
            self.written[start:] = True
        return self.base + start

    def release(self, address: int) -> None:
        """Give back what lies at an address."""
        self.attributed.remove(next(x for x in self.attributed if x[0] == address - self.base))

    def places(self, addresses: np.ndarray, size: int) -> np.ndarray:
        at = addresses.astype(np.int64) - self.base
        if (at % size).any():
            raise IndexError(f"an address of {size} bytes is not aligned")
        inside = np.zeros(at.shape, bool)
        for start, end in self.attributed:
            inside |= (at >= start) & (at + size <= end)
        if not inside.all():
            raise IndexError(f"nothing is allocated at {hex(int(addresses[~inside][0]))}")
        return at[:, None] + np.arange(size)


@dataclass
class Function:
    """Its parameters and instructions."""

    name: str
    parameters: list[tuple[str, int, int]]  # names, offsets, bytes
    code: list[tuple[str, str, list[str]]] = field(default_factory=list)  # guard, operation, operands
    labels: dict[str, int] = field(default_factory=dict)
    shared: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    threads: int = 0


class Machine:
    """A device with one module."""

    def __init__(self, text: str, memory: Memory | None = None) -> None:
        self.memory = {name: Memory(base) for name, base in _SPACES.items()}
        if memory is not None:
            self.memory["global"] = memory
        self.symbols: dict[str, int] = {}
        self.functions: dict[str, Function] = {}
        self.executed: Counter[str] = Counter()  # operations, threads in step counted once
        self._parse(text)

    # ------------------------------------------------------------- text

    def _parse(self, text: str) -> None:
        text = re.sub(r"//[^\n]*", "", text)
        for space, name, size, content in re.findall(
            r"\.(global|const)[^;=]*?\.b8 (\w+)\[(\d+)\] = \{([^}]*)\}", text
        ):  # zeros at the end may be left out
            values = bytes(map(int, content.split(","))).ljust(int(size), b"\0")
            self.symbols[name] = self.memory[space].allocate(values)
        heads = list(
            re.finditer(
                r"\.(?:entry|func)\s*(?:\(([^)]*)\))?\s*(\w+)\s*\(([^)]*)\)\s*(\.reqntid (\d+))?\s*\{", text
            )
        )
        for head in heads:
            end, depth = head.end(), 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            f = Function(head[2], _parameters(head[3]), threads=int(head[5] or 0))
            self.functions[f.name] = f
            for line in re.split(r"[;\n]", text[head.end() : end - 1]):
                self._statement(f, line.strip())

    def _statement(self, f: Function, line: str) -> None:
        if label := re.fullmatch(r"(\$\w+):", line):
            f.labels[label[1]] = len(f.code)
        elif found := re.match(r"\.(shared|local)\s.*?(\w+)\[(\d+)\]", line):
            getattr(f, found[1])[found[2]] = int(found[3])
        elif line and line[0] not in ".{}":
            guard, operation, rest = re.fullmatch(r"(?:@(!?%\w+)\s+)?([\w.]+)\s*(.*)", line).groups()
            f.code.append(
                (guard or "", operation, re.findall(r"\([^)]*\)|\{[^}]*\}|\[[^\]]*\]|[^,\s]+", rest))
            )

    # ------------------------------------------------------------- runs

    def launch(self, name: str, blocks: int, threads: int, arguments: list[int]) -> None:
        """Run a kernel, block by block."""
        f = self.functions[name]
        if f.threads not in (0, threads):
            raise ValueError(f"{name} is for blocks of {f.threads} threads, got {threads}")
        if len(arguments) != len(f.parameters):
            raise ValueError(f"{name} has {len(f.parameters)} parameters, got {len(arguments)}")
        for block in range(blocks):
            self.memory["shared"] = Memory(_SPACES["shared"])
            symbols = {k: self.memory["shared"].allocate(size) for k, size in f.shared.items()}
            run = _Run(self, f, threads, block, blocks, symbols)
            for (parameter, *_), value in zip(f.parameters, arguments, strict=True):
                run.parameters[parameter] = np.full(threads, value, np.uint64)
            run.go(np.ones(threads, bool))


def _parameters(text: str) -> list[tuple[str, int, int]]:
    made, offset = [], 0
    for each in filter(None, (p.strip() for p in text.split(","))):
        size = int(re.search(r"\.[bu](\d+)", each)[1]) // 8  # type: ignore[index]
        made.append((each.split()[-1], offset, size))
        offset += size
    return made


class _Run:
    """One call of a function by the threads of a block."""

    def __init__(
        self,
        machine: Machine,
        f: Function,
        threads: int,
        block: int,
        blocks: int,
        symbols: dict[str, int],
        outer: tuple[Memory, ...] = (),
    ) -> None:
        self.machine, self.f, self.threads = machine, f, threads
        self.symbols, self.outer = machine.symbols | symbols, outer  # local memory of callers
        self.own = machine.memory | {"local": _Locals(_SPACES["local"] + (len(outer) << 20), threads)}
        for name, size in f.local.items():
            self.symbols[name] = self.own["local"].allocate(size)
        self.special = {
            "%tid.x": np.arange(threads, dtype=np.uint32),
            "%ctaid.x": np.full(threads, block, np.uint32),
            "%nctaid.x": np.full(threads, blocks, np.uint32),
        }
        self.block, self.blocks = block, blocks
        self.registers: dict[str, np.ndarray] = {}
        self.parameters: dict[str, np.ndarray] = {}

    def go(self, mask: np.ndarray) -> None:
        f, end = self.f, len(self.f.code)
        at = np.where(mask, 0, end)
        waiting = np.zeros(self.threads, bool)
        with np.errstate(all="ignore"):
            while (at < end).any():
                ready = (at < end) & ~waiting
                if not ready.any():
                    if len({int(p) for p in at[waiting]}) > 1 or (at[~waiting] < end).any():
                        raise RuntimeError("threads wait at different barriers")
                    at[waiting] += 1
                    waiting[:] = False
                    continue
                here = int(at[ready].min())
                active = ready & (at == here)
                guard, operation, operands = f.code[here]
                self.machine.executed[operation] += 1
                does = active
                if guard:
                    holds = self.registers[guard.lstrip("!")]
                    does = active & (~holds if guard[0] == "!" else holds)
                at[active] = here + 1
                name = operation.split(".")[0]
                if name == "bra":
                    at[does] = f.labels[operands[0]]
                elif name == "ret":
                    at[does] = end
                elif operation == "bar.sync":
                    if (at[~active] == end).any() and mask.all():
                        raise RuntimeError("a barrier that some threads never reach")
                    at[does] = here
                    waiting |= does
                elif name == "call":
                    self._call(operands, does)
                elif does.any():
                    self._execute(operation.split("."), operands, does)

    def _call(self, operands: list[str], does: np.ndarray) -> None:
        back = operands[0].strip("()") if operands[0][0] == "(" else ""
        name, arguments = operands[-2:]
        given = [a.strip() for a in arguments.strip("()").split(",") if a.strip()]
        f = self.machine.functions[name]
        outer = (*self.outer, self.own["local"])
        run = _Run(self.machine, f, self.threads, self.block, self.blocks, {}, outer)
        for (parameter, *_), value in zip(f.parameters, given, strict=True):
            run.parameters[parameter] = self.parameters[value]
        run.go(does)
        if back:
            self.parameters[back] = run.parameters["func_retval0"]

    # ------------------------------------------------------------- operands

    def _read(self, operand: str, kind: Any) -> np.ndarray:
        kind = np.dtype(kind)
        if operand in self.special:
            found = self.special[operand]
        elif operand.startswith("%"):
            found = self.registers[operand]
        elif operand in self.symbols:
            found = np.full(self.threads, self.symbols[operand], np.uint64)
        elif operand[:2] in ("0f", "0d"):
            size = 4 if operand[1] == "f" else 8
            bits = np.array([int(operand[2:], 16)], f"u{size}").view(f"f{size}")
            return np.full(self.threads, bits[0]).view(kind)
        else:
            whole = int(operand, 0) & (2 ** (8 * kind.itemsize) - 1)
            return np.full(self.threads, whole, f"u{kind.itemsize}").view(kind)
        if found.dtype == np.bool_ or found.dtype.itemsize == kind.itemsize:
            return found if found.dtype == kind else found.view(kind)
        return found.astype(f"u{kind.itemsize}").view(kind)

    def _write(self, operand: str, value: np.ndarray, does: np.ndarray) -> None:
        bits = value if value.dtype == np.bool_ else value.view(f"u{value.dtype.itemsize}")
        old = self.registers.get(operand)
        if old is None or old.dtype != bits.dtype:
            old = np.zeros(self.threads, bits.dtype)
        self.registers[operand] = np.where(does, bits, old)

    def _address(self, operand: str) -> tuple[str, np.ndarray | str]:
        inner = operand.strip("[] ")
        base, _, offset = inner.partition("+")
        if base in self.parameters or base.startswith(("param", "retval", "func_retval")):
            return "param", inner
        return "memory", self._read(base, np.uint64) + np.uint64(int(offset or 0) & (2**64 - 1))

    def _memory(self, space: str, addresses: np.ndarray) -> Memory:
        if space != "generic":
            return self.own[space]
        for own in (*(m for m in self.own.values()), *self.outer):
            if own.base <= int(addresses[0]) < own.base + (1 << 36 if own.base >= 1 << 40 else 1 << 20):
                return own
        raise IndexError(f"no memory at {hex(int(addresses[0]))}")

    # ------------------------------------------------------------- operations

    def _execute(self, words: list[str], operands: list[str], does: np.ndarray) -> None:
        name, kind = words[0], _KINDS.get(words[-1], np.uint32)
        if name in ("ld", "st"):
            return self._move(words, operands, does)
        if name == "mov" and "{" in (operands[0][0], operands[1][0]):
            return self._halves(operands, does)
        if name == "setp":
            a, b = (self._read(x, kind) for x in operands[1:])
            return self._write(operands[0], _TESTS[words[1]](a, b), does)
        if name == "selp":
            a, b = (self._read(x, kind) for x in operands[1:3])
            return self._write(operands[0], np.where(self.registers[operands[3]], a, b), does)
        if name in ("cvt", "cvta"):
            source = _KINDS[words[-1]]
            value = self._read(operands[1], source)
            if name == "cvt":
                value = value.astype(_KINDS[words[-2]])
            return self._write(operands[0], value, does)
        if name == "mul" and words[1] == "wide":
            wide = np.dtype(f"{np.dtype(kind).kind}{2 * np.dtype(kind).itemsize}")
            a, b = (self._read(x, kind).astype(wide) for x in operands[1:])
            return self._write(operands[0], a * b, does)
        args = [
            self._read(x, np.uint32 if name in _COUNTED and k > 0 else kind)
            for k, x in enumerate(operands[1:])
        ]
        rule = _RULES.get((name, words[1])) or _RULES.get(name)
        if rule is None:
            raise NotImplementedError(".".join(words))
        if np.dtype(kind).kind == "f" and name in ("add", "sub", "mul") and words[1] != "rn":
            raise NotImplementedError(f"{'.'.join(words)} may be fused by the assembler")
        result = rule(*args)
        return self._write(operands[0], result.astype(kind) if result.dtype != np.bool_ else result, does)

    def _halves(self, operands: list[str], does: np.ndarray) -> None:
        """A number of 64 bits as two of 32, or back."""
        if operands[0][0] == "{":
            both = self._read(operands[1], np.uint64)
            for k, name in enumerate(operands[0].strip("{}").split(",")):
                self._write(name.strip(), (both >> np.uint64(32 * k)).astype(np.uint32), does)
        else:
            low, high = (self._read(x.strip(), np.uint32) for x in operands[1].strip("{}").split(","))
            self._write(operands[0], low | high.astype(np.uint64) << np.uint64(32), does)

    def _move(self, words: list[str], operands: list[str], does: np.ndarray) -> None:
        kind = np.dtype(_KINDS[words[-1]])
        space = next((s for s in words[1:] if s in _SPACES), "generic")
        place, values = (operands[1], operands[0]) if words[0] == "ld" else (operands[0], operands[1])
        where, address = self._address(place)
        if where == "param":
            if words[0] == "ld":
                return self._write(values, self.parameters[str(address)].view(kind), does)
            old = self.parameters.get(str(address), np.zeros(self.threads, kind))
            self.parameters[str(address)] = np.where(does, self._read(values, kind), old.view(kind))
            return None
        names = [v.strip() for v in values.strip("{}").split(",")]
        for k, name in enumerate(names):
            at = np.asarray(address)[does] + np.uint64(k * kind.itemsize)
            memory = self._memory(space, at)
            places = memory.places(at, kind.itemsize)
            lanes = np.flatnonzero(does)[:, None] if isinstance(memory, _Locals) else ()
            spot = (places, lanes) if isinstance(memory, _Locals) else places
            if words[0] == "st":
                bits = np.ascontiguousarray(self._read(name, kind)[does])
                memory.data[spot] = bits.view(np.uint8).reshape(len(at), -1)
                memory.written[spot] = True
            else:
                if not memory.written[spot].all():
                    raise IndexError(f"{'.'.join(words)} reads what nobody has written")
                found = np.zeros(self.threads, kind)
                found[does] = np.ascontiguousarray(memory.data[spot]).view(kind)[:, 0]
                self._write(name, found, does)
        return None


class _Locals(Memory):
    """Memory of which each thread has its own."""

    def __init__(self, base: int, threads: int) -> None:
        super().__init__(base)
        self.threads = threads

    def allocate(self, content: bytes | int) -> int:
        assert isinstance(content, int)
        self.data, self.written = (np.zeros((content, self.threads), t) for t in (np.uint8, bool))
        self.attributed = [(0, content)]
        return self.base


def _fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a b + c rounded once."""
    if a.dtype == np.float64:
        return _FMA(a, b, c).astype(np.float64)
    product, addend = a.astype(np.float64) * b, c.astype(np.float64)  # exact
    total = product + addend
    back = total - product
    lost = (product - (total - back)) + (addend - back)
    # Rounding to odd first, then to float32, rounds once.
    bits = total.view(np.int64)
    even = (lost != 0) & np.isfinite(total) & (bits & 1 == 0)
    toward = np.where((lost > 0) == (total > 0), 1, -1)
    return np.where(even, bits + toward, bits).view(np.float64).astype(np.float32)


def _shifted(a: np.ndarray, n: np.ndarray, left: bool) -> np.ndarray:
    bits = 8 * a.dtype.itemsize
    n = n.astype(np.uint64)
    small = np.minimum(n, np.uint64(bits - 1)).astype(a.dtype)
    return np.where(n < bits, a << small if left else a >> small, np.zeros_like(a))


_RULES: dict[Any, Callable[..., Any]] = {
    "mov": lambda a: a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    ("mul", "hi"): lambda a, b: (a.astype(np.uint64) * b.astype(np.uint64)) >> np.uint64(32),
    "mad": lambda a, b, c: a * b + c,
    "fma": _fused,
    "div": lambda a, b: a / b if a.dtype.kind == "f" else a // b,
    "rcp": lambda a: np.ones_like(a) / a,
    "sqrt": np.sqrt,
    "neg": np.negative,
    "abs": np.abs,
    "min": np.fmin,  # of a number and NaN the number
    "max": np.fmax,
    ("min", "NaN"): np.minimum,
    ("max", "NaN"): np.maximum,
    "copysign": lambda sign, size: np.copysign(size, sign),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shl": lambda a, n: _shifted(a, n, left=True),
    "shr": lambda a, n: _shifted(a, n, left=False),
    "clz": lambda a: np.array([32 - int(x).bit_length() for x in a], np.uint32),
    "bfe": lambda a, start, length: (
        _shifted(a, start, left=False) & ((np.ones_like(a) << length.astype(a.dtype)) - np.ones_like(a))
    ),
}
_COUNTED = ("shl", "shr", "bfe")
_TESTS: dict[str, Callable[..., Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "geu": lambda a, b: ~(a < b),
    "leu": lambda a, b: ~(a > b),
    "gtu": lambda a, b: ~(a <= b),
    "ltu": lambda a, b: ~(a >= b),
    "equ": lambda a, b: ~((a < b) | (a > b)),
    "neu": lambda a, b: ~(a == b),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
