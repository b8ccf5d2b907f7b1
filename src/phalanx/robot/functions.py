# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot computes: one method for each registered function.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import Literal, overload

from ..typing import AlgorithmLike, Array, ArrayLike, Backend, External, Frames, Reference
from . import results


class Functions:
    """The methods of `Robot` that compute; `methods` gives them their code and docstrings."""

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, external: External | None = None,
        base_velocity: ArrayLike | None = None, base_acceleration: ArrayLike | None = None,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Joint forces `tau` (…, nv) that produce `qdd` at state (q, qd)."""

    def mass_matrix(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The mass matrix `M` (…, nv, nv)."""

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, external: External | None = None,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd)."""

    def bias_forces(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity."""

    def gravity_forces(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Joint forces (…, nv) that hold the robot at rest at q."""

    def mass_matrix_inverse(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The inverse (…, nv, nv) of the mass matrix, by its sparse factor."""

    def forward_kinematics(
        self, q: ArrayLike,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file."""

    def frame_pose(
        self, q: ArrayLike, frame: Frames,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """Pose (…, 4, 4) of a frame in the base frame of the file: rotation and origin."""

    def jacobian(
        self, q: ArrayLike, frame: Frames,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear]."""

    def center_of_mass(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass."""

    def kinetic_energy(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Kinetic energy (…) of all links and rotors."""

    def potential_energy(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Potential energy (…) in the field of gravity, zero at the world's origin."""

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
        """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q."""

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
        """(∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau), each (…, nv, nv), in the tangent space of q."""

    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The matrix C (…, nv, nv) with C qd the forces of velocity, and dM/dt - 2 C skew-symmetric."""

    def regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """The matrix Y (…, nv, 10 n_links) with tau = Y `robot.inertial_parameters`, without armature."""

    def centroidal_momentum(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Momentum (…, 6) [angular; linear] of all links about their mass centre, along the world's axes."""

    def centroidal_momentum_matrix(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes."""

    def centroidal_momentum_time_variation(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Rate (…, 6) [angular; linear] of the momentum about the mass centre, along the world's axes."""

    def center_of_mass_jacobian(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Jacobian (…, 3, nv) of the centre of mass: times qd it is its velocity, along the world's axes."""

    def center_of_mass_velocity(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Velocity (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass."""

    def center_of_mass_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Acceleration (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass."""

    def operational_space_inertia(
        self, q: ArrayLike, frame: Frames,
        *, inertias: ArrayLike | None = None, reference: Reference = "world_aligned",
        out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """Inertia (…, 6, 6) that a frame shows: (J M^-1 J^T)^-1, from its acceleration to the wrench on it.
        """

    def frame_velocity(
        self, q: ArrayLike, qd: ArrayLike, frame: Frames,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Velocity (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame."""

    def frame_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, frame: Frames,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Acceleration (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.
        """

    def jacobian_time_derivative(
        self, q: ArrayLike, qd: ArrayLike, frame: Frames,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The time derivative dJ/dt (…, 6, nv) of a frame's Jacobian, entry by entry."""

    def kinematic_hessian(
        self, q: ArrayLike, frame: Frames,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The derivative (…, 6, nv, nv) of a frame's Jacobian in the tangent space of q."""

    rnea = inverse_dynamics
    crba = mass_matrix
    aba = forward_dynamics
