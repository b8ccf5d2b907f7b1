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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pose", "1 2"], "expected three numbers"),
        (["--pose", "here"], "expected numbers separated by spaces"),
        (["--pose", "0 0 1", "--frame", "tool"], "tool"),
        (["--pose", "0 0 1", "--start", "1 2"], "q0 has shape"),
        (["--pose", "0 0 1", "-o", "found.txt"], "no .npz file"),
        (["--poses", "nowhere.npy"], "cannot read"),
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
