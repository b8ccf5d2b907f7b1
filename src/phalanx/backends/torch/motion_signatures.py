# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.torch`: the functions of places and speeds.

Written by `tools/make_surface.py` from `algorithms/registry.py`; run it instead of editing here.
"""

# fmt: off
# mypy: disable-error-code="empty-body"
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...typing import AlgorithmLike, Reference

if TYPE_CHECKING:
    from torch import Tensor


class MotionSignatures:
    """The methods of `TorchFunctions`, whose `evaluate` does the work."""

    def evaluate(self, *args: Any, **kwargs: Any) -> Any: ...

    def forward_kinematics(
        self, q: Tensor,
        *, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Poses (…, n_links, 4, 4) of all moving links (`robot.link_names`) in the base frame of the file.

        - `q` (…, nq): positions.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("forward_kinematics")`; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate("forward_kinematics", {"q": q}, algorithm=algorithm, threads=threads)

    def frame_pose(
        self, q: Tensor, frame: str,
        *, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Pose (…, 4, 4) of a frame in the base frame of the file: rotation and origin.

        `frame` is a name in `robot.frame_names`: of any link of the file, welded or not.

        - `q` (…, nq): positions.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("frame_pose")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate("frame_pose", {"q": q}, frame=frame, algorithm=algorithm, threads=threads)

    def jacobian(
        self, q: Tensor, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        threads: int | None = None,
    ) -> Tensor:
        """Jacobian J (…, 6, nv) of a frame: J @ qd is its velocity [angular; linear].

        `frame` is a name in `robot.frame_names`: of any link of the file, welded or not. The first three rows
        give its angular velocity (rad/s), the last three a velocity (m/s): that of its origin along the axes
        of the base frame of the file (`reference="world_aligned"`) or along its own ("local"), or that of the
        point of its link at the world's origin, along the world's axes ("world").

        - `q` (…, nq): positions.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("jacobian")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "jacobian", {"q": q}, frame=frame, choices={"reference": reference}, algorithm=algorithm,
            threads=threads,
        )

    def center_of_mass(
        self, q: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Centre of mass (…, 3) of all moving links, in the world frame; NaN if none has mass.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("center_of_mass")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "center_of_mass", {"q": q, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def kinetic_energy(
        self, q: Tensor, qd: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Kinetic energy (…) of all links and rotors.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("kinetic_energy")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "kinetic_energy", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def potential_energy(
        self, q: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Potential energy (…) in the field of gravity, zero at the world's origin.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("potential_energy")`; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "potential_energy", {"q": q, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def centroidal_momentum(
        self, q: Tensor, qd: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Momentum (…, 6) [angular; linear] of all links about their mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("centroidal_momentum")`; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "centroidal_momentum", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm,
            threads=threads,
        )

    def centroidal_momentum_matrix(
        self, q: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """The matrix A (…, 6, nv) with momentum A qd about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of
        `px.algorithms("centroidal_momentum_matrix")`; at most `threads` threads share a large batch (None:
        `px.set_threads`).
        """
        return self.evaluate(
            "centroidal_momentum_matrix", {"q": q, "inertias": inertias}, algorithm=algorithm,
            threads=threads,
        )

    def centroidal_momentum_time_variation(
        self, q: Tensor, qd: Tensor, qdd: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Rate (…, 6) [angular; linear] of the momentum about the mass centre, along the world's axes.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of
        `px.algorithms("centroidal_momentum_time_variation")`; at most `threads` threads share a large batch
        (None: `px.set_threads`).
        """
        return self.evaluate(
            "centroidal_momentum_time_variation", {"q": q, "qd": qd, "qdd": qdd, "inertias": inertias},
            algorithm=algorithm, threads=threads,
        )

    def center_of_mass_jacobian(
        self, q: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Jacobian (…, 3, nv) of the centre of mass: times qd it is its velocity, along the world's axes.

        - `q` (…, nq): positions.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("center_of_mass_jacobian")`;
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "center_of_mass_jacobian", {"q": q, "inertias": inertias}, algorithm=algorithm, threads=threads,
        )

    def center_of_mass_velocity(
        self, q: Tensor, qd: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Velocity (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("center_of_mass_velocity")`;
        at most `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "center_of_mass_velocity", {"q": q, "qd": qd, "inertias": inertias}, algorithm=algorithm,
            threads=threads,
        )

    def center_of_mass_acceleration(
        self, q: Tensor, qd: Tensor, qdd: Tensor,
        *, inertias: Tensor | None = None, algorithm: AlgorithmLike = "auto", threads: int | None = None,
    ) -> Tensor:
        """Acceleration (…, 3) of the centre of mass, along the world's axes; NaN if no link has mass.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.
        - `inertias` (…, n_links, 10): ten inertial parameters of each link in place of the robot's own, which
          are `robot.inertial_parameters.reshape(-1, 10)`.

        Tensors on the CPU, any batch shape. `algorithm` is one of
        `px.algorithms("center_of_mass_acceleration")`; at most `threads` threads share a large batch (None:
        `px.set_threads`).
        """
        return self.evaluate(
            "center_of_mass_acceleration", {"q": q, "qd": qd, "qdd": qdd, "inertias": inertias},
            algorithm=algorithm, threads=threads,
        )

    def frame_velocity(
        self, q: Tensor, qd: Tensor, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        threads: int | None = None,
    ) -> Tensor:
        """Velocity (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. It is J qd of the frame's Jacobian with the same
        `reference`: "world_aligned", "world" or "local".

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("frame_velocity")`; at most
        `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "frame_velocity", {"q": q, "qd": qd}, frame=frame, choices={"reference": reference},
            algorithm=algorithm, threads=threads,
        )

    def frame_acceleration(
        self, q: Tensor, qd: Tensor, qdd: Tensor, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        threads: int | None = None,
    ) -> Tensor:
        """Acceleration (…, 6) [angular; linear] of a frame and its origin, along the axes of the base frame.

        `frame` is a name in `robot.frame_names`. The linear half is what an accelerometer at rest in the
        world would see of the origin: the second derivative of its position, without gravity. With
        `reference="local"` both halves are along the frame's own axes; with "world" the linear half is that
        of the point of its link at the world's origin.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.
        - `qdd` (…, nv): accelerations.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("frame_acceleration")`; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "frame_acceleration", {"q": q, "qd": qd, "qdd": qdd}, frame=frame,
            choices={"reference": reference}, algorithm=algorithm, threads=threads,
        )

    def jacobian_time_derivative(
        self, q: Tensor, qd: Tensor, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        threads: int | None = None,
    ) -> Tensor:
        """The time derivative dJ/dt (…, 6, nv) of a frame's Jacobian, entry by entry.

        `frame` is a name in `robot.frame_names`, `reference` that of the Jacobian: "world_aligned", "world"
        or "local". The frame's acceleration is J qdd + dJ/dt qd; with "world" and "local" it is the spatial
        acceleration, to which the classical one adds the product of angular and linear velocity.

        - `q` (…, nq): positions.
        - `qd` (…, nv): rates.

        Tensors on the CPU, any batch shape. `algorithm` is one of
        `px.algorithms("jacobian_time_derivative")`; at most `threads` threads share a large batch (None:
        `px.set_threads`).
        """
        return self.evaluate(
            "jacobian_time_derivative", {"q": q, "qd": qd}, frame=frame, choices={"reference": reference},
            algorithm=algorithm, threads=threads,
        )

    def kinematic_hessian(
        self, q: Tensor, frame: str,
        *, reference: Reference = "world_aligned", algorithm: AlgorithmLike = "auto",
        threads: int | None = None,
    ) -> Tensor:
        """The derivative (…, 6, nv, nv) of a frame's Jacobian in the tangent space of q.

        Entry [:, j, k] is that of column j along joint k. `frame` is a name in `robot.frame_names`,
        `reference` that of the Jacobian: "world_aligned", "world" or "local". A joint turns the columns of
        all joints beyond it, and moves the frame that those before it turn.

        - `q` (…, nq): positions.

        Tensors on the CPU, any batch shape. `algorithm` is one of `px.algorithms("kinematic_hessian")`; at
        most `threads` threads share a large batch (None: `px.set_threads`).
        """
        return self.evaluate(
            "kinematic_hessian", {"q": q}, frame=frame, choices={"reference": reference}, algorithm=algorithm,
            threads=threads,
        )
