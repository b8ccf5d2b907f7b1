# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Curves: coordinates and energy of simulations over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...typing import Path
from ..plotting import BLACK, line_styles, new_figure, saved, styled

_LEGEND = 12  # coordinates that a legend can hold
_SPREAD = (5.0, 50.0, 95.0)  # percentiles of a batch: band and line


def motion(
    time: Any, q: Any, energy: Any, path: Path | None = None, *, names: Sequence[str] = (), title: str = ""
) -> Any:
    """Coordinates `q` (batch, T, n) and `energy` (batch, T) over `time` (T,).

    Of several simulations the median is drawn, with a band that holds nine tenths of them; those that
    diverged are left out.
    """
    time, q, energy = np.asarray(time), np.asarray(q), np.asarray(energy)
    if q.ndim != 3 or q.shape[:2] != energy.shape or time.shape != q.shape[1:2]:
        raise PhalanxError(
            f"figures.motion: time {time.shape}, q {q.shape}, energy {energy.shape}; expected (T,), "
            "(batch, T, n) and (batch, T)."
        )
    good = np.isfinite(q).all(axis=(1, 2))
    with styled():
        figure, axes = new_figure(height=4.6)
        axes.remove()
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.4, 1.0))
        for k, style in zip(range(q.shape[-1]), line_styles(), strict=False):
            style.pop("marker")
            label = names[k] if k < len(names) else f"q[{k}]"
            _curves(top, time, q[good, :, k], label=label, **style)
        _curves(bottom, time, energy[good], color=BLACK, label="energy")
        top.set_ylabel("coordinate [rad, m]")
        bottom.set(ylabel="energy [J]", xlabel="time [s]")
        bottom.ticklabel_format(axis="y", useOffset=False)
        top.set_title(title or "Simulation")
        if q.shape[-1] <= _LEGEND:
            figure.legend(*top.get_legend_handles_labels(), loc="outside right upper")
    return saved(figure, path)


def _curves(axes: Any, time: np.ndarray, values: np.ndarray, *, color: str, **style: Any) -> None:
    """One curve, or the median of several in their band."""
    if not len(values):
        return
    if len(values) == 1:
        axes.plot(time, values[0], color=color, **style)
        return
    low, middle, high = np.percentile(values, _SPREAD, axis=0)
    axes.fill_between(time, low, high, color=color, alpha=0.18, linewidth=0)
    axes.plot(time, middle, color=color, **style)
