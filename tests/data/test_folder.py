# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Processes that start at once: one writes, the others say so, and nobody removes the work of another."""

from __future__ import annotations

import os
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
from data.making import motion, parquet
from phalanx.cli import main
from phalanx.data.folder import FileLock
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
        "import sys, pathlib, time; from phalanx.data.folder import FileLock\n"
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
    from phalanx.data import folder

    path = tmp_path / "lock"
    path.touch()
    taken = folder._locked

    def late(file: int, shared: bool) -> bool:
        path.unlink()  # by the process that held it
        path.touch()
        return taken(file, shared)

    monkeypatch.setattr(folder, "_locked", late)
    assert not FileLock(path).acquire()


def folder(at: Path) -> Path:
    """A folder of two recordings."""
    pytest.importorskip("pyarrow")
    (at / "in").mkdir()
    for k in range(2):
        values = motion(ROBOT, 20 + k, seed=k)
        parquet(at / "in" / f"{k}.parquet", {k: values[k] for k in ("q", "qd", "qdd")})
    return at / "in"


def file(at: Path) -> Path:
    values = motion(ROBOT, 20)
    np.savez(at / "in.npz", **{k: values[k] for k in ("q", "qd", "qdd")})
    return at / "in.npz"


def contents(at: Path) -> dict[str, bytes]:
    return {str(p.relative_to(at)): p.read_bytes() for p in sorted(at.rglob("*")) if p.is_file()}


@pytest.mark.parametrize("name", ["out", "out.zarr", "out.npy"])
@pytest.mark.parametrize("where", ["", ".partial"])
@pytest.mark.parametrize("fresh", [[], ["--fresh"]])
def test_folders_of_others_are_refused_and_stay(
    name: str, where: str, fresh: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "out.zarr":
        pytest.importorskip("zarr")
    source = folder(tmp_path) if name == "out" else file(tmp_path)
    precious = tmp_path / f"{name}{where}"
    (precious / "parts").mkdir(parents=True)
    (precious / "thesis.txt").write_text("ten years")
    before = contents(tmp_path)
    assert main(["run", "two_link", str(source), "-o", str(tmp_path / name), "-f", "torques", *fresh]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert str(precious) in line
    assert "choose another" in line
    assert contents(tmp_path) == before


@pytest.mark.parametrize("where", ["", ".partial"])
def test_links_are_not_followed(where: str, tmp_path: Path) -> None:
    source = px.data.open(file(tmp_path), ROBOT)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("ten years")
    # Even where the target is the folder of an unfinished run.
    px.data.run(source, "torques", tmp_path / "other.npy", shard=(1, 2), rows=5)
    for target in ("precious", "precious/thesis.txt", "other.npy.partial", "nowhere"):
        link = tmp_path / f"out.npy{where}"
        link.symlink_to(tmp_path / target)
        before = contents(tmp_path)
        for fresh in (False, True):
            with pytest.raises(px.PhalanxError, match=r"out\.npy"):
                px.data.run(source, "torques", tmp_path / "out.npy", fresh=fresh, rows=5)
        assert link.is_symlink()
        assert contents(tmp_path) == before
        link.unlink()


def test_a_run_with_links_inside_is_not_taken_up(tmp_path: Path) -> None:
    source = px.data.open(file(tmp_path), ROBOT)
    px.data.run(source, "torques", tmp_path / "out.npy", shard=(1, 2), rows=5)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "out.npy").write_text("ten years")
    files = tmp_path / "out.npy.partial" / "files"
    files.rmdir()
    files.symlink_to(tmp_path / "precious")
    with pytest.raises(px.PhalanxError, match="is no unfinished run"):
        px.data.run(source, "torques", tmp_path / "out.npy", rows=5)
    assert (tmp_path / "precious" / "out.npy").read_text() == "ten years"


@pytest.mark.parametrize("name", ["out", "out.zarr"])
def test_a_folder_that_a_run_has_made_is_replaced_until_someone_adds_to_it(name: str, tmp_path: Path) -> None:
    if name == "out.zarr":
        pytest.importorskip("zarr")
    source = px.data.open(folder(tmp_path) if name == "out" else file(tmp_path), ROBOT)
    out = tmp_path / name
    px.data.run(source, "torques", out)
    first = contents(out)
    px.data.run(source, ["torques", "power"], out)
    assert contents(out) != first
    px.data.run(source, "torques", out)
    assert contents(out) == first
    (out / "notes.txt").write_text("mine")
    with pytest.raises(px.PhalanxError, match="files were added to it"):
        px.data.run(source, "torques", out)
    (out / "notes.txt").unlink()
    os.symlink(tmp_path, out / "link")
    with pytest.raises(px.PhalanxError, match="files were added to it"):
        px.data.run(source, "torques", out)
    (out / "link").unlink()
    assert contents(out) == first
    assert px.data.open(out, ROBOT, columns={"q": "inverse_dynamics"}).rows == source.rows


def test_a_folder_that_appears_during_the_run_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.data.store import UnfinishedRun

    source, out, finish = px.data.open(file(tmp_path), ROBOT), tmp_path / "out.npy", UnfinishedRun.finish

    def late(self: UnfinishedRun) -> None:
        out.mkdir()
        (out / "thesis.txt").write_text("ten years")
        finish(self)

    monkeypatch.setattr(UnfinishedRun, "finish", late)
    with pytest.raises(px.PhalanxError, match=r"is a folder, the output a file.*parts are kept"):
        px.data.run(source, "torques", out)
    assert (out / "thesis.txt").read_text() == "ten years"
