# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The Newton-Euler form on a processor array, step by step: PA and PPA for VN-EB."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...robot.robot import Robot
from ...spatial import cross, dot, matvec, rotated, transpose, unpack
from ...sweeps.triangle import triangle
from ..machines import ProcessorArray
from .array_start import arms, begin, entries, whole
from .lockstep import Lockstep, LockstepValue

Made = tuple[Lockstep, Any, set[int]]  # the steps, the matrix, the last tasks


def on_triangle(robot: Robot, machine: ProcessorArray, q: np.ndarray, moment: str) -> Made:
    """One processor for each pair (row j, column i), j >= i."""
    pair, joints = triangle(robot.nv), robot.model.dh.turns
    steps = begin(robot, machine, q, [pair.place[i:, i].tolist() for i in range(robot.nv)], pair.row)
    form_moment = _moment
    if moment == "inside":
        whole(steps)
        form_moment = _moment_whole
    else:
        _vectors(steps)
    # Step 2: arms P(j,i) within a column and Z(i) from its diagonal, then what link j takes.
    runs = _arms_from_the_tip(steps) if moment == "inside" else arms(steps)
    turns = joints[pair.column].tolist()
    steps.compute("V", ("arm",), lambda arm: cross(arm[3:], arm[:3]), where=turns,
                  otherwise=lambda arm: arm[3:])  # fmt: skip
    steps.compute("F", ("arm", "H", "m", "V"), lambda arm, h, m, v: cross(arm[3:], h) + m * v, where=turns,
                  otherwise=lambda arm, h, m, v: m * v)  # fmt: skip
    steps.compute("N", ("arm", "Rn", "K", "H", "V"), form_moment, where=turns,
                  otherwise=lambda arm, rn, k, h, v: cross(h, v))  # fmt: skip
    # Step 3: sums towards the tip.
    if moment == "inside":
        steps.compute("F, N", ("F", "N"), lambda f, n: np.concatenate([f, n]))
        steps.double("F, N", 1, _carried, along=lambda level, place: [runs[level][place]])
    else:
        steps.double("F", 1, lambda own, further: own + further)
        steps.from_neighbour("Fn", "F", 1, np.zeros(3))
        steps.compute("N", ("N", "P", "Fn"), lambda n, p, f: n + cross(p, f))
        steps.double("N", 1, lambda own, further: own + further)
        steps.compute("F, N", ("F", "N"), lambda f, n: np.concatenate([f, n]))
    steps.compute("a", ("Z", "F, N"), lambda z, w: dot(z, w[3:]), where=joints[pair.row].tolist(),
                  otherwise=lambda z, w: dot(z, w[:3]))  # fmt: skip
    return entries(steps, pair)


def _vectors(steps: Lockstep) -> None:
    """Z(j), P(j+1,j) and H(j) in frame n+1."""
    steps.compute("Z", ("R", "z"), matvec)
    steps.compute("P", ("Rn", "p"), matvec)
    steps.compute("S", ("Rn", "s"), matvec)
    steps.compute("H", ("S", "m"), lambda s, m: m * s)


def _arms_from_the_tip(steps: Lockstep) -> list[dict[int, LockstepValue]]:
    """Arms as differences of sums towards the tip; the sums of every level."""
    steps.copy("reach", "P")
    runs = steps.double("reach", 1, lambda own, further: own + further)
    steps.compute("first", ("reach", "Z"), lambda p, z: np.concatenate([p, z]))
    steps.double("first", -1, lambda own, nearer: nearer)
    steps.compute("arm", ("first", "reach"), lambda x, p: np.concatenate([x[:3] - p, x[3:]]))
    return runs


def _moment(arm: Any, rn: Any, k: Any, h: Any, v: Any) -> Any:
    return matvec(rn, matvec(unpack(k), matvec(transpose(rn), arm[3:]))) + cross(h, v)


def _moment_whole(arm: Any, rn: Any, k: Any, h: Any, v: Any) -> Any:
    return matvec(k, arm[3:]) + cross(h, v)


def _carried(own: Any, further: Any, reach: Any) -> Any:
    """F and N of two runs of links, the moment with the force of the further one at its arm."""
    return np.concatenate([own[:3] + further[:3], own[3:] + further[3:] + cross(reach, further[:3])])


# ------------------------------------------------------------------- n processors


def on_columns(robot: Robot, machine: ProcessorArray, q: np.ndarray, moment: str) -> Made:
    """One processor for each column, which first forms the vectors of one row for all.

    Row by row the moment always goes with the force.
    """
    n, mass, turns = robot.nv, robot.model.dh.m, robot.model.dh.turns
    steps = begin(robot, machine, q, [list(range(n))], np.arange(n))
    _vectors(steps)
    steps.compute("K", ("Rn", "K"), rotated)
    steps.compute("rows", ("Z", "P", "H", "K"), lambda *row: np.concatenate(row)[None])
    steps.double("rows", 1, lambda own, further: np.concatenate([own, further]))
    matrix, results = np.zeros((n, n)), set()

    def column(i: int) -> None:
        rows = steps.values["rows", i]
        axis = LockstepValue(rows.data[0, :3], rows.task)
        arm, made = LockstepValue(np.zeros(3)), []
        for j in range(i, n):
            row, m = LockstepValue(rows.data[j - i], rows.task), LockstepValue(mass[j : j + 1])
            made.append(
                steps.alone("F, N", i, j, [axis, row, m, arm], _outward if turns[i] else _outward_sliding)
            )
            arm = LockstepValue(made[-1].data[6:], made[-1].task)
        further = LockstepValue(np.zeros(7))
        for j in range(n - 1, i - 1, -1):
            row = LockstepValue(rows.data[j - i], rows.task)
            further = steps.alone(
                "a", i, j, [row, made[j - i], further], _inward if turns[j] else _inward_sliding
            )
            matrix[i, j] = matrix[j, i] = further.data[6]
            results.add(further.task)

    steps.apart(column)
    return steps, matrix, results


def _outward(axis: Any, row: Any, m: Any, arm: Any) -> Any:
    """F(j+1,j,i), N(j+1,j,i) and the arm of the next row."""
    p, h, k = row[3:6], row[6:9], unpack(row[9:])
    v = cross(axis, arm)
    return np.concatenate([cross(axis, h) + m * v, matvec(k, axis) + cross(h, v), arm + p])


def _outward_sliding(axis: Any, row: Any, m: Any, arm: Any) -> Any:
    return np.concatenate([m * axis, cross(row[6:9], axis), arm])


def _inward(row: Any, own: Any, further: Any) -> Any:
    """F(n+1,j,i), N(n+1,j,i) and a_ji."""
    wrench = _carried(own[:6], further[:6], row[3:6])
    return np.concatenate([wrench, np.array([dot(row[:3], wrench[3:])])])


def _inward_sliding(row: Any, own: Any, further: Any) -> Any:
    wrench = _carried(own[:6], further[:6], row[3:6])
    return np.concatenate([wrench, np.array([dot(row[:3], wrench[:3])])])
