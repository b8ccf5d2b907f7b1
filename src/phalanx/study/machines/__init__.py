# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machines to place an algorithm on: what processors, times and links there are.

They are plain values; `phalanx.schedule` does the placing.
"""

from __future__ import annotations

from collections.abc import Callable

from .base import Machine, Pram, pram
from .processor_array import ProcessorArray, processor_array
from .systolic import Systolic, systolic
from .times import LinkTimes, Times
from .transputers import T800, Transputers, transputers

# By the names that commands and the studio have for them.
MACHINES: dict[str, Callable[..., Machine]] = {
    "pram": pram,
    "transputers": transputers,
    "systolic": systolic,
    "array": processor_array,
}

__all__ = [
    "MACHINES",
    "T800",
    "LinkTimes",
    "Machine",
    "Pram",
    "ProcessorArray",
    "Systolic",
    "Times",
    "Transputers",
    "pram",
    "processor_array",
    "systolic",
    "transputers",
]
