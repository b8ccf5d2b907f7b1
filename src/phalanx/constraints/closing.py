# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.close_loops`: the configuration near a given one at which the constraints of a robot hold."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..arrays import real_array, require_shape
from ..backends.base import positive
from ..errors import PhalanxError, shown
from ..robot.constrained import ClosedLoops
from ..robot.robot import Robot
from .api import joints_of
from .compiled import Specification, compiled, in_order

_LARGEST = 0.5  # radians or metres that a coordinate moves in a step
_HALVINGS = 12  # of a step that makes errors larger
_STALLED = 25  # steps without progress after which a state counts as stuck


def close_loops(
    robot: Robot, q: Any, fixed: Any, tolerance: float, iterations: int, threads: int | None
) -> ClosedLoops:
    """`Robot.close_loops`, as `robot/constrained.py` declares it: Newton's method with least steps.

    Steps are of least norm and shortened where errors grow. States that are done are left out of the next
    step, so that each one takes the same steps in any batch.
    """
    tolerance, iterations = _bounds(tolerance, iterations)
    start = real_array(q, "close_loops: q", robot.name)
    require_shape(start.shape, (robot.nq,), "close_loops: q", f' for robot "{robot.name}"')
    constraints = in_order(robot.constraints)
    still = joints_of(robot, fixed, "close_loops: fixed")
    moving = tuple(name for name in robot.v_slices if name not in still)
    step = compiled(robot, Specification("closing_step", constraints, (), moving))
    batch = start.shape[:-1]
    states = np.array(start, dtype=np.float64).reshape(prod(batch), robot.nq)
    dq, error = (np.asarray(x, dtype=np.float64) for x in step(states, threads=threads))
    size = _size(error)  # its norm, which the steps make smaller
    best, idle = size.copy(), np.zeros(len(states), dtype=int)
    active = np.flatnonzero(_largest(error) > tolerance)
    for _ in range(iterations):
        if not len(active):
            break
        own = dq[active]
        longest = np.abs(own).max(axis=-1, initial=0.0)
        scale = np.minimum(1.0, _LARGEST / np.maximum(longest, _LARGEST))
        todo, shorter = np.arange(len(active)), scale
        for _ in range(_HALVINGS):
            rows = active[todo]
            tried = robot.integrate(states[rows], own[todo] * shorter[todo, None])
            new_dq, new_error = step(tried, threads=threads)
            new_size = _size(new_error)
            better = new_size < size[rows] * (1.0 - 1e-4 * shorter[todo])
            at = rows[better]
            states[at], dq[at], error[at], size[at] = (
                tried[better], new_dq[better], new_error[better], new_size[better],
            )  # fmt: skip
            todo = todo[~better]
            if not len(todo):
                break
            shorter[todo] *= 0.5
        idle[active] += 1
        progress = active[size[active] < 0.999 * best[active]]
        idle[progress], best[progress] = 0, size[progress]
        stuck = np.zeros(len(states), dtype=bool)
        stuck[active[todo]] = True
        active = active[(_largest(error[active]) > tolerance) & ~stuck[active] & (idle[active] < _STALLED)]
    owner = np.repeat(np.arange(len(constraints)), [c.rows for c in constraints])
    names = [c.name for c in robot.constraints]
    order = np.array([names.index(c.name) for c in constraints])
    worst = order[owner[np.argmax(np.abs(error), axis=-1)]].reshape(batch)
    made = states.reshape(start.shape).astype(start.dtype if start.dtype == np.float32 else np.float64)
    left = _largest(error).reshape(batch)
    return ClosedLoops(made, (left <= tolerance)[()], left[()], worst[()])


def require_closed(robot: Robot, found: ClosedLoops) -> None:
    """Raise if some state did not close: which constraint is violated, by how much, and what helps."""
    converged = np.ravel(found.converged)
    if converged.all():
        return
    first = int(np.argmin(converged))
    c = robot.constraints[int(np.ravel(found.worst)[first])]
    error = float(np.ravel(found.error)[first])
    count = int((~converged).sum())
    which = f" in {count} of {converged.size} states, first in state {first}" if converged.size > 1 else ""
    if not np.isfinite(error):
        raise PhalanxError(
            f'close_loops: q of robot "{robot.name}" is not finite{which}; pass finite coordinates.'
        )
    q = np.reshape(found.q, (converged.size, robot.nq))[first]
    rank, rows = int(robot.constraint_rank(q)), sum(c.rows for c in robot.constraints)
    remedy = "start nearer to a configuration on the loops, or free some of the fixed joints"
    if rank < rows:
        remedy += (
            f"; only {rank} of the {rows} rows of all constraints are independent there: if their axes do "
            "not fit exactly, take px.constraint.point for a hinge that others keep straight"
        )
    raise PhalanxError(
        f'close_loops: constraint "{c.name}" of robot "{robot.name}" cannot close{which}: it is off by '
        f"{error:.3g} (m or rad); {remedy}."
    )


def _size(error: np.ndarray) -> np.ndarray:
    total = error[:, 0] ** 2
    for k in range(1, error.shape[1]):  # in the order of the rows, whatever the batch
        total = total + error[:, k] ** 2
    return np.sqrt(total)


def _largest(error: np.ndarray) -> np.ndarray:
    return np.abs(error).max(axis=-1)


def _bounds(tolerance: Any, iterations: Any) -> tuple[float, int]:
    try:
        value = float(tolerance)
    except (TypeError, ValueError):
        value = -1.0
    if not 0.0 < value < np.inf:
        raise PhalanxError(f"close_loops: tolerance={shown(tolerance)}, expected a positive number.")
    return value, positive(iterations, "iterations")
