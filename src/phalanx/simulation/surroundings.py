# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What acts on a robot from outside in a simulation: wrenches on frames, and what resists accelerations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest, shown
from .laws import run
from .traced import Traced, scalars_of


@dataclass(frozen=True)
class Load:
    """A wrench (6,) [moment; force] at the origin of a frame, along the axes of the world or of the frame.

    `impedance` (6, 6), symmetric, times the acceleration of the frame acts against it: the componentwise rate
    of its twist, at the same point and along the same axes. None is nothing.
    """

    frame: str
    wrench: Any
    impedance: Any = None
    axes: str = "world"


class Surroundings(ABC):
    """Forces of the surroundings, on traced values, or on plain arrays with the robot itself."""

    name: str = "forces"

    @abstractmethod
    def loads(
        self, q: Any, qd: Any, robot: Any, *, h: float | None = None, parameters: Mapping[str, Any]
    ) -> list[Load]:
        """Wrenches on frames, along the axes of the world.

        With h they are those at the end of such a step as far as the state now tells, and with impedances.
        """

    def __call__(self, t: Any, q: Any, qd: Any, u: Any, robot: Any, **parameters: Any) -> dict[str, Any]:
        """Wrenches (…, 6) by frame, each in its own axes, as `external=` of the dynamics takes them."""
        made: dict[str, Any] = {}
        for load in self.loads(q, qd, robot, parameters=parameters):
            back = np.swapaxes(robot.frame_pose(q, load.frame)[..., :3, :3], -1, -2)
            parts = [(back @ x[..., None])[..., 0] for x in (load.wrench[..., :3], load.wrench[..., 3:])]
            wrench = np.concatenate(parts, axis=-1)
            made[load.frame] = made[load.frame] + wrench if load.frame in made else wrench
        return made


def loads_of(
    forces: Sequence[Any],
    given: Sequence[Traced],
    robot: Any,
    own: Mapping[str, Traced],
    h: float,
    *,
    implicit: bool,
) -> list[Load]:
    """All loads at t, q, qd and u, in scalars; `own` are parameters by name."""
    made: list[Load] = []
    _, q, qd, _ = given
    for force in forces:
        if isinstance(force, Surroundings):
            found = force.loads(q, qd, robot, h=h if implicit else None, parameters=own)
        elif callable(force):
            found = _told(force, given, robot, own)
        else:
            raise PhalanxError(
                f"forces: got {shown(force)}, expected a function f(t, q, qd, u, robot) that returns "
                "wrenches by frame, an object of px.contact, or a list of these."
            )
        for load in found:
            where = f"forces on {shown(load.frame)}"
            wrench = scalars_of(load.wrench, (6,), where)
            impedance = load.impedance
            if impedance is not None:
                impedance = scalars_of(impedance, (6, 6), where)
            made.append(Load(load.frame, wrench, impedance, load.axes))
    return made


def _told(force: Any, given: Sequence[Traced], robot: Any, own: Mapping[str, Traced]) -> list[Load]:
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
        made.append(Load(frame, wrench, axes="local"))
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
