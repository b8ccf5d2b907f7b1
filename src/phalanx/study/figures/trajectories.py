# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Curves over time: simulations with their energy, recordings with limits, power and residuals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...data.recording import Recording
from ...data.summary import Summary, summarise
from ...errors import PhalanxError, shown
from ...typing import Path
from ..plotting import BLACK, BLUE, GREY, ORANGE, VERMILION, line_styles, new_figure, saved, styled

_LEGEND = 14  # coordinates that fit into a legend
_MOST_PANELS = 24  # that fit into a figure
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
    shown = min(len(labels), _MOST_PANELS - 1)
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
    """Draw the median of several curves, their percentile band, and some single curves."""
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
    """Widen the range of a nearly constant curve, so that noise does not fill the panel."""
    low, high = axes.get_ylim()
    if high - low < _LEAST:
        middle = 0.5 * (low + high)
        axes.set_ylim(middle - 0.5 * _LEAST, middle + 0.5 * _LEAST)
    axes.ticklabel_format(axis="y", useOffset=False)


_BARS = 60  # of the histogram
_NEAR = 0.5  # share of a limit from which on the limit is drawn


def recorded(recording: Any, path: Path | None = None, *, title: str = "") -> Any:
    """The joint forces of a recording, a panel for each joint, its power, and a histogram of residuals.

    A band goes from the least to the greatest force of each moment; dashed lines are limits of effort. Of
    long recordings pieces are drawn that are spread evenly. Residuals are measured forces less computed ones.
    """
    if not isinstance(recording, Recording):
        raise PhalanxError(f"figures.recorded: got {shown(recording)}, expected what px.data.open returns.")
    summary = summarise(recording)
    with styled():
        figure = _drawn(summary, title or _title(recording, summary))
    return saved(figure, path)


def _title(recording: Recording, summary: Summary) -> str:
    part = "" if summary.frames == summary.total else f", {summary.frames:,} of them drawn"
    return f"{recording.robot.name}, {recording.layout.root.name}: {summary.total:,} frames{part}"


def _drawn(summary: Summary, title: str) -> Any:
    shown = min(len(summary.names), _MOST_PANELS - 2)
    extra = 1 + (summary.residuals is not None)
    columns = min(3, shown + extra)
    rows = math.ceil((shown + extra) / columns)
    figure, axes = new_figure(width=2.6 * columns, height=0.9 + 1.45 * rows)
    axes.remove()
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for k in range(shown):
        _force(panels[k], summary, k)
    _power(panels[shown], summary)
    if summary.residuals is not None:
        _residuals(panels[shown + 1], summary)
    for panel in panels[shown + extra :]:
        panel.remove()
    unit = "time [s]" if summary.is_seconds else "frame"
    for panel in panels[max(0, shown + 1 - columns) : shown + 1]:
        panel.set_xlabel(unit)
    more = f"; the first {shown} of {len(summary.names)} joints" if shown < len(summary.names) else ""
    figure.suptitle(title + more, fontsize=10, x=0.01, ha="left")
    return figure


def _force(axes: Any, summary: Summary, k: int) -> None:
    """The envelope of one joint; its limits where it comes near them."""
    low, high, limit = summary.low[:, k], summary.high[:, k], float(summary.limits[k])
    axes.fill_between(summary.time, low, high, color=BLUE, alpha=0.35, linewidth=0)
    axes.plot(summary.time, high, color=BLUE, linewidth=0.6)
    axes.plot(summary.time, low, color=BLUE, linewidth=0.6)
    reach = float(np.nanmax(np.abs([low, high]), initial=0.0))
    note = "no limit"
    if math.isfinite(limit):
        note = f"{reach / limit:.0%} of its limit" if limit > 0 else "limit 0"
        if reach > _NEAR * limit:
            for sign in (-1, 1):
                axes.axhline(sign * limit, color=VERMILION, linestyle="--", linewidth=1.0)
            beyond = (high > limit) | (low < -limit)
            peak = np.where(high > limit, high, low)
            axes.plot(summary.time[beyond], peak[beyond], ".", color=VERMILION, markersize=3)
    axes.set_title(f"{summary.names[k]} [N·m, N]: {note}", fontsize=7.5)


def _power(axes: Any, summary: Summary) -> None:
    least, mean, most = summary.power.T
    axes.fill_between(summary.time, least, most, color=ORANGE, alpha=0.35, linewidth=0)
    axes.plot(summary.time, mean, color=BLACK, linewidth=0.9)
    axes.axhline(0.0, color=GREY, linewidth=0.6)
    axes.set_title("total power [W]: mean, least to greatest", fontsize=7.5)


def _residuals(axes: Any, summary: Summary) -> None:
    """A histogram over all joints."""
    assert summary.residuals is not None
    values = summary.residuals[np.isfinite(summary.residuals).all(axis=1)]
    if not len(values):
        return
    reach = float(np.percentile(np.abs(values), 99.5)) or 1.0
    edges = np.linspace(-reach, reach, _BARS + 1)
    counts = np.histogram(values, edges)[0] / values.size
    axes.stairs(100.0 * counts, edges, fill=True, color=BLUE, alpha=0.6)
    root = math.sqrt(float(np.mean(values**2)))
    axes.set_title(f"residuals, all joints [%]: rms {root:.3g}", fontsize=7.5)
    axes.set_xlabel("measured less computed [N·m, N]")
