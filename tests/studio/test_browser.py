# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The page in a real browser: it is drawn, it moves and plays, it stays on this machine.

Needs Chromium (Debian's package `chromium`) and Playwright; skipped where one of them is missing.
"""

import io
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

import phalanx as px
from phalanx.studio.page import Page
from phalanx.studio.server import HOST

sync_api = pytest.importorskip("playwright.sync_api", reason="it drives the browser")
pytest.importorskip("viser", reason="the page is viser's")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if not CHROMIUM:
    pytest.skip("no Chromium is installed (apt-get install chromium)", allow_module_level=True)

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PATIENCE = 60_000  # milliseconds: machines that test are busy
HOSTILE = """<robot name="&lt;script&gt;window.bad=1&lt;/script&gt;">
  <link name="&lt;img src=http://192.0.2.1/a.png onerror='window.bad=1'&gt;"/>
  <link name="![x](http://192.0.2.1/b.png) &lt;b onclick=x&gt;">
    <inertial><mass value="1"/><origin xyz="0.3 0 0"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
    <visual><geometry><mesh filename="http://192.0.2.1/c.stl"/></geometry></visual>
    <visual><geometry><mesh filename="file:///etc/passwd"/></geometry></visual></link>
  <joint name="&quot;&gt;&lt;svg onload=&quot;window.bad=1&quot;&gt;" type="revolute">
    <parent link="&lt;img src=http://192.0.2.1/a.png onerror='window.bad=1'&gt;"/>
    <child link="![x](http://192.0.2.1/b.png) &lt;b onclick=x&gt;"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint></robot>"""


class View:
    """A tab of the browser on a page of ours, with everything that it asked for and complained about."""

    def __init__(
        self, page: Page, browser: Any, width: int = 800, height: int = 520
    ) -> None:  # software rendering: few pixels
        self.page = page
        self.hosts: set[str] = set()
        self.complaints: list[str] = []
        self.context = browser.new_context(viewport={"width": width, "height": height})
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(PATIENCE)
        self.tab.on("request", lambda r: self.note(r.url))
        self.tab.on("websocket", lambda w: self.note(w.url))
        self.tab.on("pageerror", lambda e: self.complaints.append(str(e)))
        self.tab.on("dialog", lambda d: self.complaints.append(d.message))
        self.tab.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        self.tab.goto(page.address)
        self.tab.wait_for_selector("[data-name=gravity]")

    def note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob"):
            self.hosts.add(f"{parts.hostname}:{parts.port}")

    def until(self, holds: Callable[[], Any]) -> Any:
        """What `holds` returns once that is true."""
        end = time.monotonic() + PATIENCE / 1000
        while not (found := holds()):
            assert time.monotonic() < end, "the page did not get there"
            self.tab.wait_for_timeout(50)
        return found

    def press(self, word: str) -> None:
        self.tab.locator("button:visible", has_text=word).first.click()

    def go(self, name: str) -> None:
        self.tab.get_by_role("tab", name=name).click()

    def picture(self) -> np.ndarray:
        """What the 3D view shows (h, w, 3)."""
        from PIL import Image

        box = self.tab.locator("canvas").first.bounding_box()
        clip = {"x": 0, "y": 180, "width": min(box["width"], 360), "height": min(box["height"], 520) - 180}
        return np.asarray(Image.open(io.BytesIO(self.tab.screenshot(clip=clip))).convert("RGB"))

    def part(self) -> float:
        return float(self.tab.locator("[data-name=playhead]").first.get_attribute("data-part"))

    def close(self) -> None:
        self.context.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def view(browser: Any) -> Iterator[View]:
    page = Page(px.visuals("panda"))
    shown = View(page, browser)
    yield shown
    shown.close()
    page.close()


def test_the_robot_is_drawn(view: View) -> None:
    # Shaded, not flat: hundreds of colours.
    view.until(lambda: len(np.unique(view.picture().reshape(-1, 3), axis=0)) > 200)


def test_a_link_under_the_pointer_tells_its_name(view: View) -> None:
    label = view.tab.locator("[data-name=hovered]")
    canvas = view.tab.locator("canvas").first.bounding_box()
    places = itertools.cycle(itertools.product((0.37, 0.5, 0.3, 0.43, 0.6), np.linspace(0.4, 0.95, 12)))

    def seen() -> str:
        across, down = next(places)
        view.tab.mouse.move(canvas["x"] + across * canvas["width"], canvas["y"] + down * canvas["height"])
        view.tab.wait_for_timeout(100)
        return label.inner_text() if label.count() and label.is_visible() else ""

    name = view.until(seen).splitlines()[0]
    assert name in view.page.session.robot.frame_names
    view.tab.mouse.move(canvas["x"] + 3, canvas["y"] + canvas["height"] - 3)  # the floor
    view.until(lambda: not label.is_visible())


def test_a_slider_moved_by_keys_changes_pose_torques_and_picture(view: View) -> None:
    before, told = view.picture(), view.tab.locator("[data-name=gravity]").inner_text()
    q = view.page.session.q.copy()
    handle = view.tab.get_by_role("slider").nth(1)
    handle.focus()
    view.tab.keyboard.press("Home")  # its lower limit
    view.until(lambda: view.page.session.q[1] == view.page.session.sliders[1].lower)
    torque = view.page.session.robot.gravity_forces(view.page.session.q)[1]
    assert f"{torque:.4g} N·m" not in told
    view.until(lambda: f"{torque:.4g} N·m" in view.tab.locator("[data-name=gravity]").inner_text())
    assert view.page.session.q[1] != q[1]
    view.until(lambda: np.abs(view.picture().astype(int) - before).mean() > 0.1)


def test_bars_reach_to_the_limits_of_the_joints(view: View) -> None:
    session = view.page.session
    view.press("Home")
    forces, limits = session.robot.gravity_forces(session.q), session.robot.limits.effort
    wanted = 50 * np.abs(forces) / limits
    fills = view.tab.locator("[data-name=gravity] [title*=' of '] > div")

    def widths() -> list[float]:
        return fills.evaluate_all("all => all.map((e) => parseFloat(e.style.width))")

    view.until(lambda: np.allclose(widths(), wanted, atol=0.06))
    assert f"of {limits[1]:.4g}" in fills.nth(1).locator("..").get_attribute("title")


def test_a_frame_is_dragged_by_the_pointer_and_the_arm_follows_live(view: View) -> None:
    page, mouse = view.page, view.tab.mouse
    handle, seen = page.robot_view.handle, []
    view.tab.get_by_label("Drag a frame").first.check()
    view.until(lambda: handle.grip is not None)
    start, before = page.session.frame_pose(handle.name), page.session.q.copy()

    def drag() -> bool:
        """Whether a drag of the square across the handle's x axis moved the robot."""
        if (at := square(view, (255, 32, 96))) is None:
            return False
        mouse.move(*at)
        view.tab.wait_for_timeout(500)
        mouse.down()
        for k in range(1, 9):
            mouse.move(at[0] - 3 * k, at[1] - k)
            view.tab.wait_for_timeout(150)
            seen.append(tuple(page.session.q))
        mouse.up()
        return bool(np.abs(page.session.q - before).max() > 0.01)

    view.until(drag)
    assert len(set(seen)) > 2  # it moved while the button was down
    found = page.session.frame_pose(handle.name)
    assert np.linalg.norm(found[:3, 3] - start[:3, 3]) > 0.01
    assert abs((found[:3, 3] - start[:3, 3]) @ start[:3, 0]) < 1e-3
    assert np.abs(found[:3, :3] - start[:3, :3]).max() < 1e-3  # its orientation is kept
    assert [h.value for _, h in page.robot_view.sliders] == pytest.approx(page.session.q.tolist(), abs=0.02)
    view.tab.get_by_label("Drag a frame").first.uncheck()
    view.until(lambda: not handle.grip.visible)
    page.session.reset()
    page.robot_view.follow()
    page.refresh()


def square(view: View, colour: tuple[int, int, int]) -> tuple[float, float] | None:
    """A point of the 3D view within a filled square of a colour; None if there is none, or it is covered."""
    from PIL import Image

    box = view.tab.locator("canvas").first.bounding_box()
    shown = np.asarray(Image.open(io.BytesIO(view.tab.screenshot())).convert("RGB")).astype(int)
    is_near = np.abs(shown[:, : int(min(box["width"], 360))] - colour).max(axis=-1) < 40
    places = np.argwhere(np.lib.stride_tricks.sliding_window_view(is_near, (7, 7)).all(axis=(-1, -2))) + 3
    if not len(places):
        return None
    y, x = places[len(places) // 2].tolist()
    is_free = view.tab.evaluate(f"document.elementFromPoint({x}, {y}).tagName") == "CANVAS"
    return (x, y) if is_free else None


def test_views_of_schedules_begin_with_one(view: View) -> None:
    """Nobody has pressed anything yet."""
    view.go("Parallelism")
    view.until(lambda: view.tab.locator("svg[data-name=schedule] rect").count() > 100)
    assert not view.page.parallel_view.playing
    view.go("Compare")
    view.until(lambda: view.tab.locator("svg[data-name^=schedule]:visible").count() == 2)
    table = view.tab.locator("[data-name=compared]")
    view.until(lambda: table.count() and "multiplications" in table.inner_text())


def test_letters_of_charts_have_names(view: View) -> None:
    view.go("Parallelism")
    legend = view.tab.locator("[data-name=legend]:visible").first
    assert legend.locator("b").first.inner_text() == "F"
    for entry in legend.locator("> span").all_inner_texts():
        assert len(entry.split()) > 1, f"{entry} is a letter without a name"
    titles = view.tab.locator("svg[data-name=schedule] rect title").all_text_contents()
    assert any("angular acceleration" in title for title in titles)


def test_another_choice_is_drawn_at_once(view: View) -> None:
    before = view.page.compare_view._plays
    view.page.compare_view._count.value = 3
    view.until(lambda: view.page.compare_view._plays not in ([], before))
    assert [len(play.rows) for play in view.page.compare_view._plays] == [3, 3]


def test_a_simulation_runs_and_pauses(view: View) -> None:
    view.go("Dynamics")
    view.press("Start")
    view.until(lambda: view.page.dynamics_view.run is not None and view.page.dynamics_view.run.seconds > 0.5)
    clock = view.tab.locator("[data-name=energy] th").nth(1)
    first = clock.inner_text()
    view.until(lambda: clock.inner_text() != first)
    assert view.tab.locator("svg[data-name=energies] polyline").count() == 3
    coordinates = view.tab.locator("svg[data-name='coordinates in rad']")
    assert coordinates.locator("polyline").count() == 7  # every joint, none left out
    lines = coordinates.locator("polyline").evaluate_all(
        "all => all.map((e) => e.getAttribute('stroke') + e.getAttribute('stroke-dasharray'))"
    )
    assert len(set(lines)) == 7  # and each told apart
    legend = coordinates.locator("xpath=../following-sibling::div[1]").inner_text()
    assert all(name in legend for name in view.page.session.rate_names)
    view.press("Pause")
    view.until(lambda: not view.page.dynamics_view.playing)


def test_a_new_pose_ends_a_simulation(view: View) -> None:
    view.press("Start")
    view.until(lambda: view.page.dynamics_view.run is not None and view.page.dynamics_view.run.seconds > 0.2)
    view.go("Robot")
    view.press("Home")
    view.until(lambda: view.page.dynamics_view.run is None and not view.page.dynamics_view.playing)
    session = view.page.session
    home = session.q.copy()
    assert not session.qd.any()
    view.tab.wait_for_timeout(200)
    np.testing.assert_array_equal(session.q, home)
    shown = [handle.value for _, handle in view.page.robot_view.sliders]
    np.testing.assert_allclose(shown, [session.value(s) for s in session.sliders], atol=0.02)


def test_a_schedule_plays_and_links_light_up(view: View) -> None:
    view.go("Parallelism")
    view.press("Play")
    view.until(lambda: view.tab.locator("svg[data-name=schedule] rect").count() > 100)
    first = view.part()
    lit = view.until(lambda: dict(view.page.stage._lit))
    view.until(lambda: view.part() > first)
    assert set(lit) <= set(range(7))
    view.press("Pause")


def test_two_algorithms_stand_side_by_side(view: View) -> None:
    view.go("Compare")
    view.press("Draw")
    table = view.tab.locator("[data-name=compared]")
    view.until(lambda: table.count() and "multiplications" in table.inner_text())
    assert view.tab.locator("svg[data-name^=schedule]:visible").count() == 2


def test_the_page_is_dark_on_demand(view: View) -> None:
    bright = view.picture().mean()
    view.tab.get_by_text("Dark page").first.scroll_into_view_if_needed()
    view.tab.get_by_role("checkbox").last.click()
    view.until(lambda: view.picture().mean() < bright - 60)


def test_a_phone_is_a_second_browser_and_may_leave(view: View, browser: Any) -> None:
    other = View(view.page, browser, 390, 700)
    panel = other.tab.locator(".mantine-Paper-root", has=other.tab.get_by_role("tab")).first
    for name in ("Dynamics", "Parallelism", "Compare", "Robot"):
        other.go(name)
        # The panel has all of the width, and the 3D view above it less than half of the screen.
        other.until(lambda: panel.bounding_box()["width"] == 390 and panel.bounding_box()["y"] < 0.45 * 700)
    assert other.tab.evaluate("document.documentElement.scrollWidth") == 390
    assert not other.complaints
    view.until(lambda: len(view.page.server.get_clients()) == 2)
    other.close()
    view.until(lambda: len(view.page.server.get_clients()) == 1)
    view.go("Robot")
    view.press("Random")
    view.until(lambda: view.page.session.q.any())


def test_a_table_wider_than_the_panel_scrolls_and_says_so(view: View) -> None:
    view.go("Compare")
    box = view.tab.locator(".scrolls:visible").first
    # Whether it fits already depends on the numbers in it.
    view.until(lambda: box.get_attribute("data-more") in ("", "right"))
    # A table of long names; the page replaces what it draws anew, and nothing is drawn now.
    box.evaluate("e => { e.firstElementChild.style.width = '900px'; }")
    view.until(lambda: box.get_attribute("data-more") == "right")
    assert "scroll" in box.evaluate("e => getComputedStyle(e, '::after').content")
    box.evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    view.until(lambda: box.get_attribute("data-more") == "left")


def test_nothing_was_asked_of_another_machine_and_nothing_complained(view: View) -> None:
    assert view.hosts == {f"{HOST}:{view.page.port}"}
    assert view.complaints == []


@pytest.mark.filterwarnings("ignore::phalanx.errors.PhalanxWarning")
def test_a_hostile_file_is_only_text(browser: Any) -> None:
    page = Page(px.visuals(HOSTILE))
    view = View(page, browser)
    try:
        assert view.tab.locator("[data-name=gravity]").inner_text().count("svg onload") >= 1
        page.stage.show("names", True)
        page.stage.show("frames", True)
        page.robot_view._clicked(page.session.robot.link_names[0])
        view.go("Dynamics")
        view.press("Start")
        view.until(lambda: page.dynamics_view.run is not None)
        view.go("Parallelism")
        view.press("Draw")
        view.until(lambda: view.tab.locator("[data-name=facts]").count())
        assert view.tab.evaluate("window.bad") is None
        assert view.tab.locator("img[src*='192.0.2.1']").count() == 0
        assert view.hosts == {f"{HOST}:{page.port}"}
        assert view.complaints == []
        # What got past all escaping would still be stopped: the page may ask no other machine.
        refused = view.tab.evaluate("fetch('http://192.0.2.1/').then(() => 'sent', () => 'refused')")
        assert refused == "refused"
        assert any("Content Security Policy" in text for text in view.complaints)
    finally:
        view.close()
        page.close()


def test_many_joints_come_in_groups(browser: Any) -> None:
    page = Page(px.visuals("snake:40"))
    view = View(page, browser)
    try:
        shown = view.tab.get_by_role("slider")
        view.until(lambda: shown.count() >= 16)
        titles = [f"Joints {a} to {b}" for a, b in ((1, 16), (17, 32), (33, 40))]
        for title in titles:
            assert view.tab.get_by_text(title, exact=True).count() >= 1
        visible = [handle for handle in shown.all() if handle.is_visible()]
        assert len(visible) == 16  # of 40
        bars = view.tab.locator("[data-name=gravity]")
        assert "joint16" in bars.inner_text()
        assert "joint17" not in bars.inner_text()
        page.robot_view._group.value = titles[2]
        view.until(lambda: "joint40" in bars.inner_text())
        assert "joint1 " not in bars.inner_text()
        assert view.complaints == []
    finally:
        view.close()
        page.close()
