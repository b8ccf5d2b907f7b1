# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Links and joints with names, as the file gives them, before anything is computed.

Every loader ends here and every `Robot` starts here, so that welding a joint, adding a
payload or saving a robot is an edit of this description followed by a new build.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..arrays import real_numbers
from ..errors import PhalanxError, is_one_of, listing, nearest, shown
from ..reproducible import times
from ..spatial import pack
from .joints import FREE, WELD, JointType

Triple = tuple[float, float, float]
_NOTHING = 1e-15  # rounding left by a product of right angles


class Pose(NamedTuple):
    """Pose of a frame b in a frame a: x_a = rotation x_b + translation."""

    rotation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    translation: Triple = (0.0, 0.0, 0.0)

    @classmethod
    def of(cls, rotation: Any = None, translation: Any = (0.0, 0.0, 0.0)) -> Pose:
        """Pose from a 3x3 rotation (None = identity) and a 3-vector."""
        r = np.eye(3) if rotation is None else np.asarray(rotation, dtype=float).reshape(3, 3)
        t = np.asarray(translation, dtype=float).reshape(3)
        r = np.where(np.abs(r) < _NOTHING, 0.0, r)
        return cls(tuple(r.ravel().tolist()), tuple(t.tolist()))

    @property
    def matrix(self) -> np.ndarray:
        """The 4x4 homogeneous matrix."""
        m = np.eye(4)
        m[:3, :3] = np.reshape(self.rotation, (3, 3))
        m[:3, 3] = self.translation
        return m

    def inverse(self) -> Pose:
        """The pose of frame a in frame b."""
        rotation = np.reshape(self.rotation, (3, 3)).T
        return Pose.of(rotation, 0.0 - times(rotation, self.translation))

    def __matmul__(self, other: Pose) -> Pose:
        # Plain floats: sums run in the written order on every processor.
        a, b, c, d, e, f, g, h, i = self.rotation
        p, q, r, s, t, u, v, w, x = other.rotation
        rotation = (
            a * p + b * s + c * v, a * q + b * t + c * w, a * r + b * u + c * x,
            d * p + e * s + f * v, d * q + e * t + f * w, d * r + e * u + f * x,
            g * p + h * s + i * v, g * q + h * t + i * w, g * r + h * u + i * x,
        )  # fmt: skip
        (x1, y1, z1), (x2, y2, z2) = self.translation, other.translation
        translation = (
            a * x2 + b * y2 + c * z2 + x1,
            d * x2 + e * y2 + f * z2 + y1,
            g * x2 + h * y2 + i * z2 + z1,
        )
        return Pose(tuple(0.0 if abs(y) < _NOTHING else y for y in rotation), translation)


IDENTITY = Pose()
Item = TypeVar("Item", "Actuator", "Configuration")


class Mimic(NamedTuple):
    """q = multiplier * q[joint] + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Link:
    """A rigid body: mass, mass centre in the link frame, inertia about the mass centre."""

    name: str
    mass: float = 0.0
    com: Triple = (0.0, 0.0, 0.0)
    inertia: tuple[float, ...] = (0.0,) * 6  # xx, xy, xz, yy, yz, zz in link axes


# What a joint has for each coordinate or degree of freedom.
PER_COORDINATE = (
    "lower",
    "upper",
    "velocity",
    "effort",
    "damping",
    "friction",
    "armature",
    "stiffness",
    "spring_reference",
)


LIMITS = PER_COORDINATE[:4]
OF_COORDINATES = ("lower", "upper", "spring_reference")  # one entry per coordinate, the others per rate


@dataclass(frozen=True)
class Joint:
    """A joint from `parent` to `child`.

    `origin` is the pose of the joint frame in the parent link's frame, `after` the pose of
    the child link's frame in the joint frame once it has moved (identity in URDF; the
    constant part of a standard Denavit-Hartenberg row; minus the anchor in MJCF).
    Limits hold one entry per coordinate (`lower`, `upper`) or degree of freedom
    (`velocity`, `effort`, `damping`, `friction`, `armature`), and so do springs (`spring_reference`, the
    coordinates at rest, and `stiffness`); empty means none.
    """

    name: str
    type: str
    parent: str
    child: str
    origin: Pose = IDENTITY
    after: Pose = IDENTITY
    axis: Triple = (0.0, 0.0, 1.0)
    axis2: Triple = (0.0, 1.0, 0.0)  # second axis of a universal joint
    pitch: float = 0.0  # metres per radian of a helical joint
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    velocity: tuple[float, ...] = ()
    effort: tuple[float, ...] = ()
    damping: tuple[float, ...] = ()
    friction: tuple[float, ...] = ()
    armature: tuple[float, ...] = ()
    mimic: Mimic | None = None
    stiffness: tuple[float, ...] = ()
    spring_reference: tuple[float, ...] = ()


BASE = ""  # the name of the joint under a floating base
FREE_BASE = Joint(BASE, FREE, "", "")


@dataclass(frozen=True)
class FixedFrame:
    """A named frame that is fixed to a link, as a site of MJCF; `pose` in the link's frame."""

    name: str
    link: str
    pose: Pose = IDENTITY


@dataclass(frozen=True)
class LoopClosure:
    """A joint that closes a loop between two links of the tree; stored, but not part of the dynamics.

    Its motion, of the joint type `type`, leads from a frame of the predecessor to one of the
    successor, whose poses in these links' frames are given ("fixed": the two frames coincide,
    "spherical": their origins do).
    """

    name: str
    type: str
    predecessor: str
    successor: str
    predecessor_pose: Pose = IDENTITY
    successor_pose: Pose = IDENTITY
    axis: Triple = (0.0, 0.0, 1.0)
    axis2: Triple = (0.0, 1.0, 0.0)  # second axis of a universal joint
    pitch: float = 0.0  # metres per radian of a helical joint


@dataclass(frozen=True)
class Actuator:
    """An input: its force u, behind a gear, acts on joints along `arms`, tau = gear * arm * u.

    `arms` has for each of `joints` one number per degree of freedom: 1 for a motor at a joint, the
    coefficients of a tendon over several. `lower` and `upper` bound u. `rotor_inertia` is that of a motor, in
    front of the gear; the armature of its joint includes it.
    """

    name: str
    joints: tuple[str, ...]
    arms: tuple[tuple[float, ...], ...]
    gear: float = 1.0
    rotor_inertia: float = 0.0
    lower: float = -math.inf
    upper: float = math.inf


def direct_actuators(joints: Iterable[tuple[str, type[JointType]]]) -> tuple[Actuator, ...]:
    """One actuator at each degree of freedom of some joints, with the joint's name."""
    made = []
    for name, kind in joints:
        for k, label in enumerate(kind.labels):
            arm = tuple(float(k == i) for i in range(kind.nv))
            made.append(Actuator(f"{name} {label}".strip(), (name,), (arm,)))
    return tuple(made)


@dataclass(frozen=True)
class Configuration:
    """Named coordinates of some joints, "" being a floating base; the others are at zero."""

    name: str
    joints: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Origin:
    """The file of some links and frames, and the names there of those that are renamed here."""

    source: str
    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Constraint:
    """A function of the configuration that stays at zero; `px.constraint` makes them.

    A "point" (3 rows), "weld" (6) or "axis" (5, a hinge about z) holds a frame on `first`, with the pose
    `first_pose` there, at one on `second`; without a name that is the world. A "coupling" or "tendon" (1 row)
    is sum(factors q[joints]) + offset = P(sum(driver_factors q[drivers]) + driver_offset), where P has the
    coefficients `polynomial`, the constant one first.
    """

    name: str
    kind: str
    first: str = ""
    second: str = ""
    first_pose: Pose = IDENTITY
    second_pose: Pose = IDENTITY
    joints: tuple[str, ...] = ()
    factors: tuple[float, ...] = ()
    offset: float = 0.0
    drivers: tuple[str, ...] = ()
    driver_factors: tuple[float, ...] = ()
    driver_offset: float = 0.0
    polynomial: tuple[float, ...] = ()

    @property
    def rows(self) -> int:
        """The number of scalar equations."""
        return {"point": 3, "weld": 6, "axis": 5}.get(self.kind, 1)


@dataclass(frozen=True)
class Description:
    """Links and joints in file order, with gravity in the base frame of the file."""

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    gravity: Triple = (0.0, 0.0, -9.81)
    floating_base: bool = False
    base_armature: tuple[float, ...] = ()  # of the joint under a floating base
    coupled: bool = True  # mimic joints follow their driver
    frames: tuple[FixedFrame, ...] = ()  # beside those of the links
    loops: tuple[LoopClosure, ...] = ()
    actuators: tuple[Actuator, ...] | None = None  # None where nothing is said of them
    configurations: tuple[Configuration, ...] = ()
    constraints: tuple[Constraint, ...] = ()  # beside those of loops
    source: str = field(default="", compare=False)  # file for messages
    left_out: tuple[str, ...] = field(default=(), compare=False)  # of the file: "6 sensors", "1 keyframe"
    origins: tuple[Origin, ...] = field(default=(), compare=False)  # of robots put together; else `source`

    @property
    def where(self) -> str:
        return self.source or f'robot "{self.name}"'

    def link(self, name: str) -> Link:
        for link in self.links:
            if link.name == name:
                return link
        raise PhalanxError(f'{self.where}: no link "{name}"; links: {listing(x.name for x in self.links)}.')


def ordered(description: Description) -> tuple[str, list[Joint]]:
    """Return the root link and the joints in file order made parents-first.

    Raises for everything that is not one tree: duplicates, unknown links, two parents,
    cycles, several roots.
    """
    where = description.where
    names = [link.name for link in description.links]
    known = set(names)
    if not names:
        raise PhalanxError(f"{where}: the robot has no links; expected at least one.")
    _refuse_duplicates(where, "link", names)
    _refuse_duplicates(where, "joint", [joint.name for joint in description.joints])
    above: dict[str, Joint] = {}
    below: dict[str, list[int]] = defaultdict(list)
    for i, joint in enumerate(description.joints):
        if joint.parent not in known or joint.child not in known:
            role, link = ("child", joint.child) if joint.parent in known else ("parent", joint.parent)
            raise PhalanxError(
                f'{where}: joint "{joint.name}" has the unknown {role} link "{link}"; '
                f"links: {listing(names)}."
            )
        if joint.child in above:
            raise PhalanxError(
                f'{where}: link "{joint.child}" is the child of two joints, '
                f'"{above[joint.child].name}" and "{joint.name}"; a tree allows one. '
                "Cut one of them (loops are not supported)."
            )
        above[joint.child] = joint
        below[joint.parent].append(i)
    roots = [name for name in names if name not in above]
    if not roots:
        raise PhalanxError(
            f"{where}: the links form a cycle ({listing(_cycle(names[0], above))}); "
            "expected one link without a parent. Remove one joint of the cycle."
        )
    if len(roots) > 1:
        raise PhalanxError(
            f"{where}: {len(roots)} root links ({listing(roots)}); expected one. "
            "Connect them with a fixed joint, or load them as separate robots."
        )
    result: list[Joint] = []
    ready = list(below[roots[0]])
    while ready:
        joint = description.joints[heapq.heappop(ready)]
        result.append(joint)
        for i in below.get(joint.child, ()):
            heapq.heappush(ready, i)
    if len(result) < len(description.joints):
        reached = {roots[0], *(joint.child for joint in result)}
        lost = next(name for name in names if name not in reached)
        raise PhalanxError(
            f"{where}: the links form a cycle ({listing(_cycle(lost, above))}) that is not "
            f'connected to the root "{roots[0]}". Remove one joint of the cycle.'
        )
    return roots[0], result


def flat(items: Iterable[Iterable[Iterable[float]]]) -> np.ndarray:
    """All numbers of some tuples of tuples, without a loop of Python's own."""
    return np.fromiter(chain.from_iterable(chain.from_iterable(items)), float)


def translations(poses: Iterable[Pose]) -> np.ndarray:
    """Their translations (k, 3)."""
    return flat((pose.translation,) for pose in poses).reshape(-1, 3)


def rotations(poses: Iterable[Pose]) -> np.ndarray:
    """The rotations (k, 3, 3) of poses."""
    return flat((pose.rotation,) for pose in poses).reshape(-1, 3, 3)


def _refuse_duplicates(where: str, what: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names if len(set(names)) < len(names) else ():
        if name in seen:
            raise PhalanxError(f'{where}: two {what}s are named "{name}"; expected unique names. Rename one.')
        seen.add(name)


def _cycle(start: str, above: Mapping[str, Joint]) -> list[str]:
    seen: list[str] = []
    position: dict[str, int] = {}
    link = start
    while link not in position:
        position[link] = len(seen)
        seen.append(link)
        link = above[link].parent
    return seen[position[link] :]


def number(value: Any, where: str) -> float:
    """Return a float, or raise an error that begins with `where`."""
    array = real_numbers(value, where, "a number")
    if array.shape:
        raise PhalanxError(f"{where}: got {shown(value)}, expected a number.")
    return float(array)


def text(value: Any, where: str) -> str:
    """Return a string, or raise an error that begins with `where`."""
    if not isinstance(value, str):
        raise PhalanxError(f"{where}: got {shown(value)}, expected text.")
    return value


def flag(value: Any, where: str) -> bool:
    """Return True or False, or raise an error that begins with `where`."""
    if not isinstance(value, bool | np.bool_):
        raise PhalanxError(f"{where}: got {shown(value)}, expected True or False.")
    return bool(value)


def triple(value: Any, where: str) -> Triple:
    """Return three floats, or raise an error that begins with `where`."""
    array = real_numbers(value, where, "three numbers")
    if array.shape != (3,):
        raise PhalanxError(f"{where}: got shape {array.shape}, expected three numbers.")
    return tuple(array.tolist())


MOMENTS = ("xx", "xy", "xz", "yy", "yz", "zz")


def packed_inertia(value: Any, where: str) -> tuple[float, ...]:
    """Return (xx, xy, xz, yy, yz, zz) from a 3x3 matrix, these six, three on the diagonal, names or None.

    Named entries are a mapping such as {"xx": 0.1, "yy": 0.2, "zz": 0.3}; what is left out is zero.
    """
    if value is None:
        return (0.0,) * 6
    if isinstance(value, Mapping):
        if unknown := [key for key in value if key not in MOMENTS]:
            hint = nearest(unknown[0], MOMENTS, what="entries")
            raise PhalanxError(f"{where}: unknown entry {shown(unknown[0])};{hint}")
        return tuple(number(value.get(key, 0.0), f'{where}: "{key}"') for key in MOMENTS)
    array = real_numbers(value, where, "numbers")
    if array.shape == (3,):
        array = np.diag(array)
    if array.shape == (6,):
        return tuple(array.tolist())
    if array.shape != (3, 3):
        raise PhalanxError(f"{where}: got shape {array.shape}, expected (3, 3), (6,) or (3,).")
    if np.abs(array - array.T).max() > 1e-9 * max(np.abs(array).max(), 1e-300):
        raise PhalanxError(f"{where}: got a matrix that is not symmetric.")
    return tuple(pack((array + array.T) / 2).tolist())


def pose(value: Any, where: str) -> Pose:
    """Return a `Pose` from None, a `Pose`, a 3-vector or a 4x4 matrix."""
    if value is None:
        return IDENTITY
    if isinstance(value, Pose):
        return value
    array = real_numbers(value, where, "a pose")
    if array.shape == (3,):
        return Pose.of(None, array)
    if array.shape == (4, 4):
        return Pose.of(array[:3, :3], array[:3, 3])
    raise PhalanxError(f"{where}: got shape {array.shape}, expected a 4x4 pose or a translation (3,).")


def is_coupled(mimic: Any, where: str) -> bool:
    """Whether the choice `mimic` couples mimic joints to their drivers, or raise naming the choices."""
    choices = ("coupled", "independent")
    if not is_one_of(mimic, choices):
        raise PhalanxError(f"{where}: mimic={shown(mimic)};{nearest(mimic, choices, what='choices')}")
    return bool(mimic == choices[0])


def weld(description: Description, values: Mapping[str, Pose]) -> Description:
    """Return the description with each named joint fixed at the given pose of its motion."""
    joints = tuple(
        Joint(j.name, WELD, j.parent, j.child, j.origin @ values[j.name], j.after) if j.name in values else j
        for j in description.joints
    )
    return without_joints(replace(description, joints=joints), values)


def without_joints(description: Description, gone: Collection[str]) -> Description:
    """The description whose actuators, configurations and constraints know nothing of some joints."""
    if not gone:
        return description
    for c in description.constraints:
        named = {*c.joints, *c.drivers}
        going, staying = (listing(sorted(x), most=4) for x in (named & set(gone), named - set(gone)))
        if going and staying:
            raise PhalanxError(
                f'{description.where}: constraint "{c.name}" couples {going} with {staying}; expected all of '
                "its joints to go, or none."
            )
    actuators = description.actuators
    if actuators is not None:
        actuators = tuple(x for x in (_without(a, "arms", gone) for a in actuators) if x.joints)
    configurations = (_without(c, "values", gone) for c in description.configurations)
    kept = tuple(x for x in configurations if x.joints)
    constraints = tuple(c for c in description.constraints if not c.joints or c.joints[0] not in gone)
    return replace(description, actuators=actuators, configurations=kept, constraints=constraints)


def _without(item: Item, label: str, gone: Collection[str]) -> Item:
    """An actuator or configuration without the joints in `gone`.

    The attribute `label`, such as "arms" or "values", has one entry for each joint; theirs go, too.
    """
    if not any(joint in gone for joint in item.joints):
        return item
    pairs = [(j, x) for j, x in zip(item.joints, getattr(item, label), strict=True) if j not in gone]
    entries: dict[str, Any] = {"joints": tuple(j for j, _ in pairs), label: tuple(x for _, x in pairs)}
    return replace(item, **entries)
