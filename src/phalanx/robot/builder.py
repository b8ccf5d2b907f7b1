# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""RobotBuilder: a robot put together by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ..arrays import real_or_none
from ..errors import PhalanxError, listing, shown
from ..typing import ArrayLike, InertiaLike, Vector
from ..typing import Mimic as MimicChoice
from . import description as d
from .description import Description, FixedFrame, Joint, Link, LoopClosure, Mimic, Pose
from .robot import Robot

PoseLike: TypeAlias = Pose | ArrayLike


class RobotBuilder:
    """Adds links and joints by hand; `build()` returns the `Robot`.

    >>> builder = RobotBuilder("pendulum")
    >>> builder.add_link("base")
    >>> builder.add_link("bob", mass=1.0, com=(0, 0, -1))
    >>> builder.add_joint("hinge", "revolute", "base", "bob", axis=(0, 1, 0))
    """

    def __init__(self, name: str = "robot", *, gravity: Vector = (0.0, 0.0, -9.81)) -> None:
        self.name = d.text(name, "RobotBuilder: name")
        self.gravity = gravity
        self._links: list[Link] = []
        self._joints: list[Joint] = []
        self._frames: list[FixedFrame] = []
        self._loops: list[LoopClosure] = []

    def add_link(
        self,
        name: str,
        *,
        mass: float = 0.0,
        com: Vector = (0.0, 0.0, 0.0),
        inertia: InertiaLike | None = None,
    ) -> str:
        """Add a link and return its name.

        `inertia` about its mass centre in link axes: 3x3, (xx, xy, xz, yy, yz, zz), a diagonal, or a mapping
        with these names.
        """
        d.text(name, "add_link: name")
        self._links.append(
            Link(
                name,
                d.number(mass, f'link "{name}": mass'),
                d.triple(com, f'link "{name}": com'),
                d.packed_inertia(inertia, f'link "{name}": inertia'),
            )
        )
        return name

    def add_joint(
        self,
        name: str,
        type: str,
        parent: str,
        child: str,
        *,
        origin: PoseLike | None = None,
        after: PoseLike | None = None,
        axis: Vector = (0.0, 0.0, 1.0),
        axis2: Vector = (0.0, 1.0, 0.0),
        pitch: float = 0.0,
        mimic: tuple[str] | tuple[str, float] | tuple[str, float, float] | None = None,
        **limits: float | Vector,
    ) -> str:
        """Add a joint and return its name.

        `origin` and `after` are 4x4 poses, 3-vectors (translation only) or `Pose`; `mimic` is
        (joint, multiplier, offset). Further keywords: lower, upper, velocity, effort, damping,
        friction, armature, stiffness, spring_reference; one number or one per coordinate or degree of
        freedom.
        """
        where = f'joint "{d.text(name, "add_joint: name")}"'
        allowed = set(d.PER_COORDINATE)
        if unknown := set(limits) - allowed:
            raise PhalanxError(
                f"{where}: unknown keyword {listing(unknown)}; expected {listing(sorted(allowed))}."
            )
        self._joints.append(
            Joint(
                name,
                d.text(type, f"{where}: type"),
                d.text(parent, f"{where}: parent"),
                d.text(child, f"{where}: child"),
                origin=d.pose(origin, where),
                after=d.pose(after, where),
                axis=d.triple(axis, f"{where}: axis"),
                axis2=d.triple(axis2, f"{where}: axis2"),
                pitch=d.number(pitch, f"{where}: pitch"),
                mimic=None if mimic is None else _mimic(mimic, where),
                **{label: _numbers(value, f"{where}: {label}") for label, value in limits.items()},
            )
        )
        return name

    def add_frame(self, name: str, link: str, pose: PoseLike | None = None) -> str:
        """Add a frame fixed to a link and return its name; `pose` in the link's frame, as `origin`."""
        where = f'frame "{d.text(name, "add_frame: name")}"'
        self._frames.append(FixedFrame(name, d.text(link, f"{where}: link"), d.pose(pose, where)))
        return name

    def add_loop(
        self,
        name: str,
        type: str,
        predecessor: str,
        successor: str,
        *,
        predecessor_pose: PoseLike | None = None,
        successor_pose: PoseLike | None = None,
        axis: Vector = (0.0, 0.0, 1.0),
    ) -> str:
        """Add a joint that closes a loop and return its name; in `robot.loops`, not part of the dynamics."""
        where = f'loop "{d.text(name, "add_loop: name")}"'
        self._loops.append(
            LoopClosure(
                name,
                d.text(type, f"{where}: type"),
                d.text(predecessor, f"{where}: predecessor"),
                d.text(successor, f"{where}: successor"),
                d.pose(predecessor_pose, where),
                d.pose(successor_pose, where),
                d.triple(axis, f"{where}: axis"),
            )
        )
        return name

    def build(
        self, *, floating_base: bool = False, mimic: MimicChoice = "coupled", strict: bool = False
    ) -> Robot:
        """The robot built so far; options as in `px.load`."""
        coupled = d.is_coupled(mimic, "build")
        floating_base = d.flag(floating_base, "build: floating_base")
        described = replace(self.describe(), floating_base=floating_base, coupled=coupled)
        return Robot(described, strict=d.flag(strict, "build: strict"))

    def describe(self) -> Description:
        """The description built so far."""
        return Description(
            self.name,
            tuple(self._links),
            tuple(self._joints),
            d.triple(self.gravity, "gravity"),
            frames=tuple(self._frames),
            loops=tuple(self._loops),
        )


def _mimic(value: Any, where: str) -> Mimic:
    if isinstance(value, str) or not isinstance(value, Sequence) or not 1 <= len(value) <= 3:
        raise PhalanxError(f"{where}: mimic is {shown(value)}; expected (joint, multiplier, offset).")
    joint, *numbers = value
    return Mimic(d.text(joint, f"{where}: mimic"), *(d.number(x, f"{where}: mimic") for x in numbers))


def _numbers(value: Any, where: str) -> tuple[float, ...]:
    array = real_or_none(value, where)
    if array is None or array.ndim > 1:
        raise PhalanxError(f"{where} is {shown(value)}; expected numbers.")
    return tuple(array.ravel().tolist())
