# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One step of a simulation on recording scalars: law, surroundings, joints, dynamics, integrator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms.constrained.dense import constrained_dynamics
from ..algorithms.forward.implicit import implicit
from ..algorithms.registry import find
from ..dispatch import choose, evaluate
from ..program.graph import Graph, live, symbols
from ..program.task import Call
from ..reproducible import coarse
from ..robot.assembly import Coordinates
from ..robot.configurations import advance, joint_by_joint, resistances
from ..robot.joints import at_least, choose_less
from ..robot.model import with_inertias
from ..robot.robot import Robot
from ..tracing.arrays import Traced
from ..tracing.equations import Equations, TracedRobot
from .enforced import Enforcement, Held, held
from .external_forces import loads_of
from .inner import Body, InnerLoop, inner_loop
from .laws import run_law
from .loads import FrameLoad, impedances, on_bodies, on_links, seen_ahead
from .rigid import RigidContact
from .slopes import Slopes, in_joints

SLIDING = 1e-2  # rate [rad/s, m/s] from which dry friction is full
STOP_TIME = 0.02  # seconds in which a joint limit stops a joint
_STOP_STEPS = 4  # steps that this takes at least
_POSES, _FEW = 32, 40  # for which inertias are looked at, of so many joints at most
_MATRIX = 1024  # joints up to which their inertias are read from the mass matrix and its inverse
_BLOCK = 1 << 20  # numbers in each array of unit forces beyond


@dataclass(frozen=True)
class Stops:
    """One-sided springs and dampers beyond limits of some coordinates, and their rates."""

    sign: float  # 1 for lower limits
    coordinates: Any  # indices, or a slice
    rates: Any
    limits: np.ndarray
    stiffness: np.ndarray
    damping: np.ndarray


@dataclass(frozen=True)
class JointForces:
    """Forces of the joints themselves; arrays (nv,) of numbers or scalars, or (…, nv) of numbers."""

    robot: Robot
    damping: np.ndarray
    friction: np.ndarray
    stiffness: np.ndarray
    rest: np.ndarray  # coordinates (nq,) at which springs rest
    stops: tuple[Stops, ...]

    def __call__(self, q: np.ndarray, qd: np.ndarray) -> tuple[Any, Any, Any]:
        """The forces (…, nv), and the stiffness and damping with which they resist."""
        damping = self.damping + self.friction / at_least(np.abs(qd), SLIDING)
        force = -(damping * qd)
        stiffness = np.zeros_like(force)
        for c in self.robot._coordinates if self.stiffness.any() else ():
            if (k := self.stiffness[..., c.v]).any():
                away = c.kind.difference(self.rest[None, c.q], q[None, ..., c.q])[0]
                force[..., c.v] = force[..., c.v] - k * away
                stiffness[..., c.v] = stiffness[..., c.v] + k
        for s in self.stops:
            room = (q[..., s.coordinates] - s.limits) * s.sign
            beyond = choose_less(room, 0.0, np.ones(room.shape, room.dtype), np.zeros(room.shape, room.dtype))
            stiff, damp = s.stiffness * beyond, s.damping * beyond
            push = at_least(-(stiff * room) - damp * s.sign * qd[..., s.rates], 0.0)
            force[..., s.rates] = force[..., s.rates] + push * s.sign
            stiffness[..., s.rates] = stiffness[..., s.rates] + stiff
            damping[..., s.rates] = damping[..., s.rates] + damp
        return force, stiffness, damping

    def acting(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The forces (…, nv) at states of numbers; nothing is computed of stops that no state is beyond."""
        damping = self.damping
        if self.friction.any():
            damping = damping + self.friction / at_least(np.abs(qd), SLIDING)
        force: np.ndarray = 0.0 - damping * qd  # no negative zeros: all batches have the same bits
        for c in self.robot._coordinates if self.stiffness.any() else ():
            if (k := self.stiffness[..., c.v]).any():
                force[..., c.v] -= k * c.kind.difference(self.rest[None, c.q], q[None, ..., c.q])[0]
        for s in self.stops:
            room = (q[..., s.coordinates] - s.limits) * s.sign
            if (room >= 0.0).all():
                continue
            beyond = room < 0.0
            push = -(s.stiffness * beyond * room) - s.damping * beyond * s.sign * qd[..., s.rates]
            force[..., s.rates] += np.maximum(push, 0.0) * s.sign
        return force


def joint_forces(settings: Settings, parameters: Mapping[str, np.ndarray]) -> JointForces:
    """Passive joint forces (damping, friction, limits, springs); parameters replace the file's numbers."""
    robot, nothing = settings.robot, np.zeros(settings.nv)
    own = robot._memoized("resistances", lambda: resistances(robot._assembly))
    damping = parameters.get("damping", own.damping if settings.damping else nothing)
    friction = nothing if settings.rigid_friction else settings.dry_friction(parameters)
    stiffness = parameters.get("stiffness", own.stiffness if settings.springs else nothing)
    return JointForces(robot, damping, friction, stiffness, own.spring_reference, settings.stops)


def _stops(settings: Settings) -> tuple[Stops, ...]:
    """Springs and dampers beyond the limits of coordinates, that stop what each joint moves in a short time.

    Critically damped for the most that a joint carries; with explicit steps no stiffer than the least
    inertia at a joint, its others free, lets them be.
    """
    robot, h = settings.robot, settings.dt
    limits = robot.limits
    if (
        not settings.limits
        or settings.rigid_limits
        or not (np.isfinite(limits.lower).any() or np.isfinite(limits.upper).any())
    ):
        return ()
    most, least = robot._memoized("inertias at joints", lambda: inertias_at_joints(robot))
    time = max(STOP_TIME, _STOP_STEPS * h)
    stiff, damp = most / (time * time), 2.0 * most / time
    if not settings.stiff:
        stiff = np.minimum(stiff, least / (4.0 * h * h))
        damp = np.minimum(2.0 * np.sqrt(stiff * least), least / (2.0 * h))
    indices = [
        (k, i)
        for c in robot._coordinates
        if c.kind.quaternion is None
        for k, i in zip(range(c.q.start, c.q.stop), range(c.v.start, c.v.stop), strict=True)
    ]
    made = []
    for sign, bound in ((1.0, limits.lower), (-1.0, limits.upper)):
        if some := [(k, i) for k, i in indices if np.isfinite(bound[k])]:
            at, rates = _indices([k for k, _ in some]), _indices([i for _, i in some])
            made.append(Stops(sign, at, rates, bound[at], stiff[rates], damp[rates]))
    return tuple(made)


def inertias_at_joints(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    """The largest inertia (nv,) at each joint with all others held, the least with all others free.

    Over some poses, always the same; where there are many joints, in the neutral one.
    """
    if robot.nv > _MATRIX:
        return _by_unit_forces(robot)
    poses, backend = (_POSES, "numpy") if robot.nv <= _FEW else (0, "auto")
    q = np.concatenate([robot.neutral()[None], robot.random_state((poses,), np.random.default_rng(0))[0]])
    matrix, inverse = (
        evaluate(robot, function, (q,), {}, backend=backend)
        for function in ("mass_matrix", "mass_matrix_inverse")
    )
    held = np.diagonal(matrix, axis1=-2, axis2=-1)
    free = 1.0 / np.diagonal(inverse, axis1=-2, axis2=-1)
    return coarse(held.max(axis=0)), coarse(free.min(axis=0))


def _by_unit_forces(robot: Any) -> tuple[np.ndarray, np.ndarray]:
    """Inertias at joints in the neutral pose, from dynamics under unit forces: memory grows with n only."""
    n, weightless, q = robot.nv, robot.replace(gravity=(0.0, 0.0, 0.0)), robot.neutral()
    size, rest = max(1, _BLOCK // n), np.zeros(n)
    held, free = np.empty(n), np.empty(n)
    for first in range(0, n, size):
        at = np.arange(first, min(first + size, n))
        units = np.zeros((len(at), n))
        units[np.arange(len(at)), at] = 1.0
        held[at] = weightless.inverse_dynamics(q, rest, units)[np.arange(len(at)), at]
        free[at] = 1.0 / weightless.forward_dynamics(q, rest, units)[np.arange(len(at)), at]
    return coarse(held), coarse(free)


def _indices(numbers: list[int]) -> list[int] | slice:
    """Indices as a slice where they are consecutive: then nothing is copied."""
    first, end = numbers[0], numbers[-1] + 1
    return slice(first, end) if numbers == list(range(first, end)) else numbers


@dataclass(frozen=True)
class Settings:
    """The settings of a simulation: all that its program depends on."""

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
    constraints: bool = False  # whether the loops of the robot are held
    contacts: tuple[RigidContact, ...] = ()
    rigid_limits: bool = False  # whether limits and dry friction of joints are held as contacts are
    rigid_friction: bool = False
    is_single: bool = False  # whether numbers have single precision

    @property
    def is_held(self) -> bool:
        """Whether steps may hold anything by impulses."""
        return bool(self.constraints or self.contacts or self.rigid_limits or self.rigid_friction)

    def dry_friction(self, parameters: Mapping[str, Any]) -> Any:
        """The dry friction (nv,) of joints."""
        own = self.robot._memoized("resistances", lambda: resistances(self.robot._assembly))
        return parameters.get("friction", own.friction if self.friction else np.zeros(self.nv))

    @property
    def nv(self) -> int:
        return self.robot.nv

    @property
    def packed(self) -> int:
        """The number of parameters, all entries counted."""
        return sum(math.prod(shape) for shape in self.parameters.values())

    @cached_property
    def stops(self) -> tuple[Stops, ...]:
        """The springs and dampers at the limits of joints."""
        return _stops(self)

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
    """The forces at one moment: joint forces, wrenches on the links, and the stiffness of both.

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
        """The slices of q and qd; of neighbouring joints whose coordinates simply add, one for all."""
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
        return joint_by_joint(self._joints, "coordinate_rates", np.empty_like(q), "q", (q, "q"), (qd, "v"))

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """The coordinates q with quaternions of unit length."""
        return joint_by_joint(self._joints, "normalize", np.empty_like(q), "q", (q, "q"))


class Step(MovingCoordinates):
    """The traced scalars of one step, and what integrators compute with them."""

    def __init__(self, settings: Settings, *, smooth: bool = False) -> None:
        self.settings = settings
        self.graph = Graph()
        self.loops: list[InnerLoop] = []
        self._smooth = smooth  # whether solutions of inner loops have derivatives
        robot = settings.robot
        self.h = settings.dt
        self.time = symbols(self.graph, "time", ())
        self.q = symbols(self.graph, "q", (robot.nq,))
        self.qd = symbols(self.graph, "qd", (robot.nv,))
        self.u = symbols(self.graph, "u", (settings.controls,))
        self.parameters = settings.unpacked(symbols(self.graph, "parameters", (settings.packed,)))
        self.equations = Equations(robot, self.graph, self.parameters)

    def solved(
        self, name: str, starts: Sequence[Any], read: Sequence[Any], limit: int, body: Body
    ) -> np.ndarray:
        """The results of a loop inside the step, as `inner_loop` describes it: symbols of the graph."""
        self.loops.append(inner_loop(name, starts, read, limit, body))
        return symbols(self.graph, name, (len(starts),))

    @cached_property
    def enforcement(self) -> Enforcement | None:
        """The constraints that steps hold; None if there are none."""
        found = held(self.settings) if self.settings.is_held else None
        return Enforcement(self, found, self._smooth) if found else None

    @cached_property
    def dry(self) -> Any:
        """The dry friction (nv,) of joints."""
        return self.settings.dry_friction(self.parameters)

    @cached_property
    def joints(self) -> JointForces:
        """Springs, dampers, friction and limits of the joints."""
        return joint_forces(self.settings, self.parameters)

    def forces(self, time: Any, q: np.ndarray, qd: np.ndarray, *, implicit: bool = False) -> Forces:
        """The forces at a state; with `implicit` also their stiffness and damping."""
        s, view = self.settings, TracedRobot(self.equations)
        given: list[Traced] = []
        own: dict[str, Traced] = {}
        if s.control is not None or s.forces:  # users' functions take arrays that record
            given = [Traced(np.asarray(x, dtype=object)) for x in (time, q, qd, self.u)]
            own = {name: Traced(value) for name, value in self.parameters.items()}
        law = self.u if s.control is None else run_law(s.control, given, view, own)
        if (effort := self.parameters.get("effort")) is not None:
            bounded = (self._bounded(x, most) for x, most in zip(law.tolist(), effort.tolist(), strict=True))
            law = np.array([*bounded], dtype=object)
        stiffness, damping = np.zeros(s.nv, dtype=object), np.zeros(s.nv, dtype=object)
        if implicit and s.control is not None:
            stiffness, damping = self._slopes(law, q, qd, view._results)
        own_force, k, d = self.joints(q, qd)
        loads = loads_of(s.forces, given, view, own, self.h, implicit=implicit) if s.forces else []
        for load in loads if s.stiff else ():
            if load.wrench is not None:
                more = in_joints(load, given[1], given[2], self._coordinate, view)
                stiffness, damping = stiffness + more[0], damping + more[1]
        return Forces(law, law + own_force, loads, stiffness + k, damping + d)

    def _bounded(self, force: Any, most: Any) -> Any:
        """A joint force clamped to the effort of its motor."""
        return self.graph.minimum(self.graph.maximum(force, -most), most)

    def _slopes(self, law: np.ndarray, q: np.ndarray, qd: np.ndarray, constant: set[int]) -> Any:
        """Stiffness and damping of each joint force by its own coordinate and rate, never negative.

        Results of the robot's functions, and what is costly to differentiate, count as constants.
        """
        slope, made = Slopes(law.tolist(), constant), []
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
        """The accelerations qdd under the given forces."""
        more: dict[str, Any] = {}
        if (own := self.enforcement) is not None and own.held.loops:
            return self._accelerations_on_loops(own.held, q, qd, forces)
        if forces.loads:
            more["external"] = on_links(self.equations, q, forces.loads)
        made: np.ndarray = self.equations("forward_dynamics", q, qd, forces.tau, **more)
        return made

    def _accelerations_on_loops(
        self, held: Held, q: np.ndarray, qd: np.ndarray, forces: Forces
    ) -> np.ndarray:
        model, (closures, equations) = self.model, held.placed
        external: Any = on_bodies(self.equations, model, q, forces.loads) if forces.loads else 0.0
        with self.equations.ordered:
            qdd, _ = constrained_dynamics(
                model, q, qd, forces.tau, closures=closures, equations=equations, external=external
            )
        return np.asarray(qdd, dtype=object)

    @cached_property
    def model(self) -> Any:
        """The robot's bodies with inertias that give the same motion, those that are given if any are."""
        of = self.equations
        model = of.model(Call(self.robot, find("forward_dynamics", "aba")))
        return with_inertias(model, of.own["inertias"]) if "inertias" in of.own else model

    def resisted(self, q: np.ndarray, qd: np.ndarray, forces: Forces) -> np.ndarray:
        """qdd under forces as they are at the end of the step, to first order: they resist accelerations.

        A first solution decides which points slide and which stick.
        """
        if any(load.corrected for load in forces.loads):
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
        factored = [False, True] if choose(self.robot, "forward_dynamics", None).name == "jsiia" else [False]
        with of.ordered:
            each = [
                np.asarray(
                    implicit(model, q, qd, tau, diagonal=diagonal, factored=by_factor, **more), dtype=object
                )
                for by_factor in factored[self.robot.is_coupled :]
            ]
        return min(each, key=lambda made: len(live(made.tolist())))
