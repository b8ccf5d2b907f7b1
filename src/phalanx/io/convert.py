# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""States of a robot in the coordinates of Pinocchio and MuJoCo, and back.

Joints are matched by name, whatever their order. In every joint that the engines share,
their rates are v = B(q) qd with an orthogonal matrix B. So forces map like rates,
tau' = B tau, mass matrices M' = B M B^T, and accelerations a = B qdd + Bd qd.

Where a coupled robot's followers have coordinates of their own in the other engine, they are filled in,
and dropped in reverse: B has more rows than columns, M = B^T M' B, tau = B^T tau', and tau' acts on drivers.

In Pinocchio a joint without limits may have q = [cos, sin]; a planar one has
q = [x, y, cos, sin] and rates in the axes of the child; a floating one has rates
[linear; angular]. In MuJoCo quaternions are wxyz, and a free joint has rates
[linear in the axes of the parent; angular in those of the child].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar, overload

import numpy as np

from ..arrays import UNREADABLE, memory_for, refuse_masks
from ..errors import PhalanxError
from ..robot import results
from ..robot.formulas import LazyFormula
from ..robot.robot import Robot
from ..typing import Array, ArrayLike
from . import matching
from .matching import Match, known_match, mujoco_match, pinocchio_match

__all__ = [
    "derivatives_to_mujoco",
    "derivatives_to_pinocchio",
    "from_mujoco",
    "from_pinocchio",
    "mujoco_basis",
    "pinocchio_basis",
    "tau_from_mujoco",
    "tau_from_pinocchio",
    "tau_to_mujoco",
    "tau_to_pinocchio",
    "to_mujoco",
    "to_pinocchio",
]

Derivatives = TypeVar(
    "Derivatives",
    results.InverseDynamicsDerivatives[Any],
    results.ForwardDynamicsDerivatives[Any],
    results.InverseDynamicsDerivativesValue[Any],
    results.ForwardDynamicsDerivativesValue[Any],
)
_OF_INVERSE = (results.InverseDynamicsDerivatives, results.InverseDynamicsDerivativesValue)
_OF_FORWARD = (results.ForwardDynamicsDerivatives, results.ForwardDynamicsDerivativesValue)


@overload
def to_pinocchio(robot: Robot, model: Any, q: ArrayLike) -> Array: ...
@overload
def to_pinocchio(robot: Robot, model: Any, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]: ...
@overload
def to_pinocchio(
    robot: Robot, model: Any, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Array, Array, Array]: ...
def to_pinocchio(
    robot: Robot, model: Any, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None
) -> Any:
    """Pinocchio's q, (q, v) or (q, v, a) of a state, for as many as are given.

    `model` is a `pinocchio.Model` with the same joints as `robot`.
    """
    return _by(robot, model, pinocchio_match, _TO, q, qd, qdd)


@overload
def from_pinocchio(robot: Robot, model: Any, q: ArrayLike) -> Array: ...
@overload
def from_pinocchio(robot: Robot, model: Any, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]: ...
@overload
def from_pinocchio(
    robot: Robot, model: Any, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[Array, Array, Array]: ...
def from_pinocchio(
    robot: Robot, model: Any, q: ArrayLike, v: ArrayLike | None = None, a: ArrayLike | None = None
) -> Any:
    """The q, (q, qd) or (q, qd, qdd) of a state given as Pinocchio's q, v, a."""
    return _by(robot, model, pinocchio_match, _FROM, q, v, a)


def tau_to_pinocchio(robot: Robot, model: Any, q: ArrayLike, tau: ArrayLike) -> Array:
    """Pinocchio's joint forces for the forces `tau` at the robot's own q."""
    return _by(robot, model, pinocchio_match, _FORCES_TO, q, tau)


def tau_from_pinocchio(robot: Robot, model: Any, q: ArrayLike, tau: ArrayLike) -> Array:
    """The joint forces for Pinocchio's `tau` at the robot's own q."""
    return _by(robot, model, pinocchio_match, _FORCES_FROM, q, tau)


def pinocchio_basis(robot: Robot, model: Any, q: ArrayLike) -> Array:
    """B (…, model.nv, nv) with v = B qd in Pinocchio, at the robot's own q; orthogonal unless coupled."""
    return _by(robot, model, pinocchio_match, _BASIS, q)


def derivatives_to_pinocchio(
    robot: Robot,
    model: Any,
    derivatives: Derivatives,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
) -> Derivatives:
    """Derivatives of inverse or forward dynamics as Pinocchio has them, at the robot's own (q, qd, qdd, tau).

    What are constants in them are Pinocchio's v, a and tau, not qd, qdd and tau of the robot: where its rates
    turn with q (planar joints) that makes a difference beyond the order of rows and columns.
    """
    return _derivatives_to(known_match(robot, model, pinocchio_match).match, derivatives, q, qd, qdd, tau)


@overload
def to_mujoco(robot: Robot, model: Any, q: ArrayLike) -> Array: ...
@overload
def to_mujoco(robot: Robot, model: Any, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]: ...
@overload
def to_mujoco(
    robot: Robot, model: Any, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike
) -> tuple[Array, Array, Array]: ...
def to_mujoco(
    robot: Robot, model: Any, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None
) -> Any:
    """MuJoCo's qpos, (qpos, qvel) or (qpos, qvel, qacc) of a state, for as many as are given.

    `model` is a `mujoco.MjModel` with the same joints as `robot`.
    """
    return _by(robot, model, mujoco_match, _TO, q, qd, qdd)


@overload
def from_mujoco(robot: Robot, model: Any, qpos: ArrayLike) -> Array: ...
@overload
def from_mujoco(robot: Robot, model: Any, qpos: ArrayLike, qvel: ArrayLike) -> tuple[Array, Array]: ...
@overload
def from_mujoco(
    robot: Robot, model: Any, qpos: ArrayLike, qvel: ArrayLike, qacc: ArrayLike
) -> tuple[Array, Array, Array]: ...
def from_mujoco(
    robot: Robot, model: Any, qpos: ArrayLike, qvel: ArrayLike | None = None, qacc: ArrayLike | None = None
) -> Any:
    """The q, (q, qd) or (q, qd, qdd) of a state given as MuJoCo's qpos, qvel, qacc."""
    return _by(robot, model, mujoco_match, _FROM, qpos, qvel, qacc)


def tau_to_mujoco(robot: Robot, model: Any, q: ArrayLike, tau: ArrayLike) -> Array:
    """MuJoCo's joint forces for the forces `tau` at the robot's own q."""
    return _by(robot, model, mujoco_match, _FORCES_TO, q, tau)


def tau_from_mujoco(robot: Robot, model: Any, q: ArrayLike, tau: ArrayLike) -> Array:
    """The joint forces for MuJoCo's `tau` at the robot's own q."""
    return _by(robot, model, mujoco_match, _FORCES_FROM, q, tau)


def mujoco_basis(robot: Robot, model: Any, q: ArrayLike) -> Array:
    """B (…, model.nv, nv) with qvel = B qd in MuJoCo, at the robot's own q; orthogonal unless coupled."""
    return _by(robot, model, mujoco_match, _BASIS, q)


def derivatives_to_mujoco(
    robot: Robot,
    model: Any,
    derivatives: Derivatives,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    tau: ArrayLike,
) -> Derivatives:
    """Derivatives of inverse or forward dynamics as MuJoCo has them, at the robot's own (q, qd, qdd, tau).

    What are constants in them are MuJoCo's qvel, qacc and forces, not qd, qdd and tau of the robot: where its
    rates turn with q (free joints) that makes a difference beyond the order of rows and columns.
    """
    return _derivatives_to(known_match(robot, model, mujoco_match).match, derivatives, q, qd, qdd, tau)


class _Conversion(NamedTuple):
    """An equation of `matching`, and of its inputs, as messages call them, and outputs the sizes.

    Sizes are q and v of the robot, Q and V of the model.
    """

    name: str
    run: Callable[..., Any]
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[str, ...]

    def shape(self, match: Match, sizes: str) -> tuple[int, ...]:
        """The numbers of coordinates and rates behind symbolic sizes."""
        known = {"q": match.robot.nq, "v": match.robot.nv, "Q": match.nq, "V": match.nv}
        return tuple(known[size] for size in sizes)

    def compiled(self, match: Match, count: int) -> Any:
        """The compiled conversion for this number of inputs, None if nothing can be compiled."""
        inputs = {label: self.shape(match, size) for label, size in self.inputs[:count]}
        outputs = self.outputs[:count] if len(self.outputs) > 1 else self.outputs
        shapes = {f"{k}": self.shape(match, sizes) for k, sizes in enumerate(outputs)}
        run = self.run
        return match.robot._formula(
            f"convert_{self.name}", inputs, shapes, lambda *x: run(match, *(each[None] for each in x))
        )


_TO = _Conversion("to", matching.state_to, (("q", "q"), ("qd", "v"), ("qdd", "v")), ("Q", "V", "V"))
_FROM = _Conversion("from", matching.state_from, (("q", "Q"), ("v", "V"), ("a", "V")), ("q", "v", "v"))
_FORCES_TO = _Conversion("forces_to", matching.forces_to, (("q", "q"), ("tau", "v")), ("V",))
_FORCES_FROM = _Conversion("forces_from", matching.forces_from, (("q", "q"), ("tau", "V")), ("v",))
_BASIS = _Conversion("basis", matching.basis, (("q", "q"),), ("Vv",))


def _by(
    robot: Robot, model: Any, find: Callable[[Robot, Any], Match], conversion: _Conversion, *given: Any
) -> Any:
    """The result of a conversion of the arrays that are given: compiled at its first use."""
    known = known_match(robot, model, find)
    if given[-1] is None and len(given) == 3:
        given = given[:1] if given[1] is None else given[:2]
    key = conversion.name, len(given)
    built = known.formulas.get(key)
    if built is None:
        build = partial(conversion.compiled, known.match, len(given))
        built = known.formulas.setdefault(key, LazyFormula(known.formulas, key, build))
    if _have_one_batch(given) and (made := built.batch(given)) is not None:
        return made
    return _checked_and_run(conversion, known.match, given)


def _have_one_batch(arrays: tuple[Any, ...]) -> bool:
    """Whether all are plain arrays with equal batch shapes; only these take the fast path."""
    batches = [x.shape[:-1] for x in arrays if type(x) is np.ndarray]
    return len(batches) == len(arrays) and batches.count(batches[0]) == len(batches)


@memory_for("convert", "take the states in several batches")
def _checked_and_run(conversion: _Conversion, match: Match, given: tuple[Any, ...]) -> Any:
    if any(x is None for x in given[1:]):
        raise PhalanxError(
            "convert: got accelerations without velocities; expected both. Pass the velocities."
        )
    ours, theirs = f'robot "{match.robot.name}"', f"{match.engine} model"
    arrays = [
        _checked(x, conversion.shape(match, size)[0], label, theirs if size.isupper() else ours)
        for x, (label, size) in zip(given, conversion.inputs, strict=False)
    ]
    for x in arrays[1:]:
        _require_batch(arrays[0], x)
    made = conversion.run(match, *arrays)
    return made[0] if type(made) is tuple and len(made) == 1 else made


@memory_for("convert", "take the states in several batches")
def _derivatives_to(match: Match, d: Derivatives, q: Any, qd: Any, qdd: Any, tau: Any) -> Derivatives:
    """The chain rule from v = B qd, a = B qdd + c(q, qd), tau' = B tau and tangents B dq."""
    robot = match.robot
    if match.nv != robot.nv:
        raise PhalanxError(
            f'convert: robot "{robot.name}" has {robot.nv} degrees of freedom and the {match.engine} model '
            f'{match.nv}; for derivatives load the robot with mimic="independent".'
        )
    if not isinstance(d, (*_OF_INVERSE, *_OF_FORWARD)):
        raise PhalanxError(
            f"convert: derivatives are {type(d).__name__}, expected what robot.inverse_dynamics_derivatives "
            "or robot.forward_dynamics_derivatives gives."
        )
    whose = f'robot "{robot.name}"'
    q = _checked(q, robot.nq, "q", whose)
    rows = {"qd": qd, "qdd": qdd, "tau": tau}
    qd, qdd, tau = (_checked(x, robot.nv, label, whose)[..., None, :] for label, x in rows.items())
    basis, unit = matching.basis(match, q), np.eye(robot.nv)
    inverse = basis.swapaxes(-1, -2)
    # Along a unit turn B and c are sums of sine and cosine: a central difference over right angles is exact.
    right = 0.5 * np.pi * unit
    ahead, back = (robot.integrate(q[..., None, :], step) for step in (right, -right))
    slopes = 0.5 * (
        matching.basis(match, ahead) - matching.basis(match, back)
    )  # one matrix for each direction

    def along(x: Array) -> Array:
        """The derivative of B x with respect to q, as columns."""
        return (slopes @ x[..., None])[..., 0].swapaxes(-1, -2)

    c_q = 0.5 * (matching.drift(match, ahead, qd) - matching.drift(match, back, qd)).swapaxes(-1, -2)
    here = q[..., None, :]  # c is quadratic in qd
    c_qd = 0.5 * (matching.drift(match, here, qd + unit) - matching.drift(match, here, qd - unit)).swapaxes(
        -1, -2
    )
    v_q, a_q, tau_q = along(qd), along(qdd) + c_q, along(tau)
    dq, dqd, last = (basis @ np.asarray(x) for x in d[:3])
    last = last @ inverse
    if isinstance(d, _OF_INVERSE):
        dqd = (dqd - last @ c_qd) @ inverse
        dq = (dq + tau_q - dqd @ v_q - last @ a_q) @ inverse
    else:
        dqd = (dqd + c_qd) @ inverse
        dq = (dq + a_q - dqd @ v_q - last @ tau_q) @ inverse
    beside: tuple[Any, ...] = d[3:]
    values = [(basis @ np.asarray(x)[..., None])[..., 0] for x in beside]
    if isinstance(d, _OF_FORWARD):
        values = [x + matching.drift(match, q, qd[..., 0, :]) for x in values]
    return type(d)(dq, dqd, last, *values)


def _require_batch(q: Array, x: Array) -> None:
    """Raise unless coordinates and what belongs to them have batch shapes that broadcast."""
    try:
        np.broadcast_shapes(q.shape[:-1], x.shape[:-1])
    except ValueError:
        raise PhalanxError(
            f"convert: the batch shapes {q.shape[:-1]} of q and {x.shape[:-1]} do not broadcast."
        ) from None


def _checked(x: Any, size: int, label: str, whose: str) -> Array:
    """A float array (…, size); other real numbers become float64."""
    refuse_masks(x, f"convert: {label}")
    try:
        array = np.asarray(x)
    except UNREADABLE:
        raise PhalanxError(f"convert: {label} is not an array, expected real numbers for {whose}.") from None
    if array.dtype.kind not in "fiub":
        raise PhalanxError(f"convert: {label} has dtype {array.dtype}, expected real numbers for {whose}.")
    if array.ndim == 0 or array.shape[-1] != size:
        raise PhalanxError(f"convert: {label} has shape {array.shape}, expected (…, {size}) for {whose}.")
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
