# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""LLVM IR (.ll) or object code (.o) for a machine, and a C header with the declarations.

Every function has a form for one state and one for rows of states. The code is freestanding: it calls
nothing, allocates nothing and has no static variables, so that it runs without an operating system.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from ..backends.native.compile import object_code, parsed
from ..backends.native.freestanding import ExportedFunction, module, workspace_numbers
from ..backends.native.targets import TargetMachine, machine
from ..errors import PhalanxError, listing
from ..languages.dialects import named
from .api import ExportEntry, Request
from .comments import about, banner, constants, described


@dataclass(frozen=True)
class CompiledObject:
    """The functions of a request for one machine."""

    request: Request
    machine: TargetMachine
    functions: list[ExportedFunction]

    @property
    def llvm_ir(self) -> str:
        """The module with all functions."""
        return module(self.functions, self.request.real, self.machine)

    def object_code(self) -> bytes:
        """The object code, which has no undefined symbol."""
        code = object_code(self.llvm_ir, self.machine)
        if (found := read_elf(code)) and found.undefined:
            raise PhalanxError(
                f'export: the code for "{self.request.target or "host"}" would call '
                f'{listing(found.undefined)}; use another target or dtype="float32".'
            )
        return for_either_abi(code) if self.machine.triple.startswith("thumb") else code

    @property
    def workspaces(self) -> dict[str, int]:
        """The length of the workspace that callers pass to each function, in numbers."""
        size = self.request.dtype.itemsize
        return {
            entry.name: workspace_numbers(function.program, self.machine, size)
            for entry, function in zip(self.request.entries, self.functions, strict=True)
        }


def compiled(request: Request, target: str | None) -> CompiledObject:
    """The functions of a request lowered for a machine; LLVM compiles them when `object_code` is called."""
    wanted = machine(target, request.dtype)
    lanes = wanted.lanes(request.dtype.itemsize)
    functions = [
        ExportedFunction(f"{request.prefix}_{entry.name}", entry.program(lanes)) for entry in request.entries
    ]
    return CompiledObject(request, wanted, functions)


def files(request: Request) -> dict[str, bytes | str]:
    """The LLVM IR or the object code, and the header."""
    request.chosen(target=None)
    return written(compiled(request, request.target))


def written(made: CompiledObject) -> dict[str, bytes | str]:
    """The files of compiled functions."""
    path = made.request.path
    content = _ir(made) if path.suffix == ".ll" else made.object_code()
    return {path.name: content, f"{path.name}.h": _header(made)}


def _ir(made: CompiledObject) -> str:
    """LLVM IR with its data layout and triple."""
    checked, _ = parsed(made.llvm_ir, made.machine)
    head = [f'target datalayout = "{checked.data_layout}"', f'target triple = "{made.machine.triple}"']
    return "\n".join([*about(made.request, "; "), "", *head, made.llvm_ir])


def _header(made: CompiledObject) -> str:
    """The declarations, sizes, names and limits."""
    request, workspaces = made.request, made.workspaces
    parts = [banner(request), _HEAD.format(suffix=request.suffix), constants(request, workspaces)]
    for entry in request.entries:
        numbers = workspaces[entry.name]
        listed = _parameters(entry, request.real, bool(numbers))
        parts.append(
            f"{described(entry, numbers)}\n{_declared(entry.name, listed)}\n"
            f"{_declared(f'{entry.name}_batch', ['size_t count', *listed])}"
        )
    return named("\n\n".join([*parts, _TAIL]), request.prefix) + "\n"


def _declared(name: str, parameters: list[str]) -> str:
    return f"void ${name}(\n    " + ",\n    ".join(parameters) + ");"


def _parameters(entry: ExportEntry, real: str, works: bool) -> list[str]:
    made = [f"const {real} *$RESTRICT {name}" for name in entry.inputs]
    made += [f"{real} *$RESTRICT {name}" for name in entry.outputs]
    return made + [f"{real} *$RESTRICT workspace"] * works


_HEAD = """#ifndef $H
#define $H

/* Of the {suffix} file beside. The functions _batch take `count` rows, one after another. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {{
#define $RESTRICT __restrict
#else
#define $RESTRICT restrict
#endif"""
_TAIL = """#ifdef __cplusplus
}
#endif

#endif"""


# ------------------------------------------------------------------- ELF


_MAGIC = b"\x7fELF\x01", b"\x7fELF\x02"  # of 32 and 64 bits
_SYMBOLS, _IN_MEMORY, _WRITABLE, _UNDEFINED = 2, 2, 1, 0
_ARM_ATTRIBUTES = 0x70000003
_VFP_ARGUMENTS, _EITHER_WAY = 28, 3


@dataclass(frozen=True)
class ObjectFile:
    """Sizes in bytes of the sections that are loaded, by name, and names of undefined symbols."""

    sections: dict[str, int]
    writable: dict[str, int]
    undefined: list[str]

    @property
    def constant(self) -> int:
        """Bytes of code and constants, which are in flash memory."""
        return sum(self.sections.values()) - sum(self.writable.values())


def read_elf(code: bytes) -> ObjectFile | None:
    """The facts of a relocatable little-endian ELF file; None in another format."""
    if not code.startswith(_MAGIC):
        return None
    rows, names_at = _sections(code)
    wide = code[4] == 2

    def name_at(section: int, at: int) -> str:
        begin = rows[section][4] + at
        return code[begin : code.index(b"\0", begin)].decode()

    sections, writable, undefined = {}, {}, []
    for name, kind, flags, _, at, size, link, _, _, each in rows:
        if flags & _IN_MEMORY:
            sections[name_at(names_at, name)] = size
            if flags & _WRITABLE:
                writable[name_at(names_at, name)] = size
        if kind == _SYMBOLS:
            for start in range(at + each, at + size, each):  # the first one is empty
                symbol = struct.unpack_from("<IBBHQQ" if wide else "<IIIBBH", code, start)
                if symbol[3 if wide else 5] == _UNDEFINED:
                    undefined.append(name_at(link, symbol[0]))
    return ObjectFile(sections, writable, [name for name in undefined if name])


def _sections(code: bytes) -> tuple[list[tuple[int, ...]], int]:
    """The table of sections, and the index of the one with their names."""
    wide = code[4] == 2
    header = struct.unpack_from("<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH", code, 16)
    start, entry, count = header[5], header[10], header[11]
    form = "<IIQQQQIIQQ" if wide else "<IIIIIIIIII"
    return [struct.unpack_from(form, code, start + k * entry) for k in range(count)], header[12]


def for_either_abi(code: bytes) -> bytes:
    """An object file for 32-bit ARM that links with code of either convention for real arguments.

    Our functions have none, and without that attribute linkers take them to be of the other convention.
    """
    (start,) = struct.unpack_from("<I", code, 32)
    (entry,) = struct.unpack_from("<H", code, 46)
    for k, row in enumerate(_sections(code)[0]):
        if row[1] != _ARM_ATTRIBUTES:
            continue
        old = code[row[4] : row[4] + row[5]]
        # A letter; the length of the rest and the vendor's name; a tag and the length from there on.
        vendor = old.index(b"\0", 5) + 1
        inner = bytes([_VFP_ARGUMENTS, _EITHER_WAY])
        lengths = [struct.unpack_from("<I", old, at)[0] + len(inner) for at in (1, vendor + 1)]
        new = b"".join(
            [old[:1], struct.pack("<I", lengths[0]), old[5 : vendor + 1], struct.pack("<I", lengths[1])]
        )
        new += old[vendor + 5 :] + inner
        made = bytearray(code) + bytes(-len(code) % 4) + new
        struct.pack_into("<II", made, start + k * entry + 16, len(made) - len(new), len(new))
        return bytes(made)
    return code
