# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Simulations of robots too long for one kernel: a loop over time in Python around loops over bodies.

A step of hundreds of links takes so long that the loop matters little. Integrators are the same, on numbers.
Laws are not traced: they run at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import prod
from typing import Any, NoReturn

import numpy as np

from ..algorithms import FUNCTIONS, FunctionSpec
from ..arrays import real_numbers
from ..errors import PhalanxError, shown
from .arguments import Arguments, Span
from .integrators import INTEGRATORS, Next, names
from .laws import parameters_of
from .records import LONG, SHOWN
from .step import JointForces, MovingCoordinates, Settings, joint_forces

_TRIED = 3  # states on which both ways are compared


class Batched:
    """A function f(t, q, qd, u, robot, *, …) of one state (nq,), (nv,), for states (…, nq), (…, nv).

    One that is written for batches, too, gets them whole. Whether it is shows at random states: q[0] would
    otherwise be the first coordinate in one simulation and the first simulation in another.
    """

    def __init__(self, function: Callable[..., Any], settings: Settings, where: str) -> None:
        self._function, self._settings, self._where = function, settings, where
        self._own = parameters_of(function, settings.parameters, where)
        self._at_once: bool | None = None

    def __call__(
        self, t: float, q: np.ndarray, qd: np.ndarray, u: np.ndarray, own: Mapping[str, np.ndarray]
    ) -> Any:
        """The results of the user's function for all states: an array or a mapping, batch axes first."""
        batch = qd.shape[:-1]
        if not batch:
            return self._called(t, q, qd, u, own)
        if self._at_once is None:
            self._at_once = self._means_the_same()
        rows = (_rows(q, batch, 1), _rows(qd, batch, 1), _rows(u, batch, 1))
        more = {name: _rows(a, batch, len(self._settings.parameters[name])) for name, a in own.items()}
        made = (self._called if self._at_once else self._one_by_one)(t, *rows, more)
        return _each(lambda a: a.reshape((*batch, *a.shape[1:])), made)

    def _called(self, t: float, q: Any, qd: Any, u: Any, own: Mapping[str, np.ndarray]) -> Any:
        robot: Any = self._settings.robot
        if "inertias" in own:
            robot = _WithInertias(robot, own["inertias"])
        given = [_read_only(a) for a in (q, qd, u)]
        try:
            made = self._function(t, *given, robot, **{name: _read_only(own[name]) for name in self._own})
        except PhalanxError:
            raise
        except Exception as error:
            raise PhalanxError(f"{self._where}: it raises {type(error).__name__}: {error}.") from error
        return _each(lambda a: real_numbers(a, f"{self._where}: its result", "real numbers"), made)

    def _one_by_one(self, t: float, q: Any, qd: Any, u: Any, own: Mapping[str, np.ndarray]) -> Any:
        made = [
            self._called(t, q[k], qd[k], u[k], {name: a[k] for name, a in own.items()}) for k in range(len(q))
        ]
        if isinstance(made[0], Mapping):
            return {name: np.stack([each[name] for each in made]) for name in made[0]}
        return np.stack(made)

    def _means_the_same(self) -> bool:
        s, rng = self._settings, np.random.default_rng(0)
        robot: Any = s.robot
        q, qd, _ = robot.random_state((_TRIED,), rng)
        own = {name: rng.uniform(0.5, 1.5, (_TRIED, *shape)) for name, shape in s.parameters.items()}
        if "inertias" in own:
            own["inertias"] = own["inertias"][:, :1, :1] * robot.inertial_parameters.reshape(-1, 10)
        state = (0.37, q, qd, rng.normal(size=(_TRIED, s.controls)), own)
        apart = self._one_by_one(*state)
        try:
            return _same(self._called(*state), apart)
        except PhalanxError:
            return False


class _WithInertias:
    """A robot whose functions take other inertias than its own."""

    def __init__(self, robot: Any, inertias: np.ndarray) -> None:
        self._robot, self._inertias = robot, inertias

    def __getattr__(self, name: str) -> Any:
        if name == "inertial_parameters":
            return self._inertias
        found = getattr(self._robot, name)
        if name in FUNCTIONS and "inertias" in FUNCTIONS[name].optional:
            return partial(found, inertias=self._inertias)
        return found


def _rows(array: np.ndarray, batch: tuple[int, ...], core: int) -> np.ndarray:
    """An array with all batch axes flattened into one."""
    own = array.shape[array.ndim - core :]
    return np.broadcast_to(array, (*batch, *own)).reshape((prod(batch), *own))


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.setflags(write=False)
    return view


def _each(f: Callable[[Any], Any], made: Any) -> Any:
    return {name: f(value) for name, value in made.items()} if isinstance(made, Mapping) else f(made)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    if isinstance(one, Mapping) or isinstance(other, Mapping) or one.shape != other.shape:
        return False
    return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True))


__all__ = ["LONG", "Stepping"]  # beyond: half a minute of compiling, and code that no longer fits the caches


@dataclass(frozen=True)
class _Forces:
    """Forces of a state: the law's, all joint forces, and further inputs of the dynamics."""

    law: np.ndarray
    tau: np.ndarray
    more: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class _Step(MovingCoordinates):
    """One step of a batch on numbers, with the methods that integrators call."""

    settings: Settings
    time: float
    q: np.ndarray
    qd: np.ndarray
    u: np.ndarray
    own: Mapping[str, np.ndarray]
    joints: JointForces
    users: Callable[[Any, str], Batched]
    threads: int | None = None
    enforcement = None

    @property
    def h(self) -> float:
        return self.settings.dt

    def forces(self, time: float, q: np.ndarray, qd: np.ndarray) -> _Forces:
        """The forces at a state."""
        s, dtype = self.settings, qd.dtype
        law = self.u if s.control is None else self._commanded(time, q, qd)
        if (effort := self.own.get("effort")) is not None:
            law = np.clip(law, -effort, effort)
        tau = np.asarray(law + self.joints.acting(q, qd), dtype)
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
        """The accelerations qdd under the given forces."""
        robot: Any = self.robot
        made: np.ndarray = robot.forward_dynamics(q, qd, forces.tau, **forces.more, threads=self.threads)
        return made

    def called(self, function: Any, where: str, time: float, q: np.ndarray, qd: np.ndarray) -> Any:
        """The values of a user's function for all states of the batch."""
        return self.users(function, where)(time, q, qd, self.u, self.own)

    def recorded(self, entry: Any, last: Mapping[str, np.ndarray]) -> Any:
        """The value of one record at this state and the step that led to it."""
        if callable(entry):
            return self.called(entry, "record", self.time, self.q, self.qd)
        if entry in SHOWN:
            return last[entry]
        state = {"q": self.q, "qd": self.qd}
        if entry in state:
            return state[entry]
        functions = ("kinetic_energy", "potential_energy") if entry == "energy" else (entry,)
        return sum(self._function_of(name, state) for name in functions)

    def _function_of(self, entry: str, state: Mapping[str, np.ndarray]) -> Any:
        spec = FunctionSpec.parse(entry)
        f, own = FUNCTIONS[spec.function], self.own
        more = {name: own[name] for name in ("inertias",) if name in own and name in f.optional}
        inputs = [state[name] for name in f.inputs]
        return getattr(self.robot, spec.function)(*inputs, *([spec.frame] if spec.frame else []), **more)


class Stepping:
    """The engine of robots too long for one compiled loop: Python calls kernels step by step."""

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
        """A user's function, inspected once; the reference keeps its `id` unique."""
        if id(function) not in self._users:
            self._users[id(function)] = function, Batched(function, self.settings, where)
        return self._users[id(function)][1]

    quick = stepper = None  # a step takes long enough
    linearization = None

    @cached_property
    def _neutral(self) -> np.ndarray:
        return self.settings.robot.neutral()

    def built(self, requested: Mapping[str, Any]) -> tuple[Any, dict[str, tuple[int, ...]]]:
        """The requested records, and the shape of each."""
        s, zero = self.settings, np.zeros(self.settings.nv)
        own = {name: np.zeros(shape) for name, shape in s.parameters.items()}
        joints = joint_forces(s, own)
        step = _Step(s, 0.0, self._neutral, zero, np.zeros(s.controls), own, joints, self._user)
        last = dict.fromkeys(SHOWN, zero)
        return dict(requested), {
            name: np.shape(step.recorded(entry, last)) for name, entry in requested.items()
        }

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
