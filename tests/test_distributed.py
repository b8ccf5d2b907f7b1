# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One chain on several MPI ranks: what one process computes, errors on every rank, and no hang."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import phalanx as px

_START = """
import os, sys, time
import numpy as np
import phalanx as px
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


def say(text):
    os.write(1, f"rank {rank}: {text}\\n".encode())  # whole lines


def own(chain, values, what):
    ends = np.cumsum(world.allgather(getattr(chain.robot, what)))
    return values[ends[rank] - getattr(chain.robot, what) : ends[rank]]


def refused(make):
    try:
        make()
    except px.PhalanxError as error:
        return str(error)
    raise AssertionError("nothing was refused")
"""

_SAME = """
def compare(robot, tolerance):
    chain = px.DistributedChain.cut(robot)
    assert chain.nv == robot.nv and chain.n_links == robot.n_links and chain.size == size
    q, qd, x = robot.random_state(rng=1)
    wrenches = np.random.default_rng(2).standard_normal((robot.n_links, 6))
    state = own(chain, q, "nq"), own(chain, qd, "nv"), own(chain, x, "nv")
    part = own(chain, wrenches, "n_links")
    for function, algorithm in (("forward_dynamics", "aba"), ("inverse_dynamics", "newton_euler")):
        whole = getattr(robot, function)(q, qd, x, external=wrenches, algorithm=algorithm, backend="numpy")
        got = getattr(chain, function)(*state, part)
        error = np.abs(got - own(chain, whole, "nv")).max() / np.abs(whole).max()
        assert error < tolerance, (robot.name, function, error)
    broken = np.where(np.arange(chain.robot.nv) == 0, np.nan if rank == size - 1 else 0.0, state[1])
    assert np.isnan(chain.forward_dynamics(state[0], broken, state[2], part)).all()
    return chain, q, qd, state
"""

_ROBOTS = """
kinds = ("revolute", "prismatic", "helical", "universal", "spherical", "planar", "floating")
robot = px.tree(14, branching=0.0, seed=1, joints=kinds).with_floating_base()
robot = robot.replace(armature={"joint1": 0.1})
chain, q, qd, state = compare(robot, 1e-9)
assert abs(chain.kinetic_energy(*state[:2]) / robot.kinetic_energy(q, qd, backend="numpy") - 1.0) < 1e-12
assert abs(chain.potential_energy(state[0]) / robot.potential_energy(q, backend="numpy") - 1.0) < 1e-11
"""

_MORE = """
compare(px.load("panda"), 1e-11)  # welded links between the parts
for seed in range(4):
    compare(px.chain(23, seed=seed, prismatic=0.2), 1e-9)
"""

_PARTS = """
# Each rank builds its own part only: axes of a snake alternate, and parts of even length continue it.
n = 2000
robot = px.snake(n)
chain = px.DistributedChain(px.snake(n // size))
i = np.arange(n)
q, qd, tau = 0.1 * np.sin(i / 50.0), 0.1 * np.cos(i / 70.0), 0.01 * np.cos(i / 30.0)
mine = slice(rank * n // size, (rank + 1) * n // size)
got = chain.forward_dynamics(q[mine], qd[mine], tau[mine])
whole = robot.forward_dynamics(q, qd, tau)
assert np.abs(got - whole[mine]).max() < 1e-9 * np.abs(whole).max()

# A cable that falls exchanges energy and loses none.
q, qd = q[mine], 0.0 * q[mine]
energy = chain.potential_energy(q)
q, qd = chain.rollout(q, qd, dt=5e-4, steps=40)
moving = chain.kinetic_energy(q, qd)
drift = abs(moving + chain.potential_energy(q) - energy) / moving
assert moving > 1.0 and drift < 1e-6, (moving, drift)
say("right")
"""

_REFUSED = """
seven = px.load("panda") if rank == 0 else px.load("ur5")
assert "rank 1 has another robot than rank 0" in refused(lambda: px.DistributedChain.cut(seven))
short = refused(lambda: px.DistributedChain.cut(px.chain(1)))
assert "1 moving links for 2 ranks; start the job with mpiexec -n 1" in short
assert "does not cover" in refused(lambda: px.DistributedChain.cut(px.tree(9, branching=0.9)))
part = px.tree(9, branching=0.9) if rank == 1 else px.snake(20)
assert 'robot "tree" of rank 1 branches' in refused(lambda: px.DistributedChain(part))
assert "only the part of rank 0" in refused(lambda: px.DistributedChain(px.snake(4).with_floating_base()))
assert "expected a Robot" in refused(lambda: px.DistributedChain("panda"))
assert "expected a communicator" in refused(lambda: px.DistributedChain(px.snake(20), comm=3))
chain = px.DistributedChain(px.snake(20))
o = np.zeros(20)
assert "expected (20,)" in refused(lambda: chain.forward_dynamics(o, o, o[1:]))
assert "expected numbers" in refused(lambda: chain.forward_dynamics(o, o, "x"))
calls = chain.forward_dynamics if rank == 0 else chain.inverse_dynamics
assert "all ranks call the same functions" in refused(lambda: calls(o, o, o))
assert np.isfinite(chain.forward_dynamics(o, o, o)).all()
assert "steps is -1" in refused(lambda: chain.rollout(o, o, steps=-1))
assert "dt is 0" in refused(lambda: chain.rollout(o, o, dt=0))
ball = px.DistributedChain(px.tree(8, branching=0.0, joints=("spherical",)))
assert "quaternions" in refused(lambda: ball.rollout(np.zeros(32), np.zeros(24)))
say("right")
"""

_DIES = """
chain = px.DistributedChain(px.snake(20))
o = np.zeros(20)
begun = time.monotonic()
while True:
    if rank == int(sys.argv[1]) and time.monotonic() - begun > 0.2:
        if sys.argv[2] == "killed":
            os.kill(os.getpid(), 9)
        raise RuntimeError("of the user")
    try:
        chain.forward_dynamics(o, o, o)
    except px.PhalanxError as error:
        say(str(error))
        raise
"""


def mpiexec() -> str:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip("mpiexec is not installed")
    return found


def job(
    folder: Path, count: int, text: str, *more: str, wrapped: bool = False
) -> subprocess.CompletedProcess:
    """A job of so many ranks; `wrapped` in a shell, which hides from mpiexec that a rank was killed."""
    script = folder / "ranks.py"
    script.write_text(_START + text)
    command = [sys.executable, str(script), *more]
    if wrapped:
        command = ["sh", "-c", '"$@"; sleep 5; exit 1', "sh", *command]
    return subprocess.run(
        [mpiexec(), "-n", str(count), *command], capture_output=True, text=True, timeout=300, check=False
    )


def right(done: subprocess.CompletedProcess, count: int) -> None:
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {k}: right" for k in range(count)], done.stderr


def test_ranks_compute_what_one_process_does(tmp_path: Path) -> None:
    right(job(tmp_path, 2, _SAME + _ROBOTS + 'say("right")'), 2)


def test_parts_that_no_rank_has_as_a_whole_move_and_keep_their_energy(tmp_path: Path) -> None:
    right(job(tmp_path, 2, _PARTS), 2)


def test_what_does_not_fit_together_is_refused_on_every_rank(tmp_path: Path) -> None:
    right(job(tmp_path, 2, _REFUSED), 2)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_is_an_error_on_every_other_one_within_seconds(tmp_path: Path, rank: int) -> None:
    begun = time.monotonic()
    done = job(tmp_path, 3, _DIES, str(rank), "killed", wrapped=True)
    assert done.returncode != 0
    for other in {0, 1, 2} - {rank}:
        assert f"rank {other}: DistributedChain: rank {rank} was killed or has crashed" in done.stdout
    assert time.monotonic() - begun < 60.0


def test_a_rank_that_ends_with_an_error_ends_the_others(tmp_path: Path) -> None:
    done = job(tmp_path, 2, _DIES, "1", "raises")
    assert done.returncode != 0
    assert "rank 0: DistributedChain: rank 1 has ended" in done.stdout
    assert "RuntimeError: of the user" in done.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [1, 2, 5])
def test_any_number_of_ranks_computes_the_same(tmp_path: Path, count: int) -> None:
    right(job(tmp_path, count, _SAME + _ROBOTS + _MORE + 'say("right")'), count)


@pytest.mark.exhaustive
def test_many_links_on_two_ranks_equal_one_process(tmp_path: Path) -> None:
    text = _PARTS[: _PARTS.index("# A cable")].replace("n = 2000", "n = 100_000") + 'say("right")\n'
    right(job(tmp_path, 2, text), 2)


def test_without_its_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(px.PhalanxError, match=r"needs the package mpi4py.*\[mpi\]"):
        px.DistributedChain(px.snake(3))
