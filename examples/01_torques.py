# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Torques that move a PUMA 560 along a smooth path, all instants in one call."""

import numpy as np

import phalanx as px

robot = px.load("puma560")

# From rest to rest within two seconds: s runs from 0 to 1, its first two derivatives vanish at both ends.
seconds = 2.0
x = np.linspace(0.0, 1.0, 201)[:, None]
s = x**3 * (10 - 15 * x + 6 * x**2)
sd = x**2 * (30 - 60 * x + 30 * x**2) / seconds
sdd = x * (60 - 180 * x + 120 * x**2) / seconds**2

start = np.zeros(robot.nq)
stop = np.array([1.0, 0.6, -0.8, 0.5, 0.7, -0.4])
path = stop - start
tau = robot.inverse_dynamics(start + s * path, sd * path, sdd * path)

# The power that the joints deliver adds up to the energy that the robot gains.
power = np.sum(tau * (sd * path), axis=-1)
work = np.trapezoid(power, dx=seconds / 200)
gain = robot.potential_energy(stop) - robot.potential_energy(start)

print("largest torque of each joint [N·m]:")
for name, most in zip(robot.joint_names, np.abs(tau).max(axis=0), strict=True):
    print(f"  {name:12} {most:8.2f}")
print(f"work {work:.3f} J, gain of potential energy {gain:.3f} J")
assert abs(work - gain) < 1e-3 * abs(gain)
