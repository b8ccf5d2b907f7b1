# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.jax`: the functions of a robot as pure functions of JAX arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...algorithms import ALGORITHMS, FUNCTIONS
from ...errors import PhalanxError, listing, nearest
from ...model import Model
from ...robot import Robot
from ...sweeps import ordering
from ..base import Call
from .arrays import JaxArray, array, unwrap
from .doubling import Doubling
from .levels import Levels
from .pytrees import each, register_all

ORDERS: dict[str, type[Levels]] = {"sequential": Levels, "doubling": Doubling}

Resolve = Callable[..., Call]


class JaxFunctions:
    """Pure functions of one robot, safe under `jit`, `vmap`, `grad` and `jvp`; any batch shape."""

    def __init__(self, robot: Robot, resolve: Resolve) -> None:
        self.robot = robot
        self._resolve = resolve
        self._compiled: dict[Any, Any] = {}

    def _evaluate(
        self,
        function: str,
        inputs: tuple[Any, ...],
        optional: Mapping[str, Any],
        *,
        frame: str | None = None,
        algorithm: Any = "auto",
        schedule: str = "sequential",
        parameters: Mapping[str, Any] | None = None,
    ) -> Any:
        call = self._resolve(self.robot, function, algorithm, frame)
        f = FUNCTIONS[function]
        given = {k: v for k, v in optional.items() if v is not None}
        arrays, dtype = _checked(call, dict(zip(f.inputs, inputs, strict=True)) | given)
        run = self._compiled_for(call, schedule, dtype)
        return run(arrays)

    def _compiled_for(self, call: Call, schedule: str, dtype: Any) -> Any:
        key = (call.algorithm.function, call.algorithm.name, call.options, call.frame, schedule, np.dtype(dtype).str)
        if key not in self._compiled:
            self._compiled[key] = jax.jit(partial(_run, call, ORDERS[schedule], dtype))
        return self._compiled[key]


def _run(call: Call, order: type[Levels], dtype: Any, arrays: dict[str, Any]) -> Any:
    register_all()
    f = call.function
    model = call.robot.model.cast(lambda a: array(a, dtype))
    arguments = call.arguments()
    if "X_f_b" in arguments:
        arguments["X_f_b"] = each(arguments["X_f_b"], lambda a, _: array(a, dtype))
    symbols = {**f.inputs, **f.optional}
    cores = {k: len(symbols[k]) for k in arrays}
    batch = jnp.broadcast_shapes(*(a.shape[: a.ndim - cores[k]] for k, a in arrays.items()))
    walk = order(model.parents, model.pattern)

    def one(arrays: dict[str, Any]) -> Any:
        wrapped = {k: JaxArray(a) for k, a in arrays.items()}
        inputs = [wrapped.pop(k) for k in f.inputs]
        with ordering(walk):
            return unwrap(call.algorithm(model, *inputs, **wrapped, **arguments))

    return over_batch(one, arrays, cores, batch)


def over_batch(one: Any, arrays: dict[str, Any], cores: dict[str, int], batch: tuple[int, ...]) -> Any:
    """`one` for every state of a batch; arrays without a batch are shared by all states."""
    if not batch:
        return one(arrays)
    axes = {k: 0 if a.ndim > cores[k] else None for k, a in arrays.items()}
    flat = {
        k: a if axes[k] is None else jnp.broadcast_to(a, (*batch, *a.shape[a.ndim - cores[k] :])).reshape(
            (math.prod(batch), *a.shape[a.ndim - cores[k] :]))
        for k, a in arrays.items()
    }
    result = jax.vmap(one, in_axes=(axes,))(flat)
    return result.reshape((*batch, *result.shape[1:]))


def _checked(call: Call, given: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    arrays = {k: jnp.asarray(v) for k, v in given.items()}
    dtype = jnp.result_type(*arrays.values())
    return {k: a.astype(dtype) for k, a in arrays.items()}, dtype
