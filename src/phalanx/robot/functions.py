# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot computes: one method for each registered function.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import Literal, overload

from ..typing import AlgorithmLike, Array, ArrayLike, Backend, External, Reference
from . import results
from .motion import Motion


class Functions(Motion):
    """The methods of `Robot` that compute; `methods` gives them their code."""

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external: External | None = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
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

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("inverse_dynamics")` (cartesian_tensor, lathrop, luh_walker_paul,
        newton_euler, partition, scan, zomaya_morris); `backend` is "auto", "native", "numpy" or "jax"; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def mass_matrix(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The mass matrix `M` (…, nv, nv).

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("mass_matrix")` (crba, composite_original, composite_variant,
        kane_original, kane_variant, newton_euler_original, newton_euler_variant, partition, processor_array,
        recursive_doubling); `backend` is "auto", "native", "numpy" or "jax"; at most `threads` threads share
        a large batch (None: `px.set_threads`).
        """

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("forward_dynamics")` (aba, abia, cfa, contraction, dca, jsiia,
        partition); `backend` is "auto", "native", "numpy" or "jax"; at most `threads` threads share a large
        batch (None: `px.set_threads`).
        """

    def bias_forces(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("bias_forces")`; `backend` is "auto", "native", "numpy" or "jax";
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def gravity_forces(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Joint forces (…, nv) that hold the robot at rest at q.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("gravity_forces")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def mass_matrix_inverse(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The inverse (…, nv, nv) of the mass matrix, by its sparse factor.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("mass_matrix_inverse")`; `backend` is "auto", "native", "numpy"
        or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    @overload
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, value: Literal[False] = False,
        out: tuple[Array, Array, Array] | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> results.InverseDynamicsDerivatives[Array]: ...

    @overload
    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, value: Literal[True],
        out: tuple[Array, Array, Array, Array] | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> results.InverseDynamicsDerivativesValue[Array]: ...

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, value: bool = False, out: tuple[Array, ...] | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> results.InverseDynamicsDerivatives[Array] | results.InverseDynamicsDerivativesValue[Array]:
        """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the results, 3 arrays of their shapes;
        `algorithm` is one of `px.algorithms("inverse_dynamics_derivatives")` (idsva, carpentier_mansard);
        `backend` is "auto", "native", "numpy" or "jax"; at most `threads` threads share a large batch (None:
        `px.set_threads`). With `value` also `tau`, of the same pass.
        """

    @overload
    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, value: Literal[False] = False,
        out: tuple[Array, Array, Array] | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> results.ForwardDynamicsDerivatives[Array]: ...

    @overload
    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, value: Literal[True],
        out: tuple[Array, Array, Array, Array] | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> results.ForwardDynamicsDerivativesValue[Array]: ...

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, value: bool = False, out: tuple[Array, ...] | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> results.ForwardDynamicsDerivatives[Array] | results.ForwardDynamicsDerivativesValue[Array]:
        """(∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the results, 3 arrays of their shapes;
        `algorithm` is one of `px.algorithms("forward_dynamics_derivatives")`; `backend` is "auto", "native",
        "numpy" or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`). With `value`
        also `qdd`, of the same pass.
        """

    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The matrix C (…, nv, nv) with C qd the forces of velocity, and dM/dt - 2 C skew-symmetric.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("coriolis_matrix")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """The matrix Y (…, nv, 10 n_links) with tau = Y `robot.inertial_parameters`, armature apart.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("regressor")`; `backend` is "auto", "native", "numpy" or "jax";
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def operational_space_inertia(
        self, q: ArrayLike, frame: str,
        *, inertias: ArrayLike | None = None, reference: Reference = "world_aligned",
        out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """Inertia (…, 6, 6) that a frame shows: (J M^-1 J^T)^-1, from its acceleration to the wrench on it.

        `frame` is a name in `robot.frame_names`, `reference` that of its Jacobian J. The joints must be able
        to move the frame in all six directions, or the robot is refused. In single configurations where they
        cannot the inertia is infinite: entries of that state are huge or not finite, those of others are as
        ever.

        Source: Khatib 1987; the factor of M is Featherstone 2008, Table 6.3. Cost: work O(n depth^2), span
        O(depth^2).

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("operational_space_inertia")` (ltl, articulated); `backend` is
        "auto", "native", "numpy" or "jax"; at most `threads` threads share a large batch (None:
        `px.set_threads`).
        """

    rnea = inverse_dynamics
    crba = mass_matrix
    aba = forward_dynamics
