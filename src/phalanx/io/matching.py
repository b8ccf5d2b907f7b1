# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The joints of a robot beside those of a model of Pinocchio or MuJoCo, matched by name."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ..errors import PhalanxError, listing, shown
from ..robot.assembly import BASE
from ..robot.joints import FREE
from ..robot.joints.orderings import MUJOCO, PINOCCHIO, Rule, rule
from ..robot.robot import Robot, require_robot
from .mujoco_names import MujocoNames


class JointSlots(NamedTuple):
    """Where a joint of the other engine keeps its coordinates and rates."""

    name: str
    q: slice
    v: slice


class Pair(NamedTuple):
    """A joint's rule, and where its coordinates and rates stand in expanded coordinates and there."""

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
    table = robot._memoized(_MATCHES, dict)
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
    places = [JointSlots(name, slice(i, i + n), slice(j, j + m)) for name, i, n, j, m in sizes if m > 0]
    return Match(robot, "Pinocchio", _pairs(robot, "Pinocchio", PINOCCHIO, places), model.nq, model.nv)


def mujoco_match(robot: Robot, model: Any) -> Match:
    """The joints of a robot with those of a `mujoco.MjModel`."""
    _require_model(robot, model, "jnt_type", "jnt_qposadr", "jnt_dofadr", kind="mujoco.MjModel")
    starts = zip(model.jnt_type, model.jnt_qposadr.tolist(), model.jnt_dofadr.tolist(), strict=True)
    sizes = ((7, 6), (4, 3), (1, 1), (1, 1))  # free, ball, slide, hinge
    places = [
        JointSlots(name, slice(i, i + sizes[kind][0]), slice(j, j + sizes[kind][1]))
        for name, (kind, i, j) in zip(MujocoNames.of(model).joints, starts, strict=True)
    ]
    return Match(robot, "MuJoCo", _pairs(robot, "MuJoCo", MUJOCO, places), model.nq, model.nv)


def _pairs(
    robot: Robot, engine: str, rules: dict[tuple[str, int], Rule], places: Iterable[JointSlots]
) -> list[Pair]:
    """The joints of both sides paired by name; the floating base with the free joint left over."""
    kinds = dict(zip(robot.joint_names, robot.joint_types, strict=True))
    places_here = expanded(robot)
    missing = {name: kinds.get(name, FREE) for name in places_here}
    pairs, foreign = [], []
    for place in places:
        name = place.name
        size = place.q.stop - place.q.start
        if name not in kinds and size == 7 and BASE in missing:
            name = BASE
        if name not in missing:
            foreign.append(name)
            continue
        kind = missing.pop(name)
        found = rule(rules, kind, size)
        if found is None:
            raise PhalanxError(
                f'convert: joint "{place.name}" of robot "{robot.name}" is {kind}, but has {size} '
                f"coordinates in the {engine} model; expected a model of the same robot."
            )
        here = places_here[name]
        pairs.append(Pair(found, here.q, here.v, place))
    missing = {name: kind for name, kind in missing.items() if name not in robot.mimics}
    if missing or foreign:
        raise _mismatch(robot, engine, missing, foreign)
    return pairs


def expanded(robot: Robot) -> dict[str, JointSlots]:
    """Where each joint stands in coordinates in which followers have their own."""
    places: dict[str, JointSlots] = {}
    nq = nv = 0
    for name in ([BASE] if BASE in robot.q_slices else []) + list(robot.joint_names):
        q, v = (part.stop - part.start for part in (robot.q_slices[name], robot.v_slices[name]))
        places[name] = JointSlots(name, slice(nq, nq := nq + q), slice(nv, nv := nv + v))
    return places


def _mismatch(robot: Robot, engine: str, missing: Iterable[str], foreign: Iterable[str]) -> PhalanxError:
    ours = listing(name or "floating base" for name in missing)
    said = [f"only the robot has {ours}"] if ours else []
    said += [f"only the model has {listing(foreign)}"] if foreign else []
    return PhalanxError(
        f'convert: robot "{robot.name}" and the {engine} model differ in their moving joints: '
        f"{'; '.join(said)}. Load both from the same file, with or without a floating base."
    )
