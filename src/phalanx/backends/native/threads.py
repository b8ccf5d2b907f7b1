# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Large batches shared by threads: how many are worth waking, and the workers that wait in machine code.

A worker is a Python thread that enters the runtime once and stays there, without the GIL;
`runtime/workers.ll` hands out rows. Where the C library has nothing to sleep with, workers wait in Python.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import ceil, inf
from queue import SimpleQueue
from typing import Any

import numpy as np

from . import objects

# Seconds of work below which waking another thread costs more than it gains.
_WORTH = 1e-4
# Seconds after which the pace is known: calls and sleeping vector units spoil shorter ones.
_SETTLED = 3e-5
# Seconds of work that a thread takes at least at once.
_PIECE = 4e-6
# Numbers in a result below which nobody asks.
SMALL = 1 << 12
# Bytes of a row of one number for each lane: threads take whole blocks of states.
_BLOCK = 64
# Workers at most, however many threads are asked for: each takes memory and a place in the system.
_MOST = max(256, os.cpu_count() or 1)

_workers = 0
_lock = threading.Lock()
_bells: SimpleQueue[None] = SimpleQueue()  # for workers that wait in Python


def _forget() -> None:
    """In a forked child none of the parent's threads is left."""
    global _workers, _lock, _bells
    if _workers:
        _native("reset")()
    _workers, _lock, _bells = 0, threading.Lock(), SimpleQueue()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _native(name: str, *arguments: Any) -> Callable[..., None]:
    """A function of the runtime, called without the GIL."""
    return ctypes.CFUNCTYPE(None, *arguments)(objects.runtime()[name])


def _serve() -> None:
    """The life of a worker."""
    serve, bells = _native("serve", ctypes.c_bool), _bells
    while not objects.posix():
        bells.get()
        serve(False)
    serve(True)


def _called(count: int) -> int:
    """How many workers may come, at most `count`, started now where there are too few.

    Workers need no interpreter to compute, but a thread that starts while it ends never gets the GIL, and
    its start would wait for it.
    """
    global _workers
    count = min(count, _MOST)
    if _workers < count and not sys.is_finalizing():
        with _lock, suppress(RuntimeError):  # beyond a limit of threads
            while _workers < count:
                threading.Thread(target=_serve, name=f"phalanx-{_workers}", daemon=True).start()
                _workers += 1
    count = min(count, _workers)
    if not objects.posix():
        for _ in range(count):
            _bells.put(None)
    return count


class Throughput:
    """Seconds that a kernel takes for a row on one thread, at best; unknown before a large batch."""

    def __init__(self) -> None:
        self.seconds = inf

    def observe(self, rows: int, seconds: float) -> None:
        """Some rows took at most so long; a short time would tell of calls and sleeping vector units."""
        if seconds >= _SETTLED:
            self.seconds = min(self.seconds, seconds / rows)

    def is_brief(self, rows: int) -> bool:
        """Whether so many rows are known to be done before another thread would be awake."""
        return rows * self.seconds < _WORTH

    def grain(self, rows: int, threads: int, size: int) -> int:
        """How many rows a thread takes at once: so few that all end together; `size` is that of a number."""
        least = max(rows // (64 * threads), ceil(_PIECE / self.seconds) if self.seconds < inf else 1)
        block = _BLOCK // size
        return -(-least // block) * block


def fill(
    direct: Callable[..., bool], arrays: Sequence[np.ndarray], row: int, threads: int, pace: Throughput
) -> bool:
    """Fill the last of `arrays`, `row` numbers for each state, on up to so many threads; False if none fits.

    A batch that is done before another thread would be awake stays on this one, whatever the robot;
    where the pace of the kernel is not known yet, the first rows tell. Who comes late finds nothing
    left to do, and nobody waits for those who do not come.
    """
    out = arrays[-1]
    rows = out.size // row
    if pace.is_brief(rows) or rows < 2:
        return direct(*arrays)
    done, piece = 0, -(-rows // 64)
    begun = time.perf_counter()
    while pace.seconds == inf and done < rows:
        stop = min(done + piece, rows)
        if not direct(*arrays, done, stop, piece, 0):
            return False
        done = stop
        pace.observe(done, time.perf_counter() - begun)
    left = rows - done
    helpers = 0 if pace.is_brief(left) else _called(threads - 1)
    begun = time.perf_counter()
    if left and not direct(*arrays, done, rows, pace.grain(left, helpers + 1, out.itemsize), helpers):
        return False
    pace.observe(max(left, 1), (time.perf_counter() - begun) * (helpers + 1))
    return True
