# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.jax.native`: compiled kernels called back from programs of JAX on the host.

The value comes from the native kernel, derivatives from the equations on JAX.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...algorithms import FUNCTIONS
from ...program.task import Call
from ...robot.robot import Robot
from ...typing import ArrayLike
from ..array_functions import ArrayFunctions
from ..signatures import JAX_NATIVE, Parameters, declare


class NativeFunctions(ArrayFunctions[ArrayLike, jax.Array]):
    """Functions of one robot by native kernels, under `jit`, `vmap`, `grad` and `jvp`; CPU only.

    These are all functions with one result and without a frame; they take no options.
    """

    def __init__(self, robot: Robot, functions: Any) -> None:
        self.robot = robot
        self._functions = functions
        self._made: dict[str, Any] = {}

    def evaluate(self, function: str, inputs: tuple[Any, ...]) -> Any:
        """Evaluate a function of the robot for arrays in the order of its inputs."""
        call, arrays, dtype = self._functions.checked(function, inputs)
        key = f"{function} {dtype}"
        if key not in self._made:
            self._made[key] = self._make(call, dtype)
        return self._made[key](*arrays)

    def _make(self, call: Call, dtype: Any) -> Any:
        name, robot = call.function.name, self.robot
        size = next(iter(call.output_sizes().values()))

        def host(*arrays: Any) -> np.ndarray:
            return np.asarray(getattr(robot, name)(*map(np.asarray, arrays)), dtype)

        def kernel(*arrays: Any) -> Any:
            batch = jnp.broadcast_shapes(*(a.shape[:-1] for a in arrays))
            shape = jax.ShapeDtypeStruct((*batch, *size), dtype)
            return jax.pure_callback(host, shape, *arrays, vmap_method="expand_dims")

        def derivative(primals: Any, tangents: Any) -> Any:
            _, change = jax.jvp(getattr(self._functions, name), primals, tangents)
            return value(*primals), change

        value = jax.custom_jvp(kernel)
        value.defjvp(derivative)
        return value


def _method(parameters: Parameters) -> Any:
    """The method of `NativeFunctions` for a registered function."""

    def method(self: NativeFunctions, *given: Any, **options: Any) -> Any:
        inputs, _ = parameters.arguments(given, options)
        return self.evaluate(parameters.function.name, tuple(inputs.values()))

    return method


_PLAIN = [f for f in FUNCTIONS.values() if not f.frame and len(f.outputs) == 1]
declare(NativeFunctions, JAX_NATIVE, _PLAIN, _method)
