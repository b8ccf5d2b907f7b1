# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx.visuals`: what a robot looks like, read from its file again; robots themselves carry no shapes."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PhalanxError, listing, warn
from ...files import read_bytes
from ...robot.description import Origin
from ...robot.robot import Robot
from ...typing import ArrayLike, Source
from ...typing import Path as PathLike
from ..loading import builtin_table, is_builtin, is_text, load, names_generator, parsed_table, robots
from ..xacro import Macros
from ..xml import root_tag
from .generated import generated, skeleton
from .meshes import MeshFiles
from .of_table import table_visuals
from .of_urdf import Found, sdf_visuals, urdf_visuals
from .shapes import Array, Colour, Mesh, Surface, Visual

NEUTRAL: Colour = (0.72, 0.74, 0.77, 1.0)
_EXPANDED = " (expanded)"  # how `px.load` names a file that xacro has expanded


@dataclass(frozen=True)
class PlacedShape:
    """A shape ready to be drawn: its triangles, its link (-1 = world) and its pose there."""

    visual: Visual
    link: int
    pose: Array  # (4, 4) in the frame of the link
    surfaces: tuple[Surface, ...]  # each with a colour


@dataclass(frozen=True)
class Scene:
    """A robot and the shapes of its links; `is_generated` where its file has none of its own."""

    robot: Robot
    parts: tuple[PlacedShape, ...]
    is_generated: bool
    missing: tuple[str, ...] = ()  # meshes that could not be found or read

    @cached_property
    def _carriers(self) -> tuple[Array, Array]:
        links = np.array([part.link for part in self.parts], dtype=np.intp)
        return links, np.array([part.pose for part in self.parts]).reshape(-1, 4, 4)

    def poses(self, q: ArrayLike) -> Array:
        """The poses (…, parts, 4, 4) of all parts in the world at the coordinates q (…, nq)."""
        links, local = self._carriers
        moved = np.asarray(self.robot.forward_kinematics(q))
        world = np.broadcast_to(np.eye(4), (*moved.shape[:-3], 1, 4, 4))
        return np.concatenate([moved, world], axis=-3)[..., links, :, :] @ local  # -1 is the world

    @property
    def faces(self) -> int:
        """The number of triangles."""
        return sum(len(surface.faces) for part in self.parts for surface in part.surfaces)


def visuals(
    source: Source | Robot,
    robot: Robot | None = None,
    *,
    xacro_args: Mapping[str, Any] | None = None,
    packages: PathLike | Iterable[PathLike] | Mapping[str, PathLike] | None = None,
) -> Scene:
    """The scene of a robot: `source` as for `px.load`, or a robot, whose file is then read again.

    Shapes are those of the file: <visual> of URDF and SDF, geoms of MJCF, [[visual]] of tables. Links that
    have none get shapes from joints, axes and inertias if the whole file has none, or if their meshes are
    missing, and one warning says so. Meshes are files of this machine: beside the robot file, in
    packages (`packages` as for `px.load`, the folders above the file, ROS_PACKAGE_PATH,
    AMENT_PREFIX_PATH), or at file:// paths. `robot` is the one to draw if it is not `px.load(source)`.
    """
    given: Any = source
    if isinstance(source, Robot):
        robot = source if robot is None else robot
        given = _source_of(source)
    elif not isinstance(source, (str, bytes, os.PathLike)) and hasattr(source, "read"):
        given = source.read()
    if robot is None:
        robot = load(given, xacro_args=xacro_args, packages=packages)
    together = robot.description.origins if isinstance(source, Robot) else ()
    if together:
        found = _of_all(together, xacro_args, packages)
    else:
        found = Found() if given is None else _found(given, xacro_args, packages)
    shown = [v for v in found.visuals if v.frame in robot.frames]
    parts, unread = _parts(robot, shown)
    bare = {frame for frame, _ in (*found.missing, *unread)} - {part.visual.frame for part in parts}
    missing = tuple(dict.fromkeys(what for _, what in (*found.missing, *unread)))
    is_generated = not parts
    files = [_file_of(x.source) for x in together] if together else [given]
    is_table = any(file is not None and _is_table(file) for file in files)
    if is_generated or is_table or bare:
        made = generated(robot) if is_table else skeleton(robot)
        own = {part.visual.frame for part in parts}
        wanted = [
            v
            for v in made
            if v.frame not in own and (is_generated or is_table or _carries(robot, v.frame, bare))
        ]
        parts += _parts(robot, wanted)[0]
    if missing:
        _warn_of_missing(robot, given, missing)
    return Scene(robot, tuple(parts), is_generated, missing)


def _source_of(robot: Robot) -> Any:
    """The file or built-in name that a robot came from; None where there is none any more."""
    return _file_of(robot.description.source)


def _of_all(origins: Iterable[Origin], xacro_args: Any, packages: Any) -> Found:
    """The shapes in the files of a robot put together, on the links that came from each."""
    found = Found()
    for origin in origins:
        file = _file_of(origin.source)
        own = Found() if file is None else _found(file, xacro_args, packages)
        now = defaultdict(list)
        for name, then in origin.names:
            now[then].append(name)
        found.visuals += [replace(v, frame=name) for v in own.visuals for name in now[v.frame]]
        found.missing += [(name, what) for frame, what in own.missing for name in now[frame]]
    return found


def _file_of(source: str) -> Any:
    """The file or built-in name that messages call so; None where there is none any more."""
    name = source.removesuffix(".toml")
    if source.endswith(".toml") and name in robots() and not os.path.exists(source):
        return name
    path = source.removesuffix(_EXPANDED)
    return Path(path) if path and os.path.isfile(path) else None


def _is_table(source: Any) -> bool:
    """Whether a source has Denavit-Hartenberg rows or links in a table: a built-in robot, TOML or JSON."""
    if is_builtin(source):
        return not names_generator(source)
    if not isinstance(source, (str, os.PathLike)) or (isinstance(source, str) and is_text(source)):
        text = source if isinstance(source, str) else bytes(source or b"").decode("latin-1")
        return not text.lstrip("\ufeff \t\r\n").startswith("<")
    return Path(os.fsdecode(source)).suffix.lower() in (".toml", ".json", "")


def _found(source: Any, xacro_args: Any, packages: Any) -> Found:
    """The shapes in a source."""
    if type(source).__module__.partition(".")[0] == "mujoco":
        from .of_mjcf import mjcf_visuals

        return mjcf_visuals(source, source=type(source).__name__)
    if is_builtin(source):
        if names_generator(source):
            return Found()
        return Found(table_visuals(builtin_table(source), source=f"{source}.toml"))
    path = None
    content: Any = source
    label = "<text>"
    if not isinstance(source, bytes) and not (isinstance(source, str) and is_text(source)):
        path = Path(os.path.expanduser(os.fsdecode(source)))
        label = str(path)
        try:
            content = read_bytes(label)
        except OSError as error:
            raise PhalanxError(f'visuals: cannot read "{path}": {error.strerror or error}.') from None
    if xacro_args is not None or (path is not None and path.suffix.lower() == ".xacro"):
        content = Macros(xacro_args, packages).expand(content, label, path)
    start = (content if isinstance(content, str) else content.decode("latin-1")).lstrip("\ufeffï»¿ \t\r\n")[
        :1
    ]
    if start != "<":
        return Found(table_visuals(parsed_table(content, label, as_json=start == "{"), source=label))
    mesh_files = MeshFiles(path, packages)
    tag = root_tag(content, source=label)
    if tag == "mujoco":
        from .of_mjcf import mjcf_visuals

        return mjcf_visuals(path if path else content, source=label)
    return (sdf_visuals if tag == "sdf" else urdf_visuals)(content, mesh_files, source=label)


def _parts(robot: Robot, wanted: Iterable[Visual]) -> tuple[list[PlacedShape], list[tuple[str, str]]]:
    """The shapes that can be drawn; and, of others, the frame with the file or the reason."""
    parts: list[PlacedShape] = []
    unread: list[tuple[str, str]] = []
    known: dict[Any, list[Surface]] = {}
    for visual in wanted:
        shape = visual.shape
        try:
            key = shape if isinstance(shape, Mesh) else None
            surfaces = known[key] if key in known else shape.surfaces()
            if key is not None:
                known[key] = surfaces
        except PhalanxError as error:
            unread.append((visual.frame, str(error)))
            continue
        frame = robot.frames[visual.frame]
        coloured = tuple(s._replace(colour=visual.colour or s.colour or NEUTRAL) for s in surfaces)
        parts.append(PlacedShape(visual, frame.link, frame.pose.matrix @ visual.pose.matrix, coloured))
    return parts, unread


def _carries(robot: Robot, link: str, frames: Iterable[str]) -> bool:
    """Whether one of the frames, or any if one is unknown, moves with a link."""
    at = robot.frames[link].link
    return any(frame not in robot.frames or robot.frames[frame].link == at for frame in frames)


def _warn_of_missing(robot: Robot, source: Any, missing: tuple[str, ...]) -> None:
    where = robot.description.where
    several = "s" * (len(missing) > 1)
    warn(
        f"{where}: {len(missing)} mesh{'es' if several else ''} not found or not readable, drawn without: "
        f"{listing(missing, most=3)}. Put the file{several} in place, or say where packages are "
        "(packages=…, or ROS_PACKAGE_PATH); remote files are never fetched."
    )
