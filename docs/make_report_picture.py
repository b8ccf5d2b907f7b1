# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Draws docs/report.png: the report of a Panda in headless Chromium, while a schedule plays.

Needs the packages playwright and pillow, and a Chromium: `python docs/make_report_picture.py [CHROMIUM]`.
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import phalanx as px

FLAGS = ["--no-sandbox", "--disable-background-networking", "--enable-unsafe-swiftshader"]
TARGET = Path(__file__).with_name("report.png")


def main() -> None:
    """Write the picture."""
    chromium = sys.argv[1] if len(sys.argv) > 1 else shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        page_file = px.report(px.load("panda"), Path(folder) / "panda.html", quick=True).path
        browser = p.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1360, "height": 820})
        page.goto(page_file.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        for k, value in enumerate((0.4, 0.5, -0.3, -1.9, 0.2, 2.0)):
            page.locator(f"#slider{k}").evaluate(
                "(e, x) => { e.value = x; e.dispatchEvent(new Event('input')); }", value
            )
        page.evaluate("document.getElementById('parallel').scrollIntoView({ behavior: 'instant' })")
        page.locator("#scrub").evaluate("e => { e.value = 0.31; e.dispatchEvent(new Event('input')); }")
        page.wait_for_timeout(300)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture.quantize(200, dither=Image.Dither.NONE).save(TARGET, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
