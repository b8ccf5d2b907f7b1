# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What constraints see of the motion of a robot: Jacobians, accelerations and how these depend on the state.

A constraint is a difference that shall stay zero: the motion of frame a less that of frame b, in the axes of
a at its origin. Its Jacobian J has a row for each force on frame a, which frame b has with opposite sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from ...robot.frames import Placement
from ...robot.model import Model, gravity_twist, joint_kinematics
from ...spatial import (
    Array,
    Field,
    Tensor,
    Transform,
    angular,
    beside,
    dot,
    join,
    linear,
    matvec,
    motion_cross,
    namespace,
    transpose,
)
from ...sweeps.verbs import accumulate, marked, propagate
from ..banded.symmetric import unit
from ..inverse.cartesian_tensor import accelerations, base_motion
from ..kinematics import Motions, body_transforms, frame_transform


@dataclass(frozen=True)
class PlacedClosure:
    """Two frames that shall not move against each other, in some directions; b may be on the world.

    Of a point the rows are the classical acceleration of its origins; of others some of six: the time
    derivative of the twist of a less that of b, in the axes and at the origin of a.
    """

    a: Placement
    b: Placement
    is_point: bool
    rows: tuple[int, ...]  # of [angular; linear]

    @property
    def is_grounded(self) -> bool:
        """Whether b is on the world."""
        return bool(self.b.world[0, 0])


@dataclass(frozen=True)
class PlacedEquation:
    """`linear` . q + offset = sum of `polynomial[k]` (`driver` . q + driver_offset)^k, a single row."""

    linear: Any  # (nv,) plain numbers; the joints have one coordinate each
    driver: Any
    q: Any  # (nv,) the index in q of each of them
    offset: float
    driver_offset: float
    polynomial: tuple[float, ...]


class Seen:
    """The motion that constraints read at a state (q, qd, qdd); accelerations are less gravity."""

    def __init__(self, model: Model, q: Array, qd: Array, qdd: Array) -> None:
        self.model, self.q, self.qd, self.qdd = model, q, qd, qdd

    @cached_property
    def joints(self) -> tuple[Transform, Any, Any]:
        """(X, S, cJ) of all bodies, as `joint_kinematics` returns them."""
        return joint_kinematics(self.model, self.q)

    @cached_property
    def X_w(self) -> Transform:
        return body_transforms(self.model, self.q)

    @cached_property
    def motions(self) -> tuple[Array, Array]:
        """Twists and spatial accelerations of all bodies."""
        X, S, cJ = self.joints
        VJ = S @ self.qd
        V = propagate(X, VJ)
        Vd = propagate(X, S @ self.qdd + cJ + motion_cross(V, VJ), root=self.root)
        return V, Vd

    @property
    def root(self) -> Array:
        """The acceleration of the world: upward, instead of gravity."""
        return -gravity_twist(self.model)

    @cached_property
    def tensors(self) -> tuple[Tensor, Array]:
        """Acceleration tensors, and accelerations of origins, of all bodies."""
        X, S, cJ = self.joints
        base = base_motion(self.model, None, 0.0)
        return accelerations(X, S @ self.qd, S @ self.qdd + cJ, base)

    @cached_property
    def gravity(self) -> Array:
        """Gravity in the axes of all bodies."""
        X, _, _ = self.joints
        return propagate(Tensor(X.E), root=self.model.gravity)

    # ------------------------------------------------------------------- frames

    def pose(self, frame: Placement) -> Transform:
        return frame_transform(self.model, self.X_w, frame)

    def between(self, closure: PlacedClosure) -> Transform:
        """X_a_b."""
        found: Transform = self.pose(closure.a) @ self.pose(closure.b).inverse()
        return found

    def motion(self, frame: Placement) -> tuple[Array, Array]:
        """Twist and spatial acceleration (less gravity) of a frame in its own coordinates."""
        here = marked(Motions(*self.motions), frame.at)
        rest = self.root * frame.world[0]
        return frame.X @ here.V, frame.X @ (here.Vd + rest)

    def seen_gravity(self, frame: Placement) -> Array:
        """Gravity in the axes of a frame."""
        return matvec(frame.X.E, marked(Vectors(self.gravity), frame.at).x)

    def point_acceleration(self, frame: Placement) -> Array:
        """Classical acceleration of a frame's origin less gravity, in its own axes."""
        K, a = self.tensors
        here = marked(PointAccelerations(K.matrix, a), frame.at)
        rest = -self.model.gravity * frame.world[0]
        return matvec(frame.X.E, here.a + matvec(here.K, frame.X.r) + rest)

    def wrenches(self, frame: Placement, F: Array) -> Array:
        """Wrenches (k, 6) on a frame, carried to all its ancestors (k, n, 6)."""
        X, _, _ = self.joints
        on_body = frame.X.T @ F
        return accumulate(beside(X), on_body[..., None, :] * frame.at[:, None])

    # ------------------------------------------------------------------- closures

    def seen_by_other(self, closure: PlacedClosure, own: Array) -> Array:
        """Wrenches (k, 6) on frame a in the coordinates of frame b, their signs unchanged.

        Those of a point act at the origin of b, others at that of a.
        """
        X = self.between(closure)
        if not closure.is_point:
            return X.T @ own
        Et = transpose(X.E)
        return join(matvec(Et, angular(own)), matvec(Et, linear(own)))

    def jacobian(self, closure: PlacedClosure) -> Array:
        """J (k, nv)."""
        S = self.joints[1].axis
        own = unit(6, S)[list(closure.rows)]
        J = dot(S, self.wrenches(closure.a, own))
        if not closure.is_grounded:
            J = J - dot(S, self.wrenches(closure.b, self.seen_by_other(closure, own)))
        return transpose(self.model.joint_columns(transpose(J)))

    def along(self, frame: Placement, wrenches: Array) -> Array:
        """The rates (k, nv) at which joints move a frame along wrenches (k, 6) in its coordinates."""
        J = dot(self.joints[1].axis, self.wrenches(frame, wrenches))
        return transpose(self.model.joint_columns(transpose(J)))

    def loads(self, closure: PlacedClosure, forces: Array) -> Array:
        """The wrenches (n, 6) of the forces (k,) of a closure on the bodies."""
        own = forces @ unit(6, forces)[list(closure.rows)]
        F = (closure.a.X.T @ own) * closure.a.at[:, None]
        if closure.is_grounded:
            return F
        return F - (closure.b.X.T @ self.seen_by_other(closure, own)) * closure.b.at[:, None]

    def unit_loads(self, closure: PlacedClosure) -> list[Array]:
        """The wrenches (n, 6) of a unit force of each row of a closure on the bodies."""
        own = unit(6, self.joints[1].axis)[list(closure.rows)]
        loads = [(closure.a.X.T @ F) * closure.a.at[:, None] for F in own]
        if closure.is_grounded:
            return loads
        other = self.seen_by_other(closure, own)
        back = [(closure.b.X.T @ F) * closure.b.at[:, None] for F in other]
        return [F - B for F, B in zip(loads, back, strict=True)]

    def acceleration(self, closure: PlacedClosure) -> Array:
        """The acceleration (k,) of frame a against frame b that shall be zero."""
        rows = list(closure.rows)
        a, b = closure.a, closure.b
        if closure.is_point:
            made = self.point_acceleration(a)
            if closure.is_grounded:
                made = made + self.seen_gravity(a)
            else:
                made = made - matvec(self.between(closure).E, self.point_acceleration(b))
            return join(made * 0.0, made)[rows]
        V, Vd = self.motion(a)
        if closure.is_grounded:
            g = self.seen_gravity(a)
            return (Vd + join(g * 0.0, g))[rows]
        X = self.between(closure)
        U, W = self.motion(b)
        U, W = X @ U, X @ W
        return (Vd - W + motion_cross(V, U))[rows]

    def error(self, closure: PlacedClosure) -> tuple[Array, Array]:
        """(R, r): the rotation of frame a against frame b, and the way from the origin of b to it, in a."""
        a, b = self.pose(closure.a), self.pose(closure.b)
        return b.E @ transpose(a.E), matvec(a.E, a.r - b.r)


@dataclass(frozen=True)
class Vectors(Field):
    """A vector of every body."""

    x: Array
    ranks: ClassVar[tuple[int, ...]] = (1,)


@dataclass(frozen=True)
class PointAccelerations(Field):
    """The acceleration tensor and the acceleration of the origin of every body."""

    K: Array
    a: Array
    ranks: ClassVar[tuple[int, ...]] = (2, 1)


def equation_rows(seen: Seen, equation: PlacedEquation) -> tuple[Array, Array]:
    """(J (nv,), acceleration at qdd = 0) of an equation between coordinates."""
    slope, curvature, _, rate = driven(seen, equation)
    return equation.linear - equation.driver * slope, -(curvature * rate * rate)


def equation_error(seen: Seen, equation: PlacedEquation) -> Array:
    """The left side less the right side."""
    value, *_ = _polynomial(equation.polynomial, _argument(seen, equation))
    return dot(equation.linear, seen.q[equation.q]) + equation.offset - value


def driven(seen: Seen, equation: PlacedEquation) -> tuple[Any, Any, Any, Any]:
    """The first three derivatives of the polynomial, and the rate of its argument."""
    _, *slopes = _polynomial(equation.polynomial, _argument(seen, equation))
    return (*slopes, dot(equation.driver, seen.qd))


def _argument(seen: Seen, equation: PlacedEquation) -> Any:
    return dot(equation.driver, seen.q[equation.q]) + equation.driver_offset


def _polynomial(coefficients: Sequence[float], x: Any) -> tuple[Any, ...]:
    """A polynomial and its first three derivatives, by Horner's rule."""
    made = []
    for _ in range(4):
        value: Any = 0.0
        for c in reversed(coefficients):
            value = value * x + c
        made.append(value)
        coefficients = [k * c for k, c in enumerate(coefficients)][1:]
    return tuple(made)


def constraint_rows(
    seen: Seen, closures: Sequence[PlacedClosure], equations: Sequence[PlacedEquation]
) -> tuple[Array, Array]:
    """(J (m, nv), accelerations (m,)) of all constraints, one under another."""
    J = [seen.jacobian(c) for c in closures]
    acceleration = [seen.acceleration(c) for c in closures]
    for e in equations:
        row, own = equation_rows(seen, e)
        J.append((row + seen.qd * 0.0)[None, :])
        acceleration.append(seen.qd[:1] * 0.0 + own)
    concatenate = namespace(seen.qd).concatenate
    return concatenate(J, axis=0), concatenate(acceleration, axis=0)
