# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A report in a real browser: it draws, computes, plays, and asks for nothing."""

from __future__ import annotations

import io
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib.image
import numpy as np
import pytest

import phalanx as px

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.xdist_group("browser"),
]

FLAGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync", "--enable-unsafe-swiftshader"]
DT = 1e-3
NO_WEBGL = """const get = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return kind.startsWith("webgl") ? null : get.call(this, kind, ...more);
};"""
HOSTILE = """<robot name="&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;">
<link name="a&#10;*/ b`$alert(5)`&#92;"/>
<link name="&lt;img src=x onerror=alert(2)&gt;"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
  <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="&quot; onmouseover=&quot;alert(4)" type="continuous"><parent link="a&#10;*/ b`$alert(5)`&#92;"/>
  <child link="&lt;img src=x onerror=alert(2)&gt;"/><axis xyz="0 1 0"/></joint></robot>"""


# Two bars that lie: the second has no limit, and the first is strong enough to hold a tenth of them.
LIMITS = """<robot name="bars"><link name="base"/>
<link name="a"><inertial><mass value="1"/><origin xyz="1 0 0"/>
  <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/><origin xyz="1 0 0"/>
  <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="weak" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
  <limit lower="-2" upper="2" effort="100" velocity="9"/></joint>
<joint name="free" type="continuous"><parent link="a"/><child link="b"/><origin xyz="2 0 0"/>
  <axis xyz="0 1 0"/></joint></robot>"""


@dataclass
class Open:
    """A page that is open, and what it complained of or asked for."""

    page: Any
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def numbers(self, script: str) -> np.ndarray:
        return np.array(self.page.evaluate(script), dtype=float)

    @property
    def q(self) -> np.ndarray:
        return self.numbers("Array.from(phalanx.state.q)")

    def forces(self) -> np.ndarray:
        """The forces as the page shows them."""
        told = self.page.locator(".force").all_inner_texts()
        return np.array(
            [float(re.sub(r"[^-0-9.e]", "", text.replace("N·m", "").replace("N", ""))) for text in told]
        )

    def drawn(self) -> np.ndarray:
        """The pixels of the robot's view."""
        image = self.page.locator("#screen").screenshot()
        return np.asarray(matplotlib.image.imread(io.BytesIO(image), format="png"))[:440, :400, :3]

    def slide(self, k: int, value: float) -> None:
        self.page.locator(f"#slider{k}").evaluate(
            "(e, x) => { e.value = x; e.dispatchEvent(new Event('input', { bubbles: true })); }", value
        )

    def reaches(self, wanted: np.ndarray, within: float = 3.0) -> bool:
        """Whether a held robot comes to a pose within seconds of its own time; frames may be rare."""

        def left() -> float:
            return float(np.abs(self.q - wanted).max())

        self.wait(lambda: left() < 0.02 or self.page.evaluate("phalanx.simulation.time") > within)
        return left() < 0.02

    def wait(self, done: Callable[[], bool], seconds: float = 120.0) -> None:
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, "nothing happened"
            self.page.wait_for_timeout(40)

    def is_clean(self) -> bool:
        assert self.errors == []
        assert self.requests == []
        return True


def dark(image: np.ndarray) -> float:
    """The share of pixels that are neither ground nor grid of a light page."""
    return float((image.mean(axis=-1) < 0.72).mean())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    arm = px.report(px.load("puma560"), folder / "arm.html", quick=True, functions=["inverse_dynamics"])
    bad = px.report(px.load(HOSTILE), folder / "bad.html", quick=True, functions=["gravity_forces"])
    few = {"quick": True, "functions": ["gravity_forces"]}
    long = px.report(px.snake(40), folder / "long.html", **few)
    limits = px.report(px.load(LIMITS), folder / "limits.html", **few)
    return {"arm": arm.path, "bad": bad.path, "long": long.path, "limits": limits.path}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as p:
        made = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Open]]:
    contexts = []

    def visited(path: Path, *, before: str = "", ready: bool = True, **options: Any) -> Open:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 800}} | options))
        contexts.append(context)
        if before:
            context.add_init_script(before)
        found = Open(context.new_page())
        found.page.on("console", lambda m: found.errors.append(m.text) if m.type == "error" else None)
        found.page.on("pageerror", lambda e: found.errors.append(str(e)))
        found.page.on("dialog", lambda d: (found.errors.append(d.message), d.dismiss()))
        local = ("file:", "data:")
        found.page.on("request", lambda r: None if r.url.startswith(local) else found.requests.append(r.url))
        found.page.goto(path.as_uri())
        if ready:
            found.page.wait_for_selector("html[data-ready]", state="attached", timeout=30_000)
        return found

    yield visited
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def robot() -> px.Robot:
    return px.load("puma560")


def test_the_page_draws_the_robot_and_the_forces_of_its_pose(
    files: dict[str, Path], visit: Callable[..., Open], robot: px.Robot
) -> None:
    open_page = visit(files["arm"])
    first = open_page.drawn()
    assert 0.02 < dark(first) < 0.6
    assert len(np.unique((first * 63).astype(int).reshape(-1, 3), axis=0)) > 100  # it is shaded
    np.testing.assert_allclose(open_page.forces(), robot.gravity_forces(open_page.q), rtol=6e-3, atol=1e-3)
    before = open_page.q
    open_page.slide(1, 0.7)
    open_page.slide(2, -0.4)
    assert open_page.q[1] == 0.7
    assert (open_page.q != before).sum() == 2
    assert np.abs(open_page.drawn() - first).max() > 0.3
    forces = robot.gravity_forces(open_page.q)
    np.testing.assert_allclose(open_page.forces(), forces, rtol=6e-3, atol=1e-3)
    exact = open_page.numbers("Array.from(phalanx.compiled.gravity_forces(phalanx.state.q))")
    np.testing.assert_allclose(exact, forces, atol=1e-11)
    open_page.page.locator("select[aria-label=Sliders]").select_option("qd")
    open_page.slide(1, 2.0)
    open_page.page.locator("select[aria-label=Sliders]").select_option("qdd")
    open_page.slide(0, 5.0)
    qd, qdd = np.eye(6)[1] * 2.0, np.eye(6)[0] * 5.0
    wanted = robot.inverse_dynamics(open_page.q, qd, qdd)
    np.testing.assert_allclose(open_page.forces(), wanted, rtol=6e-3, atol=1e-3)
    assert open_page.is_clean()


def test_sliders_and_view_obey_the_keyboard(files: dict[str, Path], visit: Callable[..., Open]) -> None:
    open_page = visit(files["arm"])
    slider = open_page.page.locator("#slider0")
    slider.focus()
    before = open_page.q[0]
    slider.press("ArrowRight")
    assert open_page.q[0] > before
    first = open_page.drawn()
    open_page.page.locator("#view").focus()
    for _ in range(4):
        open_page.page.keyboard.press("ArrowLeft")
    assert np.abs(open_page.drawn() - first).mean() > 1e-3
    assert open_page.is_clean()


def test_a_fall_is_that_of_the_library(
    files: dict[str, Path], visit: Callable[..., Open], robot: px.Robot
) -> None:
    open_page = visit(files["arm"])
    open_page.slide(1, 0.3)
    start = open_page.q
    fall = open_page.page.locator("#simulate-fall")
    fall.click()
    open_page.wait(lambda: float(open_page.page.evaluate("phalanx.simulation.time")) > 0.15)
    seconds, *q = open_page.numbers(
        "phalanx.simulation.stop(), [phalanx.simulation.time, ...phalanx.state.q]"
    )
    assert fall.inner_text() == "▶ Let go"
    sim = robot.simulation(dt=DT, integrator="implicit")
    steps = round(seconds / DT)
    run = sim.rollout(start, np.zeros(6), controls=np.zeros(6), steps=steps)
    np.testing.assert_allclose(q, run.final[0], atol=1e-9)
    assert np.abs(np.array(q) - start).max() > 0.01
    assert open_page.is_clean()


def test_a_held_robot_comes_to_its_sliders(files: dict[str, Path], visit: Callable[..., Open]) -> None:
    open_page = visit(files["arm"])
    open_page.page.locator("#simulate-hold").click()
    wanted = open_page.q
    wanted[1] = 0.5
    open_page.slide(1, 0.5)
    assert open_page.reaches(wanted)  # though its joints have friction
    assert open_page.is_clean()


@pytest.mark.parametrize("pose", ["neutral", "random"])
def test_a_new_pose_ends_a_fall_and_is_where_a_held_robot_goes(
    files: dict[str, Path], visit: Callable[..., Open], pose: str
) -> None:
    open_page = visit(files["arm"])
    page = open_page.page
    start, fall = open_page.q, page.locator("#simulate-fall")

    def sliders() -> np.ndarray:
        return open_page.numbers(
            "Array.from(document.querySelectorAll('.row input'), (e) => Number(e.value))"
        )

    open_page.slide(1, 0.3)
    fall.click()
    open_page.wait(lambda: abs(open_page.q[1] - 0.3) > 0.02)
    page.locator(f"#{pose}").click()
    assert fall.inner_text() == "▶ Let go"
    assert not page.evaluate("phalanx.simulation.running")
    there = open_page.q
    assert pose != "neutral" or (there == start).all()
    np.testing.assert_allclose(sliders(), there, atol=1e-9)
    page.wait_for_timeout(150)
    np.testing.assert_array_equal(open_page.q, there)  # nothing runs on behind the sliders
    page.locator("#simulate-hold").click()
    page.locator(f"#{pose}").click()
    wanted = sliders()
    assert open_page.reaches(wanted)
    assert page.evaluate("phalanx.simulation.running") == "hold"
    np.testing.assert_allclose(sliders(), wanted, atol=1e-9)
    assert open_page.is_clean()


def test_the_schedule_plays_and_links_light_up(files: dict[str, Path], visit: Callable[..., Open]) -> None:
    open_page = visit(files["arm"])
    page = open_page.page
    assert page.locator("#gantt rect").count() > 20
    clock, first = page.locator("#clock"), open_page.drawn()
    assert clock.inner_text().startswith("0 ")
    page.locator("#play").click()
    open_page.wait(lambda: not clock.inner_text().startswith("0 "))
    assert "at work" in clock.inner_text()
    assert np.abs(open_page.drawn() - first).max() > 0.2
    page.locator("#play").click()
    page.locator("#machine").select_option(index=page.locator("#machine option").count() - 1)
    assert "systolic" in page.locator("#machine option:checked").inner_text()
    page.locator("#scrub").evaluate("e => { e.value = 0.5; e.dispatchEvent(new Event('input')); }")
    assert "at work" in clock.inner_text()
    assert open_page.is_clean()


def test_tables_sort_and_the_theme_changes(files: dict[str, Path], visit: Callable[..., Open]) -> None:
    open_page = visit(files["arm"])
    page = open_page.page
    table = page.locator("#costs table").first
    heads = table.locator("thead button")
    index = heads.all_inner_texts().index("Path")
    numbers = table.locator(f"tbody tr td:nth-child({index + 1})")
    heads.nth(index).click()
    up = [int(text.replace(",", "")) for text in numbers.all_inner_texts()]
    heads.nth(index).click()
    down = [int(text.replace(",", "")) for text in numbers.all_inner_texts()]
    assert up == sorted(up) != down == sorted(down, reverse=True)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme").click()
    assert page.evaluate(ground) != light
    dark = visit(files["arm"], color_scheme="dark")
    assert dark.page.evaluate(ground) == page.evaluate(ground)
    assert open_page.is_clean()


def test_the_page_works_without_webassembly(
    files: dict[str, Path], visit: Callable[..., Open], robot: px.Robot
) -> None:
    open_page = visit(files["arm"], before="delete window.WebAssembly")
    assert open_page.page.evaluate("phalanx.compiled === null")
    open_page.slide(1, 0.7)
    np.testing.assert_allclose(open_page.forces(), robot.gravity_forces(open_page.q), rtol=6e-3, atol=1e-3)
    assert open_page.page.locator("#simulate-fall").count() == 0
    assert open_page.is_clean()


def test_without_webgl_or_any_script_a_picture_stands_for_the_robot(
    files: dict[str, Path], visit: Callable[..., Open]
) -> None:
    no_webgl = visit(files["arm"], before=NO_WEBGL)
    assert no_webgl.page.locator("#picture").is_visible()
    no_script = visit(files["arm"], ready=False, java_script_enabled=False)
    page = no_script.page
    assert page.locator("#picture").is_visible()
    assert page.locator("svg.chart").count() >= 2
    assert page.locator("#costs table tbody tr").first.is_visible()
    image = no_script.drawn()
    assert 0.02 < dark(image) < 0.6
    assert no_script.is_clean()


def test_a_phone_shows_everything_without_moving_sideways(
    files: dict[str, Path], visit: Callable[..., Open]
) -> None:
    phone = {"width": 375, "height": 720}
    open_page = visit(files["arm"], viewport=phone, has_touch=True, is_mobile=True, device_scale_factor=2)
    wide = open_page.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1] == 375
    image = open_page.drawn()
    assert 0.02 < dark(image) < 0.6
    assert open_page.is_clean()


def test_hostile_names_run_nothing(files: dict[str, Path], visit: Callable[..., Open]) -> None:
    open_page = visit(files["bad"])
    page = open_page.page
    assert page.locator("h1").inner_text() == "</script><script>alert(1)</script>"
    assert page.locator(".row label").first.inner_text() == '" onmouseover="alert(4)'
    assert page.locator("main img").count() == 0
    page.locator("#view").hover()
    page.wait_for_timeout(100)
    assert open_page.is_clean()


def test_letters_of_a_schedule_have_names(files: dict[str, Path], visit: Callable[..., Open]) -> None:
    open_page = visit(files["arm"])
    legend = open_page.page.locator("#schedules .legend")
    letters = legend.locator("b").all_inner_texts()
    assert "F" in letters
    for entry in legend.locator("span").all_inner_texts():
        assert len(entry.split()) > 1, f"{entry} is a letter without a name"
    titles = open_page.page.locator("#gantt g title").all_text_contents()
    assert any("angular acceleration" in title for title in titles)
    machines = open_page.page.locator("#machine")
    machines.select_option(index=machines.locator("option").count() - 1)  # systolic: operations by kind
    assert "SV: scaled vector" in legend.inner_text()
    still = visit(files["arm"], ready=False, java_script_enabled=False).page.locator(".still svg").first
    assert "angular acceleration" in (still.text_content() or "")
    assert open_page.is_clean()


def test_bars_reach_to_the_limit(files: dict[str, Path], visit: Callable[..., Open]) -> None:
    open_page = visit(files["limits"])
    weak, free = px.load(LIMITS).gravity_forces(open_page.q)
    widths = open_page.page.locator(".bar i").evaluate_all("all => all.map((e) => parseFloat(e.style.width))")
    assert widths[0] == pytest.approx(50 * abs(weak) / 100, abs=0.1)
    assert widths[1] == pytest.approx(50 * abs(free) / max(abs(weak), abs(free)), abs=0.1)
    assert "limit 100" in (open_page.page.locator(".bar").first.get_attribute("title") or "")
    assert open_page.is_clean()


def test_many_sliders_fold_into_groups(files: dict[str, Path], visit: Callable[..., Open]) -> None:
    open_page = visit(files["long"])
    groups = open_page.page.locator(".rows details")
    assert groups.count() == 3
    assert open_page.page.locator(".rows input").count() == 40
    assert [groups.nth(k).get_attribute("open") is not None for k in range(3)] == [True, False, False]
    assert groups.nth(2).locator("summary").inner_text() == "Joints 33 to 40: joint33 … joint40"
    assert not open_page.page.locator("#slider39").is_visible()
    groups.nth(2).locator("summary").click()
    assert open_page.page.locator("#slider39").is_visible()
    assert open_page.is_clean()


def test_a_table_that_is_cut_off_scrolls_and_says_so(
    files: dict[str, Path], visit: Callable[..., Open]
) -> None:
    wide = visit(files["arm"], viewport={"width": 1600, "height": 800})
    narrow = visit(files["arm"], viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    hint = "#costs .scrolls + .more"
    assert not wide.page.locator("#accuracy .scrolls + .more").is_visible()  # a table of few columns
    table = narrow.page.locator("#costs .scrolls").first
    assert table.evaluate("e => e.scrollWidth > e.clientWidth")
    assert table.get_attribute("data-more") == "right"
    assert narrow.page.locator(hint).first.is_visible()
    assert "scroll" in narrow.page.locator(hint).first.inner_text()
    table.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    narrow.wait(lambda: table.get_attribute("data-more") == "left")
    name = table.locator("tbody th").first.bounding_box()
    assert name["x"] >= table.bounding_box()["x"] - 1  # whose row it is stays in sight
    assert wide.is_clean()
    assert narrow.is_clean()


@pytest.mark.parametrize(("width", "height"), [(400, 800), (375, 640), (800, 400)])
def test_on_a_phone_the_view_takes_less_than_half_of_the_screen(
    files: dict[str, Path], visit: Callable[..., Open], width: int, height: int
) -> None:
    size = {"width": width, "height": height}
    open_page = visit(files["arm"], viewport=size, has_touch=True, is_mobile=True)
    open_page.page.locator("#costs").evaluate("e => e.scrollIntoView({ behavior: 'instant' })")
    open_page.page.wait_for_timeout(100)
    box = open_page.page.locator("aside").bounding_box()
    seen = max(0.0, min(box["y"] + box["height"], height) - max(box["y"], 0.0))
    assert seen <= 0.4 * height
    assert open_page.page.locator("#costs h2").is_visible()
    assert open_page.is_clean()
