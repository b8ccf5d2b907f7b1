# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Equations of a few lines on sweeps, one for each, as loops and as straight-line code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.interpret import interpret, program_on_arrays
from phalanx.program.rolled import roll
from phalanx.program.task import TraceTask
from phalanx.program.trace import trace
from phalanx.robot.model import joint_kinematics
from phalanx.spatial import Array, Field, Transform, dot
from phalanx.sweeps import verbs

Motions = tuple[Transform, Any, Array, Array]  # X, S, and two motion vectors of each body


@dataclass(frozen=True)
class Run(Field):
    """The sum of the motion vectors of a run of bodies."""

    V: Array
    ranks: ClassVar[tuple[int, ...]] = (1,)


def joined(left: Run, right: Run) -> Run:
    return Run(left.V + right.V)


def _motions(model: Any, q: Array, qd: Array, qdd: Array) -> Motions:
    X, S, _c = joint_kinematics(model, q)
    return X, S, S @ qd, S @ qdd


# Tracing runs the text of each function anew, so that they are no closures.


def propagated(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ verbs.propagate(X, a, root=verbs.pick(b, 0))


def propagated_without_a_root(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ verbs.propagate(X, a + b)


def propagated_through(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ verbs.propagate(X, a, root=verbs.pick(b, 0), through=X, plus=b)


def accumulated(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ verbs.accumulate(X, a - b)


def scanned(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    _X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ verbs.scan(joined, Run(a), root=Run(verbs.pick(b, 0))).V


def scanned_from_the_tip(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    _X, S, a, _b = _motions(model, q, qd, qdd)
    return S.T @ verbs.scan(joined, Run(a), reverse=True).V


def of_parents(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ (X @ verbs.parent(a, root=verbs.pick(b, 0)) + b)


def of_children(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ (verbs.children(X.T @ a) + b)


def along_paths(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ (verbs.paths(X) @ a + verbs.paths(X).T @ b)


def times_a_total(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    _X, S, a, b = _motions(model, q, qd, qdd)
    return S.T @ (a * verbs.total(dot(a, b)))


def folded(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
    X, S, a, b = _motions(model, q, qd, qdd)

    def step(state: Any, X: Any, b: Any) -> Any:
        (y,) = state
        return (X.T @ (y + b),), (y * b,)

    (products,) = verbs.fold(step, (a,), X, b)
    return S.T @ products


SWEPT: dict[str, Callable[..., Array]] = {
    f.__name__: f
    for f in (
        *(propagated, propagated_without_a_root, propagated_through, accumulated, scanned),
        *(scanned_from_the_tip, of_parents, of_children, along_paths, times_a_total, folded),
    )
}


def task(robot: px.Robot, name: str) -> TraceTask:
    """S^T times what a sweep makes of S qd and S qdd, as an inverse dynamics without physics."""
    call = resolve(robot, "inverse_dynamics", "newton_euler")
    return replace(call, algorithm=replace(call.algorithm, run=SWEPT[name])).task()


def loops_and_straight(robot: px.Robot, name: str, *, items: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The result of the loops, for groups of `items` by doubling, and that of straight-line code."""
    made = task(robot, name)
    rolled = roll(made, doubling=bool(items))
    program = rolled.grouped(items) if items else rolled.built(2)
    given = dict(zip(made.shapes, robot.random_state(rng=1), strict=False))
    (found,) = interpret(program, given, order=lambda k: tuple(k)[::-1]).values()
    (wanted,) = program_on_arrays(trace(made), {name: x[None] for name, x in given.items()})
    return found, wanted
