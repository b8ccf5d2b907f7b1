# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lines: what p processors gain with each algorithm of a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algorithms import algorithms
from ...errors import PhalanxError, shown
from ...progress import steps
from ...robot.robot import Robot, require_robot
from ...typing import Path
from ..machines import pram
from ..machines.base import whole
from ..plotting import GREY, line_styles, new_figure, saved, styled
from ..schedule import place, task_graph

PROCESSORS = (1, 2, 4, 8, 16, 32, 64, 128)


def speedup_over_processors(
    robot: Robot, function: str, path: Path | None = None, *, processors: Sequence[int] = PROCESSORS
) -> Any:
    """Speed-up over one processor that takes the algorithm with the least work, all algorithms.

    Scalar operations on processors with a common memory, by list scheduling (`phalanx.schedule`).
    """
    require_robot(robot, "figures.speedup_over_processors")
    counts = sorted({whole(p, "figures.speedup_over_processors: processors") for p in _several(processors)})
    names = [a.name for a in algorithms(function) if not a.refusal(robot)]
    times = {}
    for name in steps(names, "scheduling"):
        graph = task_graph(robot, function, name, convention="program")
        times[name] = [place(graph, pram(p)).makespan for p in (1, *counts)]
    if not times or not max(t[0] for t in times.values()):
        raise PhalanxError(f'figures.speedup: robot "{robot.name}" leaves nothing to compute.')
    least = min(t[0] for t in times.values())
    with styled():
        figure, axes = new_figure()
        axes.plot(counts, counts, color=GREY, linewidth=0.8, linestyle=(0, (1, 2)), label="ideal")
        ranked = sorted(times.items(), key=lambda item: item[1][-1])
        for (name, steps_taken), style in zip(ranked, line_styles(), strict=False):
            axes.plot(counts, [least / t for t in steps_taken[1:]], label=name, **style)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        best = max(least / min(t) for t in times.values())
        axes.set_ylim(min(least / t[0] for t in times.values()) * 0.9, best * 1.5)
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.yaxis.set_major_formatter("{x:.3g}")
        axes.set_xlabel("processors, p")
        axes.set_ylabel("speed-up over the least work on one")
        axes.set_title(f"{function} of {robot.name}: speed-up over processors")
        figure.legend(loc="outside right center")
    return saved(figure, path)


def _several(processors: Any) -> Sequence[Any]:
    if not isinstance(processors, list | tuple | range) or not processors:
        raise PhalanxError(
            f"figures.speedup_over_processors: processors is {shown(processors)}, expected integers."
        )
    return processors
