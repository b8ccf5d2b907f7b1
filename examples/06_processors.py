# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What more processors would gain on a PUMA 560: every algorithm of inverse dynamics on 1 to 32 of them."""

import phalanx as px

robot = px.load("puma560")
processors = (1, 2, 4, 8, 16, 32)

print("operations until all torques are computed, one operation a time step, communication free")
print(f"{'processors':18}" + "".join(f"{p:6}" for p in processors) + "  critical path")
best: dict[int, tuple[float, str]] = {}
for algorithm in px.algorithms("inverse_dynamics"):
    times = []
    for p in processors:
        s = px.schedule(robot, "inverse_dynamics", algorithm=algorithm.name, machine=px.machines.pram(p))
        times.append(s.makespan)
        best[p] = min(best.get(p, (s.makespan, algorithm.name)), (s.makespan, algorithm.name))
    path = px.cost(robot, "inverse_dynamics", algorithm=algorithm.name).span.total
    print(f"{algorithm.name:18}" + "".join(f"{t:6.0f}" for t in times) + f"{path:8}")

print("fastest: " + ", ".join(f"{name} on {p}" for p, (_, name) in best.items()))
