# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Threads: the same results, after a fork too, and many callers at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import threads as pool
from reference.kernels import arguments, in_fresh_interpreter, robot, same_bits

COUNT = 12_000


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many threads were asked for besides this one, once for each call; all work is worth it."""
    asked: list[int] = []
    real = pool._ask
    monkeypatch.setattr(pool, "_ask", lambda count, task: (asked.append(count), real(count, task))[1])
    monkeypatch.setattr(pool.run, "__defaults__", (0.0,))
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


@pytest.mark.parametrize(("microseconds", "used"), [(0.1, False), (10.0, True)])
def test_threads_are_used_where_the_work_is_worth_it(
    microseconds: float, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    asked: list[int] = []

    def state_by_state(a: np.ndarray, out: np.ndarray) -> None:
        clock[0] += 1e-6 * microseconds * len(out)
        out[...] = a + 1.0

    monkeypatch.setattr(pool.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(pool, "_ask", lambda count, task: (asked.append(count), task())[1])
    a = np.zeros((4000, 7))
    pool.run(state_by_state, [a], [1], out := np.zeros_like(a), 1, 2)
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
    with pytest.raises(
        px.PhalanxError, match=r"set_threads: got .*, expected a positive whole number or None"
    ):
        px.set_threads(count)
    r = robot("ur5")
    state = arguments(r, "inverse_dynamics", COUNT)
    with pytest.raises(px.PhalanxError, match=r"threads: got .*, expected a positive whole number or None"):
        r.inverse_dynamics(*state, threads=count)


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def broken(*_: Any, out: np.ndarray) -> None:
        if out.shape[0] and out[0, 0] > 0.0:
            raise ValueError("second half")

    out = np.zeros((100, 2))
    out[50:] = 1.0
    with pytest.raises(ValueError, match="second half"):
        pool.run(broken, [np.zeros((100, 2))], [1], out, 1, threads=2, worth=0.0)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_every_state_is_computed_once(threads: int) -> None:
    lock = threading.Lock()
    seen = np.zeros((4, 101), dtype=int)

    def note(a: np.ndarray, out: np.ndarray) -> None:
        with lock:
            out[...] += 1
        assert a.shape[:-1] == out.shape[:-1]

    pool.run(note, [np.zeros((101, 3))], [1], seen[..., None], 1, threads, worth=0.0)
    assert (seen == 1).all()


FORK = """
import os
import signal
import time
import numpy as np
import phalanx as px
from phalanx.backends.native import threads
from reference.kernels import arguments
r = px.load("ur5")
state = arguments(r, "forward_dynamics", 9000)
wanted = r.forward_dynamics(*state, threads=4)
threads._together(lambda: time.sleep(0.1), 4)  # every thread of the parent exists and waits
time.sleep(0.1)
child = os.fork()
if child == 0:
    signal.alarm(20)  # not inherited
    good = np.array_equal(r.forward_dynamics(*state, threads=4), wanted)
    good &= np.array_equal(r.mass_matrix(state[0], threads=2), r.mass_matrix(state[0], threads=1))
    good &= np.array_equal(px.load("ur5").forward_dynamics(*state, threads=3), wanted)
    os._exit(0 if good else 1)
status = os.waitpid(child, 0)[1]
assert np.array_equal(r.forward_dynamics(*state, threads=4), wanted)
print(os.waitstatus_to_exitcode(status))
"""


def test_a_forked_child_computes_with_threads() -> None:
    assert in_fresh_interpreter(FORK) == "0"


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
    from phalanx.backends.native import build

    r = px.chain(4, seed=78)
    made: list[Any] = []
    real = build._build
    monkeypatch.setattr(build, "_build", lambda *a: (made.append(a), real(*a))[1])
    with ThreadPoolExecutor(6) as executor:
        kernels = list(executor.map(lambda _: r.kernel("mass_matrix"), range(6)))
    assert len(made) == 1
    assert len({id(k._native) for k in kernels}) == 1
