# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The machine that code is made for: its name, its features and its vector width."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from ...errors import PhalanxError, listing


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

    def machine(self, level: int = 2) -> llvm.TargetMachine:
        """The code generator for this target."""
        made = llvm.Target.from_triple(self.triple)
        return made.create_target_machine(
            cpu=self.cpu, features=self.features, opt=level, reloc="pic", codemodel="small", jit=True
        )


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


@cache
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
