# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Curves: coordinates and energy of simulations over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...typing import Path
from ..plotting import BLACK, BLUE, line_styles, new_figure, saved, styled

_LEGEND = 14  # coordinates that a legend can hold
_PANELS = 23  # coordinates that have room for a panel each
_THIN = 40  # simulations of a batch that are drawn one by one
_LEAST = 2e-3  # rad, m or J that a panel spans
_SPREAD = (5.0, 50.0, 95.0)  # percentiles of a batch: band and line


def motion(
    time: Any, q: Any, energy: Any, path: Path | None = None, *, names: Sequence[str] = (), title: str = ""
) -> Any:
    """Coordinates `q` (batch, T, n) and `energy` (batch, T) over `time` (T,).

    One simulation of few coordinates is drawn with a line for each. Otherwise each has a panel: of a batch
    the median, a band that holds nine tenths of the simulations, and some of them. Those that diverged are
    left out.
    """
    time, q, energy = np.asarray(time), np.asarray(q), np.asarray(energy)
    if q.ndim != 3 or q.shape[:2] != energy.shape or time.shape != q.shape[1:2]:
        raise PhalanxError(
            f"figures.motion: time {time.shape}, q {q.shape}, energy {energy.shape}; expected (T,), "
            "(batch, T, n) and (batch, T)."
        )
    labels = [names[k] if k < len(names) else f"q[{k}]" for k in range(q.shape[-1])]
    good = np.isfinite(q).all(axis=(1, 2))
    with styled():
        draw = _one if len(q) == 1 and len(labels) <= _LEGEND else _many
        figure = draw(time, q[good], energy[good], labels, title or "Simulation")
    return saved(figure, path)


def _one(time: np.ndarray, q: np.ndarray, energy: np.ndarray, labels: list[str], title: str) -> Any:
    figure, axes = new_figure(height=4.6)
    axes.remove()
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.4, 1.0))
    if len(q):
        for k, style in zip(range(len(labels)), line_styles(), strict=False):
            style.pop("marker")
            top.plot(time, q[0, :, k], label=labels[k], **style)
        bottom.plot(time, energy[0], color=BLACK)
    top.set(ylabel="coordinate [rad, m]", title=title)
    bottom.set(ylabel="energy [J]", xlabel="time [s]")
    bottom.ticklabel_format(axis="y", useOffset=False)
    if labels and len(q):
        figure.legend(*top.get_legend_handles_labels(), loc="outside right upper")
    return figure


def _many(time: np.ndarray, q: np.ndarray, energy: np.ndarray, labels: list[str], title: str) -> Any:
    shown = min(len(labels), _PANELS)
    columns = min(4, shown + 1)
    rows = math.ceil((shown + 1) / columns)
    figure, axes = new_figure(width=2.1 * max(columns, 3), height=1.0 + 1.5 * rows)
    axes.remove()
    panels = figure.subplots(rows, columns, sharex=True, squeeze=False).ravel()
    for k in range(shown):
        _spread(panels[k], time, q[:, :, k], BLUE)
        panels[k].set_title(labels[k], fontsize=8)
    _spread(panels[shown], time, energy, BLACK)
    panels[shown].set_title("energy [J]", fontsize=8)
    for panel in panels[shown + 1 :]:
        panel.remove()
    for panel in panels[max(0, shown + 1 - columns) : shown + 1]:
        panel.set_xlabel("time [s]")
        panel.tick_params(labelbottom=True)
    more = f"; the first {shown} of {len(labels)} coordinates" if shown < len(labels) else ""
    figure.suptitle(title + more, fontsize=10, x=0.01, ha="left")
    return figure


def _spread(axes: Any, time: np.ndarray, values: np.ndarray, colour: str) -> None:
    """The median of several curves in their band, and some of them."""
    if not len(values):
        return
    if len(values) == 1:
        axes.plot(time, values[0], color=colour)
        _widen(axes)
        return
    low, middle, high = np.percentile(values, _SPREAD, axis=0)
    axes.fill_between(time, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(time, values[:_THIN].T, color=colour, linewidth=0.3, alpha=0.35)
    axes.plot(time, middle, color=colour)
    _widen(axes)


def _widen(axes: Any) -> None:
    """What hardly moves is not blown up to the height of a panel."""
    low, high = axes.get_ylim()
    if high - low < _LEAST:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.5 * _LEAST, middle + 0.5 * _LEAST)
    axes.ticklabel_format(axis="y", useOffset=False)
