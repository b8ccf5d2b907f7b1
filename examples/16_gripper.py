# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A gripper of two four-bar fingers closes on a sphere: loops, distances and the forces in its pins.

    python examples/16_gripper.py

Each finger is a parallelogram of a crank, a finger and a link, as of grippers with one motor: the pin that
closes it is a constraint. The crank is moved until the finger touches; then its motor pushes.
"""

import numpy as np

import phalanx as px

WIDTH, CRANK, COUPLER = 0.05, 0.06, 0.03  # m: between the cranks' pivots, of a crank, between its pins
BALL = 0.03


def gripper() -> px.Robot:
    """Two fingers on a palm, at the origin, pointing up; a crank at zero points up."""
    b = px.RobotBuilder("gripper")
    b.add_link("palm")
    y = (0.0, 1.0, 0.0)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        pivot = (sign * WIDTH / 2, 0.0, 0.0)
        outer = (sign * (WIDTH / 2 + COUPLER), 0.0, 0.0)
        beside = (sign * COUPLER, 0.0, 0.0)
        bar = {"mass": 0.05, "com": (0.0, 0.0, CRANK / 2), "inertia": (2e-5, 2e-5, 2e-6)}
        b.add_link(f"{side}_crank", **bar)
        b.add_joint(f"{side}_motor", "revolute", "palm", f"{side}_crank", axis=y, origin=pivot)
        b.add_link(f"{side}_link", **bar)
        b.add_joint(f"{side}_outer", "revolute", "palm", f"{side}_link", axis=y, origin=outer)
        b.add_link(f"{side}_finger", mass=0.08, com=(0.0, 0.0, 0.03), inertia=(3e-5, 3e-5, 4e-6))
        b.add_joint(
            f"{side}_pin", "revolute", f"{side}_crank", f"{side}_finger", axis=y, origin=(0.0, 0.0, CRANK)
        )
        b.add_frame(f"{side}_finger_end", f"{side}_finger", beside)
        b.add_frame(f"{side}_link_end", f"{side}_link", (0.0, 0.0, CRANK))
    robot = b.build()
    pins = [
        px.constraint.axis(f"{side}_finger_end", f"{side}_link_end", axis=y, name=f"{side} loop")
        for side in ("left", "right")
    ]
    return robot.with_constraint(*pins)


def main() -> None:
    robot = gripper()
    ball = px.contact.sphere(None, BALL / 2, (0.0, 0.0, CRANK + 0.03))
    fingers = [
        px.contact.capsule(f"{side}_finger", 0.005, (0, 0, 0), (0, 0, 0.06)) for side in ("left", "right")
    ]
    gap = robot.function("distances", pairs=tuple((finger, ball) for finger in fingers))
    slope = gap.jacobian()
    motors = [robot.q_slices[f"{side}_motor"].start for side in ("left", "right")]

    q = robot.neutral()
    for _ in range(20):  # Newton's method on the motors; the loops follow
        distance = gap(q)
        if np.abs(distance).max() < 1e-10:
            break
        J, C = slope(q), robot.constraint_jacobian(q)
        free = np.linalg.svd(C)[2][robot.constraint_rank(q) :].T  # motions along the loops
        step = free @ np.linalg.lstsq(J @ free, -distance, rcond=None)[0]
        q = robot.close_loops(robot.integrate(q, step), fixed=("left_motor", "right_motor"), strict=True).q
    print(f"cranks at {np.degrees(q[motors]).round(3)} degrees, gaps {gap(q).round(12)} m")
    print(f"rows {sum(c.rows for c in robot.constraints)}, independent {robot.constraint_rank(q)}")

    # The ball pushes each finger away with 10 N; the motors and the pins make up for it and for the weight.
    still = np.zeros(robot.nv)
    names = ("left_motor", "right_motor")
    held = robot.constrained_inverse_dynamics(q, still, still, actuated=names)
    wanted = robot.bias_forces(q, still) - slope(q).T @ np.full(2, 10.0)
    A = np.column_stack([np.eye(robot.nv)[:, motors], robot.constraint_jacobian(q).T])
    squeeze = np.linalg.lstsq(A, wanted, rcond=None)[0][:2]
    print(
        f"motors hold the weight with {held.tau[motors].round(4)} N m, the ball with {squeeze.round(4)} N m"
    )
    r = robot.constrained_dynamics(q, still, held.tau)
    print(f"at rest under them: largest acceleration {np.abs(r.qdd).max():.1e} rad/s2")


if __name__ == "__main__":
    main()
