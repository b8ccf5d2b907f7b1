# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Gains and targets of control laws, checked: numbers, or names of a simulation's parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import real_numbers
from ..errors import PhalanxError, listing, shown
from ..typing import ArrayLike

Gain = float | ArrayLike | str


LARGEST = 10**7  # numbers of a gain or a layer: each is a constant of compiled code


def gain_of(value: Gain, where: str) -> Any:
    """A gain as an array of finite numbers that are not negative, or the name of a parameter."""
    if isinstance(value, str):
        if not value.isidentifier():
            raise PhalanxError(f"{where} is {shown(value)}, expected numbers or the name of a parameter.")
        return value
    found = finite(value, where)
    if (found < 0.0).any():
        raise PhalanxError(
            f"{where} is {_told(found)}, expected no negative number: that would drive errors up."
        )
    return found


def finite(value: Any, where: str) -> np.ndarray:
    found = real_numbers(value, where, "real numbers")
    if found.size > LARGEST:
        raise PhalanxError(
            f"{where} is an array of shape {found.shape}, expected at most {LARGEST:,} numbers."
        )
    if not np.isfinite(found).all():
        raise PhalanxError(f"{where} is {_told(found)}, expected finite numbers.")
    found = found.copy()
    found.setflags(write=False)
    return found


def _told(found: np.ndarray) -> str:
    return str(found.tolist()) if found.size <= 8 else f"an array of shape {found.shape}"


def given(gain: Any, parameters: dict[str, Any]) -> Any:
    """The numbers of a gain; those of a name are among the parameters of the simulation."""
    if not isinstance(gain, str):
        return gain
    if gain not in parameters:
        declared = f"declared are {listing(parameters)}" if parameters else "none is declared"
        raise PhalanxError(
            f"gain {gain!r} is a parameter, but {declared}; declare it: robot.simulation(…, "
            f"parameters={{{gain!r}: n}})."
        )
    return parameters[gain]


def of_joints(gain: Any, robot: Any, where: str) -> Any:
    """A gain of the joints: one number, or (…, nv)."""
    shape = np.shape(gain)
    if shape and shape[-1] != 1:
        expect(shape[-1:], (int(robot.nv),), f"{where}: a gain", robot)
    return gain


def of_pose(gain: Any) -> Any:
    """A gain of a pose as a matrix (…, 6, 6): given as such, as its diagonal, or as (angular, linear)."""
    shape = np.shape(gain)
    if shape[-2:] == (6, 6):
        return gain
    if shape[-1:] == (2,):
        gain = np.concatenate([gain[..., :1]] * 3 + [gain[..., 1:]] * 3, axis=-1)
    elif shape[-1:] != (6,):
        raise PhalanxError(
            f"impedance: a gain has shape {shape}, expected (6,) or (6, 6), [angular; linear], or (2,): one "
            "for turns and one for ways."
        )
    return gain[..., None] * np.eye(6)


def target_of(value: ArrayLike | None, where: str) -> np.ndarray | None:
    if value is None:
        return None
    found = finite(value, f"{where}: target" if ":" not in where else where)
    if found.ndim != 1:
        raise PhalanxError(f"{where}: target has shape {found.shape}, expected (nq,).")
    return found


def pose_of(value: ArrayLike) -> np.ndarray:
    found = finite(value, "impedance: target")
    if found.shape != (4, 4):
        raise PhalanxError(f"impedance: target has shape {found.shape}, expected a pose (4, 4).")
    turn = found[:3, :3]
    if np.abs(turn @ turn.T - np.eye(3)).max() > 1e-6 or np.linalg.det(turn) < 0.0:
        raise PhalanxError("impedance: the first three rows and columns of target are no rotation.")
    return found


def switch(value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise PhalanxError(f"control: gravity is {shown(value)}, expected True or False.")
    return bool(value)


def expect(shape: tuple[int, ...], expected: tuple[int, ...], where: str, robot: Any) -> None:
    if shape != expected:
        raise PhalanxError(f'{where} has shape {shape}, expected {expected} for robot "{robot.name}".')
