# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From LLVM text to object code, and from object code to addresses in this process."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ...errors import PhalanxError
from .target import Target, host

VERSION = f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"


def optimised(text: str, target: Target) -> tuple[Any, Any]:
    """The parsed module and the code generator that will translate it."""
    module = llvm.parse_assembly(f'target triple = "{target.triple}"\n{text}')
    module.verify()  # LLVM aborts the process on text that is not valid
    machine = target.machine()
    module.data_layout = str(machine.target_data)
    return module, machine


def object_code(text: str, target: Target) -> bytes:
    """Relocatable object code of a module."""
    module, machine = optimised(text, target)
    return bytes(machine.emit_object(module))


def assembly(text: str, target: Target) -> str:
    """The assembly of a module, for people to read."""
    module, machine = optimised(text, target)
    return str(machine.emit_assembly(module))


@dataclass(frozen=True)
class Loaded:
    """Object code in memory; the addresses are valid as long as this object lives."""

    library: Any  # and its linker
    loop: int
    direct: int
    shared: int
    bound: int


_ENTRIES = ("loop", "direct", "shared", "bound")


def load(code: bytes) -> Loaded:
    """Object code placed in memory, made executable and linked to the C library.

    The linker puts all that belongs to a kernel into one piece of memory. Code and constants in separate
    pieces would lie too far apart for each other wherever a program holds gigabytes of arrays. Each kernel
    has a linker of its own, since one that goes on would remember every library it ever had.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(code)
    for name, address in _library().items():
        builder.import_symbol(name, address)
    for name in _ENTRIES:
        builder.export_symbol(name)
    try:
        linker = llvm.create_lljit_compiler(host().machine(), use_jit_link=sys.platform != "win32")
        library = builder.link(linker, "kernel")
        return Loaded((linker, library), *(library[name] for name in _ENTRIES))
    except RuntimeError as error:
        raise PhalanxError(
            f"a compiled kernel of {len(code)} bytes could not be loaded into memory ({error}); where memory "
            'is short or must not be executed, use backend="numpy".'
        ) from None


@cache
def _library() -> dict[str, int]:
    """Where the C library's functions are, wherever the process has them."""
    needed = {"m": ("sin", "cos", "sinf", "cosf"), "c": ("malloc", "free", "memset", "memcpy")}
    return {name: _address(library, name) for library, names in needed.items() for name in names}


def _address(library: str, name: str) -> int:
    """Where a function of the C library is; looking for the library's file would start another process."""
    if sys.platform != "win32" and (found := getattr(ctypes.CDLL(None), name, None)) is not None:
        return int(ctypes.cast(found, ctypes.c_void_p).value or 0)
    from ctypes.util import find_library

    found = getattr(ctypes.CDLL(find_library(library) or None), name)
    return int(ctypes.cast(found, ctypes.c_void_p).value or 0)
