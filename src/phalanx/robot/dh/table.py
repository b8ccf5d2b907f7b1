# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A chain in Denavit-Hartenberg frames as a table that people read and `Robot.from_dh` takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import printable
from ...reproducible import arctan2, congruent, length, product, roll_pitch_yaw, rotation_x, rotation_z, times
from ...spatial import Transform, pack, unpack
from ..description import PER_COORDINATE, Description, Joint
from ..joints import WELD
from ..joints.types import Prismatic, Revolute
from .chain import DHChain

_TURNING, _SLIDING = Revolute.name, Prismatic.name  # types of rows that move
_RESERVED = ("base", "tool")  # links that a table has by itself


@dataclass(frozen=True, eq=False)
class DHTable:
    """A Denavit-Hartenberg table (standard): `Robot.from_dh(t.rows, base=t.base, tool=t.tool, …)`.

    Lengths in m, angles in rad. Two nearly parallel axes take two rows, the second one fixed:
    a parallel axis first, then its tilt. One row would have to reach out to where they meet.
    """

    name: str
    rows: list[dict[str, Any]]  # with the keys of a DH file's rows
    base: np.ndarray  # (4, 4) pose of frame 0 in the base frame of the robot's file
    tool: np.ndarray  # (4, 4) pose of the last link's frame in the file, in the last DH frame
    gravity: tuple[float, float, float]  # in the base frame of the file

    @property
    def a(self) -> np.ndarray:
        """Lengths (rows,) of the common normals."""
        return self._column("a")

    @property
    def alpha(self) -> np.ndarray:
        """Twists (rows,) from axis to axis."""
        return self._column("alpha")

    @property
    def d(self) -> np.ndarray:
        """Offsets (rows,) along the axes, where a joint slides at q = 0."""
        return self._column("d")

    @property
    def theta(self) -> np.ndarray:
        """Angles (rows,) about the axes, where a joint turns at q = 0."""
        return self._column("theta")

    @property
    def types(self) -> tuple[str, ...]:
        """The type of each row: "revolute", "prismatic" or "fixed"."""
        return tuple(row["type"] for row in self.rows)

    def _column(self, key: str) -> np.ndarray:
        return np.array([row[key] for row in self.rows])

    def __str__(self) -> str:
        lines = [f'Denavit-Hartenberg table (standard) of "{_short(self.name, 20)}": m, degrees, kg']
        lines.append(_line("", "joint", "theta", "d", "a", "alpha", "mass"))
        moving = 0
        for row in self.rows:
            moving += row["type"] != WELD
            number = "" if row["type"] == WELD else str(moving)
            theta = _sum(f"q{moving}" if row["type"] == _TURNING else "", math.degrees(row["theta"]))
            d = _sum(f"q{moving}" if row["type"] == _SLIDING else "", row["d"])
            plain = (_text(x, 10) for x in (row["a"], math.degrees(row["alpha"]), row.get("mass", 0.0)))
            lines.append(_line(number, _short(row["name"], 14), theta, d, *plain))
        for label, matrix in (("base", self.base), ("tool", self.tool)):
            if not np.array_equal(matrix, np.eye(4)):
                xyz, rpy = matrix[:3, 3], np.degrees(roll_pitch_yaw(matrix[:3, :3]))
                lines.append(f"{label}: xyz {_numbers(xyz)}, rpy {_numbers(rpy)}")
        return "\n".join(lines)


def table_of(chain: DHChain, description: Description, joints: Sequence[Joint]) -> DHTable:
    """The table of a chain whose joints are those of the description that move."""
    rows: list[dict[str, Any]] = []
    for i, joint in enumerate(joints):
        row: dict[str, Any] = {key: float(getattr(chain, key)[i]) for key in ("a", "alpha", "d", "theta")}
        row["type"] = _TURNING if chain.turns[i] else _SLIDING
        row["name"], row["link"] = _free(joint.name, "_joint"), _free(joint.child, "_link")
        row |= {"mass": float(chain.m[i]), "com": chain.s[i].tolist(), "inertia": chain.J[i].tolist()}
        row |= {key: float(getattr(joint, key)[0]) for key in PER_COORDINATE if getattr(joint, key)}
        rows += [row] if chain.w[i] == 0.0 else _parted(row, float(chain.w[i]))
    return DHTable(description.name, rows, _pose(chain.base), _pose(chain.tool), description.gravity)


def _parted(row: dict[str, Any], w: float) -> list[dict[str, Any]]:
    """Two rows for Tx(a) Ty(w) Rx(alpha): to a parallel axis, then its tilt."""
    angle = arctan2(w, row["a"])
    tilt = {"a": 0.0, "alpha": row["alpha"], "d": 0.0, "theta": -angle, "type": WELD}
    tilt |= {key: f"{row[key]}_tilt" for key in ("name", "link")}
    turn = product(rotation_z(-angle), rotation_x(row["alpha"]))
    inertia = congruent(turn, unpack(np.array(row["inertia"])))
    offset = {"a": length(row["a"], w), "alpha": 0.0, "theta": row["theta"] + angle}
    body = {"com": times(turn, row["com"]).tolist(), "inertia": pack(inertia).tolist()}
    return [{**row, **offset, **body}, tilt]


def _pose(X: Transform) -> np.ndarray:
    """The 4x4 pose of the frame that X leads to."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = X.E.T, X.r
    return pose


def _free(name: str, ending: str) -> str:
    return name + ending if name in _RESERVED else name


def _short(text: str, width: int) -> str:
    text = printable(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def _line(number: str, joint: str, theta: str, d: str, a: str, alpha: str, mass: str) -> str:
    return f"{number:>3} {joint:<14} {theta:>13} {d:>13} {a:>10} {alpha:>10} {mass:>10}"


def _text(value: float, width: int) -> str:
    """A number as a string of at most six digits."""
    texts = (f"{value + 0.0:.{digits}g}" for digits in (6, 5, 4, 3, 2))
    return next((text for text in texts if len(text) <= width), f"{value:.1g}")


def _sum(variable: str, constant: float) -> str:
    """A variable plus a constant; one of them alone if the other is missing or zero."""
    if not variable:
        return _text(constant, 13)
    sign = "-" if constant < 0.0 else "+"
    return f"{variable} {sign} {_text(abs(constant), 10 - len(variable))}" if constant else variable


def _numbers(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{value:.5g}" for value in values + 0.0) + ")"
