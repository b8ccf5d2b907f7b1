# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The page: sections, data, style and script in one file without network requests."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...dispatch import resolve
from ...errors import PhalanxError
from ...export import wasm
from ...export.api import Request, entries
from ...program.analyses.cost import Cost
from ...program.lowering import operations_in_loops
from ...robot.robot import Robot
from ...study.charts.gantt import SCRIPT as GANTT
from ...study.markup import Markup, document, embedded, join, tag
from . import sections
from .collect import AlgorithmRow, Study, StudyChart

_ASSETS = Path(__file__).with_name("assets")
_SCRIPTS = ("kinematics.js", "solids.js", "view.js", "robot.js", GANTT, "player.js", "page.js")


@dataclass(frozen=True)
class Contents:
    """All that a report shows."""

    facts: Mapping[str, Any]
    kinematics: Mapping[str, Any]
    shapes: Mapping[str, Any]
    picture: bytes  # PNG
    studies: Sequence[Study]
    charts: Mapping[str, list[StudyChart]]  # by function
    speedups: Mapping[str, Mapping[str, Sequence[float]]]
    others: Mapping[str, tuple[str, Cost]]
    machine: Mapping[str, str]
    live: Live | None
    pipelines: Mapping[int, Mapping[str, Any]] | str  # by interval; why there is none
    accuracy_states: int
    accuracy_code: str


def page(contents: Contents) -> str:
    """The HTML of the page."""
    style = _asset("page.css")
    name = contents.facts["name"] or "robot"
    script = _script(contents.live, name)
    head = [
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content="Phalanx"),
    ]
    data = tag("script", Markup(embedded(_data(contents))), type="application/json", id="data")
    columns = tag("div", _stage(contents), tag("main", *_sections(contents), id="main"), class_="columns")
    title = f"{name}: dynamics and parallelism"
    return document(title, style, script, _header(contents), columns, data, head=head, is_module=True)


def _policy(style: str, script: str) -> str:
    """The content security policy: no request, and of the page itself only our script and style."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}' 'wasm-unsafe-eval'; "
        f"style-src '{_digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode("utf-8")).digest()).decode("ascii")


def _script(live: Live | None, robot: str) -> str:
    """All scripts as one module; the functions of the robot among them, if there are any."""
    functions = "null" if live is None else live.script
    parts = [_asset(name) for name in _SCRIPTS]
    source = "\n".join(['"use strict";', f"const COMPILED = {functions};", *parts])
    if re.search(r"<(?=/?script|!--)", source, re.IGNORECASE):
        raise PhalanxError(
            f'report: the script of robot "{robot}" would end too early; give the robot another name.'
        )
    return source


def _asset(name: str | Path) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _data(contents: Contents) -> dict[str, Any]:
    """The data of the page's script, as JSON."""
    return {
        "robot": contents.kinematics,
        "shapes": contents.shapes,
        "functions": {
            study.function: {
                "auto": study.auto,
                "recommended": study.recommended,
                "operations": {r.name: _by_link(contents, r) for r in study.served if r.cost is not None},
                "charts": [chart.data() for chart in contents.charts.get(study.function, [])],
            }
            for study in contents.studies
        },
        "live": None
        if contents.live is None
        else {
            "functions": contents.live.functions,
            "module": contents.live.module,
            "dt": contents.live.seconds,
        },
    }


def _by_link(contents: Contents, row: AlgorithmRow) -> list[int]:
    """Operations of each moving link."""
    assert row.cost is not None
    return [row.cost.by_link[n].total if n in row.cost.by_link else 0 for n in contents.kinematics["links"]]


def _header(contents: Contents) -> Markup:
    facts, machine = contents.facts, contents.machine
    shape = "serial chain" if facts["is_serial"] else "tree"
    summary = f"{shape} of {facts['n_links']:,} links, {facts['nv']:,} degrees of freedom"
    links = [("Robot", "robot"), ("Costs", "costs"), ("Parallelism", "parallel")]
    links += [("Times", "times")] if any(r.measured for s in contents.studies for r in s.rows) else []
    links += [("Accuracy", "accuracy")] if any(r.errors for s in contents.studies for r in s.rows) else []
    return tag(
        "header",
        tag(
            "div",
            tag("h1", facts["name"] or "robot"),
            tag("p", summary, " · ", machine["date"][:10], " · ", machine["software"].split(",")[0]),
        ),
        tag("nav", *(tag("a", label, href=f"#{at}") for label, at in links), aria_label="Sections"),
        tag("button", "Dark", type="button", id="theme", hidden=True),
    )


def _stage(contents: Contents) -> Markup:
    """The robot in 3D, beside everything else; a picture of it where no script runs."""
    picture = "data:image/png;base64," + base64.b64encode(contents.picture).decode("ascii")
    name = contents.facts["name"] or "robot"
    return tag(
        "aside",
        tag(
            "div",
            tag("img", src=picture, alt=f"{name} in its neutral pose", id="picture"),
            tag("canvas", id="view", hidden=True, tabindex="0"),
            tag("div", id="tip", role="status", hidden=True),
            id="screen",
        ),
        tag("div", id="toolbar", class_="scrolls", hidden=True),
        tag("p", id="legend", class_="note"),
        id="stage",
        aria_label="Robot",
    )


def _sections(contents: Contents) -> list[Markup | None]:
    studies, machine = contents.studies, contents.machine
    measured = [
        tag("h3", sections.title_of(s.function)) + shown
        for s in studies
        if (shown := sections.times(s, machine))
    ]
    wrong = [
        tag("h3", sections.title_of(s.function)) + shown for s in studies if (shown := sections.errors(s))
    ]
    return [
        _section(
            "robot",
            "Robot",
            sections.summary(contents.facts, contents.shapes),
            tag("div", id="controls", hidden=True),
            tag(
                "noscript", tag("p", "Sliders and schedules need JavaScript; all tables are here without it.")
            ),
            tag("details", tag("summary", "Joints and limits"), sections.joints_table(contents.facts)),
        ),
        _section(
            "costs",
            "Costs",
            tag(
                "p",
                "Operations of one state by the program that is compiled for this robot. Columns sort.",
            ),
            *(
                tag("h3", sections.title_of(s.function), _remark(s)) + sections.advice(s) + sections.costs(s)
                for s in studies
            ),
            sections.other_costs(contents.others),
        ),
        _section(
            "parallel",
            "Parallelism",
            tag("div", id="schedules", hidden=True),
            *(_parallel(contents, s) for s in studies),
        ),
        _section("times", "Measured times", _measured_where(machine), *measured) if measured else None,
        _section("accuracy", "Accuracy", _accuracy_note(contents), *wrong) if wrong else None,
        _section("hardware", "Hardware", sections.pipelines(contents.pipelines)),
        _section("about", "About this page", _about(contents)),
    ]


def _section(name: str, title: str, *children: Any) -> Markup:
    return tag("section", tag("h2", title), *children, id=name)


def _remark(study: Study) -> Markup | None:
    summary = sections.words_for(study.function)
    return tag("small", summary) if summary else None


def _parallel(contents: Contents, study: Study) -> Markup:
    charts = contents.charts.get(study.function, [])
    return tag(
        "div",
        tag("h3", sections.title_of(study.function)),
        tag("div", sections.schedules(study, charts), class_="still"),
        sections.gains(study, contents.speedups.get(study.function, {})),
        data_function=study.function,
    )


def _measured_where(machine: Mapping[str, str]) -> Markup:
    return tag(
        "p",
        f"{machine['processor']}, one thread of {machine['cores']} cores, load {machine['load']}, "
        f"{machine['date']}. The shortest of several rounds in which all algorithms take turns.",
    )


def _accuracy_note(contents: Contents) -> Markup:
    n = contents.accuracy_states
    return tag(
        "p",
        f"Relative to the largest entry of each result, against 50 decimal digits, in {n} random "
        f"state{'s' * (n > 1)}; {contents.accuracy_code}.",
    )


def _about(contents: Contents) -> Markup:
    facts = [
        ("Made by", contents.machine["software"]),
        ("On", f"{contents.machine['processor']}, {contents.machine['system']}"),
        ("Date", contents.machine["date"]),
        ("In this page", _live_summary(contents.live)),
    ]
    return join(
        [
            tag("dl", *(tag("div", tag("dt", a), tag("dd", b)) for a, b in facts), class_="facts plain"),
            tag(
                "p",
                "Units are SI. Costs are those of px.cost(robot, function, algorithm), schedules of "
                "px.schedule, times of px.compare, errors of px.accuracy. This file holds all it shows and "
                "asks the network for nothing.",
                class_="note",
            ),
        ]
    )


def _live_summary(live: Live | None) -> str:
    if live is None:
        return "poses and gravity forces by the script of the page"
    return "WebAssembly compiled for this robot: " + ", ".join(
        name.replace("_", " ") for name in live.functions
    )


LIVE_FUNCTIONS = ("forward_kinematics", "gravity_forces", "inverse_dynamics", "mass_matrix")
STEP = 1e-3  # seconds of a step of the simulation
_MOST_OPERATIONS = 400_000  # operations of one function beyond which a slider would lag
_MOST_FREEDOM = 60  # degrees of freedom up to which a simulation step is compiled, since it is unrolled
_STEM = "robot"


@dataclass(frozen=True)
class Live:
    """Functions that run in the page: the module, and the script that calls it."""

    functions: tuple[str, ...]
    module: str  # base64
    script: str  # JavaScript: an expression that gives `load` and `info`
    seconds: float = STEP


def live(robot: Robot) -> Live | None:
    """The compiled functions for the page; None if the robot does not move or none compiles."""
    wanted = [name for name in LIVE_FUNCTIONS if robot.nv and _is_short(robot, name)]
    if not wanted:
        return None
    functions: list[object] = list(wanted)
    if robot.nv <= _MOST_FREEDOM:
        functions.append(robot.simulation(dt=STEP, integrator="implicit"))
    try:
        request = Request(robot, entries(robot, functions), Path(f"{_STEM}.wasm"), np.dtype("float64"))
        files = wasm.files(request)
    except PhalanxError:  # the step cannot be exported; the other functions can
        request = Request(robot, entries(robot, wanted), Path(f"{_STEM}.wasm"), np.dtype("float64"))
        files = wasm.files(request)
    module, script = files[f"{_STEM}.wasm"], files[f"{_STEM}.mjs"]
    assert isinstance(module, bytes)
    assert isinstance(script, str)
    names = tuple(entry.name for entry in request.entries)
    return Live(names, base64.b64encode(module).decode("ascii"), _enclosed(script))


def _is_short(robot: Robot, function: str) -> bool:
    return operations_in_loops(resolve(robot, function, "auto")) <= _MOST_OPERATIONS


def _enclosed(script: str) -> str:
    """The source of a JavaScript module as an expression with its own scope.

    Its comments are removed: they hold the robot's name, which could end the script element.
    """
    body = re.sub(r"^export (?=const|async function|function|class)", "", script, flags=re.MULTILINE)
    body = re.sub(r"^\s*//.*\n", "", body, flags=re.MULTILINE)
    return f"(() => {{\n{body}\nreturn {{ load, info }};\n}})()"
