# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Checks of what refers to joints by name: actuators and configurations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..errors import PhalanxError, nearest
from .description import BASE, FREE_BASE, Description, Joint
from .joints import joint_type


def check_references(description: Description) -> None:
    """Raise for actuators and configurations of joints that the robot does not have, and the like."""
    joints = {joint.name: joint for joint in description.joints}
    _check_actuators(description, joints)
    _check_configurations(description, joints | {BASE: FREE_BASE})


def _check_actuators(description: Description, joints: Mapping[str, Joint]) -> None:
    """Raise for actuators without sense: unknown joints, arms of another size, numbers that are none."""
    where, taken = description.where, set()
    for a in description.actuators or ():
        at = f'{where}: actuator "{a.name}"'
        if a.name in taken or not a.name:
            raise PhalanxError(
                f'{where}: {"two actuators are" if a.name else "an actuator is"} named "{a.name}"; '
                "expected unique names. Rename one."
            )
        taken.add(a.name)
        sizes = _sizes(at, a.joints, joints, "nv")
        if tuple(map(len, a.arms)) != sizes or not a.joints:
            raise PhalanxError(
                f"{at} has {list(map(len, a.arms))} arms for its joints; expected {list(sizes)}."
            )
        numbers = (a.gear, a.rotor_inertia, *(x for arm in a.arms for x in arm))
        if not all(map(math.isfinite, numbers)) or a.gear == 0.0 or a.rotor_inertia < 0.0:
            raise PhalanxError(
                f"{at} has gear {a.gear:g}, arms {list(a.arms)} and rotor inertia {a.rotor_inertia:g}; "
                "expected finite numbers, a gear that is not 0 and an inertia >= 0."
            )
        if not a.lower <= a.upper:
            raise PhalanxError(f"{at} has the bounds {a.lower:g} and {a.upper:g}; expected lower <= upper.")


def _check_configurations(description: Description, joints: Mapping[str, Joint]) -> None:
    """Raise for configurations without sense: unknown joints, numbers that are not as many as coordinates."""
    taken: set[str] = set()
    for c in description.configurations:
        at = f'{description.where}: configuration "{c.name}"'
        if c.name in taken:
            raise PhalanxError(f"{at} is there twice; expected unique names. Rename one.")
        taken.add(c.name)
        sizes = _sizes(at, c.joints, joints, "nq")
        for joint, size, values in zip(c.joints, sizes, c.values, strict=True):
            if len(values) != size or not all(map(math.isfinite, values)):
                raise PhalanxError(
                    f'{at}: joint "{joint}" has {list(values)}; expected {size} finite '
                    f"number{'s' * (size > 1)}."
                )


def _sizes(where: str, names: Sequence[str], joints: Mapping[str, Joint], size: str) -> tuple[int, ...]:
    found = []
    for name in names:
        if name not in joints:
            hint = nearest(name, (x for x in joints if x != BASE), what="joints")
            raise PhalanxError(f'{where} has the unknown joint "{name}";{hint}')
        found.append(int(getattr(joint_type(joints[name].type), size)))
    return tuple(found)
