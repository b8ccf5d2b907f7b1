# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Actuation: the inputs of a robot and the matrix that leads from them to joint forces; changed actuators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import real_numbers
from ..errors import PhalanxError, nearest, shown
from . import description as d
from .assembly import BASE, Assembly
from .configurations import per_rate
from .description import Actuator, Description
from .joints import FREE
from .model import frozen

_KEYS = ("gear", "rotor_inertia", "lower", "upper", "joints")


@dataclass(frozen=True, eq=False)
class Actuation:
    """The inputs of a robot: joint forces are `matrix @ u`.

    `selection` (nv, nu) says on which degrees of freedom inputs act: a one for a motor at a joint, the
    coefficients of a tendon over several; with gears it is `matrix`. Bounds of inputs are their own ones and
    those that the joints' limits of effort leave. Without `is_stated` no file and nobody has named actuators:
    every joint has one, free joints and floating bases have none.
    """

    is_stated: bool
    names: tuple[str, ...]
    joints: tuple[tuple[str, ...], ...]
    gear: np.ndarray  # (nu,) joint force for each unit of the input
    rotor_inertia: np.ndarray  # (nu,) in front of the gear; the armature includes it
    lower: np.ndarray  # (nu,)
    upper: np.ndarray  # (nu,)
    selection: np.ndarray  # (nv, nu)
    matrix: np.ndarray  # (nv, nu): selection * gear

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.names)

    def __repr__(self) -> str:
        stated = "" if self.is_stated else ", every joint: none are stated"
        return f"<Actuation of {len(self.selection)} degrees of freedom by {self.nu} inputs{stated}>"


def actuation_of(assembly: Assembly) -> Actuation:
    """The inputs of an assembly."""
    stated = assembly.description.actuators
    actuators = stated
    if actuators is None:
        actuators = d.direct_actuators((m.joint.name, m.kind) for m in assembly.own if m.kind.name != FREE)
    selection = np.zeros((assembly.nv, len(actuators)))
    for k, actuator in enumerate(actuators):
        for joint, arm in zip(actuator.joints, actuator.arms, strict=True):
            follows = assembly.drivers.get(joint)
            ratio = 1.0 if follows is None else follows.multiplier
            selection[assembly.v_of[joint], k] += ratio * np.array(arm)
    gear = np.array([a.gear for a in actuators], dtype=float)
    matrix = selection * gear
    lower, upper = (np.array([getattr(a, key) for a in actuators], dtype=float) for key in ("lower", "upper"))
    alone = np.count_nonzero(matrix, axis=0) == 1
    several = np.count_nonzero(matrix, axis=1) > 1  # which of them exerts the effort is open
    effort = per_rate(assembly, "effort", np.inf)
    for k in np.flatnonzero(alone).tolist():
        v = int(np.flatnonzero(matrix[:, k])[0])
        if not several[v]:
            most = effort[v] / abs(matrix[v, k])
            lower[k], upper[k] = max(lower[k], -most), min(upper[k], most)
    rotors = np.array([a.rotor_inertia for a in actuators], dtype=float)
    arrays = map(frozen, (gear, rotors, lower, upper, selection, matrix))
    names, joints = tuple(a.name for a in actuators), tuple(a.joints for a in actuators)
    return Actuation(stated is not None, names, joints, *arrays)


def actuated(assembly: Assembly, given: Any) -> Description:
    """The description with these actuators instead of its own; rotors' inertias become armature."""
    where = f'robot "{assembly.description.name}": actuated'
    if isinstance(given, Actuator | str) or not isinstance(given, Mapping | Sequence):
        raise PhalanxError(
            f"{where} got {shown(given)}; expected joints, a mapping from joints to gears such as "
            '{"elbow": 100.0} or from names to {"gear": …, "rotor_inertia": …, "lower": …, "upper": …, '
            '"joints": …}.'
        )
    made: list[Actuator] = []
    for entry in given.items() if isinstance(given, Mapping) else ((x, 1.0) for x in given):
        name, value = entry
        made += [name] if isinstance(name, Actuator) else _actuators(assembly, name, value, where)
    return with_rotors(replace(assembly.description, actuators=tuple(made)))


def _actuators(assembly: Assembly, name: Any, value: Any, where: str) -> list[Actuator]:
    """The actuators of one entry: at a joint of that name, or over the joints that it lists."""
    options = value if isinstance(value, Mapping) else {"gear": value}
    if unknown := [key for key in options if key not in _KEYS]:
        hint = nearest(unknown[0], _KEYS, what="entries")
        raise PhalanxError(f"{where}: {shown(name)} has the unknown entry {shown(unknown[0])};{hint}")
    joints = options.get("joints", (name,))
    numbers: dict[str, Any] = {
        key: d.number(options[key], f"{where}: {shown(name)}: {key}") for key in _KEYS[:4] if key in options
    }
    kinds = {m.joint.name: m.kind for m in assembly.moving if m.joint.name != BASE}
    for joint in joints:
        if not isinstance(joint, str) or joint not in kinds:
            raise PhalanxError(
                f"{where}: there is no moving joint {shown(joint)};{nearest(joint, kinds, what='joints')}"
            )
    if not isinstance(joints, Mapping):
        return [replace(a, **numbers) for a in d.direct_actuators((j, kinds[j]) for j in joints)]
    at = f"{where}: {shown(name)}"
    arms = tuple(_arm(arm, kinds[joint].nv, f'{at}: joint "{joint}"') for joint, arm in joints.items())
    return [Actuator(d.text(name, f"{where}: name"), tuple(joints), arms, **numbers)]


def _arm(value: Any, size: int, where: str) -> tuple[float, ...]:
    array = np.atleast_1d(real_numbers(value, where, "numbers"))
    if array.shape != (size,):
        raise PhalanxError(f"{where} got {shown(value)}; expected {size} number{'s' * (size > 1)}.")
    return tuple(array.tolist())


def with_rotors(description: Description) -> Description:
    """The description whose joints have the armature of their actuators' rotors, where these have any."""
    armature: dict[str, float] = {}
    for a in description.actuators or ():
        if a.rotor_inertia > 0.0:
            if len(a.joints) != 1 or len(a.arms[0]) != 1:
                raise PhalanxError(
                    f'{description.where}: actuator "{a.name}" has a rotor inertia, but is not at one joint '
                    "of one axis; expected armature of joints instead: replace(armature=…)."
                )
            ratio = a.gear * a.arms[0][0]
            armature[a.joints[0]] = armature.get(a.joints[0], 0.0) + ratio * ratio * a.rotor_inertia
    if not armature:
        return description
    joints = tuple(
        replace(j, armature=(armature[j.name],)) if j.name in armature else j for j in description.joints
    )
    return replace(description, joints=joints)
