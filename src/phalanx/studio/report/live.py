# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The robot's functions in WebAssembly, for sliders that compute in the page."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...backends.native.lowering import operations_in_loops
from ...dispatch import resolve
from ...errors import PhalanxError
from ...export import wasm
from ...export.entries import entries
from ...export.request import Request
from ...robot.robot import Robot

FUNCTIONS = ("forward_kinematics", "gravity_forces", "inverse_dynamics", "mass_matrix")
STEP = 1e-3  # seconds of a step of the simulation
_MOST_OPERATIONS = 400_000  # of one function, beyond which a slider would lag
_MOST_FREEDOM = 60  # degrees of freedom of a step, which is written out
_STEM = "robot"


@dataclass(frozen=True)
class Live:
    """Functions that run in the page: the module, and the script that calls it."""

    functions: tuple[str, ...]
    module: str  # base64
    script: str  # JavaScript: an expression that gives `load` and `info`
    seconds: float = STEP


def live(robot: Robot) -> Live | None:
    """The functions of the robot for the page; None for a robot that does not move, or none compiles."""
    wanted = [name for name in FUNCTIONS if robot.nv and _is_short(robot, name)]
    if not wanted:
        return None
    functions: list[object] = list(wanted)
    if robot.nv <= _MOST_FREEDOM:
        functions.append(robot.simulation(dt=STEP, integrator="implicit"))
    try:
        request = Request(robot, entries(robot, functions), Path(f"{_STEM}.wasm"), np.dtype("float64"))
        files = wasm.files(request)
    except PhalanxError:  # a step that cannot be written out; the rest can
        request = Request(robot, entries(robot, wanted), Path(f"{_STEM}.wasm"), np.dtype("float64"))
        files = wasm.files(request)
    module, script = files[f"{_STEM}.wasm"], files[f"{_STEM}.mjs"]
    assert isinstance(module, bytes)
    assert isinstance(script, str)
    names = tuple(entry.name for entry in request.entries)
    return Live(names, base64.b64encode(module).decode("ascii"), _enclosed(script))


def _is_short(robot: Robot, function: str) -> bool:
    return operations_in_loops(resolve(robot, function, "auto")) <= _MOST_OPERATIONS


def _enclosed(script: str) -> str:
    """A module's text as an expression, so that its names are its own.

    Its comments hold the robot's name, which may look like the end of a script: they stay behind.
    """
    body = re.sub(r"^export (?=const|async function|function|class)", "", script, flags=re.MULTILINE)
    body = re.sub(r"^\s*//.*\n", "", body, flags=re.MULTILINE)
    return f"(() => {{\n{body}\nreturn {{ load, info }};\n}})()"
