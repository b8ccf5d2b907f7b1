# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The equations of conversions: states of a robot as another engine has them.

They run on floats, or on recording scalars.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..robot.configurations import with_followers
from ..robot.robot import Robot
from ..typing import Array
from .matching import Match, expanded


def state_to(match: Match, q: Array, qd: Array | None = None, qdd: Array | None = None) -> tuple[Array, ...]:
    """The other engine's q, rates and accelerations, for as many as are given."""
    robot = match.robot
    full = with_followers(robot._assembly, q)
    there = np.empty((*q.shape[:-1], match.nq), q.dtype)
    for rule, own, _, other in match.pairs:
        there[..., other.q] = rule.to(full[..., own])
    if qd is None:
        return (there,)
    if qdd is None:
        return there, rates_to(match, q, qd)
    return there, rates_to(match, q, qd), rates_to(match, q, qdd) + drift(match, q, qd)


def state_from(match: Match, p: Array, v: Array | None = None, a: Array | None = None) -> tuple[Array, ...]:
    """The robot's q, qd and qdd of the other engine's, for as many as are given."""
    robot = match.robot
    full = np.zeros((*p.shape[:-1], sum(_size(place.q) for place in expanded(robot).values())), p.dtype)
    for rule, part, _, other in match.pairs:
        full[..., part] = rule.back(p[..., other.q])
    q = _own(robot, full, rates=False)
    if v is None:
        return (q,)
    qd = _own(robot, rates_from(match, q, v), rates=True)
    if a is None:
        return q, qd
    return q, qd, _own(robot, rates_from(match, q, a - drift(match, q, qd)), rates=True)


def rates_to(match: Match, q: Array, x: Array) -> Array:
    """B x for rates x of the robot."""
    robot = match.robot
    return _turned(match, q, x @ robot.coupling.T.astype(x.dtype) if robot.is_coupled else x)


def forces_to(match: Match, q: Array, x: Array) -> Array:
    """Forces x of the robot on the joints that they belong to, none on those that follow."""
    robot = match.robot
    full = np.zeros((*x.shape[:-1], robot.model.n), x.dtype)
    for name, place in expanded(robot).items():
        if name not in robot.mimics:
            full[..., place.v] = x[..., robot.v_slices[name]]
    return _turned(match, q, full)


def _turned(match: Match, q: Array, full: Array) -> Array:
    """Rates or forces of all joints in the axes of the other engine."""
    q = with_followers(match.robot._assembly, q)
    out = np.empty((*_batch(q, full), match.nv), np.result_type(q, full))
    for rule, part, rates, other in match.pairs:
        own = full[..., rates]
        out[..., other.v] = own if rule.basis is None else (rule.basis(q[..., part]) @ own[..., None])[..., 0]
    return out


def forces_from(match: Match, q: Array, x: Array) -> Array:
    """Forces of the other engine projected on the robot's degrees of freedom."""
    full = rates_from(match, q, x)
    return full @ match.robot.coupling.astype(full.dtype) if match.robot.is_coupled else full


def rates_from(match: Match, q: Array, x: Array) -> Array:
    """Rates or forces of all joints from those of the other engine, at the robot's own q."""
    robot = match.robot
    q = with_followers(robot._assembly, q)
    out = np.zeros((*_batch(q, x), robot.model.n), np.result_type(q, x))
    for rule, part, rates, other in match.pairs:
        theirs = x[..., other.v]
        if rule.basis is not None:
            theirs = (rule.basis(q[..., part]).swapaxes(-1, -2) @ theirs[..., None])[..., 0]
        out[..., rates] = theirs
    return out


def drift(match: Match, q: Array, qd: Array) -> Array:
    """Bd qd, the part of the other engine's accelerations that qdd does not explain."""
    robot = match.robot
    out = np.zeros((*_batch(q, qd), match.nv), np.result_type(q, qd))
    batch = out.shape[:-1]
    q = with_followers(robot._assembly, q)
    full = qd @ robot.coupling.T.astype(qd.dtype) if robot.is_coupled else qd
    for rule, part, rates, other in match.pairs:
        if rule.drift is not None:
            coordinates, own = q[..., part], full[..., rates]
            out[..., other.v] = rule.drift(
                np.broadcast_to(coordinates, (*batch, coordinates.shape[-1])),
                np.broadcast_to(own, (*batch, own.shape[-1])),
            )
    return out


def basis(match: Match, q: Array) -> Array:
    """B (…, nv there, nv) with v = B qd."""
    robot = match.robot
    q = with_followers(robot._assembly, q)
    out = np.zeros((*q.shape[:-1], match.nv, robot.model.n), q.dtype)
    for rule, part, rates, other in match.pairs:
        out[..., other.v, rates] = np.eye(_size(rates)) if rule.basis is None else rule.basis(q[..., part])
    return out @ robot.coupling.astype(q.dtype) if robot.is_coupled else out


def _own(robot: Robot, x: Array, *, rates: bool) -> Array:
    """Coordinates or rates of the joints that follow none, from those of all."""
    if not robot.is_coupled:
        return x
    parts = [
        place.v if rates else place.q for name, place in expanded(robot).items() if name not in robot.mimics
    ]
    return np.concatenate([x[..., part] for part in parts], -1)


def _batch(*arrays: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*(x.shape[:-1] for x in arrays))


def _size(part: slice) -> int:
    return int(part.stop - part.start)
