# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of solutions by the implicit function theorem.

A solution keeps its residual zero: J dq equals the motion of the target. Of all such dq, that of least length
is taken, as a solver that starts at the solution does; coordinates at a limit stay there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..backends.base import available_threads, positive
from ..errors import PhalanxError
from ..program.passes.differentiate import tangents
from ..robot.robot import Robot
from ..tracing.arrays import Traced
from ..tracing.function import OwnFunction
from ..tracing.tracer import traced
from .iteration import Problem, coordinates_of_rates, damped
from .residuals import Rows, closure_rows, rows_of
from .solve import joined, read, require_flag
from .target import POSE, SHAPES

WHERE = "inverse_kinematics_derivatives"
_DAMPING = 1e-12  # so that a singular solution has finite derivatives


def inverse_kinematics_derivatives(
    robot: Robot,
    q: Any,
    targets: Any,
    *,
    limits: Any = True,
    position_only: Any = False,
    threads: Any = None,
) -> dict[str, Any]:
    """`Robot.inverse_kinematics_derivatives`, as `robot/api.py` declares it."""
    require_flag("limits", limits, WHERE)
    require_flag("position_only", position_only, WHERE)
    numbers = read(robot, targets, position_only=position_only, limits=limits, where=WHERE)
    problem = numbers.problem
    f = function_of(problem, "derivatives", derivatives)
    count = available_threads() if threads is None else positive(threads, f"{WHERE}: threads")
    batch = np.broadcast_shapes(*numbers.batches.values())
    whole = f(q, joined(numbers.targets, problem, batch, numbers.dtype), threads=count)
    made: dict[str, Any] = {}
    first = 0
    for name, kind in problem.targets:
        size = 6 if kind.kind == POSE else 3
        part = whole[..., first : first + size]
        first += size
        if name in made:
            raise PhalanxError(f'{WHERE}: "{name}" has several targets; pass them one by one.')
        made[name] = part
    return made


def function_of(problem: Problem, name: str, code: Callable[..., Any]) -> OwnFunction:
    """A function of a configuration and the numbers of all targets, traced once for a problem."""

    def make() -> OwnFunction:
        def inverse_kinematics(q: Any, targets: Any, robot: Any) -> Any:
            return code(problem, q, targets, robot)

        return OwnFunction(traced(problem.robot, inverse_kinematics, {"targets": sum(problem.numbers)}))

    made: OwnFunction = problem.robot._memoized(("inverse kinematics", name, problem.key), make)
    return made


def corrected(problem: Problem, q: Traced, targets: Traced, robot: Any) -> Any:
    """The configuration after one more step: at a solution, its derivative by the targets is that of q."""
    return robot.integrate(q, Traced(_correction(problem, q, targets, robot)[0]))


def derivatives(problem: Problem, q: Traced, targets: Traced, robot: Any) -> Any:
    """The derivatives (nv, n) of q along motions of poses, and changes of other targets."""
    step, given = _correction(problem, q, targets, robot)
    columns: list[Any] = []
    for (_, kind), part in zip(problem.targets, given, strict=True):
        if kind.kind == POSE:
            pose = part.reshape(4, 4)
            for k in range(6):
                change = np.zeros((4, 4), dtype=object)
                if k < 3:
                    axis = np.eye(3)[k]
                    change[:3, :3] = np.array([np.cross(axis, pose[:3, j]) for j in range(3)]).T
                else:
                    change[k - 3, 3] = 1.0
                columns.append(_along(step, part, change.ravel()))
        else:
            columns += [_along(step, part, np.eye(3)[k]) for k in range(3)]
    return Traced(np.stack(columns, axis=-1))


def _along(values: np.ndarray, leaves: np.ndarray, change: np.ndarray) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    seeds = {x.number: c for x, c in zip(leaves.tolist(), change.tolist(), strict=True)}
    made[:] = tangents(values.tolist(), seeds)
    return made


def _correction(
    problem: Problem, q: Traced, targets: Traced, robot: Any
) -> tuple[np.ndarray, list[np.ndarray]]:
    """The step (nv,) to the solution of the problem linearised at q, and the numbers of each target."""
    at, graph = q.scalars, q.scalars[0].graph
    given = np.split(targets.scalars, np.cumsum(problem.numbers)[:-1])
    every: list[Rows] = [
        rows_of(robot, graph, at, name, kind, part)
        for (name, kind), part in zip(problem.targets, given, strict=True)
    ]
    every += closure_rows(robot, at, problem.constraints)
    residual, jacobian = [], []
    for rows in every:
        for part, is_turn, _ in rows.parts:
            scale = 1.0 if is_turn else 1.0 / problem.length
            residual.append(rows.residual[part] * scale)
            jacobian.append(rows.jacobian[part] * scale)
    e, J = np.concatenate(residual), np.concatenate(jacobian)  # noqa: N806
    lower, upper = problem.bounds()
    for i, k in enumerate(coordinates_of_rates(problem.robot)):
        if k is None or not np.isfinite([lower[k], upper[k]]).any():
            continue
        is_free = graph.less(float(lower[k]), at[k])
        is_free = graph.choose(is_free, graph.less(at[k], float(upper[k])), 0.0)
        J[:, i] = [graph.choose(is_free, x, 0.0) for x in J[:, i]]
    return damped(J, e, _DAMPING)[0], given


def sizes(problem: Problem) -> list[int]:
    """The number of axes of each target."""
    return [len(SHAPES[kind.kind]) for _, kind in problem.targets]
