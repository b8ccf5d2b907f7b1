# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The reference: the equations run on NumPy arrays, all states of a block at once."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..robot.model import Model
from ..robot.robot import Robot
from ..sweeps.orders.sequential import Sequential
from ..sweeps.verbs import ordering
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
        if "frame" in arguments:
            arguments["frame"] = arguments["frame"].map(lambda array: array.astype(out.dtype))
        core = call.sizes(call.function.output)
        batch = out.shape[: out.ndim - len(core)]
        count = int(np.prod(batch))
        target = out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)
        rows = target.reshape((count, *core))
        f = call.function
        sizes = [call.sizes(s) for s in f.inputs.values()]
        flat = [_rows(x, s, batch, out) for x, s in zip(inputs, sizes, strict=True)]
        more = {k: _rows(v, call.sizes(f.optional[k]), batch, out) for k, v in optional.items()}
        size = max(1, _BLOCK // max(model.n, 1))
        with ordering(order), np.errstate(all="ignore"):
            for start in range(0, count, size):
                part = slice(start, start + size)
                rows[part] = call.algorithm(
                    model, *(x[part] for x in flat), **{k: v[part] for k, v in more.items()}, **arguments
                )
        if target is not out:
            out[...] = target


def _rows(array: np.ndarray, core: tuple[int, ...], batch: tuple[int, ...], out: np.ndarray) -> np.ndarray:
    """The array with one batch axis, in the output's precision and apart from the output."""
    wide = np.broadcast_to(array, (*batch, *core))
    rows = wide.reshape((math.prod(batch), *core)).astype(out.dtype, copy=False)
    return rows.copy() if np.may_share_memory(rows, out) else rows


def model_in(robot: Robot, dtype: np.dtype) -> Model:
    """The robot's model with arrays of that dtype."""
    if dtype == np.float64:
        return robot.model
    model: Model = robot.memo(("model", dtype.str), lambda: robot.model.cast(lambda a: a.astype(dtype)))
    return model


BACKEND = NumpyBackend()
