# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How a robot moves: one method for each registered function of places and speeds.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from ..typing import AlgorithmLike, Array, ArrayLike, Backend, Reference


class Motion:
    """Methods of `Robot`, as `Functions`."""

    def forward_kinematics(
        self, q: ArrayLike,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("forward_kinematics")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def frame_pose(
        self, q: ArrayLike, frame: str,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """Pose (…, 4, 4) of a frame in the base frame of the file: rotation and origin.

        `frame` is a name in `robot.frame_names`: of any link of the file, welded or not.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("frame_pose")`; `backend` is "auto", "native", "numpy" or "jax";
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def jacobian(
        self, q: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear].

        `frame` is a name in `robot.frame_names`: of any link of the file, welded or not. The first three rows
        give its angular velocity (rad/s), the last three a velocity (m/s): that of its origin along the axes
        of the base frame of the file (`reference="world_aligned"`) or along its own ("local"), or that of the
        point of its link at the world's origin, along the world's axes ("world").

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("jacobian")`; `backend` is "auto", "native", "numpy" or "jax"; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def center_of_mass(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("center_of_mass")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def kinetic_energy(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Kinetic energy (…) of all links and rotors.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("kinetic_energy")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def potential_energy(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Potential energy (…) in the field of gravity, zero at the world's origin.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("potential_energy")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def centroidal_momentum(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Momentum (…, 6) [angular; linear] of all links about their mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("centroidal_momentum")`; `backend` is "auto", "native", "numpy"
        or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def centroidal_momentum_matrix(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("centroidal_momentum_matrix")`; `backend` is "auto", "native",
        "numpy" or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def centroidal_momentum_time_variation(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Rate (…, 6) [angular; linear] of the momentum about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("centroidal_momentum_time_variation")`; `backend` is "auto",
        "native", "numpy" or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def center_of_mass_jacobian(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Jacobian (…, 3, nv) of the centre of mass: times qd it is its velocity, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("center_of_mass_jacobian")`; `backend` is "auto", "native",
        "numpy" or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def center_of_mass_velocity(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Velocity (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("center_of_mass_velocity")`; `backend` is "auto", "native",
        "numpy" or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def center_of_mass_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Acceleration (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("center_of_mass_acceleration")`; `backend` is "auto", "native",
        "numpy" or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def frame_velocity(
        self, q: ArrayLike, qd: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Velocity (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. It is J qd of the frame's Jacobian with the same
        `reference`: "world_aligned", "world" or "local".

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("frame_velocity")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def frame_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Acceleration (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. The linear half is what an accelerometer at rest in the
        world would see of the origin: the second derivative of its position, without gravity. With
        `reference="local"` both halves are along the frame's own axes; with "world" the linear half is that
        of the point of its link at the world's origin.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("frame_acceleration")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def jacobian_time_derivative(
        self, q: ArrayLike, qd: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The time derivative dJ/dt (…, 6, nv) of a frame's Jacobian, entry by entry.

        `frame` is a name in `robot.frame_names`, `reference` that of the Jacobian: "world_aligned", "world"
        or "local". The frame's acceleration is J qdd + dJ/dt qd; with "world" and "local" it is the spatial
        acceleration, to which the classical one adds the product of angular and linear velocity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("jacobian_time_derivative")`; `backend` is "auto", "native",
        "numpy" or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def kinematic_hessian(
        self, q: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", out: Array | None = None,
        algorithm: AlgorithmLike = "auto", backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The derivative (…, 6, nv, nv) of a frame's Jacobian in the tangent space of q.

        Entry [:, j, k] is that of column j along joint k. `frame` is a name in `robot.frame_names`,
        `reference` that of the Jacobian: "world_aligned", "world" or "local". A joint turns the columns of
        all joints beyond it, and moves the frame that those before it turn.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("kinematic_hessian")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """
