# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Simulation: a robot, a step of time and a law, compiled into one loop over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ..arrays import empty_result, memory_for, require_memory
from ..backends.base import checked_out
from ..backends.native.rollout import Rollout
from ..errors import PhalanxError, printable, shown
from ..program.analyses.cost import Cost
from ..tracing.function import OwnFunction
from ..typing import Array, ArrayLike, Bound
from .arguments import (
    Gradient,
    as_plain,
    checked,
    checked_cotangents,
    checked_tangents,
    controls_of_states,
    gradient,
    in_place,
    outputs_of,
    require_bindable,
    require_countable,
    span_of,
)
from .engine import Engine
from .integrators import INTEGRATORS
from .laws import read_by
from .records import Run, entries, has_diverged, warn_diverged
from .rollout import AGE, CLOCK
from .starting import on_loops, warn_below
from .step import Settings
from .stepping import LONG, Stepping

_FEWER = "take the simulations in several batches, or record fewer steps"


class Simulation:
    """A robot that moves in time: `rollout` gives trajectories, `step` one step, `linearize` its A and B.

    Immutable; compiled at the first use of each kind of record.
    """

    __slots__ = ("_dtype", "_engine", "_given", "_law", "_settings")
    _settings: Settings
    _dtype: np.dtype
    _given: dict[str, Any]
    _engine: Engine | Stepping
    _law: OwnFunction | None

    def __init__(self, settings: Settings, dtype: np.dtype, given: Mapping[str, Any]) -> None:
        for name, value in (
            ("_settings", settings),
            ("_dtype", dtype),
            ("_given", dict(given)),
            ("_engine", engine_of(settings, dtype)),
            ("_law", None),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a simulation is immutable; make another with robot.simulation({name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a simulation is immutable; {name!r} cannot be deleted")

    @property
    def robot(self) -> Any:
        """The robot that is simulated."""
        return self._settings.robot

    @property
    def dt(self) -> float:
        """Seconds of a step."""
        return self._settings.dt

    @property
    def integrator(self) -> str:
        """The name of the integrator."""
        return self._settings.integrator

    @property
    def controls(self) -> int:
        """The number of controls of each step."""
        return self._settings.controls

    @property
    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Shapes, by name, of what may differ from simulation to simulation."""
        return dict(self._settings.parameters)

    @property
    def dtype(self) -> np.dtype:
        """The precision of all numbers."""
        return self._dtype

    def rollout(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        controls: ArrayLike | None = None,
        *,
        steps: int = 1000,
        every: int = 1,
        record: Any = ("q", "qd"),
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        threads: int | None = None,
        out: Mapping[str, Array] | None = None,
    ) -> Run:
        """The records of `steps` steps from each of a batch of states, one after every `every` steps.

        - `q` (…, nq), `qd` (…, nv): the states at the beginning.
        - `controls` (k,) constant, or (…, T, k) where T divides `steps`, each held over steps / T of them.
        - `record`: names, functions `f(t, q, qd, u, robot)`, or a mapping of names to them. Names are "q",
          "qd", "tau" and "qdd" of the step that has just ended, "energy", and functions of the state such as
          "kinetic_energy", "center_of_mass", "frame_pose:FRAME".
        - `parameters`: arrays (…, size) for all that the simulation declares.
        - `start`: steps that were taken before, for the time that laws see.
        - `out`: arrays for the records, by name.

        The record has `time` (T,), `final` (q, qd), `diverged` (…,) and (…, T, ·) for each name. Where
        simulations diverge there is one warning.
        """
        run = self._rolled(q, qd, controls, steps, every, record, threads, parameters, start, out)
        warn_diverged(run.diverged, self._settings, q, qd)
        return run

    def _rolled(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        controls: ArrayLike | None,
        steps: int,
        every: int,
        record: Any,
        threads: int | None,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        out: Mapping[str, Array] | None = None,
    ) -> Run:
        """`rollout` without its warning, for callers that report divergence themselves."""
        span = span_of("rollout", steps, every, start, threads)
        requested = entries(record, self.robot)
        given = checked("rollout", self._settings, self._dtype, q, qd, controls, parameters, span.steps)
        if self._settings.constraints:
            given = replace(given, q=on_loops(self._settings, given.q))
        if self._settings.contacts:
            warn_below(self._settings, given.q)
        built, shapes = self._engine.built(requested)
        wanted = {name: (*given.batch, span.rows, *shapes[name]) for name in requested}
        with memory_for("rollout", _FEWER):
            if out is None:
                # Each alone may fit, and the system promises more than it has.
                size = self._dtype.itemsize * sum(prod(shape) for shape in wanted.values())
                require_memory(size, f"rollout: {span.rows:,} records", _FEWER)
                records = {name: empty_result(shape, self._dtype) for name, shape in wanted.items()}
            else:
                records = outputs_of("rollout", wanted, out, self._dtype)
                given = given.apart_from(records.values())
            flat = {
                name: as_plain(array, self._dtype).reshape((*given.batch, span.rows, prod(shapes[name])))
                for name, array in records.items()
            }
            final = self._engine.run(built, given, flat, span)
        last = [flat[name][..., -1, :] for name, entry in requested.items() if entry == "qdd"]
        diverged = has_diverged(*final, last, self._settings.divergence)
        time = self.dt * (span.start + span.every * np.arange(1, span.rows + 1))
        return Run(time, final, diverged, records, span.start + span.steps)

    def step(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        controls: ArrayLike | None = None,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """The states (q, qd) after one step; `controls` (…, k) are those of each state."""
        quick = self._engine.quick if parameters is None and threads is None else None
        if quick is not None and type(start) is int and 0 <= start < AGE:
            made = quick(q, qd, controls, start)
            if made is not None:
                return made
        rows = controls_of_states(controls)
        given = checked("step", self._settings, self._dtype, q, qd, rows, parameters, 1)
        span = span_of("step", 1, 1, start, threads)
        after = self._engine.run(self._engine.built({})[0], given, {}, span)
        self._engine.quick = self._engine.stepper
        return after

    def bind(
        self,
        q: Array,
        qd: Array,
        controls: Array | None = None,
        *,
        parameters: Mapping[str, Array] | None = None,
        steps: int = 1,
    ) -> Bound:
        """A function without arguments that makes `steps` steps, updating these arrays in place.

        For loops in real time: set `controls` (…, k) and `parameters` (…, size) in place, call, read `q` and
        `qd` in place. Time continues from call to call.
        """
        span = span_of("bind", steps, None, 0, 1)
        require_countable("bind", span)
        for label, array in (("q", q), ("qd", qd), *([] if controls is None else [("controls", controls)])):
            require_bindable("bind", label, array, self._dtype)
        given = checked(
            "bind", self._settings, self._dtype, q, qd, controls_of_states(controls), parameters, span.steps
        )
        if q.shape[:-1] != given.batch or qd.shape[:-1] != given.batch:
            raise PhalanxError(
                f"bind: q {q.shape} and qd {qd.shape} do not have the whole batch {given.batch}."
            )
        if controls is not None and controls.size != self.controls and controls.shape[:-1] != given.batch:
            raise PhalanxError(
                f"bind: controls have shape {controls.shape}, expected {(*given.batch, self.controls)}, the "
                f"batch of q, or ({self.controls},) for all alike: they are read where they lie."
            )
        own = in_place("bind", self._settings, self._dtype, parameters or {}, given.batch)
        read = [given.controls, *own.values()]
        if np.may_share_memory(q, qd) or any(np.may_share_memory(a, b) for a in read for b in (q, qd)):
            raise PhalanxError("bind: q, qd, controls and parameters share memory; pass arrays of their own.")
        clock = np.zeros((*given.batch, CLOCK), self._dtype)
        return self._engine.bound(
            given, own, [q, qd, clock], span.steps, (controls, *(parameters or {}).values())
        )

    # ------------------------------------------------------------- derivatives

    def linearize(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        controls: ArrayLike | None = None,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        out: tuple[Array, Array] | None = None,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """A (…, 2 nv, 2 nv) and B (…, 2 nv, k) of one step, exact, in the tangent space of q.

        A change [dq; dqd] of the state and du of the controls (…, k) become A [dq; dqd] + B du: to first
        order the next state is `robot.integrate(q1, …)` of its upper half, and qd1 plus its lower half.
        `out` takes both.
        """
        if self._engine.linearization is not None:
            return self._linearized(q, qd, controls, parameters, start, out, threads)
        made = self._linearized_along(q, qd, controls, parameters, start, threads)
        if out is None:
            return made
        targets: Any = out
        if not isinstance(targets, (tuple, list)) or len(targets) != 2:
            got = f"{len(targets)} arrays" if isinstance(targets, (tuple, list)) else type(targets).__name__
            raise PhalanxError(f"linearize: out is {got}, expected arrays for A, B.")
        for name, target, result in zip("AB", targets, made, strict=True):
            checked_out(self, f"linearize: out, {name}", target, result.shape, self._dtype)[...] = result
        return out

    @property
    def law(self) -> OwnFunction:
        """The control law as a function of t, q, qd, u and its parameters, with `bind` and derivatives.

        It returns the joint forces that the law commands.
        """
        s = self._settings
        if s.control is None:
            raise PhalanxError(
                f'law: this simulation of robot "{self.robot.name}" has none; pass control= to '
                "robot.simulation, or a law to robot.function."
            )
        if self._law is None:
            wanted = read_by(s.control)
            own = {n: shape for n, shape in s.parameters.items() if wanted is None or n in wanted}
            own = own if wanted is not None or not hasattr(s.control, "parameters") else {}
            object.__setattr__(self, "_law", self.robot.function(s.control, u=s.controls, **own))
        found = self._law
        assert found is not None
        return found

    @property
    def linearization(self) -> OwnFunction:
        """`linearize` as a function of q, qd, time, u and parameters (in one row), for `bind` and exports.

        It returns (A, B). There is one for Euler's steps, implicit or not, without forces on links, loops and
        rigid contacts.
        """
        found = self._engine.linearization
        if found is None:
            raise PhalanxError(
                f'linearization: there is none for robot "{self.robot.name}" with integrator '
                f'"{self.integrator}" and {len(self._settings.forces)} forces on links, expected '
                '"implicit" or "euler" and neither those nor loops and rigid contacts; sim.linearize '
                "computes the matrices."
            )
        return found

    def _linearized(
        self, q: Any, qd: Any, controls: Any, parameters: Any, start: int, out: Any, threads: int | None
    ) -> tuple[Array, Array]:
        """`linearize` from analytic derivatives."""
        s, f, d = self._settings, self.linearization, self._dtype
        time = np.asarray(start * s.dt, d) if type(start) is int else None
        if (
            time is not None
            and not s.packed
            and parameters is None
            and type(q) is np.ndarray
            and q.dtype == d
        ):
            made = f._quick((q, qd, time, controls) if s.controls else (q, qd, time), out, threads)
            if made is not None and (s.controls or controls is None):
                return made
        given = checked("linearize", s, self._dtype, q, qd, controls_of_states(controls), parameters, 1)
        span = span_of("linearize", 1, 1, start, threads)
        more = [given.controls[..., 0, :]] if s.controls else []
        more += [given.parameters] if s.packed else []
        time = np.asarray(span.start * s.dt, d)
        made = f(given.q, given.qd, time, *more, out=out, threads=threads)
        return made

    def _linearized_along(
        self, q: Any, qd: Any, controls: Any, parameters: Any, start: int, threads: int | None
    ) -> tuple[Array, Array]:
        """`linearize` by tangents along all directions."""
        nv, k = self._settings.nv, self._settings.controls
        rows = controls_of_states(controls)
        given = checked("linearize", self._settings, self._dtype, q, qd, rows, parameters, 1)
        eye = np.eye(2 * nv + k, dtype=self._dtype)
        rates = tuple(map(np.ascontiguousarray, (eye[:, :nv], eye[:, nv : 2 * nv], eye[:, None, 2 * nv :])))
        span = span_of("linearize", 1, 1, start, threads)
        none = np.zeros(self._settings.packed, self._dtype)
        with memory_for("linearize", "take the states in several batches"):
            # The state and its derivative along all directions, then both in one array.
            size = 8 * self._dtype.itemsize * prod(given.batch) * (2 * nv + k) * max(1, nv)
            require_memory(size, f"linearize: {prod(given.batch):,} states", "take them in several batches")
            _, moved = self._engine.along(given.spread(), (rates[0], rates[1], rates[2], none), span)
            both = np.ascontiguousarray(np.swapaxes(np.concatenate(moved, axis=-1), -1, -2))
        return both[..., : 2 * nv], both[..., 2 * nv :]

    def jvp(
        self,
        primals: Sequence[ArrayLike | None],
        tangents: Sequence[ArrayLike | None],
        *,
        steps: int = 1,
        every: int | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        parameter_tangents: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """The derivative (dq, dqd), (…, nv) each, of the state after `steps` steps along tangents.

        `primals` are (q, qd) or (q, qd, controls) of a rollout, `tangents` one for each or None: that of q is
        in the tangent space. With `every`, the derivatives of all records, (…, T, nv) each.
        """
        (q, qd, u), rates = _three("jvp", "primals", primals), _three("jvp", "tangents", tangents)
        span = span_of("jvp", steps, every, start, threads)
        require_countable("jvp", span, self._dtype)
        given = checked("jvp", self._settings, self._dtype, q, qd, u, parameters, span.steps)
        moving = checked_tangents("jvp", self._settings, self._dtype, rates, given, parameter_tangents)
        with memory_for("jvp", _FEWER):
            records, final = self._engine.along(given, moving, span)
        made = final if every is None else records
        return made[0], made[1]

    def vjp(
        self,
        primals: Sequence[ArrayLike | None],
        cotangents: Sequence[ArrayLike | None],
        *,
        steps: int = 1,
        every: int | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> Gradient:
        """The derivatives of the state after `steps` steps times cotangents, with respect to each input.

        `primals` are (q, qd) or (q, qd, controls) of a rollout; `cotangents` (…, nv) for q, in the tangent
        space, and for qd, or None. With `every`, those of all records, (…, T, nv) each. The states of all
        steps are stored meanwhile. The result has `q`, `qd` (…, nv), `controls` as they were given, and
        `parameters` by name.
        """
        q, qd, u = _three("vjp", "primals", primals)
        weights = _three("vjp", "cotangents", cotangents)[:2]
        span, s = span_of("vjp", steps, every, start, threads), self._settings
        require_countable("vjp", span, self._dtype)
        given = checked("vjp", s, self._dtype, q, qd, u, parameters, span.steps)
        laid = None if every is None else span.rows
        rows = checked_cotangents("vjp", s, self._dtype, weights, given.batch, laid)
        with memory_for("vjp", "take fewer steps at once, or fewer simulations"):
            made, slopes = self._engine.against(given, rows, span)
        return gradient(s, made, slopes, u, given.hold)

    # ------------------------------------------------------------- about it

    @property
    def compile_seconds(self) -> float:
        """Seconds spent on compiling so far, without tracing."""
        return self._engine.seconds

    @property
    def cost(self) -> Cost:
        """The operations of one step without its records, and their critical path."""
        return self._engine.cost

    def llvm_ir(self, record: Any = ("q", "qd")) -> str:
        """The LLVM IR of a rollout."""
        built, _ = self._engine.built(entries(record, self.robot))
        if not isinstance(built, Rollout):
            raise PhalanxError(
                "llvm_ir: steps of a long robot are several kernels; ask robot.kernel(…).llvm_ir()."
            )
        return built.text

    def __repr__(self) -> str:
        name = printable(self.robot.name)
        return f'<Simulation of "{name}": {self.integrator}, dt = {self.dt:g} s, {self._dtype}>'

    def __reduce__(self) -> Any:
        return _rebuilt, (self.robot, self._given)


def engine_of(settings: Settings, dtype: np.dtype) -> Engine | Stepping:
    """One kernel with a loop over time, or kernels with loops over many bodies."""
    bodies = settings.robot.model.n * INTEGRATORS[settings.integrator].evaluations
    return (Stepping if bodies > LONG else Engine)(settings, dtype)


def _three(where: str, label: str, given: Any) -> tuple[Any, Any, Any]:
    if not isinstance(given, (tuple, list)) or not 2 <= len(given) <= 3:
        raise PhalanxError(f"{where}: {label} is {shown(given)}, expected (q, qd) or (q, qd, controls).")
    q, qd, *rest = given
    return q, qd, rest[0] if rest else None


def _rebuilt(robot: Any, given: Mapping[str, Any]) -> Simulation:
    made: Simulation = robot.simulation(**given)
    return made
