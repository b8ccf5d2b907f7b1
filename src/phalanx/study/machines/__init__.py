# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Machines to place an algorithm on: what processors, times and links there are.

They are plain values; `phalanx.schedule` does the placing.
"""

from __future__ import annotations

from .base import Machine, Pram, pram
from .processor_array import ProcessorArray, processor_array
from .systolic import Systolic, systolic
from .times import LinkTimes, Times
from .transputers import T800, Transputers, transputers

__all__ = [
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
