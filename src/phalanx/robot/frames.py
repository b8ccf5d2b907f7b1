# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A frame of a robot as uniforms of a program, so that one program serves all frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..reproducible import composed
from ..spatial import Array, Transform
from .model import Model
from .robot import Robot

_CACHED_BODIES = 1 << 22  # bodies of all frames in memory


@dataclass(frozen=True)
class Placement:
    """Which body carries a frame, which bodies' joints move it, and its pose on its body."""

    at: Array  # (n,) 1 for the body that carries it, else 0
    world: Array  # (1, 1) 1 if the world carries it, else 0
    moves: Array  # (n, 1) 1 for each body whose joint moves it, else 0
    X: Transform  # from its body to the frame

    @classmethod
    def of(cls, at: Array, world: Array, moves: Array, E: Array, r: Array) -> Placement:
        """A placement from arrays, the pose (E, r) being from its body to the frame."""
        return cls(at, world, moves, Transform(E, r))

    def map(self, change: Callable[[Array], Array]) -> Placement:
        """The placement with `change(array)` applied to every array."""
        X = Transform(change(self.X.E), change(self.X.r))
        return Placement(change(self.at), change(self.world), change(self.moves), X)

    def numbers(self) -> np.ndarray:
        """All numbers in one row, in the order of the uniforms of `AnyFrame`."""
        arrays = (self.at, self.moves, self.world, self.X.E, self.X.r)
        return np.concatenate([np.ravel(a) for a in arrays])


@dataclass(frozen=True, eq=False)
class AnyFrame:
    """A frame that a call chooses when a program runs: on one of some bodies, or on the world.

    Its placement is uniforms of the program; what all these frames share is folded into the code.
    """

    carriers: np.ndarray  # (n,) bool: the bodies that may carry it
    movers: np.ndarray  # (n,) bool: those that may move it
    always: np.ndarray  # (n,) bool: those that move it whichever body carries it
    world: bool = True  # whether the world may carry it

    def placement(self, number: Callable[[int], Any]) -> Placement:
        """The frame whose numbers are `number(0)`, `number(1)`, … in the order of `Placement.numbers`."""
        n = len(self.carriers)
        at = [number(k) if seat else 0.0 for k, seat in enumerate(self.carriers)]
        moves = [number(n + k) if mover else 0.0 for k, mover in enumerate(self.movers)]
        moves = [1.0 if certain else x for x, certain in zip(moves, self.always, strict=True)]
        rest = [number(2 * n) if self.world else 0.0, *(number(2 * n + k) for k in range(1, 13))]
        return _placement(at, moves, rest)

    def placement_of_one(self, own: Callable[[int], Any], common: Callable[[int], Any]) -> Placement:
        """The placement for the symbolic body of a loop: `own(k)` reads number k + the body's index."""
        n = len(self.carriers)
        return _placement([own(0)], [own(n)], [common(2 * n + k) for k in range(13)])


def _placement(at: list[Any], moves: list[Any], rest: list[Any]) -> Placement:
    flat = np.empty(len(at) + len(moves) + len(rest), dtype=object)
    flat[:] = [*at, *moves, *rest]
    at_, moves_, world, E, r = np.split(flat, np.cumsum([len(at), len(moves), 1, 9]))
    return Placement(at_, world[:, None], moves_[:, None], Transform(E.reshape(3, 3), r))


def everywhere(model: Model) -> AnyFrame:
    """A frame that any body may carry."""
    every = np.ones(model.n, dtype=bool)
    return AnyFrame(every, every, ~every)


def uniform_count(model: Model) -> int:
    """The number of uniforms that describe a frame to a program."""
    return 2 * model.n + 13


def placement_of(robot: Robot, name: Any) -> Placement:
    """The placement of a robot's frame."""
    frame, model = robot.frame(name), robot.model
    X = Transform(np.reshape(frame.pose.rotation, (3, 3)).T.copy(), np.array(frame.pose.translation))
    body = -1
    if frame.link >= 0:
        X = composed(X, model.link_frame[frame.link])
        body = int(model.links[frame.link])
    at, moves = np.zeros(model.n), np.zeros((model.n, 1))
    if body >= 0:
        at[body] = 1.0
    moves[model.ancestors(body)] = 1.0
    return Placement(at, np.full((1, 1), float(body < 0)), moves, X)


def frames_cached(robot: Robot) -> int:
    """The number of frames of a robot that each function caches, smaller for many bodies."""
    return max(64, _CACHED_BODIES // max(robot.model.n, 1))


def carriers_of(robot: Robot, names: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The link (k,) that carries each frame, -1 the world, and the frame's pose (k, 4, 4) there."""
    frames = [robot.frame(name) for name in names]
    own = np.zeros((len(frames), 4, 4))
    own[:, 3, 3] = 1.0
    for pose, frame in zip(own, frames, strict=True):
        pose[:3, :3] = np.reshape(frame.pose.rotation, (3, 3))
        pose[:3, 3] = frame.pose.translation
    return np.array([frame.link for frame in frames], dtype=np.intp), own
