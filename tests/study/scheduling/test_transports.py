# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Schedules on processes and on MPI ranks: the same results, errors when one dies, nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.study.scheduling import transports

linux = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="shared memory is not shown as files")


def puma() -> tuple[px.Robot, px.Schedule]:
    robot = px.load("puma560")
    return robot, px.schedule(robot, "inverse_dynamics", "zomaya_morris", px.machines.transputers(4))


def leftovers() -> list[str]:
    return [f.name for f in Path("/dev/shm").glob(f"phalanx-run-{os.getpid()}-*")]


@linux
def test_processes_give_the_results_of_threads() -> None:
    robot, s = puma()
    state = robot.random_state((70,), rng=0)
    run = s.run(*state, transport="processes", repeats=3)
    assert np.array_equal(run.result, s.run(*state).result)
    assert run.transport == "processes"
    assert len(run.timeline) == len(s.tasks)
    assert leftovers() == []


@linux
def test_a_killed_process_ends_the_run_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, s = puma()
    state = robot.random_state((64,), rng=0)
    whole = transports._Child.go
    killed: list[int] = []

    def go(self: transports._Child) -> None:
        whole(self)
        if self.label == "P3":

            def kill() -> None:
                time.sleep(0.1)
                killed.append(self.process.pid)
                os.kill(self.process.pid, signal.SIGKILL)

            threading.Thread(target=kill).start()

    monkeypatch.setattr(transports._Child, "go", go)
    begun = time.monotonic()
    with pytest.raises(px.PhalanxError, match="worker P3 died by signal 9"):
        s.run(*state, transport="processes", repeats=10_000_000)
    assert killed
    assert time.monotonic() - begun < 60.0
    assert leftovers() == []


@linux
def test_the_next_run_removes_what_a_killed_one_has_left() -> None:
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    left = Path("/dev/shm") / f"phalanx-run-{gone.pid}-00000000"
    alive = Path("/dev/shm") / f"phalanx-run-{os.getpid()}-00000000"
    for file in (left, alive):
        file.write_bytes(bytes(64))
    try:
        assert left.name in transports.remove_leftovers()
        assert not left.exists()
        assert alive.exists()
    finally:
        alive.unlink()


@linux
def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(
        "import phalanx as px\n"
        "from phalanx.study.scheduling import transports\n"
        "robot = px.load('puma560')\n"
        "s = px.schedule(robot, 'inverse_dynamics', 'zomaya_morris', px.machines.transputers(4))\n"
        "whole = transports._Child.go\n"
        "def go(self):\n"
        "    whole(self)\n"
        "    print(self.process.pid, flush=True)\n"
        "transports._Child.go = go\n"
        "s.run(*robot.random_state(rng=0), transport='processes', repeats=10_000_000)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [int(parent.stdout.readline()) for _ in range(4)]
        parent.kill()
    deadline = time.monotonic() + 30.0
    while any(transports._is_alive(w) for w in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(transports._is_alive(w) for w in workers)
    transports.remove_leftovers()
    assert not list(Path("/dev/shm").glob(f"phalanx-run-{parent.pid}-*"))


def test_mpi_without_its_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, s = puma()
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(px.PhalanxError, match=r"needs the package mpi4py.*\[mpi\]"):
        s.run(*robot.random_state(rng=0), transport="mpi")


_MPI = """
import sys
import numpy as np
import phalanx as px

robot = px.load("puma560")
s = px.schedule(robot, "inverse_dynamics", "zomaya_morris", px.machines.transputers(4))
state = robot.random_state((70,), rng=0)
run = s.run(*state, transport="mpi", repeats=2)
assert np.array_equal(run.result, s.run(*state).result), "differs"
print(f"right {len(run.timeline)}\\n", end="", flush=True)
"""


def mpiexec() -> str:
    pytest.importorskip("mpi4py")
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip("mpiexec is not installed")
    return found


def test_four_ranks_give_the_results_of_threads(tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(_MPI)
    command = [mpiexec(), "-n", "4", sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.stdout.count("right 90\n") == 4, done.stderr


def test_too_few_ranks_are_refused(tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    script.write_text(_MPI)
    command = [mpiexec(), "-n", "2", sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0
    assert "4 workers need 4 ranks, and this job has 2; start it with mpiexec -n 4" in done.stderr


def test_a_killed_rank_ends_the_others(tmp_path: Path) -> None:
    script = tmp_path / "ranks.py"
    dies = "if sys.argv[1:] and __import__('mpi4py.MPI').MPI.COMM_WORLD.Get_rank() == 2:\n"
    dies += "    __import__('os').kill(__import__('os').getpid(), 9)\nrun = "
    script.write_text(_MPI.replace("run = ", dies, 1))
    command = [mpiexec(), "-n", "4", sys.executable, str(script), "die"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0
    assert "right" not in done.stdout
