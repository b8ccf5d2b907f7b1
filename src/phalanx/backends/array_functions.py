# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.jax` and `robot.torch`: one method for each registered function.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar, Unpack

from ..robot import results
from ..typing import ArrayOptions, Reference

X = TypeVar("X")  # arrays that are given
A = TypeVar("A")  # arrays that are returned


class ArrayFunctions(Generic[X, A]):
    """The methods of `JaxFunctions` and `TorchFunctions`, where they get code and docstrings."""

    def inverse_dynamics(
        self, q: X, qd: X, qdd: X, external: X | Mapping[str, X] | None = None,
        base_velocity: X | None = None, base_acceleration: X | None = None,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """Joint forces `tau` (…, nv) that produce `qdd` at state (q, qd)."""

    def mass_matrix(self, q: X, *, inertias: X | None = None, **options: Unpack[ArrayOptions]) -> A:
        """The mass matrix `M` (…, nv, nv)."""

    def forward_dynamics(
        self, q: X, qd: X, tau: X, external: X | Mapping[str, X] | None = None,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd)."""

    def bias_forces(self, q: X, qd: X, *, inertias: X | None = None, **options: Unpack[ArrayOptions]) -> A:
        """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity."""

    def gravity_forces(self, q: X, *, inertias: X | None = None, **options: Unpack[ArrayOptions]) -> A:
        """Joint forces (…, nv) that hold the robot at rest at q."""

    def mass_matrix_inverse(self, q: X, *, inertias: X | None = None, **options: Unpack[ArrayOptions]) -> A:
        """The inverse (…, nv, nv) of the mass matrix, by its sparse factor."""

    def forward_kinematics(self, q: X, **options: Unpack[ArrayOptions]) -> A:
        """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file."""

    def frame_pose(self, q: X, frame: str, **options: Unpack[ArrayOptions]) -> A:
        """Pose (…, 4, 4) of a frame in the base frame of the file: rotation and origin."""

    def jacobian(
        self, q: X, frame: str,
        *, reference: Reference = "world_aligned", **options: Unpack[ArrayOptions],
    ) -> A:
        """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear]."""

    def center_of_mass(self, q: X, *, inertias: X | None = None, **options: Unpack[ArrayOptions]) -> A:
        """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass."""

    def kinetic_energy(self, q: X, qd: X, *, inertias: X | None = None, **options: Unpack[ArrayOptions]) -> A:
        """Kinetic energy (…) of all links and rotors."""

    def potential_energy(self, q: X, *, inertias: X | None = None, **options: Unpack[ArrayOptions]) -> A:
        """Potential energy (…) in the field of gravity, zero at the world's origin."""

    def inverse_dynamics_derivatives(
        self, q: X, qd: X, qdd: X, external: X | Mapping[str, X] | None = None,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> results.InverseDynamicsDerivatives[A]:
        """(∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd), each (…, nv, nv), in the tangent space of q."""

    def forward_dynamics_derivatives(
        self, q: X, qd: X, tau: X, external: X | Mapping[str, X] | None = None,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> results.ForwardDynamicsDerivatives[A]:
        """(∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau), each (…, nv, nv), in the tangent space of q."""

    def coriolis_matrix(
        self, q: X, qd: X,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """The matrix C (…, nv, nv) with C qd the forces of velocity, and dM/dt - 2 C skew-symmetric."""

    def regressor(self, q: X, qd: X, qdd: X, **options: Unpack[ArrayOptions]) -> A:
        """The matrix Y (…, nv, 10 n_links) with tau = Y `robot.inertial_parameters`, without armature."""

    def centroidal_momentum(
        self, q: X, qd: X,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """Momentum (…, 6) [angular; linear] of all links about their mass centre, along the world's axes."""

    def centroidal_momentum_matrix(
        self, q: X,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes."""

    def centroidal_momentum_time_variation(
        self, q: X, qd: X, qdd: X,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """Rate (…, 6) [angular; linear] of the momentum about the mass centre, along the world's axes."""

    def center_of_mass_jacobian(
        self, q: X,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """Jacobian (…, 3, nv) of the centre of mass: times qd it is its velocity, along the world's axes."""

    def center_of_mass_velocity(
        self, q: X, qd: X,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """Velocity (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass."""

    def center_of_mass_acceleration(
        self, q: X, qd: X, qdd: X,
        *, inertias: X | None = None, **options: Unpack[ArrayOptions],
    ) -> A:
        """Acceleration (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass."""

    def operational_space_inertia(
        self, q: X, frame: str,
        *, inertias: X | None = None, reference: Reference = "world_aligned", **options: Unpack[ArrayOptions],
    ) -> A:
        """Inertia (…, 6, 6) that a frame shows: (J M^-1 J^T)^-1, from its acceleration to the wrench on it.
        """

    def frame_velocity(
        self, q: X, qd: X, frame: str,
        *, reference: Reference = "world_aligned", **options: Unpack[ArrayOptions],
    ) -> A:
        """Velocity (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame."""

    def frame_acceleration(
        self, q: X, qd: X, qdd: X, frame: str,
        *, reference: Reference = "world_aligned", **options: Unpack[ArrayOptions],
    ) -> A:
        """Acceleration (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.
        """

    def jacobian_time_derivative(
        self, q: X, qd: X, frame: str,
        *, reference: Reference = "world_aligned", **options: Unpack[ArrayOptions],
    ) -> A:
        """The time derivative dJ/dt (…, 6, nv) of a frame's Jacobian, entry by entry."""

    def kinematic_hessian(
        self, q: X, frame: str,
        *, reference: Reference = "world_aligned", **options: Unpack[ArrayOptions],
    ) -> A:
        """The derivative (…, 6, nv, nv) of a frame's Jacobian in the tangent space of q."""
