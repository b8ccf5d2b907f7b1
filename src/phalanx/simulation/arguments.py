# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What users pass to a simulation, checked: states, inputs over time, parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import MOST_AXES
from ..errors import PhalanxError, nearest, shown
from ..robot.configurations import real_array
from .step import Settings


@dataclass(frozen=True)
class Arguments:
    """Arrays as compiled code takes them, and the batch to which they broadcast."""

    q: np.ndarray
    qd: np.ndarray
    inputs: np.ndarray  # (…, rows, k)
    parameters: np.ndarray  # (…, all of them)
    batch: tuple[int, ...]
    hold: int


def checked(
    where: str, s: Settings, dtype: np.dtype, q: Any, qd: Any, inputs: Any, parameters: Any, steps: int
) -> Arguments:
    """The arguments of a rollout, or an error that says what is wrong."""
    robot = s.robot
    state = [
        _array(f"{where}: {label}", robot.name, value, (size,), f"{symbol} = {size}")
        for label, value, size, symbol in (("q", q, robot.nq, "nq"), ("qd", qd, robot.nv, "nv"))
    ]
    if any(c.kind.quaternion is not None for c in robot.coordinates):
        state[0] = robot.normalize(state[0])
    given = _inputs(where, s, inputs, steps)
    packed = _parameters(where, s, parameters)
    arrays = {"q": (state[0], 1), "qd": (state[1], 1), "inputs": (given, 2), "parameters": (packed, 1)}
    batches = {name: a.shape[: a.ndim - core] for name, (a, core) in arrays.items()}
    try:
        batch = np.broadcast_shapes(*batches.values())
    except ValueError:
        told = ", ".join(f"{n} {b}" for n, b in batches.items())
        raise PhalanxError(
            f'{where}: the batch shapes for robot "{robot.name}" do not broadcast: {told}.'
        ) from None
    if len(batch) > MOST_AXES:
        raise PhalanxError(f"{where}: {len(batch)} batch axes, expected at most {MOST_AXES}; reshape them.")
    plain = [_plain(a, core, dtype) for a, core in arrays.values()]
    return Arguments(plain[0], plain[1], plain[2], plain[3], batch, steps // given.shape[-2])


def _array(where: str, robot: str, value: Any, size: tuple[int, ...], told: str) -> np.ndarray:
    array = real_array(value, where, robot)
    if array.ndim < len(size) or array.shape[array.ndim - len(size) :] != size:
        wanted = ", ".join(["…", *map(str, size)])
        raise PhalanxError(f'{where} has shape {array.shape}, expected ({wanted}) for robot "{robot}" ({told}).')
    return array


def _inputs(where: str, s: Settings, inputs: Any, steps: int) -> np.ndarray:
    if inputs is None:
        return np.zeros((1, s.inputs))
    k = s.inputs
    array = real_array(inputs, f"{where}: inputs", s.robot.name)
    if array.ndim == 0 or array.shape[-1] != k:
        raise PhalanxError(
            f"{where}: inputs have shape {array.shape}, expected ({k},) or (…, T, {k}): this simulation of "
            f'robot "{s.robot.name}" takes {k} numbers a step; `robot.simulation(inputs=…)` changes that.'
        )
    if array.ndim == 1:
        return array[None]
    rows = array.shape[-2]
    if rows == 0 or steps % rows:
        raise PhalanxError(
            f"{where}: inputs have shape {array.shape}: {rows} rows do not divide {steps} steps; expected "
            f"(…, T, {k}) where T divides the steps. What is constant for each simulation has T = 1: "
            "inputs[..., None, :]."
        )
    return array


def _parameters(where: str, s: Settings, given: Any) -> np.ndarray:
    if given is not None and not isinstance(given, Mapping):
        raise PhalanxError(f"{where}: parameters is {shown(given)}, expected a mapping of names to arrays.")
    given = dict(given or {})
    for name in given:
        if name not in s.parameters:
            raise PhalanxError(
                f"{where}: the simulation has no parameter {shown(name)};"
                f"{nearest(name, s.parameters, what='parameters') if s.parameters else ''}"
                " `robot.simulation(parameters={…})` declares them."
            )
    if not s.parameters:
        return np.zeros(0)
    if missing := [name for name in s.parameters if name not in given]:
        raise PhalanxError(f"{where}: the parameter {missing[0]!r} is missing; pass parameters={{…}}.")
    arrays = []
    for name, shape in s.parameters.items():
        array = _array(f"{where}: parameter {name!r}", s.robot.name, given[name], shape, "as declared")
        arrays.append(array.reshape((*array.shape[: array.ndim - len(shape)], int(np.prod(shape)))))
    try:
        batch = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    except ValueError:
        told = ", ".join(f"{n} {a.shape[:-1]}" for n, a in zip(s.parameters, arrays, strict=True))
        raise PhalanxError(f"{where}: the batch shapes of parameters do not broadcast: {told}.") from None
    return np.concatenate([np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays], axis=-1)


def _plain(array: np.ndarray, core: int, dtype: np.dtype) -> np.ndarray:
    """An array of just that dtype whose last axes lie one number after another."""
    if array.dtype != dtype or type(array) is not np.ndarray or not array.flags.aligned:
        array = np.array(array, dtype, subok=False)
    step = dtype.itemsize
    for n, stride in zip(array.shape[::-1][:core], array.strides[::-1][:core], strict=True):
        if n > 1 and stride != step:
            return np.ascontiguousarray(array)
        step *= n
    return array


def whole_number(value: Any, where: str, least: int = 1) -> int:
    """A whole number of steps, or an error."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise PhalanxError(f"{where}: got {shown(value)}, expected a whole number from {least} on.")
    return int(value)
