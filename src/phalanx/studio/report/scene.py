# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The robot as the page moves and draws it: joints as elementary motions, sliders, shapes."""

from __future__ import annotations

import base64
import math
import struct
import zlib
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
    """A length as large as the robot: twice the distance of its furthest joint from the others' middle."""
    if not robot.n_links:
        return 1.0
    points = np.asarray(robot.forward_kinematics(q, backend="numpy"))[:, :3, 3]
    points = np.vstack([points, np.zeros(3)]) if BASE not in robot.q_slices else points
    size = float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())
    return 2.0 * size if size > 1e-6 and math.isfinite(size) else 1.0


def _joint(robot: Robot, link: int) -> dict[str, Any]:
    """A link's joint: its parent link, its pose there, its motions, and the pose of the link's frame."""
    name = ([BASE] * (BASE in robot.q_slices) + list(robot.joint_names))[link]
    found = _described(robot, name)
    mimic = robot.mimics.get(name)
    moves, at, rate = [], robot.q_slices[name].start, robot.v_slices[name].start
    for step in _steps(found):
        if step.motion.nq:  # a body without coordinates only completes the twist of another
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
    """One slider for each degree of freedom: its coordinate, limits and unit."""
    limits, length = robot.limits, max(size_of(robot, start(robot)) / 2, 0.1)
    own = resistances(robot._assembly)
    names = [name for name in robot.q_slices if name not in robot.mimics]
    for name, c in zip(names, robot._coordinates, strict=True):
        shown, steps = name or _FLOATING, _steps(_described(robot, name))
        for k, step in enumerate(steps):
            is_angle, rate = c.kind.units[k] == "rad", c.v.start + k
            one: dict[str, Any] = {
                "label": f"{shown}, {c.kind.labels[k]}" if c.kind.labels[k] else shown,
                "v": rate,
                "unit": c.kind.units[k],
                "force": c.kind.force_units()[k],
                "effort": _bound(limits.effort[rate]),
                "damping": float(own.damping[rate]),
                "friction": float(own.friction[rate]),
            }
            if is_angle and c.kind.quaternion is not None:  # moved as a rotation vector
                one |= {"quaternion": c.q.start + c.kind.quaternion.start, "part": _main(step.axis[:3])}
                yield one | {"lower": -math.pi, "upper": math.pi, "limited": False}
                continue
            index = c.q.start + (k if c.kind.quaternion is None else _main(step.axis[3:]))
            far = math.pi if is_angle else length
            low, high = float(limits.lower[index]), float(limits.upper[index])
            limited = math.isfinite(low) and math.isfinite(high)
            yield one | {
                "q": index,
                "lower": low if math.isfinite(low) else min(-far, high - 2 * far),
                "upper": high if math.isfinite(high) else max(far, low + 2 * far),
                "limited": limited,
                "stiffness": float(own.stiffness[rate]),
                "rest": float(own.spring_reference[index]),
            }


def _main(axis: Sequence[float]) -> int:
    return max(range(3), key=lambda k: abs(axis[k]))


def shapes(scene: Scene, faces: int) -> dict[str, Any]:
    """Solids by name and sizes, which the page triangulates, and meshes with `faces` triangles in all."""
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
    """Numbers for JSON, with 17 digits only if they are needed."""
    return [float(x) for x in np.asarray(values, dtype=float).ravel()]


def _bound(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


_FINE = 1 / 1500  # of the largest mesh: the first cell size
_GROWTH = 1.5
_MOST_PASSES = 40


def simplified(surfaces: Sequence[Surface], faces: int) -> list[Surface]:
    """The surfaces simplified by vertex clustering to `faces` triangles in all; unchanged if they have fewer.

    One cell size is used for all, so that large and small parts have the same detail.
    """
    found = list(surfaces)
    if not found:
        return found
    excess = sum(len(s.faces) for s in found) / max(faces, 1)
    cell = _FINE * max(1.0, excess) ** 0.5 * max(float(np.ptp(s.vertices, axis=0).max()) for s in found)
    for _ in range(_MOST_PASSES):
        if sum(len(s.faces) for s in found) <= faces or cell <= 0.0:
            return found
        found = [clustered(s, cell) for s in surfaces]
        cell *= _GROWTH
    return found


def clustered(surface: Surface, cell: float) -> Surface:
    """A surface with the vertices of each grid cell merged at their mean, without degenerate triangles."""
    vertices = np.asarray(surface.vertices, dtype=float)
    keys = np.floor((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group = group.ravel()
    count = np.bincount(group)
    means = np.column_stack([np.bincount(group, weights=vertices[:, k]) / count for k in range(3)])
    faces = group[np.asarray(surface.faces, dtype=np.int64)]
    proper = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    faces = faces[proper]
    if len(faces):
        # Equal triangles become one, whichever corner is first; the orientation distinguishes the two sides.
        ordered = np.take_along_axis(faces, (faces.argmin(axis=1)[:, None] + np.arange(3)) % 3, axis=1)
        faces = np.unique(ordered, axis=0)
    return Surface(means.astype(np.float32), faces.astype(np.uint32), surface.colour)


_PICTURE_FACES = 8_000
_TWICE = 2  # supersampling: samples of a pixel along each side
# The camera of the page at its beginning: from the front, the left and above.
YAW, PITCH = math.radians(-50.0), math.radians(18.0)
_LIGHT = np.array([0.35, -0.55, 0.76]) / np.linalg.norm([0.35, -0.55, 0.76])


def png_of(robot: Robot, scene: Scene, width: int = 560, height: int = 460) -> bytes:
    """The robot in the pose that the page begins with, on a transparent ground."""
    corners, colours = _triangles(robot, scene)
    image = np.zeros((height * _TWICE, width * _TWICE, 4))
    if len(corners):
        _draw(image, *_projected(corners, width * _TWICE, height * _TWICE), _shaded(corners, colours))
    blocks = image.reshape(height, _TWICE, width, _TWICE, 4)
    alpha = blocks[..., 3:].mean(axis=(1, 3))
    seen = (blocks[..., :3] * blocks[..., 3:]).mean(axis=(1, 3)) / np.maximum(alpha, 1e-9)
    return png_encoded(np.rint(np.concatenate([seen, alpha], axis=-1) * 255).astype(np.uint8))


def png_encoded(image: np.ndarray) -> bytes:
    """An image (height, width, 4) of bytes as a PNG file."""
    height, width, _ = image.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def _triangles(robot: Robot, scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Corners (k, 3, 3) in the world and colours (k, 3) of what is not transparent."""
    poses = scene.poses(start(robot))
    solid = [
        (surface, pose)
        for part, pose in zip(scene.parts, poses, strict=True)
        for surface in part.surfaces
        if surface.colour is None or surface.colour[3] > 0.2
    ]
    reduced = simplified([surface for surface, _ in solid], _PICTURE_FACES)
    corners, colours = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
    for surface, (_, pose) in zip(reduced, solid, strict=True):
        moved = np.asarray(surface.vertices, dtype=float) @ pose[:3, :3].T + pose[:3, 3]
        corners.append(moved[np.asarray(surface.faces, dtype=np.intp)])
        colours.append(np.tile((surface.colour or (0.7, 0.7, 0.7, 1.0))[:3], (len(surface.faces), 1)))
    found, shades = np.concatenate(corners), np.concatenate(colours)
    finite = np.isfinite(found).all(axis=(1, 2))
    return found[finite], shades[finite]


def _projected(corners: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixel coordinates (k, 3, 2) in the image and depths (k, 3), larger ones in front."""
    right = np.array([-math.sin(YAW), math.cos(YAW), 0.0])
    back = np.array([math.cos(PITCH) * math.cos(YAW), math.cos(PITCH) * math.sin(YAW), math.sin(PITCH)])
    up = np.cross(back, right)
    x, y, depth = corners @ right, corners @ up, corners @ back
    middle = (x.max() + x.min()) / 2, (y.max() + y.min()) / 2
    scale = 0.88 * min(width / max(np.ptp(x), 1e-9), height / max(np.ptp(y), 1e-9))
    points = np.stack([(x - middle[0]) * scale + width / 2, height / 2 - (y - middle[1]) * scale], axis=-1)
    return points, depth


def _shaded(corners: np.ndarray, colours: np.ndarray) -> np.ndarray:
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    light = 0.5 + 0.3 * (normals @ _LIGHT) + 0.2 * normals[:, 2]
    return np.asarray(np.clip(colours * np.clip(light, 0.25, 1.0)[:, None], 0.0, 1.0))


def _draw(image: np.ndarray, points: np.ndarray, depth: np.ndarray, colours: np.ndarray) -> None:
    """Rasterise triangles with a depth buffer."""
    height, width, _ = image.shape
    nearest = np.full((height, width), -np.inf)
    low = np.maximum(np.floor(points.min(axis=1)).astype(int), 0)
    high = np.minimum(np.ceil(points.max(axis=1)).astype(int) + 1, (width, height))
    first, second = points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]
    area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    for k in np.flatnonzero((np.abs(area) > 1e-6) & (high > low).all(axis=1)):
        (x0, y0), (x1, y1) = low[k], high[k]
        dx = np.arange(x0, x1) + 0.5 - points[k, 0, 0]
        dy = (np.arange(y0, y1) + 0.5 - points[k, 0, 1])[:, None]
        v = (dx * second[k, 1] - dy * second[k, 0]) / area[k]
        w = (dy * first[k, 0] - dx * first[k, 1]) / area[k]
        z = depth[k, 0] + v * (depth[k, 1] - depth[k, 0]) + w * (depth[k, 2] - depth[k, 0])
        block = nearest[y0:y1, x0:x1]
        seen = (v >= 0) & (w >= 0) & (v + w <= 1) & (z > block)
        block[seen] = z[seen]
        image[y0:y1, x0:x1][seen] = (*colours[k], 1.0)
