# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sixty-four quadrupeds, tilted at random, drop and settle on their feet; all in one rollout."""

import matplotlib.pyplot as plt
import numpy as np

import phalanx as px

# A trunk of 8 kg, and four legs of hip, thigh and shank.
builder = px.RobotBuilder("quadruped")
builder.add_link("trunk", mass=8.0, inertia=(0.05, 0.15, 0.18))
legs = [(name, x, y) for name, x, y in (("fl", 1, 1), ("fr", 1, -1), ("hl", -1, 1), ("hr", -1, -1))]
for leg, x, y in legs:
    builder.add_link(f"{leg}_hip", mass=0.5, com=(0, 0.03 * y, 0), inertia=(5e-4, 5e-4, 5e-4))
    builder.add_link(f"{leg}_thigh", mass=0.7, com=(0, 0, -0.08), inertia=(3e-3, 3e-3, 5e-4))
    builder.add_link(f"{leg}_shank", mass=0.2, com=(0, 0, -0.1), inertia=(8e-4, 8e-4, 5e-5))
    at = {"abduct": (0.2 * x, 0.07 * y, 0), "swing": (0, 0.08 * y, 0), "knee": (0, 0, -0.2)}
    parts = ("trunk", f"{leg}_hip", f"{leg}_thigh", f"{leg}_shank")
    for (joint, origin), above, below in zip(at.items(), parts, parts[1:], strict=False):
        axis = (1, 0, 0) if joint == "abduct" else (0, 1, 0)
        builder.add_joint(f"{leg}_{joint}", "revolute", above, below, origin=origin, axis=axis)
    builder.add_frame(f"{leg}_foot", f"{leg}_shank", (0.0, 0.0, -0.2))
robot = builder.build(floating_base=True)
feet = [f"{leg}_foot" for leg, _, _ in legs]
stance = np.tile([0.0, 0.8, -1.6], 4)  # the feet stand below the hips


def law(t, q, qd, u, robot):
    """Every joint of the legs is held where `u` wants it, with at most 25 N·m; nothing drives the trunk."""
    torque = np.clip(80.0 * (u - q[7:]) - 3.0 * qd[6:], -25.0, 25.0)
    return np.concatenate([np.zeros(6), torque])


ground = px.contact.ground(feet, stiffness=2e4, damping=200.0, friction=0.8)
sim = robot.simulation(dt=1e-3, integrator="implicit", control=law, controls=12, forces=ground)

# The trunk starts 40 cm above the ground, rotated by up to 20 degrees about any axis.
count, rng = 64, np.random.default_rng(1)
q = np.tile(np.concatenate([[0, 0, 0.4, 0, 0, 0, 1], stance]), (count, 1))
turn = np.zeros((count, robot.nv))
turn[:, :3] = rng.uniform(-0.35, 0.35, (count, 3)) * [1, 1, 0]
q = robot.integrate(q, turn)
run = sim.rollout(q, np.zeros((count, robot.nv)), controls=stance, steps=3000, every=10)

height = run.q[..., 2]
lean = 2 * np.arcsin(np.minimum(1, np.linalg.norm(run.q[..., 3:5], axis=-1)))
speed = np.abs(run.qd[:, -1]).max()
sole = np.stack([robot.frame_pose(run.q, foot)[..., 2, 3] for foot in feet], axis=-1)
print(f"{count} quadrupeds stand after 3 s at {height[:, -1].mean():.3f} ± {height[:, -1].std():.3f} m")
print(f"they lean by {np.degrees(lean[:, -1]).max():.1f}° at most and move by {speed:.1e} rad/s, m/s")
print(f"feet are {1e3 * -sole[:, -1].max():.1f} to {1e3 * -sole[:, -1].min():.1f} mm in; saved quadruped.png")
assert not run.diverged.any()
assert speed < 0.03
assert np.degrees(lean[:, -1]).max() < 3
assert np.all(np.abs(sole[:, -1]) < 5e-3)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), width_ratios=(1, 1.3), layout="constrained")
left.plot(run.time, height.T, color="#0072B2", lw=0.5, alpha=0.5)
left.plot(run.time, sole[0], color="#D55E00", lw=0.8)
left.set(title="trunks, and the feet of one", xlabel="time [s]", ylabel="height [m]")
names = robot.link_names
for k, shade in ((0, "0.8"), (20, "0.6"), (-1, "0.0")):
    state = q[0] if k == 0 else run.q[0, k]
    poses = robot.forward_kinematics(state)[:, :3, 3]
    ends = [robot.frame_pose(state, foot)[:3, 3] for foot in feet]
    for (leg, _, _), foot in zip(legs, ends, strict=True):
        line = [poses[names.index(f"{leg}_{part}")] for part in ("hip", "thigh", "shank")] + [foot]
        right.plot(*np.transpose([poses[0], *line])[[0, 2]], color=shade, lw=1.6, marker=".", ms=4)
right.axhline(0, color="#009E73", lw=1)
right.set(
    title="one of them: let go, after 0.2 s, in the end", xlabel="x [m]", ylabel="z [m]", aspect="equal"
)
figure.savefig("quadruped.png", dpi=150)
