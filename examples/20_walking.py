# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Thirty-two quadrupeds on rigid feet stand, then trot, each with a speed and a friction of its own."""

import numpy as np

import phalanx as px

# A trunk of 8 kg, and four legs of hip, thigh and shank.
builder = px.RobotBuilder("quadruped")
builder.add_link("trunk", mass=8.0, inertia=(0.05, 0.15, 0.18))
legs = {"fl": (1, 1), "fr": (1, -1), "hl": (-1, 1), "hr": (-1, -1)}
for leg, (x, y) in legs.items():
    above = "trunk"
    for part, axis, origin, mass, com, inertia in (
        ("hip", (1, 0, 0), (0.2 * x, 0.07 * y, 0), 0.5, (0, 0.03 * y, 0), (5e-4, 5e-4, 5e-4)),
        ("thigh", (0, 1, 0), (0, 0.08 * y, 0), 0.7, (0, 0, -0.08), (3e-3, 3e-3, 5e-4)),
        ("shank", (0, 1, 0), (0, 0, -0.2), 0.2, (0, 0, -0.1), (8e-4, 8e-4, 5e-5)),
    ):
        link = f"{leg}_{part}"
        builder.add_link(link, mass=mass, com=com, inertia=inertia)
        builder.add_joint(f"{link}_joint", "revolute", above, link, origin=origin, axis=axis)
        above = link
    builder.add_frame(f"{leg}_foot", above, (0, 0, -0.2))
robot = builder.build(floating_base=True)
feet = [f"{leg}_foot" for leg in legs]

rate, bend, lift = 3.0, 0.8, 0.3  # strides a second; by how much knees bend to stand, and more to lift a foot
still, tall = 0.5, 0.4 * np.cos(bend)  # for how long they stand, and how tall


def law(t, q, qd, u, robot):
    """A trot at the speed `u[0]` along x: diagonal legs swing forward together while the others push back.

    A leg that leans by a and bends by h has its thigh at a + h and its knee at -2 h.
    """
    grown = np.clip(t - still, 0.0, 1.0)  # steps grow for a second
    lean = u[0] / (4.0 * rate * tall)  # in half a stride the feet on the ground go from lean to -lean
    turn = -(q[3] * q[4] + q[5] * q[6])  # half the sine of the heading: shorter steps on the side to turn to
    joints = []
    for x, y in legs.values():
        phase = 2.0 * np.pi * rate * (t - still) + (0.0 if x == y else np.pi)
        a = grown * (lean - y * turn) * np.cos(phase)
        h = bend + lift * np.clip(4.0 * grown, 0.0, 1.0) * np.maximum(np.sin(phase), 0.0)
        joints += [0.0 * h, a + h, -2.0 * h]
    return np.concatenate([np.zeros(6), 300.0 * (np.stack(joints) - q[7:]) - 5.0 * qd[6:]])


ground = px.contact.rigid(px.contact.plane(), points=feet, friction="mu")
sim = robot.simulation(
    dt=1e-3, integrator="implicit", control=law, controls=1, forces=ground, parameters={"mu": 1}
)

count, seconds = 32, 8.0
speed = np.linspace(0.0, 0.5, count)
mu = np.random.default_rng(0).uniform(0.4, 1.0, count)
q = np.concatenate([[0, 0, tall, 0, 0, 0, 1], np.tile([0.0, bend, -2.0 * bend], 4)])
run = sim.rollout(
    np.tile(q, (count, 1)),
    np.zeros((count, robot.nv)),
    controls=speed[:, None, None],
    steps=round(1000 * seconds),
    every=10,
    parameters={"mu": mu[:, None]},
    record=("q", "contact_forces", "contact_residual"),
)
assert not run.diverged.any()

stood = run.q[:, run.time < still]
slip = np.ptp(np.stack([robot.frame_pose(stood, foot)[..., :3, 3] for foot in feet]), axis=2).max()
print(f"for {still} s they stand: no foot moves by more than {slip:.0e} m")
assert slip < 1e-5

walked, asked = run.q[:, -1, 0], speed * (seconds - still - 0.5)
print(f"in the next {seconds - still} s, meters that each is to walk, and below them those that it walks:")
for k in range(0, count, 8):
    print("", *(f"{x:7.2f}" for x in asked[k : k + 8]))
    print("", *(f"{x:7.2f}" for x in walked[k : k + 8]))
assert np.abs(walked - asked).max() < 0.5
assert (walked[speed > 0.1] > 0.0).all()

upright = 1.0 - 2.0 * (run.q[..., 3] ** 2 + run.q[..., 4] ** 2)  # the cosine of the trunk's tilt
tilt, aside = np.degrees(np.arccos(upright.min())), np.abs(run.q[..., 1]).max()
assert tilt < 15.0
assert run.q[..., 2].min() > 0.85 * tall
print(f"none falls: they tilt by {tilt:.1f} degrees at most, and stray by {100 * aside:.1f} cm")

carried = ((run["contact_forces"][..., 2] > 0.0).sum(axis=-1) == 2)[:, run.time > still + 1.0].mean()
residual = run["contact_residual"].max()
assert carried > 0.5
assert residual < 1e-9
print(
    f"two feet carry them {100 * carried:.0f} % of the time; contact's residual is {residual:.0e} m/s at most"
)
