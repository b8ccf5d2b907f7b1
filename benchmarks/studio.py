# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How quick is the page of `phalanx studio`? In headless Chromium with software rendering, the worst case.

    python benchmarks/studio.py [ROBOT]

Times are those of the page itself: until the robot's picture is there, from a key on a slider to new torques on
screen, and pictures a second of a simulation, both of numbers and of the 3D view. Needs Playwright and Chromium.
Of keys without a pause, the client itself sends one in 50 ms.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time

from machine import conditions
from playwright.sync_api import sync_playwright

import phalanx as px
from phalanx.studio.page import Page

FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking"]
WATCH = """() => {
  window.said = []; window.drawn = 0;
  new MutationObserver(() => window.said.push(performance.now())).observe(
    document.body, {subtree: true, childList: true, characterData: true});
  const count = () => {window.drawn += 1; requestAnimationFrame(count)}; requestAnimationFrame(count);
}"""
# From a key to the first change of the table of torques.
KEY = """() => new Promise(done => {
  const table = document.querySelector("[data-name=gravity]").parentElement;
  const start = performance.now();
  const watch = new MutationObserver(() => {watch.disconnect(); done(performance.now() - start)});
  watch.observe(table, {subtree: true, childList: true, characterData: true});
  const handle = document.querySelectorAll("[role=slider]")[1];
  handle.focus();
  handle.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
})"""


def main() -> None:
    """Print the figures of one robot."""
    robot = sys.argv[1] if len(sys.argv) > 1 else "panda"
    print(f"{conditions()}; {robot}")
    begin = time.perf_counter()
    page = Page(px.visuals(robot))
    print(f"page ready after {time.perf_counter() - begin:.2f} s")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or shutil.which("chromium"), args=FLAGS
        )
        tab = chromium.new_page(viewport={"width": 1366, "height": 768})
        tab.set_default_timeout(120_000)
        begin = time.perf_counter()
        tab.goto(page.address)
        tab.wait_for_selector("[data-name=gravity]")
        tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        print(f"first picture after {time.perf_counter() - begin:.2f} s")
        tab.evaluate(WATCH)
        for shadows in (False, True):
            page._lit(shadows)
            page.session.reset()
            page.robot_view.follow()
            page.refresh()
            tab.wait_for_timeout(1500)
            for pause, rhythm in ((500, "after a rest"), (100, "ten a second"), (0, "without a pause")):
                times = []
                for _ in range(10):
                    tab.wait_for_timeout(pause)
                    times.append(tab.evaluate(KEY))
                middle, worst = statistics.median(times), max(times)
                print(f"shadows {shadows}: key to torques {middle:.0f} ms (worst {worst:.0f}), {rhythm}")
            page.dynamics_view._start()
            tab.wait_for_timeout(1500)
            steps, frames = page.dynamics_view.run.steps, tab.evaluate("window.drawn")
            begin = time.perf_counter()
            tab.wait_for_timeout(4000)
            wall = time.perf_counter() - begin
            done = (page.dynamics_view.run.steps - steps) / 33 / wall
            drawn = (tab.evaluate("window.drawn") - frames) / wall
            page.dynamics_view.halt()
            print(f"  simulation: {done:.1f} states a second sent, {drawn:.1f} pictures a second drawn")
        chromium.close()
    page.close()


if __name__ == "__main__":
    main()
