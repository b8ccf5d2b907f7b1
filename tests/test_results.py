# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Buffers of results are recycled, but never while somebody holds a result."""

from __future__ import annotations

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import phalanx as px
from phalanx import arrays
from phalanx.arrays import empty_result

LARGE = (1 << 17,)  # of float64: a megabyte


@pytest.fixture(autouse=True)
def spare() -> None:
    arrays._spare.clear()


def address(a: np.ndarray) -> int:
    return int(a.__array_interface__["data"][0])


@pytest.mark.parametrize("shape", [(3,), (0, 7), LARGE, (1 << 10, 1 << 7), (1 << 9, 1 << 7, 3), (1 << 22,)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_are_ordinary_arrays(shape: tuple[int, ...], dtype: str) -> None:
    made = empty_result(shape, dtype)
    assert type(made) is np.ndarray
    assert (made.shape, made.dtype) == (shape, np.dtype(dtype))
    assert made.flags.c_contiguous
    assert made.flags.writeable
    made[...] = 1.0
    again = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again, made)


def test_a_block_is_used_again_after_the_last_view_of_it_is_gone() -> None:
    first = empty_result(LARGE, "float64")
    place, view = address(first), first[10:20]
    assert place % 64 == 0
    del first
    gc.collect()
    second = empty_result(LARGE, "float64")
    assert address(second) != place  # the view still holds it
    del view
    gc.collect()
    third = empty_result((1 << 16, 2), "float64")
    assert address(third) == place


def test_blocks_of_another_size_are_not_wasted_and_few_are_kept() -> None:
    held = [empty_result((k << 17,), "float64") for k in range(1, 9)]
    held.clear()
    gc.collect()
    assert len(arrays._spare) == 4
    made = empty_result((1 << 16,), "float64")
    assert address(made) not in [block.data[0] for block in arrays._spare]
    assert len(arrays._spare) == 4


def test_results_that_are_held_stay_as_they_are() -> None:
    robot = px.load("ur5")
    states = [robot.random_state((20_000,), rng=k) for k in range(6)]
    wanted = [robot.inverse_dynamics(*s, threads=1).copy() for s in states]

    def work(turn: int) -> bool:
        held = [robot.inverse_dynamics(*s, threads=2) for s in states]
        return all(np.array_equal(a, b) for a, b in zip(held, wanted, strict=True))

    with ThreadPoolExecutor(4) as executor:
        assert all(executor.map(work, range(12)))
