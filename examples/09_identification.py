# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The base parameters of a loaded UR5 from noisy torques, by the regressor."""

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import qr, solve_triangular

import phalanx as px

robot = px.load("ur5")  # as the data sheet has it
arm = robot.with_payload("wrist_3_link", mass=2.0, com=(0, 0.03, 0.05), inertia=(4e-3, 4e-3, 2e-3))
noise = np.array([1.0, 1.0, 1.0, 0.2, 0.2, 0.2])  # N·m, standard deviation
rng = np.random.default_rng(0)
time = np.arange(0, 20, 0.02)[:, None, None]


def measured() -> tuple[np.ndarray, ...]:
    """A motion along sums of sines, and the torques that it takes."""
    w = 2 * np.pi * np.arange(1, 6)[:, None] / 10.0
    size, phase = rng.uniform(0.1, 0.5, (5, 6)), rng.uniform(-np.pi, np.pi, (5, 6))
    q = np.sum(size * np.sin(w * time + phase), axis=1)
    qd = np.sum(size * w * np.cos(w * time + phase), axis=1)
    qdd = -np.sum(size * w**2 * np.sin(w * time + phase), axis=1)
    return q, qd, qdd, arm.inverse_dynamics(q, qd, qdd) + noise * rng.standard_normal(q.shape)


def stacked(regressor: np.ndarray) -> np.ndarray:
    """All rows (…, 60), each over the noise of its joint."""
    return (regressor / noise[:, None]).reshape(-1, regressor.shape[-1])


# Only some combinations of the 60 parameters change torques. Pivots come first where columns say most: with
# Y = Q [R1 R2] the base parameters are those of the first columns plus R1⁻¹ R2 times the others.
q, qd, qdd, tau = measured()
_, r, order = qr(stacked(robot.regressor(q, qd, qdd)), mode="economic", pivoting=True)
rank = int(np.sum(np.abs(np.diag(r)) > 1e-9 * np.abs(r[0, 0])))
first, others = order[:rank], order[rank:]
regroup = solve_triangular(r[:rank, :rank], r[:rank, rank:])
true = arm.inertial_parameters[first] + regroup @ arm.inertial_parameters[others]
sheet = robot.inertial_parameters[first] + regroup @ robot.inertial_parameters[others]

y = stacked(robot.regressor(q, qd, qdd)[..., first])
found, *_ = np.linalg.lstsq(y, (tau / noise).ravel(), rcond=None)
deviation = np.sqrt(np.diag(np.linalg.inv(y.T @ y)))  # of each, since the noise of all rows is one
print(f"{rank} base parameters of 60 from {len(y):,} torques")
away = (found - true) / deviation
print(
    f"off by {np.sqrt(np.mean(away**2)):.2f} standard deviations on average, {np.abs(away).max():.1f} at most"
)

# Another motion, which the estimate has not seen.
q, qd, qdd, tau = measured()
rows = robot.regressor(q, qd, qdd)[..., first]
before, after = tau - rows @ sheet, tau - rows @ found
old, new = np.std(before / noise), np.std(after / noise)
print(f"residual over noise: {old:.2f} by the data sheet, {new:.3f} identified; saved identification.png")
assert rank == 36
assert np.abs(away).max() < 5
assert abs(new - 1) < 0.05 < old - 1

figure, axes = plt.subplots(2, 3, figsize=(10, 4.6), sharex=True, layout="constrained")
for k, each in enumerate(axes.flat):
    each.plot(time[:, 0, 0], before[:, k], color="#E69F00", lw=0.6, label="by the data sheet")
    each.plot(time[:, 0, 0], after[:, k], color="#0072B2", lw=0.6, label="identified")
    each.axhspan(-noise[k], noise[k], color="0.85", zorder=0, label="noise")
    each.set(title=robot.joint_names[k], ylabel="residual [N·m]" if k % 3 == 0 else "")
for each in axes[1]:
    each.set(xlabel="time [s]")
figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
figure.savefig("identification.png", dpi=150)
