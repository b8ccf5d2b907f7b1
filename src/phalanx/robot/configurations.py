# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Coordinates of a robot: their limits, neutral and random ones, steps from one to another.

Every joint knows the geometry of its own coordinates; here they are taken together.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from ..arrays import (
    MOST_AXES,
    UNREADABLE,
    common_batch,
    memory_for,
    real_array,
    require_memory,
    require_shape,
)
from ..errors import PhalanxError, nearest, shown
from ..reproducible import product
from .assembly import Assembly, Coordinates, Frame, MovingJoint
from .model import frozen


@dataclass(frozen=True)
class Limits:
    """Position limits per coordinate, velocity and effort limits per degree of freedom; inf = none."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


def limits_of(assembly: Assembly) -> Limits:
    """The limits of all joints."""
    lower, upper = np.full(assembly.nq, -np.inf), np.full(assembly.nq, np.inf)
    for m, q, _ in _own(assembly):
        if m.joint.lower:
            lower[q] = m.joint.lower
        if m.joint.upper:
            upper[q] = m.joint.upper
    velocity, effort = (per_rate(assembly, name, np.inf) for name in ("velocity", "effort"))
    return Limits(frozen(lower), frozen(upper), velocity, effort)


def per_rate(assembly: Assembly, attribute: str, default: float) -> np.ndarray:
    """An attribute of the joints for each degree of freedom (nv,), `default` where the file has none."""
    values = np.full(assembly.nv, default)
    for m, _, v in _own(assembly):
        if given := getattr(m.joint, attribute):
            values[v] = given
    return frozen(values)


def spring_reference(assembly: Assembly) -> np.ndarray:
    """Coordinates (nq,) at which springs are at rest."""
    result = neutral(assembly)
    for m, q, _ in _own(assembly):
        if m.joint.spring_reference:
            result[q] = m.joint.spring_reference
    return frozen(result)


@dataclass(frozen=True)
class Resistances:
    """Passive forces of joints for each degree of freedom, and rest positions of springs (nq,)."""

    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    spring_reference: np.ndarray


def resistances(assembly: Assembly) -> Resistances:
    """Dampers, friction and springs, those of mimic joints as the joints that they follow feel them.

    Where a joint at q moves another to m q + c, a damper d there is m² d here, friction f is |m| f, and a
    spring k at rest at r is m² k at rest at (r - c) / m.
    """
    damping, friction, stiffness = (
        per_rate(assembly, name, 0.0).copy() for name in ("damping", "friction", "stiffness")
    )
    rest = spring_reference(assembly).copy()
    for m in assembly.moving:
        follows = assembly.drivers.get(m.joint.name)
        if follows is None or follows.multiplier == 0.0:
            continue
        q, v = assembly.q_of[follows.joint].start, assembly.v_of[follows.joint].start
        damping[v] += follows.multiplier * follows.multiplier * sum(m.joint.damping)
        friction[v] += abs(follows.multiplier) * sum(m.joint.friction)
        if k := follows.multiplier * follows.multiplier * sum(m.joint.stiffness):
            at = (sum(m.joint.spring_reference) - follows.offset) / follows.multiplier
            rest[q] = (stiffness[v] * rest[q] + k * at) / (stiffness[v] + k)
            stiffness[v] += k
    return Resistances(*map(frozen, (damping, friction, stiffness, rest)))


# ------------------------------------------------------------------- points


def neutral(assembly: Assembly) -> np.ndarray:
    """Coordinates (nq,) with every joint at zero."""
    result = np.zeros(assembly.nq)
    for m, q, _ in _own(assembly):
        result[q] = m.kind.neutral()
    return result


def named(assembly: Assembly) -> dict[str, np.ndarray]:
    """The named configurations (nq,); the joints that they leave out are at zero."""
    made = {}
    for configuration in assembly.description.configurations:
        q = neutral(assembly)
        for joint, values in zip(configuration.joints, configuration.values, strict=True):
            if joint in assembly.q_of and joint not in assembly.drivers:  # a fixed base has no coordinates
                q[assembly.q_of[joint]] = values
        made[configuration.name] = frozen(q)
    return made


def random_state(
    assembly: Assembly, limits: Limits, batch: Any, rng: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random (q, qd, qdd): q within limits (else ±pi), qd and qdd normal, qd clipped to its limits."""
    rng, shape = _generator(rng), _batch_shape(batch)
    size = 8 * prod(shape) * max(1, assembly.nq + 2 * assembly.nv)
    size = max(size, *shape) if shape else size  # of no states with very long axes too
    require_memory(size, f"random_state: batch {shown(shape)}", "take the states in several batches")
    lower = np.where(np.isfinite(limits.lower), limits.lower, -np.pi)
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.pi)
    # A limit on one side only leaves a window of the usual width on the other.
    lower = np.where(np.isfinite(limits.upper) & ~np.isfinite(limits.lower), upper - 2 * np.pi, lower)
    upper = np.where(np.isfinite(limits.lower) & ~np.isfinite(limits.upper), lower + 2 * np.pi, upper)
    q = rng.uniform(np.minimum(lower, upper), np.maximum(lower, upper), (*shape, assembly.nq))
    for m, part, _ in _own(assembly):
        if m.kind.quaternion is not None:
            own = q[..., part]
            own[..., m.kind.quaternion] = rng.standard_normal((*shape, 4))
    qd = np.clip(rng.standard_normal((*shape, assembly.nv)), -limits.velocity, limits.velocity)
    return normalize(assembly, q), qd, rng.standard_normal((*shape, assembly.nv))


@memory_for("normalize", "take the states in several batches")
def normalize(assembly: Assembly, q: Any) -> np.ndarray:
    """Coordinates with every quaternion at unit length."""
    with np.errstate(invalid="ignore"):  # a quaternion of zeros becomes NaN
        return normalized(assembly.joined, _coordinates(assembly, q, "q"))


def normalized(joints: Iterable[Coordinates], q: np.ndarray) -> np.ndarray:
    """`normalize` on arrays of floats or of recording scalars, unchecked."""
    return joint_by_joint(joints, "normalize", np.empty_like(q), "q", (q, "q"))


@memory_for("expand", "take the states in several batches")
def expand(assembly: Assembly, q: Any) -> np.ndarray:
    """Coordinates of all joints, in order, followers' filled in."""
    return with_followers(assembly, _coordinates(assembly, q, "q"))


def with_followers(assembly: Assembly, q: np.ndarray) -> np.ndarray:
    """`expand` on arrays of floats or of recording scalars, unchecked."""
    if not assembly.drivers:
        return np.array(q)
    result = np.empty((*q.shape[:-1], sum(m.kind.nq for m in assembly.moving)), q.dtype)
    start = 0
    for m in assembly.moving:
        own = q[..., assembly.q_of[m.joint.name]]
        if mimic := assembly.drivers.get(m.joint.name):
            own = own * q.dtype.type(mimic.multiplier) + q.dtype.type(mimic.offset)
        result[..., start : start + m.kind.nq] = own
        start += m.kind.nq
    return result


# ------------------------------------------------------------------- steps


def joint_by_joint(
    joints: Iterable[Coordinates], method: str, made: np.ndarray, to: str, *given: tuple[np.ndarray, str]
) -> np.ndarray:
    """Fill `made` with what a method of each joint type returns for its own entries of the given arrays.

    Arrays (…, nq) have the kind "q", arrays (…, nv) "v"; `to` is the kind of the result.
    """
    for c in joints:
        own = (array[None, ..., getattr(c, kind)] for array, kind in given)
        made[..., getattr(c, to)] = getattr(c.kind, method)(*own)[0]
    return made


# Maps of joint types between values of coordinates ("q") and of rates ("v"): from, to.
TANGENT_MAPS = {
    "rates_of": ("q", "v"),
    "coordinate_rates": ("v", "q"),
    "along_rates": ("q", "v"),
    "coordinate_slopes": ("v", "q"),
}


def tangent_map(joints: Sequence[Coordinates], method: str, q: np.ndarray, values: Any) -> np.ndarray:
    """Scalars of coordinates (nq,) as those of rates (nv,) at q, or the reverse, as a map of joint types."""
    of, to = TANGENT_MAPS[method]
    made = np.zeros(max((getattr(c, to).stop for c in joints), default=0), dtype=object)
    return joint_by_joint(joints, method, made, to, (q, "q"), (values, of))


@memory_for("integrate", "take the states in several batches")
def integrate(assembly: Assembly, q: Any, dq: Any) -> np.ndarray:
    """Coordinates reached from q with the constant rates dq for unit time."""
    q, dq = _coordinates(assembly, q, "q"), _rates(assembly, dq, "dq")
    return integrated(assembly.joined, q, dq, _common_batch(assembly, "integrate", q=q, dq=dq))


def integrated(
    joints: Iterable[Coordinates], q: np.ndarray, dq: np.ndarray, batch: tuple[int, ...] = ()
) -> np.ndarray:
    """`integrate` on arrays of floats or of recording scalars, unchecked."""
    result = np.empty((*batch, q.shape[-1]), dtype=np.result_type(q, dq))
    q, dq = _together(q, dq)
    return joint_by_joint(joints, "integrate", result, "q", (q, "q"), (dq, "v"))


def advance(
    joints: Iterable[Coordinates], q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, h: Any
) -> tuple[np.ndarray, np.ndarray]:
    """(q, qd) of all joints (…, nq), (…, nv) after a step h of semi-implicit Euler under qdd.

    The arrays hold floats, or recording scalars.
    """
    q, qd, qdd = (x[None] for x in (q, qd, qdd))  # scalars of one state are no arrays
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in (q, qd, qdd)))
    q1, qd1 = (np.empty((*batch, x.shape[-1]), np.result_type(q, qd, qdd)) for x in (q, qd))
    for joint in joints:
        own = q[..., joint.q], qd[..., joint.v], qdd[..., joint.v]
        q1[..., joint.q], qd1[..., joint.v] = joint.kind.advance(*own, h)
    return q1[0], qd1[0]


@memory_for("difference", "take the states in several batches")
def difference(assembly: Assembly, q0: Any, q1: Any) -> np.ndarray:
    """The rates dq with integrate(q0, dq) equal to q1."""
    q0, q1 = _coordinates(assembly, q0, "q0"), _coordinates(assembly, q1, "q1")
    return differing(assembly.joined, q0, q1, _common_batch(assembly, "difference", q0=q0, q1=q1))


def differing(
    joints: Iterable[Coordinates], q0: np.ndarray, q1: np.ndarray, batch: tuple[int, ...] = ()
) -> np.ndarray:
    """`difference` on arrays of floats or of recording scalars, unchecked."""
    joints = tuple(joints)
    result = np.empty((*batch, sum(c.v.stop - c.v.start for c in joints)), dtype=np.result_type(q0, q1))
    q0, q1 = _together(q0, q1)
    return joint_by_joint(joints, "difference", result, "v", (q0, "q"), (q1, "q"))


# ------------------------------------------------------------------- wrenches


def wrenches(assembly: Assembly, given: Mapping[str, Any], array: Callable[[Any, str], Any]) -> Any:
    """Wrenches (…, n_links, 6) on all links from those on some frames, each in its own; `array` reads one."""
    name, links = assembly.description.name, np.arange(len(assembly.moving))
    if not isinstance(given, Mapping):
        raise PhalanxError(f'wrenches: got {shown(given)}, expected a mapping such as {{"link": wrench}}.')
    total: Any = np.zeros((len(links), 6), np.float32)
    for frame, value in given.items():
        if frame not in assembly.frames:
            raise PhalanxError(
                f'external: robot "{name}" has no frame {shown(frame)};'
                f"{nearest(frame, assembly.frames, what='frames')}"
            )
        where = f'external on "{frame}"'
        wrench, at = array(value, where), assembly.frames[frame]
        require_shape(wrench.shape, (6,), where, f' for robot "{name}"')
        # On the link that carries the frame, about its origin; what is welded to the world takes all.
        moved = wrench @ _from_frame(at).astype(wrench.dtype)
        part = moved[..., None, :] * (links == at.link).astype(wrench.dtype)[:, None]
        try:
            total = total + part
        except (ValueError, TypeError):
            raise PhalanxError(
                f"{where} has the batch {wrench.shape[:-1]}, which does not broadcast with "
                f'{total.shape[:-2]} of those before it for robot "{name}".'
            ) from None
    return total


def quick_wrenches(robot: Any, given: Mapping[str, Any]) -> Any:
    """The result of `wrenches` for plain float64 arrays; None for anything else, errors included."""
    carriers, shape = robot._memo.get(_CARRIERS) or robot._memoized(
        _CARRIERS, lambda: _carriers(robot._assembly)
    )
    total = np.zeros(shape)
    is_only = len(given) == 1
    for frame, wrench in given.items():
        at = carriers.get(frame)
        if at is None or type(wrench) is not np.ndarray or wrench.dtype is not _FLOAT:
            return None
        front = wrench.shape[:-1]
        if wrench.shape[-1:] != _SIX or len(front) > MOST_AXES:
            return None
        if front and total.shape[:-2] != front:
            if total.ndim > 2:
                return None
            total = np.zeros((*front, *shape)) + total
        link, matrix = at
        if link >= 0:  # what is welded to the world takes all
            moved = wrench if matrix is None else wrench.dot(matrix)
            index = link if total.ndim == 2 else (..., link, slice(None))
            if is_only:
                total[index] = moved
            else:
                total[index] += moved
    return total


_CARRIERS = "carriers of wrenches"
_FLOAT, _SIX = np.dtype(np.float64), (6,)


def _carriers(assembly: Assembly) -> tuple[dict[str, tuple[int, np.ndarray | None]], tuple[int, int]]:
    """The link that carries each frame, the matrix that moves a wrench there (None: identity); a shape."""
    moves = {name: _from_frame(frame) for name, frame in assembly.frames.items()}
    still = np.eye(6)
    carriers = {
        name: (frame.link, None if np.array_equal(moves[name], still) else moves[name])
        for name, frame in assembly.frames.items()
    }
    return carriers, (len(assembly.moving), 6)


def _from_frame(frame: Frame) -> np.ndarray:
    """The matrix (6, 6) with which a row of a wrench in a frame becomes that in its link's frame."""
    rotation, (x, y, z) = np.reshape(frame.pose.rotation, (3, 3)), frame.pose.translation
    lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.block([[rotation, product(lever, rotation)], [np.zeros((3, 3)), rotation]]).T


# ------------------------------------------------------------------- arrays


def _own(assembly: Assembly) -> Iterator[tuple[MovingJoint, slice, slice]]:
    """Joints with coordinates of their own, with their slices in q and qd."""
    for m in assembly.own:
        yield m, assembly.q_of[m.joint.name], assembly.v_of[m.joint.name]


def _coordinates(assembly: Assembly, q: Any, label: str) -> np.ndarray:
    return _checked(assembly, q, label, assembly.nq, "nq")


def _rates(assembly: Assembly, v: Any, label: str) -> np.ndarray:
    return _checked(assembly, v, label, assembly.nv, "nv")


def _checked(assembly: Assembly, value: Any, label: str, size: int, symbol: str) -> np.ndarray:
    name = assembly.description.name
    array = real_array(value, label, name)
    require_shape(array.shape, (size,), label, f' for robot "{name}" ({symbol} = {size})')
    return array


def _common_batch(assembly: Assembly, where: str, **arrays: np.ndarray) -> tuple[int, ...]:
    batches = {name: a.shape[:-1] for name, a in arrays.items()}
    shape = common_batch(batches, where, f' for robot "{assembly.description.name}"')
    size = 8 * prod(shape) * max(1, assembly.nq)
    require_memory(size, f"{where}: a batch {shape}", "take the states in several batches")
    return shape


def _together(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    shape = np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
    return np.broadcast_to(a, (*shape, a.shape[-1])), np.broadcast_to(b, (*shape, b.shape[-1]))


def _generator(rng: Any) -> np.random.Generator:
    try:
        if isinstance(rng, list | tuple | np.ndarray):  # NumPy follows lists in lists until the stack ends
            rng = [operator.index(number) for number in rng]
        return np.random.default_rng(rng)
    except (*UNREADABLE, AttributeError):
        raise PhalanxError(
            f"random_state: rng is {shown(rng)}; expected None, an integer >= 0 or a numpy.random.Generator."
        ) from None


def _batch_shape(batch: Any) -> tuple[int, ...]:
    try:
        sizes = islice(batch, MOST_AXES + 1) if isinstance(batch, Iterable) else (batch,)
        shape = tuple(operator.index(size) for size in sizes)
    except TypeError:
        shape = (-1,)
    if any(size < 0 for size in shape) or len(shape) > MOST_AXES:
        raise PhalanxError(
            f"random_state: batch is {shown(batch)}; expected a size or a shape, all >= 0, "
            f"of at most {MOST_AXES} axes."
        )
    return shape
