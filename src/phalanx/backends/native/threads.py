# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Large batches and long states shared by threads: how many are worth waking, and the workers that wait.

A worker is a Python thread that enters the runtime once and stays there, without the GIL;
`runtime/workers.ll` hands out rows, `runtime/team.ll` parts of one state. Where the C library has nothing
to sleep with, workers wait in Python.
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

# The effect of _WORTH, _SETTLED and _PIECE: the speed-ups by size of batch of benchmarks/threads.py.
_WORTH = 1e-4  # seconds of work below which waking another thread costs more than it gains
_STATE = 5e-4  # the same for one long state and a worker that sleeps: benchmarks/one_state.py, "asleep"
_SETTLED = 3e-5  # seconds from which overheads of a call and of idle vector units no longer distort it
_PIECE = 4e-6  # seconds of work that a thread takes at least at once
# Numbers of a result below which one thread computes it, whatever the kernel.
SMALL = 1 << 12
# Bytes of a row of one number for each lane: threads take full blocks of states.
_BLOCK = 64
# The largest number of workers, however many threads are requested: each takes memory of the process.
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
    """Serve batches for as long as the process lives: the main function of a worker."""
    serve, bells = _native("serve", ctypes.c_bool), _bells
    while not objects.posix():
        bells.get()
        serve(False)
    serve(True)


def _called(count: int) -> int:
    """The number of workers that may help, at most `count`; starts the missing ones.

    None is started while the interpreter ends: the new thread would never get the GIL, and `start` would
    wait for it.
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


def is_brief(rows: int, seconds: float) -> bool:
    """Whether `rows` rows of `seconds` each are done before another thread would be awake."""
    return rows * seconds < _WORTH


class Throughput:
    """The least time of a kernel per row on one thread, in seconds; unknown before the first large batch."""

    def __init__(self) -> None:
        self.seconds = inf

    def observe(self, rows: int, seconds: float) -> None:
        """Record that some rows took at most so long, unless overheads distort so short a time."""
        if seconds >= _SETTLED:
            self.seconds = min(self.seconds, seconds / rows)

    def is_brief(self, rows: int) -> bool:
        """Whether `rows` rows are known to be done before another thread would be awake."""
        return is_brief(rows, self.seconds)

    def grain(self, rows: int, threads: int, size: int) -> int:
        """The number of rows that a thread takes at once, small for load balance; items have `size` bytes."""
        least = max(rows // (64 * threads), ceil(_PIECE / self.seconds) if self.seconds < inf else 1)
        block = _BLOCK // size
        return -(-least // block) * block


def helpers_of(threads: int, groups: int) -> int:
    """The number of workers that may share one state of `groups` parts; starts the missing ones.

    None where workers wait in Python: a state is done before one of them has the GIL.
    """
    return _called(min(threads, groups) - 1) if objects.posix() else 0


def share(
    direct: Callable[..., bool],
    arrays: Sequence[np.ndarray],
    groups: int,
    threads: int | None,
    available: int,
    throughput: Throughput,
) -> bool:
    """Fill the last of `arrays` from one state on up to `threads` threads; False if the arrays do not fit.

    If it is None, on all that are `available`, but on one if a state is done before another thread would be
    awake; the first states on one thread give the time.
    """
    helpers = 0
    if threads is not None:
        helpers = helpers_of(threads, groups)
    elif _STATE <= throughput.seconds < inf:
        helpers = helpers_of(available, groups)
    begun = time.perf_counter()
    if not (direct(*arrays, 0, 1, 1, helpers) if helpers else direct(*arrays)):
        return False
    throughput.observe(1, (time.perf_counter() - begun) * (helpers + 1))
    return True


def fill(
    direct: Callable[..., bool], arrays: Sequence[np.ndarray], row: int, threads: int, throughput: Throughput
) -> bool:
    """Fill the last of `arrays`, `row` numbers for each state, on at most `threads`; False if none fits.

    A batch that is done before another thread would be awake stays on this one; where the throughput of the
    kernel is not known yet, the first rows give it. A worker that wakes late finds no rows left, and no
    thread waits for it.
    """
    out = arrays[-1]
    rows = out.size // row
    if throughput.is_brief(rows) or rows < 2:
        return direct(*arrays)
    done, piece = 0, -(-rows // 64)
    begun = time.perf_counter()
    while throughput.seconds == inf and done < rows:
        stop = min(done + piece, rows)
        if not direct(*arrays, done, stop, piece, 0):
            return False
        done = stop
        throughput.observe(done, time.perf_counter() - begun)
    left = rows - done
    helpers = 0 if throughput.is_brief(left) else _called(threads - 1)
    begun = time.perf_counter()
    if left and not direct(*arrays, done, rows, throughput.grain(left, helpers + 1, out.itemsize), helpers):
        return False
    throughput.observe(max(left, 1), (time.perf_counter() - begun) * (helpers + 1))
    return True
