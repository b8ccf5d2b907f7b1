# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A picture of the robot without a browser: triangles in a depth buffer, as a PNG file."""

from __future__ import annotations

import math
import struct
import zlib

import numpy as np

from ...io.visuals import Scene
from ...robot.robot import Robot
from .decimation import simplified
from .scene import start

_FACES = 8_000
_TWICE = 2  # samples of a pixel along each side
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
    return encoded(np.rint(np.concatenate([seen, alpha], axis=-1) * 255).astype(np.uint8))


def encoded(image: np.ndarray) -> bytes:
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
    reduced = simplified([surface for surface, _ in solid], _FACES)
    corners, colours = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
    for surface, (_, pose) in zip(reduced, solid, strict=True):
        moved = np.asarray(surface.vertices, dtype=float) @ pose[:3, :3].T + pose[:3, 3]
        corners.append(moved[np.asarray(surface.faces, dtype=np.intp)])
        colours.append(np.tile((surface.colour or (0.7, 0.7, 0.7, 1.0))[:3], (len(surface.faces), 1)))
    found, shades = np.concatenate(corners), np.concatenate(colours)
    finite = np.isfinite(found).all(axis=(1, 2))
    return found[finite], shades[finite]


def _projected(corners: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (k, 3, 2) in the image and depths (k, 3), larger ones in front."""
    right = np.array([-math.sin(YAW), math.cos(YAW), 0.0])
    back = np.array([math.cos(PITCH) * math.cos(YAW), math.cos(PITCH) * math.sin(YAW), math.sin(PITCH)])
    up = np.cross(back, right)
    x, y, depth = corners @ right, corners @ up, corners @ back
    middle = (x.max() + x.min()) / 2, (y.max() + y.min()) / 2
    scale = 0.88 * min(width / max(np.ptp(x), 1e-9), height / max(np.ptp(y), 1e-9))
    places = np.stack([(x - middle[0]) * scale + width / 2, height / 2 - (y - middle[1]) * scale], axis=-1)
    return places, depth


def _shaded(corners: np.ndarray, colours: np.ndarray) -> np.ndarray:
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    light = 0.5 + 0.3 * (normals @ _LIGHT) + 0.2 * normals[:, 2]
    return np.asarray(np.clip(colours * np.clip(light, 0.25, 1.0)[:, None], 0.0, 1.0))


def _draw(image: np.ndarray, places: np.ndarray, depth: np.ndarray, colours: np.ndarray) -> None:
    """Fill triangles where nothing nearer was drawn."""
    height, width, _ = image.shape
    nearest = np.full((height, width), -np.inf)
    low = np.maximum(np.floor(places.min(axis=1)).astype(int), 0)
    high = np.minimum(np.ceil(places.max(axis=1)).astype(int) + 1, (width, height))
    first, second = places[:, 1] - places[:, 0], places[:, 2] - places[:, 0]
    area = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    for k in np.flatnonzero((np.abs(area) > 1e-6) & (high > low).all(axis=1)):
        (x0, y0), (x1, y1) = low[k], high[k]
        dx = np.arange(x0, x1) + 0.5 - places[k, 0, 0]
        dy = (np.arange(y0, y1) + 0.5 - places[k, 0, 1])[:, None]
        v = (dx * second[k, 1] - dy * second[k, 0]) / area[k]
        w = (dy * first[k, 0] - dx * first[k, 1]) / area[k]
        z = depth[k, 0] + v * (depth[k, 1] - depth[k, 0]) + w * (depth[k, 2] - depth[k, 0])
        block = nearest[y0:y1, x0:x1]
        seen = (v >= 0) & (w >= 0) & (v + w <= 1) & (z > block)
        block[seen] = z[seen]
        image[y0:y1, x0:x1][seen] = (*colours[k], 1.0)
