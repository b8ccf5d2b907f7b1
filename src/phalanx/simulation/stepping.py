# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Simulations of robots too long for one kernel: a loop over time in Python around loops over bodies.

A step of hundreds of links takes so long that the loop matters little. Integrators are the same, on numbers.
Laws are not traced: they run at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..algorithms import FUNCTIONS
from ..errors import PhalanxError, shown
from .arguments import Arguments, Span
from .batches import Batched
from .integrators import INTEGRATORS, Next, names
from .joints import JointForces, joint_forces
from .records import LONG, SHOWN
from .step import MovingCoordinates, Settings

__all__ = ["LONG", "Stepping"]  # beyond: half a minute of compiling, and code that no longer fits the caches


@dataclass(frozen=True)
class _Forces:
    """What acts at one moment: what the law commands, all joint forces, and what else dynamics is told."""

    law: np.ndarray
    tau: np.ndarray
    more: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class _Step(MovingCoordinates):
    """The numbers of one step of a batch, as integrators ask for them."""

    settings: Settings
    time: float
    q: np.ndarray
    qd: np.ndarray
    u: np.ndarray
    own: Mapping[str, np.ndarray]
    joints: JointForces
    users: Callable[[Any, str], Batched]
    threads: int | None = None

    @property
    def h(self) -> float:
        return self.settings.dt

    def forces(self, time: float, q: np.ndarray, qd: np.ndarray) -> _Forces:
        """What acts at a state."""
        s, dtype = self.settings, qd.dtype
        law = self.u if s.control is None else self._commanded(time, q, qd)
        if (effort := self.own.get("effort")) is not None:
            law = np.clip(law, -effort, effort)
        tau = np.asarray(law + self.joints(q, qd)[0], dtype)
        more: dict[str, Any] = {}
        for force in s.forces:
            found = self.called(force, "forces", time, q, qd)
            if not isinstance(found, Mapping):
                raise PhalanxError(
                    f'forces: got {shown(found)}, expected wrenches by frame: {{"link": wrench}}.'
                )
            wrenches = s.robot.wrenches(found)
            more["external"] = np.asarray(more.get("external", 0.0) + wrenches, dtype)
        if "inertias" in self.own:
            more["inertias"] = np.asarray(self.own["inertias"], dtype)
        return _Forces(np.broadcast_to(np.asarray(law, dtype), qd.shape), tau, more)

    def _commanded(self, time: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """The joint forces of the law."""
        s = self.settings
        found: np.ndarray = self.called(s.control, "control law", time, q, qd)
        if (got := np.shape(found)[qd.ndim - 1 :]) != (s.nv,):
            raise PhalanxError(
                f"control law: it returns an array of shape {got}, expected ({s.nv},) for robot "
                f'"{s.robot.name}" (nv = {s.nv}).'
            )
        return found

    def accelerations(self, q: np.ndarray, qd: np.ndarray, forces: _Forces) -> np.ndarray:
        """qdd under some forces."""
        robot: Any = self.robot
        made: np.ndarray = robot.forward_dynamics(q, qd, forces.tau, **forces.more, threads=self.threads)
        return made

    def called(self, function: Any, where: str, time: float, q: np.ndarray, qd: np.ndarray) -> Any:
        """What a user's function returns for each state."""
        return self.users(function, where)(time, q, qd, self.u, self.own)

    def recorded(self, entry: Any, last: Mapping[str, np.ndarray]) -> Any:
        """What is kept of this state, and of the step that has led to it."""
        if callable(entry):
            return self.called(entry, "record", self.time, self.q, self.qd)
        if entry in SHOWN:
            return last[entry]
        state = {"q": self.q, "qd": self.qd}
        if entry in state:
            return state[entry]
        words = ("kinetic_energy", "potential_energy") if entry == "energy" else (entry,)
        return sum(self._told(word, state) for word in words)

    def _told(self, entry: str, state: Mapping[str, np.ndarray]) -> Any:
        word, _, frame = entry.partition(":")
        f, own = FUNCTIONS[word], self.own
        more = {name: own[name] for name in ("inertias",) if name in own and name in f.optional}
        inputs = [state[name] for name in f.inputs]
        return getattr(self.robot, word)(*inputs, *([frame] if frame else []), **more)


class Stepping:
    """What `Engine` does for shorter robots, step by step."""

    seconds = 0.0

    def __init__(self, settings: Settings, dtype: np.dtype) -> None:
        self.settings, self.dtype = settings, dtype
        self._users: dict[int, tuple[Any, Batched]] = {}
        if not INTEGRATORS[settings.integrator].explicit:
            known = f"use {' or '.join(map(repr, names(explicit=True)))}"
            self._refuse(f'integrator "{settings.integrator}"', known)
        for name in ("gravity", "armature"):
            if name in settings.parameters:
                self._refuse(f'parameter "{name}"', f"take a robot for each, robot.replace({name}=…)")

    def _user(self, function: Any, where: str) -> Batched:
        """A user's function, looked at once; it is kept, so that its address stays its own."""
        if id(function) not in self._users:
            self._users[id(function)] = function, Batched(function, self.settings, where)
        return self._users[id(function)][1]

    quick = stepper = None  # a step takes long enough

    def built(self, asked: Mapping[str, Any]) -> tuple[Any, dict[str, tuple[int, ...]]]:
        """What is asked for, and the shape of each record."""
        s, zero = self.settings, np.zeros(self.settings.nv)
        own = {name: np.zeros(shape) for name, shape in s.parameters.items()}
        joints = joint_forces(s, own)
        step = _Step(s, 0.0, s.robot.neutral(), zero, np.zeros(s.controls), own, joints, self._user)
        last = dict.fromkeys(SHOWN, zero)
        return dict(asked), {name: np.shape(step.recorded(entry, last)) for name, entry in asked.items()}

    def run(
        self, built: Any, given: Arguments, records: Mapping[str, np.ndarray], span: Span
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fill records and return the state after the last step."""
        s, batch = self.settings, given.batch
        q = np.array(np.broadcast_to(given.q, (*batch, s.robot.nq)))
        qd = np.array(np.broadcast_to(given.qd, (*batch, s.nv)))
        own = s.unpacked(given.parameters)
        with np.errstate(all="ignore"):  # what leaves the numbers is listed in the end
            return self._run(built, given, records, span, (q, qd), own)

    def _run(
        self,
        built: Any,
        given: Arguments,
        records: Mapping[str, np.ndarray],
        span: Span,
        state: tuple[np.ndarray, np.ndarray],
        own: Mapping[str, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        s, (q, qd), joints = self.settings, state, joint_forces(self.settings, own)
        for k in range(span.steps if q.size else 0):
            u, passed = given.controls[..., k // given.hold, :], span.start + k
            after = self._advanced(_Step(s, s.dt * passed, q, qd, u, own, joints, self._user, span.threads))
            q, qd = np.asarray(after.q, self.dtype), np.asarray(after.qd, self.dtype)
            if (k + 1) % span.every == 0:
                step = _Step(s, s.dt * (passed + 1), q, qd, u, own, joints, self._user)
                for name, array in records.items():
                    made = np.asarray(step.recorded(built[name], {"tau": after.tau, "qdd": after.qdd}))
                    array[..., k // span.every, :] = made.reshape((*made.shape[: len(given.batch)], -1))
        return q, qd

    @property
    def _advanced(self) -> Callable[[Any], Next]:
        return INTEGRATORS[self.settings.integrator].advance

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        robot = self.settings.robot
        raise PhalanxError(
            f'simulation: robot "{robot.name}" has {robot.model.n} bodies; beyond {LONG} there is no {what}; '
            f"{remedy}."
        )

    def along(self, *args: Any) -> NoReturn:
        self._refuse("derivative of rollouts", "use robot.jvp of forward_dynamics step by step")

    def against(self, *args: Any) -> NoReturn:
        self._refuse("derivative of rollouts", "use robot.vjp of forward_dynamics step by step")

    def bound(self, *args: Any) -> NoReturn:
        self._refuse("bound step", "use sim.step")

    @property
    def cost(self) -> NoReturn:
        self._refuse("program of a whole step", 'ask px.cost(robot, "forward_dynamics")')
