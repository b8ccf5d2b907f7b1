# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Structural facts of a robot: whether its mass matrix can be inverted, how well; how a frame can move."""

from __future__ import annotations

import numpy as np

from ..algorithms.inertia.crba import crba
from ..algorithms.kinematics import jacobian
from ..errors import PhalanxError, listing
from ..robot.frames import placement_of
from ..robot.robot import Robot
from ..sweeps.orders.sequential import Sequential
from ..sweeps.verbs import eliminate, ordering

_FULL_CHECK = 64  # degrees of freedom up to which the factor itself is looked at
_TOLERANCE = 1e-13
_LARGEST = 256  # degrees of freedom up to which a condition number is computed
_WELL = 1e3  # median condition up to which a factor loses no two digits (docs/band_sparsity.md)
_STATES = 32  # configurations whose median is taken; fewer for many degrees of freedom
_RANK = 1e-10  # of the largest singular value, below which a direction is none
_TRIES = 8  # configurations in which a frame may move in all directions
_SPREAD = 100.0  # ratio of masses up to which segments lose no two digits (docs/band_sparsity.md)


def require_invertible(robot: Robot) -> None:
    """Raise if some joint moves no inertia in any configuration."""
    loose = robot._memoized("loose joints", lambda: _loose_joints(robot))
    if loose:
        raise PhalanxError(
            f'robot "{robot.name}": the mass matrix is singular in every configuration, because nothing '
            f"with inertia resists joint{'s' if len(loose) > 1 else ''} {listing(loose)}. "
            f"{_remedy(robot, loose)}"
        )


def require_six_directions(robot: Robot, function: str, frame: str) -> None:
    """Raise if the joints cannot move a frame in all six directions in any configuration."""
    carrier = robot.frame(frame).link  # all frames of a link are alike
    found: int = robot._memoized(("directions of a link", carrier), lambda: _directions(robot, frame))
    if found < 6:
        raise PhalanxError(
            f'{function}: the joints of robot "{robot.name}" move frame "{frame}" in {found} directions, '
            "expected 6: J M^-1 J^T has no inverse in any configuration. Invert a part of it, with some rows "
            "of J = robot.jacobian(q, frame) and robot.mass_matrix_inverse(q)."
        )


def _directions(robot: Robot, frame: str) -> int:
    """The largest rank of a frame's Jacobian in a few random configurations."""
    q = robot.random_state(_TRIES, rng=0)[0]
    with ordering(Sequential(robot.model.parents)):
        found = jacobian(robot.model, q, frame=placement_of(robot, frame))
    return int(np.linalg.matrix_rank(found, rtol=_RANK).max(initial=0)) if found.size else 0


def _remedy(robot: Robot, loose: list[str]) -> str:
    """The remedy for joints that move no inertia."""
    masses = "Give the links they carry a mass and an inertia"
    if any(name not in robot.v_slices for name in loose):  # the floating base
        return f"{masses}."
    # A rotor on a joint of several axes is more than a remedy: on floating ones a mass that does not fall.
    if any(part.stop - part.start > 1 for part in map(robot.v_slices.get, loose) if part is not None):
        return f"{masses}, or fix them with robot.fix(…)."
    named = f'{{"{loose[0]}": …{", …" if len(loose) > 1 else ""}}}'
    return f"{masses}, set robot.replace(armature={named}), or fix them with robot.fix(…)."


def factors_well(robot: Robot) -> bool:
    """Whether a factor of the mass matrix gives accelerations about as accurate as articulated bodies do.

    Looked up once a robot: the digits that a factor loses follow the condition of the matrix with its
    diagonal scaled to one, which light links, heavy tips and long chains make large. The median of many
    configurations tells robots apart; the largest of a few depends on which ones were drawn.
    """
    found: bool = robot._memoized(
        "factors well", lambda: 0 < robot.nv <= _LARGEST and _condition(robot) < _WELL
    )
    return found


def segments_well(robot: Robot) -> bool:
    """Whether a chain in segments gives accelerations about as accurate as one link after another does.

    A segment is eliminated as if it were alone. Where it is much lighter than what hangs on its tip, it
    yields far more alone than it does in the chain, and the difference loses digits.
    """
    inertia, links = robot.model.inertia, robot.model.links
    masses, turning = inertia.m[links], inertia.moment[links][:, [0, 3, 5]].sum(axis=1)
    alike = masses.max() <= _SPREAD * masses.min() and turning.max() <= 10.0 * _SPREAD * turning.min()
    return bool(alike and masses.min() > 0.0)


def _condition(robot: Robot) -> float:
    """The median condition number of the scaled mass matrix in random configurations."""
    model = robot.model
    q, _, _ = robot.random_state(max(4, min(_STATES, 64 * _STATES // robot.nv)), rng=1)
    with ordering(Sequential(model.parents, model.pattern)), np.errstate(all="ignore"):
        masses = np.broadcast_to(crba(model, q), (len(q), robot.nv, robot.nv))
        scale = 1.0 / np.sqrt(np.diagonal(masses, axis1=-2, axis2=-1))
        scaled = masses * scale[..., :, None] * scale[..., None, :]
    if not np.isfinite(scaled).all():
        return np.inf
    sizes = np.linalg.eigvalsh(scaled)
    found = np.sort(sizes[:, -1] / np.maximum(sizes[:, 0], np.finfo(float).tiny))
    return float(found[len(found) // 2])


def _loose_joints(robot: Robot) -> list[str]:
    model = robot.model
    if robot.nv == 0:
        return []
    if robot.nv <= _FULL_CHECK:
        loose = _vanishing_pivots(robot)
    else:
        weight = model.inertia.m + np.abs(model.inertia.moment).max(axis=-1)
        for i in range(model.n - 1, -1, -1):
            if (p := model.parents[i]) >= 0:
                weight[p] += weight[i]
        own = weight if model.coupling is None else np.abs(model.coupling.A.T) @ weight
        loose = own + model.armature <= _TOLERANCE * weight.max()
    parts = {name: part for name, part in robot.v_slices.items() if name not in robot.mimics}
    return [name or "floating base" for name, part in parts.items() if loose[part].any()]


def _vanishing_pivots(robot: Robot) -> np.ndarray:
    """Which degrees of freedom (nv,) meet no inertia in any of a few random configurations."""
    model = robot.model
    q, _, _ = robot.random_state(3, rng=0)
    loose = np.zeros(robot.nv, dtype=bool)
    with ordering(Sequential(model.parents, model.pattern)), np.errstate(all="ignore"):
        masses = np.broadcast_to(crba(model, q), (len(q), robot.nv, robot.nv))
        size = np.abs(np.diagonal(masses, axis1=-2, axis2=-1))
        while True:
            # A zero pivot spoils those after it: joints found so far are held by an inertia of one.
            factor = eliminate(masses + np.diag(loose.astype(float)))
            pivots = 1.0 / np.diagonal(factor, axis1=-2, axis2=-1)
            found = (np.abs(pivots) <= _TOLERANCE * size).all(axis=0) & ~loose
            if not found.any():
                return loose
            loose |= found
