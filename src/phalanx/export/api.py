# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.export`: the suffix of a file tells its language; files appear under their names when complete."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ..arrays import float_type
from ..errors import PhalanxError, nearest, shown
from ..files import path_text, write_files
from ..robot.robot import Robot
from .entries import entries
from .request import Request

# The module that writes files of a suffix: its `files(request)` gives their names and contents.
FORMATS = {
    ".h": "c",
    ".c": "c",
    ".cl": "opencl",
    ".cu": "cuda",
    ".cuh": "cuda",
    ".ptx": "ptx",
    ".ll": "objects",
    ".o": "objects",
    ".wasm": "wasm",
}


def export(
    robot: Robot,
    path: Any,
    functions: Any = ("inverse_dynamics", "forward_dynamics"),
    dtype: Any = "float64",
    target: str | None = None,
    **options: Any,
) -> list[Path]:
    """`Robot.export`, as `robot/api.py` declares it."""
    place = _checked(path)
    request = Request(
        robot, entries(robot, functions), place, float_type(dtype, "export"), target, dict(options)
    )
    module = import_module(f".{FORMATS[place.suffix]}", __package__)
    contents: Mapping[str, bytes | str] = module.files(request)
    return write_files(place.parent, contents, where="export")


def _checked(path: Any) -> Path:
    """Where to write, or an error before anything is computed."""
    if not isinstance(path, (str, os.PathLike)):
        raise PhalanxError(f"export: path is {shown(path)}, expected the name of a file such as arm.h.")
    place = Path(path_text(path, "export"))
    if place.suffix not in FORMATS:
        known = nearest(place.suffix, FORMATS, what="suffixes")
        raise PhalanxError(f'export: "{place.name}" has the suffix {shown(place.suffix)};{known}')
    try:
        is_there, is_folder = place.parent.is_dir(), place.is_dir()
    except OSError as error:  # names that are too long, in most file systems above 255 bytes
        raise PhalanxError(f"export: cannot write {shown(str(place))}: {error.strerror}.") from None
    if not is_there:
        raise PhalanxError(f'export: the folder "{place.parent}" is not there; make it first.')
    if is_folder:
        raise PhalanxError(f'export: "{place}" is a folder, expected the name of a file.')
    return place
