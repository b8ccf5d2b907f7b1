# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pictures: made, labelled, and with everything in them that they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import figures
from phalanx.study.compare import Comparison

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def written(path: Path) -> np.ndarray:
    """The pixels of a picture, to see that there is something on it."""
    from matplotlib.image import imread

    return np.asarray(imread(path))


def require_labels(axes: Any) -> None:
    assert axes.get_xlabel()
    assert axes.get_ylabel() or [t.get_text() for t in axes.get_yticklabels()]


def texts(figure: Any) -> set[str]:
    """All names in the legends of a figure."""
    return {text.get_text() for legend in figure.legends for text in legend.get_texts()}


def test_cost_over_n_has_a_line_for_every_algorithm(tmp_path: Path) -> None:
    figure = figures.cost_over_n("inverse_dynamics", tmp_path / "cost.png", lengths=(2, 4, 8))
    (axes,) = figure.axes
    require_labels(axes)
    assert texts(figure) == {a.name for a in px.algorithms("inverse_dynamics")}
    for line in axes.lines:
        assert list(line.get_xdata()) == [2, 4, 8]
        assert all(np.diff(line.get_ydata()) > 0)
    assert written(tmp_path / "cost.png").std() > 0.05


def test_the_lines_are_the_costs(tmp_path: Path) -> None:
    figure = figures.cost_over_n("inverse_dynamics", lengths=(3,), quantity="span")
    drawn = {line.get_label(): line.get_ydata()[0] for line in figure.axes[0].lines}
    found = px.cost(px.chain(3), "inverse_dynamics", "lathrop", convention="program")
    assert drawn["lathrop"] == found.span.total


def test_functions_of_a_frame_are_asked_for_the_last_one() -> None:
    (line,) = figures.cost_over_n("jacobian", lengths=(2, 3)).axes[0].lines
    robots = (px.chain(2), px.chain(3))
    costs = [px.cost(r, "jacobian", frame=r.link_names[-1]).total for r in robots]
    assert list(line.get_ydata()) == costs


def test_speed_up_stays_below_the_ideal_and_never_falls(tmp_path: Path) -> None:
    figure = figures.speedup_over_processors(
        px.load("ur5"), "inverse_dynamics", tmp_path / "s.svg", processors=(1, 4, 16)
    )
    (axes,) = figure.axes
    require_labels(axes)
    ideal, *lines = axes.lines
    assert len(lines) == len(px.algorithms("inverse_dynamics"))
    for line in lines:
        assert all(line.get_ydata() <= ideal.get_ydata() + 1e-9)
        assert all(np.diff(line.get_ydata()) >= 0)
    assert max(line.get_ydata()[0] for line in lines) == 1.0
    assert "lathrop" in (tmp_path / "s.svg").read_text()


def test_data_flows_from_left_to_right(tmp_path: Path) -> None:
    figure = figures.data_flow(
        px.load("ur5"), "inverse_dynamics", tmp_path / "f.pdf", algorithm="newton_euler"
    )
    (axes,) = figure.axes
    require_labels(axes)
    names = [t.get_text() for t in axes.texts]
    assert {"V[1]", "V[5]", "Vd[5]", "F[0]"} <= set(names)
    place = {t.get_text(): t.xy[0] for t in axes.texts if t.get_text()}
    assert place["V[1]"] < place["V[2]"] < place["Vd[2]"] < place["F[5]"] < place["F[1]"]
    spots = [t.xy for t in axes.texts if t.get_text()]
    assert len(set(spots)) == len(spots)  # no two on top of each other
    assert (tmp_path / "f.pdf").stat().st_size > 5000


def test_bars_show_every_measured_algorithm_and_mark_the_recommended(tmp_path: Path) -> None:
    known = {"source": "", "span": "", "backend": "native"}
    rows = [
        Comparison("quick", **known, one_state=3e-7, per_state=2e-8, predicted=2.2e-8, recommended=True),
        Comparison("slow", **known, one_state=6e-7, per_state=4e-8, predicted=3.9e-8),
        Comparison("other", source="", span="", refused="not this robot"),
    ]
    figure = figures.comparison(rows, tmp_path / "bars.png", title="robot", batch=64)
    left, right = figure.axes
    assert [t.get_text() for t in left.get_yticklabels()] == ["quick ◂", "slow"]
    assert [round(bar.get_width()) for bar in right.patches] == [20, 40]
    assert {t.get_text() for t in right.texts} == {"20 ns", "40 ns"}
    assert "64" in right.get_title(loc="left")
    require_labels(left)
    assert right.get_xlabel() == "nanoseconds per state"
    assert texts(figure) == {"predicted"}
    assert written(tmp_path / "bars.png").std() > 0.05


def test_bars_of_very_different_length_are_logarithmic() -> None:
    known = {"source": "", "span": "", "backend": "native"}
    rows = [Comparison(str(s), **known, one_state=s, per_state=s) for s in (1e-7, 1e-4)]
    assert figures.comparison(rows).axes[0].get_xscale() == "log"


def test_what_cannot_be_drawn_is_told(tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match="no algorithm was measured"):
        figures.comparison([])
    with pytest.raises(px.PhalanxError, match='expected "work" or "span"'):
        figures.cost_over_n("mass_matrix", quantity="time")
    rock = px.RobotBuilder("rock")
    rock.add_link("rock", mass=1.0)
    with pytest.raises(px.PhalanxError, match="leaves nothing to compute"):
        figures.speedup_over_processors(rock.build(), "inverse_dynamics")
    with pytest.raises(px.PhalanxError, match="take a smaller robot"):
        figures.data_flow(px.chain(100), "inverse_dynamics")
