# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Modules of Phalanx whose functions run on the way from a user's call to its result.

    python tests/reference/journeys.py  # the number of each journey and its modules

Each journey runs twice in a process of its own: first with another robot, so that imports are done; then with
a robot and a cache that nothing is known of, and every module counts of which a function is called.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

_HEAD = """
import os, sys, threading
import numpy as np
import phalanx as px

folder = {folder!r}
touched = dict()

def note(frame, event, called):
    name = frame.f_globals.get("__name__", "")
    if event == "call" and name.startswith("phalanx.") and frame.f_code.co_name != "<module>":
        touched[name.removeprefix("phalanx.")] = None

def journey(name, robot):
"""

_TAIL = """
for name in ("ur5", "panda"):
    os.environ["PHALANX_CACHE_DIR"] = os.path.join(folder, "cache of " + name)
    prepared = prepare(name)
    if name == "panda":
        sys.setprofile(note)
    journey(name, prepared)
    sys.setprofile(None)
print("\\n".join(sorted(touched)))
"""

JOURNEYS = {
    "first call": """
    q = np.zeros(robot.nv)
    robot.inverse_dynamics(q, q, q)

def prepare(name):
    return px.load(name)
""",
    "rollout": """
    q = np.zeros(robot.nv)
    robot.simulation().rollout(q, q, steps=3)

def prepare(name):
    return px.load(name)
""",
    "export": """
    from phalanx.cli import main
    sys.stdout = open(os.devnull, "w")
    assert not main(["export", name, "-o", os.path.join(folder, name + ".h")])
    sys.stdout = sys.__stdout__

def prepare(name):
    return None
""",
    "run": """
    from phalanx.cli import main
    sys.stdout = open(os.devnull, "w")
    source, made = (os.path.join(folder, name + end) for end in (".npz", "_made.npz"))
    assert not main(["run", name, source, "-o", made, "-f", "inverse_dynamics"])
    sys.stdout = sys.__stdout__

def prepare(name):
    robot = px.load(name)
    q, qd, qdd = robot.random_state(20, rng=0)
    np.savez(os.path.join(folder, name + ".npz"), q=q, qd=qd, qdd=qdd)
""",
}


def modules_of(journey: str) -> list[str]:
    """The modules of a journey, by name."""
    with tempfile.TemporaryDirectory() as folder:
        script = _HEAD.format(folder=folder) + JOURNEYS[journey] + _TAIL
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


if __name__ == "__main__":
    for name in JOURNEYS:
        found = modules_of(name)
        print(f"{name}: {len(found)} modules\n  " + "\n  ".join(found))
