# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.export`: the suffix of a file tells its language; files appear under their names when complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from ..arrays import float_type
from ..errors import PhalanxError, nearest, shown
from ..robot.robot import Robot
from .entries import entries
from .request import Request

# The module that writes files of a suffix: its `files(request)` gives their names and contents.
_FORMATS = {
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
    """`Robot.export`, as `robot/doors.py` declares it."""
    place = _checked(path)
    request = Request(
        robot, entries(robot, functions), place, float_type(dtype, "export"), target, dict(options)
    )
    module = import_module(f".{_FORMATS[place.suffix]}", __package__)
    contents: Mapping[str, bytes | str] = module.files(request)
    return _written(place.parent, contents)


def _checked(path: Any) -> Path:
    """Where to write, or an error before anything is computed."""
    if not isinstance(path, (str, os.PathLike)):
        raise PhalanxError(f"export: path is {shown(path)}, expected the name of a file such as arm.h.")
    place = Path(os.fsdecode(path))
    if place.suffix not in _FORMATS:
        known = nearest(place.suffix, _FORMATS, what="suffixes")
        raise PhalanxError(f'export: "{place.name}" has the suffix {shown(place.suffix)};{known}')
    if not place.parent.is_dir():
        raise PhalanxError(f'export: the folder "{place.parent}" is not there; make it first.')
    if place.is_dir():
        raise PhalanxError(f'export: "{place}" is a folder, expected the name of a file.')
    return place


def _written(folder: Path, contents: Mapping[str, bytes | str]) -> list[Path]:
    """Files in a folder, none of them before all are on disk."""
    made: list[tuple[str, Path]] = []
    try:
        for name, content in contents.items():
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
            made.append((temporary, folder / name))
            with os.fdopen(handle, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
        for temporary, final in made:
            os.replace(temporary, final)
    except OSError as error:
        for temporary, _ in made:
            with suppress(OSError):
                os.unlink(temporary)
        raise PhalanxError(
            f'export: "{error.filename or folder}" cannot be written: {error.strerror}; nothing was changed.'
        ) from None
    return [final for _, final in made]


def _umask() -> int:
    """What this process keeps from others; reading it means setting it."""
    found = os.umask(0o077)
    os.umask(found)
    return found
