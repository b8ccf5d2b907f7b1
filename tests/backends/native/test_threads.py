# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Threads: the same results, after a fork too, and many callers at once."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import build, compile, objects
from phalanx.backends.native import threads as pool
from reference.kernels import arguments, robot, same_bits

COUNT = 12_000


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many threads were asked for besides this one, once for each call; all work is worth it."""
    asked: list[int] = []
    real = pool._called
    monkeypatch.setattr(pool, "_called", lambda count: (asked.append(count), real(count))[1])
    for name in ("_WORTH", "_SETTLED"):
        monkeypatch.setattr(pool, name, 0)
    monkeypatch.setattr(build, "SMALL", 0)
    return asked


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [(COUNT,), (3, COUNT // 3), (COUNT // 5, 5), (2, 2, COUNT // 4)])
def test_results_are_the_same_for_any_number_of_threads(
    batch: tuple[int, ...], dtype: str, helpers: list[int]
) -> None:
    r = robot("ur5")
    state = arguments(r, "inverse_dynamics", batch, dtype)
    wanted = r.inverse_dynamics(*state, threads=1)
    assert helpers == []
    for threads in (2, 4):
        same_bits(r.inverse_dynamics(*state, threads=threads), wanted)
        assert helpers, "no thread was used"
        out = np.zeros_like(wanted)
        r.inverse_dynamics(*state, threads=threads, out=out)
        same_bits(out, wanted)


def test_broadcast_inputs_are_cut_as_well(helpers: list[int]) -> None:
    r = robot("ur5")
    q, qd, qdd = arguments(r, "inverse_dynamics", COUNT)
    for state in ((q, qd[0], qdd[:1]), (q[:, None], qd[:3], qdd[0])):
        same_bits(r.inverse_dynamics(*state, threads=3), r.inverse_dynamics(*state, threads=1))
    assert set(helpers) == {2}


def test_outputs_that_overlap_inputs_are_right_with_threads(helpers: list[int]) -> None:
    r = robot("ur5")
    q, qd, qdd = arguments(r, "inverse_dynamics", COUNT)
    wanted = r.inverse_dynamics(q, qd, qdd)
    for shift in (0, 1, 6, 4000):
        memory = np.zeros(COUNT * 6 + shift)
        shared = memory[: COUNT * 6].reshape(COUNT, 6)
        shared[...] = qd
        out = memory[shift:].reshape(COUNT, 6)
        same_bits(r.inverse_dynamics(q, shared, qdd, threads=4, out=out), wanted)
    assert helpers


@pytest.mark.parametrize(("microseconds", "used"), [(0.01, False), (10.0, True)])
def test_threads_are_used_where_the_work_is_worth_it(
    microseconds: float, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    asked: list[int] = []

    def direct(a: np.ndarray, out: np.ndarray, start: int, stop: int, grain: int, helpers: int) -> bool:
        clock[0] += 1e-6 * microseconds * (stop - start) / (1 + helpers)
        out[start:stop] = a[start:stop] + 1.0
        return True

    monkeypatch.setattr(pool.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(pool, "_called", lambda count: (asked.append(count), count)[1])
    a = np.zeros((4000, 7))
    assert pool.fill(direct, [a, out := np.zeros_like(a)], 7, 2, pool.Throughput())
    assert asked == ([1] if used else [])
    assert (out == 1.0).all()


def test_the_global_setting_is_used_by_methods(helpers: list[int]) -> None:
    r = robot("ur5")
    state = arguments(r, "inverse_dynamics", COUNT)
    wanted = r.inverse_dynamics(*state, threads=1)
    try:
        px.set_threads(2)
        same_bits(r.inverse_dynamics(*state), wanted)
        assert helpers == [1]
        same_bits(r.inverse_dynamics(*state, threads=1), wanted)
        assert helpers == [1]
        px.set_threads(np.int64(4))
        same_bits(r.inverse_dynamics(*state), wanted)
        assert set(helpers) == {1, 3}
    finally:
        px.set_threads(None)


@pytest.mark.parametrize("count", [0, -1, 1.5, "2", [1], np.float64(2.0)])
def test_a_bad_number_is_refused(count: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r"set_threads: got .*, expected a positive integer or None"):
        px.set_threads(count)
    r = robot("ur5")
    state = arguments(r, "inverse_dynamics", COUNT)
    with pytest.raises(px.PhalanxError, match=r"threads: got .*, expected a positive integer or None"):
        r.inverse_dynamics(*state, threads=count)


class Slow:
    """A kernel of x -> x + 1 whose loop is a Python function: what was computed, and on which thread."""

    def __init__(self, pause: Callable[[], None] = lambda: None) -> None:
        self.seen: list[tuple[str, int]] = []  # thread, rows
        self.pause = pause
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)
        self.function = kind(self.loop)
        address = ctypes.cast(self.function, ctypes.c_void_p).value or 0
        loaded = compile.Loaded(None, {"loop": address, "single": address})
        self.direct = objects.array_function(loaded, "slow", np.dtype(float), [(1,), (1,)], 1, 0, self)

    def loop(self, args: int, dims: int, steps: int, told: int) -> None:
        x, out = (ctypes.c_void_p * 2).from_address(args)
        count = ctypes.c_int64.from_address(dims).value
        by, to = (ctypes.c_int64 * 2).from_address(steps)
        self.seen.append((threading.current_thread().name, count))
        self.pause()
        for k in range(count):
            result = ctypes.c_double.from_address(out + k * to)
            result.value += ctypes.c_double.from_address(x + k * by).value + 1.0


@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 1000])
@pytest.mark.parametrize("grain", [-1, 1, 7, 64, 5000])
@pytest.mark.parametrize("helpers", [0, 1, 3, 10**6])
def test_every_row_is_computed_once(rows: int, grain: int, helpers: int) -> None:
    slow = Slow()
    pool._called(3)
    x, out = np.arange(rows)[:, None] * 1.0, np.zeros((rows, 1))
    assert slow.direct(x, out, 0, rows, grain, helpers) is True
    np.testing.assert_array_equal(out, x + 1.0)
    assert sum(count for _, count in slow.seen) == rows
    assert not helpers or max(count for _, count in slow.seen) <= max(grain, 1)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_rows_of_broadcast_and_turned_batches_are_computed_once(threads: int, helpers: list[int]) -> None:
    slow = Slow()
    x = np.arange(101.0)[::-1, None]
    out = np.zeros((101, 4, 1)).swapaxes(0, 1)
    assert pool.fill(slow.direct, [np.broadcast_to(x, (4, 101, 1)), out], 1, threads, pool.Throughput())
    np.testing.assert_array_equal(out, np.broadcast_to(x + 1.0, (4, 101, 1)))
    assert helpers


def test_a_batch_has_no_more_workers_than_it_asks_for() -> None:
    pool._called(3)
    for helpers in (1, 2):
        slow = Slow(lambda: time.sleep(1e-3))
        assert slow.direct(np.zeros((60, 1)), np.zeros((60, 1)), 0, 60, 1, helpers)
        workers = {name for name, _ in slow.seen if name.startswith("phalanx")}
        assert len(workers) <= helpers


def test_callers_at_once_have_batches_of_their_own() -> None:
    pool._called(3)
    many = [Slow() for _ in range(80)]  # more than there are slots
    outs = [np.zeros((40, 1)) for _ in many]
    start = threading.Barrier(len(many))

    def call(slow: Slow, out: np.ndarray) -> bool:
        start.wait()
        return slow.direct(np.zeros((40, 1)), out, 0, 40, 1, 2)

    with ThreadPoolExecutor(len(many)) as executor:
        assert all(executor.map(call, many, outs))
    assert all((out == 1.0).all() for out in outs)


def test_a_call_within_a_call_is_served() -> None:
    pool._called(2)
    inner, out = Slow(), np.zeros((40, 1))
    outer = Slow(lambda: inner.direct(np.zeros((40, 1)), np.zeros((40, 1)), 0, 40, 4, 2))
    assert outer.direct(np.zeros((40, 1)), out, 0, 40, 4, 2)
    assert (out == 1.0).all()
    assert sum(count for _, count in inner.seen) == 40 * len(outer.seen)


def test_rows_that_a_thread_is_held_up_with_are_waited_for() -> None:
    """A worker takes rows and sleeps: the caller does the rest, and returns when those are there."""
    pool._called(1)
    taken, caller = threading.Event(), threading.current_thread().name

    def pause() -> None:
        if threading.current_thread().name == caller:
            taken.wait(60)
        else:
            taken.set()
            time.sleep(0.05)

    slow = Slow(pause)
    assert slow.direct(np.zeros((4, 1)), out := np.zeros((4, 1)), 0, 4, 2, 1)
    assert (out == 1.0).all()
    assert {name.startswith("phalanx") for name, _ in slow.seen} == {True, False}


def test_nobody_waits_for_threads_that_do_not_come(
    monkeypatch: pytest.MonkeyPatch, helpers: list[int]
) -> None:
    monkeypatch.setattr(pool, "_called", lambda count: count + 40_000)  # nobody started so many
    r = robot("ur5")
    state = arguments(r, "inverse_dynamics", COUNT)
    wanted = r.inverse_dynamics(*state, threads=1)
    result = r.inverse_dynamics(*state, threads=2)
    same_bits(result, wanted)
    result[...] = 5.0
    time.sleep(0.01)  # who comes late finds nothing left to do
    assert (result == 5.0).all()


def test_where_no_thread_can_be_started_one_does_all(
    helpers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(pool, "_workers", 0)
    r = robot("ur5")
    q, qd, qdd = arguments(r, "inverse_dynamics", COUNT)
    wanted = r.inverse_dynamics(q, qd, qdd, threads=1)
    same_bits(r.inverse_dynamics(q, qd, qdd, threads=4), wanted)
    same_bits(r.inverse_dynamics(q[::-1], qd[::-1], qdd[::-1], threads=4), wanted[::-1])
    assert helpers == [3, 3]


def test_the_pace_is_the_best_seen_and_short_times_do_not_count() -> None:
    throughput = pool.Throughput()
    assert not throughput.is_brief(2)
    throughput.observe(1, pool._SETTLED / 2)
    assert throughput.seconds == np.inf
    throughput.observe(1000, 1e-3)
    throughput.observe(1000, 2e-3)
    assert throughput.seconds == 1e-6
    assert throughput.is_brief(int(0.9 * pool._WORTH / 1e-6))
    assert not throughput.is_brief(int(1.1 * pool._WORTH / 1e-6))


def test_many_python_threads_may_share_a_fresh_robot() -> None:
    r = px.chain(5, seed=77)
    state = arguments(r, "forward_dynamics", 50)
    wanted = px.chain(5, seed=77).forward_dynamics(*state)
    start = threading.Barrier(8)

    def work(k: int) -> np.ndarray:
        start.wait()
        results = [r.forward_dynamics(*state) for _ in range(20)]
        results += [np.array([r.forward_dynamics(*(a[i] for a in state)) for i in range(50)])]
        r.mass_matrix(state[0])
        for result in results[1:]:
            np.testing.assert_array_equal(result, results[0])
        return results[0]

    with ThreadPoolExecutor(8) as executor:
        for result in executor.map(work, range(8)):
            same_bits(result, wanted)


def test_callers_with_threads_of_their_own_do_not_wait_for_each_other_forever() -> None:
    r = robot("ur5")
    state = arguments(r, "inverse_dynamics", COUNT)
    wanted = r.inverse_dynamics(*state, threads=1)
    with ThreadPoolExecutor(6) as executor:
        jobs = [executor.submit(r.inverse_dynamics, *state, threads=3) for _ in range(12)]
        for job in jobs:
            same_bits(job.result(timeout=60), wanted)


def test_a_kernel_is_built_once_for_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    r = px.chain(4, seed=78)
    made: list[Any] = []
    real = build._build
    monkeypatch.setattr(build, "_build", lambda *a: (made.append(a), real(*a))[1])
    with ThreadPoolExecutor(6) as executor:
        kernels = list(executor.map(lambda _: r.kernel("mass_matrix"), range(6)))
    assert len(made) == 1
    assert len({id(k._native) for k in kernels}) == 1
