# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Tables parsed from TOML or JSON, read key by key with messages that name the file and the entry."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing, nearest, shown
from ..reproducible import rotation_rpy
from ..robot.description import MOMENTS, Mimic, Pose, Triple, packed_inertia

_MOST = 100  # entries of a list of numbers: inertias, poses and limits have fewer
_INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


class Fields:
    """One table of a file with known keys; every complaint starts with `where`.

    `others` says what to write instead of the keys of other programs.
    """

    def __init__(
        self, table: object, where: str, keys: Iterable[str], others: Mapping[str, str] | None = None
    ) -> None:
        self.where = where
        if not isinstance(table, Mapping):
            raise PhalanxError(f"{where}: got {brief(table)}, expected a table of keys and values.")
        self.table: Mapping[str, Any] = table
        known = set(keys)
        for key in table:
            if key not in known:
                meant = (others or {}).get(key) if isinstance(key, str) else None
                hint = nearest(key, sorted(known), what="known keys") if meant is None else f" {meant}."
                raise PhalanxError(f'{where}: unknown key "{key}";{hint}')

    def __contains__(self, key: str) -> bool:
        return key in self.table

    def refuse(self, key: str, expected: str) -> PhalanxError:
        """The error for a value of the wrong kind at a key."""
        return PhalanxError(f'{self.where}: "{key}" is {brief(self.table[key])}; expected {expected}.')

    def _value(self, key: str, default: Any, expected: str) -> Any:
        if key in self.table:
            return self.table[key]
        if default is None:
            raise PhalanxError(f'{self.where}: "{key}" is missing; expected {expected}.')
        return default

    def number(self, key: str, default: float | None = None, *, unlimited: bool = False) -> float:
        """The number at `key`; finite unless `unlimited`."""
        expected = "a number" if unlimited else "a finite number"
        value = real(self._value(key, default, expected), unlimited)
        if value is None:
            raise self.refuse(key, expected)
        return value

    def numbers(
        self, key: str, size: int | None, default: Sequence[float] | None = None, *, unlimited: bool = False
    ) -> tuple[float, ...]:
        """The list of numbers at `key`, `size` long where that is given."""
        expected = "a list of numbers" if size is None else f"a list of {size} finite numbers"
        value = self._value(key, default, expected)
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
            raise self.refuse(key, expected)
        count = np.size(value) if isinstance(value, np.ndarray) else len(value)
        if count >= _MOST or (size is not None and count != size):
            raise self.refuse(key, expected)
        found = tuple(x for x in (real(entry, unlimited) for entry in value) if x is not None)
        if len(found) != count:
            raise self.refuse(key, expected)
        return found

    def triple(self, key: str, default: Triple | None = None) -> Triple:
        """The three numbers at `key`."""
        x, y, z = self.numbers(key, 3, default)
        return (x, y, z)

    def text(self, key: str, default: str | None = None) -> str:
        """The text at `key`."""
        value = self._value(key, default, "text")
        if not isinstance(value, str):
            raise self.refuse(key, "text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of texts at `key`, empty if absent."""
        value = self.table.get(key, ())
        if (
            not isinstance(value, Sequence)
            or isinstance(value, str)
            or any(type(x) is not str for x in value)
        ):
            raise self.refuse(key, "a list of texts")
        return tuple(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false at `key`."""
        value = self._value(key, default, "true or false")
        if not isinstance(value, bool):
            raise self.refuse(key, "true or false")
        return value

    def choice(self, key: str, options: Sequence[str], default: str) -> str:
        """The one of `options` at `key`."""
        value = self.text(key, default)
        if value not in options:
            raise PhalanxError(
                f'{self.where}: "{key}" is {brief(value)};{nearest(value, options, what="supported")}'
            )
        return value

    def tables(self, *keys: str) -> list[Any]:
        """The list of tables under the first of `keys` that exists."""
        present = [key for key in keys if key in self.table]
        if not present:
            raise PhalanxError(f'{self.where}: "{keys[0]}" is missing; expected a list of tables.')
        if len(present) > 1:
            raise PhalanxError(f"{self.where}: both {listing(present)} are given; expected one of them.")
        value = self.table[present[0]]
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise self.refuse(present[0], "a list of tables")
        return list(value)

    def inertia(self, key: str) -> tuple[float, ...]:
        """The inertia (xx, xy, xz, yy, yz, zz) at `key`: 3x3, six, three or named numbers; zero if absent."""
        value = self.table.get(key)
        expected = "finite numbers: a 3x3 matrix, [xx, xy, xz, yy, yz, zz], [xx, yy, zz] or {xx = …, …}"
        if value is None:
            return (0.0,) * 6
        if isinstance(value, Mapping):
            entries = Fields(value, f'{self.where}: "{key}"', MOMENTS)
            return tuple(entries.number(name, 0.0) for name in MOMENTS)
        if not _all_real(value):
            raise self.refuse(key, expected)
        try:
            return packed_inertia(value, self.where)
        except ValueError:  # ragged lists too
            raise self.refuse(key, f"{expected}; the matrix symmetric") from None

    def mimic(self, key: str) -> Mimic | None:
        """The coupling to another joint at `key`, None if absent."""
        if key not in self:
            return None
        entries = Fields(self.table[key], f'{self.where}: "{key}"', Mimic._fields)
        return Mimic(entries.text("joint"), entries.number("multiplier", 1.0), entries.number("offset", 0.0))

    def pose(self, key: str, *, degrees: bool = False) -> Pose:
        """The pose at `key`: {xyz, rpy}, a translation or a 4x4 matrix; identity if absent."""
        value = self.table.get(key)
        if value is None or isinstance(value, Pose):
            return value or Pose()
        if isinstance(value, Mapping):
            return Fields(value, f'{self.where}: "{key}"', ("xyz", "rpy")).xyz_rpy(degrees=degrees)
        expected = "{xyz, rpy}, three numbers or a 4x4 matrix of a rotation and a translation"
        try:
            matrix = np.asarray(value, dtype=float) if _all_real(value) else np.empty(0)
        except (TypeError, ValueError):
            matrix = np.empty(0)
        if matrix.shape == (3,):
            return Pose.of(None, matrix)
        if matrix.shape != (4, 4) or not _is_rigid(matrix):
            raise self.refuse(key, expected)
        return Pose.of(matrix[:3, :3], matrix[:3, 3])

    def xyz_rpy(self, *, degrees: bool = False) -> Pose:
        """The pose of the keys xyz and rpy (roll, pitch, yaw about fixed axes)."""
        rpy = self.numbers("rpy", 3, (0.0, 0.0, 0.0))
        if degrees:
            rpy = tuple(math.radians(angle) for angle in rpy)
        return Pose.of(np.reshape(rotation_rpy(*rpy), (3, 3)), self.numbers("xyz", 3, (0.0, 0.0, 0.0)))


def real(value: object, unlimited: bool = False) -> float | None:
    """The float that `value` is, None where it is none (text, truth values, NaN)."""
    if unlimited and isinstance(value, str):
        return _INFINITE.get(value)
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:  # JSON integers have no end
        return None
    return number if math.isfinite(number) or (unlimited and not math.isnan(number)) else None


def brief(value: object) -> str:
    """The value as text, shortened."""
    text = f'"{value}"' if isinstance(value, str) else shown(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _all_real(value: object, depth: int = 3) -> bool:
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.size < _MOST else None
    if isinstance(value, Sequence) and not isinstance(value, str):
        return depth > 0 and len(value) < _MOST and all(_all_real(entry, depth - 1) for entry in value)
    return real(value) is not None


def _is_rigid(matrix: np.ndarray) -> bool:
    rotation = matrix[:3, :3]
    right_handed = np.linalg.det(rotation) > 0.0
    orthonormal = np.abs(rotation @ rotation.T - np.eye(3)).max() < 1e-6
    return bool(right_handed and orthonormal and (matrix[3] == (0.0, 0.0, 0.0, 1.0)).all())
