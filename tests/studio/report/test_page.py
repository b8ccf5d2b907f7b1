# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A report without a browser: what it tells, what it never holds, and how it is written."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.studio.report import Report
from phalanx.studio.report.collect import PROCESSORS

HOSTILE = """<robot name="&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp; ☃ \u202e">
<link name="base"><visual><geometry><mesh filename="http://example.invalid/x.stl"/></geometry></visual></link>
<link name="&lt;img src=x onerror=alert(2)&gt;"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
  <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="$alert(3)`'&quot;"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
  <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="&quot; onmouseover=&quot;alert(4)" type="revolute"><parent link="base"/>
  <child link="&lt;img src=x onerror=alert(2)&gt;"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="2" effort="5" velocity="1"/></joint>
<joint name="&lt;!--&lt;script&gt;" type="prismatic"><parent link="&lt;img src=x onerror=alert(2)&gt;"/>
  <child link="$alert(3)`'&quot;"/><origin xyz="0.4 0 0"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="0.3" effort="50" velocity="1"/></joint>
</robot>"""


STUDIED = ("inverse_dynamics", "mass_matrix")


class Page(HTMLParser):
    """Elements, text and scripts of a page, as a browser would find them."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text, self.scripts, self.styles = "", [], []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[list[str]] = []
        self._inside = ""
        self.feed(path.read_text(encoding="utf-8"))

    @cached_property
    def data(self) -> Any:
        return json.loads(self.scripts[0])

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((name, dict(attributes)))
        self._inside = name
        if name in ("script", "style"):
            (self.scripts if name == "script" else self.styles).append("")
        if name == "tr":
            self.cells.append([])
        if name in ("td", "th") and self.cells:
            self.cells[-1].append("")

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "style":
            self.styles[-1] += data
        else:
            self.text += data
            if self.cells and self.cells[-1]:
                self.cells[-1][-1] += data

    def handle_endtag(self, name: str) -> None:
        if name in ("script", "style"):
            self._inside = ""

    def attributes(self, name: str) -> list[dict[str, str | None]]:
        return [found for element, found in self.elements if element == name]

    def row(self, name: str, width: int) -> list[str]:
        """The first row that begins with a name and has so many cells."""
        return next(row for row in self.cells if len(row) == width and row[0].startswith(name))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[px.Robot, Report, Page]:
    robot = px.load("puma560")
    path = tmp_path_factory.mktemp("report") / "puma.html"
    return robot, (done := px.report(robot, path, quick=True, functions=STUDIED)), Page(done.path)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Page:
    path = tmp_path_factory.mktemp("hostile") / "page.html"
    with pytest.warns(px.PhalanxWarning, match="mesh"):
        scene = px.visuals(HOSTILE)
    px.report(scene.robot, path, quick=True, functions=["inverse_dynamics"], scene=scene)
    return Page(path)


def test_costs_are_those_of_the_library(made: tuple[px.Robot, Report, Page]) -> None:
    robot, done, page = made
    for study in done.studies:
        for algorithm in px.algorithms(study.function):
            c = px.cost(robot, study.function, algorithm.name)
            row = page.row(algorithm.name, 10)
            told = [int(cell.replace(",", "")) for cell in row[1:7]]
            if study.function == "inverse_dynamics":  # names recur among functions
                counts = [c.multiplications, c.additions, c.divisions, c.trigonometric, c.total, c.span.total]
                assert told == counts
            (mine,) = [r for r in study.rows if r.name == algorithm.name]
            assert mine.cost == c


def test_facts_and_errors_are_those_of_the_library(made: tuple[px.Robot, Report, Page]) -> None:
    robot, done, page = made
    assert f"{robot.total_mass:.4g} kg" in page.text
    assert done.facts["nv"] == robot.nv
    study = done.studies[0]
    row = next(r for r in study.rows if r.name == "newton_euler")
    alone = px.accuracy(robot, study.function, algorithm="newton_euler", backend="numpy")
    assert row.errors["float64"] == (alone.error, alone.typical)
    assert f"{alone.error:.1e}" in page.row("newton_euler", 5)


def test_schedules_and_speedups_are_those_of_the_library(made: tuple[px.Robot, Report, Page]) -> None:
    robot, done, page = made
    charts = page.data["functions"]["inverse_dynamics"]["charts"]
    first = charts[0]
    same = px.schedule(
        robot, "inverse_dynamics", first["algorithm"], px.machines.pram(4), granularity="equation"
    )
    assert (first["makespan"], first["speedup"]) == (same.makespan, same.speedup)
    assert len(first["tasks"]) == len(same.timed)
    fine = done.speedups["inverse_dynamics"][first["algorithm"]][PROCESSORS.index(4)]
    rival = f"over {same.least.algorithm} on one"
    told = f"speed-up {same.speedup:.2f} on 4 processors {rival} ({fine:.2f} if single"
    assert told in first["facts"]
    assert told in page.text
    assert "the charts above have whole equations for tasks" in page.text
    assert any("transputers" in chart["machine"] for chart in charts)
    curves = done.speedups["inverse_dynamics"]
    times = {
        name: [
            px.schedule(robot, "inverse_dynamics", name, px.machines.pram(p)).makespan for p in PROCESSORS[:3]
        ]
        for name in curves
    }
    least = min(t[0] for t in times.values())
    for name, taken in times.items():
        np.testing.assert_allclose(curves[name][:3], [least / t for t in taken])


def test_operations_of_links_are_those_of_the_library(made: tuple[px.Robot, Report, Page]) -> None:
    robot, _, page = made
    c = px.cost(robot, "inverse_dynamics", "newton_euler")
    told = page.data["functions"]["inverse_dynamics"]["operations"]["newton_euler"]
    assert told == [c.by_link[name].total for name in robot.link_names]


def test_the_page_asks_for_nothing_and_is_small(made: tuple[px.Robot, Report, Page]) -> None:
    _, done, page = made
    text = done.path.read_text(encoding="utf-8")
    assert done.bytes == len(text.encode("utf-8")) < 1_000_000
    assert not re.search(r"https?://|//[a-z]+\.[a-z]+/|@import|url\(", re.sub(r"base64,[^\"]*", "", text))
    for name, attributes in page.elements:
        assert name not in ("link", "iframe", "object", "embed", "base", "form")
        assert not {"src", "srcset", "href", "action"} & set(attributes) or name in ("img", "a")
    assert all((a["src"] or "").startswith("data:image/png;base64,") for a in page.attributes("img"))
    assert all((a["href"] or "").startswith("#") for a in page.attributes("a"))
    targets = {a.get("id") for _, a in page.elements}
    assert {(a["href"] or "")[1:] for a in page.attributes("a")} <= targets


def test_the_policy_forbids_the_network_and_all_other_scripts(made: tuple[px.Robot, Report, Page]) -> None:
    _, _, page = made
    (policy,) = [
        a["content"] for a in page.attributes("meta") if a.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in (policy or "").split(";"))

    def digest(text: str) -> str:
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    assert rules["default-src"] == "'none'"
    assert rules["script-src"].split() == [digest(page.scripts[1]), "'wasm-unsafe-eval'"]
    assert rules["style-src"] == digest(page.styles[0])
    assert rules["img-src"] == "data:"
    assert not any("style" in attributes or "onclick" in attributes for _, attributes in page.elements)


def test_hostile_names_stay_names(hostile: Page) -> None:
    assert len(hostile.scripts) == 2
    assert len(hostile.attributes("img")) == 1  # the picture
    assert not any(key.startswith("on") for _, attributes in hostile.elements for key in attributes)
    assert hostile.data["robot"]["links"] == ["<img src=x onerror=alert(2)>", "$alert(3)`'\""]
    assert "<img src=x onerror=alert(2)>" in hostile.text
    assert "example.invalid" not in json.dumps(hostile.data)


# What ends a script, an attribute, a string, a comment or a line somewhere, and marks of our own templates.
NASTY = (
    "</script><script>alert(1)</script>",
    '" onload="alert(1)" x=\'',
    "a\nb\r\u2028c\0",
    "&lt;b&gt; &amp; <!-- -->",
    "*/ alert(1) /* \\",
    "`${alert(1)}`",
    "%DATA% %TITLE% NAMES",
    "]]></style></title>",
)


def named(name: Callable[[int], str]) -> px.Robot:
    """An arm with a frame, whose names are of the given making."""
    builder = px.RobotBuilder(name(0))
    builder.add_link(name(1), mass=1.0)
    for k in (2, 4):
        builder.add_link(name(k), mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
        builder.add_joint(name(k + 1), "revolute", name(k - 1 if k == 2 else 2), name(k), axis=(0, 1, 0))
    builder.add_link(name(6))
    builder.add_joint(name(7), "fixed", name(4), name(6), origin=(0.3, 0, 0))
    return builder.build()


def test_no_name_changes_the_structure_of_a_page(tmp_path: Path) -> None:
    plain, nasty = named(lambda k: f"n{k}"), named(lambda k: NASTY[k])
    pages = []
    for robot in (plain, nasty):
        done = px.report(robot, tmp_path / "page.html", quick=True, functions=["inverse_dynamics"])
        pages.append(Page(done.path))
    shapes = [[(tag, sorted(found)) for tag, found in page.elements] for page in pages]
    assert shapes[0] == shapes[1]
    robot = pages[1].data["robot"]
    assert robot["links"] == list(nasty.link_names)
    assert len(pages[1].scripts) == 2
    assert "<script" not in pages[1].scripts[1]  # names stand there as JSON
    charts = []
    for robot in (plain, nasty):
        found = px.schedule(robot, "inverse_dynamics", granularity="equation").plot(tmp_path / "gantt.html")
        charts.append(Page(found))
    assert [tag for tag, _ in charts[0].elements] == [tag for tag, _ in charts[1].elements]
    assert len(charts[1].scripts) == len(charts[0].scripts)
    assert NASTY[0] not in "".join(charts[1].scripts)


def test_a_robot_without_joints_has_a_page_of_facts(tmp_path: Path) -> None:
    robot = px.load('<robot name="still"><link name="a"/></robot>')
    done = px.report(robot, tmp_path / "still.html")
    page = Page(done.path)
    assert done.studies == ()
    assert page.data["live"] is None
    assert "still" in page.text


def test_measured_times_are_told_with_processor_and_date(tmp_path: Path) -> None:
    robot = px.load("two_link")
    done = px.report(robot, tmp_path / "two.html", functions=["gravity_forces"], batch=64)
    (study,) = done.studies
    assert study.batch == 64
    assert all(row.measured is not None and row.measured.per_state > 0 for row in study.served)
    assert study.reason
    page = Page(done.path)
    assert done.machine["processor"] in page.text
    assert done.machine["date"] in page.text
    assert study.reason in page.text


def test_meshes_are_simplified_to_the_size_that_is_asked_for(tmp_path: Path) -> None:
    n = 110
    x, y = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    points = np.stack([x, y, 0.1 * np.sin(9 * x) * np.cos(7 * y)], axis=-1).reshape(-1, 3)
    k = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate([np.stack([k, k + 1, k + n], 1), np.stack([k + 1, k + n + 1, k + n], 1)])
    corners = [f"v {a:.4f} {b:.4f} {c:.4f}" for a, b, c in points]
    (tmp_path / "sheet.obj").write_text("\n".join([*corners, *(f"f {a} {b} {c}" for a, b, c in faces + 1)]))
    file = tmp_path / "sheet.urdf"
    file.write_text(
        '<robot name="sheet"><link name="a"><visual><geometry><mesh filename="sheet.obj"/></geometry>'
        "</visual></link></robot>"
    )
    pytest.importorskip("trimesh", reason="meshes need trimesh")
    done = px.report(px.load(file), tmp_path / "sheet.html", megabytes=0.2)
    before, after = Page(done.path).data["shapes"]["faces"]
    assert before == len(faces)
    assert 1000 < after < before / 2
    assert done.bytes < 200_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "page.txt"}, "expected .html"),
        ({"path": "nowhere/page.html"}, 'the folder "nowhere" is not there'),
        ({"functions": ["inverse_dynamic"]}, "inverse_dynamics"),
        ({"functions": []}, "functions is empty"),
        ({"megabytes": 0}, "megabytes is 0"),
    ],
)
def test_bad_input_is_told_before_any_work(
    change: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given: dict[str, object] = {"path": "page.html"} | change
    with pytest.raises(px.PhalanxError, match=re.escape(message)):
        px.report(px.load("two_link"), **given)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
