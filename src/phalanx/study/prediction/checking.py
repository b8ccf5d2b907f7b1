# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Errors of calls in some states, quickly: against the reference in the longest floats of the machine.

`phalanx.accuracy` counts in as many digits as asked for and takes its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...algorithms import functions_algorithms
from ...backends.base import Call
from ...robot.robot import Robot
from ...sweeps.orders.sequential import Sequential
from ...sweeps.verbs import ordering


def exact(robot: Robot, function: str, inputs: Sequence[np.ndarray], frame: str | None = None) -> Any:
    """The function by its first algorithm that covers the robot, in extended precision if there is any.

    Where the longest floats are the usual ones, or a routine knows no others, it is the float64 result.
    """
    first = next(a for a in functions_algorithms(function).values() if not a.refusal(robot))
    for kind in (np.longdouble, np.float64):
        model = robot.model.cast(lambda array, kind=kind: array.astype(kind))
        more = Call(robot, first, frame).arguments()
        if frame is not None:
            more["frame"] = more["frame"].map(lambda array, kind=kind: array.astype(kind))
        with ordering(Sequential(model.parents, model.pattern)), np.errstate(all="ignore"):
            try:
                return first(model, *(np.asarray(x, kind) for x in inputs), **more)
            except TypeError:  # dense factors are had from LAPACK, which knows float64
                continue
    raise AssertionError("NumPy computes in float64")


def is_extended() -> bool:
    """Whether this machine has floats longer than 64 bits."""
    return bool(np.finfo(np.longdouble).eps < np.finfo(np.float64).eps)


def relative_error(found: Any, right: Any) -> float:
    """The largest error of a state over its largest entry; infinite where something is not finite.

    Of several results each has its own largest entry.
    """
    if isinstance(right, tuple):
        return max(relative_error(one, other) for one, other in zip(found, right, strict=True))
    found, right = np.asarray(found), np.asarray(right)
    if right.size == 0:
        return 0.0
    count = len(right)
    found, right = np.reshape(found, (count, -1)), np.reshape(right, (count, -1))
    size = np.abs(right).max(axis=1, initial=0.0)
    size[size == 0.0] = 1.0
    error = np.abs(found - right).max(axis=1, initial=0.0) / size
    return float(error.max(initial=0.0)) if np.isfinite(error).all() else float("inf")
