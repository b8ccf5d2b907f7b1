# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The functions of a robot with constraints, as users call them, and their results."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..typing import Array, ArrayLike, External
from .description import Constraint

Contacts: TypeAlias = Sequence[str | Constraint]

# Their inputs, those that may be left out, and whether they take contacts.
CONSTRAINED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "constrained_dynamics": (("q", "qd", "tau"), ("external", "inertias", "damping")),
    "constrained_dynamics_derivatives": (("q", "qd", "tau"), ("external", "inertias", "damping")),
    "impulse_dynamics": (("q", "qd"), ("restitution", "inertias", "damping")),
    "constrained_inverse_dynamics": (("q", "qd", "qdd"), ("external", "inertias")),
    "constraint_error": (("q",), ()),
    "constraint_jacobian": (("q",), ()),
    "constraint_bias": (("q", "qd"), ()),
}


class ConstrainedDynamics(NamedTuple):
    """The results of `constrained_dynamics`."""

    qdd: Array  # (…, nv)
    forces: Array  # (…, m)


class ConstrainedDynamicsDerivatives(NamedTuple):
    """The results of `constrained_dynamics_derivatives`: of the accelerations, then of the forces."""

    dq: Array  # (…, nv, nv)
    dqd: Array  # (…, nv, nv)
    dtau: Array  # (…, nv, nv)
    forces_dq: Array  # (…, m, nv)
    forces_dqd: Array  # (…, m, nv)
    forces_dtau: Array  # (…, m, nv)


class ImpulseDynamics(NamedTuple):
    """The results of `impulse_dynamics`."""

    qd: Array  # (…, nv)
    impulses: Array  # (…, m)


class ConstrainedInverseDynamics(NamedTuple):
    """The results of `constrained_inverse_dynamics`."""

    tau: Array  # (…, nv)
    forces: Array  # (…, m)
    residual: Array  # (…, nv)


class ClosedLoops(NamedTuple):
    """The results of `close_loops`."""

    q: Array  # (…, nq)
    converged: Array  # (…,) bool
    error: Array  # (…,)
    worst: Array  # (…,) index into `robot.constraints`


class ConstrainedFunctions:
    """The methods of `Robot` for constraints; `methods` gives them their code."""

    def constrained_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        contacts: Contacts = (),
        damping: ArrayLike | float = 0.0,
        external: External | None = None,
        inertias: ArrayLike | None = None,
        algorithm: str = "auto",
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> ConstrainedDynamics:
        """Joint accelerations `qdd` (…, nv) and constraint `forces` (…, m) under joint forces `tau`.

        - `contacts`: frames whose origins stay where they are (3 rows each), or what `px.constraint` makes.
          They are held in addition to `robot.constraints`, whose rows come first.
        - `damping`: a compliance added to the diagonal of the Delassus matrix.
        - `external`, `inertias`: as of `forward_dynamics`.
        - `algorithm`: "dense" factors the mass matrix in straight-line code, "articulated" is linear in the
          number of links, in loops; "auto" takes the latter for long robots.

        Forces act on the first frame of each constraint, in its axes: of a point three forces, of a weld
        moments and forces. Rows that depend on those before have no force. Any batch shape; `out` takes
        the results.
        """

    def constrained_dynamics_derivatives(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        tau: ArrayLike,
        *,
        contacts: Contacts = (),
        damping: ArrayLike | float = 0.0,
        external: External | None = None,
        inertias: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> ConstrainedDynamicsDerivatives:
        """The derivatives of `constrained_dynamics`: `dq, dqd, dtau` of qdd (…, nv, nv), and of the forces.

        With respect to q they are in the tangent space, along `robot.integrate(q, dq)`. The keywords are
        those of `constrained_dynamics`.
        """

    def impulse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        contacts: Contacts = (),
        restitution: ArrayLike | float = 0.0,
        damping: ArrayLike | float = 0.0,
        inertias: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> ImpulseDynamics:
        """Rates `qd` (…, nv) after an impact on all constraints and contacts, and their `impulses` (…, m).

        After it J qd is -`restitution` times what it was.
        """

    def constrained_inverse_dynamics(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        qdd: ArrayLike,
        *,
        actuated: Iterable[str] | None = None,
        contacts: Contacts = (),
        external: External | None = None,
        inertias: ArrayLike | None = None,
        out: tuple[Array, ...] | None = None,
        threads: int | None = None,
    ) -> ConstrainedInverseDynamics:
        """Joint forces `tau` (…, nv) of actuated joints and constraint `forces` (…, m) that produce `qdd`.

        `actuated` names joints, by default all but a floating base; the others have no force. Where several
        forces do, they are those of least norm; `residual` (…, nv) is what is left of inverse dynamics.
        """

    def constraint_error(
        self, q: ArrayLike, *, contacts: Contacts = (), out: Array | None = None, threads: int | None = None
    ) -> Array:
        """By how much (…, m) constraints are violated at q, in their own axes: m and rad, or of an equation.

        Angles of a weld are a rotation vector.
        """

    def constraint_jacobian(
        self, q: ArrayLike, *, contacts: Contacts = (), out: Array | None = None, threads: int | None = None
    ) -> Array:
        """J (…, m, nv) of all constraints: `J @ qd` is zero where they hold, `J.T @ forces` joint forces."""

    def constraint_bias(
        self,
        q: ArrayLike,
        qd: ArrayLike,
        *,
        contacts: Contacts = (),
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """The accelerations (…, m) that constraints see at qdd = 0: dJ/dt qd."""

    def constraint_rank(self, q: ArrayLike, *, contacts: Contacts = ()) -> Array:
        """How many of the rows of `constraint_jacobian` are independent at q (…,), integers."""

    def distances(
        self,
        q: ArrayLike,
        pairs: Sequence[Any] | None = None,
        *,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Signed distances (…, k) of k pairs of bodies in metres, negative where they overlap.

        - `pairs`: pairs of shapes, as `px.contact.sphere`, `capsule`, `plane` and `box` make them, on frames
          of the robot or in the world. A list of shapes is a body, whose nearest one counts; the name of a
          frame is the capsule around its visuals. Shapes that are not in pairs are paired as
          `px.contact.pairs` does, and so are, by default, the capsules around all visuals.

        `robot.function("distances", pairs=…)` is the compiled function, with `jvp`, `vjp` and `jacobian`.
        """

    def close_loops(
        self,
        q: ArrayLike,
        *,
        fixed: Iterable[str] = (),
        tolerance: float = 1e-10,
        iterations: int = 100,
        strict: bool = False,
        threads: int | None = None,
    ) -> ClosedLoops:
        """The configuration near q at which all of `robot.constraints` hold, and whether it was found.

        - `fixed`: joints that stay as they are.
        - `tolerance`: the largest error (m, rad) of a closed loop; `iterations` of Newton's method at most.

        - `strict`: whether a state that cannot close is an error, which names the constraint and the rank.

        `error` (…,) is the largest one that remains and `worst` (…,) whose it is. Any batch shape: a state
        that does not converge affects no other one.
        """
