# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A frame of a robot as numbers, so that one program serves all frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..spatial import Array, Transform, composed
from .model import Model
from .robot import Robot

_WIDER = 1.25  # bodies of branches computed together, over those on the longest path among them
_TIP = 2  # levels of bodies at the end of a branch whose frames have code of their own
_SHORT = 16  # bodies of robots up to which they have: all of it must compile
_KEPT = 1 << 22  # bodies of all frames that are kept in memory
_MOST = 2.5  # bodies of all code over those of the robot


@dataclass(frozen=True)
class Placement:
    """On which body a frame sits, which bodies' joints move it, and where on its body it is."""

    at: Array  # (n,) 1 for the body that carries it, else 0
    world: Array  # (1, 1) 1 if the world carries it, else 0
    moves: Array  # (n, 1) 1 for each body whose joint moves it, else 0
    X: Transform  # from its body to the frame

    @classmethod
    def of(cls, at: Array, world: Array, moves: Array, E: Array, r: Array) -> Placement:
        """The placement of these arrays."""
        return cls(at, world, moves, Transform(E, r))

    def map(self, change: Callable[[Array], Array]) -> Placement:
        """The placement with `change(array)` applied to every array."""
        X = Transform(change(self.X.E), change(self.X.r))
        return Placement(change(self.at), change(self.world), change(self.moves), X)

    def numbers(self) -> np.ndarray:
        """All numbers in one row, as `AnyFrame` counts them."""
        arrays = (self.at, self.moves, self.world, self.X.E, self.X.r)
        return np.concatenate([np.ravel(a) for a in arrays])


@dataclass(frozen=True, eq=False)
class AnyFrame:
    """A frame that is told when a program runs: on one of some bodies, or on the world.

    What holds for all of these frames is no number of a program but folded into it.
    """

    seats: np.ndarray  # (n,) bool: the bodies that may carry it
    movers: np.ndarray  # (n,) bool: those that may move it
    always: np.ndarray  # (n,) bool: those that move it wherever it sits
    world: bool = True  # whether the world may carry it

    def placement(self, number: Callable[[int], Any]) -> Placement:
        """The frame whose numbers are `number(0)`, `number(1)`, … in the order of `Placement.numbers`."""
        n = len(self.seats)
        at = [number(k) if seat else 0.0 for k, seat in enumerate(self.seats)]
        moves = [number(n + k) if mover else 0.0 for k, mover in enumerate(self.movers)]
        moves = [1.0 if certain else x for x, certain in zip(moves, self.always, strict=True)]
        rest = [number(2 * n) if self.world else 0.0, *(number(2 * n + k) for k in range(1, 13))]
        return _placement(at, moves, rest)

    def placement_of_one(self, own: Callable[[int], Any], common: Callable[[int], Any]) -> Placement:
        """The same as one body sees it that stands for all: `own(k)` is number k + the body's."""
        n = len(self.seats)
        return _placement([own(0)], [own(n)], [common(2 * n + k) for k in range(13)])


def _placement(at: list[Any], moves: list[Any], rest: list[Any]) -> Placement:
    flat = np.empty(len(at) + len(moves) + len(rest), dtype=object)
    flat[:] = [*at, *moves, *rest]
    at_, moves_, world, E, r = np.split(flat, np.cumsum([len(at), len(moves), 1, 9]))
    return Placement(at_, world[:, None], moves_[:, None], Transform(E.reshape(3, 3), r))


def everywhere(model: Model) -> AnyFrame:
    """A frame that may be on any body."""
    every = np.ones(model.n, dtype=bool)
    return AnyFrame(every, every, ~every)


def uniform_count(model: Model) -> int:
    """How many numbers tell a program its frame."""
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


def branches(model: Model) -> list[AnyFrame]:
    """Frames that share straight-line code: those on one limb; of short robots the last links' apart.

    A frame on one limb needs nothing of the others, and one in the middle nothing of the end, where most
    frames are.
    """
    made: list[AnyFrame] = []
    taken = np.zeros(model.n, dtype=bool)
    for heavy_path in _heavy_paths(model):
        seats = heavy_path & ~taken
        taken |= heavy_path
        end = seats & (model.depth >= model.depth[heavy_path].max() - _TIP + 1)
        parts = [end, seats & ~end]
        if np.count_nonzero(parts[1]) <= _TIP or model.n > _SHORT:
            parts = [seats]
        made += [_on(model, part, world=False) for part in parts if part.any()]
    if not made or sum(np.count_nonzero(f.movers) for f in made) > _MOST * model.n:
        return [everywhere(model)]
    least = min(range(len(made)), key=lambda k: np.count_nonzero(made[k].movers))
    made[least] = _on(model, made[least].seats, world=True)
    return made


def _heavy_paths(model: Model) -> list[np.ndarray]:
    """Bodies (n,) bool from the world to some tips; tips that share most of the way stay together."""
    made: list[np.ndarray] = []
    longest = 0
    for tip in np.setdiff1d(np.arange(model.n), model.parents).tolist():
        path = model.ancestors(tip)
        own = np.zeros(model.n, dtype=bool)
        own[path] = True
        longest = max(longest, len(path))
        if made and np.count_nonzero(made[-1] | own) <= _WIDER * longest:
            made[-1] = made[-1] | own
        else:
            made.append(own)
            longest = len(path)
    return made


def _on(model: Model, seats: np.ndarray, *, world: bool) -> AnyFrame:
    """A frame that may be on some bodies."""
    paths = [model.ancestors(int(body)) for body in np.flatnonzero(seats)]
    count = np.bincount(np.concatenate(paths), minlength=model.n)
    return AnyFrame(seats, count > 0, (count == len(paths)) & (not world), world)


def branch_of(every: list[AnyFrame], frame: Placement) -> int:
    """The number of the code that serves a frame."""
    if frame.world.any():
        return next(k for k, f in enumerate(every) if f.world)
    return next(k for k, f in enumerate(every) if frame.at[f.seats].any())


def frames_cached(robot: Robot) -> int:
    """How many frames of a robot are kept in memory for each function; few where bodies are many."""
    return max(64, _KEPT // max(robot.model.n, 1))


def seats_of(robot: Robot, names: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The link (k,) that carries each frame, -1 the world, and the frame's pose (k, 4, 4) there."""
    frames = [robot.frame(name) for name in names]
    own = np.zeros((len(frames), 4, 4))
    own[:, 3, 3] = 1.0
    for pose, frame in zip(own, frames, strict=True):
        pose[:3, :3] = np.reshape(frame.pose.rotation, (3, 3))
        pose[:3, 3] = frame.pose.translation
    return np.array([frame.link for frame in frames], dtype=np.intp), own
