# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Links and joints of a compiled MuJoCo model.

Coordinates keep MuJoCo's zero: q of a hinge or slide is its qpos, `ref` included, and q of
a free joint is the pose of its body in the world.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from phalanx.errors import PhalanxError
from phalanx.io.mjcf.actuators import Effort, effort_limits
from phalanx.reproducible import congruent, cos_sin
from phalanx.robot.description import IDENTITY, FixedFrame, Joint, Link, Pose, Triple
from phalanx.robot.joints import joint_type
from phalanx.spatial import pack

Array = np.ndarray[Any, np.dtype[Any]]

WORLD = "world"
TYPES = ("floating", "spherical", "prismatic", "revolute")  # by the numbers of mjtJoint


@dataclass(frozen=True)
class MujocoNames:
    """Names of a compiled MuJoCo model; nameless bodies and joints get one from their index."""

    model: str
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    given: bytes  # all names of the model, each ending with a null byte

    def at(self, addresses: Iterable[int]) -> list[str]:
        """The names at the addresses, empty for elements without one."""
        ends = ((a, self.given.index(b"\0", a)) for a in addresses)
        return [self.given[a:end].decode("utf-8", "backslashreplace") for a, end in ends]

    @cached_property
    def taken(self) -> frozenset[str]:
        """All names of bodies and joints."""
        return frozenset((*self.bodies, *self.joints))

    @classmethod
    def of(cls, model: Any) -> MujocoNames:
        """The names of a `mujoco.MjModel`, unique among its bodies and among its joints."""
        names = cls("", (), (), bytes(model.names))
        bodies = unique_names(names.at(model.name_bodyadr), [f"body{i}" for i in range(model.nbody)])
        defaults = []
        for j, body in enumerate(model.jnt_bodyid):
            ordinal = j - model.body_jntadr[body] + 1 if model.body_jntnum[body] > 1 else ""
            defaults.append(f"{bodies[body]}_joint{ordinal}")
        joints = unique_names(names.at(model.name_jntadr), defaults)
        return cls(names.at([0])[0] or "mujoco", bodies, joints, names.given)


def unique_names(given: Sequence[str], otherwise: Sequence[str]) -> tuple[str, ...]:
    """The given names; where there is none the other one, with underscores if that is taken."""
    taken = set(given)
    result = []
    for name, other in zip(given, otherwise, strict=True):
        while not name or (name is other and name in taken):
            name = other = other if not name else f"{other}_"
        taken.add(name)
        result.append(name)
    return tuple(result)


def read_tree(model: Any, names: MujocoNames) -> tuple[list[Link], list[Joint]]:
    """The links and joints of all bodies, below the link of the world."""
    links, joints = [Link(WORLD)], []
    efforts = effort_limits(model, TYPES)
    for body in range(1, model.nbody):
        new_links, new_joints = _body(model, names, body, efforts)
        links += new_links
        joints += new_joints
    return links, joints


def _free_name(name: str, taken: Set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _body(model: Any, names: MujocoNames, body: int, efforts: list[Effort]) -> tuple[list[Link], list[Joint]]:
    """The link of a body and its joints, with a massless link between each two of them."""
    parent = names.bodies[model.body_parentid[body]]
    origin = Pose.of(rotation(model.body_quat[body]), model.body_pos[body])
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    last = _link(model, names, body)
    if count == 0:
        name = _free_name(f"{last.name}_fixed", names.taken)
        return [last], [Joint(name, "fixed", parent, last.name, origin=origin)]
    links, joints = [], []
    for j in range(first, first + count):
        link = last
        if j < first + count - 1:
            link = Link(_free_name(f"{last.name}_after_{names.joints[j]}", names.taken))
        joint = _joint(model, names.joints[j], j, parent, link.name, origin)
        joints.append(replace(joint, effort=efforts[j]))
        links.append(link)
        parent, origin = link.name, IDENTITY
    return links, joints


def _link(model: Any, names: MujocoNames, body: int) -> Link:
    inertia = congruent(rotation(model.body_iquat[body]), np.diag(model.body_inertia[body]))
    return Link(
        names.bodies[body],
        float(model.body_mass[body]),
        triple(model.body_ipos[body]),
        tuple(pack(inertia).tolist()),
    )


def _joint(model: Any, name: str, j: int, parent: str, child: str, origin: Pose) -> Joint:
    """Joint j, which moves the frame of its body about an anchor fixed in that frame."""
    kind = TYPES[model.jnt_type[j]]
    axis, anchor = model.jnt_axis[j], model.jnt_pos[j]
    before, after = origin @ Pose.of(None, anchor), Pose.of(None, -anchor)
    # The file shows the body at qpos0, so what the joint does from 0 to qpos0 is undone after it.
    rest = float(model.qpos0[model.jnt_qposadr[j]])
    if kind == "floating":
        before, after = IDENTITY, IDENTITY
        if np.ptp(model.dof_armature[model.jnt_dofadr[j] :][:3]):
            raise PhalanxError(
                f'joint "{name}" (free) has unequal armature along its linear axes, those of the world in '
                "MuJoCo and of the body here; make the three values equal."
            )
    elif kind == "revolute" and rest:
        after = Pose.of(_rotation_about(axis, -rest)) @ after
    elif kind == "prismatic" and rest:
        after = Pose.of(None, -rest * axis) @ after
    if kind == "revolute" and not model.jnt_limited[j]:
        kind = "continuous"
    return Joint(
        name,
        kind,
        parent,
        child,
        before,
        after,
        axis=triple(axis),
        **_limits(model, j, kind),
        **_losses(model, j, kind),
        **_spring(model, j, kind),
    )


def _limits(model: Any, j: int, kind: str) -> dict[str, Any]:
    """Range of a joint with one coordinate."""
    found: dict[str, Any] = {}
    if kind in ("floating", "spherical"):
        return found
    if model.jnt_limited[j]:
        found["lower"], found["upper"] = ((float(x),) for x in model.jnt_range[j])
    elif kind == "continuous":
        found["lower"], found["upper"] = (-math.inf,), (math.inf,)
    return found


def _losses(model: Any, j: int, kind: str) -> dict[str, Any]:
    """Damping, friction and armature per degree of freedom, where there are any."""
    first = int(model.jnt_dofadr[j])
    dofs = slice(first, first + joint_type(kind).nv)
    # MuJoCo writes the linear part of a free joint first.
    order = [3, 4, 5, 0, 1, 2] if kind == "floating" else slice(None)
    found = {}
    for label, values in (
        ("damping", model.dof_damping[dofs]),
        ("friction", model.dof_frictionloss[dofs]),
        ("armature", model.dof_armature[dofs] + _geared_armature(model, j)),
    ):
        if np.any(values):
            found[label] = tuple(values[order].tolist())
    return found


def _spring(model: Any, j: int, kind: str) -> dict[str, Any]:
    """Stiffness per degree of freedom and the coordinates at rest, where there is a spring that acts."""
    if not model.jnt_stiffness[j] or springs_are_off(model):
        return {}
    type, first = joint_type(kind), int(model.jnt_qposadr[j])
    rest = model.qpos_spring[first : first + type.nq].tolist()
    if type.quaternion is not None:
        rest = [*rest[:-4], *rest[-3:], rest[-4]]  # MuJoCo writes w first
    return {"stiffness": (float(model.jnt_stiffness[j]),) * type.nv, "spring_reference": tuple(rest)}


def springs_are_off(model: Any) -> bool:
    """Whether the model switches its springs off."""
    import mujoco

    bits = mujoco.mjtDisableBit
    off = getattr(bits, "mjDSBL_SPRING", None) or bits.mjDSBL_PASSIVE  # its name in 3.3.0
    return bool(model.opt.disableflags & off)


def _geared_armature(model: Any, j: int) -> float:
    """Inertia of the actuators' rotors as joint j feels it."""
    total = 0.0
    for a, armature in rotors(model):
        if drives_scalar_joint(model, a) and model.actuator_trnid[a, 0] == j:
            total += float(armature * model.actuator_gear[a, 0] ** 2)
    return total


def rotors(model: Any) -> Iterator[tuple[int, float]]:
    """Actuators with rotor inertia, which MuJoCo knows since version 4."""
    armature = getattr(model, "actuator_armature", np.zeros(0))
    return ((int(a), float(armature[a])) for a in np.flatnonzero(armature))


def drives_scalar_joint(model: Any, actuator: int) -> bool:
    at_joint = model.actuator_trntype[actuator] <= 1  # mjTRN_JOINT, mjTRN_JOINTINPARENT
    return bool(at_joint) and is_scalar(model, int(model.actuator_trnid[actuator, 0]))


def is_scalar(model: Any, joint: int) -> bool:
    return joint >= 0 and TYPES[model.jnt_type[joint]] in ("prismatic", "revolute")


def triple(values: Array) -> Triple:
    x, y, z = values.tolist()
    return (x, y, z)


def rotation(quaternion: Array) -> Array:
    """Rotation matrix of a unit quaternion wxyz."""
    w, x, y, z = quaternion.tolist()
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.array(rows)


def _rotation_about(axis: Array, angle: float) -> Array:
    """Matrix of a rotation about a unit vector."""
    half = 0.5 * angle
    c, s = cos_sin(half)
    return rotation(np.array([c, *(s * axis)]))


def read_sites(model: Any, names: MujocoNames, links: Sequence[Link]) -> list[FixedFrame]:
    """The sites that have a name; one that a link has too gets the ending `_site`."""
    given = names.at(model.name_siteadr)
    bodies = {link.name for link in links}
    taken = bodies | set(given)
    found = []
    for site, name in enumerate(given):
        if name in bodies:
            name += "_site"
            while name in taken:
                name += "_"
            taken.add(name)
        if name:
            body = names.bodies[model.site_bodyid[site]]
            found.append(FixedFrame(name, body, site_pose(model, site)))
    return found


def site_pose(model: Any, site: int) -> Pose:
    """The pose of a site in the frame of its body."""
    return Pose.of(rotation(model.site_quat[site]), model.site_pos[site])
