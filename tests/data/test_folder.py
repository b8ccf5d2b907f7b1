# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Processes that start at once: one writes, the others say so, and nobody removes the work of another."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import motion
from phalanx.data.locks import FileLock
from phalanx.data.store import UnfinishedRun

ROBOT = px.load("two_link")
BUSY = "another process is writing this output"


def recording(at: Path) -> px.data.Recording:
    values = motion(ROBOT, 400)
    np.savez(at / "in.npz", **{k: values[k] for k in ("q", "qd", "qdd")})
    return px.data.open(at / "in.npz", ROBOT)


def at_once(calls: Sequence[Callable[[], object]]) -> list[str]:
    """What calls that start at the same moment raise; locks belong to open files, so threads will do."""
    barrier, told = threading.Barrier(len(calls)), [""] * len(calls)

    def run(k: int) -> None:
        barrier.wait()
        try:
            calls[k]()
        except Exception as error:
            told[k] = f"{type(error).__name__}: {error}"

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return told


def test_runs_started_at_once_leave_one_output(tmp_path: Path) -> None:
    source = recording(tmp_path)
    px.data.run(source, "torques", tmp_path / "whole.npy", rows=50)
    whole = (tmp_path / "whole.npy").read_bytes()
    for k in range(20):
        out = tmp_path / f"{k}.npy"
        # Each opens the file itself, as processes do.
        own = [px.data.open(tmp_path / "in.npz", ROBOT) for _ in range(3)]
        told = at_once([partial(px.data.run, o, "torques", out, rows=50) for o in own])
        assert "" in told
        assert all(not each or BUSY in each for each in told), told
        assert out.read_bytes() == whole
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".npy") == ["in.npz"]


def test_the_last_share_completes_the_output_while_others_are_about_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, has, last = recording(tmp_path), UnfinishedRun.has, []

    def overtaken(store: UnfinishedRun, task: Any) -> bool:
        there = has(store, task)
        if not there and not last:  # the first share finds parts missing: the second one does all of its own
            last.append(None)
            last[0] = px.data.run(source, "torques", tmp_path / "out.npy", rows=50, shard=(2, 2)).complete
        return there

    monkeypatch.setattr(UnfinishedRun, "has", overtaken)
    first = px.data.run(source, "torques", tmp_path / "out.npy", rows=50, shard=(1, 2)).complete
    assert (first, last) == (False, [True])
    assert len(np.load(tmp_path / "out.npy")) == 400


def test_shares_started_at_once_complete_the_output(tmp_path: Path) -> None:
    source = recording(tmp_path)
    px.data.run(source, "torques", tmp_path / "whole.npy", rows=50)
    whole = (tmp_path / "whole.npy").read_bytes()
    for k in range(20):
        out, complete = tmp_path / f"{k}.npy", []

        def share(i: int, out: Path = out, complete: list[bool] = complete) -> None:
            own = px.data.open(tmp_path / "in.npz", ROBOT)
            complete.append(px.data.run(own, "torques", out, rows=50, shard=(i, 4)).complete)

        assert at_once([partial(share, i) for i in (1, 2, 3, 4)]) == [""] * 4
        assert complete.count(True) == 1
        assert out.read_bytes() == whole
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".npy") == ["in.npz"]


def test_a_share_does_not_start_anew(tmp_path: Path) -> None:
    source = recording(tmp_path)
    with pytest.raises(px.PhalanxError, match="a share would remove what others have done"):
        px.data.run(source, "torques", tmp_path / "out.npy", shard=(1, 2), fresh=True)
    assert [p.name for p in tmp_path.iterdir()] == ["in.npz"]


def test_a_run_waits_for_shares_at_work(tmp_path: Path) -> None:
    from phalanx.data.engine import planned
    from phalanx.data.job import Options
    from phalanx.data.store import UnfinishedRun

    source = recording(tmp_path)
    store = UnfinishedRun(planned(source, "torques", tmp_path / "out.npy", Options(rows=50)))
    store.begin(shared=True)
    for fresh in (False, True):
        with pytest.raises(px.PhalanxError, match=BUSY):
            px.data.run(source, "torques", tmp_path / "out.npy", rows=50, fresh=fresh)
    assert not px.data.run(source, "torques", tmp_path / "out.npy", rows=50, shard=(1, 2)).complete
    store.release()
    assert px.data.run(source, "torques", tmp_path / "out.npy", rows=50, shard=(2, 2)).complete


def test_a_lock_is_alone_or_shared_and_ends_with_a_killed_process(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    one, two, three = (FileLock(path) for _ in range(3))
    assert one.acquire(shared=True)
    assert two.acquire(shared=True)
    assert not three.acquire()
    one.release()
    two.release()
    assert three.acquire()
    assert not one.acquire(shared=True)
    three.release()
    script = (
        "import sys, pathlib, time; from phalanx.data.locks import FileLock\n"
        "lock = FileLock(pathlib.Path(sys.argv[1])); print(lock.acquire(), flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "True\n"
    assert not one.acquire()
    child.kill()
    child.wait()
    child.stdout.close()
    assert one.acquire()


@pytest.mark.skipif(not FileLock.outlives_unlink, reason="this system removes no file that is open")
def test_a_lock_on_a_file_that_was_replaced_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.data import locks

    path = tmp_path / "lock"
    path.touch()
    taken = locks._locked

    def late(file: int, shared: bool) -> bool:
        path.unlink()  # by the process that held it
        path.touch()
        return taken(file, shared)

    monkeypatch.setattr(locks, "_locked", late)
    assert not FileLock(path).acquire()
