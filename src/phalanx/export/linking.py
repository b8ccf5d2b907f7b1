# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From LLVM's object file for WebAssembly to a module that runs.

LLVM numbers the functions, types and globals of an object file and places its constants from address 0 on, as
if it were alone; a linker numbers and places those of several files anew. With one file that calls nothing
outside, all stays as it is: what is imported (memory, a stack pointer) is defined instead, and functions are
exported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..errors import PhalanxError, listing

_MAGIC = b"\0asm\x01\0\0\0"
_CUSTOM, _TYPE, _IMPORT, _FUNCTION, _MEMORY, _GLOBAL, _EXPORT, _CODE, _DATA, _COUNT = (
    0,
    1,
    2,
    3,
    5,
    6,
    7,
    10,
    11,
    12,
)
_ORDER = (_TYPE, _FUNCTION, _MEMORY, _GLOBAL, _EXPORT, _COUNT, _CODE, _DATA)
_PAGE = 1 << 16
_STACK = 1 << 16  # bytes
_I32, _I32_CONST, _END = 0x7F, 0x41, 0x0B
_SYMBOL_TABLE, _LOCAL = 8, 2
# Kinds of relocations whose values in an object file are those of the module: indices of functions, types and
# globals, and addresses of constants.
_AS_THEY_ARE = (0, 3, 4, 5, 6, 7)
_WITH_ADDEND = (3, 4, 5)


@dataclass
class _ByteReader:
    """Bytes read from the front."""

    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """An unsigned number of seven bits a byte, the lowest first."""
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

    def text(self) -> str:
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
            name = inner.text()
            found.custom[name] = body[inner.at :]
        else:
            found.sections[kind] = body
    return found


def _imports(reader: _ByteReader) -> Iterator[tuple[str, int]]:
    """Names and kinds of what an object file imports: functions are 0, memory 2, globals 3."""
    for _ in range(reader.number()):
        reader.text()
        name, kind = reader.text(), reader.byte()
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
    """Raise if something is left that only a linker knows."""
    for name, data in found.custom.items():
        if not name.startswith("reloc."):
            continue
        reader = _ByteReader(data)
        reader.number()
        for _ in range(reader.number()):
            kind = reader.byte()
            if kind not in _AS_THEY_ARE:
                raise TypeError(f"WebAssembly: no rule for relocations of kind {kind}.")
            for _ in range(3 if kind in _WITH_ADDEND else 2):
                reader.number()


def _end_of_data(reader: _ByteReader) -> int:
    """The first address behind the constants."""
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
    """Names and numbers of the functions that others may call."""
    reader = _ByteReader(found.custom["linking"])
    reader.number()
    while reader.more:
        kind, body = reader.byte(), _ByteReader(reader.bytes(reader.number()))
        for _ in range(body.number() if kind == _SYMBOL_TABLE else 0):
            what, flags = body.byte(), body.number()
            if what == 1:  # data
                body.text()
                for _ in range(3):
                    body.number()
                continue
            index = body.number()
            name = "" if flags & 0x10 and not flags & 0x40 else body.text()
            if what == 0 and flags & 3 != _LOCAL:
                yield name, index


# ------------------------------------------------------------------- writing


def _number(value: int) -> bytes:
    made = bytearray()
    while True:
        value, low = value >> 7, value & 127
        made.append(low | (128 if value else 0))
        if not value:
            return bytes(made)


def _signed(value: int) -> bytes:
    """A number that is not negative, where signed ones are expected."""
    made = bytearray(_number(value))
    if made[-1] & 64:
        made[-1] |= 128
        made.append(0)
    return bytes(made)


def _name(text: str) -> bytes:
    return _number(len(text.encode())) + text.encode()


def _listed(items: list[bytes]) -> bytes:
    return _number(len(items)) + b"".join(items)


def _section(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + _number(len(body)) + body
