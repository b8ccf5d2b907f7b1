# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One step of a simulation on recording scalars: law, surroundings, joints, dynamics, integrator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms.forward.implicit import implicit
from ..algorithms.registry import find
from ..backends.base import Call
from ..dispatch import choose
from ..program.scalar import Graph, live
from ..robot.assembly import Coordinates
from ..robot.configurations import advance
from ..robot.model import with_inertias
from ..robot.robot import Robot
from .equations import Equations, TracedRobot, symbols
from .external_forces import loads_of
from .force_slopes import in_joints
from .joints import JointForces, joint_forces
from .laws import run_law
from .loads import FrameLoad, impedances, on_bodies, on_links, seen_ahead
from .slopes import Slopes
from .traced import Traced


@dataclass(frozen=True)
class Settings:
    """What a simulation is: all that its program depends on."""

    robot: Robot
    dt: float
    integrator: str
    stiff: bool  # whether that takes stiff forces at the end of a step
    control: Callable[..., Any] | None
    forces: tuple[Any, ...]
    damping: bool
    friction: bool
    limits: bool
    springs: bool
    controls: int
    divergence: float  # rates and accelerations beyond are no motion any more
    parameters: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def nv(self) -> int:
        return self.robot.nv

    @property
    def packed(self) -> int:
        """How many numbers all parameters are."""
        return sum(math.prod(shape) for shape in self.parameters.values())

    def unpacked(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        """Parameters by name from all of them (…, packed) one after another."""
        made, first = {}, 0
        for name, shape in self.parameters.items():
            count = math.prod(shape)
            made[name] = flat[..., first : first + count].reshape((*flat.shape[:-1], *shape))
            first += count
        return made


@dataclass(frozen=True)
class Forces:
    """What acts at one moment: joint forces, wrenches on the links, and how stiff both are.

    `stiffness` and `damping` (nv,) are those with which joint forces resist changes of q and qd.
    """

    law: np.ndarray  # what the law, or the user, commands
    tau: np.ndarray  # all joint forces
    loads: list[FrameLoad]
    stiffness: np.ndarray
    damping: np.ndarray


class MovingCoordinates:
    """How coordinates change, of scalars (nq,) or of batches of numbers (…, nq)."""

    settings: Settings

    @property
    def robot(self) -> Robot:
        return self.settings.robot

    @property
    def _joints(self) -> tuple[Coordinates, ...]:
        """Where coordinates stand, those of neighbouring joints that simply add taken together."""
        return self.robot._assembly.joined

    def advanced(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, h: float) -> tuple[Any, Any]:
        """The state after a semi-implicit step, joint by joint."""
        return advance(self._joints, q, qd, qdd, h)

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The coordinates that a step (…, nv) leads to, quaternions at unit length."""
        made = np.empty_like(q)
        for c in self._joints:
            there = c.kind.integrate(q[None, ..., c.q], step[None, ..., c.v])
            made[..., c.q] = c.kind.normalize(there)[0]
        return made

    def rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """How fast coordinates change."""
        made = np.empty_like(q)
        for c in self._joints:
            made[..., c.q] = c.kind.coordinate_rates(q[None, ..., c.q], qd[None, ..., c.v])[0]
        return made

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """The same with quaternions of unit length."""
        made = q.copy()
        for c in self._joints:
            made[..., c.q] = c.kind.normalize(q[None, ..., c.q])[0]
        return made


class Step(MovingCoordinates):
    """The scalars of one step: controls as leaves, and what integrators ask for."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.graph = Graph()
        robot = settings.robot
        self.h = settings.dt
        self.time = symbols(self.graph, "time", ())
        self.q = symbols(self.graph, "q", (robot.nq,))
        self.qd = symbols(self.graph, "qd", (robot.nv,))
        self.u = symbols(self.graph, "u", (settings.controls,))
        self.parameters = settings.unpacked(symbols(self.graph, "parameters", (settings.packed,)))
        self.equations = Equations(robot, self.graph, self.parameters)

    @cached_property
    def joints(self) -> JointForces:
        """Springs, dampers, friction and limits of the joints."""
        return joint_forces(self.settings, self.parameters)

    def forces(self, time: Any, q: np.ndarray, qd: np.ndarray, *, implicit: bool = False) -> Forces:
        """What acts at a state; with `implicit` also how stiff it is."""
        s, view = self.settings, TracedRobot(self.equations)
        given = [Traced(np.asarray(x, dtype=object)) for x in (time, q, qd, self.u)]
        own = {name: Traced(value) for name, value in self.parameters.items()}
        law = self.u if s.control is None else run_law(s.control, given, view, own)
        if (effort := self.parameters.get("effort")) is not None:
            bounded = (self._bounded(x, most) for x, most in zip(law.tolist(), effort.tolist(), strict=True))
            law = np.array([*bounded], dtype=object)
        stiffness, damping = np.zeros(s.nv, dtype=object), np.zeros(s.nv, dtype=object)
        if implicit and s.control is not None:
            stiffness, damping = self._slopes(law, q, qd, view._told)
        own_force, k, d = self.joints(q, qd)
        loads = loads_of(s.forces, given, view, own, self.h, implicit=implicit)
        for load in loads if s.stiff else ():
            if load.wrench is not None:
                more = in_joints(load, given[1], given[2], self._coordinate, view)
                stiffness, damping = stiffness + more[0], damping + more[1]
        return Forces(law, law + own_force, loads, stiffness + k, damping + d)

    def _bounded(self, force: Any, most: Any) -> Any:
        """A joint force within what its motor has."""
        return self.graph.minimum(self.graph.maximum(force, -most), most)

    def _slopes(self, law: np.ndarray, q: np.ndarray, qd: np.ndarray, still: set[int]) -> Any:
        """How much each joint force falls with its own coordinate and rate, never negative.

        What functions of the robot have told is taken for constant, and so are costly subexpressions.
        """
        slope, made = Slopes(law.tolist(), still), []
        for values, at in ((q, self._coordinate), (qd, range(self.settings.nv))):
            slopes = np.zeros(self.settings.nv, dtype=object)
            slopes[:] = [0.0 if k is None else slope(law[i], values[k]) for i, k in enumerate(at)]
            made.append(slopes)
        return made

    @cached_property
    def _coordinate(self) -> list[int | None]:
        """The coordinate whose rate each degree of freedom is, if there is one."""
        found: list[int | None] = [None] * self.robot.nv
        for c in self.robot._coordinates:
            if c.kind.quaternion is None:
                for k, i in zip(range(c.q.start, c.q.stop), range(c.v.start, c.v.stop), strict=True):
                    found[i] = k
        return found

    def accelerations(self, q: np.ndarray, qd: np.ndarray, forces: Forces) -> np.ndarray:
        """qdd under some forces."""
        more: dict[str, Any] = {}
        if forces.loads:
            more["external"] = on_links(self.equations, q, forces.loads)
        made: np.ndarray = self.equations("forward_dynamics", q, qd, forces.tau, **more)
        return made

    @cached_property
    def model(self) -> Any:
        """The robot's bodies with inertias that give the same motion, those that are given if any are."""
        of = self.equations
        model = of.model(Call(self.robot, find("forward_dynamics", "aba")))
        return with_inertias(model, of.own["inertias"]) if "inertias" in of.own else model

    def resisted(self, q: np.ndarray, qd: np.ndarray, forces: Forces) -> np.ndarray:
        """qdd under forces as they are at the end of the step, to first order: they resist accelerations.

        Points that slide are told apart from those that stick by a first solution.
        """
        if any(load.again for load in forces.loads):
            first = self._resisted(q, qd, forces)
            ahead = seen_ahead(self.equations, self.model, (q, qd, first), self.h, forces.loads)
            forces = replace(forces, loads=ahead)
        return self._resisted(q, qd, forces)

    def _resisted(self, q: np.ndarray, qd: np.ndarray, forces: Forces) -> np.ndarray:
        h, of, model = self.h, self.equations, self.model
        more: dict[str, Any] = {}
        if forces.loads:
            more["external"] = on_bodies(of, model, q, forces.loads)
            if any(load.resists for load in forces.loads):
                more["impedance"] = impedances(of, model, q, forces.loads)
        tau = forces.tau - h * forces.stiffness * qd
        diagonal = h * forces.damping + h * h * forces.stiffness
        # The factor where it keeps the digits and takes less work.
        ways = [False, True] if choose(self.robot, "forward_dynamics", None).name == "jsiia" else [False]
        with of.ordered:
            each = [
                np.asarray(implicit(model, q, qd, tau, diagonal=diagonal, factored=way, **more), dtype=object)
                for way in ways[self.robot.is_coupled :]
            ]
        return min(each, key=lambda made: len(live(made.tolist())))
