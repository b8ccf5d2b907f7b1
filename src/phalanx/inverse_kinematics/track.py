# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.track`: configurations that follow a path of targets within velocity limits, moment by moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import common_batch, real_array, require_shape
from ..errors import PhalanxError, shown
from ..robot.robot import Robot
from .iteration import coordinates_of_rates
from .solve import Solutions, inverse_kinematics, read
from .target import MASS_CENTER, SHAPES, FrameTarget

WHERE = "track"
_FAR = 1e30  # a limit where there is none: inputs are finite


def track(
    robot: Robot,
    targets: Any,
    q0: Any,
    *,
    dt: Any = None,
    tolerance: Any = 1e-6,
    limits: Any = True,
    weights: Any = None,
    position_only: Any = False,
    iterations: Any = 100,
    threads: Any = None,
) -> Solutions:
    """`Robot.track`, as `robot/api.py` declares it."""
    is_number = isinstance(dt, (int, float, np.number)) and not isinstance(dt, bool)
    if dt is not None and not (is_number and 0.0 < float(dt) < np.inf):
        raise PhalanxError(f"{WHERE}: dt is {shown(dt)}, expected seconds between targets, or None.")
    numbers = read(robot, targets, weights, position_only=bool(position_only), where=WHERE)
    kinds = [kind for _, kind in numbers.problem.targets]
    lengths = set()
    for (name, kind), array in zip(numbers.problem.targets, numbers.targets, strict=True):
        core = len(SHAPES[kind.kind])
        if array.ndim == core:
            raise PhalanxError(
                f'{WHERE}: the target of "{name}" has shape {array.shape}, expected an axis of moments in '
                f'front, (…, T, {", ".join(map(str, SHAPES[kind.kind]))}), for robot "{robot.name}".'
            )
        lengths.add(array.shape[array.ndim - core - 1])
    if len(lengths) != 1:
        raise PhalanxError(f"{WHERE}: targets have {sorted(lengths)} moments, expected as many of each.")
    (count,) = lengths
    q = real_array(q0, f"{WHERE}: q0", robot.name)
    require_shape(q.shape, (robot.nq,), f"{WHERE}: q0", f' for robot "{robot.name}"')
    batches = {name: shape[:-1] for name, shape in numbers.batches.items()} | {"q0": q.shape[:-1]}
    batch = common_batch(batches, WHERE, f' for robot "{robot.name}"')
    q = np.broadcast_to(q, (*batch, robot.nq))
    reach = None if dt is None else _reach(robot, float(dt))
    made = []
    for k in range(count):
        now: dict[str, list[FrameTarget]] = {}
        for (name, kind), array in zip(numbers.problem.targets, numbers.targets, strict=True):
            core = len(SHAPES[kind.kind])
            now.setdefault(name, []).append(replace(kind, value=np.moveaxis(array, -core - 1, 0)[k]))
        box = None if reach is None else np.stack([q - reach, q + reach], axis=-2).astype(q.dtype)
        s = inverse_kinematics(
            robot,
            _public(now),
            q,
            tolerance=tolerance,
            seeds=1,
            limits=limits,
            weights=weights,
            iterations=iterations,
            threads=threads,
            box=box,
        )
        # Where a target is no number, the next moment follows from the one before.
        q = np.where(np.isfinite(s.q).all(axis=-1, keepdims=True), s.q, q)
        made.append(s)
    if not made:
        rows = sum(kind.rows for kind in kinds)
        empty = np.empty((*batch, 0, rows))
        return Solutions(
            np.empty((*batch, 0, robot.nq)), np.empty((*batch, 0), bool), empty, np.empty((*batch, 0), int)
        )
    return Solutions(
        np.stack([s.q for s in made], axis=-2),
        np.stack([s.converged for s in made], axis=-1),
        np.stack([s.error for s in made], axis=-2),
        np.stack([s.iterations for s in made], axis=-1),
    )


def _public(targets: dict[str, list[FrameTarget]]) -> dict[str, Any]:
    """Targets as a user writes them: the mass centre is a plain position."""
    return {name: each[0].value if each[0].kind == MASS_CENTER else each for name, each in targets.items()}


def _reach(robot: Robot, dt: float) -> np.ndarray:
    """The largest change of coordinates (nq,) within dt seconds."""
    made = np.full(robot.nq, _FAR)
    for i, k in enumerate(coordinates_of_rates(robot)):
        if k is not None:
            made[k] = min(_FAR, dt * float(robot.limits.velocity[i]))
    return made
