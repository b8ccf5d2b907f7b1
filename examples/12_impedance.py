# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A Panda holds its hand by Cartesian impedance; a wrench pushes it, and softer hands give way further."""

import matplotlib.pyplot as plt
import numpy as np

import phalanx as px

robot = px.load("panda")
hand = "panda_hand"
pose = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
goal = robot.frame_pose(pose, hand)
push = np.array([0.0, 15.0, 0.0])  # newtons along y of the world
begin, end = 0.5, 2.0


def blow(t, q, qd, u, robot):
    """A wrench on the hand for a while, in the hand's own axes."""
    turn = robot.frame_pose(q, hand)[:3, :3]
    strength = np.where((t >= begin) & (t < end), 1.0, 0.0)
    return {hand: np.concatenate([np.zeros(3), strength * (turn.T @ push)])}


# Gains are parameters: each simulation of the batch has its own. The elbow is held loosely.
law = px.control.impedance(hand, "spring", "damper", goal, nullspace=(10.0, 3.0, pose))
sizes = {"spring": 6, "damper": 6}
sim = robot.simulation(dt=1e-3, integrator="implicit", control=law, forces=blow, parameters=sizes)
linear = np.array([200.0, 500.0, 1500.0])
stiffness = np.repeat(np.stack([np.full(3, 50.0), linear], axis=1), 3, axis=1)  # [angular; linear]
damping = np.repeat(np.stack([np.full(3, 8.0), 2.5 * np.sqrt(linear)], axis=1), 3, axis=1)
run = sim.rollout(
    np.tile(pose, (3, 1)),
    np.zeros((3, 7)),
    steps=4000,
    every=10,
    record=("q", "tau", f"frame_pose:{hand}"),
    parameters={"spring": stiffness, "damper": damping},
)

moved = run[f"frame_pose:{hand}"][:, :, 1, 3] - goal[1, 3]
pushed, back = moved[:, run.time < end][:, -1], moved[:, -1]
for k, y in zip(linear, pushed, strict=True):
    print(f"{k:5.0f} N/m: pushed by {1e3 * y:4.1f} mm, {1e3 * push[1] / k:4.1f} mm by Hooke's law")
print("saved impedance.png")
assert not run.diverged.any()
assert np.all(np.abs(pushed * linear / push[1] - 1) < 0.1)
assert np.all(np.abs(back) < 1e-3)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for k, colour in enumerate(("#0072B2", "#E69F00", "#009E73")):
    left.plot(run.time, 1e3 * moved[k], color=colour, label=f"{linear[k]:.0f} N/m")
    right.plot(run.time, run["tau"][k, :, 0], color=colour)
for axis in (left, right):
    axis.axvspan(begin, end, color="0.93")
    axis.set_xlabel("time [s]")
left.set_title("the hand along the push [mm]")
left.legend(frameon=False)
right.set_title("torque of the first joint [N·m]")
figure.savefig("impedance.png", dpi=150)
