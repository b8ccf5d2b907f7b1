# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Threads: the same results, after a fork too, and many callers at once."""

from __future__ import annotations

import threading
import time
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
    for name in ("_WORTH", "_SETTLED", "_SMALL"):
        monkeypatch.setattr(pool, name, 0)
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
    monkeypatch.setattr(pool, "_ask", lambda count, task: (asked.append(count), task(), count)[2])
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


def test_an_error_in_a_thread_reaches_the_caller(helpers: list[int]) -> None:
    def broken(*_: Any, out: np.ndarray) -> None:
        if out.shape[0] and out[0, 0] > 0.0:
            raise ValueError("second half")

    out = np.zeros((100, 2))
    out[50:] = 1.0
    with pytest.raises(ValueError, match="second half"):
        pool.run(broken, [np.zeros((100, 2))], [1], out, 1, threads=2)
    assert helpers == [1]


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_every_state_is_computed_once(threads: int, helpers: list[int]) -> None:
    lock = threading.Lock()
    seen = np.zeros((4, 101), dtype=int)

    def note(a: np.ndarray, out: np.ndarray) -> None:
        with lock:
            out[...] += 1
        assert a.shape[:-1] == out.shape[:-1]

    pool.run(note, [np.zeros((101, 3))], [1], seen[..., None], 1, threads)
    assert (seen == 1).all()
    assert helpers


@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 1000, 4097])
@pytest.mark.parametrize("grain", [1, 7, 64, 5000])
def test_a_ticket_hands_out_each_row_once(rows: int, grain: int) -> None:
    kernel = robot("ur5").kernel("inverse_dynamics")
    state = arguments(robot("ur5"), "inverse_dynamics", rows)
    wanted, out = kernel(*state), np.full((rows, 6), np.nan)
    ticket = np.array([0, 0, rows, grain])
    with ThreadPoolExecutor(3) as executor:
        for job in [executor.submit(kernel._native.shared, *state, out, ticket) for _ in range(3)]:
            job.result()
    assert ticket[1] == rows
    same_bits(out, wanted)


def test_a_ticket_ends_where_it_says_and_never_beyond_the_rows() -> None:
    kernel = robot("ur5").kernel("inverse_dynamics")
    state = arguments(robot("ur5"), "inverse_dynamics", 100)
    out = np.full((100, 6), np.nan)
    ticket = np.array([20, 0, 50, 8])
    assert kernel._native.shared(*state, out, ticket) is False  # the rows before are somebody else's
    assert np.isnan(out).any(axis=1).tolist() == [True] * 20 + [False] * 30 + [True] * 50
    ticket[:] = 0, 0, 10_000, 64
    assert kernel._native.shared(*state, out, ticket) is True
    same_bits(out, kernel(*state))


@pytest.mark.parametrize(
    "ticket",
    [None, 3, np.zeros(4), np.zeros(3, int), np.zeros((4, 1), int), np.zeros(8, int)[::2], np.zeros((), int)],
)
def test_a_ticket_that_is_none_is_refused_and_nothing_is_touched(ticket: Any) -> None:
    kernel = robot("ur5").kernel("inverse_dynamics")
    state = arguments(robot("ur5"), "inverse_dynamics", 10)
    out = np.full((10, 6), 7.0)
    assert kernel._native.shared(*state, out, ticket) is False
    assert (out == 7.0).all()


def test_nobody_waits_for_threads_that_do_not_come(
    monkeypatch: pytest.MonkeyPatch, helpers: list[int]
) -> None:
    late: list[Any] = []
    monkeypatch.setattr(pool, "_ask", lambda count, task: late.append(task))
    r = robot("ur5")
    state = arguments(r, "inverse_dynamics", COUNT)
    wanted = r.inverse_dynamics(*state, threads=1)
    result = r.inverse_dynamics(*state, threads=2)
    same_bits(result, wanted)
    result[...] = 5.0
    late[0]()  # finds nothing left to do
    assert (result == 5.0).all()


def test_rows_that_a_thread_is_held_up_with_are_waited_for(helpers: list[int]) -> None:
    """A thread takes rows and sleeps: the other does the rest, and returns when those are there."""
    taken, ticket = threading.Event(), np.array([0, 0, 100, 50])

    def work() -> bool:
        if threading.current_thread().name.startswith("phalanx"):
            taken.set()
            time.sleep(0.05)
            ticket[1] += 50
        else:
            taken.wait()
            ticket[1] += 50
        return bool(ticket[1] == 100)

    pool._shared_out(work, ticket, 2)
    assert ticket[1] == 100


def test_where_no_thread_can_be_started_one_does_all(
    helpers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(pool, "_helpers", 0)
    r = robot("ur5")
    q, qd, qdd = arguments(r, "inverse_dynamics", COUNT)
    wanted = r.inverse_dynamics(q, qd, qdd, threads=1)
    same_bits(r.inverse_dynamics(q, qd, qdd, threads=4), wanted)
    same_bits(r.inverse_dynamics(q[::-1], qd[::-1], qdd[::-1], threads=4), wanted[::-1])
    assert helpers == [3, 3]


ASKED_TOO_MUCH = """
import threading
import numpy as np
import phalanx as px
from phalanx.backends.native import threads
from reference.kernels import arguments
threads._MOST = 3
r = px.load("ur5")
state = arguments(r, "forward_dynamics", 9000)
wanted = r.forward_dynamics(*state, threads=1)
plain = r.forward_dynamics(*state, threads=10**30)
turned = r.forward_dynamics(*(a[::-1] for a in state), threads=10**30)
good = np.array_equal(plain, wanted) and np.array_equal(turned, wanted[::-1])
print(good, sum(t.name.startswith("phalanx") for t in threading.enumerate()))
"""


def test_a_huge_number_of_threads_starts_only_some() -> None:
    assert in_fresh_interpreter(ASKED_TOO_MUCH) == "True 3"


AT_THE_END = """
import gc
import sys
import numpy as np
import phalanx as px
from phalanx.backends.native import threads
from reference.kernels import arguments
gc.set_threshold(10**9)
r = px.load("ur5")
state = tuple(a[::-1] for a in arguments(r, "forward_dynamics", 9000))
wanted = r.forward_dynamics(*state, threads=before)
threads._WORTH = 0.0  # whatever the clock says, the last call asks for threads


class Last:
    def __del__(self, print=print, same=np.array_equal, flush=sys.stdout.flush):
        print(same(r.forward_dynamics(*state, threads=3), wanted))
        flush()


last = Last()
last.itself = last  # collected when the interpreter ends, after it has stopped all other threads
del last
"""


@pytest.mark.parametrize("before", [1, 3])
@pytest.mark.parametrize("step", [1, -1])
def test_a_batch_at_the_end_of_the_interpreter_waits_for_nobody(before: int, step: int) -> None:
    # Threads that wait already cannot come any more, and none can start.
    code = AT_THE_END.replace("threads=before", f"threads={before}").replace("[::-1]", f"[::{step}]")
    assert in_fresh_interpreter(code) == "True"


def test_the_pace_is_the_best_seen_and_short_times_do_not_count() -> None:
    pace = pool.Pace()
    assert not pace.is_brief(np.zeros((10**4, 7)))
    assert pace.is_brief(np.zeros((10, 7)))
    pace.observe(1, pool._SETTLED / 2)
    assert pace.seconds == np.inf
    pace.observe(1000, 1e-3)
    pace.observe(1000, 2e-3)
    assert pace.seconds == 1e-6
    assert pace.is_brief(np.zeros((int(0.9 * pool._WORTH / 1e-6), 70)))
    assert not pace.is_brief(np.zeros((int(1.1 * pool._WORTH / 1e-6), 70)))


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
