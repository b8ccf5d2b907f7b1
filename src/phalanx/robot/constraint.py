# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Constraints by hand (`px.constraint`): points, welds and axes of frames, equations between joints.

`robot.with_constraint(…)` makes them part of a robot; `contacts=` takes them for one call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import real_or_none
from ..errors import PhalanxError, listing, nearest, shown
from .description import IDENTITY, Constraint, Description, LoopClosure, Pose, number, triple
from .joints import CONTINUOUS, REVOLUTE, SPHERICAL, WELD, frame_along

__all__ = ["Constraint", "axis", "coupling", "point", "tendon", "weld"]

KINDS = ("point", "weld", "axis", "coupling", "tendon")
_CLOSURES = {SPHERICAL: "point", WELD: "weld", REVOLUTE: "axis", CONTINUOUS: "axis"}  # by type of a loop
_DEGREES = 12  # of a polynomial


def point(
    first: str,
    second: str | None = None,
    *,
    offset: Any = (0.0, 0.0, 0.0),
    at: Any = (0.0, 0.0, 0.0),
    name: str | None = None,
) -> Constraint:
    """A point of a frame that stays at one of another frame, or of the world (3 rows).

    `offset` is the point in the frame `first`, `at` that in `second`, by default in the base frame.
    """
    where = "constraint.point"
    poses = Pose.of(None, triple(offset, f"{where}: offset")), Pose.of(None, triple(at, f"{where}: at"))
    return _closure("point", first, second, poses, name)


def weld(
    first: str, second: str | None = None, *, pose: Any = None, at: Any = None, name: str | None = None
) -> Constraint:
    """A frame that does not move against another one, or against the world (6 rows).

    `pose` (4, 4) in the frame `first` stays at the pose `at` in `second`, without one in the base frame of
    the file; by default both are the frames themselves.
    """
    poses = pose_of(pose, "constraint.weld: pose"), pose_of(at, "constraint.weld: at")
    return _closure("weld", first, second, poses, name)


def axis(
    first: str,
    second: str | None = None,
    *,
    axis: Any = (0.0, 0.0, 1.0),
    offset: Any = (0.0, 0.0, 0.0),
    at: Any = (0.0, 0.0, 0.0),
    at_axis: Any = None,
    name: str | None = None,
) -> Constraint:
    """A hinge between a frame and another one, or the world (5 rows).

    It lies along `axis` through `offset` in the frame `first`, and along `at_axis` (by default the same
    numbers) through `at` in `second`, without one in the base frame of the file.
    """
    where = "constraint.axis"
    own = direction_of(axis, f"{where}: axis")
    other = own if at_axis is None else direction_of(at_axis, f"{where}: at_axis")
    poses = (
        Pose.of(frame_along(own), triple(offset, f"{where}: offset")),
        Pose.of(frame_along(other), triple(at, f"{where}: at")),
    )
    return _closure("axis", first, second, poses, name)


def coupling(
    joint: str,
    driver: str | None = None,
    polynomial: Any = (0.0, 1.0),
    *,
    offset: float = 0.0,
    driver_offset: float = 0.0,
    name: str | None = None,
) -> Constraint:
    """q[joint] + offset = P(q[driver] + driver_offset), a row; P's coefficients with the constant one first.

    Without a driver the joint stays at the constant. Both joints have one coordinate each.
    """
    where = "constraint.coupling"
    return Constraint(
        _name(name, f"{shown_name(joint)} with {driver}" if driver else f"{shown_name(joint)} held"),
        "coupling",
        joints=(_text(joint, f"{where}: joint"),),
        factors=(1.0,),
        offset=number(offset, f"{where}: offset"),
        drivers=() if driver is None else (_text(driver, f"{where}: driver"),),
        driver_factors=() if driver is None else (1.0,),
        driver_offset=number(driver_offset, f"{where}: driver_offset"),
        polynomial=_polynomial(polynomial, where)[: 1 if driver is None else None],
    )


def tendon(
    lengths: Mapping[str, float],
    driver: Mapping[str, float] | None = None,
    polynomial: Any = (0.0, 1.0),
    *,
    offset: float = 0.0,
    driver_offset: float = 0.0,
    name: str | None = None,
) -> Constraint:
    """A fixed tendon: sum of `lengths[joint]` q[joint] + offset = P(that of `driver` + driver_offset), a row.

    Without a driver the length stays at the constant of the polynomial.
    """
    where = "constraint.tendon"
    own, other = _factors(lengths, f"{where}: lengths"), _factors(driver or {}, f"{where}: driver")
    return Constraint(
        _name(name, f"tendon {' '.join(own)}"),
        "tendon",
        joints=tuple(own),
        factors=tuple(own.values()),
        offset=number(offset, f"{where}: offset"),
        drivers=tuple(other),
        driver_factors=tuple(other.values()),
        driver_offset=number(driver_offset, f"{where}: driver_offset"),
        polynomial=_polynomial(polynomial, where)[: None if other else 1],
    )


def constraints_of(description: Description) -> tuple[Constraint, ...]:
    """The constraints that close a description's loops, then its other constraints."""
    made = [_of_loop(loop) for loop in description.loops if loop.type in _CLOSURES]
    return (*made, *description.constraints)


def not_enforced(description: Description) -> list[str]:
    """The names of loops that are no constraints, with their types."""
    return [f"{loop.name} ({loop.type})" for loop in description.loops if loop.type not in _CLOSURES]


def with_constraints(robot: Any, constraints: Sequence[Any]) -> Description:
    """The description of a robot with more constraints, all of which it knows the frames and joints of."""
    if not constraints:
        raise PhalanxError("with_constraint: got none, expected constraints such as px.constraint.point(…).")
    known = {c.name for c in robot.constraints}
    made = list(robot.description.constraints)
    for c in constraints:
        if not isinstance(c, Constraint):
            raise PhalanxError(
                f"with_constraint: got {shown(c)}, expected what px.constraint.point, weld, axis, coupling "
                "or tendon return."
            )
        if c.name in known:
            raise PhalanxError(
                f'with_constraint: robot "{robot.name}" has a constraint "{c.name}" already; pass another '
                "name=."
            )
        check(robot, c, "with_constraint")
        known.add(c.name)
        made.append(c)
    return replace(robot.description, constraints=tuple(made))


def check(robot: Any, c: Constraint, where: str) -> None:
    """Raise unless a robot has the frames and joints of a constraint, and it holds something."""
    what = f'{where}: constraint "{c.name}"'
    if c.kind not in KINDS:
        raise PhalanxError(f"{what} has kind {shown(c.kind)}, expected {listing(KINDS)}.")
    if c.kind in ("coupling", "tendon"):
        _check_joints(robot, c, what)
        return
    links = []
    for frame in (c.first, c.second):
        if frame and frame not in robot.frames:
            raise PhalanxError(
                f'{what}: robot "{robot.name}" has no frame {shown(frame)};'
                f"{nearest(frame, robot.frames, what='frames')}"
            )
        links.append(robot.frames[frame].link if frame else -1)
    if links[0] == links[1]:
        on = "the world" if links[0] < 0 else f'link "{robot.link_names[links[0]]}"'
        raise PhalanxError(
            f'{what}: "{c.first}" and {f"frame {c.second}" if c.second else "the world"} are both fixed to '
            f'{on} of robot "{robot.name}", so that nothing moves between them; name a frame on another link.'
        )


def _check_joints(robot: Any, c: Constraint, what: str) -> None:
    if len(c.joints) != len(c.factors) or len(c.drivers) != len(c.driver_factors) or not c.joints:
        raise PhalanxError(
            f"{what} has {len(c.joints)} joints and {len(c.factors)} factors; expected as many."
        )
    for joint in (*c.joints, *c.drivers):
        if joint not in robot.joint_names:
            raise PhalanxError(
                f'{what}: robot "{robot.name}" has no joint {shown(joint)};'
                f"{nearest(joint, robot.joint_names, what='joints')}"
            )
        q, v = robot.q_slices[joint], robot.v_slices[joint]
        if q.stop - q.start != 1 or v.stop - v.start != 1:
            kind = robot.joint_types[robot.joint_names.index(joint)]
            raise PhalanxError(f'{what}: joint "{joint}" is {kind}; expected joints of one coordinate.')


# ------------------------------------------------------------------- parts


def _of_loop(loop: LoopClosure) -> Constraint:
    poses = loop.predecessor_pose, loop.successor_pose
    if _CLOSURES[loop.type] == "axis":
        along = Pose.of(frame_along(loop.axis))
        poses = poses[0] @ along, poses[1] @ along
    return Constraint(loop.name, _CLOSURES[loop.type], loop.predecessor, loop.successor, *poses)


def _closure(kind: str, first: Any, second: Any, poses: tuple[Pose, Pose], name: Any) -> Constraint:
    where = f"constraint.{kind}"
    first = _text(first, f"{where}: first")
    second = "" if second is None else _text(second, f"{where}: second")
    return Constraint(_name(name, f"{kind} {first} {second or 'world'}"), kind, first, second, *poses)


def shown_name(name: Any) -> str:
    return name if isinstance(name, str) else shown(name)


def _name(name: Any, default: str) -> str:
    return default if name is None else _text(name, "constraint: name")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise PhalanxError(f"{where} is {shown(value)}, expected a name.")
    return value


def pose_of(value: Any, where: str) -> Pose:
    if value is None:
        return IDENTITY
    matrix = real_or_none(value, where)
    expected = "expected a 4x4 matrix of a rotation and a translation"
    if matrix is None or matrix.shape != (4, 4):
        raise PhalanxError(f"{where} is {shown(value)}, {expected}.")
    rotation = matrix[:3, :3]
    near = np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6 and np.linalg.det(rotation) > 0.0
    if not (np.isfinite(matrix).all() and near and (matrix[3] == (0.0, 0.0, 0.0, 1.0)).all()):
        raise PhalanxError(f"{where} is no rotation and translation, {expected}.")
    return Pose.of(rotation, matrix[:3, 3])


def direction_of(value: Any, where: str) -> tuple[float, ...]:
    direction = triple(value, where)
    if not np.isfinite(direction).all() or np.hypot(np.hypot(*direction[:2]), direction[2]) < 1e-12:
        raise PhalanxError(f"{where} is {shown(value)}, expected a direction.")
    return direction


def _polynomial(value: Any, where: str) -> tuple[float, ...]:
    array = real_or_none(value, where)
    if array is None or array.ndim != 1 or not 1 <= len(array) <= _DEGREES or not np.isfinite(array).all():
        raise PhalanxError(
            f"{where}: polynomial is {shown(value)}, expected 1 to {_DEGREES} finite coefficients, the "
            "constant one first."
        )
    return tuple(array.tolist())


def _factors(value: Any, where: str) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise PhalanxError(f'{where} is {shown(value)}, expected a mapping such as {{"joint": 0.5}}.')
    return {_text(joint, where): number(x, f"{where}: {joint}") for joint, x in value.items()}
