# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Mesh files (STL, DAE, OBJ), read by the `trimesh` package; files that they name are not opened."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ...errors import PhalanxError, installing
from ...files import read_bytes
from ..xacro import Finder, package_paths
from .shapes import Surface

SUFFIXES = (".stl", ".dae", ".obj")
LARGEST = 2**28  # bytes of a file
_MATERIALS = re.compile(rb"<bind_material>.*?</bind_material>", re.DOTALL)


def read_mesh(path: str) -> list[Surface]:
    """The surfaces of a mesh file in metres, one for each material; raises where it cannot be read."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in SUFFIXES:
        raise PhalanxError(f'mesh "{path}": the suffix is "{suffix}"; expected one of {", ".join(SUFFIXES)}.')
    try:
        import trimesh

        if suffix == ".dae":
            import collada  # noqa: F401 -- trimesh would leave the file out without a word
    except ImportError as error:
        raise PhalanxError(
            f'mesh "{path}": reading it needs the package {error.name}, which is not installed; '
            f"{installing('studio')}."
        ) from None
    try:
        content = read_bytes(path)
    except (OSError, ValueError) as error:
        raise PhalanxError(f'mesh "{path}": cannot be read: {error}.') from None
    if len(content) > LARGEST:
        raise PhalanxError(f'mesh "{path}": larger than {LARGEST // 2**20} MiB.')
    if suffix == ".dae" and (b"<!DOCTYPE" in content or b"<!ENTITY" in content or b"\0" in content):
        raise PhalanxError(f'mesh "{path}": declares a document type or an entity; expected plain XML.')
    with _quiet():
        try:
            found = _parsed(trimesh, content, suffix)
            if not found and suffix == ".dae":  # a material that refers to nothing takes its geometry along
                found = _parsed(trimesh, _MATERIALS.sub(b"", content), suffix)
        except Exception as error:  # of any of the parsers, on any broken file
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise PhalanxError(
                f'mesh "{path}": not a readable {suffix[1:].upper()} file: {reason:.200}'
            ) from None
    if not found:
        raise PhalanxError(f'mesh "{path}": holds no triangles.')
    return found


def _parsed(trimesh: Any, content: bytes, suffix: str) -> list[Surface]:
    scene = trimesh.load_scene(io.BytesIO(content), file_type=suffix[1:], resolver=None)
    return list(_parts(scene, _unit(scene)))


def _parts(scene: Any, unit: float) -> Iterator[Surface]:
    """Each geometry of a scene at its pose in the scene graph."""
    for node in scene.graph.nodes_geometry:
        pose, name = scene.graph[node]
        geometry = scene.geometry[name]
        if not len(getattr(geometry, "faces", ())):
            continue
        vertices = np.asarray(geometry.vertices) @ pose[:3, :3].T + pose[:3, 3]
        faces = np.asarray(geometry.faces)
        if np.linalg.det(pose[:3, :3]) < 0:
            faces = faces[:, ::-1]
        if not np.isfinite(vertices).all():
            raise ValueError("it has coordinates that are not finite")
        yield Surface(
            np.ascontiguousarray(vertices * unit, np.float32),
            np.ascontiguousarray(faces, np.uint32),
            _colour(geometry),
        )


def _unit(scene: Any) -> float:
    """Metres of a unit of length; only DAE files give it."""
    for geometry in scene.geometry.values():
        unit = str(geometry.metadata.get("units") or "")
        if unit.endswith("* meters"):
            return float(unit.split("*")[0])
    return 1.0


def _colour(geometry: Any) -> tuple[float, float, float, float] | None:
    """The colour of a geometry's material; None where the file has none."""
    visual = geometry.visual
    material = getattr(visual, "material", None)
    if material is not None:
        rgba = np.asarray(material.main_color, dtype=float) / 255.0
    elif getattr(visual, "kind", None) in ("face", "vertex"):
        rgba = np.asarray(visual.main_color, dtype=float) / 255.0
    else:
        return None
    red, green, blue, opacity = (float(x) for x in rgba[:4])
    return (red, green, blue, opacity if opacity > 0.0 else 1.0)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence trimesh about textures and broken parts, which one warning of ours covers."""
    logger = logging.getLogger("trimesh")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")


class MeshFiles:
    """Finds meshes beside a robot file and in packages; a text has only the named packages."""

    def __init__(self, file: Path | None, packages: Any = None) -> None:
        self.file = file
        paths = package_paths(packages)
        self.finder = Finder("", file, paths) if file is not None or paths else None

    def find(self, name: str) -> str | None:
        """The path of a mesh file, or None: remote, of another kind, missing, or outside its package.

        Packages are looked for as `px.load` does for xacro: as given, in the folders above the file, then
        in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.
        """
        if "\0" in name or os.path.splitext(name)[1].lower() not in SUFFIXES:
            return None
        scheme = _SCHEME.match(name)
        if scheme is None or os.path.isabs(name):  # the second: a drive of Windows
            return self._beside(name)
        kind, rest = scheme.group(1).lower(), name[scheme.end() :]
        if kind in ("package", "model") and rest.startswith("//"):
            return self._inside(*unquote(rest[2:]).partition("/")[::2])
        if kind == "file":
            # file:///path, file://localhost/path, and file:path or file://path as files have them
            path = unquote(rest.removeprefix("//"))
            path = path.removeprefix("localhost") if path.startswith("localhost/") else path
            return _regular(path) if os.path.isabs(path) else self._beside(path)
        return None

    def _beside(self, name: str) -> str | None:
        """A path relative to the robot file."""
        if self.file is None:
            return None
        return _regular(os.path.join(os.path.dirname(os.path.abspath(self.file)), name))

    def _inside(self, package: str, name: str) -> str | None:
        """A file in the folder of a package."""
        if self.finder is None or not package or package in (".", "..") or "\\" in package:
            return None
        for folder in self.finder.candidates(package):
            base = os.path.abspath(folder)
            path = os.path.normpath(os.path.join(base, name))
            if path.startswith(base + os.sep) and (found := _regular(path)):
                return found
        return None


def _regular(path: str) -> str | None:
    """The path if it is that of a regular file of this machine; two leading slashes name another machine."""
    plain = path.replace("\\", "/")
    if "\0" in path or plain.startswith("//"):
        return None
    try:
        return os.path.normpath(path) if os.path.isfile(path) else None
    except (OSError, ValueError):
        return None
