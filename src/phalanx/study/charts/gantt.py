# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Gantt charts: processors from top to bottom, time to the right, a colour for each quantity."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import PhalanxError
from ..markup import Markup, document, embedded, svg, svg_line, svg_text, tag, ticks
from ..plotting import FORMATS, GREY, new_figure, saved, styled
from ..scheduling.list_scheduler import SystolicSchedule
from ..scheduling.placement import PlacedMessage, PlacedTask, Schedule
from .chart import MOST_ARROWS, Chart, ink_on

_ASSETS = Path(__file__).with_name("assets")
SCRIPT = _ASSETS / "gantt.js"  # drawChart, for pages
_MOST_NAMES = 60  # processors up to which their names are drawn
_MOST_EDGES = 1500  # tasks up to which bars have edges
_MOST_COLOURED = 11  # quantities in the legend of an SVG
_HELP = "Wheel: zoom. Drag: move. Double click: all. Point at a bar for its work; choose quantities above."
_FOOT = 26.0  # below the rows of an SVG: times and their unit


def draw(schedule: Schedule, path: Path) -> Path:
    """Write the chart to a file in the format of its suffix."""
    kind = path.suffix.lower()
    if kind in (".html", ".htm"):
        write(path, page(schedule))
    elif kind.removeprefix(".") in FORMATS:
        with styled():
            saved(_picture(Chart(schedule)), path)
    else:
        raise _wrong_suffix(path)
    return path


def draw_pair(predicted: Schedule, measured: Schedule, path: Path) -> Path:
    """Write two charts of the same tasks, the predicted one above the measured one."""
    kind = path.suffix.lower()
    first = Chart(predicted)
    charts = {"predicted": first, "measured": Chart(measured, beside=first)}
    if kind in (".html", ".htm"):
        write(path, _page_of(charts))
    elif kind.removeprefix(".") in FORMATS:
        with styled():
            saved(_pictures(charts), path)
    else:
        raise _wrong_suffix(path)
    return path


def _wrong_suffix(path: Path) -> PhalanxError:
    formats = ", ".join(f".{f}" for f in FORMATS)
    return PhalanxError(f'plot: "{path.name}" ends in {path.suffix!r}, expected .html, {formats}.')


def _pictures(charts: dict[str, Chart]) -> Any:
    """A matplotlib figure of charts one above the other; the first has the legend."""
    first = next(iter(charts.values()))
    figure, upper = new_figure(13.7, min(3.2 + 0.9 * len(first.schedule.drawn), 30.0))
    upper.remove()
    for axes, (name, chart) in zip(figure.subplots(len(charts), 1), charts.items(), strict=True):
        _bars(axes, chart.schedule.timed, chart.colours, outlined=chart is not first)
        _labels(axes, chart.schedule, chart.colours)
        _arrows(axes, chart.schedule)
        _frame(axes, chart)
        axes.set_title(f"{name}: {chart.title}, {chart.schedule.makespan:.4g} {chart.schedule.machine.unit}")
        if chart is first:
            _legend(axes, chart.legend())
    return figure


def _page_of(charts: dict[str, Chart]) -> str:
    """Charts as an HTML page without a script."""
    body = []
    for name, chart in charts.items():
        rows = len(chart.schedule.drawn)
        height = row_height(rows, most=28.0)
        body.append(tag("h2", f"{name}, {chart.schedule.makespan:.4g} {chart.schedule.machine.unit}"))
        body.append(svg_chart(chart, rows=rows, row=height, left=70.0, width=1000.0, name=name, legend=True))
    title = next(iter(charts.values())).title
    style = "body{font-family:sans-serif;margin:1rem}svg{max-width:100%}"
    return document(title, style, "", tag("h1", title), *body)


def write(path: Path, content: str) -> None:
    """Write a file; an error names it and the reason."""
    try:
        path.write_text(content, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise PhalanxError(f"cannot write {path}: {error.strerror or error}.") from None


# ------------------------------------------------------------------- matplotlib


def _picture(chart: Chart) -> Any:
    schedule = chart.schedule
    figure, axes = new_figure(13.7, min(1.9 + 0.45 * len(schedule.drawn), 20.0))
    _bars(axes, schedule.timed, chart.colours)
    _labels(axes, schedule, chart.colours)
    _arrows(axes, schedule)
    _frame(axes, chart)
    _legend(axes, chart.legend())
    return figure


def _bars(axes: Any, tasks: Sequence[PlacedTask], colours: dict[str, str], *, outlined: bool = False) -> None:
    """Draw a bar for each task; bars `outlined` in their colour are visible however short they are."""
    groups: dict[tuple[str, int], list[PlacedTask]] = {}
    for t in tasks:
        groups.setdefault((t.quantity, t.processor), []).append(t)
    edge = "white" if len(tasks) <= _MOST_EDGES else "none"
    for (quantity, processor), group in groups.items():
        spans = [(t.start, t.end - t.start) for t in group]
        colour = colours[quantity]
        line = {"edgecolors": colour if outlined else edge, "linewidth": 0.8 if outlined else 0.4}
        axes.broken_barh(spans, (processor - 0.38, 0.76), facecolors=colour, **line)


def _labels(axes: Any, schedule: Schedule, colours: dict[str, str]) -> None:
    """Names on the bars that are wide enough for them."""
    letters = 170.0 / max(schedule.makespan, 1e-300)  # letters of this size per unit of time
    for t in schedule.timed:
        if len(t.name) + 1 <= (t.end - t.start) * letters:
            middle = (t.start + t.end) / 2, t.processor
            ink = ink_on(colours[t.quantity])
            axes.text(*middle, t.name, ha="center", va="center", fontsize=6, color=ink, clip_on=True)


def _arrows(axes: Any, schedule: Schedule) -> None:
    """Draw messages as thin lines from sender to receiver, unless so many would hide the bars."""
    if len(schedule.messages) > MOST_ARROWS:
        return
    style = {"arrowstyle": "-|>", "linewidth": 0.6, "color": "#333333", "mutation_scale": 5.0, "shrinkA": 0.0}
    for m in schedule.messages:
        edge = 0.38 if m.receiver > m.sender else -0.38
        axes.annotate(
            "", xy=(m.arrival, m.receiver - edge), xytext=(m.start, m.sender + edge), arrowprops=style
        )


def _frame(axes: Any, chart: Chart) -> None:
    schedule, kinds = chart.schedule, chart.kinds()
    rows = max(len(schedule.drawn), 1)
    step = -(-rows // _MOST_NAMES)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_yticks(range(0, len(schedule.drawn), step), schedule.drawn[::step])
    axes.set_xlim(0.0, schedule.makespan or 1.0)
    axes.set_xlabel(f"time in {schedule.machine.unit}")
    axes.set_ylabel(f"processor ({kinds})" if kinds else "processor")
    axes.set_title(f"{chart.title}\n{_summary(schedule)}")
    axes.grid(visible=False, axis="y")


def _legend(axes: Any, names: dict[str, str]) -> None:
    from matplotlib.patches import Patch

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


def _summary(schedule: Schedule) -> str:
    """Makespan, speed-up, efficiency and messages in one line."""
    line = (
        f"makespan {schedule.makespan:g} {schedule.machine.unit}, speed-up {schedule.speedup:.2f} over "
        f"{schedule.rival}, parallel efficiency {schedule.efficiency:.0%}"
    )
    if schedule.messages:
        hidden = ", not drawn" if len(schedule.messages) > MOST_ARROWS else ""
        line += f", {len(schedule.messages)} messages with {schedule.words} numbers{hidden}"
    return line


# ------------------------------------------------------------------- SVG


def row_height(rows: int, least: float = 3.0, most: float = 16.0, together: float = 240.0) -> float:
    """The height of each of `rows` rows."""
    return min(most, max(least, together / max(rows, 1)))


def svg_chart(
    chart: Chart,
    *,
    rows: int,
    row: float,
    left: float,
    width: float,
    name: str,
    longest: float | None = None,
    legend: bool = False,
    **attributes: Any,
) -> Markup:
    """The first rows of a chart as SVG without a script; bars have tooltips.

    `longest` is the end of the time axis, by default that of the schedule.
    """
    names = list(chart.schedule.drawn)[:rows]
    end, bottom = longest or chart.schedule.makespan or 1.0, row * len(names)
    scale = (width - left - 6.0) / end
    parts: list[Markup] = []
    for x in ticks(0.0, end, 5):
        at = left + x * scale
        parts += [svg_line(at, 0.0, at, bottom), svg_text(at, bottom + 11, f"{x:g}", "middle")]
    for k in range(0, len(names), math.ceil(10.0 / row)):
        short = names[k] if len(names[k]) * 6.0 <= left else names[k][: int(left / 6) - 1] + "…"
        parts.append(svg_text(left - 5, row * (k + 0.5) + 3, short, "end", title=names[k]))
    for bar in chart.bars(rows):
        parts.append(
            tag(
                "rect",
                tag("title", bar.label),
                x=f"{left + bar.start * scale:.2f}",
                y=f"{row * (bar.row + 0.08):.1f}",
                width=f"{max((bar.end - bar.start) * scale - 0.15, 0.4):.2f}",
                height=f"{0.84 * row:.1f}",
                fill=bar.colour,
            )
        )
    parts.append(
        svg_text((left + width) / 2, bottom + 23, f"time in {chart.schedule.machine.unit}", "middle")
    )
    entries = list(chart.legend().items())[:_MOST_COLOURED] if legend else []
    for k, (label, colour) in enumerate(entries):
        at = bottom + _FOOT + 8 + 17 * k
        parts.append(tag("rect", x=left, y=f"{at:.1f}", width=11, height=11, fill=colour, rx=2))
        parts.append(svg_text(left + 17, at + 10, label, "start"))
    height = bottom + _FOOT + (12 + 17 * len(entries) if entries else 0)
    return svg(parts, width, height, name, **attributes)


# ------------------------------------------------------------------- a page


def page(schedule: Schedule) -> str:
    """The chart as one self-contained HTML page with zoom, tooltips and the messages of each task."""
    chart = Chart(schedule)
    data = chart.data() | {
        "messages": chart.messages(),
        "arrows": MOST_ARROWS,
        "links": schedule.graph.links,
        "work": [_work(schedule, t) for t in schedule.timed],
    }
    script = f'"use strict";\nconst D={embedded(data)};\n' + "\n".join(
        (_ASSETS / name).read_text(encoding="utf-8") for name in (SCRIPT.name, "gantt_page.js")
    )
    return document(
        chart.title,
        (_ASSETS / "gantt_page.css").read_text(encoding="utf-8"),
        script,
        tag("h1", chart.title),
        tag("dl", *(tag("div", tag("dt", k), tag("dd", v)) for k, v in _facts(chart).items())),
        tag("div", id="bar"),
        tag("div", tag("canvas"), id="chart"),
        tag("div", id="tip"),
        tag("p", _HELP),
    )


def _facts(chart: Chart) -> dict[str, str]:
    schedule = chart.schedule
    facts = {
        "makespan": f"{schedule.makespan:g} {schedule.machine.unit}",
        "speed-up": f"{schedule.speedup:.2f} over {schedule.rival}",
        "parallel efficiency": f"{schedule.efficiency:.0%}",
        "span": f"{schedule.span:g}",
        "work": f"{schedule.work:g}",
        "tasks": str(len(schedule.timed)),
        "messages": f"{len(schedule.messages)} ({schedule.words} numbers)",
    }
    if isinstance(schedule, SystolicSchedule):
        facts["interval"] = f"{schedule.interval:g} {schedule.machine.unit}"
        facts["gain at that interval"] = f"{schedule.gain:.2f}"
    return facts | ({"operations of the processors": kinds} if (kinds := chart.kinds()) else {})


def _work(schedule: Schedule, t: PlacedTask) -> str:
    work = schedule.graph.tasks[t.task].work
    counts = {
        "*": work.multiplications,
        "+": work.additions,
        "/": work.divisions,
        "sin, cos": work.trigonometric,
    }
    return ", ".join(f"{count} {sign}" for sign, count in counts.items() if count)


def trace_events(schedule: Schedule) -> list[dict[str, Any]]:
    """One event for each task, a pair of flow events for each message; a unit of time is a microsecond."""
    graph = schedule.graph
    found: list[dict[str, Any]] = [
        {
            "ph": "M",
            "pid": 1,
            "name": "process_name",
            "args": {"name": f"{graph.title} on {schedule.machine}"},
        }
    ]
    for p, name in enumerate(schedule.drawn):
        found.append({"ph": "M", "pid": 1, "tid": p, "name": "thread_name", "args": {"name": name}})
        found.append({"ph": "M", "pid": 1, "tid": p, "name": "thread_sort_index", "args": {"sort_index": p}})
    for t in schedule.tasks:
        work = graph.tasks[t.task].work
        found.append(
            {
                "ph": "X",
                "pid": 1,
                "tid": t.processor,
                "ts": t.start,
                "dur": t.end - t.start,
                "name": t.name,
                "cat": t.quantity,
                "args": {
                    "quantity": t.quantity,
                    "link": _link_label(schedule, t.link),
                    "multiplications": work.multiplications,
                    "additions": work.additions,
                    "task": t.task,
                },
            }
        )
    for k, m in enumerate(schedule.messages):
        found += _flow(k, m)
    return found


def _flow(number: int, m: PlacedMessage) -> list[dict[str, Any]]:
    common = {"pid": 1, "id": number, "cat": "message", "name": m.name}
    args = {"words": m.words, "task": m.task}
    return [
        {"ph": "s", "tid": m.sender, "ts": m.start, "args": args, **common},
        {"ph": "f", "bp": "e", "tid": m.receiver, "ts": m.arrival, "args": args, **common},
    ]


def _link_label(schedule: Schedule, link: int) -> str:
    names = schedule.graph.links
    return names[link] if 0 <= link < len(names) else "world" if link < 0 else f"body {link}"


def write_trace(schedule: Schedule, path: Path) -> Path:
    """Write the events to a file."""
    other = {"unit": schedule.machine.unit, "makespan": schedule.makespan, "speedup": schedule.speedup}
    content = {"traceEvents": trace_events(schedule), "displayTimeUnit": "ns", "otherData": other}
    write(path, json.dumps(content))
    return path
