# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx run`: what it computes, prints and refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import entries, motion, parquet
from phalanx.cli import main
from phalanx.data import cluster

PANDA = px.load("panda")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    pytest.importorskip("pyarrow")
    state = motion(PANDA, 500)
    return parquet(tmp_path / "log.parquet", {**state, "timestamp": np.arange(500) / 100.0}, group=100)


def run(*words: Any) -> int:
    return main(["run", *map(str, words)])


def test_results_stand_beside_the_index(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.parquet"
    assert run("panda", log, "-f", "torques", "-f", "power", "-o", out) == 0
    assert "500 frames" in capsys.readouterr().out
    assert np.array_equal(entries(out, "inverse_dynamics"), motion(PANDA, 500)["tau"])
    assert np.array_equal(entries(out, "timestamp").ravel(), np.arange(500) / 100.0)
    import pyarrow.parquet as pq

    told = json.loads(pq.read_schema(out).metadata[b"phalanx"])
    assert told["robot"] == "panda"
    assert told["columns"]["power"] == list(PANDA.joint_names)


@pytest.mark.parametrize(
    ("keep", "columns"), [("none", []), ("all", None), ("tau,timestamp", ["tau", "timestamp"])]
)
def test_columns_of_the_input_are_kept_as_asked(keep: str, columns: Any, log: Path, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    assert run("panda", log, "-f", "energy", "-o", tmp_path / "out.parquet", "--keep", keep) == 0
    found = pq.read_schema(tmp_path / "out.parquet").names
    kept = pq.read_schema(log).names if columns is None else columns
    assert found == [*kept, "kinetic_energy", "potential_energy"]
    if columns is None:
        assert (
            pq.read_table(tmp_path / "out.parquet")
            .select(kept)
            .equals(pq.read_table(log), check_metadata=False)
        )


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["torques", "power", "panda", "log.npz"], "panda log.npz -o o.npz -f torques -f power"),
        (["panda", "log.npz"], "panda log.npz -o o.npz -f inverse_dynamics"),
        (["power", "panda", "log.npz", "-f", "torques"], "panda log.npz -o o.npz -f torques -f power"),
        (["log.npz", "panda", "-f", "torques"], "panda log.npz -o o.npz -f torques"),
    ],
)
def test_words_in_another_order_are_one_line_with_the_right_order(
    words: list[str], wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words, "-o", "o.npz") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("phalanx run: expected ROBOT RECORDING -o OUT -f FUNCTION")
    assert line.endswith(f"such as phalanx run {wanted}")


def test_a_dry_run_tells_and_writes_nothing(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = tmp_path / "out.parquet"
    assert run("panda", log, "-f", "torques", "-f", "energy", "-o", out, "--dry-run") == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    for word in ("inverse_dynamics", "kinetic_energy", "q from q", "28 kB", "reading", "Nothing was written"):
        assert word in text
    assert [p.name for p in tmp_path.iterdir()] == ["log.parquet"]


def test_derivatives_units_and_columns_from_the_command_line(tmp_path: Path) -> None:
    state = motion(PANDA, 300)
    sign = np.array([1, -1, 1, 1, 1, 1, 1])
    np.savez(tmp_path / "a.npz", state=np.rad2deg(state["q"]) * sign)
    out = tmp_path / "b.npy"
    words = ("--columns", "q=state", "--rate", "100", "--units", "q=deg,panda_joint2=-1")
    assert run("panda", tmp_path / "a.npz", "-f", "torques", "-o", out, *words) == 0
    q = np.rad2deg(state["q"]) * sign * (np.pi / 180.0 * sign)
    np.testing.assert_allclose(
        np.load(out), PANDA.inverse_dynamics(q, *px.data.differentiate(PANDA, q, 100.0))
    )


def test_shares_and_pictures(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    out, picture = tmp_path / "out.parquet", tmp_path / "out.png"
    assert run("panda", log, "-f", "residual", "-o", out, "--rows", 100, "--shard", "2/2") == 0
    assert "not complete" in capsys.readouterr().out
    assert (
        run("panda", log, "-f", "residual", "-o", out, "--rows", 100, "--shard", "1/2", "--plot", picture)
        == 0
    )
    assert np.abs(entries(out, "residual")).max() == 0.0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_json_tells_what_was_done(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("panda", log, "-f", "torques", "-o", tmp_path / "o.npz", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["frames"] == 500
    assert facts["read"] == {"q": ["q"], "qd": ["qd"], "qdd": ["qdd"]}
    assert facts["columns"]["inverse_dynamics"] == {"shape": [7], "dtype": "float64", "bytes": 28000}
    assert facts["complete"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--shard", "3/2"), "--shard: got '3/2'"),
        (("--units", "furlong"), "units: 'furlong'"),
        (("--columns", "q"), "--columns: got 'q'"),
        (("--frame", "hand"), "hand"),
        (("--keep", "colour"), 'no column "colour"'),
        (("--window", "4"), "odd window"),
        (("--window", "21"), "--window: needs rates that are not recorded"),
        (("--polynomial", "4"), "--polynomial: needs rates that are not recorded"),
        (("--plot", "a.gif"), "ends in '.gif'"),
        (("--scheduler", "tcp://127.0.0.1:1"), "cannot connect"),
    ],
)
def test_bad_arguments_are_one_line(
    words: tuple[str, ...],
    told: str,
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "--scheduler" in words:
        pytest.importorskip("distributed")
        monkeypatch.setattr(cluster, "_PATIENCE", "0.2s")
    assert (
        run("panda", log, "-f", "frame_pose", "-o", tmp_path / "o.parquet", "--frame", "panda_link7", *words)
        == 2
    )
    [line] = capsys.readouterr().err.splitlines()
    assert told in line
    assert [p.name for p in tmp_path.iterdir()] == ["log.parquet"]


def test_the_bar_tells_speed_and_time_left(log: Path, tmp_path: Path) -> None:
    from phalanx.data.engine import _Progress, planned
    from phalanx.data.job import Options

    job = planned(px.data.open(log, PANDA), "torques", tmp_path / "o.npy", Options(rows=100))
    work = _Progress(job, False)
    assert work.progress(job.tasks[0]) == ""
    work.begin -= 10.0
    work.part(job.tasks[0])
    told = work.progress(job.tasks[1])
    assert told.startswith(("10 states/s", "9.9"))
    assert "B/s" in told
    assert told.endswith("0:40 left")


def test_a_frame_without_a_function_of_frames_is_refused(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("panda", log, "-f", "torques", "-o", tmp_path / "o.npz", "--frame", "panda_link7") == 2
    assert "--frame: needs a function of frames" in capsys.readouterr().err
    assert not (tmp_path / "o.npz").exists()
