# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A thousand double pendulums, each with masses of its own, let go at once: chaos in one call."""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import phalanx as px

robot = px.load("two_link")  # rods of 1 m and 1 kg; zero is level
count, dt, seconds = 1000, 1e-3, 12.0
rng = np.random.default_rng(0)

# All start from the same pose; masses and inertias differ by a thousandth.
own = np.reshape(robot.inertial_parameters, (robot.n_links, 10))
inertias = own * rng.uniform(0.999, 1.001, (count, robot.n_links, 1))
q = np.tile([0.6 * np.pi, 0.3], (count, 1))
qd = np.zeros((count, 2))


def tip(t, q, qd, u, robot):
    """Where the end of the second rod is, in the plane."""
    return robot.frame_pose(q, robot.link_names[-1])[[0, 2], 3]


sim = robot.simulation(dt=dt, integrator="variational", parameters={"inertias": (robot.n_links, 10)})
steps, every = round(seconds / dt), 20
options = {"every": every, "parameters": {"inertias": inertias}, "record": ("q", "qd", tip)}
sim.rollout(q[:1], qd[:1], steps=every, **{**options, "parameters": {"inertias": inertias[:1]}})  # compiles
begin = perf_counter()
run = sim.rollout(q, qd, steps=steps, **options)
took = perf_counter() - begin

kinetic = robot.kinetic_energy(run.q, run.qd, inertias=inertias[:, None])
energy = kinetic + robot.potential_energy(run.q, inertias=inertias[:, None])
error = np.abs(energy - energy[:, :1]).max() / kinetic.max()
spread = run.q.std(axis=0)[:, 1]
print(f"{count:,} pendulums, {count * steps / 1e6:.0f} million steps in {took:.2f} s on this machine")
print(f"elbow angles spread over {spread[0]:.1e} rad at first and {spread[-1]:.1f} rad in the end")
print(f"energy within {error:.1e} of the largest kinetic energy; saved pendulums.png")
assert not run.diverged.any()
assert spread[0] < 1e-4
assert spread[-1] > 1.0
assert error < 1e-3

figure, axes = plt.subplots(2, 4, figsize=(9, 4.6), sharex=True, sharey=True, layout="constrained")
colour = 1e3 * (inertias[:, 1, 0] - 1.0)
for axis, time in zip(axes.flat, (1, 3, 4, 4.5, 5, 6, 8, 12), strict=True):
    x, z = run["tip"][:, round(time / dt / every) - 1].T
    axis.add_patch(plt.Circle((0, 0), 2, fill=False, color="0.85"))
    points = axis.scatter(x, z, s=3, c=colour, cmap="viridis", linewidths=0)
    axis.set(title=f"{time:g} s", aspect="equal", xlim=(-2.1, 2.1), ylim=(-2.1, 2.1), xticks=[], yticks=[])
figure.colorbar(points, ax=axes, shrink=0.6, label="mass of the second rod [g more than 1 kg]")
figure.suptitle("ends of a thousand double pendulums whose masses differ by a thousandth")
figure.savefig("pendulums.png", dpi=150)
