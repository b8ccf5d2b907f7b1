# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""WebAssembly: a module that imports nothing (.wasm), and functions of typed arrays around it (.mjs).

Lanes of 128-bit registers hold states. There is no fused multiply-add: bits are as on processors without one.

`linked` makes the module from LLVM's object file. LLVM numbers the functions, types and globals of an object
file and puts its constants from address 0 on, as if it were alone; a linker renumbers and moves those of
several files. One file without external calls needs neither: its imports (memory, a stack pointer) are
defined instead, and its functions are exported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from ..backends.native.targets import WASM
from ..errors import PhalanxError, listing
from ..languages.names import WIDTH, in_comment
from .api import Request
from .comments import package_version
from .objects import CompiledObject, compiled

_RESERVED = ("info", "rows", "constructor", "__proto__")  # members of every robot in JavaScript


def files(request: Request) -> dict[str, bytes | str]:
    """The module, and the script that calls it."""
    request.chosen()
    taken = next((entry.name for entry in request.entries if entry.name in _RESERVED), None)
    if taken:
        raise PhalanxError(
            f'export: "{request.path.name}" has a member "{taken}" already; give a mapping from another name.'
        )
    made = compiled(request, WASM)
    module = linked(made.object_code(), [("phalanx", request.version.encode())])
    return {request.path.name: module, f"{request.path.stem}.mjs": _script(made)}


def _script(made: CompiledObject) -> str:
    """The functions around the module."""
    request = made.request
    script = Path(__file__).with_name("module.mjs").read_text(encoding="utf-8")
    first = request.entries[0]
    words = {
        "about": _about(request),
        "info": _json(_info(made)),
        "array": "Float64Array" if request.real == "double" else "Float32Array",
        "prefix_": f"{request.prefix}_",
        "stem": quote(request.path.stem),  # in a string and in an address
        "example": first.name,
        "example_inputs": ", ".join(first.inputs),
        "example_result": next(iter(first.outputs)) if len(first.outputs) == 1 else "results",
    }
    return re.sub(r"\$(prefix_|[a-z]+(?:_[a-z]+)*)\b", lambda m: words[m[1]], script)


def _about(request: Request) -> str:
    robot = request.robot
    return (
        f'Robot "{in_comment(robot.name)}" ({robot.nq} coordinates, {robot.nv} degrees of freedom) in '
        "WebAssembly.\n"
        f"// Written by Phalanx {package_version()}, version {request.version}, {request.real} precision. "
        "Do not edit: export it again."
    )


def _info(made: CompiledObject) -> dict[str, Any]:
    """Facts of the robot and its functions, for scripts."""
    request, robot = made.request, made.request.robot
    limits = {name: _finite(getattr(robot.limits, name)) for name in ("lower", "upper", "velocity", "effort")}
    functions = {
        entry.name: {
            "title": entry.title,
            "inputs": {name: list(shape) for name, shape in entry.inputs.items()},
            "outputs": {name: list(shape) for name, shape in entry.outputs.items()},
            "workspace": made.workspaces[entry.name],
        }
        for entry in request.entries
    }
    return {
        "name": robot.name,
        "version": request.version,
        "dtype": request.dtype.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "nLinks": robot.n_links,
        "jointNames": list(robot.joint_names),
        "linkNames": list(robot.link_names),
        "parents": [int(p) for p in robot.parents],
        "limits": limits,
        "functions": functions,
    }


def _json(values: dict[str, Any], indent: str = "  ") -> str:
    """An object of JavaScript, a line for each member; it may be part of an HTML page."""
    lines = []
    for key, value in values.items():
        member = json.dumps(value, allow_nan=False).replace("<", "\\u003c")
        if isinstance(value, dict) and len(member) > WIDTH:
            member = _json(value, f"{indent}  ")
        lines.append(f"{indent}{json.dumps(key)}: {member},")
    return "\n".join(["{", *lines, f"{indent[:-2]}}}"])


def _finite(numbers: np.ndarray) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in numbers]


# ------------------------------------------------------------------- object file to module


_MAGIC = b"\0asm\x01\0\0\0"
# Numbers of sections, and the order in which a module has them.
_CUSTOM, _TYPE, _IMPORT, _FUNCTION, _MEMORY = 0, 1, 2, 3, 5
_GLOBAL, _EXPORT, _CODE, _DATA, _COUNT = 6, 7, 10, 11, 12
_ORDER = (_TYPE, _FUNCTION, _MEMORY, _GLOBAL, _EXPORT, _COUNT, _CODE, _DATA)
_PAGE = 1 << 16
_STACK = 1 << 16  # bytes
_I32, _I32_CONST, _END = 0x7F, 0x41, 0x0B
_SYMBOL_TABLE, _LOCAL = 8, 2
# Kinds of relocations whose values in an object file are those of the module: indices of functions, types and
# globals, and addresses of constants.
_UNCHANGED = (0, 3, 4, 5, 6, 7)
_WITH_ADDEND = (3, 4, 5)


@dataclass
class _ByteReader:
    """Reads bytes sequentially."""

    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """A number in unsigned LEB128: seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def bytes(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def string(self) -> str:
        return self.bytes(self.number()).decode()

    @property
    def more(self) -> bool:
        return self.at < len(self.data)


@dataclass(frozen=True)
class _Object:
    """The sections of an object file by their numbers, and custom ones by names."""

    sections: dict[int, bytes] = field(default_factory=dict)
    custom: dict[str, bytes] = field(default_factory=dict)


def linked(code: bytes, sections: Iterable[tuple[str, bytes]] = ()) -> bytes:
    """The module of one object file: it imports nothing, and exports functions, memory and `__heap_base`.

    Addresses from the value of `__heap_base` on are free. Custom `sections` are added as they are.
    """
    found = _read(code)
    imports = list(_imports(_ByteReader(found.sections.get(_IMPORT, b"\0"))))
    outside = [name for name, kind in imports if kind == 0]
    if outside:
        raise PhalanxError(f"export: the WebAssembly would call {listing(outside)}, which no browser has.")
    _check_relocations(found)
    top = -(-_end_of_data(_ByteReader(found.sections.get(_DATA, b"\0"))) // 16) * 16 + _STACK
    stack = any(name == "__stack_pointer" for name, _ in imports)
    names = dict(_functions(found))
    exports = [_name("memory") + bytes([2, 0]), _name("__heap_base") + bytes([3, int(stack)])]
    exports += [_name(name) + bytes([0]) + _number(index) for name, index in names.items()]
    variables = [bytes([_I32, 1, _I32_CONST]) + _signed(top) + bytes([_END])] * stack
    variables.append(bytes([_I32, 0, _I32_CONST]) + _signed(top) + bytes([_END]))
    made = {
        **{k: found.sections[k] for k in (_TYPE, _FUNCTION, _COUNT, _CODE, _DATA) if k in found.sections},
        _MEMORY: _listed([b"\0" + _number(-(-top // _PAGE))]),
        _GLOBAL: _listed(variables),
        _EXPORT: _listed(exports),
    }
    body = b"".join(_section(k, made[k]) for k in _ORDER if k in made)
    return _MAGIC + body + b"".join(_section(_CUSTOM, _name(name) + data) for name, data in sections)


# ------------------------------------------------------------------- reading


def _read(code: bytes) -> _Object:
    assert code.startswith(_MAGIC), code[:8]
    reader, found = _ByteReader(code, len(_MAGIC)), _Object()
    while reader.more:
        kind = reader.byte()
        body = reader.bytes(reader.number())
        if kind == _CUSTOM:
            inner = _ByteReader(body)
            name = inner.string()
            found.custom[name] = body[inner.at :]
        else:
            found.sections[kind] = body
    return found


def _imports(reader: _ByteReader) -> Iterator[tuple[str, int]]:
    """Names and kinds of an object file's imports: functions are 0, memory 2, globals 3."""
    for _ in range(reader.number()):
        reader.string()
        name, kind = reader.string(), reader.byte()
        if kind == 0:
            reader.number()
        elif kind == 2:
            limits = reader.byte()
            for _ in range(1 + (limits & 1)):
                reader.number()
        elif kind == 3:
            reader.bytes(2)
        else:
            raise TypeError(f"WebAssembly: no rule for the import {name} of kind {kind}.")
        yield name, kind


def _check_relocations(found: _Object) -> None:
    """Raise at a relocation that needs a linker."""
    for name, data in found.custom.items():
        if not name.startswith("reloc."):
            continue
        reader = _ByteReader(data)
        reader.number()
        for _ in range(reader.number()):
            kind = reader.byte()
            if kind not in _UNCHANGED:
                raise TypeError(f"WebAssembly: no rule for relocations of kind {kind}.")
            for _ in range(3 if kind in _WITH_ADDEND else 2):
                reader.number()


def _end_of_data(reader: _ByteReader) -> int:
    """The first address after the constants."""
    end = 0
    for _ in range(reader.number()):
        flags, op = reader.byte(), reader.byte()
        assert (flags, op) == (0, _I32_CONST), (flags, op)
        start = reader.number()  # from zero on, never negative
        assert reader.byte() == _END
        size = reader.number()
        reader.bytes(size)
        end = start + size
    return end


def _functions(found: _Object) -> Iterator[tuple[str, int]]:
    """Names and indices of global functions."""
    reader = _ByteReader(found.custom["linking"])
    reader.number()
    while reader.more:
        kind, body = reader.byte(), _ByteReader(reader.bytes(reader.number()))
        for _ in range(body.number() if kind == _SYMBOL_TABLE else 0):
            what, flags = body.byte(), body.number()
            if what == 1:  # data
                body.string()
                for _ in range(3):
                    body.number()
                continue
            index = body.number()
            name = "" if flags & 0x10 and not flags & 0x40 else body.string()
            if what == 0 and flags & 3 != _LOCAL:
                yield name, index


# ------------------------------------------------------------------- writing


def _number(value: int) -> bytes:
    """A number in unsigned LEB128."""
    made = bytearray()
    while True:
        value, low = value >> 7, value & 127
        made.append(low | (128 if value else 0))
        if not value:
            return bytes(made)


def _signed(value: int) -> bytes:
    """A number that is not negative, in signed LEB128."""
    made = bytearray(_number(value))
    if made[-1] & 64:
        made[-1] |= 128
        made.append(0)
    return bytes(made)


def _name(name: str) -> bytes:
    return _number(len(name.encode())) + name.encode()


def _listed(items: list[bytes]) -> bytes:
    return _number(len(items)) + b"".join(items)


def _section(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + _number(len(body)) + body
