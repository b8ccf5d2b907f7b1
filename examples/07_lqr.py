# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Linear-quadratic regulation of a Panda about a pose, tried on a hundred starts at once."""

import matplotlib.pyplot as plt
import numpy as np

import phalanx as px

robot = px.load("panda")
n = robot.nv
pose = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])
still, hold = np.zeros(n), robot.gravity_forces(pose)

# The motion near the pose: x = [q - pose; qd], dx/dt = a x + b u with tau = hold + u.
d = robot.forward_dynamics_derivatives(pose, still, hold)
a = np.block([[np.zeros((n, n)), np.eye(n)], [d.dq, d.dqd]])
b = np.vstack([np.zeros((n, n)), d.dtau])
states, effort = np.diag([100.0] * n + [1.0] * n), 0.01 * np.eye(n)

# The Riccati equation a' p + p a - p b r⁻¹ b' p + q = 0 by the stable half of its Hamiltonian matrix.
hamiltonian = np.block([[a, -b @ np.linalg.solve(effort, b.T)], [-states, -a.T]])
values, vectors = np.linalg.eig(hamiltonian)
top, bottom = np.split(vectors[:, values.real < 0], 2)
p = np.linalg.solve(top.T, bottom.T).T.real
gain = np.linalg.solve(effort, b.T @ p)
closed = np.linalg.eigvals(a - b @ gain)
assert closed.real.max() < 0
print(f"slowest time constant {-1 / closed.real.max():.2f} s")

# A hundred starts nearby; predicted is what the linear model says that each will cost.
dt, steps, rng = 1e-3, 3000, np.random.default_rng(0)
x = np.concatenate([rng.uniform(-0.3, 0.3, (100, n)), np.zeros((100, n))], axis=-1)
predicted = np.einsum("bi,ij,bj->b", x, p, x)
spent, errors = np.zeros(100), np.empty((steps, 100))
for k in range(steps):
    u = -x @ gain.T
    spent += dt * (np.sum(x @ states * x, axis=-1) + np.sum(u @ effort * u, axis=-1))
    errors[k] = np.abs(x[:, :n]).max(axis=-1)
    x[:, n:] += dt * robot.forward_dynamics(pose + x[:, :n], x[:, n:], hold + u)
    x[:, :n] += dt * x[:, n:]

print(f"joint errors up to {errors[0].max():.2f} rad at the start, {errors[-1].max():.1e} rad after 3 s")
ratio = spent / predicted
print(f"the nonlinear arm spends {ratio.min():.2f} to {ratio.max():.2f} times what the linear model predicts")
assert errors[-1].max() < 1e-2
assert np.all(np.abs(ratio - 1) < 0.3)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.semilogy(dt * np.arange(steps), errors, color="#0072B2", lw=0.5, alpha=0.4)
left.set(title="largest joint error of each start", xlabel="time [s]", ylabel="rad")
right.plot(predicted, spent, "o", ms=3, color="#D55E00")
right.plot(np.sort(predicted), np.sort(predicted), color="0.6", lw=0.8)
right.set(title="cost", xlabel="predicted by the linear model", ylabel="spent by the arm")
figure.savefig("lqr.png", dpi=150)
