# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Arguments of the functions of `px.data`, checked where they come in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import UNREADABLE, refuse_masks
from ..errors import PhalanxError, shown
from ..files import path_text
from ..io.loading import load
from ..robot.robot import Robot

_FASTEST = 1e12  # frames a second


def path_from(value: Any, where: str) -> Path:
    """The path that a string or an object of pathlib is."""
    if isinstance(value, str | os.PathLike):
        told = os.fspath(value)
        if isinstance(told, str) and told:
            return Path(path_text(told, where))
    raise PhalanxError(f"{where}: got {shown(value)}, expected the path of a file or a folder.")


def robot_from(value: Any) -> Robot:
    """A robot, loaded if it is not one already."""
    return value if isinstance(value, Robot) else load(value)


def require_robot(value: Any, where: str) -> None:
    """Raise for anything but a robot."""
    if not isinstance(value, Robot):
        raise PhalanxError(f"{where}: got {shown(value)} as a robot, expected what px.load returns.")


def words_from(value: Any, where: str, what: str) -> tuple[str, ...]:
    """A string or several as a tuple; `what` says what they are."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(word, str) for word in given):
        raise PhalanxError(f"{where}: got {shown(value)}, expected {what}.")
    return tuple(given)


def require_flags(flags: Mapping[str, Any]) -> None:
    """Raise for a flag that is not True or False."""
    for name, value in flags.items():
        if not isinstance(value, bool | np.bool_):
            raise PhalanxError(f"{name}: got {shown(value)}, expected True or False.")


def require_count(value: Any, where: str) -> None:
    """Raise for anything but a positive integer or None."""
    if value is None or (isinstance(value, int | np.integer) and not isinstance(value, bool) and value > 0):
        return
    raise PhalanxError(f"{where}: got {shown(value)}, expected a positive integer.")


def array_from(value: Any, where: str, expected: str) -> np.ndarray:
    """A value as an array of real numbers in their own type."""
    refuse_masks(value, where)
    try:
        array = np.asarray(value)
    except UNREADABLE:
        array = np.asarray(None)
    if array.dtype.kind not in "fiu":
        raise PhalanxError(f"{where}: got {shown(value)}, expected {expected}.")
    return array


def rate_from(value: Any, where: str) -> float:
    """Frames a second."""
    try:
        rate = float(value) if isinstance(value, int | float | np.number) else 0.0
    except UNREADABLE:
        rate = 0.0
    if isinstance(value, bool) or not 0.0 < rate <= _FASTEST:
        raise PhalanxError(
            f"{where}: got {shown(value)}, expected frames a second above 0, up to {_FASTEST:g}."
        )
    return rate
