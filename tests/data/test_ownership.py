# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Runs replace and remove what runs have made, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from data.making import motion, parquet
from phalanx.cli import main

ROBOT = px.load("two_link")


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
