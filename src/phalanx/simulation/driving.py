# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where a motion starts and what drives it: a held pose, or the laws of a user's file."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from traceback import extract_tb
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest, shown
from ..reproducible import coarse
from ..robot.robot import Robot

LAW, FORCES = "law", "forces"  # what a file of laws defines
BASE = 6  # degrees of freedom of a floating base, which come first


def middle(robot: Robot) -> np.ndarray:
    """Coordinates (nq,): zero where the limits allow it, else the middle between the limits."""
    lower, upper = robot.limits.lower, robot.limits.upper
    q = robot.neutral()
    outside = (q < lower) | (q > upper)
    bounded = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(invalid="ignore"):  # joints without limits
        q = np.where(outside & bounded, 0.5 * (lower + upper), np.clip(q, lower, upper))
    return np.asarray(q)


def floats(robot: Robot) -> bool:
    """Whether the robot's base moves freely."""
    return "" in robot.q_slices


def holding(robot: Robot, q: np.ndarray, bandwidth: float, feet: list[str]) -> Any:
    """A law that holds the start: PD with gravity compensation, its gains from the inertia at the start."""
    from . import control

    inertia = np.diagonal(robot.mass_matrix(q), axis1=-2, axis2=-1).mean(axis=0)
    if floats(robot):
        for foot in feet:  # its legs move the robot, not only themselves
            moved = robot.jacobian(q, foot)[..., 3:, :]
            inertia = inertia + robot.total_mass / len(feet) * np.sum(moved**2, axis=-2).mean(axis=0)
    inertia, rate = coarse(inertia), 2.0 * math.pi * bandwidth
    law = control.pd(rate * rate * inertia, 2.0 * rate * inertia, gravity=True)
    if not floats(robot):
        return law

    def hold(t: Any, q: Any, qd: Any, u: Any, robot: Any) -> Any:
        """Nothing drives the base."""
        return np.concatenate([np.zeros(BASE), law(t, q, qd, u, robot)[BASE:]])

    hold.controls = robot.nq  # type: ignore[attr-defined]
    return hold


def laws_of(source: str, *, where: str) -> dict[str, Any]:
    """`law` and `forces` of a Python file, or what `file.py:name` names."""
    file, _, name = source.partition(":") if ".py:" in source else (source, "", "")
    module = _module(Path(file), where)
    wanted = name or LAW
    law, forces = getattr(module, wanted, None), getattr(module, FORCES, None)
    if not callable(law) and (name or forces is None):
        there = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        hint = nearest(wanted, there, what="functions there") if there else " it defines no function."
        raise PhalanxError(f"{where}: {file} has no function {wanted}(t, q, qd, u, robot);{hint}")
    options: dict[str, Any] = {"control": law} if callable(law) else {}
    return options | ({FORCES: forces} if forces is not None else {})


def _module(file: Path, where: str) -> Any:
    """The module in a file of the user, which runs once."""
    if not file.is_file():
        raise PhalanxError(f"{where}: there is no file {shown(str(file))}.")
    spec = importlib.util.spec_from_file_location("phalanx_law", file)
    if spec is None or spec.loader is None:
        raise PhalanxError(f"{where}: {file} is no Python file; expected a name that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except PhalanxError:
        raise
    except Exception as error:  # it is the user's code: anything may go wrong in it
        lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == str(file)]
        line = getattr(error, "lineno", None) or (lines[-1] if lines else 0)
        raise PhalanxError(f"{where}: {file}:{line}: {type(error).__name__}: {error}.") from None
    return module
