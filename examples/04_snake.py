# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A push at one joint of a snake of 1000 links: accelerations of one state by several algorithms."""

from time import perf_counter

import numpy as np

import phalanx as px

robot = px.snake(1000)
q = robot.random_state(rng=0)[0]
tau = robot.gravity_forces(q)  # held still, then one joint pushes
tau[500] += 1.0

still = np.zeros(robot.nv)

reference = robot.forward_dynamics(q, still, tau, algorithm="aba")
for algorithm in ("aba", "partition"):
    kernel = robot.kernel("forward_dynamics", algorithm=algorithm)
    seconds = []
    for _ in range(20):
        begin = perf_counter()
        qdd = kernel(q, still, tau)
        seconds.append(perf_counter() - begin)
    differs = np.abs(qdd - reference).max() / np.abs(reference).max()
    print(
        f"{algorithm:9} built in {kernel.compile_seconds:.2f} s, {1e6 * min(seconds):4.0f} µs a state, "
        f"differs by {differs:.0e}"
    )

moved = np.flatnonzero(np.abs(reference) > 1e-3 * np.abs(reference).max())
print(f"a push at joint 500 is felt in joints {moved[0]} to {moved[-1]}")
