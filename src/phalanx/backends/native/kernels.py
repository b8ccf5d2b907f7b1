# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The kernels of each registered function: how to call and how to bind them.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from ...typing import Array, ArrayLike, Bound, External
from .kernel import Kernel


class InverseDynamicsKernel(Kernel):
    """`inverse_dynamics` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, external: External | None = None, base_velocity: ArrayLike | None = None,
        base_acceleration: ArrayLike | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Joint forces `tau` (…, nv) that produce `qdd` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.
        - `base_velocity` (…, 6): twist of the base [rad/s, m/s], in its own coordinates.
        - `base_acceleration` (…, 6): the component-wise derivative of that twist.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(
        self, q: Array, qd: Array, qdd: Array,
        *, out: Array, external: Array | None = None, base_velocity: Array | None = None,
        base_acceleration: Array | None = None,
    ) -> Bound:
        """A function without arguments that recomputes `out` (…, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound(
            (q, qd, qdd), {"external": external, "base_velocity": base_velocity,
            "base_acceleration": base_acceleration}, out,
        )


class MassMatrixKernel(Kernel):
    """`mass_matrix` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The mass matrix `M` (…, nv, nv).

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A function without arguments that recomputes `out` (…, nv, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)


class ForwardDynamicsKernel(Kernel):
    """`forward_dynamics` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike,
        *, external: External | None = None, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Joint accelerations `qdd` (…, nv) under the joint forces `tau` at state (q, qd).

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `tau` (…, nv): joint forces (N m of turning joints, N of sliding ones).
        - `external` (…, n_links, 6): wrenches [N m, N] on the links, each in its own link frame at its
          origin, or some of them by name as {"link": wrench} with (…, 6) each.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, tau: Array, *, out: Array, external: Array | None = None) -> Bound:
        """A function without arguments that recomputes `out` (…, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd, tau), {"external": external}, out)


class BiasForcesKernel(Kernel):
    """`bias_forces` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Joint forces (…, nv) that hold qdd = 0 at state (q, qd): velocity products and gravity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array) -> Bound:
        """A function without arguments that recomputes `out` (…, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {}, out)


class GravityForcesKernel(Kernel):
    """`gravity_forces` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Joint forces (…, nv) that hold the robot at rest at q.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A function without arguments that recomputes `out` (…, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)


class MassMatrixInverseKernel(Kernel):
    """`mass_matrix_inverse` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """The inverse (…, nv, nv) of the mass matrix, by its sparse factor.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A function without arguments that recomputes `out` (…, nv, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)


class ForwardKinematicsKernel(Kernel):
    """`forward_kinematics` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A function without arguments that recomputes `out` (…, n_links, 4, 4) from these very arrays.

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
        """A function without arguments that recomputes `out` (…, 4, 4) from these very arrays.

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
        """A function without arguments that recomputes `out` (…, 6, nv) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)


class CenterOfMassKernel(Kernel):
    """`center_of_mass` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A function without arguments that recomputes `out` (…, 3) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)


class KineticEnergyKernel(Kernel):
    """`kinetic_energy` of one robot, compiled."""

    def __call__(
        self, q: ArrayLike, qd: ArrayLike,
        *, out: Array | None = None, threads: int | None = None,
    ) -> Array:
        """Kinetic energy (…) of all links and rotors.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, qd: Array, *, out: Array) -> Bound:
        """A function without arguments that recomputes `out` (…) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q, qd), {}, out)


class PotentialEnergyKernel(Kernel):
    """`potential_energy` of one robot, compiled."""

    def __call__(self, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
        """Potential energy (…) in the field of gravity, zero at the world's origin.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def bind(self, q: Array, *, out: Array) -> Bound:
        """A function without arguments that recomputes `out` (…) from these very arrays.

        For control loops: fill the inputs in place, call, read `out` in place.
        """
        return self._bound((q,), {}, out)
