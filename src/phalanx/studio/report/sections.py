# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sections of a report without scripts: facts, tables and charts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...program.analyses.cost import Cost
from ...study.charts.gantt import row_height, svg_chart
from ...study.markup import Markup, join, table, tag
from ...study.speedup import best_curve
from .charts import speedup_lines, time_bars, time_of
from .collect import PROCESSORS, AlgorithmRow, Study, StudyChart

_MOST_ROWS = 32  # processors of a chart without script
_WORDS = {  # the result of each function in a few words, with its unit
    "inverse_dynamics": "joint forces for a motion",
    "mass_matrix": "joint-space inertia",
    "forward_dynamics": "accelerations from joint forces",
}


def title_of(function: str) -> str:
    """A function's name in words."""
    return function.replace("_", " ").capitalize()


def summary(facts: Mapping[str, Any], shapes: Mapping[str, Any]) -> Markup:
    """The main facts about the robot."""
    shape = "serial chain" if facts["is_serial"] else f"tree of depth {facts['depth']:,}"
    base = ", floating base" if facts["floating_base"] else ""
    rows = [
        ("Degrees of freedom", f"{facts['nv']:,}", f"{facts['nq']:,} coordinates"),
        ("Moving links", f"{facts['n_links']:,}", f"{shape}{base}, {len(facts['frames']):,} frames"),
        ("Mass", f"{_number(facts['total_mass'])} kg", _fixed(facts)),
        ("Gravity", f"{_number(math.hypot(*facts['gravity']))} m/s²", _vector(facts["gravity"])),
    ]
    if facts["loops"]:
        rows.append(("Loops", f"{len(facts['loops']):,}", "left open"))
    rows.append(("Shapes", f"{len(shapes['parts']):,}", _shapes_summary(shapes)))
    return tag(
        "dl",
        *(tag("div", tag("dt", a), tag("dd", b), tag("dd", c, class_="note")) for a, b, c in rows),
        class_="facts",
    )


def _fixed(facts: Mapping[str, Any]) -> str:
    return f"and {_number(facts['fixed_mass'])} kg fixed" if facts["fixed_mass"] else "of moving links"


def _shapes_summary(shapes: Mapping[str, Any]) -> str:
    if shapes["generated"]:
        return "made from the joints"
    before, after = shapes["faces"]
    words = "of the file" if before == after else f"of the file, {before:,} faces simplified to {after:,}"
    return words + (f", {shapes['missing']} missing" if shapes["missing"] else "")


def joints_table(facts: Mapping[str, Any]) -> Markup:
    """Joints with their limits and masses."""
    head = [
        ("Joint", ""),
        ("Type", ""),
        ("Link", "the link that the joint carries"),
        ("Parent", ""),
        ("Lower", "lower limit in rad or m"),
        ("Upper", "upper limit in rad or m"),
        ("Velocity", "limit in rad/s or m/s"),
        ("Effort", "limit in N·m or N"),
        ("Mass [kg]", "of the link, with what is welded to it"),
    ]
    rows = []
    for joint in facts["joints"]:
        kind = joint["type"] + (f", follows {joint['mimic']['joint']}" if joint["mimic"] else "")
        bounds = [_bounds(joint[key]) for key in ("lower", "upper", "velocity", "effort")]
        name = joint["name"] or "floating base"
        rows.append(
            [
                name,
                kind,
                joint["link"],
                joint["parent"] or "world",
                *bounds,
                (joint["mass"], _number(joint["mass"])),
            ]
        )
    return table(head, rows, label="Joints: limits in rad, m, s, N·m, N; masses in kg")


def _bounds(values: Any) -> tuple[float, str]:
    values = [float(v) for v in values]
    if not values or not any(map(math.isfinite, values)):
        return math.nan, "–"
    different = {_number(v) for v in values}
    return values[0], ", ".join(_number(v) for v in values) if len(different) > 1 else different.pop()


def costs(study: Study) -> Markup:
    """The operations of all algorithms of a function."""
    head = [
        ("Algorithm", ""),
        ("×", "multiplications"),
        ("+", "additions and subtractions"),
        ("÷", "divisions"),
        ("sin, cos", "sines and cosines"),
        ("Operations", "multiplications, additions and divisions of one state"),
        ("Path", "operations along the critical path: what no number of processors can undercut"),
        ("Ops / path", "operations over critical path: the parallelism there is"),
        ("Widest", "the most operations that can start at one step"),
        ("Order", "how work and critical path grow with the number of links, as the source has it"),
    ]
    rows = [_cost_row(study, row) for row in study.served]
    refused = [row for row in study.rows if row.refused]
    return join(
        [
            table(head, rows, label=f"Costs of {study.function}: operations of one state"),
            _refusals(refused),
        ]
    )


def _cost_row(study: Study, row: AlgorithmRow) -> list[Any]:
    c, marks = row.cost, {"class_": "advised"} if row.name == study.recommended else {}
    order = f"{row.work}, {row.depth}".replace("^2", "²").replace("^3", "³")
    if c is None:
        total = (math.nan if row.operations is None else row.operations, f"{row.operations:,}")
        return [marks, _named(study, row), *[math.nan] * 4, total, *[math.nan] * 3, order]
    return [marks, _named(study, row), *_counts(c), order]


def _counts(c: Cost) -> list[Any]:
    path = c.span.total if c.has_path else math.nan
    wide = c.max_width if c.has_path else math.nan
    return [
        *((n, f"{n:,}") for n in (c.multiplications, c.additions, c.divisions, c.trigonometric, c.total)),
        (path, f"{path:,}"),
        (c.total / path if path else math.nan, f"{c.total / path:.1f}" if path else "–"),
        (wide, f"{wide:,}"),
    ]


def _named(study: Study, row: AlgorithmRow) -> tuple[str, Markup]:
    """An algorithm's name with badges ("auto", "recommended"); its source appears on hover."""
    marks = []
    if row.name == study.recommended and study.reason:
        marks.append(tag("span", "recommended", class_="badge good"))
    if row.name == study.auto:
        marks.append(tag("span", "auto", class_="badge"))
    return row.name, join([tag("span", row.name, title=row.source), *marks])


def _refusals(refused: Sequence[AlgorithmRow]) -> Markup | None:
    if not refused:
        return None
    items = [tag("li", tag("b", row.algorithm), ": ", row.refused.lstrip(" ,;:")) for row in refused]
    words = f"{len(refused)} algorithm{'s do' if len(refused) > 1 else ' does'} not cover this robot"
    return tag("details", tag("summary", words), tag("ul", *items))


def pipelines(found: Mapping[int, Mapping[str, Any]] | str) -> Markup:
    """What the inverse dynamics takes as a pipeline in Verilog, by the interval between states."""
    if isinstance(found, str):
        return tag("p", found)
    head = [
        ("Interval", "clocks between states"),
        ("Latency", "clocks from a state to its result"),
        ("Multipliers", ""),
        ("Adders", ""),
        ("Registers", "bits"),
        ("Error bound", "N·m or N, proven"),
    ]
    names = ("latency", "multipliers", "adders", "registers")
    rows = [
        [k, *(f"{facts[n]:,}" for n in names), f"{facts['error_bound']:.1e}"] for k, facts in found.items()
    ]
    return tag(
        "p", "Inverse dynamics in fixed point, as robot.export writes it to a file such as arm.v."
    ) + table(head, rows, label="Pipelines of the inverse dynamics")


def other_costs(found: Mapping[str, tuple[str, Cost]]) -> Markup | None:
    """One line for every function that is not studied."""
    if not found:
        return None
    head = [
        ("Function", ""),
        ("Algorithm", 'the choice of "auto"'),
        ("×", ""),
        ("+", ""),
        ("÷", ""),
        ("sin, cos", ""),
    ]
    head += [
        ("Operations", ""),
        ("Path", "operations along the critical path"),
        ("Ops / path", ""),
        ("Widest", ""),
    ]
    rows = [[function, name, *_counts(c)] for function, (name, c) in found.items()]
    return tag(
        "details",
        tag("summary", f"Costs of the other {len(found)} functions"),
        table(head, rows, label="Costs of the other functions: operations of one state"),
    )


def advice(study: Study) -> Markup:
    """Which algorithm to take, and why."""
    reason = study.reason or f'"auto" takes {study.auto}, from the shape of the robot; nothing was timed.'
    return tag("p", tag("b", "Take "), tag("code", study.recommended), ". ", reason, class_="advice")


def schedules(study: Study, charts: Sequence[StudyChart]) -> Markup | None:
    """A Gantt chart of the first schedule; the script replaces it by a player of all."""
    if not charts:
        return None
    first = charts[0]
    rows = min(len(first.schedule.drawn), _MOST_ROWS)
    title = f"{study.function} by {first.algorithm} on {first.machine}"
    drawn = svg_chart(
        first,
        rows=rows,
        row=row_height(rows, 8, 30, 360),
        left=24 + 7 * max(map(len, first.schedule.drawn[:rows])),
        width=640,
        name=f"Gantt chart: {title}",
        legend=True,
        class_="chart",
    )
    return join([drawn, tag("p", title, ", ", first.facts(), class_="note")])


def gains(study: Study, curves: Mapping[str, Sequence[float]]) -> Markup:
    """Speed-ups over processors."""
    if not curves:
        words = "Too many operations to be placed one by one within seconds; px.schedule takes its time."
        return tag("p", words, class_="note")
    title = f"{study.function}: speed-up over processors"
    name, best = max(((n, c[-1]) for n, c in curves.items()), key=lambda pair: pair[1])
    least = next((n for n, c in curves.items() if c[0] == 1.0), "")
    return join(
        [
            tag("h4", "Speed-up over processors"),
            speedup_lines(PROCESSORS, curves, title),
            tag(
                "p",
                "The knee, where speed-up times efficiency is largest: "
                f"{best_curve(PROCESSORS, curves).at_knee()}. "
                f"Over one processor that takes {least}, the algorithm with the fewest operations. "
                f"Up to {best:.1f} with {name}. Tasks are single operations, one a step, results at hand "
                "everywhere at once; the charts above have whole equations for tasks, which gain less.",
                class_="note",
            ),
        ]
    )


def times(study: Study, machine: Mapping[str, str]) -> Markup | None:
    """Measured times of all algorithms."""
    known = [(row, row.measured) for row in study.served if row.measured is not None]
    if not known:
        return None
    known.sort(key=lambda pair: pair[1].per_state)
    bars = [(r.name, m.one_state, m.per_state, r.name == study.recommended) for r, m in known]
    head = [
        ("Algorithm", ""),
        ("One state", "seconds of a call with one state, from Python"),
        ("In the batch", f"seconds per state in a batch of {study.batch:,}"),
        ("States / s", "million states a second in the batch, one thread"),
        ("Predicted", "seconds per state in the batch, predicted from the operations"),
        ("Build", "seconds to compile, or to read the compiled code from disk"),
        ("Code", "what runs it"),
    ]
    rows = [
        [
            {"class_": "advised"} if r.name == study.recommended else {},
            _named(study, r),
            *(_time(s) for s in (m.one_state, m.per_state)),
            (1e-6 / m.per_state, f"{1e-6 / m.per_state:.3g} M"),
            *(_time(s) for s in (m.predicted, m.prepare)),
            "compiled" if m.backend == "native" else m.backend,
        ]
        for r, m in known
    ]
    return join(
        [
            time_bars(bars, study.batch, f"{study.function}: measured times"),
            table(head, rows, label=f"Times of {study.function} on {machine['processor']}"),
        ]
    )


def _time(seconds: float) -> tuple[float, str]:
    return seconds, time_of(seconds) if math.isfinite(seconds) else "–"


def errors(study: Study) -> Markup | None:
    """Errors against extended precision."""
    known = [row for row in study.served if row.errors]
    if not known:
        return None
    head = [
        ("Algorithm", ""),
        ("Largest", "largest relative error in float64 over the states"),
        ("Typical", "geometric mean over the states"),
        ("Digits", "correct digits of the largest entries, float64"),
        ("float32", "largest relative error in single precision"),
    ]
    rows = []
    for row in known:
        largest, typical = row.errors.get("float64", (math.nan, math.nan))
        single = row.errors.get("float32", (math.nan, math.nan))[0]
        digits = -math.log10(largest) if largest > 0 else math.inf
        rows.append(
            [
                {"class_": "advised"} if row.name == study.recommended else {},
                _named(study, row),
                (largest, f"{largest:.1e}"),
                (typical, f"{typical:.1e}"),
                (digits, f"{digits:.1f}"),
                (single, f"{single:.1e}"),
            ]
        )
    return table(head, rows, label=f"Errors of {study.function} against extended precision")


def words_for(function: str) -> str:
    """The result of a function in a few words."""
    return _WORDS.get(function, "")


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "–"


def _vector(values: Any) -> str:
    return f"({', '.join(_number(float(v)) for v in values)})"
