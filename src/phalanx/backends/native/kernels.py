# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The kernels of each registered function: how to call and how to bind them.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from ...robot import results
from ...typing import Array, ArrayLike, Bound, External
from .kernel import Kernel
from .motion_kernels import *  # noqa: F403


class InverseDynamicsKernel(Kernel):
    """`inverse_dynamics` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, external: External | None = None, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None, inertias: ArrayLike | None = None,
        out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Joint forces `tau` (…, nv) that produce `qdd` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `base_velocity` (…, 6): twist of the base [rad/s, m/s], in its own coordinates.
        - `base_acceleration` (…, 6): the component-wise derivative of that twist.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(
        self, q: Array, qd: Array, qdd: Array,
        *, out: Array, external: Array | None = None, base_velocity: Array | None = None,
        base_acceleration: Array | None = None, inertias: Array | None = None,
    ) -> Bound:
        """A step() that recomputes `out` (…, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound(
            (q, qd, qdd), {"external": external, "base_velocity": base_velocity,
            "base_acceleration": base_acceleration, "inertias": inertias}, out,
        )


class MassMatrixKernel(Kernel):
    """`mass_matrix` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """The mass matrix `M` (…, nv, nv).

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, nv, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {"inertias": inertias}, out)


class ForwardDynamicsKernel(Kernel):
    """`forward_dynamics` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike,
        *, external: External | None = None, inertias: ArrayLike | None = None, out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(
        self, q: Array, qd: Array, tau: Array,
        *, out: Array, external: Array | None = None, inertias: Array | None = None,
    ) -> Bound:
        """A step() that recomputes `out` (…, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, tau), {"external": external, "inertias": inertias}, out)


class BiasForcesKernel(Kernel):
    """`bias_forces` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {"inertias": inertias}, out)


class GravityForcesKernel(Kernel):
    """`gravity_forces` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Joint forces (…, nv) that hold the robot at rest at q.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {"inertias": inertias}, out)


class MassMatrixInverseKernel(Kernel):
    """`mass_matrix_inverse` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """The inverse (…, nv, nv) of the mass matrix, by its sparse factor.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, nv, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {"inertias": inertias}, out)


class InverseDynamicsDerivativesKernel(Kernel):
    """`inverse_dynamics_derivatives` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, external: External | None = None, inertias: ArrayLike | None = None,
        out: tuple[Array, Array, Array] | None = None, threads: int | None = None,
    ) -> results.InverseDynamicsDerivatives[Array]:
        """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the results, 3 arrays of their shapes;
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(
        self, q: Array, qd: Array, qdd: Array,
        *, out: tuple[Array, Array, Array], external: Array | None = None, inertias: Array | None = None,
    ) -> Bound:
        """A step() that recomputes `out` (…, nv, nv), (…, nv, nv), (…, nv, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, qdd), {"external": external, "inertias": inertias}, out)


class ForwardDynamicsDerivativesKernel(Kernel):
    """`forward_dynamics_derivatives` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike,
        *, external: External | None = None, inertias: ArrayLike | None = None,
        out: tuple[Array, Array, Array] | None = None, threads: int | None = None,
    ) -> results.ForwardDynamicsDerivatives[Array]:
        """(∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the results, 3 arrays of their shapes;
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(
        self, q: Array, qd: Array, tau: Array,
        *, out: tuple[Array, Array, Array], external: Array | None = None, inertias: Array | None = None,
    ) -> Bound:
        """A step() that recomputes `out` (…, nv, nv), (…, nv, nv), (…, nv, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, tau), {"external": external, "inertias": inertias}, out)


class CoriolisMatrixKernel(Kernel):
    """`coriolis_matrix` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """The matrix C (…, nv, nv) with C qd the forces of velocity, and dM/dt - 2 C skew-symmetric.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, nv, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {"inertias": inertias}, out)


class RegressorKernel(Kernel):
    """`regressor` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """The matrix Y (…, nv, 10 n_links) with tau = Y `robot.inertial_parameters`, armature apart.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, qdd: Array, *, out: Array) -> Bound:
        """A step() that recomputes `out` (…, nv, 10 n_links) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, qdd), {}, out)


class OperationalSpaceInertiaKernel(Kernel):
    """`operational_space_inertia` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Inertia (…, 6, 6) that a frame shows: (J M^-1 J^T)^-1, from its acceleration to the wrench on it.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, 6, 6) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {"inertias": inertias}, out)


class InverseDynamicsDerivativesValueKernel(Kernel):
    """`inverse_dynamics_derivatives` of one robot, with its value, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, external: External | None = None, inertias: ArrayLike | None = None,
        out: tuple[Array, Array, Array, Array] | None = None, threads: int | None = None,
    ) -> results.InverseDynamicsDerivativesValue[Array]:
        """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the results, 4 arrays of their shapes;
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(
        self, q: Array, qd: Array, qdd: Array,
        *, out: tuple[Array, Array, Array, Array], external: Array | None = None,
        inertias: Array | None = None,
    ) -> Bound:
        """A step() that recomputes `out`, 4 arrays, from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, qdd), {"external": external, "inertias": inertias}, out)


class ForwardDynamicsDerivativesValueKernel(Kernel):
    """`forward_dynamics_derivatives` of one robot, with its value, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike,
        *, external: External | None = None, inertias: ArrayLike | None = None,
        out: tuple[Array, Array, Array, Array] | None = None, threads: int | None = None,
    ) -> results.ForwardDynamicsDerivativesValue[Array]:
        """(∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the results, 4 arrays of their shapes;
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(
        self, q: Array, qd: Array, tau: Array,
        *, out: tuple[Array, Array, Array, Array], external: Array | None = None,
        inertias: Array | None = None,
    ) -> Bound:
        """A step() that recomputes `out`, 4 arrays, from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, tau), {"external": external, "inertias": inertias}, out)
