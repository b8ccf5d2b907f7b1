# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A double pendulum swings up by its elbow motor alone: iterative LQR, all derivatives in one call."""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import phalanx as px

begin = perf_counter()
robot = px.load("two_link")  # rods of 1 m and 1 kg; zero is level
dt, steps = 0.02, 200
start, goal = np.array([-np.pi / 2, 0, 0, 0]), np.array([np.pi / 2, 0, 0, 0])
running = dt * np.diag([0.01, 0.01, 0.01, 0.01, 0.05])  # what a state and its u cost
final = np.diag([1e3, 1e3, 1e2, 1e2])
motor = np.array([0.0, 1.0])  # nothing drives the shoulder
scales = 0.5 ** np.arange(8)  # of a step; all are tried at once, as a batch


def step(x, u):
    """The states x (…, 4) a moment later, by semi-implicit Euler steps."""
    q, qd = x[..., :2], x[..., 2:]
    qd = qd + dt * robot.forward_dynamics(q, qd, u[..., None] * motor)
    return np.concatenate([q + dt * qd, qd], axis=-1)


def linearised(x, u):
    """The derivatives (…, 4, 5) of steps with respect to states and controls."""
    d = robot.forward_dynamics_derivatives(x[:, :2], x[:, 2:], u[:, None] * motor)
    rates = np.concatenate([dt * d.dq, np.eye(2) + dt * d.dqd, dt * d.dtau[..., 1:]], axis=-1)
    return np.concatenate([np.eye(2, 5) + dt * rates, rates], axis=-2)


def rollout(x, u, more, gains):
    """The best path with u + scale * more, corrected by gains where it leaves x."""
    paths, controls = np.empty((len(scales), steps + 1, 4)), np.empty((len(scales), steps))
    paths[:, 0] = start
    for k in range(steps):
        controls[:, k] = u[k] + scales * more[k] + (paths[:, k] - x[k]) @ gains[k]
        paths[:, k + 1] = step(paths[:, k], controls[:, k])
    z = np.concatenate([paths[:, :-1] - goal, controls[..., None]], axis=-1)
    costs = np.sum(z**2 @ np.diag(running), axis=-1) + (paths[:, -1] - goal) ** 2 @ np.diag(final)
    best = np.nanargmin(costs)
    return paths[best], controls[best], costs[best]


def improvement(x, u, damping):
    """What to add to u, and gains around x, from the end of the path to its start."""
    slopes, one = linearised(x[:-1], u), np.eye(4)
    here = np.concatenate([x[:-1] - goal, u[:, None]], axis=-1) @ running
    value, slope = final, final @ (x[-1] - goal)
    more, gains = np.empty(steps), np.empty((steps, 4))
    for k in range(steps - 1, -1, -1):
        f = slopes[k]
        h, g = running + f.T @ value @ f, here[k] + f.T @ slope
        gains[k], more[k] = -h[4, :4] / (h[4, 4] + damping), -g[4] / (h[4, 4] + damping)
        closed = np.vstack([one, gains[k]])
        value, slope = closed.T @ h @ closed, closed.T @ (g + h[:, 4] * more[k])
    return more, gains


x, u = np.zeros((steps + 1, 4)), 0.1 * np.sin(4 * dt * np.arange(steps))  # a little push to begin with
more, gains = np.zeros(steps), np.zeros((steps, 4))
damping, history = 1.0, []
with np.errstate(all="ignore"):  # steps that are too long may end anywhere
    for _ in range(60):
        tried, controls, spent = rollout(x, u, more, gains)
        if not history or spent < history[-1]:
            x, u, damping = tried, controls, max(damping / 2, 1e-6)
            history.append(spent)
        else:
            damping *= 8
        more, gains = improvement(x, u, damping)
took = perf_counter() - begin

miss = np.abs(x[-1] - goal)
print(f"upright after {steps * dt:.0f} s within {miss[:2].max():.3f} rad and {miss[2:].max():.3f} rad/s")
print(f"cost {history[0]:.0f} → {history[-1]:.1f} in {took:.2f} s, compiling included; saved swing_up.png")
assert miss.max() < 0.05
assert history[-1] < 1e-3 * history[0]

links = robot.forward_kinematics(x[:, :2])
elbow, tip = links[:, 0, :3, 3], links[:, 1, :3, 3]  # frames of a DH table are at the ends of links
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=(1, 1.4), layout="constrained")
for k in range(0, steps + 1, 8):
    shade = str(0.85 - 0.85 * k / steps)
    left.plot([0, elbow[k, 0], tip[k, 0]], [0, elbow[k, 2], tip[k, 2]], color=shade)
left.plot(tip[:, 0], tip[:, 2], color="#0072B2", lw=0.8)
left.set(title="from grey to black", xlabel="x [m]", ylabel="z [m]", aspect="equal")
time = dt * np.arange(steps)
lines = right.plot(time, x[:-1, :2]) + right.plot(time, u, lw=0.8, color="0.4")
right.set(title="angles, and the motor at the elbow", xlabel="time [s]")
figure.legend(lines, ["shoulder [rad]", "elbow [rad]", "motor [N·m]"], loc="outside lower right", ncols=3)
figure.savefig("swing_up.png", dpi=150)
