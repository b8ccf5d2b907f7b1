# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Journeys from a user's call to its result: the pages name and count the modules that run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from reference.journeys import modules_of

ROOT = Path(__file__).parents[1]
FIRST_CALL_PAGE = ROOT / "docs" / "explain" / "first_call.md"
COUNTED = {  # journeys in ARCHITECTURE.md
    "first call": "first call of `robot.inverse_dynamics`",
    "rollout": "first rollout of a simulation",
    "export": "`phalanx export panda -o arm.h`",
    "run": "`phalanx run panda recording.npz -o torques.npz -f inverse_dynamics`",
}
# The modules of each journey: these numbers only shrink.
FEWEST = {"first call": 35, "rollout": 51, "export": 49, "run": 62}
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
    """The modules in the drawing of the first call."""
    page = FIRST_CALL_PAGE.read_text(encoding="utf-8")
    return [name.replace("/", ".") for name in re.findall(r"(?m)^ {4} *([a-z_/]+)  ", page)]


def test_the_first_call_runs_the_modules_that_are_drawn(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL.format(folder=str(tmp_path))],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    touched = [name for name in done.stdout.split() if not f"{name}.".startswith(MATHEMATICS)]
    assert sorted(drawn()) == sorted(touched)


def test_the_drawing_is_short() -> None:
    assert len(drawn()) == len(set(drawn())) <= FEWEST["first call"]


@pytest.mark.parametrize("journey", COUNTED)
def test_the_architecture_page_counts_the_modules_of_a_journey(journey: str) -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (printed,) = re.findall(rf"(?m)^\| {re.escape(COUNTED[journey])} \| (\d+) \|$", page)
    assert len(modules_of(journey)) == int(printed) <= FEWEST[journey]
