# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The reference: the equations run on NumPy arrays, all states of a block at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..program.task import Call
from ..robot.model import Model
from ..robot.robot import Robot
from ..sweeps.orders.segments import CutChain
from ..sweeps.orders.sequential import Sequential
from ..sweeps.verbs import ordering
from .base import Backend

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
        outs: tuple[np.ndarray, ...],
        threads: int,
    ) -> None:
        dtype = outs[0].dtype
        model = model_in(call.robot, dtype)
        order = call.robot._memoized("sequential", lambda: Sequential(model.parents, model.pattern))
        parts = (
            None if call.segments is None or call.is_matrix else order.segments(call.segments, model.links)
        )
        arguments = call.arguments()
        if "frame" in arguments:
            arguments["frame"] = arguments["frame"].map(lambda array: array.astype(dtype))
        cores = list(call.output_sizes().values())
        batch = outs[0].shape[: outs[0].ndim - len(cores[0])]
        count = int(np.prod(batch))
        targets = [out if out.flags.c_contiguous else np.empty(out.shape, dtype) for out in outs]
        rows = [target.reshape((count, *core)) for target, core in zip(targets, cores, strict=True)]
        f = call.function
        sizes = [call.sizes(s) for s in f.inputs.values()]
        flat = [_rows(x, s, batch, outs) for x, s in zip(inputs, sizes, strict=True)]
        more = {k: _rows(v, call.sizes(f.optional[k]), batch, outs) for k, v in optional.items()}
        compute = _differentiated(call, tuple(more)) if call.algorithm.derivative else call.algorithm
        size = max(1, _BLOCK // max(model.n, 1))
        with ordering(order if parts is None else CutChain(parts)), np.errstate(all="ignore"):
            for start in range(0, count, size):
                part = slice(start, start + size)
                given = {k: v[part] for k, v in more.items()}
                made = compute(model, *(x[part] for x in flat), **given, **arguments)
                for target, result in zip(rows, made if len(outs) > 1 else (made,), strict=True):
                    target[part] = result
        spread([*flat, *more.values()], rows)
        for out, target in zip(outs, targets, strict=True):
            if target is not out:
                out[...] = target


def spread(inputs: Iterable[np.ndarray], outputs: Iterable[np.ndarray]) -> None:
    """Make NaN of the results of each state whose inputs are not all finite; arrays are rows of states.

    Equations lose a NaN where its number does not matter; compiled code has `program/passes/nonfinite.py`.
    """
    finite = [np.isfinite(x).all(axis=tuple(range(1, x.ndim))) for x in inputs]
    if finite and not np.all(good := np.logical_and.reduce(finite)):
        for rows in outputs:
            rows[~good] = np.nan


def _rows(
    array: np.ndarray, core: tuple[int, ...], batch: tuple[int, ...], outs: tuple[np.ndarray, ...]
) -> np.ndarray:
    """The array with one batch axis, in the outputs' precision and apart from them."""
    wide = np.broadcast_to(array, (*batch, *core))
    rows = wide.reshape((math.prod(batch), *core)).astype(outs[0].dtype, copy=False)
    return rows.copy() if any(np.may_share_memory(rows, out) for out in outs) else rows


def _differentiated(call: Call, optional: tuple[str, ...]) -> Callable[..., Any]:
    """The function of a model and arrays that a derivative is: its scalar program, on arrays of states."""
    if not call.robot.model.n:  # no input has a number along which a result could change
        shapes = list(call.output_sizes().values())
        return lambda model, *inputs, **more: (
            [np.zeros((len(inputs[0]), *s)) for s in shapes] if len(shapes) > 1 else 0.0
        )
    from ..program.interpret import program_on_arrays  # traces
    from ..program.trace import trace

    key = ("scalar program", call.function.name, call.algorithm.name, call.options, call.frame, optional)
    program = call.robot._memoized(key, lambda: trace(call.task(optional)))

    def compute(model: Model, *inputs: np.ndarray, **more: Any) -> Any:
        arrays = dict(zip(call.function.inputs, inputs, strict=True))
        return program_on_arrays(program, arrays | {name: more[name] for name in optional})

    return compute


def model_in(robot: Robot, dtype: np.dtype) -> Model:
    """The robot's model with arrays of that dtype."""
    if dtype == np.float64:
        return robot.model
    model: Model = robot._memoized(("model", dtype.str), lambda: robot.model.cast(lambda a: a.astype(dtype)))
    return model


BACKEND = NumpyBackend()
