# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What users pass to a simulation, checked: states, controls over time, parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..arrays import (
    MOST_AXES,
    UNREADABLE,
    common_batch,
    is_masked_array,
    memory_for,
    real_array,
    require_shape,
)
from ..errors import PhalanxError, nearest, shown
from ..robot.checks import require_masses
from .rollout import AGE
from .step import Settings

_COUNTED = 1 << 45  # steps, at most
_BINDABLE = "a C-contiguous, writeable array"


@dataclass(frozen=True)
class Span:
    """The steps of a rollout: their number, the steps between records, and the index of the first."""

    steps: int
    every: int
    start: int = 0
    threads: int | None = None

    @property
    def rows(self) -> int:
        """The number of records."""
        return self.steps // self.every

    def sizes(self, hold: int) -> tuple[int, int, int]:
        """The runtime sizes of compiled code: steps, steps of a record, steps of an input."""
        return self.steps, self.every, hold

    def pieces(self, hold: int, most: int) -> Iterator[tuple[int, int]]:
        """First and last steps of calls of at most some length.

        Each covers complete records or lies inside one, and begins with an input or lies inside one.
        """
        both, first, most = math.lcm(self.every, hold), 0, max(1, most)
        while first < self.steps:
            stop = min(self.steps, first + most)
            if not first % both and stop - first >= both:
                stop -= (stop - first) % both
            elif first % hold:
                stop = min(stop, first - first % hold + hold)
            if not first % self.every and stop - first >= self.every:
                stop -= (stop - first) % self.every
            else:
                stop = min(stop, first - first % self.every + self.every)
            yield first, stop
            first = stop


def require_countable(where: str, span: Span, dtype: np.dtype | None = None) -> None:
    """Raise at more steps than one call of compiled code takes; in double precision it counts any number."""
    if span.steps > AGE and dtype != np.float64:
        more = "; take fewer at once" + ', or dtype="float64"' * (dtype is not None)
        raise PhalanxError(f"{where}: steps: got {span.steps}, expected at most {AGE}{more}.")


def span_of(where: str, steps: Any, every: Any, start: Any, threads: int | None) -> Span:
    """Numbers of steps, checked; without `every`, the only record is that of the end."""
    steps = integer_of(steps, f"{where}: steps", most=_COUNTED)
    each = steps if every is None else integer_of(every, f"{where}: every")
    if steps % each:
        raise PhalanxError(f"{where}: every={every} does not divide steps={steps}.")
    return Span(steps, each, integer_of(start, f"{where}: start", 0, _COUNTED), threads)


@dataclass(frozen=True)
class Arguments:
    """Arrays as compiled code takes them, and the batch to which they broadcast."""

    q: np.ndarray
    qd: np.ndarray
    controls: np.ndarray  # (…, rows, k)
    parameters: np.ndarray  # (…, all of them)
    batch: tuple[int, ...]
    hold: int

    def finer(self, rows: int) -> Arguments:
        """These arguments with at least `rows` rows of controls, each held over fewer steps."""
        times = math.lcm(rows, self.controls.shape[-2]) // self.controls.shape[-2]
        return replace(self, controls=np.repeat(self.controls, times, axis=-2), hold=self.hold // times)

    def apart_from(self, others: Iterable[np.ndarray]) -> Arguments:
        """These arguments, with copies of arrays that share memory with the outputs."""
        others = list(others)
        own = {name: getattr(self, name) for name in ("q", "qd", "controls", "parameters")}
        copies = {n: a.copy() for n, a in own.items() if any(np.may_share_memory(a, b) for b in others)}
        return replace(self, **copies)

    def spread(self) -> Arguments:
        """The arguments with one more batch axis, of length one, behind the others."""
        _require_axes("linearize", [self.batch], MOST_AXES - 1)
        far = [a[..., None, :] for a in (self.q, self.qd, self.parameters)]
        return Arguments(far[0], far[1], self.controls[..., None, :, :], far[2], (*self.batch, 1), self.hold)


@dataclass(frozen=True)
class Gradient:
    """Derivatives of a rollout's result times cotangents."""

    q: np.ndarray
    qd: np.ndarray
    controls: np.ndarray | None
    parameters: dict[str, np.ndarray]


def gradient(
    s: Settings, made: list[np.ndarray], slopes: np.ndarray | None, given: Any, hold: int
) -> Gradient:
    """The gradient of a rollout: controls summed over the steps that they were held, parameters by name."""
    if slopes is not None:
        if given is None or np.ndim(given) < 2:
            slopes = slopes.sum(axis=-2)
        else:
            *batch, steps, k = slopes.shape
            slopes = slopes.reshape((*batch, steps // hold, hold, k)).sum(axis=-2)
    parameters, first = {}, 0
    for name, shape in s.parameters.items():
        count = int(np.prod(shape))
        flat = made[2][..., first : first + count]
        parameters[name] = flat.reshape((*flat.shape[:-1], *shape))
        first += count
    return Gradient(made[0], made[1], slopes, parameters)


def checked(
    where: str, s: Settings, dtype: np.dtype, q: Any, qd: Any, controls: Any, parameters: Any, steps: int
) -> Arguments:
    """The arguments of a rollout, or an error that says what is wrong."""
    robot = s.robot
    state = [
        _array(f"{where}: {label}", robot.name, value, (size,), f"{symbol} = {size}")
        for label, value, size, symbol in (("q", q, robot.nq, "nq"), ("qd", qd, robot.nv, "nv"))
    ]
    packed = _parameters(where, s, parameters)
    given = _controls(where, s, controls, steps, _batches([*state, packed]))
    if "inertias" in s.parameters:
        inertias = np.asarray(parameters["inertias"], float)
        require_masses(f"{where}: parameter 'inertias'", inertias, robot.link_names, robot.name)
    arrays = {"q": (state[0], 1), "qd": (state[1], 1), "controls": (given, 2), "parameters": (packed, 1)}
    batches = {name: a.shape[: a.ndim - core] for name, (a, core) in arrays.items()}
    _require_axes(where, batches.values())
    batch = common_batch(batches, where, f' for robot "{robot.name}"')
    plain = [_plain(a, core, dtype) for a, core in arrays.values()]
    return Arguments(plain[0], plain[1], plain[2], plain[3], batch, steps // given.shape[-2])


def checked_tangents(
    where: str, s: Settings, dtype: np.dtype, given: Any, at: Arguments, parameters: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Tangents of state, controls and parameters; zeros where there are none."""
    made = []
    for label, value in zip(("q", "qd"), given[:2], strict=True):
        zero = np.zeros(s.nv)
        array = (
            zero
            if value is None
            else _array(f"{where}: the tangent of {label}", s.robot.name, value, (s.nv,), f"nv = {s.nv}")
        )
        made.append(_plain(array, 1, dtype))
    steps = at.controls.shape[-2] * at.hold
    du = _controls(f"{where}: the tangent", s, given[2], steps, (at.batch,))
    label = f"{where}: the tangent"
    more = np.zeros(s.packed) if parameters is None else _parameters(label, s, parameters)
    _require_batch(where, at.batch, [made[0].shape[:-1], made[1].shape[:-1], du.shape[:-2], more.shape[:-1]])
    return made[0], made[1], _plain(du, 2, dtype), _plain(more, 1, dtype)


def checked_cotangents(
    where: str, s: Settings, dtype: np.dtype, given: Any, batch: tuple[int, ...], rows: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Cotangents of each record, those of one at the end included."""
    made = []
    size = (s.nv,) if rows is None else (rows, s.nv)
    for label, value in zip(("q", "qd"), given, strict=True):
        name = f"{where}: the cotangent of {label}"
        array = np.zeros(size) if value is None else _array(name, s.robot.name, value, size, f"nv = {s.nv}")
        made.append(_plain(array[..., None, :] if rows is None else array, 2, dtype))
    _require_batch(where, batch, [a.shape[:-2] for a in made])
    return made[0], made[1]


def _require_axes(where: str, batches: Iterable[tuple[int, ...]], most: int = MOST_AXES) -> None:
    axes = max(map(len, batches))
    if axes > most:
        raise PhalanxError(f"{where}: {axes} batch axes, expected at most {most}; reshape them.")


def _require_batch(where: str, batch: tuple[int, ...], others: list[tuple[int, ...]]) -> None:
    _require_axes(where, others)
    try:
        np.broadcast_shapes(batch, *others)
    except ValueError:
        raise PhalanxError(f"{where}: the batch shapes {[batch, *others]} do not broadcast.") from None


def _array(where: str, robot: str, value: Any, size: tuple[int, ...], reason: str) -> np.ndarray:
    array = real_array(value, where, robot)
    require_shape(array.shape, size, where, f' for robot "{robot}" ({reason})')
    return array


def _batches(arrays: Iterable[np.ndarray]) -> tuple[tuple[int, ...], ...]:
    """The batch of each of some arrays (…, k), and of all of them if they broadcast."""
    each = tuple(a.shape[:-1] for a in arrays)
    try:
        return (*each, np.broadcast_shapes(*each))
    except (ValueError, RuntimeError):  # the latter of more axes than NumPy broadcasts
        return each


def _controls(
    where: str, s: Settings, controls: Any, steps: int, states: tuple[tuple[int, ...], ...]
) -> np.ndarray:
    if controls is None:
        return np.zeros((1, s.controls))
    k = s.controls
    array = real_array(controls, f"{where}: controls", s.robot.name)
    if array.ndim == 0 or array.shape[-1] != k:
        raise PhalanxError(
            f"{where}: controls have shape {array.shape}, expected ({k},) or (…, T, {k}): this simulation of "
            f'robot "{s.robot.name}" takes {k} numbers a step; `robot.simulation(controls=…)` changes that.'
        )
    if array.ndim == 1:
        return array[None]
    if array.shape[:-1] in states and math.prod(array.shape[:-1]) > 1:
        raise PhalanxError(
            f"{where}: controls have shape {array.shape}, and the simulations the batch {array.shape[:-1]}: "
            "that is a row for each simulation or a row for each time; say which: controls[..., None, :] "
            "holds a row in each simulation, controls[None] gives all of them the same rows in time."
        )
    rows = array.shape[-2]
    if rows == 0 or steps % rows:
        raise PhalanxError(
            f"{where}: controls have shape {array.shape}: {rows} rows do not divide {steps} steps; expected "
            f"(…, T, {k}) where T divides the steps. What is constant for each simulation has T = 1: "
            "controls[..., None, :]."
        )
    return array


def _parameters(where: str, s: Settings, given: Any) -> np.ndarray:
    if given is not None and not isinstance(given, Mapping):
        raise PhalanxError(f"{where}: parameters is {shown(given)}, expected a mapping of names to arrays.")
    given = dict(given or {})
    for name in given:
        if name not in s.parameters:
            raise PhalanxError(
                f"{where}: the simulation has no parameter {shown(name)};"
                f"{nearest(name, s.parameters, what='parameters') if s.parameters else ''}"
                " `robot.simulation(parameters={…})` declares them."
            )
    if not s.parameters:
        return np.zeros(0)
    if missing := [name for name in s.parameters if name not in given]:
        raise PhalanxError(f"{where}: the parameter {missing[0]!r} is missing; pass parameters={{…}}.")
    arrays = []
    for name, shape in s.parameters.items():
        array = _array(f"{where}: parameter {name!r}", s.robot.name, given[name], shape, "as declared")
        arrays.append(array.reshape((*array.shape[: array.ndim - len(shape)], int(np.prod(shape)))))
    own = {name: a.shape[:-1] for name, a in zip(s.parameters, arrays, strict=True)}
    batch = common_batch(own, where, " of parameters")
    with memory_for(f"{where}: the parameters", "use a smaller batch"):
        return np.concatenate([np.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays], axis=-1)


def _plain(array: np.ndarray, core: int, dtype: np.dtype) -> np.ndarray:
    """An array of just that dtype whose last `core` axes are contiguous."""
    if array.dtype != dtype or not array.flags.aligned:
        array = array.astype(dtype)
    array = as_plain(array, dtype)
    step = dtype.itemsize
    for n, stride in zip(array.shape[::-1][:core], array.strides[::-1][:core], strict=True):
        if n > 1 and stride != step:
            return np.ascontiguousarray(array)
        step *= n
    return array


def as_plain(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The same memory as NumPy's own kind of array with the very object `dtype`.

    Compiled code knows dtypes by their address; unpickled arrays have equal ones at another.
    """
    array = np.asarray(array)
    return array if array.dtype is dtype else array.view(dtype)


def controls_of_states(controls: Any) -> Any:
    """Controls (…, k) of one step of each state as controls (…, 1, k) of a rollout."""
    try:
        rows = None if controls is None else np.asarray(controls)
    except UNREADABLE:
        return controls  # what it is, the check of all arguments says
    return controls if rows is None or rows.ndim < 2 else rows[..., None, :]


def _is_bindable(array: Any, dtype: np.dtype) -> bool:
    """Whether compiled code may read and write an array where it lies."""
    plain = isinstance(array, np.ndarray) and not is_masked_array(array)
    return plain and array.dtype == dtype and array.flags.carray


def _described(value: Any) -> str:
    """Why a value is no bindable array, in words."""
    if not isinstance(value, np.ndarray):
        return shown(value)
    flags = value.flags
    lacks = [
        word
        for word, there in (
            ("masked", is_masked_array(value)),
            ("read-only", not flags.writeable),
            ("not aligned", not flags.aligned),
            ("not C-contiguous", not flags.c_contiguous),
        )
        if there
    ]
    return " and ".join([f"{value.dtype} {value.shape}", *lacks])


def require_bindable(where: str, label: str, array: Any, dtype: np.dtype) -> None:
    """Raise unless an array can be bound."""
    if not _is_bindable(array, dtype):
        raise PhalanxError(f"{where}: {label} is {_described(array)}, expected {_BINDABLE} of {dtype}.")


def in_place(
    where: str, s: Settings, dtype: np.dtype, given: Mapping[str, Any], batch: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """Parameters (…, size) as views of the users' arrays, in the simulation's order."""
    made = {}
    for name, shape in s.parameters.items():
        array = given[name]
        require_bindable(where, f"parameter {name!r}", array, dtype)
        front = array.shape[: array.ndim - len(shape)]
        if front != batch and math.prod(front) != 1:
            raise PhalanxError(
                f"{where}: parameter {name!r} has shape {array.shape}, expected {(*batch, *shape)}, the "
                f"batch of q, or {shape} for all alike: it is read where it lies."
            )
        front = batch if math.prod(batch) == math.prod(front) else ()
        made[name] = as_plain(array, dtype).reshape((*front, math.prod(shape)))
    return made


def outputs_of(
    where: str, wanted: Mapping[str, tuple[int, ...]], out: Any, dtype: np.dtype
) -> dict[str, np.ndarray]:
    """The array for each record that is in `out`, or an error."""
    if not isinstance(out, Mapping):
        raise PhalanxError(f"{where}: out is {shown(out)}, expected a mapping of names to arrays.")
    for name, shape in wanted.items():
        array: Any = out.get(name)
        if not _is_bindable(array, dtype) or array.shape != shape:
            raise PhalanxError(
                f"{where}: out[{name!r}] is {_described(array)}, expected {_BINDABLE} of {dtype} with shape "
                f"{shape}."
            )
    for one, other in combinations(wanted, 2):
        if np.may_share_memory(out[one], out[other]):
            raise PhalanxError(
                f"{where}: out[{one!r}] and out[{other!r}] share memory; pass arrays of their own."
            )
    return {name: out[name] for name in wanted}


def integer_of(value: Any, where: str, least: int = 1, most: int | None = None) -> int:
    """An integer of steps, or an error."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise PhalanxError(f"{where}: got {shown(value)}, expected an integer from {least} on.")
    if most is not None and value > most:
        raise PhalanxError(f"{where}: got {shown(value)}, expected at most {most}.")
    return int(value)
