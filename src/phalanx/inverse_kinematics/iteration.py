# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The program of inverse kinematics: one Levenberg–Marquardt iteration in a loop that ends on data.

The damping is proportional to the squared residual (Sugihara, "Solvability-unconcerned inverse kinematics by
the Levenberg–Marquardt method", 2011): it vanishes at a solution, where iterations converge quadratically,
and keeps steps short far away and at singularities; no step needs a second look. Coordinates at a limit that
the step would cross leave it (active set), the others are clipped. A try whose residual stalls is abandoned
for the next start: points of an additive low-discrepancy sequence inside the limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import inf
from typing import Any

import numpy as np

from ..constraints.compiled import in_order
from ..dispatch import evaluate
from ..errors import PhalanxError
from ..program.builder import Builder, Inlined, template
from ..program.graph import Graph, symbols
from ..program.ir import Program, Real, Scalar
from ..program.ops import MUL
from ..program.passes.differentiate import adjoints, tangents
from ..program.passes.fuse import fuse
from ..program.passes.order import with_sincos_first
from ..robot.collision import Pair, RoundShape
from ..robot.configurations import joint_by_joint, tangent_map
from ..robot.description import Constraint
from ..robot.robot import Robot
from ..tracing import math as lie
from ..tracing.arrays import Traced, scalars_of
from ..tracing.calls import name_of, traced_call
from ..tracing.distances import distances
from ..tracing.equations import Equations, TracedRobot
from .residuals import Rows, closure_rows, rows_of
from .target import AXIS, LOOK_AT, PARTS, POSE, SHAPES, FrameTarget

START, TARGETS, SETTINGS, REST, BOX = "start", "targets", "settings", "rest", "box"
CLEARANCE = "clearance"
Q, ERROR, FACTS = "q", "error", "facts"
SOLVED, COUNT, RIGID = range(3)  # facts: one where it is solved, iterations, how far poses are from rigid
# Settings of a call: tolerance, tries, iterations of a try, number of the first start.
TOLERANCE, TRIES, ITERATIONS, FIRST = range(4)

# Results change little with any of these: `benchmarks/inverse_kinematics.py --set DAMPING=0.1`.
DAMPING = 0.03  # of a squared residual
LEAST = 1e-10  # of damping
STEP = 1.0  # the longest step of a coordinate
PROGRESS = 0.5  # the factor by which a squared residual falls
PATIENCE = 5.0  # iterations within which it must
SLIDE, STILL = 0.3, 1e-5  # along solutions: the longest step of a coordinate, and that which ends the search
SHARPER = 0.98  # of squared tolerances in the loop: errors are measured more exactly afterwards
MARGIN = 1e-4  # of the robot's length: pairs of bodies are moved so much further than their clearance
# m, by which another evaluation of a distance may differ
SLACK = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 2e-6}
CONCAVE = 1e4  # times a slope without curvature, at most
TINY = 1e-37
BOUND = 3200  # iterations of an exported program
_POSES = 16


@dataclass(frozen=True)
class Problem:
    """The structure of a problem without the numbers of a call; it determines the compiled program."""

    robot: Robot
    targets: tuple[tuple[str, FrameTarget], ...]
    weights: tuple[tuple[float, float], ...]  # of turns and of distances, for each target
    limits: bool = True
    rest: bool = False  # whether the solution nearest to a posture is sought
    cost: Any = None  # a function (q, robot) that shall be small at the solution
    box: bool = False  # whether a call has limits of its own besides
    pairs: tuple[Pair, ...] = ()  # of bodies that shall keep a distance

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The loops of the robot, which stay closed."""
        return in_order(self.robot.constraints)

    @property
    def rows(self) -> int:
        """The number of errors: those of the targets, then those of the loops."""
        return sum(t.rows for _, t in self.targets) + sum(c.rows for c in self.constraints)

    @property
    def numbers(self) -> list[int]:
        """The number of inputs of each target."""
        return [int(np.prod(SHAPES[t.kind])) for _, t in self.targets]

    @property
    def key(self) -> tuple[Any, ...]:
        targets = tuple((name, *t.key) for name, t in self.targets)
        return targets, self.weights, self.limits, self.rest, self.cost, self.box, self.pairs

    @property
    def length(self) -> float:
        """The length [m] that distances are divided by: how far frames move for a radian of a joint."""
        return self.robot._memoized("length of inverse kinematics", lambda: _length(self.robot))

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """The inputs of the program."""
        n = self.robot.nq
        made: dict[str, tuple[int, ...]] = {START: (n,), TARGETS: (sum(self.numbers),), SETTINGS: (4,)}
        made |= ({REST: (n,)} if self.rest else {}) | ({BOX: (2, n)} if self.box else {})
        return made | ({CLEARANCE: (1,)} if self.pairs else {})

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The limits that are kept (nq,)."""
        n = self.robot.nq
        if not self.limits:
            return np.full(n, -inf), np.full(n, inf)
        return self.robot.limits.lower.copy(), self.robot.limits.upper.copy()


def coordinates_of_rates(robot: Robot) -> list[int | None]:
    """The coordinate whose rate each degree of freedom is, if there is one."""
    found: list[int | None] = [None] * robot.nv
    for c in robot._coordinates:
        if c.kind.quaternion is None:
            for k, i in zip(range(c.q.start, c.q.stop), range(c.v.start, c.v.stop), strict=True):
                found[i] = k
    return found


@dataclass(frozen=True)
class Traces:
    """One iteration: weighted squared residual, whether all errors are small, cost, and what follows."""

    square: Any
    solved: Any
    cost: Any
    step: np.ndarray
    following: np.ndarray


class Iteration:
    """The scalars of one iteration."""

    def __init__(self, problem: Problem, dtype: np.dtype) -> None:
        self.problem, self.graph, self.length, self.dtype = problem, Graph(), problem.length, dtype
        robot = problem.robot
        self.q = symbols(self.graph, Q, (robot.nq,))
        self.given = symbols(self.graph, TARGETS, (sum(problem.numbers),))
        self.rest = symbols(self.graph, REST, (robot.nq * problem.rest,))
        self.view = TracedRobot(Equations(robot, self.graph))
        lower, upper = inside(problem.bounds(), dtype)
        self.lower, self.upper = lower.astype(object), upper.astype(object)
        if problem.box:
            box = symbols(self.graph, BOX, (2, robot.nq))
            for k in range(robot.nq):
                self.lower[k] = self.graph.maximum(box[0, k], float(lower[k]))
                self.upper[k] = self.graph.minimum(box[1, k], float(upper[k]))

    @cached_property
    def split(self) -> list[np.ndarray]:
        """The numbers of each target."""
        return np.split(self.given, np.cumsum(self.problem.numbers)[:-1])

    @cached_property
    def rows(self) -> list[Rows]:
        """The residuals of each target and their Jacobians."""
        return [
            rows_of(self.view, self.graph, self.q, name, kind, given)
            for (name, kind), given in zip(self.problem.targets, self.split, strict=True)
        ]

    @cached_property
    def closures(self) -> list[Rows]:
        """The residuals of the robot's loops and their Jacobian."""
        return closure_rows(self.view, self.q, self.problem.constraints)

    def gaps(self, margin: float) -> list[Any]:
        """How far pairs of bodies are beyond the clearance and a margin; negative where they are within.

        Of two spheres it is exact where it is zero, and has no square root.
        """
        least = symbols(self.graph, CLEARANCE, (1,))[0] + margin
        made = [d - least for d in self._distances]
        for square, radii in self._spheres:
            reach = least + radii
            made.append((square - reach * reach) * (0.5 / reach))
        return made

    @cached_property
    def _spheres(self) -> list[tuple[Any, float]]:
        """The squared distances between the centres of pairs of spheres, and the sums of their radii."""
        points: dict[RoundShape, np.ndarray] = {}
        made = []
        for pair in self.problem.pairs:
            if not _are_spheres(pair):
                continue
            shapes = [shape for body in pair for shape in body if isinstance(shape, RoundShape)]
            for shape in shapes:
                if shape not in points:
                    center = np.array(shape.ends[0]).astype(object)
                    if shape.frame is not None:
                        pose = self.view.frame_pose(Traced(self.q), shape.frame).scalars
                        center = pose[:3, :3] @ center + pose[:3, 3]
                    points[shape] = center
            way = points[shapes[0]] - points[shapes[1]]
            made.append(((way * way).sum(), shapes[0].radius + shapes[1].radius))
        return made

    @cached_property
    def _distances(self) -> list[Any]:
        """The distances of all other pairs."""
        others = [pair for pair in self.problem.pairs if not _are_spheres(pair)]
        return distances(self.view, Traced(self.q), others).scalars.tolist() if others else []

    @property
    def is_clear(self) -> Any:
        """Whether all pairs of bodies keep their distance."""
        if not self.problem.pairs:
            return 1.0
        return self.graph.less(SLACK[self.dtype], reduce(self.graph.minimum, self.gaps(0.0)))

    @cached_property
    def moves(self) -> np.ndarray:
        """Whether a target depends on each coordinate (nq,)."""
        columns = np.concatenate([r.jacobian for r in (*self.rows, *self.closures)])
        rates = [any(isinstance(x, Scalar) or x for x in column) for column in columns.T]
        made = np.zeros(self.problem.robot.nq, dtype=bool)
        for c in self.problem.robot._coordinates:
            made[c.q] = any(rates[c.v])
        return made

    def traced(self, tolerance: Any) -> Traces:
        """One iteration at the coordinates q."""
        graph = self.graph
        residual, jacobian, sizes = [], [], []
        weights = [*self.problem.weights, *[(1.0, 1.0)] * len(self.closures)]
        for rows, both in zip([*self.rows, *self.closures], weights, strict=True):
            for part, is_turn, whole in rows.parts:
                weight = both[not is_turn]
                if weight == 0.0:
                    continue
                own = rows.residual[part]
                square = (own * own).sum()
                # Near half a turn the sine of its angle vanishes as at the target.
                sizes.append(square if whole is None else graph.choose(graph.less(whole, 0.5), 4.0, square))
                scale = weight if is_turn else weight / self.length
                residual.append(own * scale)
                jacobian.append(rows.jacobian[part] * scale)
        if self.problem.pairs:
            depth, slope = self._depth()
            residual.append(np.array([-depth / self.length], dtype=object))
            jacobian.append(slope[None] * (1.0 / self.length))
        e, J = np.concatenate(residual), np.concatenate(jacobian)  # noqa: N806
        square = (e * e).sum()
        size = reduce(graph.maximum, sizes)
        damping = DAMPING * square + LEAST
        J = self._held(J, J.T @ e)  # noqa: N806
        cost = self._cost()
        dq = damped(J, e, damping)[0] if cost is None else self._with_cost(J, e, damping, cost)
        solved = graph.choose(graph.less(size, tolerance), self.is_clear, 0.0)
        return Traces(square, solved, cost, dq, self._moved(dq))

    def _depth(self) -> tuple[Any, np.ndarray]:
        """How far pairs of bodies are within the clearance, as one length, and its gradient (nv,).

        One row for all pairs: what matters is a way out, and a row for each would cost as many squares.
        """
        graph, robot = self.graph, self.problem.robot
        inside = [graph.maximum(-gap, 0.0) for gap in self.gaps(MARGIN * self.length)]
        total = reduce(lambda a, b: a + b, [x * x for x in inside])
        depth = graph.sqrt(total)
        found = adjoints([total], [1.0])
        slope = np.array([found.get(x.number, 0.0) for x in self.q.tolist()], dtype=object)
        g = np.zeros(robot.nv, dtype=object)
        joint_by_joint(robot._coordinates, "along_rates", g, "v", (self.q, "q"), (slope, "q"))
        return depth, g * (0.5 / graph.maximum(depth, TINY))

    def _held(self, J: np.ndarray, slope: np.ndarray) -> np.ndarray:  # noqa: N803
        """The Jacobian without the columns of coordinates at a limit that `slope` would cross."""
        made = J.copy()
        for i, free in enumerate(self._free(slope)):
            if isinstance(free, Scalar):
                made[:, i] = [self.graph.choose(free, x, 0.0) for x in J[:, i]]
        return made

    def _free(self, slope: np.ndarray) -> list[Any]:
        """One for each degree of freedom that may follow `slope`, zero at a limit that this would cross."""
        graph = self.graph
        made: list[Any] = [1.0] * len(slope)
        for i, k in enumerate(coordinates_of_rates(self.problem.robot)):
            if k is None or not isinstance(slope[i], Scalar):
                continue
            if self._is_bound(self.lower[k]):
                inside = graph.less(self.lower[k], self.q[k])
                made[i] = graph.choose(inside, 1.0, graph.less(0.0, slope[i]))
            if self._is_bound(self.upper[k]):
                inside = graph.less(self.q[k], self.upper[k])
                made[i] = graph.choose(inside, made[i], graph.less(slope[i], 0.0))
        return made

    def _is_bound(self, limit: Any) -> bool:
        return isinstance(limit, Scalar) or bool(np.isfinite(limit))

    def _cost(self) -> Any:
        """The scalar that the solver minimises among solutions; None if any solution serves."""
        problem = self.problem
        if problem.rest:
            away = self.view.difference(Traced(self.rest), Traced(self.q)).scalars
            return 0.5 * (away * away).sum()
        if problem.cost is None:
            return None
        name = f"inverse_kinematics: cost {name_of(problem.cost)}"
        made = scalars_of(traced_call(problem.cost, [Traced(self.q), self.view], {}, name), None, name)
        if made.size != 1:
            raise PhalanxError(f"{name} has shape {made.shape}, expected a number.")
        if not isinstance(made.item(), Scalar):
            raise PhalanxError(f"{name} does not depend on q; return what shall be small, as q @ q.")
        return made.item()

    def _with_cost(self, J: np.ndarray, e: np.ndarray, damping: Any, cost: Any) -> np.ndarray:  # noqa: N803
        """The step toward the targets, and one along the solutions that lowers a cost.

        The latter is steepest descent to the minimum of the parabola that the cost is along it. Coordinates
        that the sum would move beyond a limit are held, and both are computed again.
        """
        graph, robot, whole = self.graph, self.problem.robot, J
        found = adjoints([cost], [1.0])
        slope = np.array([found.get(x.number, 0.0) for x in self.q.tolist()], dtype=object)
        g = tangent_map(robot._coordinates, "along_rates", self.q, slope)

        def step(J: np.ndarray, g: np.ndarray) -> np.ndarray:  # noqa: N803
            onto, multipliers = damped(J, J @ g, damping)
            p = onto - g
            rates = tangent_map(robot._coordinates, "coordinate_rates", self.q, p)
            seeds = {x.number: r for x, r in zip(self.q.tolist(), rates.tolist(), strict=True)}
            bend = (p * np.array(tangents(g.tolist(), seeds), dtype=object)).sum()
            if len(multipliers):  # what holds p in the tangent space bends with the solutions
                turned = np.array(tangents(whole.ravel().tolist(), seeds), dtype=object).reshape(J.shape)
                bend = bend - (multipliers * (turned @ p)).sum()
            fall = (p * p).sum()  # as -p g, which the damping would spoil
            longest = reduce(graph.maximum, [graph.abs(x) for x in p.tolist()])
            far = SLIDE / graph.maximum(longest, TINY)
            concave = graph.minimum(far, CONCAVE)
            scale = graph.choose(graph.less(0.0, bend), fall / graph.maximum(bend, TINY), concave)
            return damped(J, e, damping)[0] + p * graph.minimum(graph.maximum(scale, 0.0), far)

        free = self._free(step(J, g))
        held, left = J.copy(), g.copy()
        for i, mask in enumerate(free):
            if isinstance(mask, Scalar):
                held[:, i] = [graph.choose(mask, x, 0.0) for x in J[:, i]]
                left[i] = graph.choose(mask, g[i], 0.0)
        return step(held, left)

    def _moved(self, dq: np.ndarray) -> np.ndarray:
        graph, robot = self.graph, self.problem.robot
        dq = np.array([graph.minimum(graph.maximum(x, -STEP), STEP) for x in dq], dtype=object)
        made = np.empty(robot.nq, dtype=object)
        joint_by_joint(robot._coordinates, "integrate", made, "q", (self.q, "q"), (dq, "v"))
        made = self._normalized(made)
        return np.array([self.kept(k, x) for k, x in enumerate(made)], dtype=object)

    def _normalized(self, q: np.ndarray) -> np.ndarray:
        made = np.empty(len(q), dtype=object)
        return joint_by_joint(self.problem.robot._coordinates, "normalize", made, "q", (q, "q"))

    def kept(self, k: int, x: Any) -> Any:
        """A coordinate within its limits."""
        return self.graph.minimum(self.graph.maximum(x, self.lower[k]), self.upper[k])

    def drawn(self, number: Any) -> np.ndarray:
        """The point of that number of the sequence of starts; coordinates that move no target stay."""
        lower, upper = windows(self.problem.robot)
        made = np.empty(self.problem.robot.nq, dtype=object)
        for k, alpha in enumerate(sequence(len(made))):
            x = number * alpha
            made[k] = lower[k] + (upper[k] - lower[k]) * (x - self.graph.floor(x))
        made = self._normalized(made)
        return np.array(
            [self.kept(k, x) if self.moves[k] else self.q[k] for k, x in enumerate(made)], dtype=object
        )

    def errors(self) -> np.ndarray:
        """The residuals of all targets: rotation vectors and distances."""
        made = []
        graph = self.graph
        for (name, kind), given, rows in zip(self.problem.targets, self.split, self.rows, strict=True):
            if kind.kind == POSE:
                pose = self.view.frame_pose(Traced(self.q), name)
                made.append(lie.pose_error(pose, Traced(given.reshape(4, 4))).scalars)
            elif kind.kind in (AXIS, LOOK_AT):
                ((_, _, whole),) = rows.parts
                sine = 0.5 * graph.sqrt((rows.residual * rows.residual).sum())
                half = graph.arctan2(sine, graph.sqrt(graph.maximum(0.5 * whole, 0.0)))
                made.append(rows.residual * (half / graph.maximum(sine, TINY)))
            else:
                made.append(rows.residual)
        return np.concatenate([*made, *(rows.residual for rows in self.closures)])

    def rigidity(self) -> Any:
        """The largest entry by which a rotation of a target differs from one, times its transpose."""
        graph, most = self.graph, 0.0
        for (_, kind), given in zip(self.problem.targets, self.split, strict=True):
            if kind.kind == POSE:
                pose = given.reshape(4, 4)
                R = pose[:3, :3]  # noqa: N806
                away = np.concatenate([(R @ R.T - np.eye(3)).ravel(), pose[3] - np.eye(4)[3]])
                right = (np.cross(R[0], R[1]) * R[2]).sum()
                for x in (*away.tolist(), right - 1.0):
                    most = graph.maximum(graph.abs(x), most)
        return most


def _are_spheres(pair: Pair) -> bool:
    """Whether both bodies are a sphere."""
    return all(len(body) == 1 and isinstance(body[0], RoundShape) and len(body[0].ends) == 1 for body in pair)


def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of a symmetric positive definite system, by its factor L D L^T without square roots."""
    n = len(b)
    L, inverse = np.zeros((n, n), dtype=object), [0.0] * n  # noqa: N806
    for j in range(n):
        scaled = [L[j, k] * inverse[k] for k in range(j)]
        for i in range(j, n):
            x = a[i, j]
            for k in range(j):
                x = x - L[i, k] * scaled[k]
            L[i, j] = x
        inverse[j] = 1.0 / L[j, j]
        L[j, :j] = scaled  # below, rows keep L D until they are reached
    y = list(b)
    for i in range(n):
        for k in range(i):
            y[i] = y[i] - L[i, k] * y[k]
    x = [y[i] * inverse[i] for i in range(n)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k, i] * x[k]
    made = np.empty(n, dtype=object)
    made[:] = x
    return made


def damped(J: np.ndarray, v: np.ndarray, damping: Any) -> tuple[np.ndarray, np.ndarray]:  # noqa: N803
    """The step x that makes the square of J x - v plus damping times that of x smallest.

    And y with x = J.T y where that is the smaller system, else nothing.
    """
    m = len(J)
    columns = sum(any(isinstance(x, Scalar) or x for x in column) for column in J.T)
    matrix = J @ J.T if m <= columns else J.T @ J
    for k in range(len(matrix)):
        matrix[k, k] = matrix[k, k] + damping
    if m > columns:
        return solve(matrix, J.T @ v), np.zeros(0)
    y = solve(matrix, v)
    return J.T @ y, y


def windows(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """The box from which starts are drawn: the limits, or pi to both sides where there are none."""
    lower, upper = robot.limits.lower.copy(), robot.limits.upper.copy()
    for c in robot._coordinates:
        if c.kind.quaternion is not None:
            part = np.arange(c.q.start, c.q.stop)[c.kind.quaternion]
            lower[part], upper[part] = -1.0, 1.0
    bottom = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * np.pi, -np.pi))
    top = np.where(np.isfinite(upper), upper, np.where(np.isfinite(lower), lower + 2 * np.pi, np.pi))
    return bottom, top


def _length(robot: Robot) -> float:
    """The root mean square of lengths by which joints move frames when they turn by a radian."""
    q = robot.random_state((_POSES,), np.random.default_rng(0))[0]
    turns = moves = 0.0
    for frame in dict.fromkeys([robot.link_names[-1], *robot.link_names[:: max(1, robot.n_links // 8)]]):
        J = evaluate(robot, "jacobian", (q,), {}, frame=frame, backend="numpy")  # noqa: N806
        turns, moves = turns + float((J[:, :3] ** 2).sum()), moves + float((J[:, 3:] ** 2).sum())
    if turns <= 0.0 or moves <= 0.0:
        return 1.0
    return float(2.0 ** np.round(np.log2(np.sqrt(moves / turns))))  # the same with any rounding


def sequence(n: int) -> np.ndarray:
    """The steps (n,) of an additive sequence that fills a cube evenly, by a generalised golden ratio."""
    x = 1.5
    for _ in range(60):
        x = (1.0 + x) ** (1.0 / (n + 1))
    made: np.ndarray = np.power(1.0 / x, np.arange(1, n + 1)) % 1.0
    return made


def inside(bounds: tuple[np.ndarray, np.ndarray], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Limits rounded inwards to a precision."""
    if dtype == np.float64:
        return bounds
    made = []
    for bound, way in zip(bounds, (inf, -inf), strict=True):
        rounded = bound.astype(dtype)
        outside = rounded < bound if way > 0 else rounded > bound
        rounded[outside] = np.nextafter(rounded[outside], dtype.type(way))
        made.append(rounded.astype(float))
    return made[0], made[1]


def program(problem: Problem, dtype: np.dtype, limit: int = 0) -> Program:
    """The program: coordinates, errors and facts for a start and the numbers of the targets.

    The loop runs at most `limit` times, by default as often as the caller says.
    """
    robot = problem.robot
    n = robot.nq
    b = Builder(problem.inputs, {Q: (n,), ERROR: (problem.rows,), FACTS: (3,)})
    it = Iteration(problem, dtype)
    graph = it.graph
    settings, best = symbols(graph, SETTINGS, (4,)), symbols(graph, "best", (n,))
    has_cost = problem.rest or problem.cost is not None
    starts = {"least": inf, "reference": inf, "waited": 0.0, "tried": 0.0, "inside": 0.0, "every": 0.0}
    if has_cost:
        starts["cheapest"] = inf
    state = {name: symbols(graph, name, ()).item() for name in starts}
    found = it.traced(settings[TOLERANCE] * SHARPER)
    square, solved = found.square, found.solved
    # What is solved is taken, even if the weighted residual of an earlier try was smaller.
    better = graph.choose(solved, 1.0, graph.less(square, state["least"]))
    falls = graph.less(square, PROGRESS * state["reference"])
    waited = graph.choose(falls, 0.0, state["waited"] + 1.0)
    inside = state["inside"] + 1.0
    is_late = graph.less(settings[ITERATIONS] - 0.5, inside)
    stalls = graph.maximum(graph.less(PATIENCE - 0.5, waited), is_late)
    done = solved
    after: dict[str, Any] = {}
    if has_cost:
        has_one = graph.choose(solved, 1.0, graph.less(state["cheapest"], inf))
        cheaper = graph.choose(solved, graph.less(found.cost, state["cheapest"]), 0.0)
        better = graph.choose(has_one, cheaper, better)
        after["cheapest"] = graph.choose(cheaper, found.cost, state["cheapest"])
        longest = reduce(graph.maximum, [graph.abs(x) for x in found.step.tolist() if isinstance(x, Scalar)])
        is_still = graph.choose(solved, graph.less(longest, STILL), 0.0)
        done = graph.maximum(is_still, graph.choose(has_one, is_late, 0.0))
        stalls = graph.choose(has_one, 0.0, stalls)
    stalls = graph.choose(done, 0.0, stalls)
    tried = graph.choose(stalls, state["tried"] + 1.0, state["tried"])
    is_over = graph.less(settings[TRIES] - 0.5, tried)
    # Targets that are no numbers have no residual below infinity.
    stop = graph.maximum(graph.maximum(done, is_over), 1.0 - graph.less(square, inf))
    drawn = it.drawn(settings[FIRST] + tried)
    following = [
        graph.choose(stalls, new, x) for new, x in zip(drawn.tolist(), found.following.tolist(), strict=True)
    ]
    after |= {
        "least": graph.choose(better, square, state["least"]),
        "reference": graph.choose(stalls, inf, graph.choose(falls, square, state["reference"])),
        "waited": graph.choose(stalls, 0.0, waited),
        "tried": tried,
        "inside": graph.choose(stalls, 0.0, inside),
        "every": state["every"] + 1.0,
    }
    results = [
        *following,
        *(graph.choose(better, x, old) for x, old in zip(it.q.tolist(), best.tolist(), strict=True)),
        *(after[name] for name in state),
        stop,
    ]
    known: dict[str, Any] = {
        name: [b.load(buffer, k) for k in range(buffer.size)] for name, buffer in b.inputs.items()
    }
    tolerance = known[SETTINGS][TOLERANCE]
    known[SETTINGS][TOLERANCE] = b.value(MUL, tolerance, tolerance)
    first = _append(b, [it.kept(k, x) for k, x in enumerate(it.q)], {**known, Q: known[START]})
    with b.until(limit or b.size()) as loop:
        q, kept = ([loop.carry(x) for x in first] for _ in range(2))
        values = {name: loop.carry(start) for name, start in starts.items()}
        inside_loop = {**known, Q: q, "best": kept, **{name: [x] for name, x in values.items()}}
        *made, ends = _append(b, results, inside_loop)
        for carried, value in zip([*q, *kept, *values.values()], made, strict=True):
            loop.feed(carried, value)
        loop.stop(ends)
    end = Iteration(problem, dtype)
    errors = end.errors()
    within = symbols(end.graph, SETTINGS, (4,))[TOLERANCE]
    is_solved: Any = 1.0
    for x in _squares(end, errors):
        is_solved = end.graph.choose(end.graph.less(within, x), 0.0, is_solved)
    is_solved = end.graph.choose(is_solved, end.is_clear, 0.0)
    last = _append(b, [*errors, is_solved, end.rigidity()], {**known, Q: kept})
    for k, x in enumerate(kept):
        b.store(b.outputs[Q], k, x)
    for k, x in enumerate(last[:-2]):
        b.store(b.outputs[ERROR], k, x)
    for fact, x in ((SOLVED, last[-2]), (COUNT, values["every"]), (RIGID, last[-1])):
        b.store(b.outputs[FACTS], fact, x)
    return b.finished()


def exported(robot: Robot, frame: str, dtype: np.dtype) -> Program:
    """The program for the pose of a frame, for other languages: its loop has a bound."""
    robot.frame(frame)
    problem = Problem(robot, ((frame, FrameTarget(POSE)),), ((1.0, 1.0),))
    return program(problem, dtype, limit=BOUND)


def _append(b: Builder, results: Sequence[Any], known: Mapping[str, Any]) -> list[Real]:
    """Append what results need to a builder; `known` are the values of symbols."""
    code = fuse(template(list(results), [None] * len(results)))
    inlined = Inlined(b, lambda s: known[s.buffer.name][s.index])
    for s in with_sincos_first(code.values):
        inlined.append(s)
    return [inlined(x) for x in code.results]


def _squares(end: Iteration, errors: np.ndarray) -> list[Any]:
    """The squared lengths of the turns and distances in the errors that count."""
    made, first, problem = [], 0, end.problem
    for (_, kind), weights in zip(problem.targets, problem.weights, strict=True):
        for size, weight in PARTS[kind.kind]:
            own = errors[first : first + size]
            if weights[weight]:
                made.append((own * own).sum())
            first += size
    for rows in end.closures:
        for part, _, whole in rows.parts:
            square = (rows.residual[part] * rows.residual[part]).sum()
            is_flipped = 0.0 if whole is None else end.graph.less(whole, 0.5)
            made.append(end.graph.choose(is_flipped, 4.0, square))
    return made
