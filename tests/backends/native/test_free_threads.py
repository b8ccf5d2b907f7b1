# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Many Python threads at once, with and without the GIL: building, binding, collecting."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native import cache
from reference.kernels import arguments, in_fresh_interpreter, kernel, robot, same_bits

THREADS = 6


def together(*tasks: Callable[[], Any]) -> list[Any]:
    """What the tasks return, all started at the same moment."""
    start = threading.Barrier(len(tasks))

    def run(task: Callable[[], Any]) -> Any:
        start.wait(60)
        return task()

    with ThreadPoolExecutor(len(tasks)) as executor:
        return [job.result(timeout=240) for job in [executor.submit(run, task) for task in tasks]]


def everywhere(task: Callable[[int], Any], threads: int = THREADS) -> list[Any]:
    """What the task returns in each of several threads, which it gets the number of."""
    return together(*(lambda k=k: task(k) for k in range(threads)))


# ------------------------------------------------------------------------------- building


def test_threads_build_different_robots_and_functions_at_once() -> None:
    functions = ("inverse_dynamics", "forward_dynamics", "mass_matrix")

    def work(k: int) -> Any:
        r = px.chain(3 + k % 3, seed=500 + k % 3)
        name = functions[k // 3]
        return r, name, getattr(r, name)(*arguments(r, name, 9))

    for r, name, result in everywhere(work, 9):
        wanted = getattr(r, name)(*arguments(r, name, 9), backend="numpy")
        np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9)


def test_threads_share_the_folder_of_compiled_code(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PHALANX_CACHE_BYTES", "25000")  # entries go while others come
    state = arguments(px.chain(2, seed=520), "inverse_dynamics", 4)

    def work(k: int) -> list[np.ndarray]:
        results = []
        for turn in range(6):
            r = px.chain(2, seed=520 + (k + turn) % 4)
            results.append(r.inverse_dynamics(*state))
            if k == 0 and turn % 3 == 2:
                cache.clear()
        return results

    wanted = [px.chain(2, seed=520 + n).inverse_dynamics(*state) for n in range(4)]
    for k, results in enumerate(everywhere(work)):
        for turn, result in enumerate(results):
            same_bits(result, wanted[(k + turn) % 4])
    assert not list(tmp_path.glob("*/.phalanx-*"))


def test_facts_of_a_fresh_robot_may_be_asked_for_by_all() -> None:
    for seed in range(20):
        r = px.tree(9, 0.5, seed=seed)

        def look(_: int, r: px.Robot = r) -> Any:
            return r.digest, r.frame_names, r.depth, r.parents.tolist(), r.limits.lower.tolist()

        facts = everywhere(look)
        assert facts == [facts[0]] * THREADS


def test_the_reference_runs_on_one_robot_in_many_threads() -> None:
    r = px.tree(7, 0.5, seed=3)
    states = [arguments(r, "forward_dynamics", 3, seed=k) for k in range(THREADS)]
    fresh = px.tree(7, 0.5, seed=3)
    wanted = [fresh.forward_dynamics(*s, backend="numpy") for s in states]

    def work(k: int) -> list[np.ndarray]:
        return [r.forward_dynamics(*states[k], backend="numpy") for _ in range(5)]

    for results, one in zip(everywhere(work), wanted, strict=True):
        for result in results:
            same_bits(result, one)


def test_counting_and_compiling_do_not_disturb_each_other() -> None:
    def count() -> Any:
        return [px.cost(px.chain(5, seed=530), "inverse_dynamics") for _ in range(2)][-1]

    def text() -> str:
        k = px.chain(5, seed=530).kernel("inverse_dynamics")
        return str(k.llvm_ir())

    counts, texts = count(), text()
    results = together(count, text, count, text)
    assert [str(c) for c in results[::2]] == [str(counts)] * 2
    assert results[1::2] == [texts] * 2


# -------------------------------------------------------------------------------- calling


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix"])
def test_one_kernel_serves_all_threads(function: str) -> None:
    k = kernel("panda", function)
    states = [arguments(robot("panda"), function, 40, seed=n) for n in range(THREADS)]
    wanted = [k.ufunc(*s) for s in states]

    def work(n: int) -> None:
        mine = states[n]
        out = np.empty_like(wanted[n])
        for _ in range(30):
            same_bits(np.array([k(*one) for one in zip(*mine, strict=True)]), wanted[n])
            same_bits(k(*mine), wanted[n])
            out.fill(np.nan)
            same_bits(k(*mine, out=out), wanted[n])
            same_bits(getattr(robot("panda"), function)(*mine), wanted[n])

    everywhere(work)


def test_threads_read_the_same_arrays() -> None:
    k = kernel("panda", "inverse_dynamics")
    state = arguments(robot("panda"), "inverse_dynamics", 500)
    wanted = k.ufunc(*state)
    for results in everywhere(lambda _: [k(*state) for _ in range(50)]):
        for result in results:
            same_bits(result, wanted)


def test_each_thread_binds_and_runs_steps_of_its_own() -> None:
    k = kernel("panda", "forward_dynamics")
    pool = arguments(robot("panda"), "forward_dynamics", 64)
    wanted = k.ufunc(*pool)

    def work(n: int) -> None:
        for turn in range(20):
            inputs, out = [np.zeros(7) for _ in pool], np.zeros(7)
            step = k.bind(*inputs, out=out)
            for row in range(turn % 4, 64, 4):
                for mine, given in zip(inputs, pool, strict=True):
                    mine[:] = given[row]
                assert step() is None
                same_bits(out, wanted[row])

    everywhere(work)


def test_one_bound_step_may_be_run_by_all() -> None:
    k = kernel("panda", "mass_matrix")
    q = arguments(robot("panda"), "mass_matrix", 200)[0]
    out = np.zeros((200, 7, 7))
    step = k.bind(q, out=out)

    def work(_: int) -> None:
        for _ in range(50):
            step()

    everywhere(work)
    same_bits(out, k.ufunc(q))


def test_the_number_of_threads_may_change_meanwhile() -> None:
    r = robot("ur5")
    state = arguments(r, "forward_dynamics", 30_000)
    wanted = r.forward_dynamics(*state, threads=1)

    def change() -> None:
        for turn in range(200):
            px.set_threads((None, 1, 2, 5)[turn % 4])

    try:
        results = together(change, *[lambda: [r.forward_dynamics(*state) for _ in range(6)]] * 3)
    finally:
        px.set_threads(None)
    for result in (x for several in results[1:] for x in several):
        same_bits(result, wanted)


# ----------------------------------------------------------------------- memory and processes


def test_code_is_dropped_and_collected_while_others_compute() -> None:
    busy = kernel("panda", "inverse_dynamics")
    state = arguments(robot("panda"), "inverse_dynamics", 30)
    wanted = busy.ufunc(*state)
    ended = threading.Event()

    def collect() -> None:
        while not ended.wait(0.003):
            gc.collect()

    def compute() -> None:
        while not ended.is_set():
            same_bits(busy(*state), wanted)
            same_bits(busy(*(a[3] for a in state)), wanted[3])

    def drop(seed: int) -> None:
        for turn in range(5):
            r = px.chain(2, seed=540 + seed).replace(name=f"{turn}")
            one = arguments(r, "inverse_dynamics")
            out = np.zeros(2)
            step = r.kernel("inverse_dynamics").bind(*one, out=out)
            step()
            same_bits(r.inverse_dynamics(*one), out)

    def drop_all() -> None:
        try:
            for part in range(2):
                drop(part)
        finally:
            ended.set()

    gc.freeze()  # what other tests have left would make every collection long
    try:
        together(collect, compute, compute, drop_all)
    finally:
        gc.unfreeze()


FRESH = """
import threading
start = threading.Barrier(6)
errors = []
def work(k):
    try:
        start.wait()
        import numpy as np
        import phalanx as px
        r = px.load("ur5")
        state = [np.full((9000, 6), 0.1 * k + 0.1) for _ in range(3)]
        a = r.inverse_dynamics(*state, threads=4)
        px.cost(r, "mass_matrix"), px.closed_form, px.machines
        b = r.kernel("inverse_dynamics")(*state)
        assert (a == b).all()
    except BaseException as error:
        errors.append(repr(error))
threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join(200)
print(errors, sum(t.is_alive() for t in threads))
"""


def test_threads_may_import_the_package_first_of_all() -> None:
    assert in_fresh_interpreter(FRESH) == "[] 0"


FORK = """
import os
import signal
import threading
import time
import warnings
import numpy as np
import phalanx as px
warnings.simplefilter("ignore")  # Python warns of forks among threads
ended = threading.Event()
q = np.full(5, 0.1)
def build():
    seed = 0
    while not ended.is_set():
        px.chain(5, seed=seed).inverse_dynamics(q, q, q)
        seed += 1
wanted = px.chain(5, seed=7000).inverse_dynamics(q, q, q)
threads = [threading.Thread(target=build) for _ in range(2)]
for t in threads:
    t.start()
good = True
for turn in range(6):
    time.sleep(0.03 + 0.02 * turn)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        result = px.chain(5, seed=7000).inverse_dynamics(q, q, q)
        fresh = px.chain(5, seed=8000 + turn).inverse_dynamics(q, q, q)
        os._exit(0 if np.array_equal(result, wanted) and np.isfinite(fresh).all() else 1)
    good = good and os.waitpid(child, 0)[1] == 0
    if not good:
        break
ended.set()
for t in threads:
    t.join()
print(good)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_forked_while_others_build_can_build() -> None:
    assert in_fresh_interpreter(FORK) == "True"
