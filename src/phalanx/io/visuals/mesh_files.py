# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where the mesh files are that a robot file names: on this machine, or nowhere."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..xacro import Finder, package_paths
from .meshes import SUFFIXES

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")


class MeshFiles:
    """Finds meshes beside a robot file and in packages; a text has only the named packages."""

    def __init__(self, file: Path | None, packages: Any = None) -> None:
        self.file = file
        paths = package_paths(packages)
        self.finder = Finder("", file, paths) if file is not None or paths else None

    def find(self, name: str) -> str | None:
        """The path of a mesh file, or None: remote, of another kind, missing, or outside its package.

        Packages are looked for as `px.load` does for xacro: as told, in the folders above the file, then
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
        """A path as it stands, relative to the robot file."""
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
