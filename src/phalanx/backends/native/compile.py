# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From LLVM IR to object code for a machine, and from object code to addresses in this process."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache as once
from functools import cached_property
from typing import Any

from ...errors import PhalanxError, listing
from . import cache
from .availability import llvm, version
from .locks import building, leavable


@dataclass(frozen=True)
class Target:
    """An LLVM target with the width of its vector registers."""

    triple: str
    cpu: str
    features: str
    bits: int
    fma: bool

    def lanes(self, size: int) -> int:
        """The number of SIMD lanes: values of `size` bytes in one register."""
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

    @property
    def has_machine_scheduler(self) -> bool:
        """Whether LLVM runs its machine scheduler for this target unless an option is set."""
        return not self.triple.startswith("wasm")


# Instruction sets that `PHALANX_CPU` may name, below what the machine has.
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
    """This machine, or with the smaller instruction set that the environment variable PHALANX_CPU names."""
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
    """The target of a smaller instruction set (`PHALANX_CPU`); an error if this machine cannot run it."""
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
    """A 64-bit ARM machine, for cross-compilation."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return Target("aarch64-unknown-linux-gnu", "generic", "+neon", 128, True)


# Characters of LLVM IR from which instructions are selected with less effort: on very long straight-line
# code that takes more than half of the time, and the result runs within a few percent as fast. No script
# measures it.
LONG = 1_000_000
# Characters that compile for a good part of a second, in a thread that Ctrl-C can leave.
_SLOW = 400_000


@dataclass(frozen=True)
class CodegenOptions:
    """How LLVM generates code for a module.

    With `high_pressure` instructions are scheduled for few registers, not for parallelism. That serves
    blocks whose values outnumber the registers by far, such as several matrices: there parallelism costs
    more in spills than it gains, and the time of the scheduler, quadratic in the block, is nine tenths of
    the compile time of a humanoid's regressor. With `hasty` LLVM takes the least effort: a module whose
    compile time would grow with the square of its length, such as a step with a law of a thousand sines,
    compiles in seconds and runs at two thirds of the speed. With `source_order` instructions keep the order
    of the IR.
    """

    high_pressure: bool = False
    hasty: bool = False
    source_order: bool = False

    def schedulers(self, *, by_default: bool) -> dict[str, tuple[str, str]]:
        """Command-line options of LLVM and the values to which they are reset.

        `by_default` is whether LLVM runs its machine scheduler for the target unless an option is set.
        """
        if self.high_pressure or self.source_order:
            return {
                "-enable-misched": ("false", "true"),
                "-pre-RA-sched": ("source" if self.source_order else "list-burr", "default"),
            }
        return {} if by_default else {"-enable-misched": ("false", "true")}


_DEFAULT = CodegenOptions()
_LATEST = 22  # release of LLVM that has these options; LLVM ends the process at an unknown one


@contextmanager
def scheduling(options: CodegenOptions, *, by_default: bool = True) -> Iterator[None]:
    """A context in which LLVM schedules instructions as these options say; the lock `building` is held.

    LLVM's options are global to the process, and one that was ever set overrides the target's own choice. So
    a target without a machine scheduler by default sets it at every compilation, and code does not depend on
    what was compiled before.
    """
    known = options.schedulers(by_default=by_default) if llvm.llvm_version_info[0] <= _LATEST else {}
    for option, (value, _) in known.items():
        llvm.set_option("", f"{option}={value}")
    try:
        yield
    finally:
        for option, (_, default) in known.items():
            llvm.set_option("", f"{option}={default}")


def parsed(ir: str, target: Target, options: CodegenOptions = _DEFAULT) -> tuple[Any, Any]:
    """The module of some LLVM IR, verified, and the code generator for it."""
    module = llvm.parse_assembly(f'target triple = "{target.triple}"\n{ir}')
    module.verify()  # LLVM aborts the process on invalid IR
    machine = target.machine(0 if options.hasty else 1 if len(ir) > LONG else 2)
    module.data_layout = str(machine.target_data)
    return module, machine


def object_code(ir: str, target: Target, options: CodegenOptions = _DEFAULT) -> bytes:
    """Relocatable object code of a module."""

    def made() -> bytes:
        module, machine = parsed(ir, target, options)
        with scheduling(options, by_default=target.has_machine_scheduler):
            return bytes(machine.emit_object(module))

    with building:  # options of LLVM are global
        return leavable(made) if len(ir) > _SLOW else made()


def assembly(ir: str, target: Target, options: CodegenOptions = _DEFAULT) -> str:
    """The assembly of a module."""
    module, machine = parsed(ir, target, options)
    with building, scheduling(options, by_default=target.has_machine_scheduler):
        return str(machine.emit_assembly(module))


@dataclass(frozen=True)
class Loaded:
    """Object code in memory; the addresses are valid as long as this object lives."""

    library: Any  # and its linker
    addresses: Mapping[str, int]

    @property
    def loop(self) -> int:
        """The address of the inner loop of a kernel's ufunc."""
        return self.addresses["loop"]

    @property
    def single(self) -> int:
        """The address of the function of one state."""
        return self.addresses["single"]

    @property
    def shared(self) -> int:
        """The address of the function of one state on several threads, 0 if there is nothing to share."""
        return self.addresses["shared"] if self.groups > 1 else 0

    @cached_property
    def groups(self) -> int:
        """The most iterations of a phase that cores may share; 0 if there are none."""
        address = self.addresses.get("groups")
        return 0 if address is None else int(ctypes.CFUNCTYPE(ctypes.c_int64)(address)())


KERNEL = ("loop", "single")
PHASED = ("shared", "groups")  # of kernels whose phases cores may share


def load(code: bytes, names: Sequence[str] = KERNEL, symbols: Mapping[str, int] | None = None) -> Loaded:
    """Load object code into executable memory, link it to the C library, and look up `names` in it.

    `symbols` are addresses that it needs beyond the C library's.

    The linker puts the code and constants of a kernel into one allocation. In separate ones they could be
    too far apart for relative addressing where a program holds gigabytes of arrays. Each kernel
    has a linker of its own, since a shared one would never release a library.
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
    make: Callable[[], tuple[str, CodegenOptions]],
    names: Sequence[str] = KERNEL,
    symbols: Mapping[str, int] | None = None,
) -> tuple[Loaded, bool]:
    """Loaded machine code, and whether it was cached on disk; `parts` are its key, `make` gives the IR."""
    key = cache.key_of(*parts, host(), version())
    if (code := cache.read(key)) is not None:
        with suppress(PhalanxError):  # a file with the right digest that is no object code
            return load(code, names, symbols), True
    ir, options = make()
    code = object_code(ir, host(), options)
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
# `_fltused` marks floating-point code on Windows; its value is never read.
_POOL = ctypes.c_void_p()  # the pool of `runtime/pool.ll`: the last large block of scratch memory


@once
def _library() -> dict[str, int]:
    """Addresses of the functions that kernels call in the C library, and of the pool of scratch memory."""
    found = {name: _address(library, name) for library, names in _NEEDED.items() for name in names}
    for library, names in _OWN.get(sys.platform, {}).items():
        found |= {name: _address(library, name) for name in names}
    for alias, name in _ALIASES.items():
        found |= {alias: found[name]} if name in found else {}
    return found | {"pool": ctypes.addressof(_POOL), "_fltused": ctypes.addressof(_POOL)}


def address_in_process(name: str) -> int | None:
    """The address of a function that is already loaded in this process; None if it is not."""
    found = None if sys.platform == "win32" else getattr(ctypes.CDLL(None), name, None)
    return None if found is None else int(ctypes.cast(found, ctypes.c_void_p).value or 0)


def _address(library: str, name: str) -> int:
    """The address of a function of the C library; `ctypes.util` would start a process to find its file."""
    if (here := address_in_process(name)) is not None:
        return here
    if sys.platform == "win32":
        found = getattr(ctypes.CDLL(_WINDOWS.get(library, library)), name)
    else:
        from ctypes.util import find_library

        found = getattr(ctypes.CDLL(find_library(library) or None), name)
    return int(ctypes.cast(found, ctypes.c_void_p).value or 0)
