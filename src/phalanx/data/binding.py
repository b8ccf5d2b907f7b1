# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mapping from columns of a file to the coordinates of a robot, by name, with units."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ..arrays import UNREADABLE
from ..errors import PhalanxError, is_one_of, listing, nearest, shown, warn
from ..robot.joints import joint_type
from ..robot.robot import Robot
from .naming import NONE, JointNames, candidates, coordinates, one_of, rates, split_label, wide_groups
from .source import Column

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
    """The factors (nq,) or (nv,) to SI units for the entries of a quantity; None if all are 1.

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
        return  # "deg" applies to angles, "mm" to lengths
    if of and own == (_OTHER[of],):
        raise PhalanxError(
            f'units: joint "{joint}" moves in {own[0]}, got {shown(unit)}; expected a unit of that kind, '
            "or a factor."
        )
    if of and quantity == "tau":
        factor = math.copysign(1.0, factor)  # a joint's unit of length or angle does not apply to its force
    if part.stop - part.start > 1 and abs(factor) != 1.0:
        raise PhalanxError(
            f'units: joint "{joint}" has several coordinates; only joints of one can be scaled.'
        )
    result[part] *= factor


def _factor(unit: Any, name: Any) -> tuple[float, str]:
    """A factor, and "rad" or "m" if the unit is one of angles or of lengths."""
    if isinstance(unit, str):
        word = unit.strip()
        sign, word = (-1.0, word[1:]) if word.startswith("-") else (1.0, word)
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


# ------------------------------------------------------------------------ columns


_SLACK, _OFTEN = 0.01, 0.01  # of a joint's range, of all frames: beyond limits, warn
_MANY = 8  # joints in a warning
_WIDEST = 1_000_000  # entries of a column
_DEGREES = 4.0  # times the range of a joint, beyond which values are not radians


@dataclass(frozen=True)
class Binding:
    """A quantity of the robot in a file: its columns, which entries are taken, and their factors."""

    quantity: str
    columns: tuple[str, ...]  # one with all entries, or one for each
    picks: tuple[int, ...] | None  # entries of the one column in the robot's order; None: as they are
    scale: np.ndarray | None
    width: int

    def take(self, batch: Mapping[str, np.ndarray], dtype: np.dtype[Any]) -> np.ndarray:
        """The quantity (rows, nq or nv) of a batch, without a copy if the file has it in this form."""
        if len(self.columns) == 1 and self.width != 1:
            found = batch[self.columns[0]]
            found = found.reshape(len(found), prod(found.shape[1:]))
            if self.picks is not None:
                found = found[:, list(self.picks)]
            found = found.astype(dtype, copy=False)
        else:
            parts = [batch[name].reshape(-1) for name in self.columns]
            found = _side_by_side(parts, dtype)
        return found if self.scale is None else found * self.scale.astype(dtype)


def _side_by_side(parts: Sequence[np.ndarray], dtype: np.dtype[Any]) -> np.ndarray:
    """Columns stacked side by side, in blocks of rows: all at once, every store would miss the cache."""
    found = np.empty((len(parts[0]), len(parts)), dtype)
    for start in range(0, len(found), 4096):
        rows = slice(start, start + 4096)
        for k, part in enumerate(parts):
            found[rows, k] = part[rows]
    return found


def bound(
    robot: Robot, columns: Mapping[str, Column], where: str, *, joints: Any, units: Any, names: Any
) -> dict[str, Binding]:
    """The quantities of a robot that a file holds, by name; `names` says how the file calls them."""
    named = _named(names)
    found = _with_endings(robot, _found(columns, named, where), named, where)
    if "q" not in found:
        raise PhalanxError(
            f"{where}: no column holds the positions q of the joints; the columns are "
            f'{listing(columns, most=12) or "none"}; say which with columns={{"q": "name"}} (--columns '
            "q=name)."
        )
    chosen = JointNames(robot, joints, where)
    result = {q: _bind(robot, q, found[q], columns, chosen, units) for q in QUANTITIES if q in found}
    chosen.require_used()
    return result


@dataclass(frozen=True)
class _Found:
    """Columns of a quantity: one with all entries or one for each; their labels, if any."""

    columns: tuple[str, ...]
    labels: tuple[str, ...]
    own: bool  # by its name or as the user says; else entries with the ending of the quantity are taken
    explicit: bool = False  # the user says so, or the column is called as the library calls the quantity


def _named(names: Any) -> dict[str, tuple[str, ...]]:
    """The columns that the user names: one for a quantity, one for each of its entries, or none."""
    if names is None:
        return {}
    if not isinstance(names, Mapping) or not all(is_one_of(name, QUANTITIES) for name in names):
        raise PhalanxError(
            f'columns: got {shown(names)}, expected a mapping such as {{"q": "observation.state"}}.'
        )
    made: dict[str, tuple[str, ...]] = {}
    for quantity, given in names.items():
        several = [given] if isinstance(given, str) else given
        if not isinstance(several, list | tuple) or not several or not all(type(n) is str for n in several):
            raise PhalanxError(
                f"columns: got {shown(given)} for {quantity}, expected the name of a column, a list of "
                f'names, or "{NONE}" for none.'
            )
        made[quantity] = () if list(several) == [NONE] else tuple(several)
    return made


def _found(
    columns: Mapping[str, Column], named: Mapping[str, tuple[str, ...]], where: str
) -> dict[str, _Found]:
    """The columns found by the names of quantities, or as the user says."""
    wide = wide_groups(columns)
    made = {}
    for quantity in QUANTITIES:
        found = _find(quantity, columns, wide, named, where)
        if found is not None:
            made[quantity] = found
    return made


def _find(
    quantity: str,
    columns: Mapping[str, Column],
    wide: Mapping[str, Mapping[str, str]],
    named: Mapping[str, tuple[str, ...]],
    where: str,
) -> _Found | None:
    """The columns of a quantity and the labels of its entries, if any; None where it is not recorded."""
    if quantity in named:
        for name in named[quantity]:
            if name not in columns:
                known = listing(columns, most=12)
                raise PhalanxError(f'{where}: no column "{name}" for {quantity}; the columns are {known}.')
        given = named[quantity]
        if not given:
            return None
        return _Found(given, columns[given[0]].labels if len(given) == 1 else given, True, True)
    found = candidates(quantity, columns)
    if found:
        name = one_of(found, quantity, where)
        return _Found((name,), columns[name].labels, True, name == quantity)
    groups = candidates(quantity, wide)
    if not groups:
        return None
    alias = one_of(groups, quantity, where)
    group = wide[alias]
    if all(label.isdigit() for label in group):
        ordered = sorted(group, key=int)
        if [int(x) for x in ordered] not in (list(range(len(ordered))), list(range(1, len(ordered) + 1))):
            raise PhalanxError(f"{where}: the columns {listing(group.values())} of {quantity} have gaps.")
        return _Found(tuple(group[label] for label in ordered), (), True, alias == quantity)
    return _Found(tuple(group.values()), tuple(group), True, alias == quantity)


def _with_endings(
    robot: Robot, found: dict[str, _Found], named: Mapping[str, tuple[str, ...]], where: str
) -> dict[str, _Found]:
    """`found` with quantities whose column names differ by endings: "elbow.vel" beside "elbow.pos"."""
    made, known = dict(found), {*coordinates(robot), *rates(robot)}
    for quantity in QUANTITIES:
        if quantity in named:
            continue
        own = found.get(quantity)
        inside = {
            f.columns: f
            for f in found.values()
            if own is None or f.columns != own.columns
            if any(x not in known and split_label(x)[1] == quantity for x in f.labels)
        }
        if not inside:
            continue
        several = [*([own.columns[0]] if own else []), *(columns[0] for columns in inside)]
        if len(several) > 1:
            raise PhalanxError(
                f"{where}: {quantity} could be any of {listing(several)}, by names of columns or by "
                f'endings of entries; say which with columns={{"{quantity}": "{several[0]}"}} (--columns '
                f"{quantity}={several[0]})."
            )
        made[quantity] = replace(next(iter(inside.values())), own=False, explicit=False)
    return made


def _bind(
    robot: Robot, quantity: str, found: _Found, columns: Mapping[str, Column], joints: JointNames, units: Any
) -> Binding:
    names, where = found.columns, joints.where
    for name in names:
        if not columns[name].is_real:
            raise PhalanxError(
                f'{where}: column "{name}" ({quantity}) holds {columns[name].dtype}, expected real numbers.'
            )
        if len(names) > 1 and columns[name].width != 1:
            raise PhalanxError(f'{where}: column "{name}" has {columns[name].width} entries, expected one.')
    count = len(names) if len(names) > 1 else columns[names[0]].width
    if count > _WIDEST:
        raise PhalanxError(
            f'{where}: column "{names[0]}" has {count:,} entries, expected at most {_WIDEST:,}.'
        )
    picks = joints.picks(quantity, count, found.labels, own=found.own, ordered=found.explicit)
    width = robot.nq if quantity == "q" else robot.nv
    scale = factors(robot, quantity, units)
    if len(names) > 1:
        return Binding(quantity, tuple(names[k] for k in picks), None, scale, width)
    same = picks == tuple(range(count))
    return Binding(quantity, names, None if same else picks, scale, count if width != 1 or count != 1 else 1)


def require_plausible(robot: Robot, q: np.ndarray, where: str, units: Any) -> None:
    """Raise if positions can hardly be radians or metres and no unit was given."""
    if units is not None or not len(q):
        return
    with np.errstate(invalid="ignore"):
        reach = np.nanmax(np.abs(np.where(np.isfinite(q), q, 0.0)), axis=0)
        bound = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))
    limited = np.isfinite(bound) & (bound > 0.0)
    far = np.flatnonzero(limited & (reach > _DEGREES * bound) & (reach > _DEGREES * np.pi))
    if len(far):
        k = int(far[0])
        own = coordinate_units(robot)[k]
        word, unit = ("millimetres", "mm") if own == "m" else ("degrees", "deg")
        raise PhalanxError(
            f'{where}: "{coordinates(robot)[k]}" goes to {reach[k]:.4g}, its limit is {bound[k]:.4g} {own}: '
            f'these look like {word}; say units="{unit}" (--units {unit}), or units="{own}" to take them as '
            "they are."
        )


def warn_outside(robot: Robot, q: np.ndarray, where: str) -> None:
    """Warn of joints that are often beyond their limits: joint, sign or unit may be wrong."""
    lower, upper = robot.limits.lower, robot.limits.upper
    slack = _SLACK * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    with np.errstate(invalid="ignore"):
        share = np.mean((q < lower - slack) | (q > upper + slack), axis=0)
    if not np.any(share > _OFTEN):
        return
    outside = [
        f'"{name}" {100.0 * x:.0f} %' for name, x in zip(coordinates(robot), share, strict=True) if x > _OFTEN
    ]
    more = f" and {len(outside) - _MANY} more" if len(outside) > _MANY else ""
    warn(
        f"{where}: outside its limits in the first {len(q)} frames: {', '.join(outside[:_MANY])}{more}. Are "
        "joints in another order, with another sign or unit? Say so with joints=, units= (--joints, --units)."
    )
