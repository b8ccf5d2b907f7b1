# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One export: what is asked for, and what every language tells about it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..robot.robot import Robot
from .entries import Entry, identifier


@dataclass(frozen=True)
class Request:
    """Functions of a robot to be written to a file."""

    robot: Robot
    entries: list[Entry]
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
