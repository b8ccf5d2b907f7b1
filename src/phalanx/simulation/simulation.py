# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Simulation: a robot, a step of time and a law, compiled into one loop over time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import empty_result, memory_for
from ..backends.base import available_threads, positive
from ..backends.native.locks import building
from ..backends.native.rollout import Rollout, compiled
from ..errors import PhalanxError, printable, shown
from ..typing import Array, ArrayLike, Bound
from .arguments import Arguments, checked, whole_number
from .integrators import INTEGRATORS, Next
from .records import SHOWN, Run, entries, recorded
from .rollout import Repeated, told
from .step import Settings, Step

_AT_ONCE = 1 << 22  # steps of all simulations in one call of compiled code: then Python may look around


class Simulation:
    """A robot that moves in time: `rollout` gives trajectories, `step` one step, `linearize` its A and B.

    Immutable; compiled at the first use of each kind of record, then kept.
    """

    def __init__(self, settings: Settings, dtype: np.dtype, given: Mapping[str, Any]) -> None:
        self._settings, self._dtype, self._given = settings, dtype, dict(given)
        self._compiled: dict[Any, tuple[Rollout, dict[str, tuple[int, ...]]]] = {}

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
        """How a state becomes the next."""
        return self._settings.integrator

    @property
    def inputs(self) -> int:
        """How many numbers `inputs` has for each step."""
        return self._settings.inputs

    @property
    def dtype(self) -> np.dtype:
        """The precision of all numbers."""
        return self._dtype

    def rollout(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        inputs: ArrayLike | None = None,
        *,
        steps: int = 1000,
        every: int = 1,
        record: Any = ("q", "qd"),
        threads: int | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        out: Mapping[str, Array] | None = None,
    ) -> Run:
        """So many steps from each of a batch of states, recorded after every `every`-th of them.

        - `q` (…, nq), `qd` (…, nv): the states at the beginning.
        - `inputs` (k,) constant, or (…, T, k) where T divides `steps`, each held over steps / T of them.
        - `record`: names, functions `f(t, q, qd, u, robot)`, or a mapping of names to them.
        - `parameters`: arrays (…, size) for all that the simulation declares.
        - `start`: steps that were taken before, for the time that laws see.
        - `out`: arrays for records by name.
        """
        where = "rollout"
        steps, every = whole_number(steps, f"{where}: steps"), whole_number(every, f"{where}: every")
        start = whole_number(start, f"{where}: start", 0)
        if steps % every:
            raise PhalanxError(f"{where}: every={every} does not divide steps={steps}.")
        asked = entries(record, self.robot)
        given = checked(where, self._settings, self._dtype, q, qd, inputs, parameters, steps)
        built, shapes = self._built(asked)
        with memory_for(where, "take the simulations in several batches, or record fewer steps"):
            records = self._places(given.batch, asked, shapes, steps // every, out)
            final = self._run(built, given, records, steps, every, start, threads)
        finite = np.isfinite(final[0]).all(axis=-1) & np.isfinite(final[1]).all(axis=-1)
        time = self.dt * (start + every * np.arange(1, steps // every + 1))
        shown_records = {
            name: array.reshape((*given.batch, steps // every, *shapes[name])) for name, array in records.items()
        }
        return Run(time, final, ~finite, shown_records if out is None else dict(out), start + steps)

    def step(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        inputs: ArrayLike | None = None,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """The states (q, qd) after one step; `inputs` (…, k) are those of each state."""
        if inputs is not None and np.ndim(inputs) > 1:
            inputs = np.asarray(inputs)[..., None, :]
        given = checked("step", self._settings, self._dtype, q, qd, inputs, parameters, 1)
        start = whole_number(start, "step: start", 0)
        return self._run(self._built({})[0], given, {}, 1, 1, start, threads)

    def bind(
        self,
        q: Array,
        qd: Array,
        inputs: Array | None = None,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        steps: int = 1,
    ) -> Bound:
        """A function without arguments that takes so many steps and leaves the state in these very arrays.

        For loops in real time: set `inputs` in place, call, read `q` and `qd` in place. Time goes on.
        """
        steps = whole_number(steps, "bind: steps")
        for label, array in (("q", q), ("qd", qd)):
            if not isinstance(array, np.ndarray) or array.dtype != self._dtype or not array.flags.carray:
                told_of = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                raise PhalanxError(
                    f"bind: {label} is {told_of}, expected a C-contiguous, writeable array of {self._dtype}."
                )
        if np.may_share_memory(q, qd):
            raise PhalanxError("bind: q and qd share memory; pass arrays of their own.")
        rows = None if inputs is None else inputs[..., None, :] if isinstance(inputs, np.ndarray) else inputs
        given = checked("bind", self._settings, self._dtype, q, qd, rows, parameters, steps)
        if inputs is not None and not np.may_share_memory(given.inputs, inputs):
            raise PhalanxError(f"bind: inputs must be a C-contiguous array of {self._dtype}, to be read in place.")
        if q.shape[:-1] != given.batch or qd.shape[:-1] != given.batch:
            raise PhalanxError(f"bind: q {q.shape} and qd {qd.shape} do not have the whole batch {given.batch}.")
        q[...] = given.q
        count = np.zeros(1, self._dtype)
        built, _ = self._built({})
        arrays, cores = self._operands(given, count)
        arrays, cores = [q, qd, *arrays[2:]], [*cores, 1, 1, 1]
        ticks = np.zeros((*given.batch, 1), self._dtype)
        arrays[2] = ticks
        return built.bound([*arrays, q, qd, ticks], cores, (steps, steps, given.hold))

    # ------------------------------------------------------------- compiled code

    @cached_property
    def _next(self) -> tuple[Step, Next]:
        """The scalars of one step, traced once."""
        step = Step(self._settings)
        return step, INTEGRATORS[self._settings.integrator](step)

    def _built(self, asked: Mapping[str, Any]) -> tuple[Rollout, dict[str, tuple[int, ...]]]:
        key = tuple(asked.items())
        found = self._compiled.get(key)
        if found is None:
            with building:
                found = self._compiled.get(key) or self._compile(asked)
                self._compiled[key] = found
        return found

    def _compile(self, asked: Mapping[str, Any]) -> tuple[Rollout, dict[str, tuple[int, ...]]]:
        repeated = self._repeated(asked)
        shapes = {name: array.shape for name, array in repeated.records.items()}
        return compiled(told(repeated), "rollout", self._dtype), shapes

    def _repeated(self, asked: Mapping[str, Any]) -> Repeated:
        step, after = self._next
        s = self._settings
        last = {"tau": after.tau, "qdd": after.qdd}
        return Repeated(
            dt=s.dt,
            state={"q": after.q, "qd": after.qd},
            held={"u": s.inputs} if s.inputs else {},
            fixed={"parameters": s.packed} if s.packed else {},
            shown={name: last[name] for name in SHOWN if name in asked.values()},
            records=recorded(step, asked),
        )

    def _operands(self, given: Arguments, count: np.ndarray) -> tuple[list[np.ndarray], list[int]]:
        s = self._settings
        arrays, cores = [given.q, given.qd, count], [1, 1, 1]
        if s.packed:
            arrays.append(given.parameters)
            cores.append(1)
        if s.inputs:
            arrays.append(given.inputs)
            cores.append(2)
        return arrays, cores

    def _run(
        self,
        built: Rollout,
        given: Arguments,
        records: Mapping[str, np.ndarray],
        steps: int,
        every: int,
        start: int,
        threads: int | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fill records and return the state after the last step, in calls of bounded length."""
        batch, s = given.batch, self._settings
        count = available_threads() if threads is None else positive(threads, "threads")
        final = [empty_result((*batch, n), self._dtype) for n in (s.robot.nq, s.robot.nv, 1)]
        if not all(a.size for a in final):
            return final[0], final[1]
        many = max(1, _AT_ONCE // max(1, int(np.prod(batch))))
        piece = self._piece(steps, every, given.hold, many)
        state = [given.q, given.qd, np.full(1, start, self._dtype)]
        for first in range(0, steps, piece):
            stop = min(first + piece, steps)
            arrays, cores = self._operands(given, state[2])
            arrays[:2] = state[:2]
            if s.inputs:
                arrays[-1] = given.inputs[..., first // given.hold : -(-stop // given.hold), :]
            rows = [a[..., first // every : stop // every, :] for a in records.values()]
            made = [np.empty_like(a) for a in final]
            built.fill(
                [*arrays, *made, *rows],
                [*cores, 1, 1, 1, *[2] * len(rows)],
                (stop - first, every, given.hold),
                count,
            )
            state = made
        return state[0], state[1]

    @staticmethod
    def _piece(steps: int, every: int, hold: int, many: int) -> int:
        """Steps of one call: whole records, and inputs that begin with it."""
        unit = int(np.lcm(every, hold)) if hold < steps else every
        return min(steps, max(unit, many // unit * unit))

    def _places(
        self,
        batch: tuple[int, ...],
        asked: Mapping[str, Any],
        shapes: Mapping[str, tuple[int, ...]],
        rows: int,
        out: Mapping[str, Array] | None,
    ) -> dict[str, np.ndarray]:
        made = {}
        for name in asked:
            size = int(np.prod(shapes[name]))
            if out is None:
                made[name] = empty_result((*batch, rows, size), self._dtype)
                continue
            wanted = (*batch, rows, *shapes[name])
            array = out.get(name) if isinstance(out, Mapping) else None
            if not isinstance(array, np.ndarray) or array.shape != wanted or array.dtype != self._dtype:
                got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else shown(array)
                raise PhalanxError(
                    f"rollout: out[{name!r}] is {got}, expected an array of {self._dtype} with shape {wanted}."
                )
            if not array.flags.carray:
                raise PhalanxError(f"rollout: out[{name!r}] must be C-contiguous and writeable.")
            made[name] = array.reshape((*batch, rows, size))
        return made

    # ------------------------------------------------------------- about it

    @property
    def compile_seconds(self) -> float:
        """Time that building took so far, tracing apart."""
        return sum(built.seconds for built, _ in self._compiled.values())

    def llvm_ir(self, record: Any = ("q", "qd")) -> str:
        """The LLVM text of a rollout."""
        return self._built(entries(record, self.robot))[0].text

    def __repr__(self) -> str:
        name = printable(self.robot.name)
        return f'<Simulation of "{name}": {self.integrator}, dt = {self.dt:g} s, {self._dtype}>'

    def __reduce__(self) -> Any:
        return _again, (self.robot, self._given)


def _again(robot: Any, given: Mapping[str, Any]) -> Simulation:
    made: Simulation = robot.simulation(**given)
    return made
