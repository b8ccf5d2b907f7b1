# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Where a mobile base with a UR5 must stand to grasp from above all over a table, and the drive there."""

import numpy as np

import phalanx as px

arm, tool = px.load("ur5"), "tool0"

# Grasps from above at nine places of a table that begins at x = 0.1 m, and places in front of it for
# the base. The arm stands 0.5 m above the floor.
down, mount = np.diag([1.0, -1.0, -1.0, 1.0]), 0.5
table = np.tile(down, (9, 1, 1))
table[:, 0, 3], table[:, 1, 3] = (a.ravel() for a in np.meshgrid([0.15, 0.3, 0.45], [-0.25, 0.0, 0.25]))
table[:, 2, 3] = 0.75
x, y = np.linspace(-0.9, -0.25, 27), np.linspace(-0.6, 0.6, 49)

# What the arm sees of each grasp from each place: the base is moved, the arm stays.
seen = np.tile(table, (len(x), len(y), 1, 1, 1))
seen[..., 0, 3] -= x[:, None, None]
seen[..., 1, 3] -= y[None, :, None]
seen[..., 2, 3] -= mount
found = arm.reachable(tool, seen)
score = found.manipulability.min(axis=-1)  # that of the worst grasp
best = np.unravel_index(score.argmax(), score.shape)
place = np.array([x[best[0]], y[best[1]]])
share = found.reached.all(axis=-1).mean()
print(f"all nine grasps are in reach from {share:.0%} of the places; the best is {np.round(place, 3)} m")
assert found.reached[best].all()

# The same with the base as part of the robot: it drives and turns, and keeps off the table.
builder = px.RobotBuilder("base")
builder.add_link("floor")
builder.add_link("platform", mass=60.0, com=(0.0, 0.0, 0.15), inertia=(2.0, 2.0, 3.0))
builder.add_joint("drive", "planar", "floor", "platform", lower=(-3.0, -3.0, -3.1), upper=(3.0, 3.0, 3.1))
raised = np.eye(4)
raised[2, 3] = mount
robot = builder.build().attach(arm, "platform", raised)
platform = px.contact.sphere("platform", 0.3, (0.0, 0.0, 0.2))
edge = px.contact.capsule(None, 0.02, (0.1, -0.5, 0.2), (0.1, 0.5, 0.2))
start = np.concatenate([[-1.5, 0.4, 0.5], found.q[best][4]])
s = robot.inverse_kinematics({tool: table}, start, collisions=[(platform, edge)], clearance=0.02)
apart = robot.distances(s.q, [(platform, edge)])
print(f"driving: {s.converged.sum()} of 9 grasps, at least {100 * apart.min():.1f} cm off the table's edge")
assert s.converged.all()
assert apart.min() > 0.02
