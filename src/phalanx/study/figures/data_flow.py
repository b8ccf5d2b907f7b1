# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The data-flow graph of an algorithm by level: which quantity of which link depends on which others."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ...errors import PhalanxError
from ...robot.robot import Robot, require_robot
from ...typing import AlgorithmLike, Path
from ..plotting import COLOURS, GREY, PALE, new_figure, saved, styled
from ..schedule import task_graph
from ..scheduling.tasks import TaskGraph

_MOST = 400  # equations that fit on a page


def data_flow(
    robot: Robot, function: str, path: Path | None = None, *, algorithm: AlgorithmLike = "auto"
) -> Any:
    """Draw the equations of an algorithm by level: each one to the right of all that it depends on.

    A dot is one quantity of one link, its area the operations in it; rows are links, from the base up.
    """
    require_robot(robot, "figures.data_flow")
    graph = task_graph(robot, function, algorithm, granularity="equation", convention="program")
    if not 0 < len(graph) <= _MOST:
        raise PhalanxError(
            f'figures.data_flow: robot "{robot.name}" gives {len(graph)} equations, expected 1 to {_MOST}; '
            "take a smaller robot."
        )
    level = _levels(graph)
    points, bands = _points(graph, level)
    quantities = list(dict.fromkeys(task.quantity for task in graph.tasks))
    colours = {q: COLOURS[k % len(COLOURS)] for k, q in enumerate(quantities)}
    top = max(end for _, end in bands.values())
    with styled():
        figure, axes = new_figure(min(2.5 + 0.5 * max(level), 14.0), min(1.2 + 0.36 * top, 14.0))
        for k, task in enumerate(graph.tasks):
            for a in task.before:
                _edge(axes, points[a], points[k])
        for k, task in enumerate(graph.tasks):
            _dot(axes, points[k], task.work.total, colours[task.quantity], task.name)
        axes.set_yticks(
            [(start + end) / 2 for start, end in bands.values()],
            ["all" if i < 0 else _link(graph, i) for i in bands],
        )
        for _, end in bands.values():
            axes.axhline(end, color=PALE, linewidth=0.5, zorder=0)
        axes.set_xlabel("level: equations that have to come before")
        axes.set_ylabel("link")
        axes.set_xlim(-0.7, max(level) + 0.7)
        axes.set_ylim(0.0, top)
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_title(f"{graph.title}: {len(graph)} equations in {max(level) + 1} levels")
        axes.grid(visible=False)
    return saved(figure, path)


def _levels(graph: TaskGraph) -> list[int]:
    """The level of each task: the number of tasks on the longest path to it."""
    level: list[int] = []
    for task in graph.tasks:
        level.append(1 + max((level[a] for a in task.before), default=-1))
    return level


def _points(
    graph: TaskGraph, level: list[int]
) -> tuple[list[tuple[float, float]], dict[int, tuple[float, float]]]:
    """The point of each task, and the lower and upper end of the band of each link.

    A band is as high as its fullest level, so that no two tasks overlap.
    """
    here: dict[tuple[int, int], list[int]] = defaultdict(list)
    for k, task in enumerate(graph.tasks):
        here[task.link, level[k]].append(k)
    bands: dict[int, tuple[float, float]] = {}
    start = 0.0
    for link in sorted({task.link for task in graph.tasks}):
        end = start + 1.0 + max(len(tasks) for (i, _), tasks in here.items() if i == link)
        bands[link] = (start, end)
        start = end
    points = [(0.0, 0.0)] * len(level)
    for (link, x), tasks in here.items():
        middle = sum(bands[link]) / 2
        for number, k in enumerate(tasks):
            points[k] = (float(x), middle + number - (len(tasks) - 1) / 2)
    return points, bands


def _dot(axes: Any, point: tuple[float, float], work: int, colour: str, name: str) -> None:
    """A task: its area is its operations."""
    area = min(10.0 + 3.0 * work, 260.0)
    axes.scatter(*point, s=area, color=colour, zorder=3, linewidths=0)
    above = (0.0, area**0.5 / 2.0 + 1.0)
    note = axes.annotate(name, point, above, textcoords="offset points", ha="center", va="bottom", fontsize=6)
    note.set_zorder(4)


def _edge(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    arrow = {"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "alpha": 0.6}
    arrow["connectionstyle"] = (
        "arc3,rad=0.12" if start[1] == end[1] and end[0] - start[0] > 1 else "arc3,rad=0.0"
    )
    axes.annotate("", end, start, arrowprops=arrow, zorder=1)


def _link(graph: TaskGraph, link: int) -> str:
    return graph.links[link] if link < len(graph.links) else str(link)
