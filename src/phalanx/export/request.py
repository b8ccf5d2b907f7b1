# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One export: what is asked for, and what every language tells about it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest, shown
from ..languages.dialects import Dialect
from ..languages.names import identifier
from ..languages.routine import Routine
from ..robot.robot import Robot
from .entries import ExportEntry


@dataclass(frozen=True)
class Request:
    """Functions of a robot to be written to a file."""

    robot: Robot
    entries: list[ExportEntry]
    path: Path
    dtype: np.dtype
    target: str | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of single formats

    @property
    def suffix(self) -> str:
        return self.path.suffix

    @property
    def prefix(self) -> str:
        """What all names begin with, from the name of the file."""
        return identifier(self.path.stem)

    @property
    def real(self) -> str:
        """The type of real numbers: "double" or "float"."""
        return "double" if self.dtype == np.float64 else "float"

    @property
    def version(self) -> str:
        """A hash of the robot, the functions and the precision: equal ones compute the same."""
        sha = hashlib.sha256(self.robot.digest.encode())
        for entry in self.entries:
            sha.update(repr((entry.name, entry.title, entry.form, self.dtype.name)).encode())
        return sha.hexdigest()[:16]

    def chosen(self, **defaults: Any) -> dict[str, Any]:
        """The options of a format, `defaults` where none are given; all are known, or it raises."""
        for name, value in self.options.items():
            if name not in defaults:
                known = nearest(name, defaults, what="options")
                raise PhalanxError(
                    f'export: files such as "{self.path.name}" have no option {name!r};{known}'
                )
            if isinstance(defaults[name], bool) and not isinstance(value, bool | np.bool_):
                raise PhalanxError(f"export: {name} is {shown(value)}, expected True or False.")
        if self.target is not None and "target" not in defaults:
            raise PhalanxError(
                f'export: target={shown(self.target)} for "{self.path.name}", which has none; use .o, .ll '
                "or .ptx."
            )
        return {**defaults, **self.options}


def routines(request: Request, dialect: Dialect) -> list[Routine]:
    """The entries of a request as functions of a language."""
    made = []
    for entry in request.entries:
        sizes = entry.sizes
        inputs = {name: sizes[name] for name in entry.inputs}
        outputs = {name: sizes[name] for name in entry.outputs}
        made.append(Routine(entry.name, inputs, outputs, entry.program(1), dialect, entry.told))
    return made


def package_version() -> str:
    """The version of this package, as it was installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__.partition(".")[0])
    except PackageNotFoundError:
        return "of an unknown version"
