# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Large batches split over threads; machine code runs without the GIL."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from math import inf
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

from .entry import TICKET

# Seconds of work below which waking another thread costs more than it gains.
_WORTH = 3e-4
# Seconds after which the pace is known: calls and sleeping vector units spoil shorter ones.
_SETTLED = 3e-5
# Numbers in a result below which nobody asks.
_SMALL = 1 << 12
# Rows that a thread takes at least at once.
_GRAIN = 64
# Threads that ever wait for work, however many are asked for: each takes memory and a place in the system.
_MOST = max(256, os.cpu_count() or 1)

_tasks: SimpleQueue[Callable[[], None]] = SimpleQueue()
_helpers = 0
_lock = threading.Lock()


def _forget() -> None:
    """In a forked child none of the parent's threads is left."""
    global _tasks, _helpers, _lock
    _tasks, _helpers, _lock = SimpleQueue(), 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _serve(tasks: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        tasks.get()()


def _ask(count: int, task: Callable[[], None]) -> int:
    """Let up to `count` waiting threads run `task`; a queue wakes them in half the time of an executor."""
    global _helpers
    if sys.is_finalizing():  # a thread that starts now never gets the GIL, and its start would wait for it
        return 0
    count = min(count, _MOST)
    with _lock, suppress(RuntimeError):  # beyond a limit of threads
        while _helpers < count:
            threading.Thread(target=_serve, args=(_tasks,), name=f"phalanx-{_helpers}", daemon=True).start()
            _helpers += 1
    count = min(count, _helpers)
    for _ in range(count):
        _tasks.put(task)
    return count


class Pace:
    """Seconds that a kernel takes for a row on one thread, at best; unknown before a large batch."""

    def __init__(self) -> None:
        self.seconds = inf

    def observe(self, rows: int, seconds: float) -> None:
        """Some rows took at most so long; a short time would tell of calls and sleeping vector units."""
        if seconds >= _SETTLED:
            self.seconds = min(self.seconds, seconds / rows)

    def is_brief(self, states: np.ndarray) -> bool:
        """Whether states are known to be done before another thread would be awake."""
        return states.size < _SMALL or states.size // states.shape[-1] * self.seconds < _WORTH


def share(shared: Callable[..., bool], arrays: Sequence[np.ndarray], threads: int, pace: Pace) -> bool:
    """Let threads take rows of states until the last of `arrays` is full; False if they do not fit.

    A batch that is done before another thread would be awake stays on this one, whatever the robot;
    where the pace of the kernel is not known yet, the first rows tell. Who comes late finds nothing
    left to do, and nobody waits for those who do not come.
    """
    ticket = np.zeros(TICKET, np.int64)
    work = partial(shared, *arrays, ticket)
    if not work():  # on no rows at all
        return False
    rows = len(arrays[-1])
    done, piece = 0, -(-rows // 64)
    begun = time.perf_counter()
    while pace.seconds == inf and done < rows:
        ticket[:] = done, done, done + piece, piece
        work()
        done = int(ticket[1])
        pace.observe(done, time.perf_counter() - begun)
    if done == rows:
        return True
    alone = threads < 2 or pace.is_brief(arrays[0][done:])
    ticket[:] = done, done, rows, rows if alone else max(rows // (64 * threads), _GRAIN)
    begun = time.perf_counter()
    if alone:
        work()
    else:
        _shared_out(work, ticket, threads)
    pace.observe(rows - done, (time.perf_counter() - begun) * (1 if alone else threads))
    return True


def _shared_out(work: Callable[[], bool], ticket: np.ndarray, threads: int) -> None:
    """Run `work` here and wherever a thread wakes up in time, until all rows are done."""
    left: SimpleQueue[None] = SimpleQueue()
    pending = [work]  # emptied at the end: a thread that comes late must not keep arrays alive

    def help_out() -> None:
        for each in tuple(pending):
            each()
        left.put(None)

    _ask(threads - 1, help_out)
    done = work()
    while not done:  # a thread was held up in the middle of its rows
        with suppress(Empty):
            left.get(timeout=1e-3)  # at the end of the interpreter it could not tell any more
        done = bool(ticket[1] == ticket[2])
    pending.clear()


def run(
    ufunc: Callable[..., Any],
    inputs: Sequence[np.ndarray],
    cores: Sequence[int],
    out: np.ndarray,
    core: int,
    threads: int,
) -> None:
    """Fill `out` with ufunc(*inputs), its longest batch axis cut into runs that threads share.

    The first runs tell how long the others will take: a batch that is done before another thread
    would be awake stays on this one, whatever the robot.
    """
    batch = out.shape[: out.ndim - core]
    axis = int(np.argmax(batch)) if batch else 0
    if threads < 2 or not batch or batch[axis] < 2 or out.size < _SMALL:
        ufunc(*inputs, out=out)
        return
    whole = [_stretched(a, batch, a.ndim - c) for a, c in zip(inputs, cores, strict=True)]
    spans = _spans(batch[axis], threads)

    def compute(start: int, stop: int) -> None:
        part = (slice(None),) * axis + (slice(start, stop),)
        ufunc(*(a[part] for a in whole), out=out[part])

    def work() -> None:
        while spans:
            try:
                compute(*spans.popleft())
            except IndexError:  # another thread was faster
                return

    begun = time.perf_counter()
    while spans:
        done = spans[0][1]
        compute(*spans.popleft())
        elapsed = time.perf_counter() - begun
        if elapsed * (batch[axis] - done) < _WORTH * done:
            compute(done, batch[axis])
            return
        if elapsed >= _SETTLED:
            _together(work, min(threads, len(spans) + 1))
            return


def _together(work: Callable[[], None], threads: int) -> None:
    """Run `work` on this thread and on up to `threads` - 1 others; the first error is raised here.

    Nobody waits for a thread that has not begun when this one is through: it finds its place gone. At the
    end of the interpreter none would come any more.
    """
    errors: SimpleQueue[BaseException | None] = SimpleQueue()
    places = [work] * (threads - 1)

    def help_out() -> None:
        try:
            mine = places.pop()
        except IndexError:
            return
        try:
            mine()
        except BaseException as error:
            errors.put(error)
        else:
            errors.put(None)

    _ask(threads - 1, help_out)
    free = 0
    try:
        work()
    finally:
        with suppress(IndexError):
            while True:
                places.pop()
                free += 1
        ended = [errors.get() for _ in range(threads - 1 - free)]
    for error in ended:
        if error is not None:
            raise error


def _stretched(a: np.ndarray, batch: tuple[int, ...], axes: int) -> np.ndarray:
    """`a` over the whole batch; `broadcast_to` is slow enough to be spared where it has nothing to do."""
    return a if a.shape[:axes] == batch else np.broadcast_to(a, (*batch, *a.shape[axes:]))


def _spans(length: int, threads: int) -> deque[tuple[int, int]]:
    """Runs of states, two short ones first, then from long to short.

    Whoever is free takes the next one, so that all end together; a thread that wakes up late (tens of
    microseconds on a virtual machine) takes fewer.
    """
    first = -(-length // (32 * threads))
    edges = [0, first, 2 * first]
    while length - edges[-1] > 4 * first:
        edges.append(edges[-1] + max((length - edges[-1]) // (2 * threads), 2 * first))
    return deque((a, min(b, length)) for a, b in pairwise([*edges, length]) if a < length)
