# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From LLVM text to object code, and from object code to addresses in this process."""

from __future__ import annotations

import ctypes
import ctypes.util
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from .target import Target, host

VERSION = f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"


def optimised(text: str, target: Target) -> tuple[Any, Any]:
    """The parsed module and the code generator that will translate it."""
    module = llvm.parse_assembly(f'target triple = "{target.triple}"\n{text}')
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

    engine: Any
    loop: int
    direct: int
    shared: int
    bound: int


def load(code: bytes) -> Loaded:
    """Object code placed in memory, made executable and linked to the C library."""
    _link_library()
    empty = llvm.parse_assembly(f'target triple = "{host().triple}"')
    engine = llvm.create_mcjit_compiler(empty, host().machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    loop, *entries = map(engine.get_function_address, ("loop", "direct", "shared", "bound"))
    if not loop:
        raise RuntimeError("object code without a loop")
    return Loaded(engine, loop, *entries)


@cache
def _link_library() -> None:
    """Tell the linker where the C library's functions are, wherever the process has them."""
    library = ctypes.CDLL(ctypes.util.find_library("m") or None)
    basics = ctypes.CDLL(ctypes.util.find_library("c") or None)
    for name in ("sin", "cos", "sinf", "cosf"):
        llvm.add_symbol(name, _address(library, name))
    for name in ("malloc", "free", "memset", "memcpy"):
        llvm.add_symbol(name, _address(basics, name))


def _address(library: Any, name: str) -> int:
    return int(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0)
