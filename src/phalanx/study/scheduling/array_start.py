# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the programs of a processor array have in common: rotations first, arms later, entries in the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...algorithms.inertia.frames import moments
from ...robot.dh import offsets, rotations
from ...robot.robot import Robot
from ...spatial import matvec, transpose, unpack
from ...sweeps.triangle import Triangle
from ..machines import ProcessorArray
from .lockstep import Lockstep


def begin(
    robot: Robot, machine: ProcessorArray, q: np.ndarray, columns: list[list[int]], rows: np.ndarray
) -> Lockstep:
    """The steps until R(n+1,j) and, from the next row, R(n+1,j+1) are there."""
    shuffled = machine.network == "shuffle-exchange"
    steps = Lockstep(columns, rows.tolist(), machine.times, machine.links, shuffled)
    chain = robot.model.dh
    p, (h, k) = offsets(chain, q), moments(chain, q)
    a = rotations(chain, q)
    turn = np.stack([a[:, 0, 0], a[:, 1, 0], chain.ca, chain.sa], axis=-1)
    known = {"turn": turn, "p": p, "s": p + chain.s, "m": chain.m[:, None], "h": h, "K": k}
    for name, data in known.items():
        steps.know(name, data[rows])
    steps.know("z", [np.array([0.0, 0.0, 1.0])] * len(rows))
    steps.compute("R", ("turn",), _rotation)
    steps.double("R", 1, lambda own, further: further @ own)
    steps.from_neighbour("Rn", "R", 1, np.eye(3))
    return steps


def whole(steps: Lockstep) -> None:
    """Z(j), P(j+1,j), H(j) and K(j) in frame n+1; Z is a column of R, K is turned as a whole."""
    steps.compute("Z", ("R",), lambda r: r[:, 2])
    steps.compute("P", ("Rn", "p"), matvec)
    steps.compute("H", ("Rn", "h"), matvec)
    steps.compute("K", ("Rn", "K"), lambda r, k: r @ unpack(k) @ transpose(r))


def _rotation(turn: Any) -> Any:
    """R(j+1,j), the transpose of A_j, from cosine and sine of the joint's angle and of its twist."""
    ct, st, ca, sa = turn
    return np.array([[ct, st, 0.0], [-(st * ca), ct * ca, sa], [st * sa, -(ct * sa), ca]])


def arms(steps: Lockstep) -> list[Any]:
    """Arms P(j,i) within a column, by doubling; Z(i) travels with them from the diagonal."""
    steps.from_neighbour("arm", "P", -1, np.zeros(3))
    for column in steps.columns:
        axis = steps.values["Z", column[0]]
        steps.values["arm", column[0]] = replace(axis, data=np.concatenate([np.zeros(3), axis.data]))
    return steps.double("arm", -1, _longer)


def _longer(own: Any, nearer: Any) -> Any:
    """The arm from one further in; the axis comes from where it is known."""
    return np.concatenate([own[:3] + nearer[:3], nearer[3:]])


def entries(steps: Lockstep, pair: Triangle) -> tuple[Lockstep, Any, set[int]]:
    """The steps, the matrix of the values a_ji that they end with, and the tasks that made them."""
    last = [steps.values["a", place] for place in range(len(pair.row))]
    return steps, pair.matrix(np.array([x.data for x in last])), {x.task for x in last}
