# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a rollout records: names that users may request, their own functions, and the record that they get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS, FunctionSpec
from ..errors import PhalanxError, listing, nearest, shown, warn
from ..program.graph import symbols
from ..robot.robot import Robot
from ..tracing.arrays import Traced
from ..tracing.equations import TracedRobot
from ..typing import Array
from .integrators import names
from .laws import run_function
from .step import Settings, Step

Entry = str | Callable[..., Any]

_STATE = ("q", "qd")
SHOWN = ("tau", "qdd")  # of the step that has just ended
OF_CONSTRAINTS = {
    "contact_forces": "rigid contacts",
    "contact_residual": "rigid contacts, limits or dry friction",
    "constraint_forces": "loops that steps hold by impulses",
}
_ENERGY = "energy"
LONG = 200  # bodies beyond which steps are taken one by one, by explicit integrators alone
_OF_STATE = [name for name, f in FUNCTIONS.items() if set(f.inputs) <= set(_STATE) and len(f.outputs) == 1]
_PLAIN = [name for name in _OF_STATE if not FUNCTIONS[name].frame]
_FRAMED = [name for name in _OF_STATE if FUNCTIONS[name].frame]
NAMES = [*_STATE, *SHOWN, *OF_CONSTRAINTS, _ENERGY, *_PLAIN, *(f"{name}:FRAME" for name in _FRAMED)]


def entries(record: Any, robot: Robot) -> dict[str, Entry]:
    """The requested records by name, from a name, a tuple of names and functions, or a mapping."""
    if isinstance(record, Mapping):
        requested = dict(record)
    else:
        several = (record,) if isinstance(record, str) or callable(record) else record
        try:
            named = [(each if isinstance(each, str) else _name(each), each) for each in several]
        except TypeError:
            raise PhalanxError(
                f"record: got {shown(record)}, expected names, functions, or a mapping of names to them."
            ) from None
        requested = {}
        for name, each in named:
            if requested.setdefault(name, each) is not each and requested[name] != each:
                raise PhalanxError(
                    f"record: two functions are called {name!r}; give them names of their own: "
                    f'record={{"one": function, "other": function}}.'
                )
    for name, entry in requested.items():
        if not isinstance(name, str):
            raise PhalanxError(f"record: the name {shown(name)} is no word.")
        if not callable(entry):
            _check(entry, robot)
    return requested


def _name(function: Any) -> str:
    name = getattr(function, "__name__", "")
    if not callable(function):
        raise PhalanxError(
            f"record: got {shown(function)}, expected a name or a function;{nearest('', NAMES)}"
        )
    if not name.isidentifier():
        raise PhalanxError('record: a function without a name; give it one: record={"name": function}.')
    return str(name)


def _check(entry: Any, robot: Robot) -> None:
    if isinstance(entry, str):
        spec = FunctionSpec.parse(entry)
        if spec.is_plain and spec.function in _OF_STATE:
            if spec.frame:
                robot.frame(spec.frame)
            return
        if entry in (*_STATE, *SHOWN, *OF_CONSTRAINTS, _ENERGY):
            return
    raise PhalanxError(f"record: unknown name {shown(entry)};{nearest(entry, NAMES, what='names')}")


def recorded(
    step: Step, requested: Mapping[str, Entry], last: Mapping[str, tuple[int, ...]]
) -> dict[str, np.ndarray]:
    """The scalars of each record, functions of the state that a step leaves behind.

    `last` are the shapes of what is known of that step besides.
    """
    return {name: _scalars(step, name, entry, last) for name, entry in requested.items()}


def _scalars(step: Step, name: str, entry: Entry, last: Mapping[str, tuple[int, ...]]) -> np.ndarray:
    of = step.equations
    if callable(entry):
        given = [Traced(np.asarray(x, dtype=object)) for x in (step.time, step.q, step.qd, step.u)]
        own = {label: Traced(value) for label, value in step.parameters.items()}
        return run_function(entry, given, TracedRobot(of), own, where=f'record "{name}"')
    if entry in (*SHOWN, *OF_CONSTRAINTS):
        if entry not in last:
            raise PhalanxError(
                f'record: "{entry}" is of {OF_CONSTRAINTS[entry]}, which this simulation lacks.'
            )
        return symbols(step.graph, entry, last[entry])
    if entry in _STATE:
        return step.q if entry == "q" else step.qd
    if entry == _ENERGY:
        total = of("kinetic_energy", step.q, step.qd) + of("potential_energy", step.q)
        return np.asarray(total, dtype=object)
    spec = FunctionSpec.parse(entry)
    inputs = [step.q if label == "q" else step.qd for label in FUNCTIONS[spec.function].inputs]
    return np.asarray(of(spec.function, *inputs, frame=spec.frame), dtype=object)


def has_diverged(q: np.ndarray, qd: np.ndarray, qdd: Sequence[np.ndarray], bound: float) -> np.ndarray:
    """Which simulations (…,) have numbers that are not finite, or rates or accelerations above a bound."""
    good = np.isfinite(q).all(axis=-1)
    for rates in (qd, *qdd):
        good = good & _within(rates, bound)
    return np.asarray(~good)


def _within(array: np.ndarray, bound: float) -> np.ndarray:
    """Whether all numbers of the last axis are below a bound; NaN is not."""
    most = np.abs(array).max(axis=-1, initial=0.0)
    return np.asarray((most <= bound) & (most < np.inf))


def warn_diverged(diverged: np.ndarray, s: Settings, q: Any = None, qd: Any = None) -> None:
    """One warning with the count of simulations that have diverged, and what to look at first."""
    if not (count := int(np.count_nonzero(diverged))):
        return
    first = np.argwhere(diverged)[:5].tolist()
    listed = ", ".join(str(at[0] if len(at) == 1 else tuple(at)) for at in first) if diverged.ndim else ""
    which = f", the first at {listed}" if listed else ""
    reasons = []
    if any(x is not None and not np.isfinite(np.asarray(x, dtype=float)).all() for x in (q, qd)):
        reasons.append("states at the start that are not finite")
    if not s.stiff and s.robot.model.n <= LONG:
        reasons.append(
            f'integrator "{s.integrator}", where {listing(names(stiff=True))} stays stable with stiff gains '
            "and contacts"
        )
    reasons.append(f"dt = {s.dt:g} s, too long for what is stiff or fast")
    if s.control is not None:
        reasons.append("gains of the law, or a sign in it")
    if s.forces:
        reasons.append("stiffness and damping of forces")
    reasons.append("masses and moments that are nearly zero")
    warn(
        f'rollout: {count:,} of {diverged.size:,} simulations of robot "{s.robot.name}" diverged{which}: '
        f"numbers that are not finite, or rates or accelerations beyond {s.divergence:g}. Look first at "
        f"{'; '.join(reasons)}."
    )


@dataclass(frozen=True, eq=False)
class Run(Mapping[str, Array]):
    """What a rollout has recorded: `run.q`, `run["q"]` (…, T, nq), the times (T,), and the state at its end.

    `diverged` (…,) says which simulations have left the finite numbers, or end with rates beyond the bound
    of the simulation; with accelerations too, if these are recorded.
    """

    time: Array
    final: tuple[Array, Array]
    diverged: Array
    records: Mapping[str, Array]
    steps: int  # since the clock stood at zero: pass it as `start` to go on

    def __getitem__(self, name: str) -> Array:
        try:
            return self.records[name]
        except KeyError:
            raise KeyError(
                f"{name!r} was not recorded;{nearest(name, self.records, what='recorded')}"
            ) from None

    def __getattr__(self, name: str) -> Array:
        if name.startswith("__") or name == "records":
            raise AttributeError(name)
        if name not in self.records:
            known = nearest(name, self.records, what="recorded")
            raise AttributeError(f"{name!r} was not recorded;{known}")
        return self.records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} {array.shape}" for name, array in self.records.items())
        bad = int(np.count_nonzero(self.diverged))
        return (
            f"<Run of {len(self.time)} records: {listed or 'none'}; {bad} of {self.diverged.size} diverged>"
        )
