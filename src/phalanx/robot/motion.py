# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How a robot moves: one method for each registered function of places and speeds.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from ..typing import AlgorithmLike, Array, ArrayLike, Axes, Backend


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
        *, axes: Axes = "world", out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear].

        `frame` is a name in `robot.frame_names`: of any link of the file, welded or not. The first three rows
        give its angular velocity (rad/s), the last three the velocity of its origin (m/s), both along the
        axes of the base frame of the file, or with `axes="local"` along those of the frame itself.

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

    def momentum(
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
        `algorithm` is one of `px.algorithms("momentum")`; `backend` is "auto", "native", "numpy" or "jax"; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def momentum_matrix(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, out: Array | None = None, algorithm: AlgorithmLike = "auto",
        backend: Backend = "auto", threads: int | None = None,
    ) -> Array:
        """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("momentum_matrix")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def frame_velocity(
        self, q: ArrayLike, qd: ArrayLike, frame: str,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """Velocity (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. It is J qd of the frame's Jacobian.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("frame_velocity")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def frame_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, frame: str,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """Acceleration (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. The linear half is what an accelerometer at rest in the
        world would see of the origin: the second derivative of its position, without gravity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("frame_acceleration")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def jacobian_rate(
        self, q: ArrayLike, qd: ArrayLike, frame: str,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """The rate dJ/dt (…, 6, nv) of a frame's Jacobian, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. Its acceleration is J qdd + dJ/dt qd.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("jacobian_rate")`; `backend` is "auto", "native", "numpy" or
        "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """

    def jacobian_derivative(
        self, q: ArrayLike, frame: str,
        *, out: Array | None = None, algorithm: AlgorithmLike = "auto", backend: Backend = "auto",
        threads: int | None = None,
    ) -> Array:
        """The derivative (…, 6, nv, nv) of a frame's Jacobian in the tangent space of q.

        Entry [:, j, k] is that of column j along joint k. `frame` is a name in `robot.frame_names`. A joint
        turns the columns of all joints beyond it, and moves the frame that those before it turn.

        - `q` (…, nq): positions.

        Any batch shape, by NumPy's rules of broadcasting. `out` takes the result, an array of its shape;
        `algorithm` is one of `px.algorithms("jacobian_derivative")`; `backend` is "auto", "native", "numpy"
        or "jax"; at most `threads` threads share a large batch (None: `px.set_threads`).
        """
