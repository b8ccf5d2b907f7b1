# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast are steps with rigid contact beside `mujoco.rollout` with its own contacts?

    python benchmarks/contact.py [--batch 1024] [--steps 50] [--rounds 15] [--no-humanoid] [--json FILE]

Solo 12 under PD in its legs stands on four rigid spheres: the model, starts, gains, step and friction of both are the
same as in `rollouts.py`; MuJoCo has a plane, a sphere at each foot, elliptic cones and its default solver. Talos
stands on eight points, the corners of its soles, without a peer. Median processor time of interleaved rounds, one thread.
"""

from __future__ import annotations

import argparse
import json
import warnings
from datetime import date
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import rollouts
from machine import conditions, processor
from rollouts import FEET, FLOOR, RADIUS, Case, Table, interleaved, legs, quadruped

import phalanx as px
from phalanx.backends.native.compile import host

KP, KD = 2000.0, 100.0
CORNERS = [(x, y, -0.107) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]


def standing(case: Case) -> None:
    """Move the starts so that the lowest foot touches the plane."""
    feet = np.stack([case.robot.frame_pose(case.q, foot)[..., 2, 3] for foot in FEET], axis=-1)
    case.q[:, 2] -= feet.min(axis=-1) - RADIUS


def compare_quadruped(table: Table, batch: int, steps: int, rounds: int) -> None:
    case = quadruped(batch)
    standing(case)
    robot, total = case.robot, batch * steps
    rigid = px.contact.rigid(points=FEET, radius=RADIUS, friction=0.8)
    options: dict[str, Any] = {
        "dt": rollouts.DT,
        "integrator": "implicit",
        "control": legs,
        "controls": 12,
        "friction": False,
        "limits": False,
    }
    held = robot.simulation(**options, forces=rigid)
    floor = case.model(flags="", world=FLOOR, geoms=rollouts.foot_geoms(robot))
    floor.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    floor.geom_friction[:, 0] = 0.8
    jobs = {
        "mujoco": case.mujoco_job(floor, steps),
        "rigid": case.job(held, steps),
        "free": case.job(robot.simulation(**options), steps),
    }
    took = interleaved(jobs, rounds)
    base = 1e9 * took["mujoco"] / total
    table.head(
        f"solo12 floating, PD in its legs, batch {batch}, {steps} steps of {rollouts.DT} s, one thread"
    )
    table.row("mujoco.rollout, its own contacts", took["mujoco"], total)
    table.row("phalanx, four rigid contacts, to MuJoCo", took["rigid"], total, base)
    table.row("phalanx, no contacts, to those with", took["free"], total, 1e9 * took["rigid"] / total)
    theirs = jobs["mujoco"]()[:, -1, 3]
    ours = held.rollout(
        case.q, case.qd, case.u[:, None], steps=steps, every=steps, record=("q", "contact_residual")
    )
    print(f"heights differ by {np.abs(theirs - ours.q[:, -1, 2]).max():.1e} m at most in the end")
    print(f"largest residual of the last step {ours['contact_residual'].max():.1e} m/s")


def compare_humanoid(table: Table, batch: int, steps: int, rounds: int) -> None:
    import pinocchio

    folder = Path(pinocchio.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        robot = px.load(next(folder.rglob("talos_reduced.urdf")), floating_base=True)
    q = robot.neutral()
    for side in ("left", "right"):
        for joint, angle in ((3, -0.4), (4, 0.8), (5, -0.4)):
            q[robot.q_slices[f"leg_{side}_{joint}_joint"]] = angle
    soles = [f"leg_{side}_6_link" for side in ("left", "right")]
    rng = np.random.default_rng(0)
    q = np.tile(q, (batch, 1))
    target = q[:, 7:].copy()
    q[:, 7:] += rng.uniform(-0.01, 0.01, target.shape)
    corners = np.array(CORNERS)
    heights = [
        (pose[:, None, :3, :3] @ corners[..., None])[..., 2, 0] + pose[:, None, 2, 3]
        for pose in (robot.frame_pose(q, sole) for sole in soles)
    ]
    q[:, 2] -= np.concatenate(heights, axis=-1).min(axis=-1)

    def law(t, q, qd, u, robot):
        return np.concatenate([np.zeros(6), KP * (u - q[7:]) - KD * qd[6:]])

    sim = robot.simulation(
        dt=rollouts.DT,
        control=law,
        controls=robot.nv - 6,
        friction=False,
        limits=False,
        forces=px.contact.rigid(points=dict.fromkeys(soles, CORNERS)),
    )
    case = Case(robot, q, target, KP, KD)
    took = interleaved({"rigid": case.job(sim, steps)}, rounds)
    table.head(f"talos ({robot.nv} degrees of freedom) on eight points, batch {batch}, {steps} steps")
    table.row("phalanx, eight rigid contacts, just set down", took["rigid"], batch * steps)
    case.q, case.qd = sim.rollout(case.q, case.qd, target[:, None], steps=500, every=500).final
    took = interleaved({"rigid": case.job(sim, steps)}, rounds)
    table.row("phalanx, the same after a second", took["rigid"], batch * steps)
    run = sim.rollout(q, 0.0 * q[:, 1:], target[:, None], steps=steps, every=steps, record="contact_residual")
    print(
        f"largest residual of the last step {run['contact_residual'].max():.1e} m/s; compiled in {sim.compile_seconds:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-humanoid", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{conditions()}; {host().cpu}, {host().bits}-bit lanes; MuJoCo {mujoco.__version__}")
    table = Table()
    compare_quadruped(table, options.batch, options.steps, options.rounds)
    if not options.no_humanoid:
        compare_humanoid(table, options.batch, options.steps, options.rounds)
    if options.json:
        facts = {"processor": processor(), "mujoco": mujoco.__version__, "date": date.today().isoformat()}
        options.json.write_text(json.dumps({**facts, "rows": table.rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
