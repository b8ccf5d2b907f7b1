# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.jax`: the functions of places and speeds.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...typing import AlgorithmLike, ArrayLike, Derivatives, Reference, Schedule

if TYPE_CHECKING:
    from jax import Array


class MotionSignatures:
    """The methods of `JaxFunctions`, whose `evaluate` does the work."""

    def evaluate(self, *args: Any, **kwargs: Any) -> Any: ...

    def forward_kinematics(
        self, q: ArrayLike,
        *, algorithm: AlgorithmLike = "auto", schedule: Schedule = "sequential",
        parameters: Mapping[str, ArrayLike] | None = None, derivatives: Derivatives = "auto",
    ) -> Array:
        """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file.

        - `q` (…, nq): positions.

        Any batch shape. `algorithm` is one of `px.algorithms("forward_kinematics")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "forward_kinematics", {"q": q}, algorithm=algorithm, schedule=schedule, parameters=parameters,
            derivatives=derivatives,
        )

    def frame_pose(
        self, q: ArrayLike, frame: str,
        *, algorithm: AlgorithmLike = "auto", schedule: Schedule = "sequential",
        parameters: Mapping[str, ArrayLike] | None = None, derivatives: Derivatives = "auto",
    ) -> Array:
        """Pose (…, 4, 4) of a frame in the base frame of the file: rotation and origin.

        `frame` is a name in `robot.frame_names`: of any link of the file, welded or not.

        - `q` (…, nq): positions.

        Any batch shape. `algorithm` is one of `px.algorithms("frame_pose")`; `schedule` is "sequential" or
        "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "frame_pose", {"q": q}, frame=frame, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def jacobian(
        self, q: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear].

        `frame` is a name in `robot.frame_names`: of any link of the file, welded or not. The first three rows
        give its angular velocity (rad/s), the last three a velocity (m/s): that of its origin along the axes
        of the base frame of the file (`reference="world_aligned"`) or along its own ("local"), or that of the
        point of its link at the world's origin, along the world's axes ("world").

        - `q` (…, nq): positions.

        Any batch shape. `algorithm` is one of `px.algorithms("jacobian")`; `schedule` is "sequential" or
        "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "jacobian", {"q": q}, frame=frame, choices={"reference": reference}, algorithm=algorithm,
            schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def center_of_mass(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("center_of_mass")`; `schedule` is "sequential"
        or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "center_of_mass", {"q": q, "inertias": inertias}, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def kinetic_energy(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Kinetic energy (…) of all links and rotors.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("kinetic_energy")`; `schedule` is "sequential"
        or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "kinetic_energy", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm,
            schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def potential_energy(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Potential energy (…) in the field of gravity, zero at the world's origin.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("potential_energy")`; `schedule` is "sequential"
        or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "potential_energy", {"q": q, "inertias": inertias}, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def centroidal_momentum(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Momentum (…, 6) [angular; linear] of all links about their mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("centroidal_momentum")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "centroidal_momentum", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm,
            schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def centroidal_momentum_matrix(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("centroidal_momentum_matrix")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "centroidal_momentum_matrix", {"q": q, "inertias": inertias}, algorithm=algorithm,
            schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def centroidal_momentum_time_variation(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Rate (…, 6) [angular; linear] of the momentum about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("centroidal_momentum_time_variation")`;
        `schedule` is "sequential" or "doubling" (logarithmic depth); `parameters` from
        `robot.jax.parameters()` replace the robot's own; `derivatives` by JAX are those of the "analytic"
        algorithms, of "xla", or by default the first where there are any.
        """
        return self.evaluate(
            "centroidal_momentum_time_variation", {"q": q, "qd": qd, "qdd": qdd, "inertias": inertias},
            algorithm=algorithm, schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def center_of_mass_jacobian(
        self, q: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Jacobian (…, 3, nv) of the centre of mass: times qd it is its velocity, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("center_of_mass_jacobian")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "center_of_mass_jacobian", {"q": q, "inertias": inertias}, algorithm=algorithm, schedule=schedule,
            parameters=parameters, derivatives=derivatives,
        )

    def center_of_mass_velocity(
        self, q: ArrayLike, qd: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Velocity (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("center_of_mass_velocity")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "center_of_mass_velocity", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm,
            schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def center_of_mass_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
        *, inertias: ArrayLike | None = None, algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Acceleration (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Any batch shape. `algorithm` is one of `px.algorithms("center_of_mass_acceleration")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "center_of_mass_acceleration", {"q": q, "qd": qd, "qdd": qdd, "inertias": inertias},
            algorithm=algorithm, schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def frame_velocity(
        self, q: ArrayLike, qd: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Velocity (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. It is J qd of the frame's Jacobian with the same
        `reference`: "world_aligned", "world" or "local".

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape. `algorithm` is one of `px.algorithms("frame_velocity")`; `schedule` is "sequential"
        or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the robot's own;
        `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the first where
        there are any.
        """
        return self.evaluate(
            "frame_velocity", {"q": q, "qd": qd}, frame=frame, choices={"reference": reference},
            algorithm=algorithm, schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def frame_acceleration(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """Acceleration (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. The linear half is what an accelerometer at rest in the
        world would see of the origin: the second derivative of its position, without gravity. With
        `reference="local"` both halves are along the frame's own axes; with "world" the linear half is that
        of the point of its link at the world's origin.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Any batch shape. `algorithm` is one of `px.algorithms("frame_acceleration")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "frame_acceleration", {"q": q, "qd": qd, "qdd": qdd}, frame=frame,
            choices={"reference": reference}, algorithm=algorithm, schedule=schedule, parameters=parameters,
            derivatives=derivatives,
        )

    def jacobian_time_derivative(
        self, q: ArrayLike, qd: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """The time derivative dJ/dt (…, 6, nv) of a frame's Jacobian, entry by entry.

        `frame` is a name in `robot.frame_names`, `reference` that of the Jacobian: "world_aligned", "world"
        or "local". The frame's acceleration is J qdd + dJ/dt qd; with "world" and "local" it is the spatial
        acceleration, to which the classical one adds the product of angular and linear velocity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Any batch shape. `algorithm` is one of `px.algorithms("jacobian_time_derivative")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "jacobian_time_derivative", {"q": q, "qd": qd}, frame=frame, choices={"reference": reference},
            algorithm=algorithm, schedule=schedule, parameters=parameters, derivatives=derivatives,
        )

    def kinematic_hessian(
        self, q: ArrayLike, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        schedule: Schedule = "sequential", parameters: Mapping[str, ArrayLike] | None = None,
        derivatives: Derivatives = "auto",
    ) -> Array:
        """The derivative (…, 6, nv, nv) of a frame's Jacobian in the tangent space of q.

        Entry [:, j, k] is that of column j along joint k. `frame` is a name in `robot.frame_names`,
        `reference` that of the Jacobian: "world_aligned", "world" or "local". A joint turns the columns of
        all joints beyond it, and moves the frame that those before it turn.

        - `q` (…, nq): positions.

        Any batch shape. `algorithm` is one of `px.algorithms("kinematic_hessian")`; `schedule` is
        "sequential" or "doubling" (logarithmic depth); `parameters` from `robot.jax.parameters()` replace the
        robot's own; `derivatives` by JAX are those of the "analytic" algorithms, of "xla", or by default the
        first where there are any.
        """
        return self.evaluate(
            "kinematic_hessian", {"q": q}, frame=frame, choices={"reference": reference}, algorithm=algorithm,
            schedule=schedule, parameters=parameters, derivatives=derivatives,
        )
