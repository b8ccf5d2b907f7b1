# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Simulation: a robot, a step of time and a law, compiled into one loop over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..arrays import empty_result, memory_for
from ..backends.base import available_threads, positive
from ..backends.native.locks import building
from ..backends.native.rollout import Rollout, compiled
from ..errors import PhalanxError, printable, shown
from ..typing import Array, ArrayLike, Bound
from .arguments import Arguments, Gradient, checked, checked_cotangents, checked_tangents, whole_number
from .derivatives import against, along
from .integrators import INTEGRATORS, Next
from .records import SHOWN, Run, entries, recorded
from .rollout import Repeated, backward, told
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
            name: array.reshape((*given.batch, steps // every, *shapes[name]))
            for name, array in records.items()
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
                told_of = (
                    f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                )
                raise PhalanxError(
                    f"bind: {label} is {told_of}, expected a C-contiguous, writeable array of {self._dtype}."
                )
        if np.may_share_memory(q, qd):
            raise PhalanxError("bind: q and qd share memory; pass arrays of their own.")
        rows = None if inputs is None else inputs[..., None, :] if isinstance(inputs, np.ndarray) else inputs
        given = checked("bind", self._settings, self._dtype, q, qd, rows, parameters, steps)
        if inputs is not None and not np.may_share_memory(given.inputs, inputs):
            raise PhalanxError(
                f"bind: inputs must be a C-contiguous array of {self._dtype}, to be read in place."
            )
        if q.shape[:-1] != given.batch or qd.shape[:-1] != given.batch:
            raise PhalanxError(
                f"bind: q {q.shape} and qd {qd.shape} do not have the whole batch {given.batch}."
            )
        q[...] = given.q
        count = np.zeros(1, self._dtype)
        built, _ = self._built({})
        arrays, cores = self._operands(given, count)
        arrays, cores = [q, qd, *arrays[2:]], [*cores, 1, 1, 1]
        ticks = np.zeros((*given.batch, 1), self._dtype)
        arrays[2] = ticks
        return built.bound([*arrays, q, qd, ticks], cores, (steps, steps, given.hold))

    # ------------------------------------------------------------- derivatives

    def linearize(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        inputs: ArrayLike | None = None,
        *,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """A (…, 2 nv, 2 nv) and B (…, 2 nv, k) of one step, exact, in the tangent space of q.

        A change [dq; dqd] of the state and du of the inputs (…, k) become A [dq; dqd] + B du: to first order
        the next state is `robot.integrate(q1, …)` of its upper half, and qd1 plus its lower half.
        """
        nv, k = self._settings.nv, self._settings.inputs
        if inputs is not None and np.ndim(inputs) > 1:
            inputs = np.asarray(inputs)[..., None, :]
        given = checked("linearize", self._settings, self._dtype, q, qd, inputs, parameters, 1)
        eye = np.eye(2 * nv + k, dtype=self._dtype)
        parts = eye[:, :nv], eye[:, nv : 2 * nv], eye[:, None, 2 * nv :]
        wide = given.spread()
        moved = self._along(wide, parts, None, 1, 1, start, threads)[0]
        columns = np.concatenate([each[..., 0, :] for each in moved], axis=-1)
        both = np.ascontiguousarray(np.swapaxes(columns, -1, -2))
        return both[..., : 2 * nv], both[..., 2 * nv :]

    def jvp(
        self,
        inputs: Sequence[ArrayLike | None],
        tangents: Sequence[ArrayLike | None],
        *,
        steps: int = 1,
        every: int | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        parameter_tangents: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> tuple[Array, Array]:
        """The derivative (dq, dqd), (…, nv) each, of the state after so many steps along tangents.

        `inputs` are (q, qd) or (q, qd, inputs) of a rollout, `tangents` one for each or None: that of q is in
        the tangent space. With `every`, the derivatives of all records, (…, T, nv) each.
        """
        where, s = "jvp", self._settings
        (q, qd, u), (dq, dqd, du) = _three(where, "inputs", inputs), _three(where, "tangents", tangents)
        steps, each = self._counts(where, steps, every)
        given = checked(where, s, self._dtype, q, qd, u, parameters, steps)
        rates = checked_tangents(where, s, self._dtype, (dq, dqd, du), given, parameter_tangents)
        records, final = self._along(given, rates[:3], rates[3], steps, each, start, threads)
        made = final if every is None else records
        return made[0], made[1]

    def vjp(
        self,
        inputs: Sequence[ArrayLike | None],
        cotangents: Sequence[ArrayLike | None],
        *,
        steps: int = 1,
        every: int | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: int = 0,
        threads: int | None = None,
    ) -> Gradient:
        """The derivatives of the state after so many steps times cotangents, with respect to all that enters.

        `inputs` are (q, qd) or (q, qd, inputs) of a rollout; `cotangents` (…, nv) for q, in the tangent space,
        and for qd, or None. With `every`, those of all records, (…, T, nv) each. The states of all steps are
        kept meanwhile. The result has `q`, `qd` (…, nv), `inputs` as they were given, and `parameters` by name.
        """
        where, s = "vjp", self._settings
        (q, qd, u), weights = (
            _three(where, "inputs", inputs),
            _three(where, "cotangents", [*cotangents, None]),
        )
        steps, each = self._counts(where, steps, every)
        start = whole_number(start, f"{where}: start", 0)
        given = checked(where, s, self._dtype, q, qd, u, parameters, steps)
        rows = checked_cotangents(
            where, s, self._dtype, weights[:2], given.batch, steps // each, every is not None
        )
        return self._against(given, rows, steps, each, start, threads).shaped(s, u, given.hold)

    def _counts(self, where: str, steps: Any, every: Any) -> tuple[int, int]:
        steps = whole_number(steps, f"{where}: steps")
        each = steps if every is None else whole_number(every, f"{where}: every")
        if steps % each:
            raise PhalanxError(f"{where}: every={every} does not divide steps={steps}.")
        return steps, each

    def _along(
        self,
        given: Arguments,
        rates: tuple[np.ndarray, np.ndarray, np.ndarray],
        more: np.ndarray | None,
        steps: int,
        every: int,
        start: int,
        threads: int | None,
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Derivatives along tangents at each record, and at the end."""
        s, d = self._settings, self._dtype
        built = self._derived("along", lambda: told(along(*self._next)))
        batch = np.broadcast_shapes(
            given.batch, rates[0].shape[:-1], rates[1].shape[:-1], rates[2].shape[:-2]
        )
        arrays = [given.q, given.qd, *rates[:2], np.full(1, whole_number(start, "start", 0), d)]
        cores = [1] * 5
        if s.packed:
            arrays += [given.parameters, np.zeros(s.packed, d) if more is None else more]
            cores += [1, 1]
        if s.inputs:
            du = rates[2]
            if du.shape[-2] != given.inputs.shape[-2]:
                du = np.repeat(du, given.inputs.shape[-2] // du.shape[-2], axis=-2)
            arrays += [given.inputs, du]
            cores += [2, 2]
        final = [np.empty((*batch, n), d) for n in (s.robot.nq, s.nv, s.nv, s.nv, 1)]
        records = [np.empty((*batch, steps // every, s.nv), d) for _ in range(2)]
        self._fill(
            built, [*arrays, *final, *records], [*cores, *[1] * 5, 2, 2], (steps, every, given.hold), threads
        )
        return records, final[2:4]

    def _against(
        self,
        given: Arguments,
        rows: tuple[np.ndarray, np.ndarray],
        steps: int,
        every: int,
        start: int,
        threads: int | None,
    ) -> Gradient:
        s, d, batch = self._settings, self._dtype, given.batch
        with memory_for("vjp", "take fewer steps at once, or fewer simulations"):
            trail = self._trail(given, steps, start, threads)
            built = self._derived("against", lambda: backward(against(*self._next)))
            arrays, cores = [np.full(1, start + steps, d)], [1]
            if s.packed:
                arrays.append(given.parameters)
                cores.append(1)
            if s.inputs:
                arrays.append(given.inputs)
                cores.append(2)
            sizes = [s.nv, s.nv, *([s.packed] if s.packed else [])]
            made = [np.empty((*batch, n), d) for n in sizes]
            slopes = [np.empty((*batch, steps, s.inputs), d)] if s.inputs else []
            self._fill(
                built,
                [*arrays, *trail, *rows, *made, *slopes],
                [*cores, 2, 2, 2, 2, *[1] * len(made), *[2] * len(slopes)],
                (steps, every, given.hold),
                threads,
            )
        return Gradient(made[0], made[1], slopes[0] if slopes else None, {"": made[2]} if s.packed else {})

    def _trail(self, given: Arguments, steps: int, start: int, threads: int | None) -> list[np.ndarray]:
        """The states before each step."""
        s, d, batch = self._settings, self._dtype, given.batch
        trail = [np.empty((*batch, steps, n), d) for n in (s.robot.nq, s.nv)]
        for array, first in zip(trail, (given.q, given.qd), strict=True):
            array[..., 0, :] = first
        if steps > 1:
            built, _ = self._built({"q": "q", "qd": "qd"})
            # The last step's result is not needed, but inputs are for all of them.
            records = {
                name: np.empty((*batch, steps, a.shape[-1]), d) for name, a in zip("qv", trail, strict=True)
            }
            self._run(built, given, records, steps, 1, start, threads)
            for array, made in zip(trail, records.values(), strict=True):
                array[..., 1:, :] = made[..., :-1, :]
        return trail

    def _derived(self, kind: str, program: Callable[[], Any]) -> Rollout:
        with building:
            if kind not in self._compiled:
                self._compiled[kind] = compiled(program(), f"rollout_{kind}", self._dtype), {}
            return self._compiled[kind][0]

    def _fill(
        self,
        built: Rollout,
        arrays: list[np.ndarray],
        cores: list[int],
        sizes: tuple[int, int, int],
        threads: int | None,
    ) -> None:
        count = available_threads() if threads is None else positive(threads, "threads")
        if all(a.size for a in arrays):
            built.fill(arrays, cores, sizes, count)

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


def _three(where: str, label: str, given: Any) -> tuple[Any, Any, Any]:
    if not isinstance(given, (tuple, list)) or not 2 <= len(given) <= 3:
        raise PhalanxError(f"{where}: {label} is {shown(given)}, expected (q, qd) or (q, qd, inputs).")
    q, qd, *rest = given
    return q, qd, rest[0] if rest else None


def _again(robot: Any, given: Mapping[str, Any]) -> Simulation:
    made: Simulation = robot.simulation(**given)
    return made
