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


def wind(t, q, qd, u, robot):
    """A wrench on the hand for a while, in the hand's own axes."""
    turn = robot.frame_pose(q, hand)[:3, :3]
    blows = np.where((t >= begin) & (t < end), 1.0, 0.0)
    return {hand: np.concatenate([np.zeros(3), blows * (turn.T @ push)])}


figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
outcome = []
colours = ("#0072B2", "#E69F00", "#009E73")
for stiffness, colour in zip((200.0, 500.0, 1500.0), colours, strict=True):
    law = px.control.impedance(
        hand, stiffness=[50.0] * 3 + [stiffness] * 3, damping=[8.0] * 3 + [2.2 * stiffness**0.5] * 3
    )
    sim = robot.simulation(dt=1e-3, integrator="implicit", control=law, forces=wind)
    inputs = law.goal(goal) if hasattr(law, "goal") else goal[:3].ravel()
    run = sim.rollout(
        pose, np.zeros(7), inputs=inputs, steps=4000, every=10, record=("q", "tau", f"frame_pose:{hand}")
    )
    moved = run[f"frame_pose:{hand}"][:, 1, 3] - goal[1, 3]
    pushed, back = moved[run.time < end][-1], moved[-1]
    hooke = 1e3 * push[1] / stiffness
    print(f"{stiffness:5.0f} N/m: pushed by {1e3 * pushed:5.1f} mm, {hooke:5.1f} mm by Hooke's law")
    outcome.append((pushed * stiffness / push[1], back, run.diverged))
    left.plot(run.time, 1e3 * moved, color=colour, label=f"{stiffness:.0f} N/m")
    right.plot(run.time, run["tau"][:, 0], color=colour)
ratio, back, diverged = np.transpose(outcome)
print("saved impedance.png")
assert not diverged.any()
assert np.all(np.abs(ratio - 1) < 0.1)  # as Hooke's law has it
assert np.all(np.abs(back) < 2e-3)  # and back again
for axis in (left, right):
    axis.axvspan(begin, end, color="0.93")
    axis.set_xlabel("time [s]")
left.set_title("the hand along the push [mm]")
left.legend(frameon=False)
right.set_title("torque of the first joint [N·m]")
figure.savefig("impedance.png", dpi=150)
