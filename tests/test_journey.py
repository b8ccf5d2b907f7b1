# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The first call of a method: its way to machine code, module by module, is the one that the page draws."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

PAGE = Path(__file__).parents[1] / "ARCHITECTURE.md"
MOST = 24
# What the equations are about and are written in; they run while a kernel is traced. So do those of a sine.
EQUATIONS = ("robot", "spatial", "sweeps", "algorithms", "program.elementary")
MATHEMATICS = tuple(f"{name}." for name in EQUATIONS)

# Another robot comes first: importing a module runs functions too, but takes nobody anywhere.
FIRST_CALL = """
import os, sys
import numpy as np
import phalanx as px

os.environ["PHALANX_CACHE_DIR"] = {folder!r} + "/warm"
px.load("two_link").inverse_dynamics(*[np.zeros(2)] * 3)
os.environ["PHALANX_CACHE_DIR"] = {folder!r} + "/cold"
robot, q = px.load("ur5"), np.zeros(6)
touched, arrived = dict(), []

def note(frame, event, called):
    if event == "c_call" and type(called.__self__).__name__ == "_State":
        arrived.append(called.__name__)
    name = frame.f_globals.get("__name__", "")
    if event == "call" and not arrived and name.startswith("phalanx."):
        touched[name.removeprefix("phalanx.")] = None

sys.setprofile(note)
robot.inverse_dynamics(q, q, q)
sys.setprofile(None)
assert arrived == ["inverse_dynamics"], arrived
print(*touched)
"""


def drawn() -> list[str]:
    """The modules that the page draws on the way."""
    page = PAGE.read_text(encoding="utf-8")
    start = page.index("## From a method to machine code")
    section = page[start : page.index("\n## ", start + 1)]
    return [name.replace("/", ".") for name in re.findall(r"(?m)^ {4} *([a-z_/]+)  ", section)]


def test_the_first_call_goes_the_way_that_is_drawn(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL.format(folder=str(tmp_path))],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    touched = [name for name in done.stdout.split() if not f"{name}.".startswith(MATHEMATICS)]
    assert sorted(drawn()) == sorted(touched)


def test_the_way_is_short() -> None:
    assert len(drawn()) == len(set(drawn())) <= MOST
