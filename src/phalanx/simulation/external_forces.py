# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What acts on a robot from outside in a simulation: wrenches on frames, and what resists accelerations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest, shown
from ..tracing.arrays import Traced, scalars_of
from .laws import run
from .loads import At, FrameLoad
from .slopes import yielding


class Surroundings(ABC):
    """Forces of the surroundings, on traced values, or on plain arrays with the robot itself."""

    name: str = "forces"

    @abstractmethod
    def check(self, robot: Any) -> None:
        """Raise if the robot lacks a frame."""

    @abstractmethod
    def reads(self) -> set[str]:
        """The names of the simulation parameters that it reads."""

    @abstractmethod
    def loads(
        self, q: Any, qd: Any, robot: Any, *, h: float | None = None, parameters: Mapping[str, Any]
    ) -> list[FrameLoad]:
        """Forces at points of frames; with h those at the end of such a step, to first order, as far as the
        state determines them, and how they resist accelerations."""

    def __call__(self, t: Any, q: Any, qd: Any, u: Any, robot: Any, **parameters: Any) -> dict[str, Any]:
        """Wrenches (…, 6) by frame, each in its own axes, as `external=` of the dynamics takes them."""
        made: dict[str, Any] = {}
        for load in self.loads(q, qd, robot, parameters=parameters):
            back = np.swapaxes(robot.frame_pose(q, load.frame)[..., :3, :3], -1, -2)
            for at, force in load.forces:
                local = (back @ force[..., None])[..., 0]
                wrench = np.concatenate([np.cross(np.array(at), local), local], axis=-1)
                made[load.frame] = made[load.frame] + wrench if load.frame in made else wrench
        return made


def several(forces: Any, robot: Any) -> tuple[Any, ...]:
    """The checked entries of `forces=` of a simulation."""
    each = tuple(forces) if isinstance(forces, (list, tuple)) else (forces,)
    for force in each:
        if isinstance(force, Surroundings) or hasattr(force, "check"):
            force.check(robot)
        elif not callable(force):
            raise PhalanxError(
                f"forces: got {shown(force)}, expected a function f(t, q, qd, u, robot) that returns "
                "wrenches by frame, an object of px.contact, or a list of these."
            )
    return each


def loads_of(
    forces: Sequence[Any],
    given: Sequence[Traced],
    robot: Any,
    own: Mapping[str, Traced],
    h: float,
    *,
    implicit: bool,
) -> list[FrameLoad]:
    """All loads at t, q, qd and u, in scalars; `own` are parameters by name."""
    made: list[FrameLoad] = []
    _, q, qd, _ = given
    for force in forces:
        if isinstance(force, Surroundings):
            found = force.loads(q, qd, robot, h=h if implicit else None, parameters=own)
        else:
            found = _wrenches_of(force, given, robot, own)
            if implicit:
                found = [yielding(load, q, qd, robot, h) for load in found]
        made += [_in_scalars(load) for load in found]
    return made


def _in_scalars(load: FrameLoad) -> FrameLoad:
    """The load with traced scalars in place of arrays that record."""

    def scalars(value: Any, shape: tuple[int, ...]) -> Any:
        found = scalars_of(value, shape, f"forces on {shown(load.frame)}")
        return found if shape else found.item()

    def points_of(points: tuple[At, ...], shape: tuple[int, ...] = (3,)) -> tuple[At, ...]:
        return tuple((at, scalars(value, shape)) for at, value in points)

    wrench = None if load.wrench is None else scalars(load.wrench, (6,))
    along = tuple((scalars(size, ()), points_of(points)) for size, points in load.along)
    corrected = None
    if (own := load.corrected) is not None:
        corrected = lambda ahead: _in_scalars(own(Traced(ahead)))  # noqa: E731
    turning = tuple((scalars(size, ()), scalars(axis, (3,))) for size, axis in load.turning)
    return FrameLoad(
        load.frame,
        points_of(load.forces),
        wrench,
        points_of(load.evenly, ()),
        along,
        load.axes,
        turning,
        corrected,
    )


def _wrenches_of(
    force: Any, given: Sequence[Traced], robot: Any, own: Mapping[str, Traced]
) -> list[FrameLoad]:
    """The wrenches that a user's function returns by frame, each in its frame."""
    where = f'forces "{getattr(force, "__name__", type(force).__name__)}"'
    found = run(force, given, robot, own, where)
    if not isinstance(found, Mapping):
        raise PhalanxError(
            f'{where} returns {shown(found)}, expected wrenches by frame such as {{"link": wrench}}, each '
            "(6,) [moment; force] in the axes of its frame."
        )
    made = []
    for frame, value in found.items():
        require_frame(robot, frame, where)
        wrench = scalars_of(value, None, f"{where} on {shown(frame)}")
        if wrench.shape != (6,):
            raise PhalanxError(
                f"{where} on {shown(frame)} has shape {wrench.shape}, expected (6,) [moment; force]."
            )
        made.append(FrameLoad(frame, wrench=wrench))
    return made


def require_frame(robot: Any, frame: Any, where: str) -> Any:
    """The frame of a robot, or an error naming the nearest."""
    frames = robot.frames
    if not isinstance(frame, str) or frame not in frames:
        raise PhalanxError(
            f'{where}: robot "{robot.name}" has no frame {shown(frame)};'
            f"{nearest(frame, frames, what='frames')}"
        )
    return frames[frame]
