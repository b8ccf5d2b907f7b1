# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled programs as gufuncs, and what to compare them with."""

from __future__ import annotations

from typing import Any

import numpy as np

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FUNCTIONS
from phalanx.backends.native import compile, gufunc, loop
from phalanx.backends.native.compile import Target, host
from phalanx.backends.native.emit.codegen import block_function
from phalanx.dispatch import resolve
from phalanx.program.rolled import RolledProgram, roll
from phalanx.program.task import refusal_of_loops
from reference.sampling import conditioning

PRECISIONS = {np.float64: "double", np.float32: "float"}


def program(robot: px.Robot, function: str, algorithm: Any, optional: tuple[str, ...] = ()) -> RolledProgram:
    """The rolled program of a function, for the last frame of the robot if it wants one."""
    return roll(resolve(robot, function, algorithm, frame_of(robot, function)).task(optional))


def has_loops(robot: px.Robot, function: str, algorithm: str) -> bool:
    return not refusal_of_loops(ALGORITHMS[function][algorithm], robot.model)


def frame_of(robot: px.Robot, function: str) -> str | None:
    return list(robot.frames)[-1] if FUNCTIONS[function].frame else None


_made: dict[tuple[str, ...], tuple[Any, ...]] = {}  # gufuncs by their text, with what they point to


def kernel(rolled: RolledProgram, dtype: Any = np.float64, target: Target | None = None) -> Any:
    """The gufunc of a rolled program, compiled once for all tests of this process."""
    target = target or host()
    element, outputs = PRECISIONS[dtype], len(rolled.layout.outputs)
    shapes = [*rolled.layout.inputs.values(), *rolled.layout.outputs.values()]
    block, declarations, scratch = block_function(
        rolled.built(target.lanes(np.dtype(dtype).itemsize)), target, element
    )
    text = loop.module_text(block, declarations, shapes, element, target, scratch, outputs=outputs)
    key = (text, str(target))
    if key in _made:
        return _made[key][0]
    loaded = compile.load(compile.object_code(text, target))
    sizes = ["(" + ",".join(map(str, s)) + ")" for s in shapes]
    signature = ",".join(sizes[:-outputs]) + "->" + ",".join(sizes[-outputs:])
    counts = (len(shapes) - outputs, outputs)
    made, needs = gufunc.make_gufunc("rolled", "", signature, counts, [(np.dtype(dtype), loaded.loop)])
    _made[key] = (made, loaded, needs)
    return made


def states(robot: px.Robot, function: str, count: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Random inputs of a function."""
    return tuple(robot.random_state(count, rng=seed)[: len(FUNCTIONS[function].inputs)])


def reference(robot: px.Robot, function: str, algorithm: Any, *inputs: Any, **optional: Any) -> Any:
    """What the NumPy backend gives."""
    frame = frame_of(robot, function)
    named = {} if frame is None else {"frame": frame}
    method = getattr(robot, function)
    return method(*inputs, **named, **optional, algorithm=algorithm, backend="numpy")


def tolerance(robot: px.Robot, function: str, q: np.ndarray) -> float:
    if not FUNCTIONS[function].inverts:
        return 1e-13
    masses = robot.mass_matrix(q, backend="numpy")
    if not FUNCTIONS[function].full_rank:
        return 1e-13 + 1e-14 * conditioning(masses)
    J = robot.jacobian(q, frame_of(robot, function), backend="numpy")
    shown = np.linalg.cond(J @ np.linalg.solve(masses, np.swapaxes(J, -1, -2))).max()
    return 1e-13 + 1e-15 * conditioning(masses) * float(shown)


def block_lines(robot: px.Robot, function: str, algorithm: Any) -> tuple[int, int]:
    """Number of lines of text and bytes of scratch of a rolled program."""
    return lines_of(program(robot, function, algorithm))


def lines_of(rolled: RolledProgram) -> tuple[int, int]:
    text, _, scratch = block_function(rolled.built(host().lanes(8)), host(), "double")
    return text.count("\n"), scratch
