# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Bars: how long each algorithm takes on one robot, alone and in a batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...errors import PhalanxError
from ...typing import Path
from ..compare import Comparison
from ..plotting import BLUE, ORANGE, new_figure, saved, styled
from ..recommend import duration

_WIDE = 30.0  # between shortest and longest bar, up to which both can be read on one scale


def comparison(
    rows: Sequence[Comparison], path: Path | None = None, *, title: str = "", batch: int = 0
) -> Any:
    """Measured times per state of all algorithms that `phalanx.compare` returned, the fastest on top.

    `batch` is the number of states that was given to it.
    """
    fine = isinstance(rows, list | tuple) and all(isinstance(row, Comparison) for row in rows)
    shown = [row for row in rows if not row.refused] if fine else []
    if not shown:
        raise PhalanxError("figures.comparison: no algorithm was measured, expected rows of phalanx.compare.")
    states = f"in a batch of {batch:,}" if batch else "in a batch"
    with styled():
        figure, left = new_figure(height=1.1 + 0.3 * len(shown))
        left.remove()
        left, right = figure.subplots(1, 2, sharey=True)
        _bars(left, [r.one_state for r in shown], [], "one state")
        _bars(right, [r.per_state for r in shown], [r.predicted for r in shown], states)
        left.set_yticks(range(len(shown)), [_label(r) for r in shown])
        for tick, row in zip(left.get_yticklabels(), shown, strict=True):
            tick.set_fontweight("bold" if row.recommended else "normal")
        left.invert_yaxis()
        figure.suptitle((title or "Algorithms side by side") + ", one thread", fontsize=10, x=0.01, ha="left")
        if right.get_legend_handles_labels()[0]:
            figure.legend(loc="outside lower right")
    return saved(figure, path)


def _bars(axes: Any, seconds: list[float], predicted: list[float], title: str) -> None:
    """A bar for every algorithm with its time in words, and a mark where it was predicted."""
    power = 1e9 if max(seconds) < 1e-5 else 1e6
    values = [power * s for s in seconds]
    marks = [power * s for s in predicted]
    known = [(x, k) for k, x in enumerate(marks) if math.isfinite(x)]
    axes.barh(range(len(values)), values, height=0.62, color=BLUE)
    if known:
        axes.plot(
            *zip(*known, strict=True),
            "|",
            color=ORANGE,
            markersize=11,
            markeredgewidth=2.5,
            label="predicted",
        )
    for k, value in enumerate(values):
        end = max(value, marks[k]) if marks and math.isfinite(marks[k]) else value
        axes.annotate(
            duration(seconds[k]), (end, k), (4, 0), textcoords="offset points", va="center", fontsize=7
        )
    if max(values) > _WIDE * min(values):
        axes.set_xscale("log")
        axes.set_xlim(min(values) / 2, 8 * max(values + marks))
    else:
        axes.set_xlim(0, 1.28 * max(values + [x for x, _ in known]))
    axes.set_xlabel(("nanoseconds" if power == 1e9 else "microseconds") + " per state")
    axes.set_title(title)
    axes.grid(visible=False, axis="y")


def _label(row: Comparison) -> str:
    options = " ".join(f"{k}={v}" for k, v in row.options.items())
    name = row.algorithm + (f" {options}" if options else "")
    return name + ("" if row.backend == "native" else f" ({row.backend})") + (" ◂" if row.recommended else "")
