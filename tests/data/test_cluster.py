# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Runs on a Dask cluster: the bytes of one process, whatever happens to workers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import motion

distributed = pytest.importorskip("distributed")
ROBOT = px.load("two_link")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as made:
        yield made


@pytest.fixture
def source(tmp_path: Path) -> px.data.Recording:
    values = motion(ROBOT, 60_000)
    np.savez(tmp_path / "in.npz", **{k: values[k] for k in ("q", "qd", "qdd")})
    return px.data.open(tmp_path / "in.npz", ROBOT)


def test_two_workers_give_the_bytes_of_one_process(tmp_path: Path, source: Any, client: Any) -> None:
    for out, scheduler in (("one.npz", None), ("two.npz", client)):
        px.data.run(source, ["torques", "power"], tmp_path / out, rows=3000, scheduler=scheduler)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert not (tmp_path / "two.npz.partial").exists()


def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path, source: Any, client: Any) -> None:
    px.data.run(source, "torques", tmp_path / "one.npy", rows=300)
    pids = client.run(os.getpid)

    def kill() -> None:
        parts = tmp_path / "two.npy.partial"
        until = time.monotonic() + 60
        while time.monotonic() < until and not (parts / "journal").exists():
            time.sleep(0.001)
        os.kill(next(iter(pids.values())), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    px.data.run(source, "torques", tmp_path / "two.npy", rows=300, scheduler=client)
    killer.join()
    assert (tmp_path / "one.npy").read_bytes() == (tmp_path / "two.npy").read_bytes()


def test_a_folder_is_named_relative_to_where_one_is(
    tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    for k in range(2):
        values = motion(ROBOT, 50, seed=k)
        np.savez(tmp_path / "in" / f"{k}.npz", **{k: values[k] for k in ("q", "qd", "qdd")})
    monkeypatch.chdir(tmp_path)  # workers are elsewhere
    for out, scheduler in (("one", None), ("two", client)):
        px.data.run(px.data.open("in", ROBOT), "torques", out, scheduler=scheduler)
    for name in ("0.npz", "1.npz"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_bad_piece_is_named_and_left_out_only_if_asked_for(tmp_path: Path, client: Any) -> None:
    values = motion(ROBOT, 5000)
    values["q"][1234] = np.nan
    np.savez(tmp_path / "in.npz", **{k: values[k] for k in ("q", "qd", "qdd")})
    source = px.data.open(tmp_path / "in.npz", ROBOT)
    with pytest.raises(px.PhalanxError, match=r"in.npz: episode 0, row 1234: q is"):
        px.data.run(source, "torques", tmp_path / "out.npy", rows=1000, scheduler=client)
    report = px.data.run(source, "torques", tmp_path / "out.npy", rows=1000, scheduler=client, skip_bad=True)
    assert len(report.skipped) == 1
    assert len(np.load(tmp_path / "out.npy")) == 4000


@pytest.mark.parametrize("scheduler", ["local:0", "local:x", 7])
def test_schedulers_that_are_none_are_refused(tmp_path: Path, source: Any, scheduler: Any) -> None:
    with pytest.raises(px.PhalanxError, match="scheduler: got"):
        px.data.run(source, "torques", tmp_path / "out.npy", scheduler=scheduler)
    assert [p.name for p in tmp_path.iterdir()] == ["in.npz"]
