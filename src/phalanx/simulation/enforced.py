# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Steps that hold constraints: closed loops, rigid contacts, limits and dry friction of joints.

Velocities after a step are those without constraints plus M^-1 J^T p. The impulses p of loops leave the other
rows by elimination; those of contacts and joints solve Coulomb's law (`impulses`); then loops are closed at
the coordinates after the step by further impulses along the same rows, Newton's method with the matrix of
its beginning, so that errors do not grow and motion along the loops keeps its energy as the integrator does.

For derivatives the solution is written as one more step of Newton's method from numbers that are constants:
its derivative is that of the implicit function, with the modes of contacts as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.banded.semidefinite import PartlyEliminated, factor_semidefinite, solve_semidefinite
from ..algorithms.constrained.closures import Seen, constraint_rows
from ..algorithms.forward.implicit import effective
from ..algorithms.registry import find
from ..constraints.compiled import Placed, errors, in_order, placed_frame, placements
from ..program.graph import Graph
from ..program.passes.differentiate import tangents
from ..program.task import Call
from ..robot.collision import HalfSpace
from ..robot.configurations import joint_by_joint
from ..robot.description import IDENTITY, Constraint, Pose
from ..spatial import cross, dot, matvec, transpose
from ..sweeps.verbs import eliminate, substitute_inward, substitute_outward
from ..tracing.arrays import Traced, scalars_of
from ..tracing.equations import Equations
from .compliant import Number, Point, _value
from .impulses import (
    ITERATIONS,
    ImpulseLaw,
    ImpulseProblem,
    Layout,
    inverted,
    iteration,
    starts,
)
from .loads import impedances, on_bodies, seen_ahead
from .rigid import RigidContact, nearest

if TYPE_CHECKING:
    from .step import Forces, Settings, Step

CLOSED = 1e-12, 3e-6  # m, rad: errors of loops after a step, in double and in single precision
CLOSING = 30  # iterations at most
RECOVERY = 0.2  # m/s with which a point that is below the ground leaves it at most
DEPENDENT = 1e-9  # of a row, below which its pivot is nothing but rounding


def held(settings: Settings) -> Held | None:
    """What steps hold; None if nothing."""
    made = Held(settings)
    return made if made.loops or made.layout.rows else None


@dataclass(frozen=True)
class Held:
    """What a simulation holds, in numbers: the rows of its loops, contacts and joints."""

    settings: Settings

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The loops and other constraints of the robot, in the order of their rows."""
        return in_order(self.settings.robot.constraints) if self.settings.constraints else ()

    @property
    def loops(self) -> int:
        """The number of their rows."""
        return sum(c.rows for c in self.constraints)

    @cached_property
    def placed(self) -> Placed:
        return placements(self.settings.robot, self.constraints)

    @cached_property
    def points(self) -> list[tuple[RigidContact, Point]]:
        """All points in contact, each with what it touches."""
        return [(c, point) for c in self.settings.contacts for point in c.points]

    @cached_property
    def limited(self) -> list[tuple[int, int]]:
        """(coordinate, rate) of joints whose limits the solver holds."""
        s = self.settings
        if not s.rigid_limits:
            return []
        limits = s.robot.limits
        return [
            (k, i)
            for c in s.robot._coordinates
            if c.kind.quaternion is None
            for k, i in zip(range(c.q.start, c.q.stop), range(c.v.start, c.v.stop), strict=True)
            if np.isfinite(limits.lower[k]) or np.isfinite(limits.upper[k])
        ]

    @cached_property
    def rubbing(self) -> list[int]:
        """The rates of joints whose dry friction the solver holds."""
        s = self.settings
        if not s.rigid_friction:
            return []
        if "friction" in s.parameters:
            return list(range(s.nv))
        return np.flatnonzero(s.dry_friction({})).tolist()

    @cached_property
    def layout(self) -> Layout:
        return Layout(len(self.points), len(self.limited), len(self.rubbing), self.settings.is_single)


class Enforcement:
    """One step with all that it holds, on the scalars of its graph."""

    def __init__(self, step: Step, held: Held, smooth: bool) -> None:
        self.step, self.held, self.smooth = step, held, smooth
        self.graph, self.h = step.graph, step.h
        self.model, self.q, self.qd = step.model, step.q, step.qd

    # ------------------------------------------------------------------- dynamics without constraints

    def started(self, forces: Forces) -> None:
        """Factor the matrix of the step under some forces, as they are at its end if that is implicit."""
        step, h, of = self.step, self.h, self.step.equations
        tau, diagonal = forces.tau, np.zeros(len(self.qd), dtype=object)
        if step.settings.stiff:
            tau = tau - h * forces.stiffness * self.qd
            diagonal = h * forces.damping + h * h * forces.stiffness
        if any(load.corrected for load in forces.loads):
            first = step._resisted(self.q, self.qd, forces)
            ahead = seen_ahead(of, self.model, (self.q, self.qd, first), h, forces.loads)
            forces = replace(forces, loads=ahead)
        more: dict[str, Any] = {}
        if forces.loads:
            more["external"] = on_bodies(of, self.model, self.q, forces.loads)
            if step.settings.stiff and any(load.resists for load in forces.loads):
                more["impedance"] = impedances(of, self.model, self.q, forces.loads)
        if (rotors := self.model.rotor_forces(self.qd)) is not None:
            tau = tau - rotors
        with of.ordered:
            M, force = effective(self.model, self.q, self.qd, tau, diagonal=diagonal, **more)  # noqa: N806
            self._factored(M)
            self.driving = self._inward(force)

    def _factored(self, M: Any) -> None:  # noqa: N803
        self.L = eliminate(M)
        index = list(range(len(self.qd)))
        self.inverse = self.L[..., index, index]

    def _inward(self, x: Any) -> Any:
        L = self.L if x.ndim == 1 else self.L[None]  # noqa: N806
        return substitute_inward(L, x)

    def _outward(self, x: Any) -> Any:
        L = self.L if x.ndim == 1 else self.L[None]  # noqa: N806
        return substitute_outward(L, x)

    @cached_property
    def seen(self) -> Seen:
        return Seen(self.model, self.q, self.qd, self.qd * 0.0)

    @cached_property
    def loop_rows(self) -> np.ndarray:
        """J (loops, nv)."""
        if not self.held.loops:
            return np.zeros((0, len(self.qd)), dtype=object)
        return np.asarray(constraint_rows(self.seen, *self.held.placed)[0], dtype=object)

    # ------------------------------------------------------------------- steps

    def advanced(self, forces: Forces) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """(q, qd) after the step, its accelerations, and what may be recorded of it."""
        h, count, layout = self.h, self.held.loops, self.held.layout
        self.started(forces)
        with self.step.equations.ordered:
            rows = self._rows()
            J = np.concatenate([self.loop_rows, *(r for r in rows.J)])  # noqa: N806
            Y = self._inward(J)  # noqa: N806
            scaled = Y * self.inverse
            A = _products(scaled, Y)  # noqa: N806
            # M^-1 of forces is only taken of all of them together.
            b = J @ (self.qd + h * self._swept()) + (scaled @ self.driving) * h
        shown: dict[str, np.ndarray] = {}
        left = PartlyEliminated(A, list(b), count)
        p: list[Any] = []
        if layout.rows:
            p, residual = self._contacts(left, rows, J[count:] @ self.qd)
            shown["contact_residual"] = np.array(residual, dtype=object)
        p = left.completed(p)
        with self.step.equations.ordered:
            driven = self.driving * self.inverse + (np.array(p, dtype=object) @ scaled) * (1.0 / h)
            qdd = _objects(self._outward(driven))
            W = _objects(self._outward(scaled[:count])) if count else J[:0]  # noqa: N806
        if count:
            more = self._closed(qdd, A[:count, :count], W)
            qdd = qdd + (more @ W) * (1.0 / h)
            shown["constraint_forces"] = (np.array(p[:count], dtype=object) + more) * (1.0 / h)
        if self.held.points:
            impulses = np.array(p[count : count + 3 * len(self.held.points)], dtype=object).reshape(-1, 3)
            shown["contact_forces"] = np.stack(
                [f @ axes for f, axes in zip(impulses * (1.0 / h), rows.axes, strict=True)]
            )
        return *self.step.advanced(self.q, self.qd, qdd, h), qdd, shown

    def _swept(self) -> np.ndarray:
        return joint_by_joint(self.step._joints, "swept", np.empty_like(self.qd), "v", (self.qd, "v"))

    # ------------------------------------------------------------------- contacts and joints

    def _rows(self) -> ContactRows:
        made = ContactRows([], [], [], [], [])
        for contact, point in self.held.points:
            self._contact_rows(made, contact, point)
        nv = len(self.qd)
        for i in (*(i for _, i in self.held.limited), *self.held.rubbing):
            made.J.append(np.eye(nv)[[i]].astype(object))
        return made

    def _contact_rows(self, made: ContactRows, contact: RigidContact, point: Point) -> None:
        def value(number: Number) -> Any:
            return _value(number, self._parameters, contact.name)

        placement = self._placement(point)
        pose, ground = self.seen.pose(placement), None
        x = pose.r
        frame = contact.shape.frame
        if frame is not None:
            ground = placed_frame(self.step.robot, frame, IDENTITY)
            there = self.seen.pose(ground)
            x = matvec(there.E, x - there.r)
        gap, normal = nearest(contact.shape, Traced(x))
        normal = scalars_of(normal, (3,), contact.name)
        if ground is not None:
            normal = matvec(transpose(there.E), normal)
        axes = self._axes(contact, normal)
        lever = normal * (-contact.radius)
        J = self._moved_along(placement, axes, lever)  # noqa: N806
        if frame is not None and self.step.robot.frames[frame].link >= 0:
            J = J - self._moved_along(ground, axes, pose.r + lever - there.r)  # noqa: N806
        made.J.append(J)
        made.gaps.append(scalars_of(gap, (), contact.name).item() - contact.radius)
        made.axes.append(axes)
        made.friction.append(_number_of(value(contact.friction)))
        made.restitution.append(_number_of(value(contact.restitution)))

    @cached_property
    def _parameters(self) -> dict[str, Traced]:
        return {name: Traced(x) for name, x in self.step.parameters.items()}

    def _placement(self, point: Point) -> Any:
        pose = Pose.of(np.eye(3), np.array(point.position))
        return placed_frame(self.step.robot, point.frame or "", pose)

    def _axes(self, contact: RigidContact, normal: np.ndarray) -> np.ndarray:
        """The normal and two tangents as rows."""
        x, y, z = normal
        if isinstance(contact.shape, HalfSpace) and contact.shape.frame is None:
            n = np.array(contact.shape.normal)
            a = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
            a /= np.linalg.norm(a)
            return np.array([n, a, np.cross(n, a)]).astype(object)
        side = self.graph.choose(self.graph.less(z, 0.0), -1.0, 1.0)
        a = -1.0 / (side + z)
        b = x * y * a
        return np.array(
            [[x, y, z], [1.0 + side * x * x * a, side * b, -(side * x)], [b, side + y * y * a, -y]],
            dtype=object,
        )

    def _moved_along(self, placement: Any, axes: np.ndarray, lever: np.ndarray) -> np.ndarray:
        """The rates (3, nv) of a point, `lever` (world axes) from a frame's origin, along some axes."""
        E = self.seen.pose(placement).E  # noqa: N806
        at = matvec(E, lever)
        own = [matvec(E, axis) for axis in axes]
        wrenches = np.stack([np.concatenate([cross(at, d), d]) for d in own])
        return np.asarray(self.seen.along(placement, wrenches), dtype=object)

    def _contacts(
        self, left: PartlyEliminated, rows: ContactRows, speed: np.ndarray
    ) -> tuple[list[Any], Any]:
        """The impulses of contacts and joints, and the residual of the law."""
        g, h, layout = self.graph, self.h, self.held.layout
        b = np.array(left.b, dtype=object)
        for i, gap in enumerate(rows.gaps):
            k = 3 * i
            target = g.minimum(-gap / h, RECOVERY)
            if (bounce := rows.restitution[i]) is not None:
                back = -(bounce * speed[k])
                # What bounces by no more than forces change in a step has come to rest.
                back = g.choose(g.less(speed[k] - b[k], back), g.maximum(back, target), target)
                target = g.choose(g.less(gap + h * b[k], 0.0), back, target)
            b[k] = b[k] - target
        problem = ImpulseProblem(
            layout, left.matrix, np.array([x or 0.0 for x in rows.friction], dtype=object),
            *self._bounds(),
        )  # fmt: skip
        tolerance = layout.tolerance * reduce(lambda a, x: a + abs(x), b, 0.0) + 1e-18
        m = layout.rows
        made = self.step.solved(
            "impulses", starts(self.graph, problem, b), [*problem.packed(), tolerance], ITERATIONS,
            lambda graph, state, read: iteration(graph, layout, state, read),
        )  # fmt: skip
        p = made[:m]
        if self.smooth:
            p = self._implicitly(problem, b, p)
        return list(p), made[-1]

    def _bounds(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        limits, h = self.step.robot.limits, self.h
        low = [_over(limits.lower[k], self.q[k], h) for k, _ in self.held.limited]
        high = [_over(limits.upper[k], self.q[k], h) for k, _ in self.held.limited]
        most = [self.step.dry[i] * h for i in self.held.rubbing]
        made = [np.array(x, dtype=object) for x in (low, high, most)]
        return made[0], made[1], made[2]

    def _implicitly(self, problem: ImpulseProblem, b: np.ndarray, p: np.ndarray) -> np.ndarray:
        """The solution p as a function of the problem, exact to first order."""
        law = ImpulseLaw(self.graph, problem, 0.0)
        F, K = law.equations(p, b + problem.G @ p)  # noqa: N806
        inverse = self._inverse("slopes of contacts", K)
        return p - inverse @ F

    # ------------------------------------------------------------------- loops

    def _closed(self, qdd: np.ndarray, A: np.ndarray, W: np.ndarray) -> np.ndarray:  # noqa: N803
        """The impulses (loops,) that close loops at the coordinates after a step, beside those of qdd."""
        h, nv, nq, step = self.h, len(self.qd), len(self.q), self.step
        count, closed = len(W), CLOSED[step.settings.is_single]
        inverse = _pseudoinverse(A)

        def errors_of(equations: Equations, q: Any, qd: Any, qdd: Any) -> np.ndarray:
            return _errors(step, equations, self.held.placed, step.advanced(q, qd, qdd, h)[0])

        def body(graph: Graph, state: np.ndarray, read: np.ndarray) -> tuple[list[Any], Any]:
            back, W, q, qd, qdd = _split(read, (count, count), (count, nv), (nq,), (nv,), (nv,))  # noqa: N806
            error = errors_of(Equations(step.robot, graph), q, qd, qdd + (state @ W) * (1.0 / h))
            following = state - (back @ error) * (1.0 / h)
            largest = reduce(graph.maximum, [graph.abs(x) for x in error])
            return following.tolist(), 1.0 - graph.less(closed, largest)

        read = [*inverse.ravel(), *W.ravel(), *self.q, *self.qd, *qdd]
        made = step.solved("closing", [0.0] * count, read, CLOSING, body)
        if not self.smooth:
            return made
        error = errors_of(step.equations, self.q, self.qd, qdd + (made @ W) * (1.0 / h))
        return self._rooted("slopes of loops", made, error)

    def _rooted(self, name: str, x: np.ndarray, error: np.ndarray) -> np.ndarray:
        """x with error(x) = 0 as a function of what the error depends on, exact to first order."""
        count = len(x)
        K = np.empty((count, count), dtype=object)  # noqa: N806
        for j, own in enumerate(x.tolist()):
            K[:, j] = tangents(error.tolist(), {own.number: 1.0})
        inverse = self._inverse(name, K)
        return x - inverse @ error

    def _inverse(self, name: str, K: np.ndarray) -> np.ndarray:  # noqa: N803
        """The inverse of a matrix, constant for derivatives."""
        size = len(K)

        def body(graph: Graph, state: np.ndarray, read: np.ndarray) -> tuple[list[Any], Any]:
            return inverted(read.reshape(size, size), DEPENDENT).ravel().tolist(), None

        made = self.step.solved(name, [0.0] * (size * size), K.ravel().tolist(), 0, body)
        return made.reshape(size, size)

    def projected(self, q1: np.ndarray, qd1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A state near the beginning of the step moved onto the loops, and its rates along them."""
        step, nv, nq = self.step, len(self.qd), len(self.q)
        count, closed = self.held.loops, CLOSED[step.settings.is_single]
        with step.equations.ordered:
            M, _ = effective(self.model, self.q, self.qd, self.qd * 0.0)  # noqa: N806
            self._factored(M)
            Y = self._inward(self.loop_rows)  # noqa: N806
            scaled = Y * self.inverse
            inverse = _pseudoinverse(_products(scaled, Y))
            W = _objects(self._outward(scaled))  # noqa: N806

        def at(equations: Equations, q: Any, qd: Any, W: Any, x: Any) -> tuple[Any, Any, Any]:  # noqa: N803
            q, qd = step.moved(q, x[:count] @ W), qd + x[count:] @ W
            seen = _seen(step, equations, q)
            with equations.ordered:
                rows = constraint_rows(seen, *self.held.placed)[0]
                return q, qd, np.concatenate([errors(seen, self.held.placed), rows @ qd])

        def body(graph: Graph, state: np.ndarray, read: np.ndarray) -> tuple[list[Any], Any]:
            back, W, q, qd = _split(read, (count, count), (count, nv), (nq,), (nv,))  # noqa: N806
            _, _, error = at(Equations(step.robot, graph), q, qd, W, state)
            change = np.concatenate([back @ error[:count], back @ error[count:]])
            largest = reduce(graph.maximum, [graph.abs(x) for x in error])
            return (state - change).tolist(), 1.0 - graph.less(closed, largest)

        read = [*inverse.ravel(), *W.ravel(), *q1, *qd1]
        made = step.solved("projection", [0.0] * (2 * count), read, CLOSING, body)
        q, qd, error = at(step.equations, q1, qd1, W, made)
        if self.smooth:
            made = self._rooted("slopes of loops", made, error)
            q, qd, _ = at(step.equations, q1, qd1, W, made)
        return q, qd


@dataclass(frozen=True)
class ContactRows:
    """The rows of contacts and joints, and what is known of contacts."""

    J: list[np.ndarray]
    gaps: list[Any]
    axes: list[np.ndarray]
    friction: list[Any]
    restitution: list[Any]


def _seen(step: Step, equations: Equations, q: np.ndarray) -> Seen:
    model = equations.model(Call(step.robot, find("forward_dynamics", "aba")))
    still = np.full(step.robot.nv, 0.0, dtype=object)
    return Seen(model, q, still, still)


def _errors(step: Step, equations: Equations, placed: Placed, q: np.ndarray) -> np.ndarray:
    with equations.ordered:
        return errors(_seen(step, equations, q), placed)


def _pseudoinverse(A: np.ndarray) -> np.ndarray:  # noqa: N803
    """The inverse of the rows of a semidefinite matrix that do not depend on those before, else zero."""
    factor, made = factor_semidefinite(A), np.empty(A.shape, dtype=object)
    for k, unit in enumerate(np.eye(len(A)).tolist()):
        made[:, k] = solve_semidefinite(factor, unit)
    return made


def _products(scaled: np.ndarray, Y: np.ndarray) -> np.ndarray:  # noqa: N803
    """The symmetric matrix of products of rows."""
    size = len(Y)
    made = np.empty((size, size), dtype=object)
    for i in range(size):
        for j in range(i, size):
            made[i, j] = made[j, i] = dot(scaled[i], Y[j])
    return made


def _split(flat: np.ndarray, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Arrays of these shapes from all their numbers in one row."""
    made, first = [], 0
    for shape in shapes:
        size = int(np.prod(shape))
        made.append(flat[first : first + size].reshape(shape))
        first += size
    return made


def _over(limit: float, x: Any, h: float) -> Any:
    """The rate at which a coordinate reaches a limit within a step, or the limit itself if there is none."""
    return (float(limit) - x) / h if np.isfinite(limit) else float(limit)


def _number_of(x: Any) -> Any:
    """A number or the scalar of a parameter; None for a number that is zero."""
    if isinstance(x, Traced):
        return x.scalars.item()
    return float(x) if x else None


def _objects(array: Any) -> np.ndarray:
    return np.asarray(array, dtype=object)
