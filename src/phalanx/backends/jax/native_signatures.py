# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.jax.native`: one method for each registered function without a frame.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...typing import ArrayLike

if TYPE_CHECKING:
    from jax import Array


class NativeSignatures:
    """The methods of `NativeFunctions`, whose `evaluate` does the work."""

    def evaluate(self, function: str, inputs: tuple[Any, ...]) -> Any: ...

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Joint forces `tau` (…, nv) that produce `qdd` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("inverse_dynamics", (q, qd, qdd))

    def mass_matrix(self, q: ArrayLike) -> Array:
        """The mass matrix `M` (…, nv, nv).

        - `q` (…, nq): positions.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("mass_matrix", (q,))

    def forward_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> Array:
        """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).

        By the native kernel. Any batch shape.
        """
        return self.evaluate("forward_dynamics", (q, qd, tau))

    def bias_forces(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("bias_forces", (q, qd))

    def gravity_forces(self, q: ArrayLike) -> Array:
        """Joint forces (…, nv) that hold the robot at rest at q.

        - `q` (…, nq): positions.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("gravity_forces", (q,))

    def mass_matrix_inverse(self, q: ArrayLike) -> Array:
        """The inverse (…, nv, nv) of the mass matrix, by its sparse factor.

        - `q` (…, nq): positions.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("mass_matrix_inverse", (q,))

    def forward_kinematics(self, q: ArrayLike) -> Array:
        """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file.

        - `q` (…, nq): positions.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("forward_kinematics", (q,))

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass.

        - `q` (…, nq): positions.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("center_of_mass", (q,))

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Kinetic energy (…) of all links and rotors.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("kinetic_energy", (q, qd))

    def potential_energy(self, q: ArrayLike) -> Array:
        """Potential energy (…) in the field of gravity, zero at the world's origin.

        - `q` (…, nq): positions.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("potential_energy", (q,))

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """The matrix C (…, nv, nv) with C qd the forces of velocity, and dM/dt - 2 C skew-symmetric.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("coriolis_matrix", (q, qd))

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """The matrix Y (…, nv, 10 n_links) with tau = Y `robot.inertial_parameters`, armature apart.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("regressor", (q, qd, qdd))

    def centroidal_momentum(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Momentum (…, 6) [angular; linear] of all links about their mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("centroidal_momentum", (q, qd))

    def centroidal_momentum_matrix(self, q: ArrayLike) -> Array:
        """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes.

        - `q` (…, nq): positions.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("centroidal_momentum_matrix", (q,))

    def centroidal_momentum_time_variation(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Rate (…, 6) [angular; linear] of the momentum about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("centroidal_momentum_time_variation", (q, qd, qdd))

    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """Jacobian (…, 3, nv) of the centre of mass: times qd it is its velocity, along the world's axes.

        - `q` (…, nq): positions.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("center_of_mass_jacobian", (q,))

    def center_of_mass_velocity(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Velocity (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("center_of_mass_velocity", (q, qd))

    def center_of_mass_acceleration(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Acceleration (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        By the native kernel. Any batch shape.
        """
        return self.evaluate("center_of_mass_acceleration", (q, qd, qdd))
