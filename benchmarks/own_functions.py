# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast are functions of one's own beside their parts, steps of coordinates and linearised steps beside peers?

    python benchmarks/own_functions.py [--repeat 9] [--robots panda solo12 talos]

One thread, float64, the least of several runs, interleaved. Pinocchio's times are those of its Python bindings.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from machine import conditions
from peers import ROBOTS

import phalanx as px

px.set_threads(1)
HAND = "panda_hand"
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
BATCH = 1024


def osc(q: Any, qd: Any, target: Any, robot: Any, *, stiffness: Any) -> Any:
    """Operational-space control: joint forces that pull the hand towards a pose."""
    jacobian, pose = robot.jacobian(q, HAND), robot.frame_pose(q, HAND)
    mass, h = robot.mass_matrix(q), robot.bias_forces(q, qd)
    turned = target[:3, :3] @ pose[:3, :3].T
    skew = turned - turned.T
    turn = 0.5 * np.stack([skew[2, 1], skew[0, 2], skew[1, 0]])
    error = np.concatenate([turn, target[:3, 3] - pose[:3, 3]])
    mobility = jacobian @ np.linalg.solve(mass, jacobian.T) + 1e-6 * np.eye(6)
    rates = jacobian @ qd
    force = np.linalg.solve(mobility, stiffness * error - 2.0 * np.sqrt(stiffness) * rates)
    return {"tau": jacobian.T @ force + h, "error": error}


def whole_body(q: Any, qd: Any, robot: Any) -> Any:
    """Mass matrix, bias forces, Jacobians of the feet and their accelerations at qdd = 0."""
    feet = [name for name in FEET if name in robot.frame_names]
    drifts = [robot.frame_acceleration(q, qd, np.zeros(robot.nv), name) for name in feet]
    jacobians = [robot.jacobian(q, name) for name in feet]
    return robot.mass_matrix(q), robot.bias_forces(q, qd), jacobians, drifts


def best(jobs: dict[str, Callable[[], Any]], repeat: int) -> dict[str, float]:
    """The least time of each job in microseconds, runs interleaved."""
    counts = {}
    for name, job in jobs.items():
        job()
        start = time.perf_counter()
        job()
        counts[name] = max(1, int(2e-3 / max(time.perf_counter() - start, 1e-7)))
    found = dict.fromkeys(jobs, np.inf)
    for _ in range(repeat):
        for name, job in jobs.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                job()
            found[name] = min(found[name], (time.perf_counter() - start) / counts[name] * 1e6)
    return found


def law(repeat: int) -> None:
    """The operational-space law of a Panda, and the sum of its parts."""
    robot = px.load("panda")
    f = robot.function(osc, target=(4, 4), stiffness=6)
    q, qd, _ = robot.random_state(BATCH, rng=0)
    target, k = robot.frame_pose(robot.random_state(BATCH, rng=1)[0], HAND), np.full(6, 100.0)
    out = {"tau": np.zeros(7), "error": np.zeros(6)}
    outs = {"tau": np.zeros((BATCH, 7)), "error": np.zeros((BATCH, 6))}
    single = [q[0].copy(), qd[0].copy(), target[0].copy()]
    jobs: dict[str, Callable[[], Any]] = {
        "bound": f.bind(*single, stiffness=k, out=out),
        "called": lambda: f(*single, stiffness=k),
        "batch": lambda: f(q, qd, target, stiffness=k, out=outs),
        "jacobian": lambda: robot.jacobian(q, HAND),
        "frame_pose": lambda: robot.frame_pose(q, HAND),
        "mass_matrix": lambda: robot.mass_matrix(q),
        "bias_forces": lambda: robot.bias_forces(q, qd),
    }
    found = best(jobs, repeat)
    parts = sum(found[name] for name in ("jacobian", "frame_pose", "mass_matrix", "bias_forces"))
    print(f"operational-space law, panda: bound {found['bound']:.2f} µs, called {found['called']:.2f} µs")
    print(
        f"  batch {BATCH}: {found['batch']:.1f} µs, parts {parts:.1f} µs, ratio {found['batch'] / parts:.2f}"
    )


def terms(repeat: int) -> None:
    """Whole-body terms of a quadruped in one kernel."""
    robot = ROBOTS["solo12"]().robot
    f = robot.function(whole_body)
    q, qd, _ = robot.random_state(rng=0)
    made = f(q, qd)
    out = (np.zeros_like(made[0]), np.zeros_like(made[1]), *([np.zeros_like(x) for x in y] for y in made[2:]))
    found = best({"bound": f.bind(q, qd, out=out)}, repeat)
    trigonometric = f.cost.trigonometric
    print(
        f"whole-body terms, solo12 ({len(made[2])} feet): bound {found['bound']:.2f} µs, {trigonometric} sines and cosines"
    )


def steps(repeat: int) -> None:
    """Steps of coordinates of a quadruped, bound and in batches, beside Pinocchio's."""
    pair = ROBOTS["solo12"]()
    robot, model = pair.robot, pair.model
    (q, v, _), (tq, tv, _) = pair.states(BATCH)
    other = robot.integrate(q, v)
    tother = np.asfortranarray(np.asarray(px.convert.to_pinocchio(robot, model, other, v, v)[0]).T)
    integrate, difference = robot.function("integrate"), robot.function("difference")
    one = [x[0].copy() for x in (q, v, other)]
    theirs = [np.ascontiguousarray(x[:, 0]) for x in (tq, tv, tother)]
    outs = np.zeros_like(q), np.zeros_like(v)
    jobs: dict[str, Callable[[], Any]] = {
        "integrate": integrate.bind(one[0], one[1], out=np.zeros(robot.nq)),
        "difference": difference.bind(one[0], one[2], out=np.zeros(robot.nv)),
        "pinocchio integrate": lambda: pin.integrate(model, theirs[0], theirs[1]),
        "pinocchio difference": lambda: pin.difference(model, theirs[0], theirs[2]),
        "integrate, batch": lambda: integrate(q, v, out=outs[0]),
        "difference, batch": lambda: difference(q, other, out=outs[1]),
    }
    found = best(jobs, repeat)
    for name in ("integrate", "difference"):
        mine, his, each = found[name], found[f"pinocchio {name}"], found[f"{name}, batch"] / BATCH
        print(
            f"{name}, solo12: bound {mine:.3f} µs, Pinocchio {his:.3f} µs; batch {each:.4f} µs a state, {his / each:.0f} times"
        )


def linearised(repeat: int, names: list[str]) -> None:
    """Linearised steps beside the kernel of forward-dynamics derivatives."""
    for name in names:
        robot = ROBOTS[name]().robot if name != "panda" else px.load("panda")
        q, qd, tau = robot.random_state(100, rng=0)
        matrices = tuple(np.zeros((100, robot.nv, robot.nv)) for _ in range(3))
        jobs: dict[str, Callable[[], Any]] = {
            "derivatives": lambda: robot.forward_dynamics_derivatives(q, qd, tau, out=matrices)  # noqa: B023
        }
        for integrator in ("euler", "implicit"):
            sim = robot.simulation(1e-3, integrator=integrator)  # type: ignore[arg-type]
            outs = sim.linearize(q, qd, tau)
            jobs[integrator] = lambda sim=sim, outs=outs: sim.linearize(q, qd, tau, out=outs)  # type: ignore[misc]  # noqa: B023
            jobs[f"{integrator} by tangents"] = lambda sim=sim: sim._linearized_along(q, qd, tau, None, 0, 1)  # type: ignore[misc]  # noqa: B023
        found = best(jobs, repeat)
        listed = ", ".join(f"{k} {x:.0f} µs ({x / found['derivatives']:.2f})" for k, x in found.items())
        print(f"linearize, {name}, batch 100: {listed}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--robots", nargs="*", default=["panda", "solo12", "talos"])
    given = parser.parse_args()
    print(conditions())
    law(given.repeat)
    terms(given.repeat)
    steps(given.repeat)
    linearised(given.repeat, given.robots)


if __name__ == "__main__":
    main()
