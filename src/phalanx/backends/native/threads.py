# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Large batches split over threads; machine code runs without the interpreter's lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

# States per thread below which handing over costs more than it gains, for a small arm.
_LEAST = 2048

_pools: dict[int, ThreadPoolExecutor] = {}
_lock = threading.Lock()


def _forget() -> None:
    """In a forked child no thread of the parent's pools is left."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _pool(size: int) -> ThreadPoolExecutor:
    with _lock:
        if size not in _pools:
            _pools[size] = ThreadPoolExecutor(size, thread_name_prefix="phalanx")
        return _pools[size]


def run(
    ufunc: Callable[..., Any],
    inputs: Sequence[np.ndarray],
    cores: Sequence[int],
    out: np.ndarray,
    core: int,
    threads: int,
    least: int = _LEAST,
) -> None:
    """Fill `out` with ufunc(*inputs), its longest batch axis cut into one piece per thread."""
    batch = out.shape[: out.ndim - core]
    count = int(np.prod(batch))
    pieces = min(threads, count // least)
    if pieces < 2:
        ufunc(*inputs, out=out)
        return
    axis = int(np.argmax(batch))
    edges = [batch[axis] * k // pieces for k in range(pieces + 1)]
    whole = [np.broadcast_to(a, (*batch, *a.shape[a.ndim - c :])) for a, c in zip(inputs, cores, strict=True)]

    def piece(start: int, stop: int) -> None:
        part = (slice(None),) * axis + (slice(start, stop),)
        ufunc(*(a[part] for a in whole), out=out[part])

    spans = list(pairwise(edges))
    rest = [_pool(pieces - 1).submit(piece, *span) for span in spans[1:]]
    piece(*spans[0])
    for future in rest:
        future.result()
