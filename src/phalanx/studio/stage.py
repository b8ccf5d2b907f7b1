# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The robot in the 3D view: a node for each link, its meshes below, and what is drawn beside them.

Nodes are named by our own numbers: names from files appear only in labels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import printable, shortened
from ..io.visuals.shapes import Box, Capsule, Colour, Cylinder, Ellipsoid, Sphere
from ..robot.robot import Robot
from .session import Array, Session

POSITIVE, NEGATIVE = (0, 114, 178), (213, 94, 0)  # blue and vermilion, as the bars of the panel
_MASS, _CENTRE, _MOVES = (86, 180, 233), (230, 159, 0), (0, 158, 115)
_LONGEST = 40  # characters of a label
_SOLIDS = (Box, Capsule, Cylinder, Ellipsoid, Sphere)
_FRAMES = 4  # whose names are shown beside a link's


class RobotView3D:
    """A robot in the 3D view; there may be several side by side."""

    def __init__(self, server: Any, session: Session, prefix: str, shift: tuple[float, float, float]) -> None:
        self.server, self.session = server, session
        self.prefix = prefix
        self.shift = np.asarray(shift)
        scene = server.scene
        self.root = scene.add_frame(prefix, show_axes=False, position=shift)
        names = session.robot.link_names
        self.links = [scene.add_frame(f"{prefix}/link{i}", show_axes=False) for i in range(len(names))]
        self._index = {name: i for i, name in enumerate(names)}
        self._meshes: dict[int, list[tuple[Any, tuple[int, int, int]]]] = defaultdict(list)
        self._lit: dict[int, tuple[int, int, int]] = {}
        self._add_parts()
        self._extras: dict[str, list[Any]] = {}
        self._arrows: Any = None
        self._ellipsoid: Any = None
        self.pose()

    def _add_parts(self) -> None:
        """One mesh for each colour of each link: fewer draw calls than shapes.

        Of shapes of ours only the outside is drawn; meshes from files may be open or inside out.
        """
        groups: dict[tuple[int, Colour, bool], list[tuple[Array, Array]]] = defaultdict(list)
        for part in self.session.scene.parts:
            solid = isinstance(part.visual.shape, _SOLIDS)
            for surface in part.surfaces:
                vertices = surface.vertices @ part.pose[:3, :3].T.astype(np.float32) + part.pose[:3, 3]
                assert surface.colour is not None
                groups[part.link, surface.colour, solid].append((vertices.astype(np.float32), surface.faces))
        for k, ((link, colour, solid), pieces) in enumerate(groups.items()):
            starts = np.cumsum([0, *(len(vertices) for vertices, _ in pieces)])
            vertices = np.concatenate([vertices for vertices, _ in pieces])
            faces = np.concatenate([faces + start for (_, faces), start in zip(pieces, starts, strict=False)])
            red, green, blue = (round(255 * x) for x in colour[:3])
            shade = red, green, blue
            node = f"{self.prefix}/link{link}/part{k}" if link >= 0 else f"{self.prefix}/world{k}"
            handle = self.server.scene.add_mesh_simple(
                node,
                vertices,
                faces.astype(np.uint32),
                color=shade,
                opacity=None if colour[3] >= 1.0 else colour[3],
                side="front" if solid and colour[3] >= 1.0 else "double",
            )
            self._meshes[link].append((handle, shade))

    def on_click(self, act: Callable[[str], None]) -> None:
        """Register a callback, called with the name of a link that is clicked."""
        for link, meshes in self._meshes.items():
            name = self.session.robot.link_names[link] if link >= 0 else self.session.robot.frame_names[0]
            for handle, _ in meshes:
                handle.on_click(lambda _, name=name: act(name))

    # ---------------------------------------------------------------- poses and colours

    def pose(self) -> Array:
        """Move all links to the poses (n_links, 4, 4) at the session's coordinates, which are returned."""
        poses = self.session.link_poses()
        rotations = quaternions(poses[:, :3, :3])
        for node, pose, rotation in zip(self.links, poses, rotations, strict=True):
            node.position = pose[:3, 3]
            node.wxyz = rotation
        return poses

    def light(self, colours: Mapping[str, str]) -> None:
        """Highlight some links, by name, in given colours; all others get their own."""
        wanted = {self._index[n]: _rgb(c) for n, c in colours.items() if n in self._index}
        for link in set(self._lit) | set(wanted):
            new = wanted.get(link)
            if new == self._lit.get(link):
                continue
            for handle, own in self._meshes[link]:
                handle.color = own if new is None else new
        self._lit = wanted

    # -------------------------------------------------------------------------- extras

    def show(self, what: str, visible: bool) -> None:
        """Show or hide "names", "frames", "centres" or "ellipsoids", made when first shown."""
        if what not in self._extras:
            if not visible:
                return
            self._extras[what] = getattr(self, f"_make_{what}")()
        for handle in self._extras[what]:
            handle.visible = visible

    def _make_names(self) -> list[Any]:
        return [
            self.server.scene.add_label(f"{self.prefix}/link{i}/name", label_text(name))
            for i, name in enumerate(self.session.robot.link_names)
        ]

    def _make_frames(self) -> list[Any]:
        size = 0.09 * self.session.size
        found = []
        for k, (name, frame) in enumerate(self.session.robot.frames.items()):
            above = f"{self.prefix}/link{frame.link}" if frame.link >= 0 else self.prefix
            pose = frame.pose.matrix
            at = {"position": pose[:3, 3], "wxyz": quaternions(pose[None, :3, :3])[0]}
            axes = self.server.scene.add_frame(
                f"{above}/frame{k}",
                axes_length=size,
                axes_radius=0.04 * size,
                origin_radius=0.07 * size,
                **at,
            )
            found.append(axes)
            if frame.link < 0 or name not in self._index:
                found.append(self.server.scene.add_label(f"{above}/frame{k}/name", label_text(name)))
        return found

    def _make_centres(self) -> list[Any]:
        masses = self.session.mass_centres()
        most = max((m for _, _, m in masses), default=1.0)
        found = []
        for link, at, mass in masses:
            radius = self.session.size * (0.008 + 0.014 * (mass / most) ** (1 / 3))
            (ball,) = Sphere(radius).surfaces()
            found.append(
                self.server.scene.add_mesh_simple(
                    f"{self.prefix}/link{link}/centre", ball.vertices, ball.faces, color=_CENTRE, position=at
                )
            )
        return found

    def _make_ellipsoids(self) -> list[Any]:
        found = []
        for link, shape, pose in self.session.ellipsoids():
            (skin,) = shape.surfaces()
            found.append(
                self.server.scene.add_mesh_simple(
                    f"{self.prefix}/link{link}/inertia",
                    skin.vertices,
                    skin.faces,
                    color=_MASS,
                    opacity=0.45,
                    position=pose[:3, 3],
                    wxyz=quaternions(pose[None, :3, :3])[0],
                )
            )
        return found

    def arrows(self, tau: Array | None, poses: Array) -> None:
        """Joint forces as arrows along their axes, blue where positive; None hides them."""
        if tau is None:
            if self._arrows is not None:
                self._arrows.visible = False
            return
        size = self.session.size
        points, signs = self.session.torque_arrows(tau, poses, 0.3 * size)
        long = np.linalg.norm(points[:, 1] - points[:, 0], axis=-1) > 0.02 * size  # else only a head is seen
        points, signs = points[long], signs[long]
        if self._arrows is not None and len(self._arrows.points) != len(points):
            self._arrows.remove()
            self._arrows = None
        if not len(points):
            return
        colours = np.where(signs[:, None] >= 0, linear(POSITIVE), linear(NEGATIVE)).astype(np.uint8)
        if self._arrows is None:
            thick = 0.011 * size
            self._arrows = self.server.scene.add_arrows(
                f"{self.prefix}/arrows",
                points,
                colours,
                shaft_radius=thick,
                head_radius=2.2 * thick,
                head_length=4.0 * thick,
            )
        else:
            self._arrows.points, self._arrows.colors = points.astype(np.float32), colours
            self._arrows.visible = True

    def ellipsoid(self, frame: str | None) -> None:
        """The manipulability ellipsoid of a frame, at most a sixth of the robot; None hides it."""
        if frame is None:
            if self._ellipsoid is not None:
                self._ellipsoid.visible = False
            return
        radii, axes, _ = self.session.manipulability(frame)
        size = self.session.size / 6.0 / (float(radii.max()) or 1.0)
        if self._ellipsoid is None:
            (ball,) = Sphere(1.0).surfaces()
            self._ellipsoid = self.server.scene.add_mesh_simple(
                f"{self.prefix}/manipulability", ball.vertices, ball.faces, color=_MOVES, opacity=0.4
            )
        self._ellipsoid.scale = tuple(float(max(x * size, 1e-4)) for x in radii)
        self._ellipsoid.wxyz = quaternions(axes[None])[0]
        self._ellipsoid.position = self.session.frame_pose(frame)[:3, 3]
        self._ellipsoid.visible = True

    def remove(self) -> None:
        """Take the robot off the page."""
        self.root.remove()


def linear(colour: tuple[int, int, int]) -> tuple[int, int, int]:
    """A colour for arrows, which viser takes in linear light."""
    red, green, blue = (round(255 * (x / 255) ** 2.2) for x in colour)
    return red, green, blue


def label_text(name: str) -> str:
    """A name as a label: one line of limited length."""
    return shortened(printable(name), _LONGEST)


def hover_texts(robot: Robot) -> list[str]:
    """The tooltip of each link, its name and those of its frames; the base is last."""
    texts = []
    for i in [*range(len(robot.link_names)), -1]:
        name = robot.link_names[i] if i >= 0 else robot.frame_names[0]
        others = [n for n, f in robot.frames.items() if f.link == i and n != name]
        more = ", ".join(label_text(n) for n in others[:_FRAMES]) + (" …" if len(others) > _FRAMES else "")
        texts.append(label_text(name) + (f"\nframes: {more}" if others else ""))
    return texts


def quaternions(rotations: Array) -> Array:
    """Unit quaternions wxyz (k, 4) of rotations (k, 3, 3)."""
    m = np.asarray(rotations, dtype=float)
    diagonal = np.diagonal(m, axis1=-2, axis2=-1)
    w = 1.0 + diagonal.sum(axis=-1)
    squares = np.concatenate(
        [w[:, None], 1.0 + 2.0 * diagonal - diagonal.sum(axis=-1, keepdims=True)], axis=-1
    )
    best = np.argmax(squares, axis=-1)
    s = np.empty((len(m), 4, 4))
    a, b, c = m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]
    d, e, f = m[:, 1, 0] + m[:, 0, 1], m[:, 0, 2] + m[:, 2, 0], m[:, 2, 1] + m[:, 1, 2]
    s[:, 0] = np.stack([squares[:, 0], a, b, c], axis=-1)
    s[:, 1] = np.stack([a, squares[:, 1], d, e], axis=-1)
    s[:, 2] = np.stack([b, d, squares[:, 2], f], axis=-1)
    s[:, 3] = np.stack([c, e, f, squares[:, 3]], axis=-1)
    chosen = s[np.arange(len(m)), best]
    return chosen / np.linalg.norm(chosen, axis=-1, keepdims=True)


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return red, green, blue
