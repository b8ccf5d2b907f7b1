# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Quadrupeds on rigid feet drop onto a slope, stand without creeping, and slide where friction is low."""

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
    """Every joint of the legs is held where `u` wants it; nothing drives the trunk."""
    return np.concatenate([np.zeros(6), 120.0 * (u - q[7:]) - 4.0 * qd[6:]])


angle = np.radians(10.0)
hill = px.contact.plane((np.sin(angle), 0.0, np.cos(angle)))
ground = px.contact.rigid(hill, points=feet, friction="mu")
sim = robot.simulation(dt=1e-3, control=law, controls=12, forces=ground, parameters={"mu": 1})

# Each of 64 has a friction of its own; those below tan(10 degrees) = 0.176 cannot stand.
mu = np.linspace(0.05, 0.6, 64)
q = np.concatenate([[0.0, 0.0, 0.33, 0.0, np.sin(angle / 2), 0.0, np.cos(angle / 2)], stance])
run = sim.rollout(
    np.tile(q, (64, 1)),
    np.zeros((64, robot.nv)),
    controls=stance,
    steps=3000,
    every=10,
    parameters={"mu": mu[:, None]},
    record=("q", "qd", "contact_forces", "contact_residual"),
)
assert not run.diverged.any()
speed = np.abs(run.qd[:, -1]).max(axis=-1)
stands = speed < 1e-3
print(f"{stands.sum()} of 64 stand, from friction {mu[stands].min():.3f} on; the others slide")
assert (stands == (mu > np.tan(angle))).all()

# Rigid means rigid: feet are on the ground, forces in the cone, and what stands stays where it is.
height = np.stack([robot.frame_pose(run.q[:, -1], foot)[..., :3, 3] for foot in feet], axis=1)
depth = np.abs(height @ [np.sin(angle), 0.0, np.cos(angle)]).max()
normal = run["contact_forces"][:, -1] @ [np.sin(angle), 0.0, np.cos(angle)]
along = np.sqrt((run["contact_forces"][:, -1] ** 2).sum(axis=-1) - normal**2)
used = (along / normal / mu[:, None]).max()
print(f"feet are within {depth:.1e} m of the ground; forces use {used:.6f} of the cone")
later = sim.rollout(
    *(x[stands] for x in run.final), stance, steps=10_000, every=10_000, parameters={"mu": mu[stands, None]}
)
moved = np.stack([robot.frame_pose(later.q[:, -1], foot)[..., :3, 3] for foot in feet], axis=1)
print(f"in ten more seconds feet that stand move by {np.abs(moved - height[stands]).max():.1e} m")
assert depth < 1e-6
assert np.abs(moved - height[stands]).max() < 1e-9
