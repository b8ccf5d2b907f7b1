# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Checks of a description: its numbers, its frames and loops, and inertias that no rigid body has.

Arrays of all numbers are checked first; only if one is wrong, links and joints one by one, for the message.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest
from ..spatial import unpack
from .description import (
    IDENTITY,
    OF_COORDINATES,
    Description,
    FixedFrame,
    Joint,
    Link,
    LoopClosure,
    Mimic,
    Pose,
    Triple,
    flat,
    rotations,
    translations,
)
from .joints import joint_type

_COORDINATES = OF_COORDINATES
_RATES = ("velocity", "effort", "damping", "friction", "armature", "stiffness")  # one per degree of freedom
_SEVERAL = (*_COORDINATES, *_RATES)
_several = attrgetter(*_SEVERAL)
_lower, _upper = (lambda joint: (joint.lower,)), (lambda joint: (joint.upper,))
_FEW = 640  # inertial parameters that a loop checks
_UNLIMITED = ("lower", "upper", "velocity", "effort")  # may be infinite
_FINITE = tuple(x for x in _SEVERAL if x not in _UNLIMITED)


def check_numbers(description: Description) -> None:
    """Raise for numbers that no robot has: NaN, negative masses, zero axes."""
    where = description.where
    _finite(where, "the robot", description)
    if len(description.base_armature) not in (0, 6) or any(a < 0 for a in description.base_armature):
        raise PhalanxError(
            f"{where}: base_armature is {list(description.base_armature)}; expected none or six numbers >= 0."
        )
    # One check of all numbers finds which links and joints to check one by one: mostly none.
    for link in _odd_links(description.links):
        _finite(where, f'link "{link.name}"', link)
        if link.mass < 0.0:
            raise PhalanxError(
                f'{where}: link "{link.name}" has the negative mass {link.mass:g} kg; expected >= 0.'
            )
    for joint in _odd_joints(description.joints):
        _check_joint(where, joint)


def _odd_links(links: Sequence[Link]) -> Sequence[Link]:
    """All links if a number of any is wrong, else none: one check of arrays before those one by one."""
    try:
        mass = np.array([link.mass for link in links])
        fine = np.isfinite(mass).all() and (mass >= 0.0).all()
        return () if fine and _all_finite(links, "com", "inertia") else links
    except (TypeError, ValueError):
        return links


def _odd_joints(joints: Sequence[Joint]) -> Sequence[Joint]:
    """All joints if a number of any may be wrong, else those of two axes, which are checked one by one."""
    try:
        poses = [p for joint in joints for p in (joint.origin, joint.after) if p is not IDENTITY]
        bound = [joint for joint in joints if joint.lower and joint.upper]
        fine = (
            all(_sizes_fit(*pattern) for pattern in {(j.type, tuple(map(len, _several(j)))) for j in joints})
            and not np.isnan(flat(_several(j) for j in joints)).any()
            and (flat(map(_lower, bound)) <= flat(map(_upper, bound))).all()
            and _all_finite(joints, "axis", "axis2", *_FINITE)
            and (flat((j.armature,) for j in joints) >= 0.0).all()
            and np.isfinite(np.array([j.pitch for j in joints])).all()
            and np.isfinite(flat((j.mimic[1:],) for j in joints if j.mimic is not None)).all()
            and np.isfinite(translations(poses)).all()
            and are_rotations(rotations(poses)).all()
            and (np.abs(flat((j.axis,) for j in joints).reshape(-1, 3)).max(axis=-1) > 1e-12).all()
        )
        return [j for j in joints if joint_type(j.type).axes > 1] if fine else joints
    except (TypeError, ValueError, AttributeError, OverflowError):
        return joints


def _all_finite(items: Iterable[Any], *names: str) -> bool:
    """Whether attributes that are tuples of numbers hold finite ones only."""
    get = attrgetter(*names)
    return bool(np.isfinite(flat(map(get, items))).all())


def _sizes_fit(kind: str, sizes: tuple[int, ...]) -> bool:
    """Whether the limits and the like of a joint have as many entries as its type has."""
    found = joint_type(kind)
    expected = (*(found.nq for _ in _COORDINATES), *(found.nv for _ in _RATES))
    return all(size in (0, count) for size, count in zip(sizes, expected, strict=True))


def _check_joint(where: str, joint: Joint) -> None:
    """Raise if an axis, a limit or another number of a joint is impossible."""
    _finite(where, f'joint "{joint.name}"', joint, _UNLIMITED)
    kind = joint_type(joint.type, where=where, joint=joint.name)
    axes = [joint.axis, joint.axis2][: kind.axes]
    if any(math.hypot(*axis) < 1e-12 for axis in axes):
        raise PhalanxError(
            f'{where}: joint "{joint.name}" ({joint.type}) has the axis (0, 0, 0); '
            "expected a direction. Give it a non-zero axis or make the joint fixed."
        )
    if kind.axes == 2 and _parallel(*axes):
        raise PhalanxError(
            f'{where}: joint "{joint.name}" ({joint.type}) has parallel axes; expected two directions.'
        )
    for label, given in (("origin", joint.origin), ("after", joint.after)):
        if not are_rotations(np.reshape(given.rotation, (1, 3, 3)))[0]:
            raise PhalanxError(
                f'{where}: joint "{joint.name}" has the pose {label}, which is not a rotation; '
                "expected a right-handed orthonormal matrix."
            )
    for label, size in (*((x, kind.nq) for x in _COORDINATES), *((x, kind.nv) for x in _RATES)):
        if len(getattr(joint, label)) not in (0, size):
            raise PhalanxError(
                f'{where}: joint "{joint.name}" ({joint.type}) has {len(getattr(joint, label))} '
                f"values of {label}; expected {size}."
            )
    for low, high in zip(joint.lower, joint.upper, strict=False):
        if low > high:
            raise PhalanxError(reversed_range(f'{where}: joint "{joint.name}"', low, high))
    if any(a < 0 for a in joint.armature):
        raise PhalanxError(
            f'{where}: joint "{joint.name}" has the negative armature {min(joint.armature):g}; expected >= 0.'
        )


def reversed_range(where: str, low: float, high: float) -> str:
    """Return the complaint about limits in the wrong order."""
    return (
        f"{where} has the lower limit {low:g} above its upper limit {high:g}; expected lower <= upper. Swap "
        "them, or correct the one with the wrong sign."
    )


def has_negative_mass(inertias: np.ndarray) -> bool:
    """Return whether a link has a mass below zero, by inertial parameters (…, n_links, 10); NaN is not."""
    if inertias.size <= _FEW:  # of one state: a reduction by NumPy would take longer than the dynamics
        return any(map((0.0).__gt__, inertias[..., 0].ravel().tolist()))
    least = inertias[..., 0].min()  # NaN if there is one
    return bool(least < 0.0 or (least != least and (inertias[..., 0] < 0.0).any()))


def require_masses(where: str, inertias: np.ndarray, links: Sequence[str], robot: str) -> None:
    """Raise for inertial parameters (…, n_links, 10) with a mass below zero."""
    if not has_negative_mass(inertias):
        return
    *_, link = first = tuple(np.argwhere(inertias[..., 0] < 0.0)[0].tolist())
    at = f" at {list(first[:-1])} of the batch" if len(first) > 1 else ""
    raise PhalanxError(
        f'{where}: link "{links[link]}" of robot "{robot}" has the mass {inertias[first][0]:g} kg{at}; '
        "expected >= 0. Parameters of a link are its mass, first moment (3) and moments of inertia (6)."
    )


def are_rotations(matrices: np.ndarray) -> np.ndarray:
    """Whether each of the matrices (k, 3, 3) is orthonormal and right-handed."""
    square = matrices @ np.swapaxes(matrices, -1, -2)
    near = np.abs(square - np.eye(3)).max(axis=(-1, -2), initial=0.0) <= 1e-6
    volume = np.einsum("ki,ki->k", np.cross(matrices[:, 0], matrices[:, 1]), matrices[:, 2])
    return near & ~(volume < 0)


def check_attachments(description: Description) -> None:
    """Raise for frames and loops without sense: unknown links or types, names given twice, NaN."""
    where = description.where
    links = {link.name: None for link in description.links}
    taken = set(links)
    for frame in description.frames:
        what = f'frame "{frame.name}"'
        if frame.name in taken:
            other = "link" if frame.name in links else "frame"
            raise PhalanxError(
                f"{where}: {what} has the name of another {other}; expected unique names. Rename one."
            )
        taken.add(frame.name)
        _require_link(where, f"{what}: its link", frame.link, links)
        _check_finite_and_rigid(where, what, frame)
    taken = set()
    for loop in description.loops:
        if loop.name in taken:
            raise PhalanxError(
                f'{where}: two loops are named "{loop.name}"; expected unique names. Rename one.'
            )
        taken.add(loop.name)
        _check_loop(where, loop, links)


def _check_loop(where: str, loop: LoopClosure, links: dict[str, None]) -> None:
    what = f'loop "{loop.name}"'
    for role in ("predecessor", "successor"):
        _require_link(where, f"{what}: {role}", getattr(loop, role), links)
    kind = joint_type(loop.type, where=where, joint=loop.name)
    _check_finite_and_rigid(where, what, loop)
    if any(math.hypot(*axis) < 1e-12 for axis in (loop.axis, loop.axis2)[: kind.axes]):
        raise PhalanxError(f"{where}: {what} ({loop.type}) has the axis (0, 0, 0); expected a direction.")


def _require_link(where: str, what: str, link: str, links: dict[str, None]) -> None:
    if link not in links:
        raise PhalanxError(
            f'{where}: {what} is the unknown link "{link}";{nearest(link, links, what="links")}'
        )


def _check_finite_and_rigid(where: str, what: str, item: FixedFrame | LoopClosure) -> None:
    """Raise unless all numbers are finite and all poses are rigid."""
    _finite(where, what, item)
    for f in fields(item):
        value = getattr(item, f.name)
        if isinstance(value, Pose) and not are_rotations(np.reshape(value.rotation, (1, 3, 3)))[0]:
            raise PhalanxError(
                f"{where}: {what} has a {f.name} that is not rigid; "
                "expected a right-handed orthonormal rotation."
            )


def unphysical(description: Description) -> list[tuple[str, str, float]]:
    """Return (link, what is broken, by how much) for inertias that no rigid body has."""
    if not description.links:
        return []
    moments = np.linalg.eigvalsh(unpack(np.array([link.inertia for link in description.links])))
    size = np.abs(moments).max(axis=1)
    negative = moments[:, 0] < -1e-9 * size
    excess = moments[:, 2] - moments[:, 0] - moments[:, 1]
    found = []
    for i in np.flatnonzero(negative | (excess > 1e-6 * size)):
        what = "negative principal moment" if negative[i] else "triangle inequality exceeded by"
        found.append((description.links[i].name, what, float(moments[i, 0] if negative[i] else excess[i])))
    return found


def implausible(description: Description) -> list[tuple[str, str, float]]:
    """Return (link, what, how much) for numbers that no robot has, as files in other units give them."""
    links = description.links
    amounts = (
        ("mass centre at a distance [m] of", [math.hypot(*link.com) for link in links], 1e4),
        ("mass [kg]", [link.mass for link in links], 1e12),
        ("moment of inertia [kg m2]", [max(map(abs, link.inertia)) for link in links], 1e15),
    )
    found: dict[int, tuple[str, str, float]] = {}
    for what, values, most in amounts:
        for i in np.flatnonzero(np.array(values) > most).tolist():
            found.setdefault(i, (links[i].name, what, values[i]))
    return [found[i] for i in sorted(found)]


def _parallel(a: Triple, b: Triple) -> bool:
    one, other = (np.array(axis) / math.hypot(*axis) for axis in (a, b))
    return math.hypot(*np.cross(one, other)) < 1e-9


def _finite(where: str, what: str, item: Any, unlimited: Iterable[str] = ()) -> None:
    for f in fields(item):
        value = getattr(item, f.name)
        if isinstance(value, Pose):
            value = (*value.rotation, *value.translation)
        if isinstance(value, Mimic):
            value = value[1:]
        values = value if isinstance(value, tuple) else (value,)
        for x in values:
            if isinstance(x, float) and (math.isnan(x) or (math.isinf(x) and f.name not in unlimited)):
                raise PhalanxError(f"{where}: {what} has {f.name} = {x}; expected finite numbers.")
