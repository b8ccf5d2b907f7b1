# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The picture of a cost shows its widths and its parts."""

from __future__ import annotations

from pathlib import Path

import pytest

import phalanx as px
from phalanx.study.figures.cost_figures import cost_profile

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def test_widths_and_bars_are_those_of_the_cost(tmp_path: Path) -> None:
    cost = px.cost(px.load("ur5"), "inverse_dynamics")
    figure = cost_profile(cost, tmp_path / "cost.svg", title="ur5", by="link")
    over_time, shares = figure.axes
    (stairs,) = over_time.patches
    assert tuple(stairs.get_data().values) == cost.width
    assert sum(bar.get_width() for bar in shares.patches) == cost.total
    assert [tick.get_text() for tick in shares.get_yticklabels()] == [
        name for name, c in cost.by_link.items() if c.total
    ]
    assert (tmp_path / "cost.svg").read_text(encoding="utf-8").count("multiplications") == 1


def test_what_does_not_fit_is_summed_up() -> None:
    cost = px.cost(px.chain(30), "inverse_dynamics")
    _, shares = cost_profile(cost, by="link").axes
    names = [tick.get_text() for tick in shares.get_yticklabels()]
    assert len(names) == 16
    assert names[-1] == "15 others"
    assert sum(bar.get_width() for bar in shares.patches) == cost.total
