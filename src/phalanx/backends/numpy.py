# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The reference: the equations run on NumPy arrays, all states of a block at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..model import Model
from ..robot import Robot
from ..schedule.sequential import Sequential
from ..sweeps import ordering
from .base import Backend, Call

# Body values per block: large enough to hide Python's overhead, small enough for the cache.
_BLOCK = 1 << 15


class NumpyBackend(Backend):
    """Blocks of states, one level of the tree after another."""

    name = "numpy"

    def run(
        self,
        call: Call,
        inputs: list[np.ndarray],
        optional: Mapping[str, np.ndarray],
        out: np.ndarray,
        threads: int,
    ) -> None:
        model = model_in(call.robot, out.dtype)
        order = call.robot.memo("sequential", lambda: Sequential(model.parents, model.pattern))
        arguments = call.arguments()
        if "X_f_b" in arguments:
            arguments["X_f_b"] = arguments["X_f_b"].map(lambda array, _: array.astype(out.dtype))
        size = max(1, _BLOCK // max(model.n, 1))
        with ordering(order), np.errstate(all="ignore"):
            for start in range(0, len(out), size):
                part = slice(start, start + size)
                more = {k: v[part] for k, v in optional.items()}
                out[part] = call.algorithm(model, *(x[part] for x in inputs), **more, **arguments)


def model_in(robot: Robot, dtype: np.dtype) -> Model:
    """The robot's model with arrays of that dtype."""
    if dtype == np.float64:
        return robot.model
    model: Model = robot.memo(("model", dtype.str), lambda: robot.model.cast(lambda a: a.astype(dtype)))
    return model


BACKEND = NumpyBackend()
