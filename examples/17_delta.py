# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A delta robot: three arms and rods move a platform that does not turn; a thousand states at a time.

    python examples/17_delta.py

The tree has the three arms with their rods, and the platform on three slides of its own, without motors. Each
rod ends at a point of the platform: nine rows of constraints on twelve degrees of freedom.
"""

import numpy as np

import phalanx as px

BASE, ARM, ROD, PLATFORM = 0.2, 0.3, 0.6, 0.06  # m
MOTORS = ("motor0", "motor1", "motor2")


def delta() -> px.Robot:
    """The robot hanging from its base at the origin; motors at zero hold the arms level."""
    b = px.RobotBuilder("delta")
    b.add_link("base")
    constraints = []
    for k in range(3):
        angle = 2 * np.pi * k / 3
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        side = (-np.sin(angle), np.cos(angle), 0.0)
        b.add_link(f"arm{k}", mass=0.4, com=0.5 * ARM * out, inertia=(3e-3, 3e-3, 3e-3))
        b.add_joint(f"motor{k}", "revolute", "base", f"arm{k}", axis=side, origin=BASE * out)
        b.add_link(f"rod{k}", mass=0.1, com=(0.0, 0.0, -ROD / 2), inertia=(3e-3, 3e-3, 1e-5))
        b.add_joint(
            f"elbow{k}", "universal", f"arm{k}", f"rod{k}", axis=side, axis2=tuple(out), origin=ARM * out
        )
        constraints.append(
            px.constraint.point(
                f"rod{k}", "platform", offset=(0.0, 0.0, -ROD), at=PLATFORM * out, name=f"ball {k}"
            )
        )
    parent = "base"
    for name, axis in (("x", (1.0, 0.0, 0.0)), ("y", (0.0, 1.0, 0.0)), ("z", (0.0, 0.0, 1.0))):
        child = "platform" if name == "z" else f"slide_{name}"
        more = {"mass": 0.3, "inertia": (1e-3, 1e-3, 1e-3)} if name == "z" else {}
        b.add_link(child, **more)
        b.add_joint(name, "prismatic", parent, child, axis=axis)
        parent = child
    return b.build().with_constraint(*constraints)


def main() -> None:
    robot = delta()
    start = robot.neutral()
    start[robot.q_slices["z"]] = -0.5
    for k in range(3):  # rods lean inward
        start[robot.q_slices[f"elbow{k}"].start] = 0.7
    home = robot.close_loops(start, fixed=MOTORS, strict=True).q
    print(f"platform at home: {robot.frame_pose(home, 'platform')[:3, 3].round(4)} m")

    # Forward kinematics: motors are given, the loops close.
    q = np.repeat(home[None], 1000, axis=0)
    motors = [robot.q_slices[name].start for name in MOTORS]
    q[:, motors] += np.random.default_rng(0).uniform(-0.3, 0.3, (1000, 3))
    closed = robot.close_loops(q, fixed=MOTORS)
    q = closed.q[closed.converged]
    print(f"{len(q)} of 1000 positions close, errors below {np.abs(robot.constraint_error(q)).max():.0e} m")

    # Inverse, then forward dynamics: the platform shall accelerate upwards by 5 m/s2 from rest.
    J = robot.constraint_jacobian(q)
    free = np.zeros((len(q), robot.nv))
    free[:, robot.v_slices["z"]] = 5.0
    v = [robot.v_slices[name].start for name in ("x", "y", "z")]
    moved = [k for k in range(robot.nv) if k not in v]
    free[:, moved] = np.linalg.solve(J[..., moved], -(J @ free[..., None]))[..., 0]
    still = np.zeros_like(free)
    found = robot.constrained_inverse_dynamics(q, still, free, actuated=MOTORS)
    print(
        f"largest motor torque {np.abs(found.tau).max():.2f} N m, residual {np.abs(found.residual).max():.0e}"
    )
    r = robot.constrained_dynamics(q, still, found.tau)
    print(f"upward acceleration {r.qdd[:, v[2]].min():.6f} to {r.qdd[:, v[2]].max():.6f} m/s2")


if __name__ == "__main__":
    main()
