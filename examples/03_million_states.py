# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A million random states of a UR5: how often would its motors be too weak?"""

from time import perf_counter

import numpy as np

import phalanx as px

robot = px.load("ur5")
q, qd, qdd = robot.random_state(1_000_000, rng=0)
tau = np.empty_like(qdd)

robot.kernel("inverse_dynamics")  # compiled before the clock starts
begin = perf_counter()
robot.inverse_dynamics(q, qd, qdd, out=tau)
took = perf_counter() - begin

print(f"{len(q):,} states in {1e3 * took:.0f} ms, {1e9 * took / len(q):.0f} ns each")
for name, load, limit in zip(robot.joint_names, np.abs(tau).T, robot.limits.effort, strict=True):
    often, rare = np.quantile(load, (0.5, 0.999))
    print(
        f"  {name:20} half of the time below {often:6.2f} N·m, 99.9 % below {rare:6.2f}, motor {limit:5.0f}"
    )
