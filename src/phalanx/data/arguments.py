# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Argument checks of the public functions of `px.data`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import UNREADABLE, refuse_masks
from ..errors import PhalanxError, installing, shown
from ..files import path_text
from ..io.loading import load
from ..robot.robot import Robot

_FASTEST = 1e12  # frames a second


def path_from(value: Any, where: str) -> Path:
    """A `Path` from a string or a path object; anything else raises."""
    if isinstance(value, str | os.PathLike):
        name = os.fspath(value)
        if isinstance(name, str) and name:
            return Path(path_text(name, where))
    raise PhalanxError(f"{where}: got {shown(value)}, expected the path of a file or a folder.")


def robot_from(value: Any) -> Robot:
    """The robot, loaded unless it is a `Robot` already."""
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


def require_window(window: int, polynomial: int) -> None:
    """Raise unless window and polynomial degree define a fit."""
    integers = type(window) is int and type(polynomial) is int
    if not integers or window < 3 or window % 2 == 0 or not 2 <= polynomial < window:
        raise PhalanxError(
            f"differentiate: window {shown(window)}, polynomial {shown(polynomial)}; expected an odd "
            "window of at least 3 and a degree from 2 to below it."
        )


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
    """The rate in frames per second; raises unless it is a valid number."""
    try:
        rate = float(value) if isinstance(value, int | float | np.number) else 0.0
    except UNREADABLE:
        rate = 0.0
    if isinstance(value, bool) or not 0.0 < rate <= _FASTEST:
        raise PhalanxError(
            f"{where}: got {shown(value)}, expected frames a second above 0, up to {_FASTEST:g}."
        )
    return rate


# The extra of the project that installs a package.
EXTRAS = {
    "pyarrow": "data",
    "zarr": "zarr",
    "h5py": "hdf5",
    "mcap": "mcap",
    "distributed": "cluster",
}


def package(name: str, what: str) -> Any:
    """The module of that name; if it is missing, the error names the extra to install."""
    top = name.partition(".")[0]
    try:
        return import_module(name)
    except ImportError:
        raise PhalanxError(
            f"{what}: the package {top} is not installed; {installing(EXTRAS[top])}."
        ) from None
