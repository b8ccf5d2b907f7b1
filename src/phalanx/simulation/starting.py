# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""States at which rollouts begin: open loops are closed, and points below the ground are said."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import warn
from .step import Settings

OPEN = {8: 1e-6, 4: 1e-3}  # m, rad, from which a loop counts as open, by the bytes of a number
DEEP = 1e-5  # m below a rigid ground from which it is said


def on_loops(settings: Settings, q: np.ndarray) -> np.ndarray:
    """Configurations (…, nq) with the loops closed; what cannot be closed becomes NaN."""
    robot: Any = settings.robot
    error = np.abs(robot.constraint_error(np.asarray(q, dtype=float))).max(axis=-1)
    is_open = np.asarray(error > OPEN[q.dtype.itemsize])
    count = int(np.count_nonzero(is_open))
    if not count:
        return q
    made = np.array(q)
    closed = robot.close_loops(np.asarray(q[is_open], dtype=float))
    made[is_open] = np.where(closed.converged[..., None], closed.q, np.nan)
    failed = int(np.count_nonzero(~closed.converged))
    names = [c.name for c in robot.constraints]
    worst = names[int(np.ravel(closed.worst)[np.argmax(closed.error)])]
    rest = (
        f" {failed:,} could not be closed, of which the loop {worst!r} stays open by "
        f"{np.max(closed.error):.3g}: these are NaN."
        if failed
        else ""
    )
    warn(
        f'rollout: loops of robot "{robot.name}" are open in {count:,} of {error.size:,} states at the '
        f"start, by {np.max(error[is_open]):.3g} at most; they begin at the nearest configuration on the "
        f"loops, as robot.close_loops gives it.{rest}"
    )
    return made


def warn_below(settings: Settings, q: np.ndarray) -> None:
    """One warning where points start below a rigid ground."""
    robot, q = settings.robot, np.asarray(q, dtype=float)
    with np.errstate(all="ignore"):
        for contact in settings.contacts:
            depth = -contact.gaps(q, robot)
            if not (below := depth > DEEP).any():
                continue
            frame = contact.points[
                int(np.argmax(np.nanmax(depth.reshape(-1, depth.shape[-1]), axis=0)))
            ].frame
            warn(
                f'rollout: points of robot "{robot.name}" start below the ground in '
                f"{np.count_nonzero(below.any(axis=-1)):,} of {below[..., 0].size:,} states, deepest "
                f'{np.nanmax(depth):.3g} m, of frame "{frame}"; they are pushed out slowly. Lift the robot.'
            )
