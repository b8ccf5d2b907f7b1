# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""LLVM's own output for a machine: its text (.ll) or object code (.o), and a C header with the declarations.

Every function has a form for one state and one for rows of states. The code calls nothing, allocates nothing
and keeps nothing: it runs without an operating system and without a C library.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..backends.native.compile import object_code, optimised
from ..backends.native.freestanding import ExportedFunction, module, workspace_numbers
from ..backends.native.targets import TargetMachine, machine
from ..errors import PhalanxError, listing
from ..languages.dialects import named
from .comments import about, banner, constants, described
from .elf import for_either_abi, read_elf
from .entries import ExportEntry
from .request import Request


@dataclass(frozen=True)
class CompiledObject:
    """The functions of a request for one machine."""

    request: Request
    machine: TargetMachine
    functions: list[ExportedFunction]

    @property
    def text(self) -> str:
        return module(self.functions, self.request.real, self.machine)

    def object_code(self) -> bytes:
        """The object code, which lacks nothing."""
        code = object_code(self.text, self.machine)
        if (found := read_elf(code)) and found.undefined:
            raise PhalanxError(
                f'export: the code for "{self.request.target or "host"}" would call '
                f'{listing(found.undefined)}; use another target or dtype="float32".'
            )
        return for_either_abi(code) if self.machine.triple.startswith("thumb") else code

    @property
    def workspaces(self) -> list[Workspace]:
        """What callers pass to each function."""
        size = self.request.dtype.itemsize
        return [
            Workspace(entry.name, workspace_numbers(function.program, self.machine, size))
            for entry, function in zip(self.request.entries, self.functions, strict=True)
        ]


@dataclass(frozen=True)
class Workspace:
    """How many numbers of scratch memory a function takes."""

    name: str
    workspace: int


def compiled(request: Request, target: str | None) -> CompiledObject:
    """The functions of a request, written for a machine."""
    wanted = machine(target, request.dtype)
    lanes = wanted.lanes(request.dtype.itemsize)
    functions = [
        ExportedFunction(f"{request.prefix}_{entry.name}", entry.program(lanes), entry.told)
        for entry in request.entries
    ]
    return CompiledObject(request, wanted, functions)


def files(request: Request) -> dict[str, bytes | str]:
    """The text or the object code, and the header."""
    request.chosen(target=None)
    return written(compiled(request, request.target))


def written(made: CompiledObject) -> dict[str, bytes | str]:
    """The files of functions that are written for a machine."""
    path = made.request.path
    content = _text(made) if path.suffix == ".ll" else made.object_code()
    return {path.name: content, f"{path.name}.h": _header(made)}


def _text(made: CompiledObject) -> str:
    """LLVM text that tells for which machine it is."""
    parsed, _ = optimised(made.text, made.machine)
    head = [f'target datalayout = "{parsed.data_layout}"', f'target triple = "{made.machine.triple}"']
    return "\n".join([*about(made.request, "; "), "", *head, made.text])


def _header(made: CompiledObject) -> str:
    """The declarations, sizes, names and limits."""
    request, workspaces = made.request, made.workspaces
    parts = [banner(request), _HEAD.format(suffix=request.suffix), constants(request, workspaces)]
    for entry, needs in zip(request.entries, workspaces, strict=True):
        listed = _parameters(entry, request.real, bool(needs.workspace))
        parts.append(
            f"{described(entry, needs)}\n{_declared(entry.name, listed)}\n"
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
