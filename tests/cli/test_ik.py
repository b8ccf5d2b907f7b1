# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx ik`: a pose, a file of poses, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.cli import main


def test_a_pose_as_json_and_in_print(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["ik", "panda", "--frame", "panda_hand", "--pose", "0.4 0.1 0.5 3.0 0 0.1"]
    assert main([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["converged"] is True
    pose = px.load("panda").frame_pose(np.array(found["q"]), "panda_hand")
    assert np.allclose(pose[:3, 3], [0.4, 0.1, 0.5], atol=2e-6)
    assert np.allclose(px.math.log3(pose[:3, :3]), [3.0, 0.0, 0.1], atol=2e-6)
    assert main(call) == 0
    text = capsys.readouterr().out
    assert "panda_hand of panda: reached" in text
    assert "panda_joint7" in text
    assert main(["ik", "panda", "--frame", "panda_hand", "--pose", "9 0 0"]) == 0
    assert "not reached; the nearest configuration" in capsys.readouterr().out


def test_a_file_of_poses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = px.load("ur5")
    poses = robot.frame_pose(robot.random_state((20,), np.random.default_rng(0))[0], "tool0")
    np.save(tmp_path / "poses.npy", poses)
    out = tmp_path / "found.npz"
    assert (
        main(["ik", "ur5", "--frame", "tool0", "--poses", str(tmp_path / "poses.npy"), "-o", str(out)]) == 0
    )
    assert "20 of 20 poses reached" in capsys.readouterr().out
    with np.load(out) as found:
        assert np.allclose(robot.frame_pose(found["q"], "tool0"), poses, atol=2e-6)


@pytest.mark.parametrize("columns", [3, 6, 16])
def test_tables_of_poses_and_of_solutions(columns: int, tmp_path: Path) -> None:
    robot = px.load("ur5")
    poses = robot.frame_pose(robot.random_state((5,), np.random.default_rng(0))[0], "tool0")
    turns = px.math.log3(poses[:, :3, :3])
    rows = {3: poses[:, :3, 3], 6: np.concatenate([poses[:, :3, 3], turns], axis=1), 16: poses.reshape(5, 16)}
    np.savetxt(tmp_path / "poses.csv", rows[columns], delimiter=",", header="poses", comments="")
    np.savez(tmp_path / "poses.npz", poses=rows[columns], other=np.zeros(3))
    found = []
    for suffix in ("csv", "npz"):
        out = tmp_path / f"from_{suffix}.csv"
        call = ["ik", "ur5", "--frame", "tool0", "--poses", str(tmp_path / f"poses.{suffix}"), "-o", str(out)]
        assert main(call) == 0
        found.append(out.read_text().splitlines())
    assert found[0] == found[1]
    assert found[0][0] == ",".join((*robot.joint_names, "converged", "iterations"))
    q = np.array([line.split(",")[:6] for line in found[0][1:]], dtype=float)
    assert [line.split(",")[6] for line in found[0][1:]] == ["1"] * 5
    assert np.allclose(robot.frame_pose(q, "tool0")[:, :3, 3], poses[:, :3, 3], atol=2e-6)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("poses.csv", b"1,2,3\n1,2\n", "line 2 has 2 numbers, expected 3"),
        ("poses.csv", b"x,y,z\n1,2,home\n", "line 2 is"),
        ("poses.csv", b"x,y,z\n", "no numbers"),
        ("poses.csv", b"\xff\xfe1,2,3", "cannot read"),
        ("poses.npy", b"1,2,3", "cannot read"),
        ("poses.npz", b"PK\x03\x04", "cannot read"),
        ("poses.csv", b"1,2,3,4\n", "expected three numbers"),
        ("poses.txt", b"1,2,3", "no .npy, .npz or .csv file"),
    ],
)
def test_bad_files_are_one_line(
    name: str, content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert main(["ik", "ur5", "--poses", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pose", "1 2"], "expected three numbers"),
        (["--pose", "here"], "expected numbers separated by spaces"),
        (["--pose", "0 0 1", "--frame", "tool"], "tool"),
        (["--pose", "0 0 1", "--start", "1 2"], "q0 has shape"),
        (["--pose", "0 0 1", "-o", "found.txt"], "no .npz or .csv file"),
        (["--poses", "nowhere.npy"], "cannot read"),
        (["--poses", "."], "no .npy"),
        ([], "got no pose"),
    ],
)
def test_bad_arguments_are_one_line(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["ik", "ur5", *words])
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err
