# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Code of a user, strictly typed: checkers find nothing wrong in it, and what takes no time runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import phalanx as px
from phalanx.typing import Array, ArrayLike

Floats = NDArray[np.float64]


def torques(robot: px.Robot, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
    return robot.inverse_dynamics(q, qd, qdd, algorithm="newton_euler", backend="numpy")


def slopes(robot: px.Robot) -> Floats:
    q, qd, qdd = robot.random_state(2, rng=0)
    dq, dqd, mass = robot.inverse_dynamics_derivatives(q, qd, qdd)
    with_forces = robot.inverse_dynamics_derivatives(q, qd, qdd, value=True)
    turned: Floats = robot.forward_dynamics_derivatives(q, qd, with_forces.tau).dtau @ (dq + dqd + mass)
    return turned


def dynamics(robot: px.Robot) -> Floats:
    q, qd, qdd = robot.random_state(8, rng=0)
    tau: Floats = robot.inverse_dynamics(q, qd, qdd, external={robot.link_names[-1]: [0.0] * 6})
    out = np.empty_like(tau)
    robot.forward_dynamics(q, qd, tau, out=out, threads=1)
    mass = robot.mass_matrix(q[0].tolist(), algorithm=("crba", {}))
    pose = robot.frame_pose(q, robot.frame_names[-1])
    turn = robot.jacobian(
        q, "tool" if "tool" in robot.frame_names else robot.link_names[-1], reference="local"
    )
    poses = robot.frame_poses(q, robot.frame_names)
    energy = float(robot.kinetic_energy(q[0], qd[0]) + robot.potential_energy(q[0]))
    for algorithm in px.algorithms("forward_dynamics"):
        if not algorithm.refusal(robot):
            robot.forward_dynamics(q, qd, tau, algorithm=algorithm)
    shapes = [a.shape for a in (mass, pose, turn, poses)]
    return torques(robot, q, qd, qdd) * energy + len(shapes)


def configurations(robot: px.Robot) -> Array:
    q = robot.neutral()
    ahead = robot.integrate(q, np.ones(robot.nv))
    back: Array = robot.difference(ahead, q)
    lower, upper = robot.limits.lower, robot.limits.upper
    return robot.normalize(ahead) + robot.expand(q) + back + np.where(np.isfinite(lower), lower, upper)


def loop(robot: px.Robot) -> Array:
    q, qd, tau = robot.random_state(rng=1)
    kernel = robot.kernel("forward_dynamics", dtype="float64")
    qdd = kernel(q, qd, tau, threads=None)
    step: Callable[[], None] = kernel.bind(q, qd, tau, out=qdd)
    step()
    hand = robot.kernel("jacobian", frame=robot.link_names[-1], reference="world_aligned", dtype=np.float32)
    hand(q, out=np.empty((6, robot.nv), np.float32))
    kernels: list[px.Kernel] = [kernel, hand]
    names = [f"{k.function} {k.algorithm} {k.signature} {k.cost.total} {k.compile_seconds}" for k in kernels]
    return qdd * len(names)


def built() -> px.Robot:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    builder.add_link("upper", mass=1.0, com=(0.0, 0.0, 0.5), inertia=np.eye(3))
    builder.add_joint("shoulder", "revolute", "base", "upper", axis=(0.0, 1.0, 0.0), lower=-1.0, upper=1.0)
    robot = builder.build()
    row = {"a": 0.4, "d": 0.0, "alpha": 0.0, "mass": 1.0, "com": [0.2, 0.0, 0.0], "inertia": [0.1, 0.1, 0.1]}
    table = px.Robot.from_dh([row, row], convention="standard", name="planar")
    table.replace(gravity=(0.0, -9.81, 0.0), armature=0.1, name="flat").fix({table.joint_names[0]: 0.5})
    return robot.with_payload("upper", 0.5, com=(0.0, 0.0, 1.0)).with_floating_base()


def counted(robot: px.Robot) -> list[str]:
    cost = px.cost(robot, "inverse_dynamics", algorithm="newton_euler", customise="full")
    told = [f"{cost.multiplications} {cost.additions} {cost.span.total} {cost.by_quantity}"]
    plan = px.schedule(robot, "inverse_dynamics", machine=px.machines.pram(2))
    told += [f"{plan.makespan} {plan.speedup} {plan.efficiency} {len(plan.tasks)}"]
    told += [f"{task.start} {task.end}" for task in plan.tasks[:1]]
    machines: list[px.machines.Machine] = [px.machines.transputers(4), px.machines.systolic()]
    return told + [str(machine) for machine in machines] + px.robots() + list(px.papers.names())


def measured(robot: px.Robot) -> list[str]:
    told = [f"{row.algorithm} {row.per_state}" for row in px.compare(robot, "mass_matrix", batch=16)]
    advice = px.recommend(robot, "forward_dynamics", batch=16)
    found = px.accuracy(robot, "inverse_dynamics", states=1)
    told += [f"{advice.algorithm} {advice.reason}", f"{found.digits}"]
    records = px.papers.reproduce("kane")
    return told + [f"{r.item} {r.published} {r.computed} {r.verdict} {r.note}" for r in records]


def main(folder: Path) -> None:
    robot = px.load("two_link", gravity=[0.0, 0.0, -9.81], mimic="coupled")
    robot.save(folder / "arm.json")
    again = px.load(folder / "arm.json", strict=True)
    assert again == robot
    px.set_threads(1)
    try:
        results = [dynamics(again), configurations(again), loop(again)]
    finally:
        px.set_threads(None)
    assert all(np.isfinite(r[np.isfinite(r)]).all() for r in results)
    assert built().nv == 7
    assert counted(px.chain(3))
