# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The robot as the page moves and draws it: joints as elementary motions, sliders, shapes."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...io.visuals import Scene
from ...io.visuals.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere, Surface
from ...robot.assembly import BASE
from ...robot.configurations import resistances
from ...robot.description import Joint
from ...robot.joints import FREE, JointBody, Motion, joint_type
from ...robot.joints.motions import Ball, Free
from ...robot.robot import Robot
from .decimation import simplified

# Motions by a quaternion as the page names them.
_MOTIONS: dict[type[Motion], str] = {Ball: "ball", Free: "free"}
_FLOATING = "floating base"


def kinematics(robot: Robot) -> dict[str, Any]:
    """All that moves the links: joints in order, masses, sliders, and the pose to begin with."""
    parameters = robot.inertial_parameters.reshape(-1, 10)
    with np.errstate(divide="ignore", invalid="ignore"):
        centres = np.where(parameters[:, :1] > 0, parameters[:, 1:4] / parameters[:, :1], 0.0)
    q = start(robot)
    joints = [_joint(robot, i) for i in range(robot.n_links)]
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "links": list(robot.link_names),
        "joints": joints,
        "masses": _numbers(robot.link_masses),
        "centres": [_numbers(c) for c in centres],
        "gravity": _numbers(robot.gravity),
        "sliders": list(sliders(robot)),
        "start": _numbers(q),
        "floats": any(move["kind"] == "free" for joint in joints for move in joint["moves"]),
        "size": size_of(robot, q),
    }


def start(robot: Robot) -> np.ndarray:
    """The neutral pose, moved into the limits where it lies outside."""
    q = np.array(robot.neutral())
    lower, upper = robot.limits.lower, robot.limits.upper
    for c in robot._coordinates:
        if c.kind.adds:
            low, high = lower[c.q], upper[c.q]
            outside = np.isfinite(low) & np.isfinite(high) & ((q[c.q] < low) | (q[c.q] > high))
            q[c.q] = np.clip(q[c.q], low, high)
            q[c.q][outside] = 0.5 * (low[outside] + high[outside])
    return q


def size_of(robot: Robot, q: np.ndarray) -> float:
    """A length as large as the robot: the distance of its furthest joint from the others' middle, doubled."""
    if not robot.n_links:
        return 1.0
    places = np.asarray(robot.forward_kinematics(q, backend="numpy"))[:, :3, 3]
    places = np.vstack([places, np.zeros(3)]) if BASE not in robot.q_slices else places
    size = float(np.linalg.norm(places - places.mean(axis=0), axis=1).max())
    return 2.0 * size if size > 1e-6 and math.isfinite(size) else 1.0


def _joint(robot: Robot, link: int) -> dict[str, Any]:
    """A link's joint: where it stands on which link, how it moves, and where the link's frame is then."""
    name = ([BASE] * (BASE in robot.q_slices) + list(robot.joint_names))[link]
    found = _described(robot, name)
    mimic = robot.mimics.get(name)
    moves, at, rate = [], robot.q_slices[name].start, robot.v_slices[name].start
    for step in _steps(found):
        if step.motion.nq:  # a body that stands still only completes the twist of another
            move: dict[str, Any] = {"kind": "screw", "q": at, "v": rate}
            if step.motion.is_screw:
                move |= {"axis": _numbers(step.frame[:, 2]), "turn": step.turn, "slide": step.slide}
            elif step.motion in _MOTIONS:
                move["kind"] = _MOTIONS[step.motion]
            else:
                raise PhalanxError(
                    f'report: joint "{name}" moves by {step.motion.__name__}, which the page cannot draw; '
                    "expected a screw, Ball or Free."
                )
            if mimic is not None:
                move |= {"times": mimic.multiplier, "plus": mimic.offset}
            moves.append(move)
        at, rate = at + step.motion.nq, rate + 1
    if found is None:
        return {"name": _FLOATING, "parent": -1, "before": None, "moves": moves, "after": None}
    carrier = robot.frames[found.parent]
    return {
        "name": name,
        "parent": carrier.link,
        "before": _pose((carrier.pose @ found.origin).matrix),
        "moves": moves,
        "after": _pose(found.after.matrix),
    }


def _described(robot: Robot, name: str) -> Joint | None:
    """The joint of that name; None for the one under a floating base."""
    joints: dict[str, Joint] = robot._memoized(
        "joints by name", lambda: {j.name: j for j in robot.description.joints}
    )
    return None if name == BASE else joints[name]


def _steps(joint: Joint | None) -> list[JointBody]:
    """The bodies of a joint, one for each degree of freedom."""
    if joint is None:
        return joint_type(FREE).steps((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), 0.0)
    return joint_type(joint.type).steps(joint.axis, joint.axis2, joint.pitch)


def sliders(robot: Robot) -> Iterator[dict[str, Any]]:
    """One slider for each degree of freedom: what it moves, between which limits, in which unit."""
    limits, length = robot.limits, max(size_of(robot, start(robot)) / 2, 0.1)
    own = resistances(robot._assembly)
    names = [name for name in robot.q_slices if name not in robot.mimics]
    for name, c in zip(names, robot._coordinates, strict=True):
        shown, steps = name or _FLOATING, _steps(_described(robot, name))
        for k, step in enumerate(steps):
            turns, rate = c.kind.units[k] == "rad", c.v.start + k
            one: dict[str, Any] = {
                "label": f"{shown}, {c.kind.labels[k]}" if c.kind.labels[k] else shown,
                "v": rate,
                "unit": c.kind.units[k],
                "force": c.kind.force_units()[k],
                "effort": _bound(limits.effort[rate]),
                "damping": float(own.damping[rate]),
                "friction": float(own.friction[rate]),
            }
            if turns and c.kind.quaternion is not None:  # moved as a rotation vector
                one |= {"quaternion": c.q.start + c.kind.quaternion.start, "part": _main(step.axis[:3])}
                yield one | {"lower": -math.pi, "upper": math.pi, "limited": False}
                continue
            place = c.q.start + (k if c.kind.quaternion is None else _main(step.axis[3:]))
            far = math.pi if turns else length
            low, high = float(limits.lower[place]), float(limits.upper[place])
            limited = math.isfinite(low) and math.isfinite(high)
            yield one | {
                "q": place,
                "lower": low if math.isfinite(low) else min(-far, high - 2 * far),
                "upper": high if math.isfinite(high) else max(far, low + 2 * far),
                "limited": limited,
                "stiffness": float(own.stiffness[rate]),
                "rest": float(own.spring_reference[place]),
            }


def _main(axis: Sequence[float]) -> int:
    return max(range(3), key=lambda k: abs(axis[k]))


def shapes(scene: Scene, faces: int) -> dict[str, Any]:
    """Solids by name and sizes, which the page makes triangles of, and meshes of so many faces in all."""
    parts: list[list[Any]] = []
    found: list[tuple[int, Surface]] = []
    for part in scene.parts:
        pose, shape = _pose(part.pose), part.visual.shape
        colour = part.surfaces[0].colour if part.surfaces else None
        solid = _solid(shape)
        if solid is not None:
            parts.append([part.link, _colour(colour), pose, *solid])
            continue
        for surface in part.surfaces:
            parts.append([part.link, _colour(surface.colour), pose, "mesh", len(found)])
            found.append((part.link, surface))
    reduced = simplified([surface for _, surface in found], faces)
    return {
        "parts": parts,
        "meshes": [_encoded(s) for s in reduced],
        "generated": scene.is_generated,
        "missing": len(scene.missing),
        "faces": [sum(len(s.faces) for _, s in found), sum(len(s.faces) for s in reduced)],
    }


def _solid(shape: Any) -> list[Any] | None:
    """A solid by name and half sizes."""
    if isinstance(shape, Box):
        return ["box", _numbers(0.5 * np.asarray(shape.size))]
    if isinstance(shape, Cylinder):
        return ["cylinder", _numbers([shape.radius, 0.5 * shape.length])]
    if isinstance(shape, Capsule):
        return ["capsule", _numbers([shape.radius, 0.5 * shape.length])]
    if isinstance(shape, Ellipsoid):
        return ["ellipsoid", _numbers(shape.radii)]
    if isinstance(shape, Sphere):
        return ["ellipsoid", _numbers([shape.radius] * 3)]
    return None


def _encoded(surface: Surface) -> dict[str, Any]:
    """A mesh in integers of 16 bits between its least and its largest coordinates."""
    vertices = np.asarray(surface.vertices, dtype=float)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    step = np.maximum(high - low, 1e-9) / 65535.0
    numbers = np.rint((vertices - low) / step).astype("<u2")
    wide = len(vertices) > 65536
    faces = np.asarray(surface.faces).astype("<u4" if wide else "<u2")
    return {
        "low": _numbers(low),
        "step": [float(x) for x in step],
        "vertices": base64.b64encode(numbers.tobytes()).decode("ascii"),
        "faces": base64.b64encode(faces.tobytes()).decode("ascii"),
        "wide": wide,
    }


def _colour(colour: Any) -> list[float]:
    return [round(float(x), 3) for x in (colour or (0.72, 0.74, 0.77, 1.0))]


def _pose(matrix: np.ndarray) -> list[float] | None:
    """The upper three rows of a pose; None for the identity."""
    return None if np.array_equal(matrix, np.eye(4)) else _numbers(matrix[:3].ravel())


def _numbers(values: Any) -> list[float]:
    """Numbers as JSON has them, 17 digits only where they are needed."""
    return [float(x) for x in np.asarray(values, dtype=float).ravel()]


def _bound(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
