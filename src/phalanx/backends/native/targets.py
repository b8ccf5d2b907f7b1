# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Targets of cross-compilation, by the names that users give them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PhalanxError, is_one_of, nearest, shown
from .availability import llvm
from .compile import Target, host

WASM = "wasm32"


@dataclass(frozen=True)
class TargetMachine(Target):
    """A target with the relocation model, ABI and word size of its object files."""

    reloc: str = "static"
    abi: str = ""
    word: int = 32  # bits of an address

    def machine(self, level: int = 2) -> Any:
        """The code generator for this target."""
        made = llvm.Target.from_triple(self.triple)
        return made.create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=level,
            reloc=self.reloc,
            codemodel="small",
            abiname=self.abi,
        )


# Registers of no bits hold one number of any size: a processor without vectors.
_KNOWN: dict[str, dict[str, Any]] = {
    "x86-64": {"triple": "x86_64-unknown-linux-gnu", "cpu": "x86-64", "bits": 128, "fma": False},
    "x86-64-v3": {"triple": "x86_64-unknown-linux-gnu", "cpu": "x86-64-v3", "bits": 256, "fma": True},
    "x86-64-v4": {"triple": "x86_64-unknown-linux-gnu", "cpu": "x86-64-v4", "bits": 512, "fma": True},
    "aarch64": {"triple": "aarch64-unknown-linux-gnu", "cpu": "generic", "bits": 128, "fma": True},
    "riscv64": {
        "triple": "riscv64-unknown-linux-gnu",
        "cpu": "generic-rv64",
        "features": "+m,+a,+f,+d,+c",
        "fma": True,
        "abi": "lp64d",
    },
    "cortex-m4": {"triple": "thumbv7em-none-eabihf", "cpu": "cortex-m4", "fma": True},
    "cortex-m7": {"triple": "thumbv7em-none-eabihf", "cpu": "cortex-m7", "fma": True},
    "cortex-m33": {"triple": "thumbv8m.main-none-eabihf", "cpu": "cortex-m33", "fma": True},
    WASM: {
        "triple": "wasm32-unknown-unknown",
        "cpu": "generic",
        "features": "+simd128",
        "bits": 128,
        "fma": False,
    },
}
_SINGLE_ONLY = ("cortex-m4", "cortex-m33")  # whose floating-point unit knows no float64
NAMES = ("host", *_KNOWN)
_LINKED = ("x86_64", "aarch64", "riscv64")  # machines with shared libraries: position-independent code


def machine(name: Any, dtype: np.dtype) -> TargetMachine:
    """The target machine that a user names (None is the host); an error if it lacks the precision `dtype`."""
    if name is None or is_one_of(name, ("host",)):
        here = host()
        return TargetMachine(here.triple, here.cpu, here.features, here.bits, here.fma, "pic", "", 64)
    if not is_one_of(name, _KNOWN):
        raise PhalanxError(f"export: unknown target {shown(name)};{nearest(name, NAMES, what='targets')}")
    if name in _SINGLE_ONLY and dtype == np.float64:
        raise PhalanxError(
            f'export: "{name}" computes float32 only, and float64 would need a library; use dtype="float32".'
        )
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    given = {"features": "", "bits": 8 * dtype.itemsize, **_KNOWN[name]}
    if given["triple"].startswith(_LINKED):
        given = {"reloc": "pic", "word": 64, **given}
    return TargetMachine(**given)
