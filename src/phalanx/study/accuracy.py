# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Errors of algorithms against extended precision: the same equations on numbers of many digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS, functions_algorithms
from ..arrays import float_type
from ..dispatch import resolve
from ..errors import PhalanxError, installing, printable, shown
from ..robot.robot import Robot, require_robot
from ..sweeps.orders.sequential import Sequential
from ..sweeps.verbs import ordering
from ..typing import AlgorithmLike, Backend, FloatType, Generator

_STATES = 16  # of a robot of some ten links, by default
_MOST_STATES, _MOST_DIGITS = 1_000_000, 10_000  # beyond which a result takes too long


@dataclass(frozen=True)
class Accuracy:
    """How far an algorithm is off in some states, relative to the largest entry of each result.

    `error` is the largest over the states, `typical` their geometric mean, where one lucky or unlucky
    rounding counts little; both also for the reference algorithm.
    """

    robot: str
    function: str
    algorithm: Any
    dtype: str
    error: float
    reference: str
    reference_error: float
    typical: float
    reference_typical: float

    @property
    def digits(self) -> float:
        """Correct digits of the largest entries."""
        return math.inf if self.error == 0.0 else -math.log10(self.error)

    @property
    def digits_lost(self) -> float:
        """How many digits fewer than the reference algorithm in the same precision, typically; at least 0."""
        return max(0.0, math.log10(self.typical / self.reference_typical))

    def __str__(self) -> str:
        name = self.algorithm if isinstance(self.algorithm, str) else " ".join(map(str, self.algorithm))
        return (
            f'{self.function} of "{printable(self.robot)}" by {name} in {self.dtype}: '
            f"error {self.error:.1e}, {self.digits_lost:.1f} digits lost against {self.reference} "
            f"({self.reference_error:.1e})"
        )


def accuracy(
    robot: Robot,
    function: str = "forward_dynamics",
    *,
    algorithm: AlgorithmLike = "auto",
    backend: Backend = "auto",
    dtype: FloatType = "float64",
    states: int | None = None,
    digits: int = 50,
    rng: Generator | None = 0,
    frame: str | None = None,
) -> Accuracy:
    """The error of an algorithm in random states against its function in `digits` decimal digits.

    The reference is the function's first algorithm that covers the robot (`aba` for forward dynamics),
    run in extended precision for the exact result and in plain arithmetic for comparison. Without
    `states`, sixteen of them for short robots and fewer for long ones, for which extended precision is slow.
    `frame` is that of functions which take one; each of several results has its own largest entry.
    """
    choices = [algorithm]
    return accuracies(
        robot,
        function,
        choices,
        backend=backend,
        dtype=dtype,
        states=states,
        digits=digits,
        rng=rng,
        frame=frame,
    )[0]


def accuracies(
    robot: Robot,
    function: str,
    algorithms: Sequence[AlgorithmLike],
    *,
    backend: Backend = "auto",
    dtype: FloatType = "float64",
    states: int | None = None,
    digits: int = 50,
    rng: Generator | None = 0,
    frame: str | None = None,
) -> list[Accuracy]:
    """`accuracy` of several algorithms in the same states, whose exact result is computed once."""
    require_robot(robot, "accuracy")
    reference = _reference(robot, function)
    if states is None:
        states = default_states(robot)
    dtype = float_type(dtype, "accuracy")
    for label, value, most in (("states", states, _MOST_STATES), ("digits", digits, _MOST_DIGITS)):
        if type(value) is not int or not 1 <= value <= most:
            raise PhalanxError(
                f"accuracy: {label} is {shown(value)}, expected an integer from 1 to {most:,}."
            )
    inputs = [x.astype(dtype) for x in _inputs(robot, function, states, rng)]
    exact = exact_result(robot, function, inputs, digits=digits, frame=frame)
    named = {} if frame is None else {"frame": frame}

    def errors(chosen: AlgorithmLike) -> list[float]:
        found = getattr(robot, function)(*inputs, **named, algorithm=chosen, backend=backend)
        return state_errors(found, exact)

    kind, others = np.dtype(dtype), errors(reference)
    made = []
    for algorithm in algorithms:
        own = errors(algorithm)
        made.append(
            Accuracy(
                robot.name,
                function,
                algorithm,
                str(kind),
                max(own),
                reference,
                max(others),
                typical_error(own, kind),
                typical_error(others, kind),
            )
        )
    return made


def default_states(robot: Robot) -> int:
    """The default number of states: fewer for long robots, for which extended precision is slow."""
    return max(1, min(_STATES, 16 * _STATES // max(robot.n_links, 1)))


def state_errors(found: Any, exact: Any) -> list[float]:
    """The relative error of each state of a batch, the largest of those of several results."""
    if isinstance(exact, tuple):
        each = (state_errors(x, y) for x, y in zip(found, exact, strict=True))
        return [max(errors) for errors in zip(*each, strict=True)]
    return [relative_error(x, y) for x, y in zip(np.asarray(found), exact, strict=True)]


def typical_error(errors: list[float], dtype: Any = np.float64) -> float:
    """The geometric mean of errors, each at least the rounding unit of the result."""
    least = float(np.finfo(dtype).eps) / 2.0
    return math.exp(math.fsum(math.log(max(e, least)) for e in errors) / len(errors))


def exact_result(
    robot: Robot, function: str, inputs: Sequence[np.ndarray], *, digits: int = 50, frame: str | None = None
) -> Any:
    """The function of the robot for a batch in extended precision; a tuple if it has several results."""
    context = _extended(digits)
    convert = np.frompyfunc(lambda x: context.mpf(float(x)), 1, 1)
    return _reference_result(robot, function, inputs, lambda x: np.asarray(convert(x), dtype=object), frame)


def longdouble_result(
    robot: Robot, function: str, inputs: Sequence[np.ndarray], frame: str | None = None
) -> Any:
    """`exact_result` in `numpy.longdouble`: quick, for a first look.

    Where that is float64, or a routine supports nothing else, it is the float64 result.
    """
    for kind in (np.longdouble, np.float64):
        try:
            with np.errstate(all="ignore"):
                return _reference_result(robot, function, inputs, partial(np.asarray, dtype=kind), frame)
        except TypeError:  # dense factors come from LAPACK, which has no longdouble
            continue
    raise AssertionError("NumPy computes in float64")


def has_long_floats() -> bool:
    """Whether this machine has floats longer than 64 bits."""
    return bool(np.finfo(np.longdouble).eps < np.finfo(np.float64).eps)


def _reference_result(
    robot: Robot,
    function: str,
    inputs: Sequence[np.ndarray],
    convert: Callable[[Any], Any],
    frame: str | None,
) -> Any:
    """The function by its reference algorithm, with model, states and frame converted first."""
    call = resolve(robot, function, _reference(robot, function), frame)
    model = robot.model.cast(convert)
    more = call.arguments()
    if frame is not None:
        more["frame"] = more["frame"].map(convert)
    with ordering(Sequential(model.parents, model.pattern)):
        return call.algorithm(model, *map(convert, inputs), **more)


def largest_error(found: Any, exact: Any) -> float:
    """The largest relative error of the states of a batch."""
    return max(state_errors(found, exact), default=0.0)


def relative_error(found: Any, exact: Any) -> float:
    """The largest difference over the largest exact entry; infinite where something is not finite."""
    found, exact = np.asarray(found, dtype=float).ravel(), np.asarray(exact, dtype=object).ravel()
    differences = [abs(y - float(x)) for x, y in zip(found, exact, strict=True)]
    if not np.isfinite(found).all() or any(d != d for d in differences):
        return math.inf
    size, worst = max(map(abs, exact), default=0.0), max(differences, default=0.0)
    return float(worst / size) if size else float(worst)


def _reference(robot: Robot, function: str) -> str:
    return next(name for name, entry in functions_algorithms(function).items() if not entry.refusal(robot))


def _inputs(robot: Robot, function: str, states: int, rng: Any) -> list[np.ndarray]:
    q, qd, force = robot.random_state(states, rng=rng)
    known = {"q": q, "qd": qd, "qdd": force, "tau": force}
    return [known[name] for name in FUNCTIONS[function].inputs]


def _extended(digits: int) -> Any:
    """An mpmath context with that many decimal digits."""
    try:
        import mpmath
    except ImportError:
        raise PhalanxError(
            "accuracy: extended precision needs the package mpmath, which is not installed; "
            f"{installing('accuracy')}."
        ) from None
    context = mpmath.MPContext()
    context.dps = digits
    return context
