# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Kernels of functions of places and speeds, as `kernels`.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from ...typing import Array, ArrayLike, Bound
from .kernel import Kernel


class ForwardKinematicsKernel(Kernel):
    """`forward_kinematics` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A step() that recomputes `out` (…, n_links, 4, 4) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)


class FramePoseKernel(Kernel):
    """`frame_pose` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Pose (…, 4, 4) of a frame in the base frame of the file: rotation and origin.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A step() that recomputes `out` (…, 4, 4) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)


class JacobianKernel(Kernel):
    """`jacobian` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear].

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A step() that recomputes `out` (…, 6, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)


class CenterOfMassKernel(Kernel):
    """`center_of_mass` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, 3) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {"inertias": inertias}, out)


class KineticEnergyKernel(Kernel):
    """`kinetic_energy` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Kinetic energy (…) of all links and rotors.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {"inertias": inertias}, out)


class PotentialEnergyKernel(Kernel):
    """`potential_energy` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Potential energy (…) in the field of gravity, zero at the world's origin.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {"inertias": inertias}, out)


class CentroidalMomentumKernel(Kernel):
    """`centroidal_momentum` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Momentum (…, 6) [angular; linear] of all links about their mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, 6) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {"inertias": inertias}, out)


class CentroidalMomentumMatrixKernel(Kernel):
    """`centroidal_momentum_matrix` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, 6, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {"inertias": inertias}, out)


class CentroidalMomentumTimeVariationKernel(Kernel):
    """`centroidal_momentum_time_variation` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Rate (…, 6) [angular; linear] of the momentum about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, qdd: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, 6) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, qdd), {"inertias": inertias}, out)


class CenterOfMassJacobianKernel(Kernel):
    """`center_of_mass_jacobian` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Jacobian (…, 3, nv) of the centre of mass: times qd it is its velocity, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, 3, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {"inertias": inertias}, out)


class CenterOfMassVelocityKernel(Kernel):
    """`center_of_mass_velocity` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Velocity (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, 3) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {"inertias": inertias}, out)


class CenterOfMassAccelerationKernel(Kernel):
    """`center_of_mass_acceleration` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Acceleration (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, qdd: Array, *, out: Array, inertias: Array | None = None) -> Bound:
        """A step() that recomputes `out` (…, 3) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, qdd), {"inertias": inertias}, out)


class FrameVelocityKernel(Kernel):
    """`frame_velocity` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Velocity (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array) -> Bound:
        """A step() that recomputes `out` (…, 6) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {}, out)


class FrameAccelerationKernel(Kernel):
    """`frame_acceleration` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Acceleration (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, qdd: Array, *, out: Array) -> Bound:
        """A step() that recomputes `out` (…, 6) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, qdd), {}, out)


class JacobianTimeDerivativeKernel(Kernel):
    """`jacobian_time_derivative` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """The time derivative dJ/dt (…, 6, nv) of a frame's Jacobian, entry by entry.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array) -> Bound:
        """A step() that recomputes `out` (…, 6, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {}, out)


class KinematicHessianKernel(Kernel):
    """`kinematic_hessian` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The derivative (…, 6, nv, nv) of a frame's Jacobian in the tangent space of q.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A step() that recomputes `out` (…, 6, nv, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)
