# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Errors of algorithms against extended precision: the same equations on numbers of many digits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
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
_MOST_STATES, _MOST_DIGITS = 1_000_000, 10_000  # beyond which a result is not to be waited for


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
        """Digits fewer than the reference algorithm typically has in the same precision; not below zero."""
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
    `states`, sixteen of them for short robots and fewer for long ones, whose many digits take long.
    `frame` is that of functions which are asked for one; each of several results has its own largest entry.
    """
    asked = [algorithm]
    return accuracies(
        robot,
        function,
        asked,
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
    """How many states are looked at: fewer of long robots, whose many digits take long."""
    return max(1, min(_STATES, 16 * _STATES // max(robot.n_links, 1)))


def state_errors(found: Any, exact: Any) -> list[float]:
    """The relative error of each state of a batch, the largest of those of several results."""
    if isinstance(exact, tuple):
        each = (state_errors(x, y) for x, y in zip(found, exact, strict=True))
        return [max(errors) for errors in zip(*each, strict=True)]
    return [relative_error(x, y) for x, y in zip(np.asarray(found), exact, strict=True)]


def typical_error(errors: list[float], dtype: Any = np.float64) -> float:
    """The geometric mean of errors, none taken below the rounding of the result itself."""
    least = float(np.finfo(dtype).eps) / 2.0
    return math.exp(math.fsum(math.log(max(e, least)) for e in errors) / len(errors))


def exact_result(
    robot: Robot, function: str, inputs: list[np.ndarray], *, digits: int = 50, frame: str | None = None
) -> Any:
    """The function of the robot for a batch of floats, in many digits; a tuple of several results."""
    context = _extended(digits)
    convert = np.frompyfunc(lambda x: context.mpf(float(x)), 1, 1)
    model = robot.model.cast(lambda array: np.asarray(convert(array), dtype=object))
    call = resolve(robot, function, _reference(robot, function), frame)
    more = call.arguments()
    if frame is not None:
        more["frame"] = more["frame"].map(lambda array: np.asarray(convert(array), dtype=object))
    with ordering(Sequential(model.parents, model.pattern)):
        return call.algorithm(model, *(convert(x) for x in inputs), **more)


def relative_error(found: Any, exact: Any) -> float:
    """The largest difference over the largest exact entry; infinite where something is not finite."""
    found, exact = np.asarray(found, dtype=float).ravel(), np.asarray(exact, dtype=object).ravel()
    if not np.isfinite(found).all():
        return math.inf
    size = max((abs(y) for y in exact), default=0.0)
    worst = max((abs(y - float(x)) for x, y in zip(found, exact, strict=True)), default=0.0)
    return float(worst / size) if size else float(worst)


def _reference(robot: Robot, function: str) -> str:
    return next(name for name, entry in functions_algorithms(function).items() if not entry.refusal(robot))


def _inputs(robot: Robot, function: str, states: int, rng: Any) -> list[np.ndarray]:
    q, qd, force = robot.random_state(states, rng=rng)
    known = {"q": q, "qd": qd, "qdd": force, "tau": force}
    return [known[name] for name in FUNCTIONS[function].inputs]


def _extended(digits: int) -> Any:
    """A context of numbers with that many digits."""
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
