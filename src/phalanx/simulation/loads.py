# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loads on frames of a robot, brought to its links or bodies with as little arithmetic as they allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms.kinematics import body_transforms
from ..robot.model import link_wrenches
from ..robot.robot import Robot
from ..spatial import cross
from .equations import Equations

Position = tuple[float, float, float]
At = tuple[Position, Any]  # a point of a frame, in its axes, and a vector (3,) there, in those of the world


@dataclass(frozen=True)
class Load:
    """What acts on a frame: forces at points, and a wrench (6,) [moment; force] along its own axes.

    It may resist accelerations a of its points, less w x v where the frame turns: what the rate of its twist
    gives them. `evenly` holds points with a resistance b in all directions, a force -b a; `along` holds
    resistances to one motion of several points with directions d: where s is the sum of d · a over them, each
    feels -b s d.
    """

    frame: str
    forces: tuple[At, ...] = ()
    wrench: Any = None
    evenly: tuple[At, ...] = ()
    along: tuple[tuple[Any, tuple[At, ...]], ...] = ()

    @property
    def resists(self) -> bool:
        """Whether it resists accelerations at all."""
        return bool(self.evenly or self.along)


def on_links(of: Equations, q: np.ndarray, loads: Iterable[Load]) -> np.ndarray:
    """Wrenches (n_links, 6) on all links, each in its own frame."""
    robot = of.robot
    total = np.zeros((robot.n_links, 6), dtype=object)
    for load in loads:
        link = robot.frame(load.frame).link
        if load.wrench is not None:
            total = total + robot.wrenches({load.frame: load.wrench}, lambda value, where: value)
        if link < 0 or not load.forces:
            continue
        turn = of("frame_pose", q, frame=robot.link_names[link])[:3, :3].T
        for at, force in load.forces:
            total[link] = total[link] + _wrench(_in_link(robot, load.frame, at), turn @ force)
    return total


def on_bodies(of: Equations, model: Any, q: np.ndarray, loads: Iterable[Load]) -> np.ndarray:
    """Wrenches (n, 6) on all bodies of a model, in body coordinates."""
    robot, turns = of.robot, _turns(of, model, q)
    total = np.zeros((model.n, 6), dtype=object)
    for load in loads:
        if load.wrench is not None:
            moved = robot.wrenches({load.frame: load.wrench}, lambda value, where: value)
            total = total + link_wrenches(model, moved)
        body = _body(robot, model, load.frame)
        if body >= 0:
            for at, force in load.forces:
                point = _in_body(robot, model, load.frame, at)
                total[body] = total[body] + _wrench(point, turns[body] @ force)
    return total


def impedances(of: Equations, model: Any, q: np.ndarray, loads: Iterable[Load]) -> np.ndarray:
    """How much loads resist accelerations (n, 6, 6) of the bodies, in body coordinates."""
    robot, turns = of.robot, _turns(of, model, q)
    total = np.zeros((model.n, 6, 6), dtype=object)
    for load in loads:
        body = _body(robot, model, load.frame)
        if body < 0:
            continue
        for at, size in load.evenly:  # as a mass at the point would
            x, y, z = _in_body(robot, model, load.frame, at)
            lever = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
            mass = np.block([[lever @ lever.T, lever], [lever.T, np.eye(3)]])
            total[body] = total[body] + mass * size
        for size, points in load.along:
            direction: Any = sum(
                _wrench(_in_body(robot, model, load.frame, at), turns[body] @ vector) for at, vector in points
            )
            total[body] = total[body] + (direction * size)[:, None] * direction[None, :]
    return total


def _turns(of: Equations, model: Any, q: np.ndarray) -> Any:
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


def _in_body(robot: Robot, model: Any, frame: str, at: Position) -> np.ndarray:
    """A point of a frame, in that of its body."""
    X = robot.model.link_frame[robot.frame(frame).link]  # noqa: N806
    moved: np.ndarray = X.E.T @ _in_link(robot, frame, at) + X.r
    return np.where(np.abs(moved) < 1e-15, 0.0, moved)


def _wrench(at: np.ndarray, force: Any) -> Any:
    """A force at a point, about the origin."""
    return np.concatenate([cross(at.astype(object), force), force])
