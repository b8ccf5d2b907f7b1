# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Makes docs/studio.png from the real page: a schedule that plays on an arm.

    python docs/make_studio.py [PICTURE] [VIEW] [--dark] [--phone]

Needs the extras `studio` and `test`, and Chromium. VIEW is Robot, Dynamics, Parallelism (default) or Compare.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

import phalanx as px
from phalanx.studio.page import Page

POSE = (0.0, -0.5, 0.0, -2.1, 0.0, 1.7, 0.7)
FLAGS = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader", "--disable-background-networking"]
BUTTON = {"Dynamics": "Start", "Parallelism": "Play", "Compare": "Play"}
COLOURS = 128


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", nargs="?", default=str(Path(__file__).with_name("studio.png")))
    parser.add_argument("view", nargs="?", default="Parallelism")
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--phone", action="store_true")
    args = parser.parse_args()
    page = Page(px.visuals(args.robot), dark=args.dark)
    if args.robot == "panda":
        page.session.q = np.array(POSE)
    page.robot_view.follow()
    page.refresh()
    try:
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(
                executable_path=os.environ.get("CHROMIUM") or shutil.which("chromium"), args=FLAGS
            )
            size = {"width": 390, "height": 780} if args.phone else {"width": 1180, "height": 700}
            tab = chromium.new_page(viewport=size)
            tab.set_default_timeout(180_000)
            tab.goto(page.address)
            tab.wait_for_selector("[data-name=gravity]", state="attached")
            if not args.phone:  # where the note that no graphics card draws is hidden
                tab.locator(".mantine-Notification-closeButton").first.click()
            _show(page, tab, args.view)
            shot = tab.screenshot()
            chromium.close()
    finally:
        page.close()
    picture = Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(args.picture, optimize=True)
    print(f"{args.picture}: {os.path.getsize(args.picture) // 1000} kB")


def _show(page: Page, tab: Any, view: str) -> None:
    """Bring a view to the moment of the picture."""
    if view != "Robot":
        tab.get_by_role("tab", name=view).click()
    if view in BUTTON:
        tab.locator("button:visible", has_text=BUTTON[view]).first.click()
    if view == "Parallelism":
        play = page.parallel_view
        while play._part < 0.45:
            time.sleep(0.05)
        play.playing = False
    tab.wait_for_timeout(4000)
    if view == "Compare":
        page.compare_view.playing = False
    tab.wait_for_timeout(2500)


if __name__ == "__main__":
    main()
