# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recordings: envelopes of joint forces against their limits, power over time, residuals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...data.recording import Recording
from ...data.summary import Summary, summarise
from ...errors import PhalanxError, shown
from ...typing import Path
from ..plotting import BLACK, BLUE, GREY, ORANGE, VERMILION, new_figure, saved, styled

_PANELS = 22  # joints that have room for a panel each
_BARS = 60  # of the histogram
_NEAR = 0.5  # of a limit, from which on it is in the picture


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
    shown = min(len(summary.names), _PANELS)
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
