# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How much work something is, counted so that every machine gives the same answer, idle or not."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any


def calls_of(action: Callable[[], Any]) -> int:
    """Calls of functions, of Python's and of C's, while an action runs in this thread."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event.endswith("call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def memory_of(action: Callable[[], Any]) -> int:
    """The most bytes that an action has asked for at a time."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
