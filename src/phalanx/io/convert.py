# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""States of a robot in the coordinates of Pinocchio and MuJoCo, and back.

Joints are matched by name, whatever their order. In every joint that the engines share,
their rates are v = B(q) qd with an orthogonal matrix B. So forces map like rates,
tau' = B tau, mass matrices M' = B M B^T, and accelerations a = B qdd + Bd qd.

Where a coupled robot's followers have coordinates of their own in the other engine, they are filled in, and
dropped on the way back: B has more rows than columns, M = B^T M' B, tau = B^T tau', and tau' acts on drivers.

In Pinocchio a joint without limits may have q = [cos, sin]; a planar one has
q = [x, y, cos, sin] and rates in the axes of the child; a floating one has rates
[linear; angular]. In MuJoCo quaternions are wxyz, and a free joint has rates
[linear in the axes of the parent; angular in those of the child].
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

import numpy as np

from ..arrays import UNREADABLE, memory_for, refuse_masks
from ..errors import PhalanxError
from ..robot import results
from ..robot.robot import Robot
from ..typing import Array, ArrayLike
from .matching import Match, expanded, mujoco_match, pinocchio_match

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
    return _to(pinocchio_match(robot, model), q, qd, qdd)


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
    return _from(pinocchio_match(robot, model), q, v, a)


def tau_to_pinocchio(robot: Robot, model: Any, q: ArrayLike, tau: ArrayLike) -> Array:
    """Pinocchio's joint forces for the forces `tau` at the robot's own q."""
    return _forces_to(pinocchio_match(robot, model), q, tau)


def tau_from_pinocchio(robot: Robot, model: Any, q: ArrayLike, tau: ArrayLike) -> Array:
    """The joint forces for Pinocchio's `tau` at the robot's own q."""
    return _forces_from(pinocchio_match(robot, model), q, tau)


def pinocchio_basis(robot: Robot, model: Any, q: ArrayLike) -> Array:
    """B (…, model.nv, nv) with v = B qd in Pinocchio, at the robot's own q; orthogonal unless coupled."""
    return _basis(pinocchio_match(robot, model), q)


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
    return _derivatives_to(pinocchio_match(robot, model), derivatives, q, qd, qdd, tau)


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
    return _to(mujoco_match(robot, model), q, qd, qdd)


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
    return _from(mujoco_match(robot, model), qpos, qvel, qacc)


def tau_to_mujoco(robot: Robot, model: Any, q: ArrayLike, tau: ArrayLike) -> Array:
    """MuJoCo's joint forces for the forces `tau` at the robot's own q."""
    return _forces_to(mujoco_match(robot, model), q, tau)


def tau_from_mujoco(robot: Robot, model: Any, q: ArrayLike, tau: ArrayLike) -> Array:
    """The joint forces for MuJoCo's `tau` at the robot's own q."""
    return _forces_from(mujoco_match(robot, model), q, tau)


def mujoco_basis(robot: Robot, model: Any, q: ArrayLike) -> Array:
    """B (…, model.nv, nv) with qvel = B qd in MuJoCo, at the robot's own q; orthogonal unless coupled."""
    return _basis(mujoco_match(robot, model), q)


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
    return _derivatives_to(mujoco_match(robot, model), derivatives, q, qd, qdd, tau)


def _own(robot: Robot, x: Array, *, rates: bool) -> Array:
    """Coordinates or rates of the joints that follow none, from those of all."""
    if not robot.is_coupled:
        return x
    parts = [
        place.v if rates else place.q for name, place in expanded(robot).items() if name not in robot.mimics
    ]
    return np.concatenate([x[..., part] for part in parts], -1)


@memory_for("convert", "take the states in several batches")
def _to(match: Match, q: Any, qd: Any, qdd: Any) -> Any:
    robot = match.robot
    q = _checked(q, robot.nq, "q", f'robot "{robot.name}"')
    full = robot.expand(q)
    out = np.empty((*q.shape[:-1], match.nq), q.dtype)
    for rule, own, _, other in match.pairs:
        out[..., other.q] = rule.to(full[..., own])
    if qd is None:
        _refuse_alone(qdd)
        return out
    rates = _rates_to(match, q, qd, "qd")
    if qdd is None:
        return out, rates
    return out, rates, _rates_to(match, q, qdd, "qdd") + _drift(match, q, qd)


@memory_for("convert", "take the states in several batches")
def _from(match: Match, q: Any, v: Any, a: Any) -> Any:
    p = _checked(q, match.nq, "q", f"{match.engine} model")
    full = np.zeros((*p.shape[:-1], sum(_size(place.q) for place in expanded(match.robot).values())), p.dtype)
    for rule, part, _, other in match.pairs:
        full[..., part] = rule.back(p[..., other.q])
    own = _own(match.robot, full, rates=False)
    if v is None:
        _refuse_alone(a)
        return own
    rates = _own(match.robot, _rates_from(match, own, v, "v"), rates=True)
    if a is None:
        return own, rates
    a = _checked(a, match.nv, "a", f"{match.engine} model")
    full = _rates_from(match, own, a - _drift(match, own, rates), "a")
    return own, rates, _own(match.robot, full, rates=True)


def _size(part: slice) -> int:
    return int(part.stop - part.start)


def _refuse_alone(acceleration: Any) -> None:
    if acceleration is not None:
        raise PhalanxError(
            "convert: got accelerations without velocities; expected both. Pass the velocities."
        )


@memory_for("convert", "take the states in several batches")
def _rates_to(match: Match, q: Any, x: Any, label: str) -> Array:
    """B x for rates x of the robot."""
    robot = match.robot
    x = _checked(x, robot.nv, label, f'robot "{robot.name}"')
    return _turned(match, q, x @ robot.coupling.T.astype(x.dtype) if robot.is_coupled else x)


def _forces_to(match: Match, q: Any, x: Any) -> Array:
    """Forces x of the robot on the joints that they belong to, none on those that follow."""
    robot = match.robot
    x = _checked(x, robot.nv, "tau", f'robot "{robot.name}"')
    full = np.zeros((*x.shape[:-1], robot.model.n), x.dtype)
    for name, place in expanded(robot).items():
        if name not in robot.mimics:
            full[..., place.v] = x[..., robot.v_slices[name]]
    return _turned(match, q, full)


def _turned(match: Match, q: Any, full: Array) -> Array:
    """Rates or forces of all joints in the axes of the other engine."""
    robot = match.robot
    q = robot.expand(_checked(q, robot.nq, "q", f'robot "{robot.name}"'))
    out = np.empty((*_batch(q, full), match.nv), np.result_type(q, full))
    for rule, part, rates, other in match.pairs:
        own = full[..., rates]
        out[..., other.v] = own if rule.basis is None else (rule.basis(q[..., part]) @ own[..., None])[..., 0]
    return out


def _forces_from(match: Match, q: Any, x: Any) -> Array:
    """Forces of the other engine projected on the robot's degrees of freedom."""
    full = _rates_from(match, q, x, "tau")
    return full @ match.robot.coupling.astype(full.dtype) if match.robot.is_coupled else full


@memory_for("convert", "take the states in several batches")
def _rates_from(match: Match, q: Any, x: Any, label: str) -> Array:
    """Rates or forces of all joints from those of the other engine, at the robot's own q."""
    robot = match.robot
    q = robot.expand(_checked(q, robot.nq, "q", f'robot "{robot.name}"'))
    x = _checked(x, match.nv, label, f"{match.engine} model")
    shape = (*_batch(q, x), robot.model.n)
    out = np.zeros(shape, np.result_type(q, x))
    for rule, part, rates, other in match.pairs:
        theirs = x[..., other.v]
        if rule.basis is not None:
            theirs = (rule.basis(q[..., part]).swapaxes(-1, -2) @ theirs[..., None])[..., 0]
        out[..., rates] = theirs
    return out


def _drift(match: Match, q: Array, qd: Any) -> Array:
    """Bd qd, the part of the other engine's accelerations that qdd does not explain."""
    robot = match.robot
    qd = _checked(qd, robot.nv, "qd", f'robot "{robot.name}"')
    out = np.zeros((*_batch(q, qd), match.nv), np.result_type(q, qd))
    batch = out.shape[:-1]
    q, full = robot.expand(q), qd @ robot.coupling.T.astype(qd.dtype) if robot.is_coupled else qd
    for rule, part, rates, other in match.pairs:
        if rule.drift is not None:
            coordinates, own = q[..., part], full[..., rates]
            out[..., other.v] = rule.drift(
                np.broadcast_to(coordinates, (*batch, coordinates.shape[-1])),
                np.broadcast_to(own, (*batch, own.shape[-1])),
            )
    return out


@memory_for("convert", "take the states in several batches")
def _basis(match: Match, q: Any) -> Array:
    robot = match.robot
    q = robot.expand(_checked(q, robot.nq, "q", f'robot "{robot.name}"'))
    out = np.zeros((*q.shape[:-1], match.nv, robot.model.n), q.dtype)
    for rule, part, rates, other in match.pairs:
        out[..., other.v, rates] = np.eye(_size(rates)) if rule.basis is None else rule.basis(q[..., part])
    return out @ robot.coupling.astype(q.dtype) if robot.is_coupled else out


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
    basis, unit = _basis(match, q), np.eye(robot.nv)
    inverse = basis.swapaxes(-1, -2)
    # Along a unit turn B and c are sums of sine and cosine: a central difference over right angles is exact.
    right = 0.5 * np.pi * unit
    ahead, back = (robot.integrate(q[..., None, :], step) for step in (right, -right))
    turning = 0.5 * (_basis(match, ahead) - _basis(match, back))  # one matrix for each direction

    def along(x: Array) -> Array:
        """The derivative of B x with respect to q, as columns."""
        return (turning @ x[..., None])[..., 0].swapaxes(-1, -2)

    c_q = 0.5 * (_drift(match, ahead, qd) - _drift(match, back, qd)).swapaxes(-1, -2)
    here = q[..., None, :]  # c is quadratic in qd
    c_qd = 0.5 * (_drift(match, here, qd + unit) - _drift(match, here, qd - unit)).swapaxes(-1, -2)
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
        values = [x + _drift(match, q, qd[..., 0, :]) for x in values]
    return type(d)(dq, dqd, last, *values)


def _batch(q: Array, x: Array) -> tuple[int, ...]:
    """The batch shape of coordinates and what belongs to them."""
    try:
        return np.broadcast_shapes(q.shape[:-1], x.shape[:-1])
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
