# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Equations of a few lines on sweeps, one for each, as loops and as straight-line code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.interpret import interpret, program_on_arrays
from phalanx.program.rolled import roll
from phalanx.program.task import TraceTask
from phalanx.program.trace import trace
from phalanx.robot.model import joint_kinematics
from phalanx.spatial import Array, Transform
from phalanx.sweeps import verbs

Swept = Callable[[Transform, Array, Array], Array]  # X, and two motion vectors of each body

SWEPT: dict[str, Swept] = {
    "propagate": lambda X, a, b: verbs.propagate(X, a, root=verbs.pick(b, 0)),
    "propagate without a root": lambda X, a, b: verbs.propagate(X, a + b),
    "propagate through": lambda X, a, b: verbs.propagate(X, a, root=verbs.pick(b, 0), through=X, plus=b),
    "accumulate": lambda X, a, b: verbs.accumulate(X, a - b),
    "scan": lambda X, a, b: verbs.scan(lambda x, y: x + y, a, root=verbs.pick(b, 0)),
    "scan from the tip": lambda X, a, b: verbs.scan(lambda x, y: x + y, a, reverse=True),
    "parent": lambda X, a, b: X @ verbs.parent(a, root=verbs.pick(b, 0)) + b,
    "children": lambda X, a, b: X @ verbs.children(X.T @ a) + b,
    "paths": lambda X, a, b: verbs.paths(X) @ a + verbs.paths(X).T @ b,
    "total": lambda X, a, b: a * verbs.total(b),
    "fold": lambda X, a, b: verbs.fold(lambda y, X, b: ((X.T @ (y[0] + b),), (y[0] * b,)), (a,), X, b)[0],
}


def task(robot: px.Robot, swept: Swept) -> TraceTask:
    """S^T times what a sweep makes of S qd and S qdd, as an inverse dynamics without physics."""

    def run(model: Any, q: Array, qd: Array, qdd: Array, **_: Any) -> Array:
        X, S, _c = joint_kinematics(model, q)
        return S.T @ swept(X, S @ qd, S @ qdd)

    call = resolve(robot, "inverse_dynamics", "newton_euler")
    return replace(call, algorithm=replace(call.algorithm, run=run)).task()


def loops_and_straight(robot: px.Robot, name: str, *, items: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The result of the loops, for groups of `items` by doubling, and that of straight-line code."""
    made = task(robot, SWEPT[name])
    rolled = roll(made, doubling=bool(items))
    program = rolled.grouped(items) if items else rolled.built(2)
    given = dict(zip(made.shapes, robot.random_state(rng=1), strict=False))
    (found,) = interpret(program, given, order=lambda k: tuple(k)[::-1]).values()
    (wanted,) = program_on_arrays(trace(made), {name: x[None] for name, x in given.items()})
    return found, wanted
