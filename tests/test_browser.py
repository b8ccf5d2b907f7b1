# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The page with a robot in WebAssembly: a browser computes what Python does, and asks nobody for anything."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import phalanx as px

MAKE = Path(__file__).parents[1] / "examples" / "browser" / "make.py"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # the browser itself asks nobody either
    "--enable-logging=stderr",
)
# What a page has asked for by the time it has run, attempts included.
WATCH = """<script>
const asked = [];
new PerformanceObserver((list) => {
  asked.push(...list.getEntries().map((entry) => entry.name).filter((name) => !name.startsWith("data:")));
  document.documentElement.dataset.asked = asked.join(" ");
}).observe({ type: "resource", buffered: true });
document.documentElement.dataset.asked = "";
</script>"""


@pytest.fixture(scope="module")
def make() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_page", MAKE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def browsed(page: str, folder: Path) -> tuple[str, str, str]:
    """The page as the browser has it in the end, what it logs, and what it has asked for."""
    if not BROWSER:
        pytest.skip("no Chromium on this machine")
    (folder / "page.html").write_text(page.replace("<body>", f"<body>{WATCH}"), encoding="utf-8")
    command = [
        BROWSER,
        *FLAGS,
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=400",
    ]
    done = subprocess.run(
        [*command, "--dump-dom", f"file://{folder / 'page.html'}"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    asked = re.search(r'data-asked="([^"]*)"', done.stdout)
    assert asked is not None
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line), asked[1]


def shown(dom: str, kind: str) -> list[float]:
    """The numbers in elements of a class."""
    return [float(x) for x in re.findall(rf'class="[^"]*\b{kind}"[^>]*>(-?[\d.]+)', dom)]


def test_the_page_shows_the_torques_of_its_robot_and_sends_no_request(
    make: ModuleType, tmp_path: Path
) -> None:
    robot = px.load("panda")
    page = make.page(robot)
    dom, console, asked = browsed(page, tmp_path)
    assert console == ""
    assert asked == ""
    assert 'data-ready="yes"' in dom
    assert re.search(r'id="problem"[^>]*></p>', dom)
    q = np.deg2rad(shown(dom, "position"))
    np.testing.assert_allclose(q, make._data(robot)["start"], atol=2e-3)  # held, but for its last digit
    np.testing.assert_allclose(shown(dom, "force"), robot.gravity_forces(q), atol=0.3)


DROP = """<script>
const wait = setInterval(() => {
  if (!globalThis.phalanx) return;
  clearInterval(wait);
  phalanx.hold(false);
  phalanx.advance(700);
  document.documentElement.dataset.end = JSON.stringify([phalanx.time(), ...phalanx.q, ...phalanx.qd]);
}, 10);
</script></body>"""


def test_a_robot_that_is_dropped_falls_as_the_simulation_in_python_does(
    make: ModuleType, tmp_path: Path
) -> None:
    robot = px.load("two_link")
    dom, console, _ = browsed(make.page(robot).replace("</body>", DROP), tmp_path)
    assert console == ""
    found = re.search(r'data-end="([^"]*)"', dom)
    assert found is not None
    time, *end = json.loads(found[1])
    sim = robot.simulation(make.DT, integrator="implicit")
    held = round(time / make.DT) - 700  # by motors that balance the weight: nothing moves
    start, rest = np.array(make._data(robot)["start"]), np.zeros(2)
    assert held >= 0
    np.testing.assert_allclose(end, np.concatenate(sim.rollout(start, rest, steps=700).final), rtol=1e-7)


def test_a_page_that_asked_for_something_would_be_stopped_and_seen(make: ModuleType, tmp_path: Path) -> None:
    page = make.page(px.load("two_link"))
    _, console, _ = browsed(
        page.replace("</body>", "<script>fetch('https://localhost/x')</script></body>"), tmp_path
    )
    assert "Content Security Policy" in console


def test_a_page_needs_joints_of_one_coordinate_each(make: ModuleType) -> None:
    with pytest.raises(px.PhalanxError, match="sliders need one each"):
        make.page(px.tree(3, seed=1, joints=("spherical",)))


def test_the_page_names_no_address_but_its_own_data(make: ModuleType) -> None:
    page = make.page(px.load("two_link"))
    assert not re.findall(r"https?://", page)
    assert "default-src 'none'" in page
    inner = re.search(r"const page = (\{.*?\});\n", page)
    assert inner is not None
    assert json.loads(inner[1])["dt"] == make.DT
