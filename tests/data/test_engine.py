# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Runs: interrupted, resumed and in shares they give the bytes of one that was left alone."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import entries, lerobot, lists, motion, parquet
from phalanx.data import store as stores
from phalanx.data.engine import planned
from phalanx.data.job import FrameTask, Job, Options
from phalanx.data.source import FilePart

ROBOT = px.load("two_link")
FRAMES, ROWS = 4000, 250
SUFFIXES = (".npy", ".npz", ".parquet", ".h5", ".zarr")


def recording(at: Path) -> px.data.Recording:
    values = motion(ROBOT, FRAMES)
    np.savez(at / "in.npz", **{k: values[k] for k in ("q", "qd", "qdd")})
    return px.data.open(at / "in.npz", ROBOT)


def digest(path: Path) -> str:
    """Of a file, or of all files of a folder."""
    found = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
        found.update(str(file.relative_to(path)).encode() + file.read_bytes())
    return found.hexdigest()


def need(suffix: str) -> None:
    for package, ending in (("pyarrow", ".parquet"), ("h5py", ".h5"), ("zarr", ".zarr")):
        if suffix == ending:
            pytest.importorskip(package)


class Stopped(BaseException):
    """What no code catches."""


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("after", [1, 9, 16])
def test_a_run_that_was_stopped_goes_on_and_gives_the_same_bytes(
    suffix: str, after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need(suffix)
    source = recording(tmp_path)
    px.data.run(source, "torques", tmp_path / f"whole{suffix}", rows=ROWS)
    out, part, done = tmp_path / f"out{suffix}", Job.part, []

    def counted(self: Job, task: FrameTask) -> FilePart:
        if len(done) == after:
            raise Stopped
        done.append(task)
        return part(self, task)

    monkeypatch.setattr(Job, "part", counted)
    if after < FRAMES // ROWS:
        with pytest.raises(Stopped):
            px.data.run(source, "torques", out, rows=ROWS)
        assert not out.exists()
    else:
        monkeypatch.setattr(stores.UnfinishedRun, "_publish", _stop)
        with pytest.raises(Stopped):
            px.data.run(source, "torques", out, rows=ROWS)
        monkeypatch.undo()
    # Whatever was being written when the process died is not counted.
    for file in (tmp_path / f"out{suffix}.partial" / "files").iterdir():
        with file.open("ab") as torn:
            torn.write(b"torn")
    with (tmp_path / f"out{suffix}.partial" / "journal").open("ab") as torn:
        torn.write(b'{"task": 99')
    monkeypatch.undo()
    report = px.data.run(source, "torques", out, rows=ROWS)
    assert report.resumed == after
    assert digest(out) == digest(tmp_path / f"whole{suffix}")
    assert not (tmp_path / f"out{suffix}.partial").exists()


def _stop(*_: Any) -> None:
    raise Stopped


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_shares_give_the_same_bytes_in_any_order(suffix: str, tmp_path: Path) -> None:
    need(suffix)
    source = recording(tmp_path)
    px.data.run(source, "torques", tmp_path / f"whole{suffix}", rows=ROWS)
    out = tmp_path / f"out{suffix}"
    done = [px.data.run(source, "torques", out, rows=ROWS, shard=(i, 3)).complete for i in (3, 1, 2)]
    assert done == [False, False, True]
    assert digest(out) == digest(tmp_path / f"whole{suffix}")


def test_shares_write_the_files_of_a_folder_themselves(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "in").mkdir()
    for k in range(5):
        values = motion(ROBOT, 300 + k, seed=k)
        parquet(tmp_path / "in" / f"{k}.parquet", {k: values[k] for k in ("q", "qd", "qdd")})
    source = px.data.open(tmp_path / "in", ROBOT)
    px.data.run(source, "torques", tmp_path / "whole")
    px.data.run(source, "torques", tmp_path / "out", shard=(2, 3))
    files = tmp_path / "out.partial" / "files"
    assert [p.name for p in files.iterdir()] == ["1.parquet", "2.parquet"]
    assert (files / "1.parquet").read_bytes() == (tmp_path / "whole" / "1.parquet").read_bytes()
    (tmp_path / "out.partial" / "parts" / "00000002").unlink()  # killed between the file and its note
    report = px.data.run(source, "torques", tmp_path / "out")
    assert report.resumed == 1
    assert digest(tmp_path / "out") == digest(tmp_path / "whole")


def test_parts_of_shares_are_taken_up_by_a_run_without_them(tmp_path: Path) -> None:
    source = recording(tmp_path)
    px.data.run(source, "torques", tmp_path / "whole.npy", rows=ROWS)
    px.data.run(source, "torques", tmp_path / "out.npy", rows=ROWS, shard=(2, 2))
    report = px.data.run(source, "torques", tmp_path / "out.npy", rows=ROWS)
    assert report.resumed == 8
    assert digest(tmp_path / "out.npy") == digest(tmp_path / "whole.npy")


def test_a_process_killed_at_any_moment_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    values = motion(ROBOT, 200_000)
    parquet(tmp_path / "in.parquet", {k: values[k] for k in ("q", "qd", "qdd")}, group=1000)
    command = [
        sys.executable,
        "-m",
        "phalanx",
        "run",
        "two_link",
        str(tmp_path / "in.parquet"),
        "-f",
        "torques",
        "-f",
        "power",
    ]
    out, partial = tmp_path / "out.parquet", tmp_path / "out.parquet.partial"
    for parts in (3, 60):
        process = subprocess.Popen([*command, "-o", str(out), "--rows", "1000"])
        journal = partial / "journal"
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            if journal.exists() and journal.read_bytes().count(b"\n") >= parts:
                break
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*command, "-o", str(out), "--rows", "1000"], check=True, capture_output=True)
    px.data.run(
        px.data.open(tmp_path / "in.parquet", ROBOT),
        ["torques", "power"],
        tmp_path / "whole.parquet",
        rows=1000,
    )
    assert digest(out) == digest(tmp_path / "whole.parquet")
    np.testing.assert_array_equal(entries(out, "inverse_dynamics"), values["tau"])
    assert not partial.exists()


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = recording(tmp_path)
    px.data.run(source, "torques", tmp_path / "whole.npy", rows=ROWS)
    write, count = stores._WriteAll.write, []

    def full(self: Any, data: Any) -> None:
        count.append(1)
        if len(count) == 6:
            write(self, bytes(data)[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, data)

    monkeypatch.setattr(stores._WriteAll, "write", full)
    with pytest.raises(
        px.PhalanxError, match=r"the disk is full; 5 of 16 parts are kept, run the same again"
    ):
        px.data.run(source, "torques", tmp_path / "out.npy", rows=ROWS)
    monkeypatch.undo()
    assert not (tmp_path / "out.npy").exists()
    assert px.data.run(source, "torques", tmp_path / "out.npy", rows=ROWS).resumed == 5
    assert digest(tmp_path / "out.npy") == digest(tmp_path / "whole.npy")


def test_numbers_of_rows_have_any_type_of_integer(tmp_path: Path) -> None:
    source = recording(tmp_path)
    px.data.run(source, "torques", tmp_path / "one.npy", rows=100)
    px.data.run(source, "torques", tmp_path / "two.npy", rows=np.int8(100))  # type: ignore[arg-type]
    assert digest(tmp_path / "one.npy") == digest(tmp_path / "two.npy")


def test_an_error_in_the_middle_keeps_what_was_done(tmp_path: Path) -> None:
    values = motion(ROBOT, FRAMES)
    values["qd"][3000, 0] = np.inf
    np.savez(tmp_path / "in.npz", **{k: values[k] for k in ("q", "qd", "qdd")})
    source = px.data.open(tmp_path / "in.npz", ROBOT)
    with pytest.raises(
        px.PhalanxError, match=r"row 3000: qd is .*12 of 16 parts are kept in .*out.npy.partial"
    ):
        px.data.run(source, "torques", tmp_path / "out.npy", rows=ROWS)
    report = px.data.run(source, "torques", tmp_path / "out.npy", rows=ROWS, skip_bad=True)
    assert report.resumed == 12
    assert len(np.load(tmp_path / "out.npy")) == FRAMES - ROWS


def test_an_unfinished_run_of_another_kind_is_not_mixed_in(tmp_path: Path) -> None:
    source = recording(tmp_path)
    px.data.run(source, "torques", tmp_path / "out.npy", rows=ROWS, shard=(1, 2))
    with pytest.raises(px.PhalanxError, match=r"holds an unfinished run with other input.*--fresh"):
        px.data.run(source, "potential_energy", tmp_path / "out.npy", rows=ROWS)
    px.data.run(source, "potential_energy", tmp_path / "out.npy", rows=ROWS, fresh=True)
    assert np.load(tmp_path / "out.npy").shape == (FRAMES,)


def test_two_processes_do_not_write_the_same_output(tmp_path: Path) -> None:
    source = recording(tmp_path)
    store = stores.UnfinishedRun(planned(source, "torques", tmp_path / "out.npy", Options(rows=ROWS)))
    store.begin()
    with pytest.raises(px.PhalanxError, match="another process is writing this output"):
        px.data.run(source, "torques", tmp_path / "out.npy", rows=ROWS)
    store.release()


def test_results_do_not_depend_on_the_pieces(tmp_path: Path) -> None:
    """Derivatives too, whose windows reach over the borders of tasks, with row groups of any size."""
    pytest.importorskip("pyarrow")
    robot = px.tree(4, joints=("revolute", "spherical"), seed=5)
    q = robot.random_state(900, rng=0)[0]
    index = np.repeat([3, 4, 9], [400, 57, 443])
    found = []
    for group, rows in ((900, 900), (900, 100), (64, 200), (333, 50)):
        path = tmp_path / f"{group}-{rows}.parquet"
        parquet(path, {"q": q, "episode_index": index}, group=group)
        out = tmp_path / "out.npz"
        px.data.run(px.data.open(path, robot, rate=30.0), ["torques", "power"], out, rows=rows)
        found.append(dict(np.load(out).items()))
    rates = px.data.differentiate(robot, q, 30.0, ends=[400, 457, 900])
    np.testing.assert_array_equal(found[0]["inverse_dynamics"], robot.inverse_dynamics(q, *rates))
    assert found[0]["episode_ends"].tolist() == [400, 457, 900]
    for other in found[1:]:
        assert all(np.array_equal(found[0][k], other[k]) for k in found[0])


def test_output_inside_input_is_refused(tmp_path: Path) -> None:
    source = recording(tmp_path)
    with pytest.raises(px.PhalanxError, match="lie in each other"):
        px.data.run(source, "torques", tmp_path / "in.npz")
    with pytest.raises(px.PhalanxError, match="there is no folder"):
        px.data.run(source, "torques", tmp_path / "absent" / "out.npz")
    with pytest.raises(px.PhalanxError, match=r"holds one array, these are 2"):
        px.data.run(source, "energy", tmp_path / "out.npy")


@pytest.mark.parametrize("suffix", [".parquet", ".npy", ".npz", ".h5", ".zarr"])
def test_nothing_is_written_where_every_piece_is_bad(suffix: str, tmp_path: Path) -> None:
    need(suffix)
    source = bad(tmp_path / "in.npz", slice(0, 60))
    with pytest.raises(
        px.PhalanxError, match=r"every piece was left out, nothing is written; the first: .*row 0"
    ):
        px.data.run(source, "torques", tmp_path / f"out{suffix}", rows=20, skip_bad=True)
    assert [p.name for p in tmp_path.iterdir()] == ["in.npz"]


def bad(path: Path, rows: slice) -> px.data.Recording:
    """Sixty frames, some of which are no numbers."""
    values = motion(ROBOT, 60)
    values["q"][rows] = np.nan
    np.savez(path, **{k: values[k] for k in ("q", "qd", "qdd")})
    return px.data.open(path, ROBOT)


def test_frames_that_were_left_out_are_not_counted(tmp_path: Path) -> None:
    source = bad(tmp_path / "in.npz", slice(25, 30))
    report = px.data.run(source, "torques", tmp_path / "out.npy", rows=20, skip_bad=True)
    assert (report.frames, report.skipped_frames, report.computed) == (40, 20, 40)
    assert len(np.load(tmp_path / "out.npy")) == 40
    shares = [
        px.data.run(source, "torques", tmp_path / "two.npy", rows=20, skip_bad=True, shard=(i, 3))
        for i in (1, 2, 3)
    ]
    assert [(r.frames, r.skipped_frames) for r in shares] == [(20, 0), (0, 20), (20, 0)]
    assert digest(tmp_path / "two.npy") == digest(tmp_path / "out.npy")


def test_what_was_left_out_is_tried_again_unless_it_may_be(tmp_path: Path) -> None:
    source = bad(tmp_path / "in.npz", slice(25, 30))
    for i in (2, 1):
        px.data.run(source, "torques", tmp_path / "out.npy", rows=20, skip_bad=True, shard=(i, 3))
    with pytest.raises(px.PhalanxError, match="row 25: q is nan; repair"):
        px.data.run(source, "torques", tmp_path / "out.npy", rows=20)
    report = px.data.run(source, "torques", tmp_path / "out.npy", rows=20, skip_bad=True)
    assert (report.frames, report.skipped_frames, len(report.skipped)) == (40, 20, 1)


@pytest.mark.parametrize("version", ["v2.1", "v3.0"])
def test_a_data_set_with_bad_episodes_can_be_read(version: str, tmp_path: Path) -> None:
    """LeRobot counts episodes and frames: one of which nothing is left is a file without frames."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    lerobot(tmp_path / "in", ROBOT, version=version)
    file = sorted((tmp_path / "in").rglob("*.parquet"))[-1]
    table = pq.read_table(file)
    last = np.asarray(table["episode_index"]) == 2
    state = np.stack(table["observation.state"].to_pylist()).astype(np.float32)
    state[last] = np.nan
    at = table.schema.names.index("observation.state")
    pq.write_table(table.set_column(at, "observation.state", lists(state)), file, row_group_size=10)
    source = px.data.open(tmp_path / "in", ROBOT)
    report = px.data.run(source, "potential_energy", tmp_path / "out", rows=10, skip_bad=True)
    assert report.frames + report.skipped_frames == source.rows
    # A file of one episode, or pieces of a file of all: those with one of its frames are left out.
    assert report.frames == 87 if version == "v2.1" else 80 <= report.frames <= 87
    again = px.data.open(
        tmp_path / "out", ROBOT, columns={"q": ["potential_energy", "timestamp"]}, joints="robot"
    )
    assert again.rows == report.frames
    schemas = [pq.read_schema(f) for f in sorted((tmp_path / "out").rglob("*.parquet"))]
    assert all(schema.equals(schemas[0]) for schema in schemas)
    assert pa.types.is_floating(schemas[-1].field("timestamp").type)
