# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pictures of simulations show what was recorded."""

from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError

pytest.importorskip("matplotlib", reason="draws the pictures")

TIME = np.linspace(0.0, 1.0, 11)


def records(batch: int, n: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return TIME, rng.standard_normal((batch, 11, n)), rng.standard_normal((batch, 11))


def test_one_simulation_has_a_line_for_each_coordinate(tmp_path: Path) -> None:
    time, q, energy = records(1)
    figure = px.figures.motion(time, q, energy, tmp_path / "one.png", names=["a", "b", "c"], title="one")
    top, bottom = figure.axes
    assert [line.get_label() for line in top.lines] == ["a", "b", "c"]
    for k, line in enumerate(top.lines):
        np.testing.assert_array_equal(line.get_ydata(), q[0, :, k])
    np.testing.assert_array_equal(bottom.lines[0].get_ydata(), energy[0])
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_a_batch_has_a_panel_for_each_coordinate_with_its_median() -> None:
    time, q, energy = records(7)
    figure = px.figures.motion(time, q, energy)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["q[0]", "q[1]", "q[2]", "energy [J]"]
    for k in range(3):
        np.testing.assert_allclose(figure.axes[k].lines[-1].get_ydata(), np.median(q[:, :, k], axis=0))


def test_what_diverged_is_left_out() -> None:
    time, q, energy = records(3)
    q[1, 5:] = energy[1, 5:] = np.nan
    figure = px.figures.motion(time, q, energy)
    np.testing.assert_allclose(figure.axes[0].lines[-1].get_ydata(), np.median(q[[0, 2], :, 0], axis=0))
    q[:] = np.nan
    assert not px.figures.motion(time, q, energy).axes[0].lines
    assert not px.figures.motion(time, q[:1], energy[:1]).axes[0].lines


def test_many_coordinates_say_which_are_shown() -> None:
    figure = px.figures.motion(*records(2, n=40))
    assert "the first 23 of 40 coordinates" in figure.get_suptitle()


def test_shapes_are_checked() -> None:
    time, q, energy = records(2)
    with pytest.raises(PhalanxError, match=r"figures\.motion: time"):
        px.figures.motion(time[:-1], q, energy)
