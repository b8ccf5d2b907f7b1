# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The programs of Fijany's processor arrays in time: computation and communication in lock-step.

Source: Fijany, "Serial and Parallel Computation of Kane's Equations for Multibody Dynamics", PA for
VN-EB, repaired as in `algorithms.inertia.processor_array`; every operation is charged but sines, cosines
and the moments of single links. One processor for each column (PPA), and composite bodies (VCR-B) on
either array, are given by their cost only. Seen from the base, as the slides recommend for VCR-B, the first
column does all but the last step, and rows hand its results on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ...algorithms.inertia.frames import moments
from ...algorithms.inertia.processor_array import require_summed
from ...dispatch import resolve
from ...errors import PhalanxError
from ...program.analyses.cost import Count
from ...robot.dh.chain import offsets, rotations
from ...robot.robot import Robot
from ...spatial import cross, dot, double_cross, matvec, rotated, transpose, unpack
from ...sweeps.triangle import Triangle, triangle
from ..machines import ProcessorArray
from .lockstep import Lockstep, LockstepValue
from .networks import array_network
from .placement import Schedule
from .tasks import TaskCode, TaskGraph, TaskTrace

Made = tuple[Lockstep, Any, set[int]]  # the steps, the matrix, the last tasks
ArrayProgram = Callable[[Robot, ProcessorArray, np.ndarray, str], Made]


@dataclass(frozen=True, eq=False, repr=False)
class ArraySchedule(Schedule):
    """A schedule in lock-step, with the matrix that its tasks have computed on the way.

    `busiest` are the operations of the busiest processor in each step, added up;
    `communication_steps` counts the steps in which messages pass, all at the same time.
    """

    busiest: Count = field(default_factory=Count)
    communication_steps: int = 0
    mass_matrix: Any = None


def array_schedule(
    robot: Robot, machine: ProcessorArray, q: Any = None, *, algorithm: Any = "processor_array"
) -> ArraySchedule:
    """The paper's own assignment for a chain; `q` is the state that is computed with (neutral).

    The options of `algorithm` ("processor_array") choose the form of the equations.
    """
    call = resolve(robot, "mass_matrix", "processor_array" if algorithm == "auto" else algorithm)
    options = dict(call.options)
    if (asked := options.pop("processors", machine.processors)) != machine.processors:
        raise PhalanxError(
            f"schedule: the algorithm asks for {asked} processors, and {machine} has {machine.processors}; "
            "leave the option out, or use the other array."
        )
    state = np.asarray(robot.neutral() if q is None else q, dtype=float)
    form, moment = options.get("form", "newton_euler"), options.get("moment", "apart")
    require_summed(form, moment)
    program = _PROGRAMS[form, machine.processors]
    steps, matrix, results = program(robot, machine, state, moment)
    network = array_network(machine, robot.nv)
    tasks = tuple(
        replace(t, is_result=k in results, reads_input=not t.before) for k, t in enumerate(steps.tasks)
    )
    chosen = ", ".join(f'{key}="{value}"' for key, value in options.items())
    title = f"mass_matrix of {robot.name} by processor_array{f' ({chosen})' * bool(chosen)}"
    code = partial(_code, robot, machine, program, moment)
    return ArraySchedule(
        TaskGraph(tasks, title, "equation", robot.link_names, robot.nv, "processor_array", code),
        machine,
        network.names,
        tuple(sorted(steps.placed, key=lambda t: (t.start, t.processor, t.task))),
        tuple(steps.messages),
        network=network,
        busiest=sum(steps.phases, Count()),
        communication_steps=steps.steps,
        mass_matrix=matrix + np.diag(robot.armature),
    )


def _code(robot: Robot, machine: ProcessorArray, program: ArrayProgram, moment: str) -> TaskCode:
    """The computations of a program's tasks."""
    n = robot.nv
    q = TaskTrace().inputs("q", n)
    steps, matrix, _ = program(robot, machine, q, moment)
    assert steps.trace is not None
    entries = (matrix + np.diag(robot.armature)).ravel().tolist()
    results = {("M", k): steps.trace.result(x) for k, x in enumerate(entries)}
    return TaskCode({"q": n}, {"M": n * n}, steps.trace.values, results, {"q": (n,), "M": (n, n)})


# ------------------------------------------------------------------- what all programs share


def _begin(
    robot: Robot, machine: ProcessorArray, q: np.ndarray, columns: list[list[int]], rows: np.ndarray
) -> Lockstep:
    """The steps until R(n+1,j) and, from the next row, R(n+1,j+1) are there."""
    steps = _known(robot, machine, q, columns, rows)
    steps.compute("R", ("sincos",), _rotation)
    steps.double("R", 1, lambda own, further: further @ own)
    steps.from_neighbour("Rn", "R", 1, np.eye(3))
    return steps


def _known(
    robot: Robot, machine: ProcessorArray, q: np.ndarray, columns: list[list[int]], rows: np.ndarray
) -> Lockstep:
    """Processors that know the constants of their links."""
    shuffled = machine.network == "shuffle-exchange"
    trace = TaskTrace(q[0].graph) if q.dtype == object else None
    steps = Lockstep(columns, rows.tolist(), machine.times, machine.links, shuffled, trace=trace)
    chain = robot.model.dh
    p, (h, k) = offsets(chain, q), moments(chain, q)
    a = rotations(chain, q)
    sincos = np.stack([a[:, 0, 0], a[:, 1, 0], chain.ca, chain.sa], axis=-1)
    known = {"sincos": sincos, "p": p, "s": p + chain.s, "m": chain.m[:, None], "h": h, "K": k}
    for name, data in known.items():
        steps.know(name, data[rows])
    steps.know("z", [np.array([0.0, 0.0, 1.0])] * len(rows))
    return steps


def _in_tip_frame(steps: Lockstep) -> None:
    """Z(j), P(j+1,j), H(j) and K(j) in frame n+1; Z is a column of R, K is rotated as a matrix."""
    steps.compute("Z", ("R",), lambda r: r[:, 2])
    steps.compute("P", ("Rn", "p"), matvec)
    steps.compute("H", ("Rn", "h"), matvec)
    steps.compute("K", ("Rn", "K"), lambda r, k: r @ unpack(k) @ transpose(r))


def _rotation(sincos: Any) -> Any:
    """R(j+1,j), the transpose of A_j, from cosine and sine of the joint's angle and of its twist."""
    ct, st, ca, sa = sincos
    return np.array([[ct, st, 0.0], [-(st * ca), ct * ca, sa], [st * sa, -(ct * sa), ca]])


def _arms(steps: Lockstep) -> list[Any]:
    """Arms P(j,i) within a column, by doubling; Z(i) travels with them from the diagonal."""
    steps.from_neighbour("arm", "P", -1, np.zeros(3))
    for column in steps.columns:
        axis = steps.values["Z", column[0]]
        steps.values["arm", column[0]] = replace(axis, data=np.concatenate([np.zeros(3), axis.data]))
    return steps.double("arm", -1, _longer)


def _longer(own: Any, nearer: Any) -> Any:
    """The arm from one further in; the axis comes from where it is known."""
    return np.concatenate([own[:3] + nearer[:3], nearer[3:]])


def _entries(steps: Lockstep, pair: Triangle) -> Made:
    """The steps, the matrix of the values a_ji that they end with, and the tasks that made them."""
    last = [steps.values["a", k] for k in range(len(pair.row))]
    return steps, pair.matrix(np.array([x.data for x in last])), {x.task for x in last}


# ------------------------------------------------------------------- Newton-Euler: PA and PPA for VN-EB


def _newton_euler_on_triangle(robot: Robot, machine: ProcessorArray, q: np.ndarray, moment: str) -> Made:
    """One processor for each pair (row j, column i), j >= i."""
    pair, revolute = triangle(robot.nv), robot.model.dh.turns
    steps = _begin(robot, machine, q, [pair.index[i:, i].tolist() for i in range(robot.nv)], pair.row)
    form_moment = _moment
    if moment == "inside":
        _in_tip_frame(steps)
        form_moment = _moment_of_rotated
    else:
        _vectors(steps)
    # Step 2: arms P(j,i) within a column and Z(i) from its diagonal, then what link j takes.
    runs = _arms_from_the_tip(steps) if moment == "inside" else _arms(steps)
    turns = revolute[pair.column].tolist()
    steps.compute("V", ("arm",), lambda arm: cross(arm[3:], arm[:3]), where=turns,
                  otherwise=lambda arm: arm[3:])  # fmt: skip
    steps.compute("F", ("arm", "H", "m", "V"), lambda arm, h, m, v: cross(arm[3:], h) + m * v, where=turns,
                  otherwise=lambda arm, h, m, v: m * v)  # fmt: skip
    steps.compute("N", ("arm", "Rn", "K", "H", "V"), form_moment, where=turns,
                  otherwise=lambda arm, rn, k, h, v: cross(h, v))  # fmt: skip
    # Step 3: sums towards the tip.
    if moment == "inside":
        steps.compute("F, N", ("F", "N"), lambda f, n: np.concatenate([f, n]))
        steps.double("F, N", 1, _carried, along=lambda level, processor: [runs[level][processor]])
    else:
        steps.double("F", 1, lambda own, further: own + further)
        steps.from_neighbour("Fn", "F", 1, np.zeros(3))
        steps.compute("N", ("N", "P", "Fn"), lambda n, p, f: n + cross(p, f))
        steps.double("N", 1, lambda own, further: own + further)
        steps.compute("F, N", ("F", "N"), lambda f, n: np.concatenate([f, n]))
    steps.compute("a", ("Z", "F, N"), lambda z, w: dot(z, w[3:]), where=revolute[pair.row].tolist(),
                  otherwise=lambda z, w: dot(z, w[:3]))  # fmt: skip
    return _entries(steps, pair)


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


def _moment_of_rotated(arm: Any, rn: Any, k: Any, h: Any, v: Any) -> Any:
    return matvec(k, arm[3:]) + cross(h, v)


def _carried(own: Any, further: Any, reach: Any) -> Any:
    """F and N of two adjacent runs of links: forces add, and the further one's moment is moved by its arm."""
    return np.concatenate([own[:3] + further[:3], own[3:] + further[3:] + cross(reach, further[:3])])


def _newton_euler_on_columns(robot: Robot, machine: ProcessorArray, q: np.ndarray, moment: str) -> Made:
    """The mass matrix and its schedule with one processor for each column.

    Each processor first forms the vectors of one row for all others; then forces and moments are summed row
    by row.
    """
    n, mass, turns = robot.nv, robot.model.dh.m, robot.model.dh.turns
    steps = _begin(robot, machine, q, [list(range(n))], np.arange(n))
    _vectors(steps)
    steps.compute("K", ("Rn", "K"), rotated)
    steps.compute("rows", ("Z", "P", "H", "K"), lambda *row: np.concatenate(row)[None])
    steps.double("rows", 1, lambda own, further: np.concatenate([own, further]))
    matrix, results = np.zeros((n, n), q.dtype), set()

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
    """The step inward of a processor (j, i): F(n+1,j,i), N(n+1,j,i) and the element a_ji."""
    wrench = _carried(own[:6], further[:6], row[3:6])
    return np.concatenate([wrench, np.array([dot(row[:3], wrench[3:])])])


def _inward_sliding(row: Any, own: Any, further: Any) -> Any:
    wrench = _carried(own[:6], further[:6], row[3:6])
    return np.concatenate([wrench, np.array([dot(row[:3], wrench[:3])])])


# ------------------------------------------------------------------- composite bodies: PA and PPA for VCR-B


def _composite_on_triangle(robot: Robot, machine: ProcessorArray, q: np.ndarray, _: str) -> Made:
    """One processor for each pair (row j, column i), j >= i: its steps, the matrix, the last tasks."""
    pair, turns = triangle(robot.nv), robot.model.dh.turns
    steps = _begin(robot, machine, q, [pair.index[i:, i].tolist() for i in range(robot.nv)], pair.row)
    _in_tip_frame(steps)
    _unit_wrenches(steps, robot)
    _arms(steps)
    steps.compute("a", ("arm", "f", "n"), _about_arm, where=turns[pair.column].tolist(),
                  otherwise=lambda arm, f, n: dot(arm[3:], f))  # fmt: skip
    return _entries(steps, pair)


def _composite_on_columns(robot: Robot, machine: ProcessorArray, q: np.ndarray, _: str) -> Made:
    """Composite bodies on one processor for each link, which carries its wrench along the links before."""
    steps = _begin(robot, machine, q, [list(range(robot.nv))], np.arange(robot.nv))
    _in_tip_frame(steps)
    return _along_columns(robot, q, steps)


def _composite_from_base_on_columns(robot: Robot, machine: ProcessorArray, q: np.ndarray, _: str) -> Made:
    """Composite bodies as `_composite_on_columns`, in the base frame."""
    steps = _in_base_frame(robot, machine, q)
    return _along_columns(robot, q, steps)


def _along_columns(robot: Robot, q: np.ndarray, steps: Lockstep) -> Made:
    """The wrench of each link taken along the links before by one processor."""
    n, turns = robot.nv, robot.model.dh.turns
    _unit_wrenches(steps, robot)
    steps.compute("rows", ("Z", "P"), lambda *row: np.concatenate(row)[None])
    steps.double("rows", -1, lambda own, nearer: np.concatenate([nearer, own]))
    matrix, results = np.zeros((n, n), q.dtype), set()

    def along_ancestors(i: int) -> None:
        rows = steps.values["rows", i]
        f, n = steps.values["f", i], steps.values["n", i]
        for j in range(i, -1, -1):
            row = LockstepValue(rows.data[j], rows.task)
            if j == i:
                made = steps.alone("a", i, j, [row, f, n], _here if turns[j] else _here_sliding)
            else:
                made = steps.alone("a", i, j, [row, f, n], _arm_moment if turns[j] else _arm_moment_sliding)
            n = LockstepValue(made.data[:3], made.task)
            matrix[i, j] = matrix[j, i] = made.data[3]
            results.add(made.task)

    steps.apart(along_ancestors)
    return steps, matrix, results


def _in_base_frame(robot: Robot, machine: ProcessorArray, q: np.ndarray) -> Lockstep:
    """The steps of a column until Z(j), P(j+1,j), H(j) and K(j) are there in the base frame."""
    steps = _known(robot, machine, q, [list(range(robot.nv))], np.arange(robot.nv))
    steps.compute("R", ("sincos",), lambda sincos: transpose(_rotation(sincos)))
    steps.double("R", -1, lambda own, nearer: nearer @ own)
    steps.compute("z", ("R",), lambda r: r[:, 2])
    steps.from_neighbour("Z", "z", -1, np.array([0.0, 0.0, 1.0]))
    steps.compute("P", ("R", "p"), matvec)
    steps.compute("H", ("R", "h"), matvec)
    steps.compute("K", ("R", "K"), lambda r, k: r @ unpack(k) @ transpose(r))
    return steps


def _composite_from_base_on_triangle(robot: Robot, machine: ProcessorArray, q: np.ndarray, _: str) -> Made:
    """The first column does all but the last step; its results travel along rows, then down columns."""
    n, pair, turns = robot.nv, triangle(robot.nv), robot.model.dh.turns
    steps = _in_base_frame(robot, machine, q)
    _unit_wrenches(steps, robot)
    steps.compute("row", ("f", "n", "body", "Z"), lambda f, n, body, z: np.concatenate([f, n, body[12:], z]))
    held = {j: steps.values["row", j] for j in range(n)}
    along = [[int(pair.index[j, i]) for i in range(j + 1)] for j in range(n)]
    down = [[int(pair.index[j, i]) for j in range(i, n)] for i in range(n)]
    clocked = machine.rows == "clocked"
    reached = steps.relayed([(held[j], along[j], steps.now) for j in range(n)], clocked=clocked)
    starts = [steps.now if clocked else reached[j][j] for j in range(n)]
    lowered = steps.relayed([(held[i], down[i], starts[i]) for i in range(n)], clocked=clocked)
    steps.steps += 0 if clocked else n - 1  # links of the longest route
    work = []
    for row, column in zip(pair.row.tolist(), pair.column.tolist(), strict=True):
        start = steps.now if clocked else max(reached[row][column], lowered[column][row - column])
        run = _of_rows if turns[column] else _of_rows_sliding
        work.append((start, int(pair.index[row, column]), row, [held[row], held[column]], run))
    made = steps.started("a", work)
    return steps, pair.matrix(np.array([x.data[0] for x in made])), {x.task for x in made}


def _of_rows(row: Any, column: Any) -> Any:
    """a_ji from the wrench of row j at its reach and the axis of column i at its own."""
    arm = column[6:9] - row[6:9]
    return np.array([dot(column[9:], row[3:6] + cross(arm, row[:3]))])


def _of_rows_sliding(row: Any, column: Any) -> Any:
    return np.array([dot(column[9:], row[:3])])


def _unit_wrenches(steps: Lockstep, robot: Robot) -> None:
    """f(j) and n(j): what a unit acceleration of joint j takes for all links beyond."""
    chain, rows = robot.model.dh, steps.rows
    steps.compute("body", ("H", "K", "P"), lambda h, k, p: np.concatenate([h, k.ravel(), p]))

    def further_mass(level: int, processor: int) -> list[LockstepValue]:
        first = rows[processor] + (1 << level)
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


def _arm_moment(row: Any, f: Any, n: Any) -> Any:
    """The moment about the origin of a link further in, and its a_ji."""
    return _here(row, f, n + cross(row[3:], f))


def _arm_moment_sliding(row: Any, f: Any, n: Any) -> Any:
    return _here_sliding(row, f, n + cross(row[3:], f))


# By form of the equations, whose frame they are seen from, and size of the array.
_PROGRAMS: dict[tuple[str, str], ArrayProgram] = {
    ("newton_euler", "n(n+1)/2"): _newton_euler_on_triangle,
    ("newton_euler", "n"): _newton_euler_on_columns,
    ("composite", "n(n+1)/2"): _composite_on_triangle,
    ("composite", "n"): _composite_on_columns,
    ("composite_base", "n(n+1)/2"): _composite_from_base_on_triangle,
    ("composite_base", "n"): _composite_from_base_on_columns,
}
