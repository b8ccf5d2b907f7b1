# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From a description to bodies: joints welded, numbered, coupled and placed in body frames."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from . import description as d
from .attachments import check_attachments
from .description import Description, Joint, Mimic, Pose, ordered
from .errors import PhalanxError, listing, nearest, warn
from .joints import FREE, JointType, Motion, Step, joint_type, split_turn
from .model import Coupling, Group, Model
from .spatial import Inertia, Transform

BASE = ""  # the name of the joint that a floating base stands on


@dataclass(frozen=True)
class Frame:
    """A link or frame of the file: the moving link that carries it (-1 = world) and its pose there."""

    link: int
    pose: Pose


@dataclass(frozen=True)
class Moving:
    """A moving joint ready for use: its description, type, bodies and place among the links."""

    joint: Joint
    kind: type[JointType]
    steps: list[Step]
    parent: int
    origin: Pose  # joint frame in the parent link's frame (world's for -1)


@dataclass(frozen=True)
class Assembly:
    """The moving joints of a robot with their coordinates, its frames and its bodies."""

    description: Description
    moving: tuple[Moving, ...]
    frames: dict[str, Frame]
    drivers: dict[str, Mimic]  # for each coupled mimic joint, what it follows in the end
    q_of: dict[str, slice]
    v_of: dict[str, slice]

    @cached_property
    def own(self) -> list[Moving]:
        """The joints with coordinates of their own."""
        return [m for m in self.moving if m.joint.name not in self.drivers]

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
    d.check_numbers(description)
    root, joints = ordered(description)
    check_attachments(description)
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


def judge_inertias(description: Description, strict: bool) -> None:
    """Warn of inertias that no rigid body has, or no robot; with `strict`, raise."""
    _judge(description, strict, d.unphysical(description), " kg m2", "that no rigid body has")
    _judge(description, strict, d.implausible(description), "", "that no robot has; check the units")


def _judge(
    description: Description, strict: bool, found: list[tuple[str, str, float]], unit: str, said: str
) -> None:
    if not found:
        return
    rows = "; ".join(f'"{link}": {what} {amount:.3g}{unit}' for link, what, amount in found[:10])
    more = f"; and {len(found) - 10} more" if len(found) > 10 else ""
    links = "1 link has an inertia" if len(found) == 1 else f"{len(found)} links have inertias"
    text = f"{description.where}: {links} {said} ({rows}{more})."
    if strict:
        raise PhalanxError(f"{text} Correct them, or load with strict=False.")
    warn(f"{text} The numbers are used as they are; load with strict=True to refuse them.")


def _weld(description: Description, root: str, joints: list[Joint]) -> tuple[list[Moving], dict[str, Frame]]:
    """Moving joints with their parents among the moving links, and every link and frame of the file."""
    moving: list[Moving] = []
    frames = {root: Frame(-1, d.IDENTITY)}
    if description.floating_base:
        base = Joint(BASE, FREE, "", root, armature=description.base_armature)
        joints = [base, *joints]
        frames[""] = frames.pop(root)
    for joint in joints:
        kind = joint_type(joint.type, where=description.where, joint=joint.name)
        parent = frames[joint.parent]
        origin = joint.origin if parent.pose is d.IDENTITY else parent.pose @ joint.origin
        if kind.nv == 0:
            frames[joint.child] = Frame(parent.link, origin @ joint.after)
            continue
        frames[joint.child] = Frame(len(moving), d.IDENTITY)
        steps = kind.steps(joint.axis, joint.axis2, joint.pitch)
        moving.append(Moving(joint, kind, steps, parent.link, origin))
    named = {link.name: frames[link.name] for link in description.links}
    for frame in description.frames:
        carrier = frames[frame.link]
        named[frame.name] = Frame(carrier.link, carrier.pose @ frame.pose)
    return moving, named


def _refuse_second_base(description: Description, root: str, moving: list[Moving]) -> None:
    """Raise where the base shall float, but stands for the world in which something floats already."""
    floating = [m.joint for m in moving[1:] if m.parent == 0 and m.joint.type == FREE]
    if floating and description.link(root).mass == 0.0:
        raise PhalanxError(
            f'{description.where}: the robot floats already: joint "{floating[0].name}" lets link '
            f'"{floating[0].child}" move freely in the massless "{root}", which would float too. '
            "Leave out floating_base=True or with_floating_base()."
        )


def _drivers(description: Description, moving: list[Moving]) -> dict[str, Mimic]:
    """For each mimic joint the joint it follows in the end, with multiplier and offset of the whole way."""
    by_name = {m.joint.name: m for m in moving}
    result: dict[str, Mimic] = {}
    for m in moving:
        multiplier, offset, seen, here = 1.0, 0.0, [m.joint.name], m
        while here.joint.mimic:
            mimic = here.joint.mimic
            here = _driver(description, here, by_name)
            offset += multiplier * mimic.offset
            multiplier *= mimic.multiplier
            if mimic.joint in seen:
                raise PhalanxError(
                    f"{description.where}: the mimic joints {listing(seen)} follow each other in a "
                    "circle; expected one of them to move by itself. Remove one <mimic>, or load with "
                    'mimic="independent".'
                )
            seen.append(mimic.joint)
        if here is not m:
            result[m.joint.name] = Mimic(here.joint.name, multiplier, offset)
    return result


def _driver(description: Description, m: Moving, by_name: dict[str, Moving]) -> Moving:
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
    n = sum(len(m.steps) for m in robot.moving)
    parents = np.empty(n, dtype=np.intp)
    carrier = np.empty(n, dtype=np.intp)
    rest = np.tile(np.eye(4), (n, 1, 1))
    pitch, axis = np.zeros(n), np.zeros((n, 6))
    links = np.empty(len(robot.moving), dtype=np.intp)
    link_frame = np.tile(np.eye(4), (len(robot.moving), 1, 1))  # pose in the last body's frame
    groups: dict[type[Motion], tuple[list[int], list[range]]] = {}
    body = coordinate = 0
    for k, m in enumerate(robot.moving):
        above = int(links[m.parent]) if m.parent >= 0 else -1
        before = (link_frame[m.parent] if m.parent >= 0 else np.eye(4)) @ m.origin.matrix
        for step in m.steps:
            parents[body] = above
            carrier[body] = body + step.carrier
            rest[body] = before
            rest[body, :3, :3] = before[:3, :3] @ step.frame
            pitch[body], axis[body] = step.pitch, step.axis
            bodies, coordinates = groups.setdefault(step.motion, ([], []))
            bodies.append(body)
            coordinates.append(range(coordinate, coordinate := coordinate + step.motion.nq))
            # The next step stands where this one does, turned back to the joint's axes.
            above, before = body, np.eye(4)
            before[:3, :3] = step.frame.T
            body += 1
        links[k] = body - 1
        link_frame[k] = before @ m.joint.after.matrix
    at_rest = _transform(rest)
    offset = np.zeros(n)
    for motion, (turning, _) in groups.items():
        for i in turning if motion.turns else []:
            at_rest.E[i], offset[i] = split_turn(at_rest.E[i])
    return Model(
        n=n,
        nq=robot.nq,
        nv=robot.nv,
        parents=parents,
        groups=tuple(
            Group(
                motion,
                np.array(b, dtype=np.intp),
                np.array([list(c) for c in q], dtype=np.intp).reshape(len(b), motion.nq),
            )
            for motion, (b, q) in groups.items()
        ),
        rest=at_rest,
        offset=offset,
        pitch=pitch,
        axis=axis,
        carrier=carrier,
        inertia=_inertias(robot, n, links, link_frame),
        armature=_armature(robot),
        gravity=np.array(robot.description.gravity),
        links=links,
        link_frame=_transform(link_frame),
        coupling=_coupling(robot, n, coordinate),
        twists=_twists(robot),
    )


def _transform(poses: np.ndarray) -> Transform:
    turns = np.swapaxes(poses[:, :3, :3], 1, 2).copy()
    turns[np.abs(turns) < 1e-15] = 0.0
    near = np.abs(np.abs(turns) - 1.0) < 1e-15
    turns[near] = np.sign(turns[near])
    return Transform(turns, poses[:, :3, 3].copy())


def _inertias(robot: Assembly, n: int, links: np.ndarray, link_frame: np.ndarray) -> Inertia:
    """Inertias about the body frames' origins, welded links added to their carriers."""
    m, h, moment = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    carried = [(link, robot.frames[link.name]) for link in robot.description.links]
    carried = [(link, frame) for link, frame in carried if frame.link >= 0]
    if carried:
        where = np.array([frame.link for _, frame in carried])
        poses = np.array([(*f.pose.rotation, *f.pose.translation) for _, f in carried])
        carrier = link_frame[where]
        turn = carrier[:, :3, :3] @ poses[:, :9].reshape(-1, 3, 3)
        place = np.einsum("kij,kj->ki", carrier[:, :3, :3], poses[:, 9:]) + carrier[:, :3, 3]
        mass = np.array([link.mass for link, _ in carried])
        com = np.einsum("kij,kj->ki", turn, np.array([link.com for link, _ in carried])) + place
        packed = np.array([link.inertia for link, _ in carried])
        own = turn @ packed[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3) @ np.swapaxes(turn, 1, 2)
        square = (
            np.einsum("ki,ki->k", com, com)[:, None, None] * np.eye(3) - com[:, :, None] * com[:, None, :]
        )
        body = links[where]
        np.add.at(m, body, mass)
        np.add.at(h, body, mass[:, None] * com)
        np.add.at(moment, body, own + mass[:, None, None] * square)
    return Inertia(m, h, moment[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])


def _armature(robot: Assembly) -> np.ndarray:
    armature = np.zeros(robot.nv)
    for m in robot.moving:
        if m.joint.armature:
            mimic = robot.drivers.get(m.joint.name)
            ratio = mimic.multiplier if mimic else 1.0
            armature[robot.v_of[m.joint.name]] += ratio**2 * np.array(m.joint.armature)
    return armature


def _twists(robot: Assembly) -> np.ndarray:
    """The degrees of freedom (k, 6) of joints all of whose bodies complete one twist together."""
    whole = [m for m in robot.moving if m.steps[0].carrier == 5]
    rows = [range(robot.v_of[m.joint.name].start, robot.v_of[m.joint.name].stop) for m in whole]
    return np.array([list(row) for row in rows], dtype=np.intp).reshape(len(rows), 6)


def _coupling(robot: Assembly, n: int, coordinates: int) -> Coupling | None:
    if not robot.drivers:
        return None
    q_map, offset = np.zeros((coordinates, robot.nq)), np.zeros(coordinates)
    v_map = np.zeros((n, robot.nv))
    body = coordinate = 0
    for m in robot.moving:
        q, v = robot.q_of[m.joint.name], robot.v_of[m.joint.name]
        ratio = 1.0
        if mimic := robot.drivers.get(m.joint.name):
            ratio, offset[coordinate] = mimic.multiplier, mimic.offset
        q_map[coordinate : coordinate + m.kind.nq, q] = ratio * np.eye(m.kind.nq)
        v_map[body : body + m.kind.nv, v] = ratio * np.eye(m.kind.nv)
        coordinate += m.kind.nq
        body += m.kind.nv
    return Coupling(q_map, offset, v_map)
