# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The actuators of a compiled MuJoCo model, and the largest forces that they can exert at its joints.

Read are actuators at joints and at fixed tendons; their inputs are forces in front of the gear, whatever
servo makes them of controls. Counted are the same, for their moment
arms are constant. Their force is bounded by `forcerange`, or by the range of the control where the force
depends on nothing else (motors); a servo without `forcerange` has no bound. `actuatorfrcrange` of a joint or
tendon bounds the sum.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from phalanx.robot.description import Actuator
from phalanx.robot.joints import joint_type

_FREE = (-math.inf, math.inf)

Range = tuple[float, float]
Effort = tuple[float, ...]


def effort_limits(model: Any, types: tuple[str, ...]) -> list[Effort]:
    """Largest force per degree of freedom of each joint, infinite where nothing bounds it; () if no one is.

    `types` are the names of joint types by the numbers of mjtJoint.
    """
    acting: dict[int, list[np.ndarray]] = defaultdict(list)
    for joint, bounds in _acting(model, types):
        acting[joint].append(bounds)
    efforts = []
    for j, number in enumerate(model.jnt_type.tolist()):
        kind = joint_type(types[number])
        total = np.sum(acting[j], axis=0) if j in acting else np.tile(_FREE, (kind.nv, 1))
        if kind.nv == 1 and model.jnt_actfrclimited[j]:
            total = np.clip(total, *model.jnt_actfrcrange[j])
        largest = np.abs(total).max(axis=1)
        efforts.append(tuple(largest.tolist()) if np.isfinite(largest).any() else ())
    return efforts


def read_actuators(
    model: Any, types: tuple[str, ...], joints: Sequence[str], names: Sequence[str]
) -> tuple[tuple[Actuator, ...] | None, list[str], list[str]]:
    """The actuators of a model, None if it has none; and the names of those left out, and of servos.

    A servo's force depends on more than its control: its gains are left out.
    """
    import mujoco

    if not len(model.actuator_trntype):
        return None, [], []
    made: list[Actuator] = []
    others, servos = [], []
    for a, kind in enumerate(model.actuator_trntype.tolist()):
        target, gear = int(model.actuator_trnid[a, 0]), float(model.actuator_gear[a, 0])
        arms: dict[str, tuple[float, ...]] = {}
        if kind == mujoco.mjtTrn.mjTRN_TENDON:
            arms = _tendon_arms(model, target, joints)
        elif kind in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
            nv = joint_type(types[model.jnt_type[target]]).nv
            if nv == 1:
                arms = {joints[target]: (1.0,)}
            elif nv == 3 and kind == mujoco.mjtTrn.mjTRN_JOINT:
                arms, gear = {joints[target]: tuple(model.actuator_gear[a, :3].tolist())}, 1.0
        if not arms or not gear or not _is_enabled(model, a):
            others.append(names[a])
            continue
        lower, upper = _force(model, a)
        rotor = float(model.actuator_armature[a]) if hasattr(model, "actuator_armature") else 0.0
        own = rotor if kind != mujoco.mjtTrn.mjTRN_TENDON and arms == {joints[target]: (1.0,)} else 0.0
        made.append(Actuator(names[a], tuple(arms), tuple(arms.values()), gear, own, lower, upper))
        if not _is_motor(model, a):
            servos.append(names[a])
    return tuple(made), others, servos


def _tendon_arms(model: Any, tendon: int, joints: Sequence[str]) -> dict[str, tuple[float, ...]]:
    """The coefficients of a fixed tendon's joints; none of a spatial one, whose moment arms vary."""
    import mujoco

    arms: dict[str, tuple[float, ...]] = {}
    first = int(model.tendon_adr[tendon])
    for w in range(first, first + int(model.tendon_num[tendon])):
        if model.wrap_type[w] != mujoco.mjtWrap.mjWRAP_JOINT:
            return {}
        name = joints[int(model.wrap_objid[w])]
        arms[name] = (arms.get(name, (0.0,))[0] + float(model.wrap_prm[w]),)
    return arms


def _is_motor(model: Any, a: int) -> bool:
    """Whether an actuator's force is its control."""
    import mujoco

    gain, bias = model.actuator_gainprm[a], int(model.actuator_biastype[a])
    return bool(
        int(model.actuator_gaintype[a]) == mujoco.mjtGain.mjGAIN_FIXED
        and gain[0] == 1.0
        and bias == mujoco.mjtBias.mjBIAS_NONE
        and int(model.actuator_dyntype[a]) == mujoco.mjtDyn.mjDYN_NONE
    )


def _acting(model: Any, types: tuple[str, ...]) -> Iterator[tuple[int, np.ndarray]]:
    """A joint and the range (nv, 2) of forces there, for each actuator at it and fixed tendon over it."""
    import mujoco

    at_tendons: dict[int, list[int]] = defaultdict(list)
    for a, kind in enumerate(model.actuator_trntype.tolist()):
        target = int(model.actuator_trnid[a, 0])
        if not _is_enabled(model, a):
            continue
        if kind == mujoco.mjtTrn.mjTRN_TENDON:
            at_tendons[target].append(a)
        elif kind in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
            nv = joint_type(types[model.jnt_type[target]]).nv
            # Along axes of the parent a ball joint's moment arms vary; a free joint's axes are not ours.
            if nv == 1 or (nv == 3 and kind == mujoco.mjtTrn.mjTRN_JOINT):
                yield target, np.array([_times(g, _force(model, a)) for g in model.actuator_gear[a, :nv]])
    for tendon, actuators in at_tendons.items():
        bounds = _tendon_force(model, tendon, actuators)
        first = int(model.tendon_adr[tendon])
        for w in range(first, first + int(model.tendon_num[tendon])):
            if model.wrap_type[w] == mujoco.mjtWrap.mjWRAP_JOINT:
                yield int(model.wrap_objid[w]), np.array([_times(model.wrap_prm[w], bounds)])


def _tendon_force(model: Any, tendon: int, actuators: list[int]) -> Range:
    """The range of the force along a tendon; its own limit is one of the sum, before gears."""
    forces = np.array([_force(model, a) for a in actuators])
    gears = model.actuator_gear[actuators, 0]
    if len(set(gears.tolist())) == 1 and model.tendon_actfrclimited[tendon]:
        low, high = np.clip(forces.sum(axis=0), *model.tendon_actfrcrange[tendon]).tolist()
        return _times(gears[0], (low, high))
    low, high = np.sum([_times(g, tuple(f)) for g, f in zip(gears, forces, strict=True)], axis=0).tolist()
    return low, high


def _force(model: Any, a: int) -> Range:
    """The range of an actuator's force, before its gear."""
    low, high = _commanded(model, a)
    if model.actuator_forcelimited[a]:
        low, high = np.clip((low, high), *model.actuator_forcerange[a]).tolist()
    return low, high


def _commanded(model: Any, a: int) -> Range:
    """The range of gain * input + bias, where these depend on the control alone."""
    import mujoco

    gain, bias = model.actuator_gainprm[a], model.actuator_biasprm[a]
    kind = int(model.actuator_biastype[a])
    affine = kind == mujoco.mjtBias.mjBIAS_AFFINE
    constant = kind == mujoco.mjtBias.mjBIAS_NONE or (affine and not bias[1:3].any())
    if int(model.actuator_gaintype[a]) != mujoco.mjtGain.mjGAIN_FIXED or not constant:
        return _FREE
    low, high = _times(gain[0], _input(model, a))
    shift = float(bias[0]) if affine else 0.0
    return low + shift, high + shift


def _input(model: Any, a: int) -> Range:
    """The range of an actuator's input: its control, or the activation that follows the control."""
    import mujoco

    dynamics = mujoco.mjtDyn
    if model.actuator_actlimited[a]:
        low, high = model.actuator_actrange[a].tolist()
        return low, high
    clamped = not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL
    control = int(getattr(model, "actuator_ctrladr", range(model.nu))[a])  # since version 4 some have several
    if not clamped or not model.actuator_ctrllimited[control]:
        return _FREE
    low, high = model.actuator_ctrlrange[control].tolist()
    kind = int(model.actuator_dyntype[a])
    if kind == dynamics.mjDYN_NONE:
        return low, high
    if kind in (dynamics.mjDYN_FILTER, dynamics.mjDYN_FILTEREXACT):
        return min(low, 0.0), max(high, 0.0)  # activations start at zero
    return _FREE


def _is_enabled(model: Any, a: int) -> bool:
    """Whether an actuator acts at all: neither actuation nor its group is switched off."""
    import mujoco

    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_ACTUATION:
        return False
    group = int(model.actuator_group[a])
    return not (0 <= group < 31 and model.opt.disableactuator >> group & 1)


def _times(factor: float, bounds: Range) -> Range:
    """The range of a product; zero times no bound is zero."""
    ends = [float(factor) * x if factor else 0.0 for x in bounds]
    return min(ends), max(ends)
