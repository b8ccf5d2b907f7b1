# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Formulas of a robot on their fast path: steps of coordinates, and other formulas that are no dynamics.

The slow path runs a formula on NumPy arrays; compiled code (`Robot._formula`) on plain ones of float64. It is
compiled at the first such call, as functions are, so that all calls have the same bits. Where coordinates
simply add, NumPy does. What the fast path declines, and everything wrong, is for the slow path.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from . import configurations
from .configurations import differing, integrated, normalized

_FLOAT = np.dtype(np.float64)
STEPS = ("integrate", "difference", "normalize")  # functions of coordinates that `Robot.function` knows


class LazyFormula:
    """A formula that its first use compiles and stores in `table` instead of itself."""

    def __init__(self, table: dict[Any, Any], key: Any, build: Callable[[], Any]) -> None:
        self._table, self._key, self._build = table, key, build

    def batch(self, inputs: tuple[Any, ...]) -> Any:
        """The result of the compiled formula; None, and no compilation, for arrays that it would decline."""
        if not all(type(x) is np.ndarray and x.dtype is _FLOAT for x in inputs):
            return None
        built = self._table[self._key] = self._build() or _DECLINES
        return built.batch(inputs)


class _Declines:
    """A stub that always declines."""

    def batch(self, inputs: tuple[Any, ...]) -> None:
        """None: the slow path computes it."""


_DECLINES = _Declines()


class _Adding:
    """A step of coordinates that simply add, for plain arrays."""

    def __init__(self, run: Callable[..., Any], size: int) -> None:
        self._run, self._size = run, (size,)

    def batch(self, inputs: tuple[Any, ...]) -> Any:
        """The sum, the difference or a copy."""
        for x in inputs:
            if type(x) is not np.ndarray or x.dtype is not _FLOAT or x.shape[-1:] != self._size:
                return None
        try:
            return self._run(*inputs)
        except (ValueError, MemoryError):
            return None


def integrate(robot: Any, q: Any, dq: Any) -> Any:
    """Coordinates reached from q with the constant rates dq for unit time."""
    built = robot._memo.get("integrate")
    if built is None:
        sizes = {"q": (robot.nq,), "dq": (robot.nv,)}
        built = _prepared(robot, "integrate", np.add, sizes, (robot.nq,), partial(integrated, batch=(1,)))
    made = built.batch((q, dq))
    return configurations.integrate(robot._assembly, q, dq) if made is None else made


def difference(robot: Any, q0: Any, q1: Any) -> Any:
    """The rates dq with integrate(q0, dq) equal to q1."""
    built = robot._memo.get("difference")
    if built is None:
        sizes = {"q0": (robot.nq,), "q1": (robot.nq,)}
        built = _prepared(robot, "difference", _backward, sizes, (robot.nv,), partial(differing, batch=(1,)))
    made = built.batch((q0, q1))
    return configurations.difference(robot._assembly, q0, q1) if made is None else made


def normalize(robot: Any, q: Any) -> Any:
    """Coordinates with every quaternion at unit length."""
    built = robot._memo.get("normalize")
    if built is None:
        built = _prepared(robot, "normalize", np.copy, {"q": (robot.nq,)}, (robot.nq,), normalized)
    made = built.batch((q,))
    return configurations.normalize(robot._assembly, q) if made is None else made


def _backward(q0: np.ndarray, q1: np.ndarray) -> Any:
    return q1 - q0


def _prepared(
    robot: Any,
    name: str,
    adding: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    result: tuple[int, ...],
    run: Callable[..., Any],
) -> Any:
    """The function that later calls use: NumPy's, or a formula that its first call compiles."""
    if all(c.kind.adds for c in robot._coordinates):
        return robot._memo.setdefault(name, _Adding(adding, robot.nq))
    joints = robot._assembly.joined

    def build() -> Any:
        return robot._formula(name, inputs, {"result": result}, lambda *x: run(joints, *(y[None] for y in x)))

    return robot._memo.setdefault(name, LazyFormula(robot._memo, name, build))
