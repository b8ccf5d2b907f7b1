# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Errors of algorithms against extended precision: the same equations on numbers of many digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS, find, functions_algorithms
from ..arrays import float_type
from ..errors import PhalanxError, shown
from ..orders.sequential import Sequential
from ..robot import Robot, require_robot
from ..sweeps import ordering

_STATES, _DIGITS = 1_000_000, 10_000  # beyond which a result is not to be waited for


@dataclass(frozen=True)
class Accuracy:
    """How far an algorithm is off: the largest error over some states, relative to the largest entry."""

    robot: str
    function: str
    algorithm: Any
    dtype: str
    error: float
    reference: str
    reference_error: float

    @property
    def digits(self) -> float:
        """Correct digits of the largest entries."""
        return math.inf if self.error == 0.0 else -math.log10(self.error)

    @property
    def digits_lost(self) -> float:
        """Digits fewer than the reference algorithm has in the same precision; not below zero."""
        least = float(np.finfo(self.dtype).eps) / 2.0
        return max(0.0, math.log10(max(self.error, least) / max(self.reference_error, least)))

    def __str__(self) -> str:
        name = self.algorithm if isinstance(self.algorithm, str) else " ".join(map(str, self.algorithm))
        return (
            f'{self.function} of "{self.robot}" by {name} in {self.dtype}: error {self.error:.1e}, '
            f"{self.digits_lost:.1f} digits lost against {self.reference} ({self.reference_error:.1e})"
        )


def accuracy(
    robot: Robot,
    function: str = "forward_dynamics",
    *,
    algorithm: Any = "auto",
    backend: str = "auto",
    dtype: Any = "float64",
    states: int = 1,
    digits: int = 50,
    rng: Any = 0,
) -> Accuracy:
    """The error of an algorithm in random states against its function in `digits` decimal digits.

    The reference is the function's first algorithm that covers the robot (`aba` for forward dynamics),
    run in extended precision for the exact result and in plain arithmetic for comparison.
    """
    require_robot(robot, "accuracy")
    reference = _reference(robot, function)
    dtype = float_type(dtype, "accuracy")
    for label, value, most in (("states", states, _STATES), ("digits", digits, _DIGITS)):
        if type(value) is not int or not 1 <= value <= most:
            raise PhalanxError(
                f"accuracy: {label} is {shown(value)}, expected a whole number from 1 to {most:,}."
            )
    inputs = [x.astype(dtype) for x in _inputs(robot, function, states, rng)]
    exact = exact_result(robot, function, inputs, digits=digits)
    errors = []
    for chosen in (algorithm, reference):
        found = getattr(robot, function)(*inputs, algorithm=chosen, backend=backend)
        errors.append(max(relative_error(x, y) for x, y in zip(found, exact, strict=True)))
    return Accuracy(robot.name, function, algorithm, str(np.dtype(dtype)), errors[0], reference, errors[1])


def exact_result(robot: Robot, function: str, inputs: list[np.ndarray], *, digits: int = 50) -> np.ndarray:
    """The function of the robot for a batch of floats, as numbers of many digits."""
    context = _extended(digits)
    convert = np.frompyfunc(lambda x: context.mpf(float(x)), 1, 1)
    model = robot.model.cast(lambda array: np.asarray(convert(array), dtype=object))
    text = find(function, _reference(robot, function))
    with ordering(Sequential(model.parents, model.pattern)):
        result: np.ndarray = text(model, *(convert(x) for x in inputs))
    return result


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
    if FUNCTIONS[function].frame:
        raise PhalanxError(f"accuracy: {function} is asked for a frame; it has no error worth measuring.")
    q, qd, force = robot.random_state(states, rng=rng)
    known = {"q": q, "qd": qd, "qdd": force, "tau": force}
    return [known[name] for name in FUNCTIONS[function].inputs]


def _extended(digits: int) -> Any:
    """A context of numbers with that many digits."""
    try:
        import mpmath
    except ImportError:
        raise PhalanxError(
            'accuracy: extended precision needs the package mpmath; install "phalanx[accuracy]".'
        ) from None
    context = mpmath.MPContext()
    context.dps = digits
    return context
