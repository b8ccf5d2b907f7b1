# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.torch`: one method for each registered function.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...robot import results
from ...typing import AlgorithmLike, Reference
from .motion_signatures import MotionSignatures

if TYPE_CHECKING:
    from torch import Tensor


class TorchSignatures(MotionSignatures):
    """The methods of `TorchFunctions`, whose `evaluate` does the work."""

    def inverse_dynamics(
        self, q: Tensor, qd: Tensor, qdd: Tensor, external: Tensor | Mapping[str, Tensor] | None = None,
        base_velocity: Tensor | None = None, base_acceleration: Tensor | None = None,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
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

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("inverse_dynamics")`
        (cartesian_tensor, lathrop, luh_walker_paul, newton_euler, partition, scan, zomaya_morris); at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd, "external": external,
            "base_velocity": base_velocity, "base_acceleration": base_acceleration, "inertias": inertias},
            algorithm=algorithm, threads=threads,
        )

    def mass_matrix(
        self, q: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """The mass matrix `M` (…, nv, nv).

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("mass_matrix")` (crba,
        composite_original, composite_variant, kane_original, kane_variant, newton_euler_original,
        newton_euler_variant, partition, processor_array, recursive_doubling); at most `threads` threads share
        a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "mass_matrix", {"q": q, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def forward_dynamics(
        self, q: Tensor, qd: Tensor, tau: Tensor, external: Tensor | Mapping[str, Tensor] | None = None,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("forward_dynamics")` (aba,
        abia, cfa, contraction, dca, jsiia, partition); at most `threads` threads share a large batch (None:
        `px.set_threads`).
        """
        return self.evaluate(
            "forward_dynamics", {"q": q, "qd": qd, "tau": tau, "external": external, "inertias": inertias},
            algorithm=algorithm, threads=threads,
        )

    def bias_forces(
        self, q: Tensor, qd: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("bias_forces")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "bias_forces", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def gravity_forces(
        self, q: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Joint forces (…, nv) that hold the robot at rest at q.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("gravity_forces")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "gravity_forces", {"q": q, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def mass_matrix_inverse(
        self, q: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """The inverse (…, nv, nv) of the mass matrix, by its sparse factor.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("mass_matrix_inverse")`; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "mass_matrix_inverse", {"q": q, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def inverse_dynamics_derivatives(
        self, q: Tensor, qd: Tensor, qdd: Tensor, external: Tensor | Mapping[str, Tensor] | None = None,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> results.InverseDynamicsDerivatives[Tensor]:
        """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of
        `px.algorithms("inverse_dynamics_derivatives")` (idsva, carpentier_mansard); at most `threads` threads
        share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "inverse_dynamics_derivatives", {"q": q, "qd": qd, "qdd": qdd, "external": external,
            "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def forward_dynamics_derivatives(
        self, q: Tensor, qd: Tensor, tau: Tensor, external: Tensor | Mapping[str, Tensor] | None = None,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> results.ForwardDynamicsDerivatives[Tensor]:
        """(∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau), each (…, nv, nv), in the tangent space of q.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of
        `px.algorithms("forward_dynamics_derivatives")`; at most `threads` threads share a large batch (None:
        `px.set_threads`).
        """
        return self.evaluate(
            "forward_dynamics_derivatives", {"q": q, "qd": qd, "tau": tau, "external": external,
            "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def coriolis_matrix(
        self, q: Tensor, qd: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """The matrix C (…, nv, nv) with C qd the forces of velocity, and dM/dt - 2 C skew-symmetric.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("coriolis_matrix")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "coriolis_matrix", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def regressor(
        self, q: Tensor, qd: Tensor, qdd: Tensor,
        *, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """The matrix Y (…, nv, 10 n_links) with tau = Y `robot.inertial_parameters`, armature apart.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("regressor")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "regressor", {"q": q, "qd": qd, "qdd": qdd}, algorithm=algorithm, threads=threads,
        )

    def operational_space_inertia(
        self, q: Tensor, frame: str,
        *, inertias: Tensor | None = None, reference: Reference = "world_aligned",
        algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
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

        Tensors on the CPU, any batch shape. `algorithm` is one of
        `px.algorithms("operational_space_inertia")` (ltl, articulated); at most `threads` threads share a
        large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "operational_space_inertia", {"q": q, "inertias": inertias}, frame=frame,
            choices={"reference": reference}, algorithm=algorithm, threads=threads,
        )
