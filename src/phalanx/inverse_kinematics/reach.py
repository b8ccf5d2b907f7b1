# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.reachable`: which points or poses a frame reaches, and how well it moves there."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..arrays import real_array
from ..errors import PhalanxError, shown
from ..robot.robot import Robot
from ..typing import Array
from .solve import inverse_kinematics
from .target import FrameTarget

WHERE = "reachable"
_AT_ONCE = 1 << 18  # solutions
_SAMPLES = 16  # configurations that show in how many directions a frame moves
_FLAT = 1e-9  # of the largest singular value


class Reachability(NamedTuple):
    """The result of `robot.reachable`."""

    points: Array  # (…, 3): the positions that were asked for
    reached: Array  # (…)
    manipulability: Array  # (…): the best of the solutions found; zero where nothing is reached
    q: Array  # (…, nq): the configuration that has it, NaN where nothing is reached


def reachable(
    robot: Robot, frame: str, grid: Any, *, seeds: int = 16, tolerance: float = 1e-6, **options: Any
) -> Reachability:
    """`Robot.reachable`, as `robot/api.py` declares it."""
    for name in ("q0", "all", "iterations"):
        if name in options:
            raise PhalanxError(f"{WHERE}: takes no {name}; it compares what all of its starts find.")
    robot.frame(frame)
    targets = _targets(robot, grid)
    is_pose = targets.shape[-2:] == (4, 4) and targets.ndim > 1
    core = 2 if is_pose else 1
    batch = targets.shape[: targets.ndim - core]
    flat = targets.reshape(prod(batch), *targets.shape[targets.ndim - core :])
    rows = slice(0, 6) if is_pose and not options.get("position_only") else slice(3, 6)
    rank = _rank(robot, frame, rows)
    best, q = np.zeros(len(flat)), np.full((len(flat), robot.nq), np.nan)
    reached = np.zeros(len(flat), dtype=bool)
    step = max(1, _AT_ONCE // max(1, seeds))
    for begin in range(0, len(flat), step):
        part = slice(begin, begin + step)
        found = inverse_kinematics(
            robot, {frame: flat[part]}, seeds=seeds, tolerance=tolerance, all=True, **options
        )
        reached[part] = found.converged
        every = np.asarray(found.all, dtype=float)
        if not every.shape[1]:
            continue
        good = np.isfinite(every).all(axis=-1)
        size = np.full(good.shape, -1.0)
        size[good] = _manipulability(robot, frame, every[good], rows, rank)
        chosen = size.argmax(axis=-1)
        at = np.arange(len(every))
        is_found = good.any(axis=-1)
        reached[part] |= is_found
        best[part] = np.where(is_found, size[at, chosen], 0.0)
        q[part] = np.where(is_found[:, None], every[at, chosen], np.nan)
    points = np.array(targets[..., :3, 3] if is_pose else targets, dtype=float)
    return Reachability(points, reached.reshape(batch), best.reshape(batch), q.reshape(*batch, robot.nq))


def _targets(robot: Robot, grid: Any) -> np.ndarray:
    """The points (…, 3) or poses (…, 4, 4) of a grid; of three axes, numbers add no dimension."""
    if isinstance(grid, FrameTarget):
        raise PhalanxError(f"{WHERE}: grid is {shown(grid)}, expected points (…, 3) or poses (…, 4, 4).")
    if isinstance(grid, tuple) and len(grid) == 3:
        axes = [real_array(x, f"{WHERE}: grid, axis {k}", robot.name) for k, x in enumerate(grid)]
        if any(a.ndim for a in axes):
            if any(a.ndim > 1 for a in axes):
                raise PhalanxError(
                    f"{WHERE}: the axes of grid have shapes {[a.shape for a in axes]}, expected one axis or "
                    f'a number for each of x, y and z, for robot "{robot.name}".'
                )
            mesh = np.meshgrid(*map(np.atleast_1d, axes), indexing="ij")
            made = np.stack(mesh, axis=-1).astype(float)
            return made.reshape(*(a.size for a in axes if a.ndim), 3)
    made = real_array(grid, f"{WHERE}: grid", robot.name)
    if made.shape[-2:] != (4, 4) and made.shape[-1:] != (3,):
        raise PhalanxError(
            f"{WHERE}: grid has shape {made.shape}, expected points (…, 3), poses (…, 4, 4), or three axes "
            f'(x, y, z), for robot "{robot.name}".'
        )
    return made


def _columns(robot: Robot, frame: str, q: np.ndarray, rows: slice) -> np.ndarray:
    """The Jacobian (n, m, nv) of a frame, of motions that keep loops closed."""
    J = np.asarray(robot.jacobian(q, frame))[:, rows]  # noqa: N806
    if robot.constraints:
        C = np.asarray(robot.constraint_jacobian(q))  # noqa: N806
        J = J - (J @ np.linalg.pinv(C, rcond=_FLAT)) @ C  # noqa: N806
    return J


def _rank(robot: Robot, frame: str, rows: slice) -> int:
    """In how many directions a frame moves where it moves most freely."""
    q = robot.random_state((_SAMPLES,), np.random.default_rng(0))[0]
    if robot.constraints:
        q = robot.close_loops(q).q
    values = np.linalg.svd(_columns(robot, frame, q, rows), compute_uv=False)
    return int((values > _FLAT * values.max()).sum(axis=-1).max())


def _manipulability(robot: Robot, frame: str, q: np.ndarray, rows: slice, rank: int) -> np.ndarray:
    """The volume (n,) of the ellipsoid of velocities (Yoshikawa 1985), in the directions of a frame."""
    J = _columns(robot, frame, q, rows)  # noqa: N806
    values: np.ndarray = np.linalg.svd(J, compute_uv=False)[:, :rank].prod(axis=-1)
    return values
