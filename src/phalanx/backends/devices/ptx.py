# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs as PTX, the assembly of NVIDIA's GPUs, by LLVM: one state a thread.

Rows of a batch lie one after another, as NumPy has them, while threads side by side should touch words side
by side. So a block of threads copies its rows into shared memory together, each thread reads its own row there,
and results leave the same way. Rows there have an odd length: neighbours then never meet in one memory bank.
Regions too wide for shared memory are read and written in place.

What loops keep lies in a workspace in global memory: the 32 threads of a warp have every number side by side.
The alternative, local memory, has the same layout, but drivers reserve it for all threads that a device can
hold at once, however few run, and it ends at 512 KB a thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import PhalanxError, nearest
from ...program.form.program import Index, Part, Program, Region, Table
from ..native.compile import Target
from ..native.emit.places import Frame
from ..native.emit.walk import Module, Text
from ..native.loop import ELEMENTS, runtime_text

WARP = 32
# Compute capabilities, and the release of PTX that knows them first; the default loads on all later devices.
ARCHITECTURES = {
    "sm_75": 63,
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    "sm_89": 78,
    "sm_90": 78,
    "sm_100": 86,
    "sm_120": 87,
}
DEFAULT = "sm_75"
_BLOCKS = (128, 64, 32)  # threads of a block, the first that fits
_SHARED = 48 * 1024  # bytes that any block may have
_WIDEST = 96  # words of a row in shared memory; wider ones leave too few threads on a multiprocessor
_CONSTANT = 60 * 1024  # bytes of tables in constant memory, of 64 KB


def architecture(name: str | None, where: str = "export") -> str:
    """The name of an architecture that is known, by default the one that all devices load."""
    if name is None:
        return DEFAULT
    if name not in ARCHITECTURES:
        raise PhalanxError(
            f"{where}: unknown target {name!r} for PTX;{nearest(name, ARCHITECTURES, what='targets')}"
        )
    return name


@dataclass(frozen=True)
class Layout:
    """How a kernel is launched, and what it needs."""

    name: str
    block: int  # threads
    shared: int  # bytes, static
    scratch: int  # bytes of workspace for each thread
    staged: tuple[bool, ...]  # inputs, then outputs: through shared memory or in place
    sizes: tuple[int, ...]  # numbers in a row of each

    def workspace(self, blocks: int) -> int:
        """Bytes of workspace for so many blocks."""
        return self.scratch * self.block * blocks
