# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The page: sections, data, style and script in one file that asks the network for nothing."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import PhalanxError
from ...program.cost import Cost
from . import sections
from .collect import AlgorithmRow, Study
from .live import Live
from .markup import Markup, embedded, join, tag

_ASSETS = Path(__file__).with_name("assets")
_SCRIPTS = ("kinematics.js", "solids.js", "view.js", "robot.js", "gantt.js", "page.js")


@dataclass(frozen=True)
class Contents:
    """All that a report tells."""

    facts: Mapping[str, Any]
    kinematics: Mapping[str, Any]
    shapes: Mapping[str, Any]
    picture: bytes  # PNG
    studies: Sequence[Study]
    charts: Mapping[str, list[dict[str, Any]]]  # by function
    speedups: Mapping[str, Mapping[str, Sequence[float]]]
    others: Mapping[str, tuple[str, Cost]]
    machine: Mapping[str, str]
    live: Live | None
    accuracy_states: int
    accuracy_code: str


def page(contents: Contents) -> str:
    """The page as text."""
    style = _asset("page.css")
    name = contents.facts["name"] or "robot"
    script = _script(contents.live, name)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content="Phalanx"),
        tag("title", f"{name}: dynamics and parallelism"),
        tag("style", Markup(style)),
    )
    data = tag("script", Markup(embedded(_data(contents))), type="application/json", id="data")
    body = tag(
        "body",
        _header(contents),
        tag("div", _stage(contents), tag("main", *_sections(contents), id="main"), class_="columns"),
        data,
        tag("script", Markup(script), type="module"),
    )
    return f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'


def _policy(style: str, script: str) -> str:
    """Nothing from anywhere; of what stands in the page, only our own script and style."""
    return (
        f"default-src 'none'; script-src '{_digest(script)}' 'wasm-unsafe-eval'; "
        f"style-src '{_digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _script(live: Live | None, robot: str) -> str:
    """All scripts as one module; the functions of the robot among them, if there are any."""
    functions = "null" if live is None else live.script
    parts = [_asset(name) for name in _SCRIPTS]
    text = "\n".join(['"use strict";', f"const COMPILED = {functions};", *parts])
    if re.search(r"<(?=/?script|!--)", text, re.IGNORECASE):
        raise PhalanxError(
            f'report: the script of robot "{robot}" would end too early; give the robot another name.'
        )
    return text


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _data(contents: Contents) -> dict[str, Any]:
    """What the script reads."""
    return {
        "robot": contents.kinematics,
        "shapes": contents.shapes,
        "functions": {
            study.function: {
                "auto": study.auto,
                "recommended": study.recommended,
                "operations": {r.name: _by_link(contents, r) for r in study.served if r.cost is not None},
                "charts": contents.charts.get(study.function, []),
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
    told = f"{shape} of {facts['n_links']:,} links, {facts['nv']:,} degrees of freedom"
    links = [("Robot", "robot"), ("Costs", "costs"), ("Parallelism", "parallel")]
    links += [("Times", "times")] if any(r.measured for s in contents.studies for r in s.rows) else []
    links += [("Accuracy", "accuracy")] if any(r.errors for s in contents.studies for r in s.rows) else []
    return tag(
        "header",
        tag(
            "div",
            tag("h1", facts["name"] or "robot"),
            tag("p", told, " · ", machine["date"][:10], " · ", machine["software"].split(",")[0]),
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
        tag("h3", sections.title_of(s.function)) + told
        for s in studies
        if (told := sections.times(s, machine))
    ]
    wrong = [tag("h3", sections.title_of(s.function)) + told for s in studies if (told := sections.errors(s))]
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
        _section("accuracy", "Accuracy", _accuracy_told(contents), *wrong) if wrong else None,
        _section("about", "About this page", _about(contents)),
    ]


def _section(name: str, title: str, *children: Any) -> Markup:
    return tag("section", tag("h2", title), *children, id=name)


def _remark(study: Study) -> Markup | None:
    told = sections.words_for(study.function)
    return tag("small", told) if told else None


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


def _accuracy_told(contents: Contents) -> Markup:
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
        ("In this page", _live_told(contents.live)),
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


def _live_told(live: Live | None) -> str:
    if live is None:
        return "poses and gravity forces by the script of the page"
    return "WebAssembly compiled for this robot: " + ", ".join(
        name.replace("_", " ") for name in live.functions
    )
