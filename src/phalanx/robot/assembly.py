# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a description to bodies: joints welded, numbered, coupled and placed in body frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import PhalanxError, listing, nearest, warn
from ..reproducible import congruent, product, times
from ..spatial import Inertia, Transform, dot, pack, unpack
from . import description as d
from .checks import check_attachments, check_numbers, implausible, unphysical
from .description import BASE, Description, Joint, Mimic, Pose, ordered
from .joints import FREE, JointBody, JointType, Motion, joint_type, nearly_straight, split_rotation
from .model import Coupling, Group, Model
from .references import check_references

__all__ = ["BASE", "Assembly", "Coordinates", "Frame", "MovingJoint", "assemble", "judge_inertias"]


@dataclass(frozen=True)
class Frame:
    """A link or frame of the file: the moving link that carries it (-1 = world) and its pose there."""

    link: int
    pose: Pose


@dataclass(frozen=True)
class MovingJoint:
    """A moving joint ready for use: its description, type, bodies and parent link."""

    joint: Joint
    kind: type[JointType]
    steps: list[JointBody]
    parent: int
    origin: Pose  # joint frame in the parent link's frame (world's for -1)


@dataclass(frozen=True)
class Coordinates:
    """The coordinates of one joint: its type, and the slices of q and qd that it has."""

    kind: type[JointType]
    q: slice
    v: slice


@dataclass(frozen=True)
class Assembly:
    """The moving joints of a robot with their coordinates, its frames and its bodies."""

    description: Description
    moving: tuple[MovingJoint, ...]
    frames: dict[str, Frame]
    drivers: dict[str, Mimic]  # for each coupled mimic joint, what it follows in the end
    q_of: dict[str, slice]
    v_of: dict[str, slice]

    @cached_property
    def own(self) -> list[MovingJoint]:
        """The joints with coordinates of their own."""
        return [m for m in self.moving if m.joint.name not in self.drivers]

    @cached_property
    def coordinates(self) -> tuple[Coordinates, ...]:
        """The slices of these joints in q and qd."""
        return tuple(Coordinates(m.kind, self.q_of[m.joint.name], self.v_of[m.joint.name]) for m in self.own)

    @cached_property
    def joined(self) -> tuple[Coordinates, ...]:
        """As `coordinates`, with neighbouring joints merged into one slice where coordinates simply add."""
        made: list[Coordinates] = []
        for c in self.coordinates:
            last = made[-1] if made else c
            if last is not c and last.kind.adds and c.kind.adds and last.q.stop == c.q.start:
                made[-1] = Coordinates(c.kind, slice(last.q.start, c.q.stop), slice(last.v.start, c.v.stop))
            else:
                made.append(c)
        return tuple(made)

    @property
    def nq(self) -> int:
        return sum(m.kind.nq for m in self.own)

    @property
    def nv(self) -> int:
        return sum(m.kind.nv for m in self.own)

    @cached_property
    def model(self) -> Model:
        """The bodies, in body frames."""
        return _model(self).fixed()


def assemble(description: Description, *, strict: bool = False, warn: bool = True) -> Assembly:
    """The assembly of a description that makes sense, or an error."""
    check_numbers(description)
    root, joints = ordered(description)
    check_attachments(description)
    if description.actuators or description.configurations:
        check_references(description)
    if strict or warn:
        judge_inertias(description, strict)
    moving, frames = _weld(description, root, joints)
    if description.floating_base:
        _refuse_second_base(description, root, moving)
    drivers = _drivers(description, moving) if description.coupled else {}
    q_of: dict[str, slice] = {}
    v_of: dict[str, slice] = {}
    nq = nv = 0
    for m in moving:
        if m.joint.name not in drivers:
            q_of[m.joint.name] = slice(nq, nq := nq + m.kind.nq)
            v_of[m.joint.name] = slice(nv, nv := nv + m.kind.nv)
    for name, mimic in drivers.items():
        q_of[name], v_of[name] = q_of[mimic.joint], v_of[mimic.joint]
    return Assembly(description, tuple(moving), frames, drivers, q_of, v_of)


def judge_inertias(description: Description, strict: bool, remedy: str = "strict=True refuses them") -> None:
    """Warn of inertias that no rigid body has, or no robot; with `strict`, raise."""
    for found, unit, said in (
        (unphysical(description), " kg m2", "that no rigid body has"),
        (implausible(description), "", "that no robot has; check the units"),
    ):
        if not found:
            continue
        rows = "; ".join(f'"{link}": {what} {amount:.3g}{unit}' for link, what, amount in found[:10])
        more = f"; and {len(found) - 10} more" if len(found) > 10 else ""
        links = "1 link has an inertia" if len(found) == 1 else f"{len(found)} links have inertias"
        text = f"{description.where}: {links} {said} ({rows}{more})."
        if strict:
            raise PhalanxError(f"{text} Correct them, or leave out strict=True.")
        warn(f"{text} The numbers are used as they are; {remedy}.")


def _weld(
    description: Description, root: str, joints: list[Joint]
) -> tuple[list[MovingJoint], dict[str, Frame]]:
    """Moving joints with their parents among the moving links, and every link and frame of the file."""
    moving: list[MovingJoint] = []
    known: dict[Any, list[JointBody]] = {}  # robots of very many joints have few directions
    frames = {root: Frame(-1, d.IDENTITY)}
    if description.floating_base:
        base = Joint(BASE, FREE, "", root, armature=description.base_armature)
        joints = [base, *joints]
        frames[""] = frames.pop(root)
    for joint in joints:
        kind = joint_type(joint.type)
        parent = frames[joint.parent]
        origin = joint.origin if parent.pose is d.IDENTITY else parent.pose @ joint.origin
        if kind.nv == 0:
            frames[joint.child] = Frame(parent.link, origin @ joint.after)
            continue
        frames[joint.child] = Frame(len(moving), d.IDENTITY)
        key = kind, joint.axis, joint.axis2, joint.pitch
        if (steps := known.get(key)) is None:
            steps = known[key] = kind.steps(*key[1:])
        moving.append(MovingJoint(joint, kind, steps, parent.link, origin))
    named = {link.name: frames[link.name] for link in description.links}
    for frame in description.frames:
        carrier = frames[frame.link]
        named[frame.name] = Frame(carrier.link, carrier.pose @ frame.pose)
    return moving, named


def _refuse_second_base(description: Description, root: str, moving: list[MovingJoint]) -> None:
    """Raise if a floating base is requested for a file that already has a floating joint to the world."""
    floating = [m.joint for m in moving[1:] if m.parent == 0 and m.joint.type == FREE]
    if floating and description.link(root).mass == 0.0:
        raise PhalanxError(
            f'{description.where}: the robot floats already: joint "{floating[0].name}" lets link '
            f'"{floating[0].child}" move freely in the massless "{root}", which would float too. '
            "Leave out floating_base=True or with_floating_base()."
        )


def _drivers(description: Description, moving: list[MovingJoint]) -> dict[str, Mimic]:
    """For each mimic joint the joint it follows in the end, with the product of multipliers and offset."""
    followers = [m for m in moving if m.joint.mimic is not None]
    by_name = {m.joint.name: m for m in moving} if followers else {}
    resolved: dict[str, Mimic] = {}
    for m in followers:
        path: dict[str, Mimic] = {}  # from here to a joint that moves by itself or is known already
        here = m
        while here.joint.mimic and here.joint.name not in resolved:
            if here.joint.name in path:
                raise PhalanxError(
                    f"{description.where}: the mimic joints {listing(path)} follow each other in a "
                    "circle; expected one of them to move by itself. Remove one <mimic>, or load with "
                    'mimic="independent".'
                )
            path[here.joint.name] = here.joint.mimic
            here = _driver(description, here, by_name)
        end = resolved.get(here.joint.name, Mimic(here.joint.name))
        for name, (_, multiplier, offset) in reversed(path.items()):
            end = Mimic(end.joint, multiplier * end.multiplier, multiplier * end.offset + offset)
            resolved[name] = end
    return {m.joint.name: resolved[m.joint.name] for m in followers}


def _driver(description: Description, m: MovingJoint, by_name: dict[str, MovingJoint]) -> MovingJoint:
    """The joint that a mimic joint names, or an error."""
    assert m.joint.mimic is not None
    where, name, driver = description.where, m.joint.name, m.joint.mimic.joint
    found = by_name.get(driver)
    if found is None:
        fixed = any(j.name == driver for j in description.joints)
        raise PhalanxError(
            f'{where}: joint "{name}" mimics "{driver}", which is '
            + (
                "fixed. Fix the follower too."
                if fixed
                else f"unknown;{nearest(driver, by_name, what='joints')}"
            )
        )
    if found.kind.nq != 1 or m.kind.nq != 1:
        raise PhalanxError(
            f'{where}: joint "{name}" mimics "{driver}"; both need one coordinate '
            f"({m.kind.name} has {m.kind.nq}, {found.kind.name} {found.kind.nq})."
        )
    return found


def _model(robot: Assembly) -> Model:
    """The bodies of a robot, in body frames."""
    steps = [step for m in robot.moving for step in m.steps]
    n = len(steps)
    counts = np.array([len(m.steps) for m in robot.moving], dtype=np.intp)
    links = np.cumsum(counts) - 1  # the last body of each
    first = links - counts + 1
    frames = np.concatenate([np.empty((0, 3)), *(step.frame for step in steps)]).reshape(n, 3, 3)
    back = np.tile(np.eye(4), (n, 1, 1))  # from a body's frame to the joint's axes
    back[:, :3, :3] = np.swapaxes(frames, 1, 2)
    # Poses of the links' frames in the frames of their last bodies.
    link_frame = product(back[links], _matrices([m.joint.after for m in robot.moving]))
    above = np.array([m.parent for m in robot.moving], dtype=np.intp)
    on_link = np.where((above >= 0)[:, None, None], link_frame[above], np.eye(4))
    # A joint's first body starts at its parent link, the next ones where those before them start.
    before = np.roll(back, 1, axis=0)
    before[first] = product(on_link, _matrices([m.origin for m in robot.moving]))
    rest = before.copy()
    rest[:, :3, :3] = product(before[:, :3, :3], frames)
    parents = np.arange(-1, n - 1)
    parents[first] = np.where(above >= 0, links[above], -1)
    at_rest = _transform(rest)
    groups = _groups(steps)
    offset = np.zeros(n)
    turns = np.array([step.turn != 0.0 for step in steps], dtype=bool)
    for i in np.flatnonzero(turns & nearly_straight(at_rest.E)):
        at_rest.E[i], offset[i] = split_rotation(at_rest.E[i])
    return Model(
        n=n,
        nq=robot.nq,
        nv=robot.nv,
        parents=parents,
        groups=groups,
        rest=at_rest,
        offset=offset,
        axis=np.array([step.axis for step in steps], dtype=float).reshape(n, 6),
        carrier=np.arange(n) + np.array([step.carrier for step in steps], dtype=np.intp),
        inertia=_inertias(robot, n, links, link_frame),
        armature=_armature(robot),
        gravity=np.array(robot.description.gravity),
        links=links,
        link_frame=_transform(link_frame),
        coupling=_coupling(robot, n, sum(step.motion.nq for step in steps)),
        twists=_twists(robot),
    )


def _groups(steps: list[JointBody]) -> tuple[Group, ...]:
    """The bodies of each motion, in the order in which motions appear."""
    bodies: dict[type[Motion], list[int]] = {}
    for i, step in enumerate(steps):
        bodies.setdefault(step.motion, []).append(i)
    start = np.cumsum([0, *(step.motion.nq for step in steps)])
    return tuple(
        Group(motion, np.array(own, dtype=np.intp), start[own][:, None] + np.arange(motion.nq))
        for motion, own in bodies.items()
    )


def _matrices(poses: list[Pose]) -> np.ndarray:
    """Homogeneous matrices (k, 4, 4)."""
    result = np.tile(np.eye(4), (len(poses), 1, 1))
    result[:, :3, :3] = d.rotations(poses)
    result[:, :3, 3] = d.translations(poses)
    return result


def _transform(poses: np.ndarray) -> Transform:
    rotations = np.swapaxes(poses[:, :3, :3], 1, 2).copy()
    rotations[np.abs(rotations) < 1e-15] = 0.0
    near = np.abs(np.abs(rotations) - 1.0) < 1e-15
    rotations[near] = np.sign(rotations[near])
    return Transform(rotations, poses[:, :3, 3].copy())


def _inertias(robot: Assembly, n: int, links: np.ndarray, link_frame: np.ndarray) -> Inertia:
    """Inertias about the body frames' origins, welded links added to their carriers."""
    m, h, moment = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    carried = [(link, robot.frames[link.name]) for link in robot.description.links]
    carried = [(link, frame) for link, frame in carried if frame.link >= 0]
    if carried:
        where = np.array([frame.link for _, frame in carried])
        poses = [frame.pose for _, frame in carried]
        carrier = link_frame[where]
        rotation = product(carrier[:, :3, :3], d.rotations(poses))
        origin = times(carrier[:, :3, :3], d.translations(poses)) + carrier[:, :3, 3]
        mass = np.array([link.mass for link, _ in carried])
        com = times(rotation, np.array([link.com for link, _ in carried])) + origin
        packed = np.array([link.inertia for link, _ in carried])
        own = congruent(rotation, unpack(packed))
        square = dot(com, com)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
        body = links[where]
        np.add.at(m, body, mass)
        np.add.at(h, body, mass[:, None] * com)
        np.add.at(moment, body, own + mass[:, None, None] * square)
    return Inertia(m, h, pack(moment))


def _armature(robot: Assembly) -> np.ndarray:
    armature = np.zeros(robot.nv)
    for m in robot.moving:
        if m.joint.armature:
            mimic = robot.drivers.get(m.joint.name)
            ratio = mimic.multiplier if mimic else 1.0
            armature[robot.v_of[m.joint.name]] += ratio * ratio * np.array(m.joint.armature)
            if not np.isfinite(armature[robot.v_of[m.joint.name]]).all():
                raise PhalanxError(
                    f'{robot.description.where}: joint "{m.joint.name}" follows another {ratio:g} times as '
                    "far, so that its armature is no finite number there; expected a smaller multiplier."
                )
    return armature


def _twists(robot: Assembly) -> np.ndarray:
    """The degrees of freedom (k, 6) of joints all of whose bodies complete one twist together."""
    free = [m for m in robot.moving if m.steps[0].carrier == 5]
    rows = [range(robot.v_of[m.joint.name].start, robot.v_of[m.joint.name].stop) for m in free]
    return np.array([list(row) for row in rows], dtype=np.intp).reshape(len(rows), 6)


def _coupling(robot: Assembly, n: int, coordinates: int) -> Coupling | None:
    if not robot.drivers:
        return None
    q_map, offset = np.zeros((coordinates, robot.nq)), np.zeros(coordinates)
    v_map = np.zeros((n, robot.nv))
    coordinate = body = 0
    for name in (m.joint.name for m in robot.moving):
        ratio = 1.0
        if mimic := robot.drivers.get(name):
            ratio, offset[coordinate] = mimic.multiplier, mimic.offset
        for column in range(robot.q_of[name].start, robot.q_of[name].stop):
            q_map[coordinate, column] = ratio
            coordinate += 1
        for column in range(robot.v_of[name].start, robot.v_of[name].stop):
            v_map[body, column] = ratio
            body += 1
    return Coupling(q_map, offset, v_map)
