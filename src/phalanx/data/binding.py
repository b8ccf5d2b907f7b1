# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which columns of a file are which coordinates of a robot, by name, in which unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing, shown
from ..robot.robot import Robot
from .naming import candidates, coordinates, one_of, plain, rates, wide_groups
from .source import Column
from .units import QUANTITIES, factors

ROBOT = "robot"  # joints="robot": columns are in the robot's own order
_DEGREES = 4.0  # times the range of a joint, beyond which numbers are no radians


@dataclass(frozen=True)
class Binding:
    """A quantity of the robot in a file: its columns, which entries are taken, and their factors."""

    quantity: str
    columns: tuple[str, ...]  # one with all entries, or one for each
    picks: tuple[int, ...] | None  # entries of the one column in the robot's order; None: as they are
    scale: np.ndarray | None
    width: int

    def take(self, batch: Mapping[str, np.ndarray], dtype: np.dtype[Any]) -> np.ndarray:
        """The quantity (rows, nq or nv) of a batch, without a copy where the file has it as it is."""
        if len(self.columns) == 1 and self.width != 1:
            found = batch[self.columns[0]]
            found = found.reshape(len(found), prod(found.shape[1:]))
            if self.picks is not None:
                found = found[:, list(self.picks)]
            found = found.astype(dtype, copy=False)
        else:
            parts = [batch[name].reshape(-1) for name in self.columns]
            found = _beside(parts, dtype)
        return found if self.scale is None else found * self.scale.astype(dtype)


def _beside(parts: Sequence[np.ndarray], dtype: np.dtype[Any]) -> np.ndarray:
    """Columns beside each other as rows, block by block: in one go every store would miss the cache."""
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
    wide = wide_groups(columns)
    result = {}
    for quantity in QUANTITIES:
        found = _find(quantity, columns, wide, named, where)
        if found is not None:
            result[quantity] = _bind(robot, quantity, found, columns, where, joints, units, quantity in named)
    if "q" not in result:
        raise PhalanxError(
            f"{where}: no column holds the positions q of the joints; the columns are "
            f'{listing(columns, most=12) or "none"}; say which with columns={{"q": "name"}} (--columns '
            "q=name)."
        )
    return result


def _named(names: Any) -> dict[str, tuple[str, ...]]:
    """What the user says about columns: one for a quantity, or one for each of its entries."""
    if names is None:
        return {}
    if not isinstance(names, Mapping) or not set(names) <= set(QUANTITIES):
        raise PhalanxError(
            f'columns: got {shown(names)}, expected a mapping such as {{"q": "observation.state"}}.'
        )
    return {k: (v,) if isinstance(v, str) else tuple(map(str, v)) for k, v in names.items()}


def _find(
    quantity: str,
    columns: Mapping[str, Column],
    wide: Mapping[str, Mapping[str, str]],
    named: Mapping[str, tuple[str, ...]],
    where: str,
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The columns of a quantity and the labels of its entries, if any; None where it is not recorded."""
    if quantity in named:
        for name in named[quantity]:
            if name not in columns:
                told = listing(columns, most=12)
                raise PhalanxError(f'{where}: no column "{name}" for {quantity}; the columns are {told}.')
        given = named[quantity]
        return given, columns[given[0]].labels if len(given) == 1 else given
    found = candidates(quantity, columns)
    if found:
        name = one_of(found, quantity, where)
        return (name,), columns[name].labels
    groups = candidates(quantity, wide)
    if not groups:
        return None
    group = wide[one_of(groups, quantity, where)]
    if all(label.isdigit() for label in group):
        ordered = sorted(group, key=int)
        if [int(x) for x in ordered] not in (list(range(len(ordered))), list(range(1, len(ordered) + 1))):
            raise PhalanxError(f"{where}: the columns {listing(group.values())} of {quantity} have gaps.")
        return tuple(group[label] for label in ordered), ()
    return tuple(group.values()), tuple(group)


def _bind(
    robot: Robot,
    quantity: str,
    found: tuple[tuple[str, ...], tuple[str, ...]],
    columns: Mapping[str, Column],
    where: str,
    joints: Any,
    units: Any,
    told: bool,
) -> Binding:
    names, labels = found
    for name in names:
        if not columns[name].is_real:
            raise PhalanxError(
                f'{where}: column "{name}" ({quantity}) holds {columns[name].dtype}, expected real numbers.'
            )
        if len(names) > 1 and columns[name].width != 1:
            raise PhalanxError(f'{where}: column "{name}" has {columns[name].width} entries, expected one.')
    count = len(names) if len(names) > 1 else columns[names[0]].width
    wanted = coordinates(robot) if quantity == "q" else rates(robot)
    own = (
        told or names[0] == quantity or names[0].startswith((f"{quantity}_", f"{quantity}.", f"{quantity}["))
    )
    picks = _picks(robot, quantity, count, labels, wanted, where, joints, own and not labels)
    scale = factors(robot, quantity, units)
    if len(names) > 1:
        return Binding(quantity, tuple(names[k] for k in picks), None, scale, len(wanted))
    same = picks == tuple(range(count))
    return Binding(
        quantity, names, None if same else picks, scale, count if len(wanted) != 1 or count != 1 else 1
    )


def _picks(
    robot: Robot,
    quantity: str,
    count: int,
    labels: tuple[str, ...],
    wanted: list[str],
    where: str,
    joints: Any,
    own: bool,
) -> tuple[int, ...]:
    """Which entry of the file each coordinate is."""
    of_robot = f'robot "{robot.name}"'
    if joints is None and labels:
        at = _by_name(labels, {}, wanted)
    elif isinstance(joints, Mapping):
        if not labels:
            raise PhalanxError(
                f"{where}: joints= maps names, but the entries of {quantity} have none; "
                "list the joints in the order of the entries instead."
            )
        at = _by_name(labels, {str(k): v for k, v in joints.items()}, wanted)
    elif joints is not None and joints != ROBOT:
        given = [None if j is None or j == "" or j == "-" else str(j) for j in joints]
        if len(given) != count:
            raise PhalanxError(
                f"{where}: joints= names {len(given)} joints, but {quantity} has {count} entries a frame; "
                "name one "
                'for each, "-" for those that are none of the robot.'
            )
        unknown = [j for j in given if j is not None and j not in wanted]
        if unknown:
            raise PhalanxError(
                f"{where}: joints= names {listing(unknown)}; {of_robot} has {listing(wanted, most=40)}."
            )
        at = {name: k for k, name in enumerate(given) if name is not None}
    elif joints == ROBOT or own:
        if count != len(wanted):
            raise PhalanxError(
                f"{where}: {quantity} has {count} entries a frame, expected {len(wanted)} for {of_robot}; "
                "name the "
                f'joint of each with joints= (--joints), "-" for those that are none of the robot.'
            )
        return tuple(range(count))
    else:
        raise PhalanxError(
            f"{where}: the {count} entries of {quantity} have no names; say which joints they are, in "
            "order, with "
            f'joints=[…] (--joints a,b,…), or joints="{ROBOT}" for the order of {of_robot}: '
            f"{listing(wanted, most=40)}."
        )
    missing = [name for name in wanted if name not in at]
    if missing:
        raise PhalanxError(
            f"{where}: {quantity} has no entry for {listing(missing)} of {of_robot}; it has "
            f"{listing(labels or map(str, range(count)), most=40)}. Map names with "
            f'joints={{"file": "robot"}}, '
            "or weld joints that were not recorded with robot.fix."
        )
    return tuple(at[name] for name in wanted)


def _by_name(labels: Sequence[str], renamed: Mapping[str, Any], wanted: list[str]) -> dict[str, int]:
    at: dict[str, int] = {}
    for k, label in enumerate(labels):
        for name in (renamed.get(label), label, plain(label)):
            if name in wanted:
                at.setdefault(str(name), k)
                break
    return at


def require_plausible(robot: Robot, q: np.ndarray, where: str, units: Any) -> None:
    """Raise where positions can hardly be radians and nobody said in which unit they are."""
    if units is not None or not len(q):
        return
    with np.errstate(invalid="ignore"):
        reach = np.nanmax(np.abs(np.where(np.isfinite(q), q, 0.0)), axis=0)
        bound = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))
    angular = np.isfinite(bound) & (bound > 0.0)
    far = np.flatnonzero(angular & (reach > _DEGREES * bound) & (reach > _DEGREES * np.pi))
    if len(far):
        k = int(far[0])
        raise PhalanxError(
            f'{where}: "{coordinates(robot)[k]}" goes to {reach[k]:.4g}, its limit is {bound[k]:.4g} rad: '
            'these look like degrees; say units="deg" (--units deg), or units="rad" to take them as they are.'
        )
