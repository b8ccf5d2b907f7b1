# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Which order do the integrators have, how does their energy drift, and what does a step cost? With one picture.

    python benchmarks/integrators.py [--plot docs/integrators.png] [--steps 1000000]

Errors are those of the state after a quarter of a second, against SciPy's DOP853 at its tightest tolerance, of three
links on ball joints and a hinge under a floating base, with damping and constant joint forces. Energy is that of an
undamped chain of three hinges that swings freely, relative to its largest kinetic energy.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from machine import conditions

import phalanx as px
from phalanx.simulation.integrators import INTEGRATORS
from phalanx.study.plotting import line_styles, new_figure, saved, styled

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference.stepping import distance, reference

SECONDS = 0.25
COUNTS = (16, 32, 64, 128, 256, 512, 1024)
DT = 0.01


def swinging(kinds: tuple[str, ...], damping: float) -> px.Robot:
    """Links on joints of some kinds, each below the one before."""
    builder = px.RobotBuilder("swing")
    builder.add_link("base", mass=2.0, com=(0.02, 0.01, -0.03), inertia=(0.1, 0.2, 0.15))
    above = "base"
    for k, kind in enumerate(kinds):
        link = builder.add_link(
            f"link{k}", mass=1.0 - 0.2 * k, com=(0.1, -0.05, -0.3), inertia=(0.03, 0.02, 0.04)
        )
        values = [damping] * (3 if kind == "spherical" else 1)
        place = {"origin": (0.0, 0.1, -0.4)} if k else {}
        builder.add_joint(f"joint{k}", kind, above, link, axis=(0.6, 0.8, 0.0), damping=values, **place)
        above = link
    return builder.build()


def orders() -> dict[str, list[float]]:
    """The error of each integrator by number of steps."""
    robot = swinging(("spherical", "revolute", "spherical"), 0.1).with_floating_base()
    q, qd, wanted = robot.random_state(rng=1)
    tau = robot.gravity_forces(q) + robot.mass_matrix(q) @ wanted
    end = reference(robot, q, qd, lambda t, q, qd: tau, SECONDS)
    found = {}
    for integrator in INTEGRATORS:
        found[integrator] = []
        for count in COUNTS:
            sim = robot.simulation(dt=SECONDS / count, integrator=integrator)
            run = sim.rollout(q, qd, controls=tau, steps=count, every=count)
            found[integrator].append(distance(robot, run.final, end))
    return found


def slope(errors: list[float]) -> float:
    """The order between the points that rounding does not reach."""
    fine = [(np.log(n), np.log(e)) for n, e in zip(COUNTS, errors, strict=True) if e > 1e-11][-4:]
    return float(-np.polyfit(*zip(*fine, strict=True), 1)[0])


def energies(steps: int) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, float]]:
    """Times, the relative error of the energy, and nanoseconds a step in a batch of 1024."""
    robot = swinging(("revolute",) * 3, 0.0)
    q, qd = robot.neutral() + 0.7, np.zeros(robot.nv)
    begin = float(robot.potential_energy(q))
    found, cost, times, most = {}, {}, np.zeros(0), 0.0
    for integrator in INTEGRATORS:
        sim = robot.simulation(dt=DT, integrator=integrator)
        run = sim.rollout(q, qd, steps=steps, every=steps // 1000, record=("energy", "kinetic_energy"))
        found[integrator], times = np.ravel(run["energy"]) - begin, run.time
        most = max(most, float(np.max(run["kinetic_energy"][:100])))
        cost[integrator] = nanoseconds(sim)
    return times, {name: error / most for name, error in found.items()}, cost


def nanoseconds(sim: Any) -> float:
    """The least time of a step, many simulations at once, on one thread."""
    q, qd, _ = sim.robot.random_state(1024, rng=0)
    best = np.inf
    for _ in range(12):
        begin = time.perf_counter()
        sim.rollout(q, qd, steps=100, every=100, threads=1)
        best = min(best, time.perf_counter() - begin)
    return 1e9 * best / 102_400


def draw(errors: dict[str, list[float]], times: np.ndarray, energy: dict[str, np.ndarray], path: str) -> None:
    """Both as one picture; energy as the mean over each hundredth of the time, so that drift stands out."""
    with styled():
        figure, axes = new_figure(width=7.6, height=3.6)
        axes.remove()
        left, right = figure.subplots(1, 2)
        for (name, values), style in zip(errors.items(), line_styles(), strict=False):
            left.loglog(
                [SECONDS / n for n in COUNTS], values, label=f"{name}, order {slope(values):.2f}", **style
            )
            windows = np.abs(np.reshape(energy[name], (100, -1)).mean(axis=1))
            right.loglog(
                np.reshape(times, (100, -1)).mean(axis=1), windows, color=style["color"], linewidth=1.0
            )
        left.set(title="Error after 0.25 s", xlabel="step [s]", ylabel="largest error of the state")
        right.set(
            title="Energy of an undamped chain",
            xlabel=f"time [s], steps of {DT:g} s",
            ylabel="relative error",
        )
        for axis in (left.xaxis, left.yaxis, right.xaxis, right.yaxis):
            axis.set_major_formatter(lambda x, _: f"{x:.0e}".replace("e-0", "e-").replace("e+0", "e+"))
            axis.set_minor_formatter(lambda x, _: "")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=len(INTEGRATORS))
    saved(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--plot")
    parser.add_argument("--steps", type=int, default=1_000_000)
    options = parser.parse_args()
    print(conditions())
    errors = orders()
    times, energy, cost = energies(options.steps)
    print(
        f"{'integrator':14}{'order':>7}{'error at 1 ms':>15}{'energy: largest':>17}{'last tenth':>12}{'ns a step':>11}"
    )
    for name in INTEGRATORS:
        at = float(
            np.exp(
                np.interp(
                    np.log(1e-3), np.log([SECONDS / n for n in COUNTS[::-1]]), np.log(errors[name][::-1])
                )
            )
        )
        last = float(np.mean(energy[name][-100:]))
        print(
            f"{name:14}{slope(errors[name]):7.2f}{at:15.1e}{np.abs(energy[name]).max():17.1e}{last:12.1e}{cost[name]:11.1f}"
        )
    if options.plot:
        draw(errors, times, energy, options.plot)


if __name__ == "__main__":
    main()
