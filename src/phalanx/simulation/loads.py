# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loads on frames of a robot, brought to its links or bodies with as little arithmetic as they allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.kinematics import body_transforms
from ..algorithms.registry import find
from ..program.task import Call
from ..robot.model import joint_kinematics, link_wrenches
from ..robot.robot import Robot
from ..spatial import Identity, angular, cross, dot, linear, motion_cross
from ..sweeps.verbs import parent, propagate
from ..tracing.arrays import Traced
from ..tracing.equations import Equations, TracedRobot

Position = tuple[float, float, float]
At = tuple[Position, Any]  # a point of a frame, in its axes, and a vector (3,) there


@dataclass(frozen=True)
class FrameLoad:
    """The loads on a frame: forces at points, and a wrench (6,) [moment; force] along its own axes.

    `axes` says along which axes vectors at points are given: those of the world, or of the frame's "body".

    It may resist accelerations a of its points, less w x v where the frame rotates: those by the rate of its
    twist. `evenly` holds points with a resistance b in all directions, a force -b a; `along` holds
    resistances to one motion of several points with directions d: where s is the sum of d · a over them, each
    feels -b s d. `turning` holds resistances b to rotations of the frame about axes e: moments -b (e · w') e.

    `corrected` gives what depends on the velocity of its one point at the end of a step, as sliding does.
    """

    frame: str
    forces: tuple[At, ...] = ()
    wrench: Any = None
    evenly: tuple[At, ...] = ()
    along: tuple[tuple[Any, tuple[At, ...]], ...] = ()
    axes: str = "world"
    turning: tuple[tuple[Any, Any], ...] = ()
    # The load for the velocity of its point at the end of a step.
    corrected: Callable[[Any], FrameLoad] | None = None

    @property
    def resists(self) -> bool:
        """Whether it resists accelerations at all."""
        return bool(self.evenly or self.along or self.turning)


@dataclass(frozen=True)
class Above:
    """A point of a frame above a plane through the world's origin, in the axes of world or body."""

    height: Any
    normal: Any
    v: Any
    spin: Any  # angular velocity of the frame
    axes: str


def above(robot: Any, q: Any, qd: Any, frame: str, at: Position, normal: Position) -> Above:
    """A point of a frame, seen along the normal of a plane.

    If traced in the axes of its body: it takes less to bring the normal there than all axes to the world.
    """
    n = np.array(normal)
    if not isinstance(robot, TracedRobot):
        pose, velocity = robot.frame_pose(q, frame), robot.frame_velocity(q, qd, frame)
        lever = (pose[..., :3, :3] @ np.array(at)[:, None])[..., 0]
        w, v = velocity[..., :3], velocity[..., 3:]
        x = pose[..., :3, 3] + lever
        return Above(np.sum(n * x, axis=-1), n, v + np.cross(w, lever), w, "world")
    of = robot._equations
    model = of.model(Call(of.robot, find("forward_dynamics", "aba")))
    body, point = _body(of.robot, model, frame), _in_body(of.robot, frame, at)
    q, qd, n = q.scalars, qd.scalars, n.astype(object)
    with of.ordered:
        across, axes, _ = joint_kinematics(model, q)
        twist = propagate(across, axes @ qd)[body]
        normals = linear(propagate(across, root=np.concatenate([n * 0.0, n])))
        rises = propagate(Identity(), dot(parent(normals, root=n), across.r)[..., None])
    n, w = normals[body], angular(twist)
    v = linear(twist) + cross(w, point.astype(object))
    return Above(Traced(rises[body, 0] + sum(n * point)), Traced(n), Traced(v), Traced(w), "body")


def on_links(of: Equations, q: np.ndarray, loads: Iterable[FrameLoad]) -> np.ndarray:
    """Wrenches (n_links, 6) on all links, each in its own frame."""
    robot = of.robot
    total = np.zeros((robot.n_links, 6), dtype=object)
    for load in loads:
        link = robot.frame(load.frame).link
        if load.wrench is not None:
            total = total + robot._wrenches({load.frame: load.wrench}, lambda value, where: value)
        if link < 0 or not load.forces:
            continue
        if load.axes == "body":
            rotation = robot.model.link_frame.E[link]
        else:
            rotation = of("frame_pose", q, frame=robot.link_names[link])[:3, :3].T
        for at, force in load.forces:
            total[link] = total[link] + _wrench(_in_link(robot, load.frame, at), rotation @ force)
    return total


def on_bodies(of: Equations, model: Any, q: np.ndarray, loads: Iterable[FrameLoad]) -> np.ndarray:
    """Wrenches (n, 6) on all bodies of a model, in body coordinates."""
    robot, rotations = of.robot, _rotations(of, model, q)
    total = np.zeros((model.n, 6), dtype=object)
    for load in loads:
        if load.wrench is not None:
            moved = robot._wrenches({load.frame: load.wrench}, lambda value, where: value)
            total = total + link_wrenches(model, moved)
        body = _body(robot, model, load.frame)
        if body >= 0:
            for at, force in load.forces:
                point = _in_body(robot, load.frame, at)
                total[body] = total[body] + _wrench(point, _in_axes_of(rotations, body, load, force))
    return total


def impedances(of: Equations, model: Any, q: np.ndarray, loads: Iterable[FrameLoad]) -> np.ndarray:
    """The inertia-like resistance (n, 6, 6) of loads to body accelerations, in body coordinates."""
    robot, rotations = of.robot, _rotations(of, model, q)
    total = np.zeros((model.n, 6, 6), dtype=object)
    for load in loads:
        body = _body(robot, model, load.frame)
        if body < 0:
            continue
        for at, size in load.evenly:  # as a mass at the point would
            x, y, z = _in_body(robot, load.frame, at)
            lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            mass = np.block([[lever @ lever.T, lever], [lever.T, np.eye(3)]])
            total[body] = total[body] + mass * size
        for size, points in load.along:
            direction: Any = sum(
                _wrench(_in_body(robot, load.frame, at), _in_axes_of(rotations, body, load, vector))
                for at, vector in points
            )
            total[body] = total[body] + (direction * size)[:, None] * direction[None, :]
        for size, vector in load.turning:
            about = _in_axes_of(rotations, body, load, vector)
            total[body, :3, :3] = total[body, :3, :3] + (about * size)[:, None] * about[None, :]
    return total


def seen_ahead(
    of: Equations, model: Any, state: tuple[Any, Any, Any], h: float, loads: list[FrameLoad]
) -> list[FrameLoad]:
    """The same loads, of which some depend on the velocity of their point after a step with some qdd."""
    q, qd, qdd = state
    with of.ordered:
        across, axes, rest = joint_kinematics(model, q)
        own = axes @ qd
        twists = propagate(across, own)
        rates = propagate(across, axes @ qdd + (rest + motion_cross(twists, own)))
    made = []
    for load in loads:
        if load.corrected is None:
            made.append(load)
            continue
        body, ((at, _),) = _body(of.robot, model, load.frame), load.forces
        point = _in_body(of.robot, load.frame, at).astype(object)
        twist, rate = twists[body], rates[body]
        v = linear(twist) + cross(angular(twist), point)
        a = linear(rate) + cross(angular(rate), point) + cross(angular(twist), v)
        made.append(load.corrected(v + h * a))
    return made


def _in_axes_of(rotations: Any, body: int, load: FrameLoad, vector: Any) -> Any:
    """A vector of a load, along the axes of its body."""
    return vector if load.axes == "body" else rotations[body] @ vector


def _rotations(of: Equations, model: Any, q: np.ndarray) -> Any:
    """The rotations of all bodies, from the axes of the world."""
    with of.ordered:
        return body_transforms(model, q).E


def _body(robot: Robot, model: Any, frame: str) -> int:
    link = robot.frame(frame).link
    return int(model.links[link]) if link >= 0 else -1


def _in_link(robot: Robot, frame: str, at: Position) -> np.ndarray:
    """A point of a frame, in that of its link."""
    pose = robot.frame(frame).pose
    moved: np.ndarray = np.reshape(pose.rotation, (3, 3)) @ np.array(at) + pose.translation
    return moved


def _in_body(robot: Robot, frame: str, at: Position) -> np.ndarray:
    """A point of a frame, in that of its body."""
    X = robot.model.link_frame[robot.frame(frame).link]  # noqa: N806
    moved: np.ndarray = X.E.T @ _in_link(robot, frame, at) + X.r
    return np.where(np.abs(moved) < 1e-15, 0.0, moved)


def _wrench(at: np.ndarray, force: Any) -> Any:
    """A force at a point, about the origin."""
    return np.concatenate([cross(at.astype(object), force), force])
