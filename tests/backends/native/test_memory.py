# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels where there is no memory for what their loops keep: no number is made up, no other touched."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import compile
from reference.kernels import arguments

_REFUSE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(lambda size: None)


@pytest.fixture
def starved(monkeypatch: pytest.MonkeyPatch) -> px.Robot:
    """A robot with loops over bodies whose kernels get no memory."""
    nothing = ctypes.cast(_REFUSE, ctypes.c_void_p).value
    library = compile._library() | {"malloc": nothing}
    monkeypatch.setattr(compile, "_library", lambda: library)
    return px.chain(60, seed=4)


@pytest.mark.parametrize("batch", [(), (1,), (3,), (50,)])
@pytest.mark.parametrize("threads", [1, 2])
def test_results_are_nan_where_memory_is_refused(
    starved: px.Robot, batch: tuple[int, ...], threads: int
) -> None:
    q, qd, tau = starved.random_state(batch, rng=np.random.default_rng(1))
    k = starved.kernel("forward_dynamics")
    around = np.zeros((*batch, 62))
    results: list[Any] = [k(q, qd, tau, threads=threads), around[..., 1:61]]
    k(q, qd, tau, out=results[1], threads=threads)
    assert all(np.isnan(r).all() for r in results)
    assert (around[..., [0, 61]] == 0.0).all()


def test_an_empty_batch_without_memory_touches_nothing(starved: px.Robot) -> None:
    state = arguments(starved, "forward_dynamics", 3)
    after = np.zeros((3, 60))
    starved.kernel("forward_dynamics").bind(*(a[:0] for a in state), out=after[:0])()
    assert (after == 0.0).all()
