# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A Panda reaches above a table with the least effort: CasADi and Ipopt on exported C, exact Hessians."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import casadi
import numpy as np

import phalanx as px

if (compiler := shutil.which("cc")) is None:
    print("this example needs a C compiler")
    raise SystemExit

robot, hand, steps = px.load("panda"), "panda_hand", 20
sim = robot.simulation(dt=0.05, limits=False)


def place(q, robot):
    """Where the hand is."""
    return robot.frame_pose(q, hand)[:3, 3]


# A step of the simulation and a function of one's own, with first and second derivatives, as one library.
folder = Path(tempfile.mkdtemp())
functions = {"step": sim, "place": robot.function(place)}
(source,) = robot.export(folder / "reach.c", functions, casadi=True)
library = str(folder / "reach.so")
subprocess.run([compiler, "-O1", "-shared", "-fPIC", str(source), "-o", library, "-lm"], check=True)
step, position = (casadi.external(f"reach_{name}_casadi", library) for name in functions)

# Multiple shooting: states and torques of all steps are variables, the dynamics are constraints.
q0 = np.array([0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8])
goal = place(q0, robot) + np.array([-0.1, 0.35, 0.1])
q, v = (casadi.MX.sym(name, 7, steps + 1) for name in "qv")
u = casadi.MX.sym("u", 7, steps)
equal = [q[:, 0] - q0, v[:, 0], position(q[:, -1]) - goal, v[:, -1]]
for k in range(steps):
    after = step(q[:, k], v[:, k], u[:, k], 0.0)
    equal += [q[:, k + 1] - after[0], v[:, k + 1] - after[1]]
above = [position(q[:, k])[2] - 0.4 for k in range(1, steps + 1)]  # the hand stays 40 cm above the base
x = casadi.vertcat(*map(casadi.vec, (q, v, u)))
problem = {"x": x, "f": 1e-3 * casadi.sumsqr(u) + 0.1 * casadi.sumsqr(v), "g": casadi.vertcat(*equal, *above)}
lower = np.zeros(problem["g"].numel())
upper = np.where(np.arange(lower.size) < lower.size - steps, 0.0, np.inf)
hold = np.tile(robot.gravity_forces(q0), steps)
first = np.concatenate([np.tile(q0, steps + 1), np.zeros(7 * (steps + 1)), hold])

iterations = {}
for hessian in ("exact", "limited-memory"):
    options = {
        "ipopt.hessian_approximation": hessian,
        "ipopt.print_level": 0,
        "print_time": False,
        "ipopt.sb": "yes",
    }
    solver = casadi.nlpsol("solver", "ipopt", problem, options)
    solution = solver(x0=first, lbg=lower, ubg=upper)
    assert solver.stats()["success"]
    iterations[hessian] = solver.stats()["iter_count"]
    print(f"{hessian}: {iterations[hessian]} iterations, cost {float(solution['f']):.4f}")
assert 2 * iterations["exact"] <= iterations["limited-memory"]

# The torques found, in the simulation that they were found with.
torques = np.array(solution["x"].full()).ravel()[14 * (steps + 1) :].reshape(steps, 7)
run = sim.rollout(q0, np.zeros(7), torques, steps=steps)
missed = np.linalg.norm(robot.frame_pose(run.final[0], hand)[:3, 3] - goal)
print(f"the hand misses its goal by {1e6 * missed:.2g} µm after {steps * sim.dt:g} s")
