# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A simulation's compiled code: built once for each kind of record, run on arrays that have been checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ..backends.base import available_threads, positive
from ..backends.native.locks import building
from ..backends.native.objects import OPERANDS, usable
from ..backends.native.rollout import Rollout, compiled
from ..errors import PhalanxError
from ..program.analyses.cost import Cost, cost_of
from ..program.builder import straight
from ..program.graph import symbols
from ..program.ir import Program, Scalar
from ..program.passes.fuse import fuse
from ..program.passes.order import sincos_first
from ..program.trace import TooLongError
from ..tracing.function import OwnFunction
from ..tracing.result_structure import Structure
from ..tracing.traces import Trace
from ..typing import Bound
from .arguments import Arguments, Span
from .integrators import INTEGRATORS, Next
from .linearization import is_analytic, linearization
from .records import recorded
from .rollout import AGE, CLOCK, TIME, Repeated, against, along, backward, one_array_each, repeated_program
from .step import Settings, Step

_MANY = 256  # sets of records that are known by their functions
_FEW = 512  # numbers of coordinates or rates in one call without threads
_STATE = 3  # outputs beside records: q, qd and the count of steps
_AT_ONCE = AGE  # steps of all simulations in one call of compiled code: then Python may look around

Stepper = Callable[[Any, Any, Any, int], tuple[np.ndarray, np.ndarray] | None]


class Engine:
    """The compiled code of one simulation: steps, rollouts and their derivatives."""

    def __init__(self, settings: Settings, dtype: np.dtype) -> None:
        self.settings, self.dtype = settings, dtype
        self.quick: Stepper | None = None  # `stepper`, once a step has been checked and compiled
        self._compiled: dict[Any, tuple[Rollout, dict[str, tuple[int, ...]]]] = {}
        # What has been requested, with the functions themselves: their addresses may be keys.
        self._requested: dict[Any, tuple[Mapping[str, Any], tuple[Rollout, dict[str, tuple[int, ...]]]]] = {}

    @property
    def seconds(self) -> float:
        """Time that compiling has taken so far."""
        return sum(built.seconds for built, _ in self._compiled.values())

    @cached_property
    def traced(self) -> tuple[Step, Next]:
        """The scalars of one step, traced once."""
        try:
            step = Step(self.settings)
            return step, INTEGRATORS[self.settings.integrator].advance(step)
        except TooLongError:
            raise self._too_long() from None

    @cached_property
    def smooth(self) -> tuple[Step, Next]:
        """The scalars of one step whose inner loops have derivatives."""
        if not self.traced[0].loops:
            return self.traced
        try:
            step = Step(self.settings, smooth=True)
            return step, INTEGRATORS[self.settings.integrator].advance(step)
        except TooLongError:
            raise self._too_long() from None

    def _too_long(self) -> PhalanxError:
        robot = self.settings.robot
        return PhalanxError(
            f'simulation: a step of robot "{robot.name}" ({robot.model.n} bodies) is too long for one '
            "kernel; "
            "loop over robot.forward_dynamics and robot.integrate, or weld joints with robot.fix."
        )

    def built(self, requested: Mapping[str, Any]) -> tuple[Rollout, dict[str, tuple[int, ...]]]:
        """The code that records what is requested, and the shape of each record."""
        key = tuple((name, _known(entry)) for name, entry in requested.items())
        found = self._requested.get(key)
        if found is None:
            with building:
                if len(self._requested) >= _MANY:
                    self._requested.clear()
                found = self._requested.setdefault(key, (dict(requested), self._compile(requested)))
        return found[1]

    @cached_property
    def linearization(self) -> OwnFunction | None:
        """The matrices of a linearised step as a function; None if tangents compute them."""
        if not is_analytic(self.settings):
            return None
        try:
            return linearization(self.settings)
        except TooLongError:
            return None

    @cached_property
    def cost(self) -> Cost:
        """Operations of one step."""
        step, after = self.traced
        if step.loops:
            raise PhalanxError(
                f'cost: a step of robot "{self.settings.robot.name}" solves for constraints in loops that '
                "end on data; no count is implemented for those."
            )
        results = [*after.q.tolist(), *after.qd.tolist()]
        sizes = {"q": step.q.shape, "qd": step.qd.shape, "u": step.u.shape, "time": ()}
        sizes |= {"parameters": (self.settings.packed,)}
        outputs = {"q": step.q.shape, "qd": step.qd.shape}
        return cost_of(straight(sizes, outputs, results), fused=True).named(self.settings.robot)

    def repeated(self, requested: Mapping[str, Any]) -> Repeated:
        """The traced step with the requested records, ready for the loop over time."""
        step, after = self.traced
        s = self.settings
        last = {"tau": after.tau, "qdd": after.qdd, **after.shown}
        return Repeated(
            dt=s.dt,
            state={"q": after.q, "qd": after.qd},
            held={"u": s.controls} if s.controls else {},
            fixed=one_array_each(parameters=s.packed),
            shown={name: array for name, array in last.items() if name in requested.values()},
            records=recorded(step, requested, {name: array.shape for name, array in last.items()}),
            loops=tuple(step.loops),
        )

    def _compile(self, requested: Mapping[str, Any]) -> tuple[Rollout, dict[str, tuple[int, ...]]]:
        step = self.repeated(requested)
        shapes = {name: array.shape for name, array in step.records.items()}
        key = tuple((name, array.shape, _scalars(array)) for name, array in step.records.items())
        if key in self._compiled:
            return self._compiled[key]
        program = repeated_program(replace(step, records={n: a for n, a in step.records.items() if a.size}))
        if len(program.inputs) + len(program.outputs) > OPERANDS:
            joined = np.concatenate([array.ravel() for array in step.records.values()])
            program = repeated_program(replace(step, records={"all": joined}))
        made = self._compiled[key] = compiled(program, "rollout", self.dtype, self.settings.nv), shapes
        return made

    def _derived(self, kind: str, program: Callable[[], Any]) -> Rollout:
        with building:
            if kind not in self._compiled:
                self._compiled[kind] = (
                    compiled(program(), f"rollout_{kind}", self.dtype, self.settings.nv),
                    {},
                )
            return self._compiled[kind][0]

    def run(
        self,
        built: Rollout,
        given: Arguments,
        records: Mapping[str, np.ndarray],
        span: Span,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fill records and return the state after the last step, in calls of bounded length."""
        s, hold = self.settings, given.hold
        records = {name: array for name, array in records.items() if array.shape[-1]}
        joined = built.outputs < _STATE + len(records)
        state = [given.q, given.qd, self._clock(span.start)]
        for first, stop in span.pieces(hold, _AT_ONCE // max(1, prod(given.batch))):
            controls = given.controls[..., first // hold : -(-stop // hold), :]
            arrays, cores = self.operands([*state], controls, given.parameters)
            sizes = (stop - first, min(span.every, stop - first), hold)
            begun, ended = first // span.every, stop // span.every
            rows = [a[..., begun:ended, :] for a in records.values()]
            if begun == ended:  # inside a record: of no interest
                rows = [np.empty((*row.shape[:-2], 1, row.shape[-1]), self.dtype) for row in rows]
            state = [np.empty((*given.batch, n), self.dtype) for n in (s.robot.nq, s.nv, CLOCK)]
            targets = [_joined(rows)] if joined else rows
            outs = [*state, *targets]
            self._fill(built, [*arrays, *outs], [*cores, *_cores(outs, _STATE)], sizes, span)
            if joined:
                ends = np.cumsum([row.shape[-1] for row in rows])
                for row, part in zip(rows, np.split(targets[0], ends[:-1], axis=-1), strict=True):
                    row[...] = part
        return state[0], state[1]

    @cached_property
    def stepper(self) -> Stepper | None:
        """One step on unchecked arrays, which returns None for those that `run` has to take; None if all are.

        Compiled code checks all but the order of numbers in memory. Many simulations are for threads.
        """
        s, d = self.settings, self.dtype
        if s.packed or not usable():
            return None
        nq, nv, k = s.robot.nq, s.nv, s.controls
        shapes = [(nq,), (nv,), (CLOCK,), *[(k,)] * bool(k), (nq,), (nv,), (CLOCK,)]
        direct = self.built({})[0].function(shapes, (1, 1, 1))
        none, zero = np.zeros(k, d), self._clock(0)

        def stepped(q: Any, qd: Any, controls: Any, start: int) -> tuple[np.ndarray, np.ndarray] | None:
            if controls is None:
                controls = none
            for x in (q, qd, controls):
                if type(x) is not np.ndarray or not x.flags.c_contiguous or x.size > _FEW:
                    return None
            batch = q.shape[:-1]
            q1, qd1, clock = (
                np.empty((*batch, nq), d),
                np.empty((*batch, nv), d),
                np.empty((*batch, CLOCK), d),
            )
            since = zero if start == 0 else self._clock(start)
            given = (q, qd, since, controls) if k else (q, qd, since)
            return (q1, qd1) if direct(*given, q1, qd1, clock) and (k or controls is none) else None

        return stepped

    def _clock(self, passed: int) -> np.ndarray:
        """A number of steps in the two numbers by which compiled code counts them."""
        return np.array([passed % AGE, passed - passed % AGE], self.dtype)

    def along(
        self,
        given: Arguments,
        rates: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray],
        span: Span,
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Derivatives along tangents at each record, and at the end."""
        s, d = self.settings, self.dtype
        built = self._derived("along", lambda: repeated_program(along(*self.smooth)))
        dq, dqd, du, more = rates
        batch = np.broadcast_shapes(
            given.batch, dq.shape[:-1], dqd.shape[:-1], du.shape[:-2], more.shape[:-1]
        )
        given = given.finer(du.shape[-2])
        du = np.repeat(du, given.controls.shape[-2] // du.shape[-2], axis=-2)
        state = [given.q, given.qd, dq, dqd, self._clock(span.start)]
        arrays, cores = self.operands(state, (given.controls, du), (given.parameters, more))
        final = [np.empty((*batch, n), d) for n in (s.robot.nq, s.nv, s.nv, s.nv, CLOCK)]
        records = [np.empty((*batch, span.rows, s.nv), d) for _ in range(2)]
        outs = [*final, *records]
        self._fill(built, [*arrays, *outs], [*cores, *_cores(outs, 5)], span.sizes(given.hold), span)
        return records, final[2:4]

    def against(
        self,
        given: Arguments,
        rows: tuple[np.ndarray, np.ndarray],
        span: Span,
    ) -> tuple[list[np.ndarray], np.ndarray | None]:
        """The gradient with respect to all inputs of a rollout; that of controls has a row for each step."""
        s, d = self.settings, self.dtype
        batch = np.broadcast_shapes(given.batch, *(row.shape[:-2] for row in rows))
        trail = self._trail(given, span)
        built = self._derived("against", lambda: backward(against(*self.smooth)))
        end = self._clock(span.start + span.steps)
        arrays, cores = self.operands([end], given.controls, given.parameters)
        made = [np.empty((*batch, n), d) for n in (s.nv, s.nv, *([s.packed] if s.packed else []))]
        slopes = [np.empty((*batch, span.steps, s.controls), d)] if s.controls else []
        outs = [*made, *slopes]
        self._fill(
            built,
            [*arrays, *trail, *rows, *outs],
            [*cores, *[2] * 4, *_cores(outs, len(made))],
            span.sizes(given.hold),
            span,
        )
        return made, slopes[0] if slopes else None

    def _trail(self, given: Arguments, span: Span) -> list[np.ndarray]:
        """The states before each step."""
        s, d, steps = self.settings, self.dtype, span.steps
        trail = [np.empty((*given.batch, steps, n), d) for n in (s.robot.nq, s.nv)]
        if steps > 1:
            built, _ = self.built({"q": "q", "qd": "qd"})
            records = dict(zip(("q", "qd"), trail, strict=True))
            self.run(built, given, records, replace(span, every=1))
        for array, first in zip(trail, (given.q, given.qd), strict=True):
            array[..., 1:, :] = array[..., :-1, :].copy()
            array[..., 0, :] = first
        return trail

    def bound(
        self,
        given: Arguments,
        own: Mapping[str, np.ndarray],
        state: list[np.ndarray],
        steps: int,
        sources: tuple[Any, ...],
    ) -> Bound:
        """A function without arguments that makes `steps` steps in place.

        `own` are parameters by name, `sources` the arrays whose memory controls and parameters are.
        """
        built = self._apart() if len(own) > 1 else self.built({})[0]
        arrays, cores = self.operands(state, given.controls, tuple(own.values()))
        sizes = (steps, steps, given.hold)
        step: Bound = built.bound([*arrays, *state], [*cores, 1, 1, 1], sizes, sources)
        return step

    def _apart(self) -> Rollout:
        """The rollout whose code reads each parameter from an array of its own."""
        s = self.settings
        sizes = {f"parameter {name}": prod(shape) for name, shape in s.parameters.items()}
        step = replace(self.repeated({}), fixed={"parameters": sizes})
        count = 2 * _STATE + len(sizes) + len(step.held)
        if count > OPERANDS:
            most = OPERANDS - count + len(sizes)
            raise PhalanxError(
                f"bind: the simulation has {len(sizes)} parameters, expected at most {most}, each read from "
                "an array of its own; declare several as one."
            )
        return self._derived("apart", lambda: repeated_program(step))

    def operands(
        self, state: list[np.ndarray], controls: Any, parameters: Any
    ) -> tuple[list[np.ndarray], list[int]]:
        """Inputs of compiled code, and how many axes of each belong to one simulation."""
        s, arrays, cores = self.settings, list(state), [1] * len(state)
        for there, more, core in ((s.packed, parameters, 1), (s.controls, controls, 2)):
            several = more if isinstance(more, tuple) else (more,)
            arrays += several if there else ()
            cores += [core] * len(several) if there else []
        return arrays, cores

    def _fill(
        self, built: Rollout, arrays: list[np.ndarray], cores: list[int], sizes: tuple[int, ...], span: Span
    ) -> None:
        count = available_threads() if span.threads is None else positive(span.threads, "threads")
        if all(a.size for a in arrays):
            built.fill(arrays, cores, sizes, count)


def _known(entry: Any) -> Any:
    """A record as part of a key, by its address if it has no hash."""
    try:
        hash(entry)
    except TypeError:
        return id(entry)
    return entry


def _scalars(array: np.ndarray) -> tuple[Any, ...]:
    """The entries of an array as part of a key: equal operations are one node."""
    return tuple((x.number,) if isinstance(x, Scalar) else float(x).hex() for x in array.ravel().tolist())


def _joined(rows: list[np.ndarray]) -> np.ndarray:
    """One array for several records side by side."""
    *front, _ = rows[0].shape
    return np.empty((*front, sum(row.shape[-1] for row in rows)), rows[0].dtype)


def _cores(outs: list[np.ndarray], state: int) -> list[int]:
    """The number of axes of each output for one simulation: 1 of a state, 2 of records over time."""
    return [1] * state + [2] * (len(outs) - state)


NEXT = "next "  # in front of the outputs' names


def straight_step(sim: Any) -> Program:
    """The program of one step: from q, qd, u, parameters and time to the next state."""
    trace = step_trace(sim)
    inputs = {**trace.inputs, TIME: (1,)}
    flat = [x for array in trace.results.values() for x in array.tolist()]
    return sincos_first(fuse(straight(inputs, trace.outputs, flat)))


def step_trace(sim: Any) -> Trace:
    """The trace of one step of a simulation, as scalars of one graph."""
    engine = sim._engine
    if not isinstance(engine, Engine):
        raise PhalanxError(
            f'export: a step of robot "{sim.robot.name}" ({sim.robot.model.n} bodies) is no straight-line '
            "program; export forward_dynamics and integrate on the other side."
        )
    step, after = engine.traced
    if step.loops:
        raise PhalanxError(
            f'export: a step of robot "{sim.robot.name}" solves for constraints in loops inside the step, '
            "which exports do not write yet; pass constraints=False and no rigid contacts."
        )
    s = sim._settings
    inputs: dict[str, np.ndarray] = {"q": step.q, "qd": step.qd}
    inputs |= {"u": step.u} if s.controls else {}
    inputs |= {"parameters": symbols(step.graph, "parameters", (s.packed,))} if s.packed else {}
    inputs |= {TIME: step.time}
    results = {f"{NEXT}q": after.q, f"{NEXT}qd": after.qd}
    return Trace(sim.robot, "step", inputs, frozenset({"q"}), results, Structure())
