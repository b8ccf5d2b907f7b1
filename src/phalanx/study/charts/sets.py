# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sets of inputs on their way through a systolic machine, and its buffers: Lathrop 1985, Figs. 2 to 4."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..plotting import COLOURS, new_figure, saved, styled

if TYPE_CHECKING:
    from ..scheduling.systolic_run import SystolicRun

_MOST_SETS = 8  # that are drawn
_MOST_ROWS = 120


def draw_sets(run: SystolicRun, path: Any) -> Any:
    """Write a picture: a row for each quantity of a link, in it a thin bar from the first operation to the
    last for each of the first sets, and the buffers below.
    """
    spans = _spans(run)
    with styled():
        figure, axes = new_figure(9.0, min(3.6 + 0.2 * len(spans), 20.0))
        axes.remove()
        heights = [max(0.2 * len(spans), 2.0), 1.0]
        upper, lower = figure.subplots(2, 1, gridspec_kw={"height_ratios": heights})
        rows, starts, ends = np.arange(len(spans)), *np.array(list(spans.values())).T
        drawn = run.entered[:_MOST_SETS]
        lane = 0.84 / len(drawn)
        for number, entered in enumerate(drawn):
            colour = COLOURS[number % len(COLOURS)]
            at = rows - 0.42 + (number + 0.5) * lane
            upper.barh(at, ends - starts, left=entered + starts, color=colour, height=lane)
            upper.axvline(run.left[number], color=colour, linewidth=0.8, linestyle=":")
        upper.set_yticks(range(len(spans)), spans, fontsize=6)
        upper.set_ylim(len(spans) - 0.4, -0.6)
        upper.set_xlabel("time in operations; dotted: the results of a set are complete")
        upper.set_title(
            f"{run.schedule.graph.title}: a set every {run.interval:g} operations, "
            f"{run.latency:g} from its entry to its results"
        )
        kinds = run.words
        lower.barh(list(kinds), list(kinds.values()), color=COLOURS[0])
        lower.invert_yaxis()
        lower.set_xlabel("numbers in buffers, the most at a time")
        return saved(figure, path)


def _spans(run: SystolicRun) -> dict[str, tuple[float, float]]:
    """When each quantity of a link is computed for the first set, by the time when it is ready; quantities of
    all links where there are too many.
    """
    for names in (lambda t: f"{t.quantity}[{t.link}]", lambda t: t.quantity):
        found = _extents((names(t), t.start, t.end) for t in run.schedule.timed)
        if len(found) <= _MOST_ROWS:
            break
    return dict(sorted(found.items(), key=lambda item: item[1][::-1]))


def _extents(tasks: Iterable[tuple[str, float, float]]) -> dict[str, tuple[float, float]]:
    made: dict[str, tuple[float, float]] = {}
    for name, start, end in tasks:
        first, last = made.get(name, (start, end))
        made[name] = min(first, start), max(last, end)
    return made
