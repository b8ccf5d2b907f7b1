# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The columns computed for every frame: functions of the library, and some only for recordings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS, FunctionSpec
from ..errors import PhalanxError, nearest, shown
from ..robot.robot import Robot
from .arguments import words_from
from .naming import coordinates, rates
from .source import Column

TORQUES = "inverse_dynamics"
ALIASES = {"torques": TORQUES, "energy": "kinetic_energy potential_energy", "limits": "limit_violations"}
STATE = ("q", "qd", "qdd", "tau")


class Frames:
    """Some frames of a robot, and the results computed for them: each kernel runs once.

    Results are in `memory` if it is given: recycled buffers, valid until the next frames reuse them.
    """

    def __init__(
        self,
        robot: Robot,
        state: Mapping[str, np.ndarray],
        dtype: np.dtype[Any],
        memory: dict[str, np.ndarray] | None = None,
    ) -> None:
        self.memory = memory
        self.robot, self.state, self.dtype = robot, state, dtype
        self.rows = len(next(iter(state.values())))
        self._done: dict[str, np.ndarray] = {}

    def call(self, function: str, frame: str | None = None) -> np.ndarray:
        """The result of a function of the library for all frames, computed once."""
        key = f"{function}.{frame}"
        if key not in self._done:
            kernel = kernel_of(self.robot, function, self.dtype, frame)
            inputs = [self.state[name] for name in FUNCTIONS[function].inputs]
            self._done[key] = np.asarray(kernel(*inputs, out=self._out(key, kernel)))
        return self._done[key]

    def _out(self, key: str, kernel: Any) -> np.ndarray | None:
        """A recycled buffer for a result: fresh pages would cost as much as the kernel of an arm."""
        if self.memory is None:
            return None
        shape = kernel._native.outputs[0]
        if key not in self.memory or len(self.memory[key]) < self.rows:
            self.memory[key] = np.empty((self.rows, *shape), self.dtype)
        return self.memory[key][: self.rows]


def kernel_of(robot: Robot, function: str, dtype: np.dtype[Any], frame: str | None = None) -> Any:
    """The kernel of a function, memoized by the robot."""
    more: dict[str, Any] = {"frame": frame} if frame is not None else {}
    made: Any = robot.kernel
    key = ("data", function, dtype.name, frame)
    return robot._memoized(key, lambda: made(function, dtype=dtype.name, **more))


@dataclass(frozen=True)
class ComputedColumn:
    """A column to compute: its name, shape and type, the state that it needs, and its function."""

    column: Column
    needs: tuple[str, ...]
    compute: Callable[[Frames], np.ndarray]


def results_of(
    robot: Robot, functions: Any, dtype: np.dtype[Any], frames: Sequence[str] = ()
) -> list[ComputedColumn]:
    """The columns of functions, in their order, each once."""
    found: dict[str, ComputedColumn] = {}
    for name in words_from(functions, "functions", f"names such as {TORQUES!r}"):
        for each in ALIASES.get(name, name).split():
            for result in _results(robot, each, dtype, frames):
                found.setdefault(result.column.name, result)
    if not found:
        raise PhalanxError(f"functions: none is asked for; expected some of {', '.join(known())}.")
    return list(found.values())


def needs_of(results: Sequence[ComputedColumn]) -> list[str]:
    """The quantities of the state that some columns are computed from; q at least."""
    return [q for q in STATE if any(q in r.needs for r in results)] or ["q"]


def known() -> list[str]:
    """The names of all functions that can be computed for recordings."""
    plain = [name for name, f in FUNCTIONS.items() if len(f.outputs) == 1 and set(f.inputs) <= set(STATE)]
    return [*plain, *_OWN, *ALIASES]


def _results(robot: Robot, name: str, dtype: np.dtype[Any], frames: Sequence[str]) -> list[ComputedColumn]:
    if name in _OWN:
        return _OWN[name](robot, dtype)
    spec = FunctionSpec.parse(name)
    f = FUNCTIONS.get(spec.function)
    more = spec.derivative or spec.optional or (spec.frame and not (f and f.frame))
    if f is None or more or len(f.outputs) != 1 or not set(f.inputs) <= set(STATE):
        raise PhalanxError(f"no function {shown(name)} of frames;{nearest(name, known(), what='known')}")
    if not f.frame:
        return [_plain(robot, name, name, dtype, None)]
    name, frames = spec.function, (spec.frame,) if spec.frame else frames
    if not frames:
        raise PhalanxError(
            f"{name}: of which frame? name one or more (--frame), such as {robot.frame_names[-1]!r}."
        )
    for frame in frames:
        robot.frame(frame)  # raises if there is none, with the nearest name
    return [_plain(robot, f"{name}.{frame}", name, dtype, frame) for frame in frames]


def _plain(
    robot: Robot, label: str, function: str, dtype: np.dtype[Any], frame: str | None
) -> ComputedColumn:
    f = FUNCTIONS[function]
    [sizes] = f.outputs.values()
    lengths = {"q": robot.nq, "v": robot.nv, "l": robot.n_links, "10l": 10 * robot.n_links}
    shape = tuple(lengths[s] if s in lengths else int(s) for s in sizes)
    names = tuple(rates(robot)) if sizes == ("v",) else ()
    column = Column(label, shape, dtype, names)
    return ComputedColumn(column, tuple(f.inputs), lambda frames: frames.call(function, frame))


def _power(robot: Robot, dtype: np.dtype[Any]) -> list[ComputedColumn]:
    """Power of each degree of freedom, force times rate."""
    column = Column("power", (robot.nv,), dtype, tuple(rates(robot)))
    return [ComputedColumn(column, ("q", "qd", "qdd"), lambda f: f.call(TORQUES) * f.state["qd"])]


def _residual(robot: Robot, dtype: np.dtype[Any]) -> list[ComputedColumn]:
    """Measured forces less computed ones."""
    column = Column("residual", (robot.nv,), dtype, tuple(rates(robot)))
    return [ComputedColumn(column, ("q", "qd", "qdd", "tau"), lambda f: f.state["tau"] - f.call(TORQUES))]


def _violations(robot: Robot, dtype: np.dtype[Any]) -> list[ComputedColumn]:
    """How far positions, rates and computed forces are beyond their limits; 0 within them."""
    limits = robot.limits
    lower, upper = limits.lower.astype(dtype), limits.upper.astype(dtype)
    rate, effort = limits.velocity.astype(dtype), limits.effort.astype(dtype)
    zero = dtype.type(0)

    def position(f: Frames) -> np.ndarray:
        return np.maximum(np.maximum(lower - f.state["q"], f.state["q"] - upper), zero)

    def velocity(f: Frames) -> np.ndarray:
        return np.maximum(np.abs(f.state["qd"]) - rate, zero)

    def force(f: Frames) -> np.ndarray:
        return np.maximum(np.abs(f.call(TORQUES)) - effort, zero)

    at, of = tuple(coordinates(robot)), tuple(rates(robot))
    return [
        ComputedColumn(Column("limit_violations.position", (robot.nq,), dtype, at), ("q",), position),
        ComputedColumn(Column("limit_violations.velocity", (robot.nv,), dtype, of), ("qd",), velocity),
        ComputedColumn(Column("limit_violations.effort", (robot.nv,), dtype, of), ("q", "qd", "qdd"), force),
    ]


_OWN: dict[str, Callable[[Robot, np.dtype[Any]], list[ComputedColumn]]] = {
    "power": _power,
    "residual": _residual,
    "limit_violations": _violations,
}
