# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Gantt charts: processors from top to bottom, time to the right, a colour for each quantity."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import PhalanxError
from ..plotting import FORMATS, GREY, new_figure, saved, styled
from ..scheduling.placement import PlacedTask, Schedule
from .colours import OTHERS, OTHERS_NAME, colours_of, ink_on
from .gantt_page import page
from .meanings import explained, explained_kinds

_MOST_MESSAGES = 300  # arrows that one can still see
_MOST_NAMES = 60  # processors whose names find room
_MOST_EDGES = 1500  # tasks that are told apart by an edge


def draw(schedule: Schedule, path: Path) -> Path:
    """Write the chart in the format that the name of the file asks for."""
    kind = path.suffix.lower()
    if kind in (".html", ".htm"):
        write(path, page(schedule))
    elif kind.removeprefix(".") in FORMATS:
        with styled():
            saved(_picture(schedule), path)
    else:
        raise PhalanxError(
            f'plot: "{path.name}" ends in {path.suffix!r}, expected .html, '
            + ", ".join(f".{f}" for f in FORMATS)
            + "."
        )
    return path


def write(path: Path, text: str) -> None:
    """Write a file, or say in our words why not."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise PhalanxError(f"cannot write {path}: {error.strerror or error}.") from None


def _picture(schedule: Schedule) -> Any:
    rows = len(schedule.drawn)
    figure, axes = new_figure(13.7, min(1.9 + 0.45 * rows, 20.0))
    tasks = schedule.timed
    colours = colours_of((t.quantity for t in tasks), (t.end - t.start for t in tasks))
    _bars(axes, tasks, colours)
    _labels(axes, schedule, tasks, colours)
    _arrows(axes, schedule)
    _frame(axes, schedule)
    _legend(axes, colours, schedule.graph.algorithm)
    return figure


def _bars(axes: Any, tasks: Sequence[PlacedTask], colours: dict[str, str]) -> None:
    groups: dict[tuple[str, int], list[PlacedTask]] = {}
    for t in tasks:
        groups.setdefault((t.quantity, t.processor), []).append(t)
    edge = "white" if len(tasks) <= _MOST_EDGES else "none"
    for (quantity, processor), group in groups.items():
        spans = [(t.start, t.end - t.start) for t in group]
        where = (processor - 0.38, 0.76)
        axes.broken_barh(spans, where, facecolors=colours[quantity], edgecolors=edge, linewidth=0.4)


def _labels(axes: Any, schedule: Schedule, tasks: Sequence[PlacedTask], colours: dict[str, str]) -> None:
    """Names on the bars that are wide enough for them."""
    letters = 170.0 / max(schedule.makespan, 1e-300)  # of this size per unit of time
    for t in tasks:
        if len(t.name) + 1 <= (t.end - t.start) * letters:
            middle = (t.start + t.end) / 2, t.processor
            ink = ink_on(colours[t.quantity])
            axes.text(*middle, t.name, ha="center", va="center", fontsize=6, color=ink, clip_on=True)


def _arrows(axes: Any, schedule: Schedule) -> None:
    """Messages as thin lines from sender to receiver; too many of them would hide the bars."""
    if len(schedule.messages) > _MOST_MESSAGES:
        return
    style = {"arrowstyle": "-|>", "linewidth": 0.6, "color": "#333333", "mutation_scale": 5.0, "shrinkA": 0.0}
    for m in schedule.messages:
        edge = 0.38 if m.receiver > m.sender else -0.38
        axes.annotate(
            "", xy=(m.arrival, m.receiver - edge), xytext=(m.start, m.sender + edge), arrowprops=style
        )


def _frame(axes: Any, schedule: Schedule) -> None:
    rows = max(len(schedule.drawn), 1)
    step = -(-rows // _MOST_NAMES)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_yticks(range(0, len(schedule.drawn), step), schedule.drawn[::step])
    axes.set_xlim(0.0, schedule.makespan or 1.0)
    axes.set_xlabel(f"time in {schedule.machine.unit}")
    kinds = explained_kinds(schedule.drawn)
    axes.set_ylabel(f"processor ({kinds})" if kinds else "processor")
    axes.set_title(f"{schedule.graph.title} on {schedule.machine}\n{summary_line(schedule)}")
    axes.grid(visible=False, axis="y")


def _legend(axes: Any, colours: dict[str, str], algorithm: str) -> None:
    from matplotlib.patches import Patch

    names = {OTHERS_NAME if c == OTHERS else explained(q, algorithm): c for q, c in colours.items()}
    if names:
        axes.legend(
            handles=[Patch(facecolor=colour, label=name) for name, colour in names.items()],
            title="quantity",
            loc="upper left",
            bbox_to_anchor=(1.005, 1.0),
            borderaxespad=0.0,
            labelcolor="black",
            edgecolor=GREY,
        )


def summary_line(schedule: Schedule) -> str:
    """Makespan, speed-up, efficiency and messages in one line."""
    text = (
        f"makespan {schedule.makespan:g} {schedule.machine.unit}, speed-up {schedule.speedup:.2f} over "
        f"{schedule.rival}, parallel efficiency {schedule.efficiency:.0%}"
    )
    if schedule.messages:
        hidden = ", not drawn" if len(schedule.messages) > _MOST_MESSAGES else ""
        text += f", {len(schedule.messages)} messages with {schedule.words} numbers{hidden}"
    return text
