# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The joints of a robot beside those of a model of Pinocchio or MuJoCo, matched by name."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ..errors import PhalanxError, listing, shown
from ..robot.assembly import BASE
from ..robot.configurations import with_followers
from ..robot.joints import FREE
from ..robot.joints.orderings import MUJOCO, PINOCCHIO, Rule, find_rule
from ..robot.robot import Robot, require_robot
from ..typing import Array
from .mjcf.tree import MujocoNames


class JointSlots(NamedTuple):
    """The slices of a joint in the coordinates and rates of one engine."""

    name: str
    q: slice
    v: slice


class Pair(NamedTuple):
    """A joint's rule, and its slices in expanded coordinates and in the other engine."""

    rule: Rule
    q: slice
    v: slice
    other: JointSlots


class Match(NamedTuple):
    """The joints of a robot with those of a model of another engine."""

    robot: Robot
    engine: str
    pairs: list[Pair]
    nq: int
    nv: int


class Known(NamedTuple):
    """A match that a robot remembers, with the formulas that were made for it."""

    match: Match
    model: Callable[[], Any]  # a weak reference
    find: Callable[[Robot, Any], Match]
    formulas: dict[Any, Any]


_MATCHES, _MOST = "matches", 16


def known_match(robot: Robot, model: Any, find: Callable[[Robot, Any], Match]) -> Known:
    """The match of a robot with a model, found once; again if the model has more or fewer coordinates now."""
    table = robot._memo.get(_MATCHES) if type(robot) is Robot else None
    known: Known | None = None if table is None else table.get(id(model))
    if known is not None and known.model() is model and known.find is find:
        match = known.match
        if model.nq == match.nq and model.nv == match.nv:
            return known
    match = find(robot, model)
    try:
        known = Known(match, weakref.ref(model), find, {})
    except TypeError:  # whatever looks like a model
        return Known(match, lambda: None, find, {})
    table = robot._memoized(_MATCHES, dict[int, Known])
    if len(table) >= _MOST:
        table.clear()
    table[id(model)] = known
    return known


def _require_model(robot: Robot, model: Any, *attributes: str, kind: str) -> None:
    """Raise unless there are a robot and a model of the other engine."""
    require_robot(robot, "convert")
    if not all(hasattr(model, name) for name in attributes):
        raise PhalanxError(f"convert: the model is {shown(model)}, expected a {kind}.")


def pinocchio_match(robot: Robot, model: Any) -> Match:
    """The joints of a robot with those of a `pinocchio.Model`."""
    _require_model(robot, model, "names", "idx_qs", "nqs", "idx_vs", "nvs", kind="pinocchio.Model")
    sizes = zip(model.names, model.idx_qs, model.nqs, model.idx_vs, model.nvs, strict=True)
    # The first entry is the universe; a joint without rates mimics another one.
    theirs = [JointSlots(name, slice(i, i + n), slice(j, j + m)) for name, i, n, j, m in sizes if m > 0]
    return Match(robot, "Pinocchio", _pairs(robot, "Pinocchio", PINOCCHIO, theirs), model.nq, model.nv)


def mujoco_match(robot: Robot, model: Any) -> Match:
    """The joints of a robot with those of a `mujoco.MjModel`."""
    _require_model(robot, model, "jnt_type", "jnt_qposadr", "jnt_dofadr", kind="mujoco.MjModel")
    starts = zip(model.jnt_type, model.jnt_qposadr.tolist(), model.jnt_dofadr.tolist(), strict=True)
    sizes = ((7, 6), (4, 3), (1, 1), (1, 1))  # free, ball, slide, hinge
    theirs = [
        JointSlots(name, slice(i, i + sizes[kind][0]), slice(j, j + sizes[kind][1]))
        for name, (kind, i, j) in zip(MujocoNames.of(model).joints, starts, strict=True)
    ]
    return Match(robot, "MuJoCo", _pairs(robot, "MuJoCo", MUJOCO, theirs), model.nq, model.nv)


def _pairs(
    robot: Robot, engine: str, rules: dict[tuple[str, int], Rule], theirs: Iterable[JointSlots]
) -> list[Pair]:
    """The joints of both sides paired by name; the floating base with the free joint left over."""
    kinds = dict(zip(robot.joint_names, robot.joint_types, strict=True))
    ours = expanded_slots(robot)
    missing = {name: kinds.get(name, FREE) for name in ours}
    pairs, foreign = [], []
    for slots in theirs:
        name = slots.name
        size = slots.q.stop - slots.q.start
        if name not in kinds and size == 7 and BASE in missing:
            name = BASE
        if name not in missing:
            foreign.append(name)
            continue
        kind = missing.pop(name)
        found = find_rule(rules, kind, size)
        if found is None:
            raise PhalanxError(
                f'convert: joint "{slots.name}" of robot "{robot.name}" is {kind}, but has {size} '
                f"coordinates in the {engine} model; expected a model of the same robot."
            )
        here = ours[name]
        pairs.append(Pair(found, here.q, here.v, slots))
    missing = {name: kind for name, kind in missing.items() if name not in robot.mimics}
    if missing or foreign:
        raise _mismatch(robot, engine, missing, foreign)
    return pairs


def expanded_slots(robot: Robot) -> dict[str, JointSlots]:
    """The slices of each joint in coordinates in which followers have their own."""
    slots: dict[str, JointSlots] = {}
    nq = nv = 0
    for name in ([BASE] if BASE in robot.q_slices else []) + list(robot.joint_names):
        q, v = (part.stop - part.start for part in (robot.q_slices[name], robot.v_slices[name]))
        slots[name] = JointSlots(name, slice(nq, nq := nq + q), slice(nv, nv := nv + v))
    return slots


def _mismatch(robot: Robot, engine: str, missing: Iterable[str], foreign: Iterable[str]) -> PhalanxError:
    ours = listing(name or "floating base" for name in missing)
    said = [f"only the robot has {ours}"] if ours else []
    said += [f"only the model has {listing(foreign)}"] if foreign else []
    return PhalanxError(
        f'convert: robot "{robot.name}" and the {engine} model differ in their moving joints: '
        f"{'; '.join(said)}. Load both from the same file, with or without a floating base."
    )


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
    full = np.zeros((*p.shape[:-1], sum(_size(slots.q) for slots in expanded_slots(robot).values())), p.dtype)
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
    return _in_their_axes(match, q, x @ robot.coupling.T.astype(x.dtype) if robot.is_coupled else x)


def forces_to(match: Match, q: Array, x: Array) -> Array:
    """Forces x of the robot on the joints that they belong to, none on those that follow."""
    robot = match.robot
    full = np.zeros((*x.shape[:-1], robot.model.n), x.dtype)
    for name, slots in expanded_slots(robot).items():
        if name not in robot.mimics:
            full[..., slots.v] = x[..., robot.v_slices[name]]
    return _in_their_axes(match, q, full)


def _in_their_axes(match: Match, q: Array, full: Array) -> Array:
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
        slots.v if rates else slots.q
        for name, slots in expanded_slots(robot).items()
        if name not in robot.mimics
    ]
    return np.concatenate([x[..., part] for part in parts], -1)


def _batch(*arrays: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*(x.shape[:-1] for x in arrays))


def _size(part: slice) -> int:
    return int(part.stop - part.start)
