# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One long state on several threads: the same bits, whoever computes which part."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

import phalanx as px
from phalanx.backends.native import objects
from phalanx.backends.native.emit.phases import phases
from phalanx.backends.native.threads import Throughput, share
from phalanx.program.builder import Builder
from phalanx.program.ir import plus, times
from phalanx.program.lowering import readable
from phalanx.program.verify import InvalidProgramError, verify
from reference.kernels import in_fresh_interpreter

needs_entry = pytest.mark.skipif(not objects.usable(), reason="this Python or NumPy has no fast path")

SEGMENTS = {"segments": 48}  # three groups and more, in registers of sixteen numbers too
CASES = [
    ("forward_dynamics", "partition"),
    ("forward_dynamics", "abia"),
    ("inverse_dynamics", "partition"),
    ("inverse_dynamics", "lathrop"),
    ("bias_forces", "newton_euler"),
    ("forward_kinematics", "recursive"),
]


def made(function: str, algorithm: str, n: int = 101, dtype: str = "float64") -> tuple[Any, list[np.ndarray]]:
    """A kernel whose states have several groups of segments, and one state."""
    robot = px.chain(n, seed=2)
    kernel = robot.kernel(function, (algorithm, SEGMENTS), dtype)
    states = [x.astype(dtype) for x in robot.random_state(rng=3)[: kernel.ufunc.nin]]
    return kernel, states


@needs_entry
@pytest.mark.parametrize(("function", "algorithm"), CASES)
def test_any_number_of_threads_gives_the_same_bits(function: str, algorithm: str) -> None:
    kernel, state = made(function, algorithm)
    assert kernel.form.endswith("threads share a state")
    wanted = kernel(*state, threads=1)
    independent = getattr(kernel.robot, function)(*state, backend="numpy")
    assert np.abs(wanted - independent).max() <= 1e-9 * np.abs(independent).max()
    for threads in (1, 2, 3, 7, None, 300):
        for _ in range(20):
            np.testing.assert_array_equal(kernel(*state, threads=threads), wanted)


@needs_entry
def test_lengths_that_groups_do_not_divide_give_the_same_bits() -> None:
    for n in (49, 143):
        kernel, state = made("forward_dynamics", "partition", n)
        wanted = kernel(*state, threads=1)
        assert all(np.array_equal(kernel(*state, threads=p), wanted) for p in (2, 3) for _ in range(20)), n


@needs_entry
def test_single_precision_gives_the_same_bits() -> None:
    kernel, state = made("forward_dynamics", "partition", dtype="float32")
    wanted = kernel(*state, threads=1)
    assert wanted.dtype == np.float32
    for threads in (2, 7):
        np.testing.assert_array_equal(kernel(*state, threads=threads), wanted)


@needs_entry
def test_joints_of_several_axes_give_the_same_bits() -> None:
    robot = px.tree(80, 0.0, seed=1, joints=("universal", "spherical", "planar", "revolute"))
    state = robot.random_state(rng=1)
    kernel = robot.kernel("inverse_dynamics", ("partition", SEGMENTS))
    wanted = kernel(*state, threads=1)
    assert (
        np.abs(wanted - robot.inverse_dynamics(*state, backend="numpy")).max() < 1e-9 * np.abs(wanted).max()
    )
    np.testing.assert_array_equal(kernel(*state, threads=2), wanted)


@needs_entry
def test_the_matrix_of_a_long_chain_is_shared_by_columns() -> None:
    robot = px.chain(2048)
    kernel, q = robot.kernel("mass_matrix", batch=1), robot.random_state(rng=0)[0]
    assert "threads share a state" in kernel.form
    wanted = kernel(q, threads=1)
    np.testing.assert_array_equal(kernel(q, threads=3), wanted)
    np.testing.assert_array_equal(wanted, wanted.T)


@needs_entry
def test_methods_share_one_state_of_a_long_chain() -> None:
    robot = px.chain(10_000)
    q, qd, tau = robot.random_state(rng=0)
    wanted = robot.forward_dynamics(q, qd, tau, threads=1)
    for _ in range(3):  # the first call compiles, later ones take the fast path
        np.testing.assert_array_equal(robot.forward_dynamics(q, qd, tau, threads=2), wanted)
    out = np.empty_like(wanted)
    robot.forward_dynamics(q, qd, tau, out=out, threads=2)
    np.testing.assert_array_equal(out, wanted)
    serial = robot.forward_dynamics(q, qd, tau, algorithm="aba")
    assert np.abs(wanted - serial).max() < 1e-8 * np.abs(serial).max()


def test_robots_that_are_too_short_say_so() -> None:
    for robot in (px.load("ur5"), px.chain(64), px.tree(90)):
        kernel = robot.kernel("forward_dynamics", batch=1)
        assert kernel.form.endswith("; one thread computes a state")
        state = robot.random_state(rng=0)
        np.testing.assert_array_equal(kernel(*state, threads=7), kernel(*state, threads=1))


# ------------------------------------------------------------------- bound arrays


@needs_entry
def test_bound_states_are_shared() -> None:
    kernel, state = made("forward_dynamics", "partition")
    out = np.empty_like(state[0])
    step = kernel.bind(*state, out=out, threads=2)
    other = kernel.robot.random_state(rng=9)
    for values in (other, state, other):
        for array, value in zip(state, [x.copy() for x in values], strict=True):
            array[:] = value
        step()
        np.testing.assert_array_equal(out, kernel(*state, threads=1))


def test_bound_batches_are_shared() -> None:
    kernel, state = made("forward_dynamics", "partition")
    batch = [np.stack([x, 2.0 * x, -x]) for x in state]
    out = np.empty((3, kernel.robot.nv))
    kernel.bind(*batch, out=out, threads=None)()
    np.testing.assert_array_equal(out, kernel(*batch, threads=1))


def test_bind_refuses_what_it_cannot_share() -> None:
    kernel, state = made("forward_dynamics", "partition")
    out = np.empty_like(state[0])
    for wrong in (0, -1, 2.0, True):
        with pytest.raises(px.PhalanxError, match=r"bind: threads: got .*, expected a positive integer"):
            kernel.bind(*state, out=out, threads=wrong)
    with pytest.raises(px.PhalanxError, match="is float32, expected an array of float64"):
        kernel.bind(*(x.astype(np.float32) for x in state), out=out, threads=2)


@needs_entry
def test_bind_refuses_gaps_between_the_numbers_of_a_shared_state() -> None:
    kernel, state = made("forward_dynamics", "partition")
    apart = [np.repeat(x, 2)[::2] for x in state]
    with pytest.raises(
        px.PhalanxError, match=r"threads share one state of robot .* in contiguous arrays only"
    ):
        kernel.bind(*apart, out=np.empty_like(state[0]), threads=2)
    np.testing.assert_array_equal(kernel(*apart, threads=2), kernel(*state, threads=1))


# ------------------------------------------------------------------- busy machines


@needs_entry
def test_many_callers_at_once_share_the_workers() -> None:
    kernel, state = made("inverse_dynamics", "partition")
    wanted, faults = kernel(*state, threads=1), []

    def call() -> None:
        for _ in range(50):
            if not np.array_equal(kernel(*state, threads=3), wanted):
                faults.append(1)

    callers = [threading.Thread(target=call) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not faults


AFTER_FORK = """
import os
import numpy as np
import phalanx as px
robot = px.chain(101)
state = robot.random_state(rng=0)
kernel = robot.kernel("forward_dynamics", ("partition", {"segments": 48}))
wanted = kernel(*state, threads=2)
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(kernel(*state, threads=2), wanted) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), np.array_equal(kernel(*state, threads=2), wanted))
"""


@needs_entry
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system does not fork")
def test_a_forked_child_shares_states_with_workers_of_its_own() -> None:
    assert in_fresh_interpreter(AFTER_FORK) == "0 True"


# ------------------------------------------------------------------- how many threads


def helpers(threads: int | None, seconds: float) -> int:
    """With how many workers a state is computed, given its time on one thread."""
    seen: list[tuple[Any, ...]] = []
    known = Throughput()
    known.seconds = seconds
    direct: Callable[..., bool] = lambda *given: seen.append(given) or True  # noqa: E731
    assert share(direct, [np.empty(1)], 4, threads, 2, known)
    return int(seen[0][-1]) if len(seen[0]) > 1 else 0


@pytest.mark.skipif(not objects.posix(), reason="workers wait in Python")
def test_other_threads_are_woken_for_long_states_or_on_request() -> None:
    assert helpers(None, np.inf) == 0  # not measured yet
    assert helpers(None, 1e-6) == 0
    assert helpers(None, 1e-3) == 1  # of two that are available
    assert helpers(1, 1e-3) == 0
    assert helpers(2, np.inf) == 1
    assert helpers(100, 1e-6) == 3  # of four groups


# ------------------------------------------------------------------- phases


def test_phases_are_parallel_loops_and_what_stands_between() -> None:
    kernel, _ = made("forward_dynamics", "partition", 96)
    program = verify(readable(kernel._call, 8))
    found = phases(program)
    assert [phase.iterations for phase in found] == [6, 0, 6, 0, 6]
    assert sum((phase.body for phase in found), ()) == program.body
    assert phases(readable(kernel._call, 64)) == []  # a single group
    assert phases(readable(px.load("ur5").kernel("forward_dynamics")._call, 8)) == []


def test_groups_that_reach_into_each_other_are_refused() -> None:
    def program(numbers: int, row: int) -> Any:
        """Two groups in four lanes, whose outputs are so many numbers apart; they load a row of their own."""
        b = Builder({"x": (8,)}, {"y": (8,)}, lanes=4)
        scratch = b.buffer("s", 3)
        with b.parallel(2) as group, b.part(4):
            b.store(scratch, group, 1.0)
            b.store(b.outputs["y"], times(group, numbers), b.load(scratch, plus(group, row)))
        return b.finished()

    verify(program(4, 0))
    with pytest.raises(InvalidProgramError, match=r"store to y\[3\]"):
        verify(program(3, 0))
    with pytest.raises(InvalidProgramError, match="load what another stores at s"):
        verify(program(4, 1))
