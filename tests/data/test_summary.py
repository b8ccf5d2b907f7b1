# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Measured forces beside computed ones: numbers of each joint, and what joints would agree better."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.cli import main
from phalanx.data.engine import planned
from phalanx.data.summary import agreement

RATE, FRAMES = 100.0, 300


def motion(robot: px.Robot) -> dict[str, np.ndarray]:
    """A smooth motion inside the limits, with the forces that belong to it."""
    time = np.arange(FRAMES)[:, None] / RATE
    middle, speed = 0.5 * (robot.limits.lower + robot.limits.upper), np.arange(1, robot.nv + 1)
    q = middle + 0.1 * np.sin(speed * time)
    qd, qdd = 0.1 * speed * np.cos(speed * time), -0.1 * speed**2 * np.sin(speed * time)
    return {"q": q, "qd": qd, "qdd": qdd, "tau": robot.inverse_dynamics(q, qd, qdd)}


def found(path: Path, robot: px.Robot, state: dict[str, np.ndarray]) -> Any:
    np.savez(path / "log.npz", **state)
    recording = px.data.open(path / "log.npz", robot, "robot", rate=RATE)
    return agreement(planned(recording, ["residual"], path / "out.npz"))


def test_numbers_are_those_of_each_joint(tmp_path: Path) -> None:
    robot = px.load("ur5")
    state = motion(robot)
    noise = np.random.default_rng(0).normal(size=(FRAMES, 6)) * np.arange(1.0, 7.0)
    computed, state["tau"] = state["tau"], state["tau"] + noise
    made = found(tmp_path, robot, state)
    assert made.names == list(robot.joint_names)
    assert made.frames == FRAMES
    np.testing.assert_allclose(made.rms, np.sqrt(np.mean(noise**2, axis=0)), rtol=1e-9)
    np.testing.assert_allclose(made.measured, np.sqrt(np.mean(state["tau"] ** 2, axis=0)), rtol=1e-9)
    wanted = [np.corrcoef(a, b)[0, 1] for a, b in zip(state["tau"].T, computed.T, strict=True)]
    np.testing.assert_allclose(made.correlation, wanted, rtol=1e-9)
    assert made.changes == []


def test_an_order_of_several_joints_is_found_by_exchanges(tmp_path: Path) -> None:
    robot = px.load("panda")
    state = {name: array[:, [0, 2, 1, 5, 4, 3, 6]] for name, array in motion(robot).items()}
    with pytest.warns(px.PhalanxWarning, match="outside its limits"):
        made = found(tmp_path, robot, state)
    wanted = {
        "panda_joint4 exchanged with panda_joint6",
        "panda_joint2 exchanged with panda_joint3",
    }
    assert set(made.changes) == wanted
    assert made.after < 1e-6 < 0.5 < made.before


@pytest.mark.parametrize("names", [("tau",), ("q", "qd", "qdd", "tau")], ids=["forces", "joint"])
def test_turned_signs_are_found(names: tuple[str, ...], tmp_path: Path) -> None:
    robot = px.load("ur5")
    state = motion(robot)
    state["q"] += 0.3
    state["tau"] = robot.inverse_dynamics(state["q"], state["qd"], state["qdd"])
    for name in names:
        state[name][:, 1] *= -1.0
    told = "forces of {} with the other sign" if len(names) == 1 else "{} counted the other way"
    made = found(tmp_path, robot, state)
    assert made.changes == [told.format(robot.joint_names[1])]


def test_the_command_prints_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = px.load("panda")
    np.savez(tmp_path / "log.npz", **{k: a[:, [0, 1, 2, 5, 4, 3, 6]] for k, a in motion(robot).items()})
    line = ["run", "panda", str(tmp_path / "log.npz"), "-f", "residual", "-o", str(tmp_path / "out.npz")]
    warnings.simplefilter("ignore", px.PhalanxWarning)  # that they are outside their limits
    assert main([*line, "--joints", "robot"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "joint rms residual measured correlation" in printed
    assert "better panda_joint4 exchanged with panda_joint6" in printed
    assert main([*line, "--joints", "robot", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["agreement"]
    assert told["better"] == ["panda_joint4 exchanged with panda_joint6"]
    assert set(told["joints"]) == set(robot.joint_names)
