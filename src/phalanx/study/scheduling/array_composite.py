# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Composite bodies on a processor array, step by step: PA and PPA for VCR-B.

Masses of runs of links do not depend on the state: they are known from the beginning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...robot.robot import Robot
from ...spatial import cross, dot, double_cross, matvec
from ...sweeps.triangle import triangle
from ..machines import ProcessorArray
from .array_start import arms, begin, entries, whole
from .lockstep import Lockstep, LockstepValue


def on_triangle(
    robot: Robot, machine: ProcessorArray, q: np.ndarray, _: str
) -> tuple[Lockstep, Any, set[int]]:
    """One processor for each pair (row j, column i), j >= i: its steps, the matrix, the last tasks."""
    pair, turns = triangle(robot.nv), robot.model.dh.turns
    steps = begin(robot, machine, q, [pair.place[i:, i].tolist() for i in range(robot.nv)], pair.row)
    _unit_wrenches(steps, robot)
    arms(steps)
    steps.compute("a", ("arm", "f", "n"), _about_arm, where=turns[pair.column].tolist(),
                  otherwise=lambda arm, f, n: dot(arm[3:], f))  # fmt: skip
    return entries(steps, pair)


def on_columns(
    robot: Robot, machine: ProcessorArray, q: np.ndarray, _: str
) -> tuple[Lockstep, Any, set[int]]:
    """One processor for each link, which takes its wrench along the links before."""
    n, turns = robot.nv, robot.model.dh.turns
    steps = begin(robot, machine, q, [list(range(n))], np.arange(n))
    _unit_wrenches(steps, robot)
    steps.compute("rows", ("Z", "P"), lambda *row: np.concatenate(row)[None])
    steps.double("rows", -1, lambda own, nearer: np.concatenate([nearer, own]))
    matrix, results = np.zeros((n, n)), set()

    def along_ancestors(i: int) -> None:
        rows = steps.values["rows", i]
        f, n = steps.values["f", i], steps.values["n", i]
        for j in range(i, -1, -1):
            row = LockstepValue(rows.data[j], rows.task)
            if j == i:
                made = steps.alone("a", i, j, [row, f, n], _here if turns[j] else _here_sliding)
            else:
                made = steps.alone("a", i, j, [row, f, n], _moved if turns[j] else _moved_sliding)
            n = LockstepValue(made.data[:3], made.task)
            matrix[i, j] = matrix[j, i] = made.data[3]
            results.add(made.task)

    steps.apart(along_ancestors)
    return steps, matrix, results


def _unit_wrenches(steps: Lockstep, robot: Robot) -> None:
    """f(j) and n(j): what a unit acceleration of joint j takes for all links beyond, in frame n+1."""
    chain, rows = robot.model.dh, steps.rows
    whole(steps)
    steps.compute("body", ("H", "K", "P"), lambda h, k, p: np.concatenate([h, k.ravel(), p]))

    def further_mass(level: int, place: int) -> list[LockstepValue]:
        first = rows[place] + (1 << level)
        return [LockstepValue(chain.m[first : first + (1 << level)].sum(keepdims=True))]

    steps.double("body", 1, _joined, along=further_mass)
    steps.know("M", [chain.m[row:].sum(keepdims=True) for row in rows])
    turns = chain.turns[rows].tolist()
    steps.compute("f", ("Z", "M", "body"), lambda z, m, body: cross(z, body[:3]), where=turns,
                  otherwise=lambda z, m, body: m * z)  # fmt: skip
    steps.compute("n", ("Z", "body"), lambda z, body: matvec(body[3:12].reshape(3, 3), z), where=turns,
                  otherwise=lambda z, body: cross(body[:3], z))  # fmt: skip


def _joined(own: Any, further: Any, mass: Any) -> Any:
    """First and second moment and reach of two runs of links."""
    h, k, p = own[:3], own[3:12], own[12:]
    hn, kn, pn = further[:3], further[3:12], further[12:]
    moved = hn + mass * p
    k = k + kn - double_cross(p, moved).ravel() - double_cross(hn, p).ravel()
    return np.concatenate([h + moved, k, p + pn])


def _about_arm(arm: Any, f: Any, n: Any) -> Any:
    return dot(arm[3:], n + cross(arm[:3], f))


def _here(row: Any, f: Any, n: Any) -> Any:
    """The moment and a_jj."""
    return np.concatenate([n, np.array([dot(row[:3], n)])])


def _here_sliding(row: Any, f: Any, n: Any) -> Any:
    return np.concatenate([n, np.array([dot(row[:3], f)])])


def _moved(row: Any, f: Any, n: Any) -> Any:
    """The moment about the origin of a link further in, and its a_ji."""
    return _here(row, f, n + cross(row[3:], f))


def _moved_sliding(row: Any, f: Any, n: Any) -> Any:
    return _here_sliding(row, f, n + cross(row[3:], f))
