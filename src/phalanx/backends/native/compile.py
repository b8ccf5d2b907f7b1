# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From LLVM text to object code for a machine, and from object code to addresses in this process."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache as once
from typing import Any

from ...errors import PhalanxError, listing
from . import cache
from .availability import llvm, version
from .interrupts import leavable
from .locks import building


@dataclass(frozen=True)
class Target:
    """An LLVM target with the width of its vector registers."""

    triple: str
    cpu: str
    features: str
    bits: int
    fma: bool

    def lanes(self, size: int) -> int:
        """How many numbers of `size` bytes one register holds."""
        return self.bits // (8 * size)

    def machine(self, level: int = 2) -> Any:
        """The code generator for this target."""
        made = llvm.Target.from_triple(self.triple)
        # Windows puts code, constants and the C library gigabytes apart.
        model = "large" if self.is_windows else "small"
        return made.create_target_machine(
            cpu=self.cpu, features=self.features, opt=level, reloc="pic", codemodel=model, jit=True
        )

    @property
    def is_windows(self) -> bool:
        return "windows" in self.triple


# Feature levels that `PHALANX_CPU` may ask for below what the machine has.
_LEVELS = {
    "sse2": ("x86-64", "", 128, False),
    "avx2": ("haswell", "", 256, True),
    "avx512": ("skylake-avx512", "", 512, True),
}

# What LLVM may use for the processors above, beyond plain x86-64.
_AVX2 = ("avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe")
_AVX512 = tuple(f"avx512{part}" for part in ("f", "bw", "cd", "dq", "vl"))
_NEEDS = {"avx2": _AVX2, "avx512": (*_AVX2, *_AVX512)}


@once
def host() -> Target:
    """This machine, or the lower level that the environment variable PHALANX_CPU names."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple = llvm.get_process_triple()
    found = llvm.get_host_cpu_features()
    if level := os.environ.get("PHALANX_CPU", ""):
        return _lowered(level, triple, found)
    bits, fma = 128, triple.startswith(("aarch64", "arm64"))
    if found.get("fma"):
        fma = True
    if found.get("avx2") and found.get("fma"):
        bits = 256
    if found.get("avx512f") and found.get("avx512dq") and found.get("avx512vl"):
        bits = 512
    return Target(triple, llvm.get_host_cpu_name(), found.flatten(), bits, fma)


def _lowered(level: str, triple: str, found: Mapping[str, bool]) -> Target:
    """The level of that name, unless this machine could not run its code."""
    able = ["sse2"] if triple.startswith(("x86_64", "amd64")) else []
    for name, needs in _NEEDS.items():
        if able and all(found.get(n) for n in needs):
            able.append(name)
    if level not in able:
        raise PhalanxError(
            f"PHALANX_CPU={level!r}; this machine ({triple}) offers {listing(able) or 'no levels'}."
        )
    cpu, features, bits, fma = _LEVELS[level]
    return Target(triple, cpu, features, bits, fma)


def aarch64() -> Target:
    """A 64-bit ARM machine, for code that runs elsewhere."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return Target("aarch64-unknown-linux-gnu", "generic", "+neon", 128, True)


# Characters of LLVM text from which instructions are selected with less effort: on very long straight-line
# code that takes more than half of the time, and what it compiles to runs within a few percent as fast.
LONG = 1_000_000
# Those that take a good part of a second: Ctrl-C is answered meanwhile.
_SLOW = 400_000
# The first line of LLVM text so long that its time would grow with the square of its length: a step with a
# law of a thousand sines. With the least effort it compiles in seconds and runs at two thirds of the speed.
HASTY = "; longer than what is worth an effort\n"


# The first line of LLVM text that computes several matrices in one block, or a long one without symmetry: its
# values outnumber registers by far. What scheduling gains in parallelism it loses to memory, and its time
# grows with the square of the block: nine tenths of the compile time of a humanoid's regressor.
HIGH_PRESSURE = "; values that crowd the registers\n"
# Switches of the whole process, and how to put them back; LLVM ends the process at one that it does not know.
_FOR_REGISTERS = {"-enable-misched": ("false", "true"), "-pre-RA-sched": ("list-burr", "default")}
_AS_WRITTEN = {"-enable-misched": ("false", "true"), "-pre-RA-sched": ("source", "default")}
_LATEST = 22  # release of LLVM up to which these are known


@contextmanager
def _scheduling(text: str) -> Iterator[None]:
    """What is compiled inside is scheduled as its text asks for."""
    with _switched(_FOR_REGISTERS) if text.startswith(HIGH_PRESSURE) else nullcontext():
        yield


@contextmanager
def in_written_order() -> Iterator[None]:
    """What is compiled inside keeps the order of its text; one thread at a time may be here."""
    with building, _switched(_AS_WRITTEN):
        yield


@contextmanager
def _switched(switches: Mapping[str, tuple[str, str]]) -> Iterator[None]:
    known = switches if llvm.llvm_version_info[0] <= _LATEST else {}
    for switch, (mine, _) in known.items():
        llvm.set_option("", f"{switch}={mine}")
    try:
        yield
    finally:
        for switch, (_, usual) in known.items():
            llvm.set_option("", f"{switch}={usual}")


def optimised(text: str, target: Target) -> tuple[Any, Any]:
    """The parsed module and the code generator that will translate it."""
    module = llvm.parse_assembly(f'target triple = "{target.triple}"\n{text}')
    module.verify()  # LLVM aborts the process on text that is not valid
    machine = target.machine(0 if text.startswith(HASTY) else 1 if len(text) > LONG else 2)
    module.data_layout = str(machine.target_data)
    return module, machine


def object_code(text: str, target: Target) -> bytes:
    """Relocatable object code of a module."""

    def made() -> bytes:
        module, machine = optimised(text, target)
        with _scheduling(text):
            return bytes(machine.emit_object(module))

    return leavable(made) if len(text) > _SLOW else made()


def assembly(text: str, target: Target) -> str:
    """The assembly of a module, for people to read."""
    module, machine = optimised(text, target)
    with _scheduling(text):
        return str(machine.emit_assembly(module))


@dataclass(frozen=True)
class Loaded:
    """Object code in memory; the addresses are valid as long as this object lives."""

    library: Any  # and its linker
    addresses: Mapping[str, int]

    @property
    def loop(self) -> int:
        """Where the inner loop of a kernel's ufunc is."""
        return self.addresses["loop"]

    @property
    def single(self) -> int:
        """Where the function of one state is."""
        return self.addresses["single"]


KERNEL = ("loop", "single")


def load(code: bytes, names: Sequence[str] = KERNEL, symbols: Mapping[str, int] | None = None) -> Loaded:
    """Object code placed in memory, made executable and linked to the C library; where `names` are in it.

    `symbols` are addresses that it needs beyond the C library's.

    The linker puts all that belongs to a kernel into one piece of memory. Code and constants in separate
    pieces would lie too far apart for each other wherever a program holds gigabytes of arrays. Each kernel
    has a linker of its own, since one that goes on would remember every library it ever had.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(code)
    for name, address in {**_library(), **(symbols or {})}.items():
        builder.import_symbol(name, address)
    for name in names:
        builder.export_symbol(name)
    try:
        linker = llvm.create_lljit_compiler(host().machine(), use_jit_link=sys.platform != "win32")
        library = builder.link(linker, "kernel")
        return Loaded((linker, library), {name: library[name] for name in names})
    except RuntimeError as error:
        raise PhalanxError(
            f"a compiled kernel of {len(code)} bytes could not be loaded into memory ({error}); where memory "
            'is short or must not be executed, use backend="numpy".'
        ) from None


def cached_or_made(
    parts: tuple[Any, ...],
    text: Callable[[], str],
    names: Sequence[str] = KERNEL,
    symbols: Mapping[str, int] | None = None,
) -> tuple[Loaded, bool]:
    """The code of an LLVM text in memory, and whether it was on disk: `parts` tell it from all others."""
    key = cache.key_of(*parts, host(), version())
    if (code := cache.read(key)) is not None:
        with suppress(PhalanxError):  # no object code, for all its right digest
            return load(code, names, symbols), True
    code = object_code(text(), host())
    cache.write(key, code)
    return load(code, names, symbols), False


# What kernels call in libraries, by themselves or because LLVM writes it for loops and large frames.
_NEEDED = {"m": ("sin", "cos", "sinf", "cosf"), "c": ("malloc", "free", "memset", "memcpy", "memmove")}
_OWN = {
    "win32": {"ntdll": ("__chkstk",)},  # for frames beyond a page
    "darwin": {"c": ("bzero",)},  # for memset with zeros
}
_ALIASES = {"__bzero": "bzero"}  # what LLVM calls it on Macs with Intel's processors
_WINDOWS = {"m": "ucrtbase", "c": "ucrtbase"}  # where its C library is
# `_fltused` is a mark of floating-point code for Windows, which nobody reads.
_POOL = ctypes.c_void_p()  # the scratch memory that the last kernel which needs much of it has left


@once
def _library() -> dict[str, int]:
    """Where the C library's functions are, wherever the process has them, and the pool of scratch memory."""
    found = {name: _address(library, name) for library, names in _NEEDED.items() for name in names}
    for library, names in _OWN.get(sys.platform, {}).items():
        found |= {name: _address(library, name) for name in names}
    for alias, name in _ALIASES.items():
        found |= {alias: found[name]} if name in found else {}
    return found | {"pool": ctypes.addressof(_POOL), "_fltused": ctypes.addressof(_POOL)}


def address_in_process(name: str) -> int | None:
    """Where a function is that this process has anyway."""
    found = None if sys.platform == "win32" else getattr(ctypes.CDLL(None), name, None)
    return None if found is None else int(ctypes.cast(found, ctypes.c_void_p).value or 0)


def _address(library: str, name: str) -> int:
    """Where a function of the C library is; looking for the library's file would start another process."""
    if (here := address_in_process(name)) is not None:
        return here
    if sys.platform == "win32":
        found = getattr(ctypes.CDLL(_WINDOWS.get(library, library)), name)
    else:
        from ctypes.util import find_library

        found = getattr(ctypes.CDLL(find_library(library) or None), name)
    return int(ctypes.cast(found, ctypes.c_void_p).value or 0)
