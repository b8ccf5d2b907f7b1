# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Generators of test robots of any size: random chains and trees, and the systems of the literature."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...arrays import require_memory
from ...errors import PhalanxError, shown
from ...reproducible import congruent, cos_sin
from ...robot.description import Description, Joint, Link, Pose, Triple
from ...robot.joints import JointType, joint_type
from ...spatial import dot, pack
from ..dh import modified_pose

_LARGEST_DILL = 20  # a million links
_BYTES = 4000  # of memory that a link takes, in its description and in the robot


def chain(n: int, seed: int = 0, prismatic: float = 0.0) -> Description:
    """A random serial chain of `n` joints in general position, a fraction of them prismatic.

    Axes and frames point anywhere, no parameter is zero, the inertias are dense and those of
    solid bricks. The base has a mass too, so that it may float.
    """
    n, seed = _links("chain", n), _integer("chain", "seed", seed, 0)
    if not (isinstance(prismatic, int | float) and 0.0 <= prismatic <= 1.0):
        raise PhalanxError(f"chain: prismatic is {shown(prismatic)}; expected a fraction between 0 and 1.")
    rng = np.random.default_rng(seed)
    slides = set(rng.permutation(n)[: round(prismatic * n)].tolist())
    kinds = [joint_type("prismatic" if i in slides else "revolute") for i in range(n)]
    return _random("chain", rng, list(range(n)), kinds, limited=0.0)


def tree(n: int, branching: float = 0.3, seed: int = 0, joints: Sequence[str] = ("revolute",)) -> Description:
    """A random tree of `n` joints of the given types, each type as often as the others.

    A link hangs on any earlier one with the probability `branching`, else on the previous
    one: 0 gives a chain, 1 a random recursive tree. Half of the joints whose coordinates are
    plain numbers have limits. Bodies and frames are those of `chain`.
    """
    n, seed = _links("tree", n), _integer("tree", "seed", seed, 0)
    if not (isinstance(branching, int | float) and 0.0 <= branching <= 1.0):
        raise PhalanxError(f"tree: branching is {shown(branching)}; expected a probability between 0 and 1.")
    if not isinstance(joints, list | tuple) or not joints or not all(isinstance(j, str) for j in joints):
        raise PhalanxError(
            f'tree: joints is {shown(joints)}; expected a list of joint types such as ("revolute",).'
        )
    rng = np.random.default_rng(seed)
    types = [joint_type(name, where="tree") for name in joints]
    kinds = [types[i % len(types)] for i in rng.permutation(n).tolist()]
    parents = np.where(rng.random(n) < branching, rng.integers(0, np.arange(1, n + 1)), np.arange(n))
    return _random("tree", rng, parents.tolist(), kinds, limited=0.5)


def snake(n: int) -> Description:
    """A snake of `n` joints that pitch (about y) and yaw (about z) alternately.

    It has n + 1 equal modules along x, solid cylinders 0.1 m long and 0.05 m thick of 0.2 kg;
    the first module is the base, each joint sits where two modules meet and turns by a right
    angle either way.
    """
    n = _links("snake", n)
    length, radius, mass = 0.1, 0.025, 0.2
    inertia = _rod(mass, length, radius)
    links = [Link(name, mass, (length / 2, 0.0, 0.0), inertia) for name in _names(n)]
    origin, limit = Pose.of(None, (length, 0.0, 0.0)), (math.pi / 2,)
    axes = ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    joints = [
        Joint(
            f"joint{i + 1}", "revolute", links[i].name, links[i + 1].name,
            origin=origin, axis=axes[i % 2], lower=(-limit[0],), upper=limit,
        )
        for i in range(n)
    ]  # fmt: skip
    return Description("snake", tuple(links), tuple(joints))


def coil(n: int) -> Description:
    """Featherstone's coil: `n` equal rods, 1 m and 1 kg together, each joint twisted against the last.

    The rods are cylinders along x of length 1/n, radius 0.01 and mass 1/n; each frame is
    displaced from the last by 1/n along x and twisted by 5 pi/n about x, the joints turn about
    z. Straight at q = 0; equal angles wind it into a helix, 10 pi/n into that of the toolbox.

    Source: Featherstone, "A Divide-and-Conquer Articulated-Body Algorithm for Parallel
    O(log(n)) Calculation of Rigid-Body Dynamics. Part 2", Int. J. Robotics Research 18(9),
    1999, pp. 876-892, in the parameters that Bullet (CoilCreator) and Corke's Robotics Toolbox
    (mdl_coil) give for it; the paper itself was not at hand.
    """
    n = _links("coil", n)
    length, mass = 1.0 / n, 1.0 / n
    inertia = _rod(mass, length, 0.01)
    step = modified_pose(length, 5.0 * math.pi / n, 0.0, 0.0)
    names = _names(n)
    links = [Link("base"), *(Link(name, mass, (length / 2, 0.0, 0.0), inertia) for name in names[1:])]
    joints = [Joint(f"joint{i + 1}", "revolute", names[i], names[i + 1], origin=step) for i in range(n)]
    return Description("coil", tuple(links), tuple(joints))


def dill(k: int) -> Description:
    """Featherstone's dill: a self-similar tree of 2**k links that resembles the plant.

    A dill of level k is a rod of size s = max(k, 1), length s/10, radius s/100 and mass s**3/10,
    that carries the dills of levels 0 … k-1: level i-1 at the distance i/10 along the rod,
    twisted by i pi/3 about it and raised to its surface, the last one at its tip on the axis.
    Joints turn about z; links are numbered depth first.

    Source: Featherstone 1999 as for `coil`, in the parameters of Bullet (DillCreator), which
    quotes the paper; the paper itself was not at hand. Bullet computes the offset to the surface
    (s/100 along the joint axis) but does not apply it; here it is applied.
    """
    k = _integer("dill", "k", k, 0)
    if k > _LARGEST_DILL:
        order = shown(k)
        raise PhalanxError(
            f"dill: k is {order}, which asks for 2**{order} links; expected at most {_LARGEST_DILL}."
        )
    names = _names(2**k)
    links, joints = [Link("base")], []
    ready = [_Sprig(k, "base", Pose())]
    while ready:
        level, parent, origin = ready.pop()
        size, name, number = max(level, 1), names[len(links)], len(links)
        length, radius, mass = 0.1 * size, 0.01 * size, 0.1 * size**3
        links.append(Link(name, mass, (length / 2, 0.0, 0.0), _rod(mass, length, radius)))
        joints.append(Joint(f"joint{number}", "revolute", parent, name, origin=origin))
        for i in range(level, 0, -1):  # the stack reverses the order
            raised = 0.0 if i == level else radius
            ready.append(_Sprig(i - 1, name, modified_pose(0.1 * i, i * math.pi / 3, raised, 0.0)))
    return Description("dill", tuple(links), tuple(joints))


class _Sprig(NamedTuple):
    level: int
    parent: str
    origin: Pose


def _links(where: str, n: object) -> int:
    """The checked number of links; raises if they would not fit into memory."""
    links = _integer(where, "n", n, 1)
    require_memory(_BYTES * links, f"{where}: a robot of {shown(links)} links", "take fewer")
    return links


def _integer(where: str, what: str, value: object, least: int) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise PhalanxError(f"{where}: {what} is {shown(value)}; expected an integer.") from None
    if number < least:
        raise PhalanxError(f"{where}: {what} is {shown(number)}; expected at least {least}.")
    return number


def _names(n: int) -> list[str]:
    return ["base", *(f"link{i}" for i in range(1, n + 1))]


def _rod(mass: float, length: float, radius: float) -> tuple[float, ...]:
    """Inertia of a solid cylinder along x about its centre."""
    across = mass * (3.0 * radius * radius + length * length) / 12.0
    return (mass * radius * radius / 2.0, 0.0, 0.0, across, 0.0, across)


def _random(
    name: str, rng: np.random.Generator, parents: list[int], kinds: list[type[JointType]], limited: float
) -> Description:
    """A robot of random bodies and frames; `limited` is the probability of limits."""
    n, names = len(parents), _names(len(parents))
    links = _bodies(rng, names)
    rotations = _rotations(rng, n).reshape(n, 9).tolist()
    origins = _triples(_directions(rng, n) * rng.uniform(0.2, 0.5, (n, 1)))
    first, second, pitch, bounds = _axes_and_bounds(rng, kinds)
    chosen = (rng.random(n) < limited).tolist()
    joints = []
    for i, kind in enumerate(kinds):
        plain = kind.limited
        extra: dict[str, Any] = {}
        if plain and chosen[i]:
            lower, upper, velocity, effort = bounds[i]
            extra = {"lower": (lower,) * kind.nq, "upper": (upper,) * kind.nq}
            extra |= {"velocity": (velocity,) * kind.nv, "effort": (effort,) * kind.nv}
        joints.append(
            Joint(
                f"joint{i + 1}", kind.name, names[parents[i]], names[i + 1],
                origin=Pose(tuple(rotations[i]), origins[i]),
                axis=first[i], axis2=second[i], pitch=pitch[i], **extra,
            )
        )  # fmt: skip
    return Description(name, tuple(links), tuple(joints))


def _bodies(rng: np.random.Generator, names: list[str]) -> list[Link]:
    """Solid bricks of random size in random directions, away from the joint."""
    n = len(names)
    mass = rng.uniform(0.5, 2.0, n)
    com = _directions(rng, n) * rng.uniform(0.05, 0.2, (n, 1))
    squares = rng.uniform(0.1, 0.3, (n, 3)) ** 2
    moments = mass[:, None] / 12.0 * (squares.sum(axis=1, keepdims=True) - squares)
    inertia = congruent(_rotations(rng, n), moments[:, :, None] * np.eye(3))
    rows = zip(names, mass.tolist(), _triples(com), pack(inertia).tolist(), strict=True)
    return [Link(name, m, c, tuple(i)) for name, m, c, i in rows]


def _axes_and_bounds(
    rng: np.random.Generator, kinds: list[type[JointType]]
) -> tuple[list[Triple], list[Triple], list[float], list[list[float]]]:
    """Two axes of each joint between 45 and 135 degrees apart, pitches, and limits."""
    n = len(kinds)
    frames = _rotations(rng, n)
    first, across = frames[:, :, 2], frames[:, :, 0]
    slant = rng.uniform(math.pi / 4, 3 * math.pi / 4, n).tolist()
    pairs = zip(slant, kinds, strict=True)
    c, s = np.array([cos_sin(angle) if kind.axes > 1 else (0.0, 1.0) for angle, kind in pairs]).T[..., None]
    second = c * first + s * across
    pitch = rng.uniform(0.02, 0.2, n) * rng.choice((-1.0, 1.0), n)
    bounds = rng.uniform((-2.0, 0.5, 1.0, 20.0), (-0.5, 2.0, 5.0, 200.0), (n, 4))
    return _triples(first), _triples(second), pitch.tolist(), bounds.tolist()


def _triples(vectors: np.ndarray) -> list[Triple]:
    return [(x, y, z) for x, y, z in vectors.tolist()]


def _directions(rng: np.random.Generator, n: int) -> np.ndarray:
    return _unit(rng.standard_normal((n, 3)))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.sqrt(dot(vectors, vectors))[:, None]


def _rotations(rng: np.random.Generator, n: int) -> np.ndarray:
    """Uniformly random rotations, from quaternions."""
    x, y, z, w = _unit(rng.standard_normal((n, 4))).T
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),
        2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
        2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return np.stack(rows, axis=1).reshape(n, 3, 3)
