# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of the dynamics on JAX by the analytic algorithms instead of JAX's autodiff.

A rule is a `custom_jvp`: Jacobians, from the function's own derivative algorithm, times the tangents of the
inputs. It is linear in the tangents, so JAX transposes it for reverse mode; it consists of JAX operations, so
JAX differentiates it again for second derivatives. The algorithm runs with all bodies in one common frame
(`CommonFrame`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from ...algorithms import NOTHING, Algorithm, default_algorithm
from ...program.task import Call
from ...robot.assembly import Coordinates
from ...robot.configurations import TANGENT_MAPS
from ...robot.model import Model, joint_kinematics
from ...spatial import Array, Transform, cross, join, matvec, transpose
from ...sweeps.orders.slots import lift
from ...sweeps.verbs import ordering
from .arrays import EXACT, JaxArray, array, unwrap
from .gather_scatter import arrays
from .levels import JaxLevels
from .pytrees import each, merge

# Degrees of freedom up to which "auto" takes Jacobians: their size grows with the square of that number,
# the cost of a product by JAX's autodiff does not (docs/jax.md).
MOST = 16

# Each function, and the one whose results are its Jacobians with respect to its inputs.
RULES = {
    "inverse_dynamics": "inverse_dynamics_derivatives",
    "bias_forces": "inverse_dynamics_derivatives",
    "gravity_forces": "inverse_dynamics_derivatives",
    "forward_dynamics": "forward_dynamics_derivatives",
}

Parameters = Mapping[str, Any] | None
Value = Callable[[dict[str, Any], Parameters], tuple[Any, ...]]


def has_rule(call: Call, given: Iterable[str]) -> bool:
    """Whether a call with these inputs has an analytic rule for its derivatives."""
    if call.function.name not in RULES or not call.robot.nv:
        return False
    return set(given) <= {*call.function.inputs, *_first(RULES[call.function.name]).served.optional}


def ruled(
    call: Call, order: type[JaxLevels], dtype: Any, value: Value, model_of: Callable[[Parameters], Model]
) -> Value:
    """The function of one state and of the robot's parameters, with its analytic rule as `custom_jvp`."""
    f = call.function
    slopes = _first(RULES[f.name])

    def derivative(primals: Any, tangents: Any) -> Any:
        (arrays, parameters), (changes, drift) = primals, tangents
        result = with_rule(arrays, parameters)
        model = model_of(parameters)
        optional = {name: a for name, a in arrays.items() if name not in f.inputs}
        rest = dict.fromkeys(slopes.served.inputs, jnp.zeros(call.robot.nv, dtype))  # accelerations, rates
        levels, common = order(model.parents, model.pattern), CommonFrame(model)
        still = posed(model, JaxArray(arrays["q"]), levels)
        matrices = run_algorithm(slopes, still, common, dtype, rest | arrays)
        total = jnp.zeros_like(result[0])
        for name, matrix in zip(slopes.served.inputs, matrices, strict=True):
            if name in f.inputs and not isinstance(change := changes[name], SymbolicZero):
                coordinates = call.robot._coordinates
                rate = tangent_map(coordinates, "rates_of", arrays["q"], change) if name == "q" else change
                total = total + jnp.matmul(matrix, rate, precision=EXACT)

        def forces(optional: dict[str, Any], parameters: Parameters) -> Any:
            """The joint forces at the same accelerations; `_along` differentiates them."""
            if not f.inverts:
                return value(arrays | optional, parameters)[0]
            motion = {"q": arrays["q"], "qd": arrays["qd"], "qdd": result[0]}
            inverse = _first("inverse_dynamics")
            return run_algorithm(inverse, model_of(parameters), levels, dtype, motion | optional)[0]

        others = {name: changes[name] for name in optional}
        more = _along(forces, (optional, parameters), (others, drift))
        if more is not None and f.inverts:
            more = -jnp.matmul(matrices[-1], more, precision=EXACT)
        return result, (total if more is None else total + more,)

    with_rule = jax.custom_jvp(value)
    with_rule.defjvp(derivative, symbolic_zeros=True)
    return with_rule


def tangent_map(coordinates: Iterable[Coordinates], method: str, q: Any, values: Any) -> Any:
    """Values of coordinates (nq,) as those of rates (nv,) at q, or the reverse, as a map of joint types."""
    of, _ = TANGENT_MAPS[method]
    parts = [getattr(c.kind, method)(JaxArray(q[c.q]), JaxArray(values[getattr(c, of)])) for c in coordinates]
    return jnp.concatenate([unwrap(part) for part in parts])


def _along(f: Callable[..., Any], inputs: Any, changes: Any) -> Any:
    """The tangent of f by `jax.jvp` over the inputs with nonzero tangents; None if there are none."""
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
    return default_algorithm(function)


def run_algorithm(
    algorithm: Algorithm,
    model: Model,
    order: JaxLevels,
    dtype: Any,
    arrays: Mapping[str, Any],
    arguments: Mapping[str, Any] = NOTHING,
) -> tuple[Any, ...]:
    """All results of an algorithm for arrays by name, its sweeps in `order`; `arguments` pass through."""
    wrapped = {name: JaxArray(a) for name, a in arrays.items()}
    inputs = [wrapped.pop(name) for name in algorithm.served.inputs]
    with ordering(order), np.errstate(all="ignore"):  # operations between constants run in NumPy
        made = algorithm(model, *inputs, **wrapped, **arguments)
        return tuple(
            unwrap(array(x, dtype)) for x in (made if len(algorithm.served.outputs) > 1 else (made,))
        )


# ------------------------------------------------------------------- bodies in one frame


class Unmoved(Transform):
    """The identity transform, between bodies that share a frame."""

    def __matmul__(self, other: Any) -> Any:
        return other

    @property
    def T(self) -> Any:
        return self

    def map(self, change: Callable[[Array, int], Array]) -> Unmoved:
        return self


class CommonFrame(JaxLevels):
    """Sweeps over bodies that share one frame: each is a masked sum over ancestors or descendants.

    Algorithms in body frames need an XLA loop over levels for each sweep, which takes long to compile. In a
    common frame there are no transforms between bodies, so a sweep is one matrix product. It costs n * depth
    operations instead of n, and digits where bodies are far apart: meant for arms and humanoids.
    In `pairs` the carried value changes only at the first body of a joint with several bodies.
    """

    def __init__(self, model: Model) -> None:
        super().__init__(model.parents, model.pattern)
        self.joint = model.carrier

    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any:
        own = plus if c is None else c if plus is None else c + plus
        total = each(arrays(own), lambda x, rank: self._summed(x, rank, self.table.above))
        return total if root is None else merge(total, lift(arrays(root)), lambda a, b, _: a + b)

    def accumulate(self, X: Any, c: Any) -> Any:
        return each(arrays(c), lambda x, rank: self._summed(x, rank, self.table.above.T))

    def _summed(self, x: Any, rank: int, of: np.ndarray) -> JaxArray:
        """Sums over bodies; row i of the mask `of` selects the summands of body i."""
        axis = x.ndim - rank - 1
        flat = x.value.reshape((*x.shape[: axis + 1], -1))
        return JaxArray(jnp.matmul(of.astype(x.dtype), flat, precision=EXACT).reshape(x.shape))

    def pairs(
        self,
        start: Array,
        carry: Callable[..., Array],
        emit: Callable[..., Array],
        along: tuple[Any, ...],
        both: bool = False,
    ) -> Array:
        start, along = array(start), arrays(along)
        first = np.searchsorted(self.joint, self.joint)  # the first body of each body's joint
        beyond = carry(start, *_at(along, first))
        entries = emit(beyond[..., :, None, :], *along)
        # Between bodies of one joint the value is not carried: it is the start value.
        same = self.joint[:, None] == self.joint
        row, column = np.nonzero(same)
        pick = np.cumsum(same.ravel()).reshape(same.shape) - 1
        own = emit(start[..., row, :], *_at(along, column))
        wide = (*same.shape, *(1,) * (2 * both))
        entries = jnp.where(
            same.reshape(wide), unwrap(own[(..., pick, *(slice(None),) * (2 * both))]), unwrap(entries)
        )
        return self.both_sides(jnp.moveaxis(entries, -3 if both else -1, -1), both)


def _at(fields: Any, bodies: np.ndarray) -> Any:
    return each(fields, lambda x, rank: x[(..., bodies, *(slice(None),) * rank)])


def posed(model: Model, q: Array, order: JaxLevels) -> Model:
    """The model at positions q with all bodies in one frame: world axes, origin at the mean of the bodies."""
    X, _, _ = joint_kinematics(model, q)
    with ordering(order):
        X = order.paths(X).from_world()
    # Results do not depend on the origin; rounding errors are smallest with one amid the bodies.
    middle = jax.lax.stop_gradient(unwrap(X.r).mean(axis=-2, keepdims=True))
    X = Transform(X.E, JaxArray(unwrap(X.r) - middle))
    w = matvec(transpose(X.E), model.axis[..., :3])
    v = matvec(transpose(X.E), model.axis[..., 3:])
    still = Unmoved(np.eye(3, dtype=model.axis.dtype), np.zeros(3, model.axis.dtype))
    return replace(
        model,
        groups=(),
        rest=still,
        axis=join(w, v + cross(X.r, w)),
        inertia=X.T @ model.inertia,
        link_frame=model.link_frame @ X[model.links],
        dh_of=None,
    )
