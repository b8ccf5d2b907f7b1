# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The picture of a cut through a workspace has its colours where points are reached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_a_cut_is_coloured_where_points_are_reached(tmp_path: Path) -> None:
    robot = px.load("two_link")
    grid: Any = (np.linspace(-2.5, 2.5, 21), 0.0, np.linspace(-2.0, 2.0, 17))
    found = robot.reachable(robot.frame_names[-1], grid)
    figure = px.figures.reachability(found, tmp_path / "cut.png", title="two links")
    axes, bar = figure.axes
    drawn = axes.collections[0].get_array()
    assert drawn.shape == (21, 17)
    assert np.array_equal(~np.ma.getmaskarray(drawn), found.reached)
    assert np.array_equal(drawn.compressed(), found.manipulability[found.reached])
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel()) == ("x [m]", "z [m]", "manipulability")
    assert axes.get_title(loc="left").startswith("two links, y = 0 m: ")
    assert (tmp_path / "cut.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_no_plane_is_refused() -> None:
    robot = px.load("two_link")
    frame = robot.frame_names[-1]
    with pytest.raises(px.PhalanxError, match="expected a plane"):
        px.figures.reachability(robot.reachable(frame, np.zeros((4, 3))))
    with pytest.raises(px.PhalanxError, match="both axes of the points run along x"):
        px.figures.reachability(robot.reachable(frame, np.linspace(0, 1, 4)[:, None, None] * np.ones((3, 3))))
    with pytest.raises(px.PhalanxError, match="what robot"):
        px.figures.reachability(np.zeros(3))
