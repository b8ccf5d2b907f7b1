# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Whether this process can build and run machine code, and llvmlite, imported when it is first needed.

Everything else in this package imports without llvmlite: there are none of its wheels for musl and for rarer
processors, and counting, exporting C and computing on NumPy need no compiler.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from functools import cache
from importlib import import_module
from typing import Any

from ...errors import PhalanxError, warn

LEAST = (0, 45)  # release of llvmlite: LLVM before 16 does not read opaque pointers


class _Binding:
    """The module `llvmlite.binding`; where it is missing or too old, an error with a remedy at first use."""

    def __getattr__(self, name: str) -> Any:
        if why := _without_llvmlite():
            raise PhalanxError(_message(why))
        found = getattr(import_module("llvmlite.binding"), name)
        setattr(self, name, found)
        return found


llvm: Any = _Binding()


@cache
def version() -> str:
    """The versions of llvmlite and LLVM."""
    release = import_module("llvmlite").__version__
    return f"llvmlite {release}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"


@cache
def refusal() -> str:
    """Why this process can build no machine code, with a remedy; empty if it can."""
    return _without_llvmlite() or _without_target() or _without_execution() or _without_runtime()


def require() -> None:
    """Raise where no machine code can be built."""
    if why := refusal():
        raise PhalanxError(_message(why))


@cache
def warn_of_numpy() -> None:
    """Say once in a process that "auto" computes on NumPy, and why."""
    warn(f'backend="auto" computes on NumPy, which takes much longer: {refusal()}')


def _message(why: str) -> str:
    return f'native code cannot be built here: {why} Functions of a robot also take backend="numpy".'


def _without_llvmlite() -> str:
    install = f"pip install 'llvmlite>={LEAST[0]}.{LEAST[1]}'"
    try:
        release = import_module("llvmlite").__version__
        import_module("llvmlite.binding")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "llvmlite":
            raise
        return f'the package "llvmlite" is not installed; {install}.'
    except (ImportError, OSError) as error:
        return f"the library of llvmlite does not load ({error}); {install} again."
    if tuple(int(part) for part in release.split(".")[:2] if part.isdigit()) < LEAST:
        return f"llvmlite {release} reads no opaque pointers; {install}."
    return ""


def _without_target() -> str:
    """Why LLVM does not know this processor."""
    from .compile import host

    try:
        host().machine()
    except RuntimeError as error:
        return f"LLVM has no code generator for this machine ({error}); use another build of llvmlite."
    return ""


def _without_execution() -> str:
    """Why memory cannot become executable: LLVM's linker ends the process where that is refused."""
    if sys.platform == "win32":
        return ""
    size = mmap.PAGESIZE
    page = mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    try:
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        view = ctypes.c_char.from_buffer(page)
        address = ctypes.addressof(view)
        refused = protect(address, size, mmap.PROT_READ | mmap.PROT_EXEC)
        protect(address, size, mmap.PROT_READ | mmap.PROT_WRITE)
        del view
    finally:
        page.close()
    if not refused:
        return ""
    return (
        "this system does not let memory become executable (as SELinux, or MemoryDenyWriteExecute of "
        "systemd); allow it for this process."
    )


def _without_runtime() -> str:
    """The reason why the LLVM IR that all kernels share cannot be loaded."""
    from . import objects
    from .locks import building

    try:
        with building:
            if objects.usable():
                objects.runtime()
    except (PhalanxError, OSError, AttributeError) as error:
        return f"{str(error).rstrip('.')}."
    return ""
