# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Units and signs of recordings: what a file's numbers are multiplied with to become SI."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..arrays import UNREADABLE
from ..errors import PhalanxError, nearest, shown
from ..robot.joints import joint_type
from ..robot.robot import Robot

QUANTITIES = ("q", "qd", "qdd", "tau")
FACTORS = {
    "rad": 1.0,
    "deg": math.pi / 180.0,
    "turn": 2.0 * math.pi,
    "m": 1.0,
    "cm": 1e-2,
    "mm": 1e-3,
    "Nm": 1.0,
    "mNm": 1e-3,
    "N": 1.0,
    "SI": 1.0,
}
_ANGLES, _LENGTHS = ("rad", "deg", "turn"), ("m", "cm", "mm")
_OTHER = {"rad": "m", "m": "rad"}


def factors(robot: Robot, quantity: str, units: Any) -> np.ndarray | None:
    """What each entry of a quantity is multiplied with (nq,) or (nv,); None where nothing changes.

    `units` is a unit of all angles ("deg"), or a mapping from quantities and joints to units, which may have
    a sign ("-deg"), or to plain factors. Rates are per second.
    """
    given = {"q": units, "qd": units, "qdd": units} if isinstance(units, str) else units
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise PhalanxError(
            f'units: got {shown(units)}, expected "rad", "deg", or a mapping such as {{"q": "deg"}}.'
        )
    slices = robot.q_slices if quantity == "q" else robot.v_slices
    result = np.ones(robot.nq if quantity == "q" else robot.nv)
    own = tuple(joint for joint in robot.joint_names if joint not in robot.mimics)
    for name, unit in given.items():
        if name in QUANTITIES:
            joints = own if name == quantity else ()
        elif name in own:
            joints = (name,)
        else:
            known = nearest(name, [*QUANTITIES, *own], what="known")
            raise PhalanxError(
                f'units: {shown(name)} is no quantity and no joint of robot "{robot.name}";{known}'
            )
        for joint in joints:
            _scale(result, robot, joint, slices[joint], quantity, name, unit)
    return None if np.all(result == 1.0) else result


def coordinate_units(robot: Robot) -> list[str]:
    """The unit of each coordinate, "" for the numbers of a quaternion."""
    found = [""] * robot.nq
    for at in robot._coordinates:
        if at.kind.quaternion is None:
            found[at.q] = at.kind.units
    return found


def _scale(
    result: np.ndarray, robot: Robot, joint: str, part: slice, quantity: str, name: Any, unit: Any
) -> None:
    """Multiply the entries of one joint; joints of several coordinates take signs and plain factors only."""
    factor, of = _factor(unit, name)
    own = joint_type(robot.joint_types[robot.joint_names.index(joint)]).units
    if name in QUANTITIES and of and (own != (of,) or quantity == "tau"):
        return  # "deg" speaks of angles, "mm" of lengths
    if of and own == (_OTHER[of],):
        raise PhalanxError(
            f'units: joint "{joint}" moves in {own[0]}, got {shown(unit)}; expected a unit of that kind, '
            "or a factor."
        )
    if of and quantity == "tau":
        factor = math.copysign(1.0, factor)  # a joint's unit of length or angle says nothing of its force
    if part.stop - part.start > 1 and abs(factor) != 1.0:
        raise PhalanxError(
            f'units: joint "{joint}" has several coordinates; only joints of one can be scaled.'
        )
    result[part] *= factor


def _factor(unit: Any, name: Any) -> tuple[float, str]:
    """A factor, and "rad" or "m" if the unit is one of angles or of lengths."""
    if isinstance(unit, str):
        text = unit.strip()
        sign, word = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
        word = word.strip().removesuffix("/s^2").removesuffix("/s")
        if word in FACTORS:
            return sign * FACTORS[word], "rad" if word in _ANGLES else "m" if word in _LENGTHS else ""
        known = nearest(word, FACTORS, what="units")
        raise PhalanxError(f"units: {shown(unit)} for {shown(name)} is unknown;{known}")
    try:
        number = float(unit)
    except UNREADABLE:
        number = math.nan
    if not math.isfinite(number) or number == 0.0:
        raise PhalanxError(
            f"units: {shown(unit)} for {shown(name)}, expected a unit or a factor other than 0."
        )
    return number, ""
