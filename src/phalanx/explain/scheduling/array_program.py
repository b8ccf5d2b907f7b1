# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The program of Fijany's processor arrays in time: computation and communication in lock-step.

Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics", PA for
VN-EB, repaired as in `algorithms.inertia.processor_array`; every operation is charged but sines, cosines
and second moments. One processor for each column (PPA) is given by its cost only; there the rows' vectors
are formed by one processor each and handed on to all columns that need them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...algorithms import find, require_covered
from ...algorithms.inertia.frames import moments
from ...analysis.cost import Count
from ...dh import offsets, rotations
from ...errors import PhalanxError
from ...machines import ProcessorArray
from ...robot import Robot
from ...spatial import cross, dot, matvec, rotated, transpose, unpack
from ...triangle import triangle
from .lockstep import Lockstep, Value
from .networks import array_network
from .placement import Schedule
from .tasks import TaskGraph


@dataclass(frozen=True, eq=False, repr=False)
class ArraySchedule(Schedule):
    """A schedule in lock-step, with the matrix that its tasks have computed on the way.

    `busiest` are the operations of the busiest processor in each step, added up;
    `communication_steps` counts the steps in which messages pass, all at the same time.
    """

    busiest: Count = field(default_factory=Count)
    communication_steps: int = 0
    mass_matrix: Any = None


def array_schedule(robot: Robot, machine: ProcessorArray, q: Any = None) -> ArraySchedule:
    """The paper's own assignment for a chain; `q` is the state that is computed with (neutral)."""
    require_covered(robot, find("mass_matrix", "processor_array"))
    if not robot.model.dh.turns.all():
        raise PhalanxError(
            f'schedule: the paper\'s assignment of {machine} is for turning joints, robot "{robot.name}" has '
            'others; use machine assignment="list".'
        )
    state = np.asarray(robot.neutral() if q is None else q, dtype=float)
    program = _on_columns if machine.processors == "n" else _on_triangle
    steps, matrix, results = program(robot, machine, state)
    network = array_network(machine, robot.nv)
    tasks = tuple(
        replace(t, is_result=k in results, reads_input=not t.before) for k, t in enumerate(steps.tasks)
    )
    title = f"mass_matrix of {robot.name} by processor_array"
    return ArraySchedule(
        TaskGraph(tasks, title, "equation", robot.link_names, robot.nv),
        machine,
        network.names,
        tuple(sorted(steps.placed, key=lambda t: (t.start, t.processor, t.task))),
        tuple(steps.messages),
        network=network,
        busiest=sum(steps.phases, Count()),
        communication_steps=steps.steps,
        mass_matrix=matrix + np.diag(robot.armature),
    )


# ------------------------------------------------------------------- what both arrays do


def _begin(
    robot: Robot, machine: ProcessorArray, q: np.ndarray, columns: list[list[int]], rows: np.ndarray
) -> Lockstep:
    """Step 1: R(n+1,j), R(n+1,j+1) from the next row, and Z(j), P(j+1,j), H(j) in frame n+1."""
    shuffled = machine.network == "shuffle-exchange"
    steps = Lockstep(columns, rows.tolist(), machine.times, machine.links, shuffled)
    chain = robot.model.dh
    p = offsets(chain, q)
    turn = np.stack([*_cosine_and_sine(chain, q), chain.ca, chain.sa], axis=-1)
    fields = {"turn": turn, "p": p, "s": p + chain.s, "m": chain.m[:, None], "K": moments(chain, q)[1]}
    for name, data in fields.items():
        steps.know(name, data[rows])
    steps.know("z", [np.array([0.0, 0.0, 1.0])] * len(rows))

    steps.compute("R", ("turn",), _rotation)
    steps.double("R", 1, lambda own, further: further @ own)
    steps.from_neighbour("Rn", "R", 1, np.eye(3))
    steps.compute("Z", ("R", "z"), matvec)
    steps.compute("P", ("Rn", "p"), matvec)
    steps.compute("S", ("Rn", "s"), matvec)
    steps.compute("H", ("S", "m"), lambda s, m: m * s)
    return steps


def _cosine_and_sine(chain: Any, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a = rotations(chain, q)
    return a[:, 0, 0], a[:, 1, 0]


def _rotation(turn: Any) -> Any:
    """R(j+1,j), the transpose of A_j, from cosine and sine of the joint's angle and of its twist."""
    ct, st, ca, sa = turn
    return np.array([[ct, st, 0.0], [-(st * ca), ct * ca, sa], [st * sa, -(ct * sa), ca]])


# ------------------------------------------------------------------- n (n + 1) / 2 processors


def _on_triangle(robot: Robot, machine: ProcessorArray, q: np.ndarray) -> tuple[Lockstep, Any, set[int]]:
    """One processor for each pair (row j, column i), j >= i: its steps, the matrix, the last tasks."""
    pair = triangle(robot.nv)
    columns = [pair.place[i:, i].tolist() for i in range(robot.nv)]
    steps = _begin(robot, machine, q, columns, pair.row)
    # Step 2: arms P(j,i) within a column; Z(i) travels with them from the diagonal.
    steps.from_neighbour("arm", "P", -1, np.zeros(3))
    for column in columns:
        axis = steps.values["Z", column[0]]
        steps.values["arm", column[0]] = replace(axis, data=np.concatenate([np.zeros(3), axis.data]))
    steps.double("arm", -1, _longer)
    steps.compute("V", ("arm",), lambda arm: cross(arm[3:], arm[:3]))
    steps.compute("F", ("arm", "H", "m", "V"), lambda arm, h, m, v: cross(arm[3:], h) + m * v)
    steps.compute("N", ("arm", "Rn", "K", "H", "V"), _moment)
    # Step 3: sums towards the tip, the force of the next row in between.
    steps.double("F", 1, lambda own, further: own + further)
    steps.from_neighbour("Fn", "F", 1, np.zeros(3))
    steps.compute("N", ("N", "P", "Fn"), lambda n, p, f: n + cross(p, f))
    steps.double("N", 1, lambda own, further: own + further)
    steps.compute("a", ("Z", "N"), dot)
    last = [steps.values["a", place] for place in range(len(pair.row))]
    return steps, pair.matrix(np.array([x.data for x in last])), {x.task for x in last}


def _longer(own: Any, nearer: Any) -> Any:
    """The arm from one further in; the axis comes from where it is known."""
    return np.concatenate([own[:3] + nearer[:3], nearer[3:]])


def _moment(arm: Any, rn: Any, k: Any, h: Any, v: Any) -> Any:
    return matvec(rn, matvec(unpack(k), matvec(transpose(rn), arm[3:]))) + cross(h, v)


# ------------------------------------------------------------------- n processors


def _on_columns(robot: Robot, machine: ProcessorArray, q: np.ndarray) -> tuple[Lockstep, Any, set[int]]:
    """One processor for each column, which first forms the vectors of one row for all."""
    n, mass = robot.nv, robot.model.dh.m
    steps = _begin(robot, machine, q, [list(range(n))], np.arange(n))
    steps.compute("K", ("Rn", "K"), rotated)
    steps.compute("rows", ("Z", "P", "H", "K"), lambda *row: np.concatenate(row)[None])
    steps.double("rows", 1, lambda own, further: np.concatenate([own, further]))
    matrix, results, start = np.zeros((n, n)), set(), steps.now
    ends = []
    for i in range(n):
        steps.now = start
        rows = steps.values["rows", i]
        axis = Value(rows.data[0, :3], rows.task)
        arm, made = Value(np.zeros(3)), []
        for j in range(i, n):
            row, m = Value(rows.data[j - i], rows.task), Value(mass[j : j + 1])
            made.append(steps.alone("F, N", i, j, [axis, row, m, arm], _outward))
            arm = Value(made[-1].data[6:], made[-1].task)
        further = Value(np.zeros(7))
        for j in range(n - 1, i - 1, -1):
            row = Value(rows.data[j - i], rows.task)
            further = steps.alone("a", i, j, [row, made[j - i], further], _inward)
            matrix[i, j] = matrix[j, i] = further.data[6]
            results.add(further.task)
        ends.append(steps.now)
        if i == 0:  # the longest column
            steps.phases += [steps.tasks[x.task].work for x in made] + [steps.tasks[further.task].work] * n
    steps.now = max(ends)
    return steps, matrix, results


def _outward(axis: Any, row: Any, m: Any, arm: Any) -> Any:
    """F(j+1,j,i), N(j+1,j,i) and the arm of the next row."""
    p, h, k = row[3:6], row[6:9], unpack(row[9:])
    v = cross(axis, arm)
    return np.concatenate([cross(axis, h) + m * v, matvec(k, axis) + cross(h, v), arm + p])


def _inward(row: Any, own: Any, further: Any) -> Any:
    """F(n+1,j,i), N(n+1,j,i) and a_ji."""
    z, p = row[:3], row[3:6]
    f, n = further[:3], further[3:6]
    n = own[3:6] + cross(p, f) + n
    return np.concatenate([own[:3] + f, n, np.array([dot(z, n)])])
