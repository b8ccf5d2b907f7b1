# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.jax`: one method for each registered function.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...robot import results
from ...typing import AlgorithmLike, ArrayLike, Derivatives, External, Reference, Schedule
from .motion_signatures import MotionSignatures

if TYPE_CHECKING:
    from jax import Array


class JaxSignatures(MotionSignatures):
    """The methods of `JaxFunctions`, whose `evaluate` does the work."""

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external: External | None = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
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

        Any batch shape. `algorithm` is one of `px.algorithms("inverse_dynamics")` (cartesian_tensor, lathrop,
        luh_walker_paul, newton_euler, partition, scan, zomaya_morris); `schedule` is "sequential" or
        "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd, "external": external,
            "base_velocity": base_velocity, "base_acceleration": base_acceleration, "inertias": inertias},
            algorithm=algorithm, schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def mass_matrix(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """The mass matrix `M` (…, nv, nv).

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("mass_matrix")` (crba, composite_original,
        composite_variant, kane_original, kane_variant, newton_euler_original, newton_euler_variant,
        partition, processor_array, recursive_doubling); `schedule` is "sequential" or "doubling" (logarithmic
        depth); `parameters` from `robot.jax.parameters()` replace the robot's own; `derivatives` by JAX are
        those of the "analytic" algorithms, of "xla", or by default the first where there are any.
        """
        return self.evaluate(
            "mass_matrix", {"q": q, "inertias": inertias}, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("forward_dynamics")` (aba, abia, cfa,
        contraction, dca, jsiia, partition); `schedule` is "sequential" or "doubling" (logarithmic depth);
        `parameters` from `robot.jax.parameters()` replace the robot's own; `derivatives` by JAX are those of
        the "analytic" algorithms, of "xla", or by default the first where there are any.
        """
        return self.evaluate(
            "forward_dynamics", {"q": q, "qd": qd, "tau": tau, "external": external, "inertias": inertias},
            algorithm=algorithm, schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def bias_forces(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("bias_forces")`; `schedule` is "sequential" or
        "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "bias_forces", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def gravity_forces(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Joint forces (…, nv) that hold the robot at rest at q.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("gravity_forces")`; `schedule` is "sequential"
        or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "gravity_forces", {"q": q, "inertias": inertias}, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def mass_matrix_inverse(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """The inverse (…, nv, nv) of the mass matrix, by its sparse factor.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("mass_matrix_inverse")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "mass_matrix_inverse", {"q": q, "inertias": inertias}, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> results.InverseDynamicsDerivatives[Array]:
        """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("inverse_dynamics_derivatives")` (idsva,
        carpentier_mansard); `schedule` is "sequential" or "doubling" (logarithmic depth); `parameters` from
        `robot.jax.parameters()` replace the robot's own; `derivatives` by JAX are those of the "analytic"
        algorithms, of "xla", or by default the first where there are any.
        """
        return self.evaluate(
            "inverse_dynamics_derivatives", {"q": q, "qd": qd, "qdd": qdd, "external": external,
            "inertias": inertias}, algorithm=algorithm, schedule=schedule, parameters=parameters,
            derivatives=derivatives,
        )

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> results.ForwardDynamicsDerivatives[Array]:
        """(∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("forward_dynamics_derivatives")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "forward_dynamics_derivatives", {"q": q, "qd": qd, "tau": tau, "external": external,
            "inertias": inertias}, algorithm=algorithm, schedule=schedule, parameters=parameters,
            derivatives=derivatives,
        )

    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """The matrix C (…, nv, nv) with C qd the forces of velocity, and dM/dt - 2 C skew-symmetric.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("coriolis_matrix")`; `schedule` is "sequential"
        or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "coriolis_matrix", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm,
            schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, algorithm: AlgorithmLike = "auto", schedule: Schedule = "sequential",
        parameters: Mapping[str, ArrayLike] | None = None, derivatives: Derivatives = "auto",
    ) -> Array:
        """The matrix Y (…, nv, 10 n_links) with tau = Y `robot.inertial_parameters`, armature apart.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Any batch shape. `algorithm` is one of `px.algorithms("regressor")`; `schedule` is "sequential" or
        "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "regressor", {"q": q, "qd": qd, "qdd": qdd}, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def operational_space_inertia(
        self, q: ArrayLike, frame: str,
        *, inertias: ArrayLike | None = None, reference: Reference = "world_aligned",
        algorithm: AlgorithmLike = "auto", schedule: Schedule = "sequential",
        parameters: Mapping[str, ArrayLike] | None = None, derivatives: Derivatives = "auto",
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

        Any batch shape. `algorithm` is one of `px.algorithms("operational_space_inertia")` (ltl,
        articulated); `schedule` is "sequential" or "doubling" (logarithmic depth); `parameters` from
        `robot.jax.parameters()` replace the robot's own; `derivatives` by JAX are those of the "analytic"
        algorithms, of "xla", or by default the first where there are any.
        """
        return self.evaluate(
            "operational_space_inertia", {"q": q, "inertias": inertias}, frame=frame,
            choices={"reference": reference}, algorithm=algorithm, schedule=schedule, parameters=parameters,
            derivatives=derivatives,
        )
