# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of the dynamics on JAX by the analytic algorithms in place of XLA's own differentiation.

A rule gives the change of a result along changes of its inputs: matrices of derivatives, from their own
algorithm in a common frame, times these changes. It is linear in them, so JAX transposes it for reverse
mode, and it consists of JAX's operations, so JAX differentiates it again for second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero

from ...algorithms import ALGORITHMS, Algorithm
from ...robot.assembly import Coordinates
from ...robot.model import Model
from ..base import Call
from .arrays import EXACT, JaxArray, unwrap
from .common import Common, posed
from .levels import JaxLevels
from .one_state import run_text

# Degrees of freedom up to which "auto" takes matrices: their size grows with the square of that number,
# products by XLA's own differentiation do not (docs/jax.md).
MOST = 16

# The function whose results are the derivatives of another one with respect to its inputs.
RULES = {
    "inverse_dynamics": "inverse_dynamics_derivatives",
    "bias_forces": "inverse_dynamics_derivatives",
    "gravity_forces": "inverse_dynamics_derivatives",
    "forward_dynamics": "forward_dynamics_derivatives",
}

Parameters = Mapping[str, Any] | None
Value = Callable[[dict[str, Any], Parameters], tuple[Any, ...]]


def has_rule(call: Call, given: Iterable[str]) -> bool:
    """Whether there is a rule for the derivatives of a call with these inputs."""
    if call.function.name not in RULES or not call.robot.nv:
        return False
    return set(given) <= {*call.function.inputs, *_first(RULES[call.function.name]).served.optional}


def ruled(
    call: Call, order: type[JaxLevels], dtype: Any, value: Value, model_of: Callable[[Parameters], Model]
) -> Value:
    """The function of one state, and of parameters of the robot, with derivatives by its rule."""
    f = call.function
    slopes = _first(RULES[f.name])

    def derivative(primals: Any, tangents: Any) -> Any:
        (arrays, parameters), (changes, drift) = primals, tangents
        result = whole(arrays, parameters)
        model = model_of(parameters)
        optional = {name: a for name, a in arrays.items() if name not in f.inputs}
        rest = dict.fromkeys(slopes.served.inputs, jnp.zeros(call.robot.nv, dtype))  # accelerations, rates
        walk, common = order(model.parents, model.pattern), Common(model)
        still = posed(model, JaxArray(arrays["q"]), walk)
        matrices = run_text(slopes, still, common, dtype, rest | arrays)
        total = jnp.zeros_like(result[0])
        for name, matrix in zip(slopes.served.inputs, matrices, strict=True):
            if name in f.inputs and not isinstance(change := changes[name], SymbolicZero):
                rate = rates_of(arrays["q"], change, call.robot._coordinates) if name == "q" else change
                total = total + jnp.matmul(matrix, rate, precision=EXACT)

        def forces(optional: dict[str, Any], parameters: Parameters) -> Any:
            """What wrenches, inertias and parameters change: the forces, at the same accelerations."""
            if not f.inverts:
                return value(arrays | optional, parameters)[0]
            motion = {"q": arrays["q"], "qd": arrays["qd"], "qdd": result[0]}
            text = _first("inverse_dynamics")
            return run_text(text, model_of(parameters), walk, dtype, motion | optional)[0]

        others = {name: changes[name] for name in optional}
        more = _along(forces, (optional, parameters), (others, drift))
        if more is not None and f.inverts:
            more = -jnp.matmul(matrices[-1], more, precision=EXACT)
        return result, (total if more is None else total + more,)

    whole = jax.custom_jvp(value)
    whole.defjvp(derivative, symbolic_zeros=True)
    return whole


def rates_of(q: Any, change: Any, coordinates: Iterable[Coordinates]) -> Any:
    """Changes of all coordinates as rates, in the tangent space of q."""
    parts = [c.kind.rates_of(JaxArray(q[c.q]), JaxArray(change[c.q])) for c in coordinates]
    return jnp.concatenate([unwrap(part) for part in parts])


def _along(f: Callable[..., Any], inputs: Any, changes: Any) -> Any:
    """The change of f along those inputs that change, by XLA's own differentiation; None if none does."""
    values, shape = jax.tree_util.tree_flatten(inputs)
    slopes = jax.tree_util.tree_leaves(changes, is_leaf=lambda x: isinstance(x, SymbolicZero))
    at = [k for k, slope in enumerate(slopes) if not isinstance(slope, SymbolicZero)]
    if not at:
        return None

    def of_these(*some: Any) -> Any:
        mixed = dict(enumerate(values)) | dict(zip(at, some, strict=True))
        return f(*jax.tree_util.tree_unflatten(shape, list(mixed.values())))

    return jax.jvp(of_these, [values[k] for k in at], [slopes[k] for k in at])[1]


def _first(function: str) -> Algorithm:
    return next(iter(ALGORITHMS[function].values()))
