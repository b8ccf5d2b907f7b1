# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How often is the recommended algorithm the measured fastest, on robots that nothing was tuned for?

    python benchmarks/recommendations.py [--batches 1 64 4096] [--rounds 15] [--json FILE]

A case is a robot, a function and a batch size with at least two algorithms to choose from. All compiled
algorithms of a case take turns, in bursts. The recommendation hits if its median time is within noise of
the shortest one: within 5 %, or within what the quartiles of the two measurements leave open.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import warnings
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pinocchio as pin
from machine import conditions

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.study.calibration import job, sample, timed
from phalanx.study.recommend import served

SHARE = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
FUNCTIONS = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
NOISE = 1.05

# (file, whether the base floats): arms, hands, quadrupeds, humanoids, mobile manipulators.
ROBOTS = (
    ("ur_description/urdf/ur10_robot.urdf", False),
    ("kinova_description/robots/kinova.urdf", False),
    ("xarm_description/urdf/xarm7.urdf", False),
    ("z1_description/urdf/z1.urdf", False),
    ("so_arm_description/urdf/so101.urdf", False),
    ("hextilt_description/urdf/hextilt_flying_arm_5.urdf", True),
    ("finger_edu_description/robots/finger_edu.urdf", False),
    ("allegro_hand_description/urdf/allegro_right_hand.urdf", False),
    ("go2_description/urdf/go2.urdf", True),
    ("anymal_c_simple_description/urdf/anymal.urdf", True),
    ("anymal_b_simple_description/robots/anymal-kinova.urdf", True),
    ("b1_description/urdf/b1-z1.urdf", True),
    ("bolt_description/robots/bolt.urdf", True),
    ("alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf", True),
    ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True),
    ("icub_description/robots/icub.urdf", True),
    ("romeo_description/urdf/romeo_laas_small.urdf", False),
    ("talos_data/robots/talos_reduced.urdf", True),
    ("human_description/robots/human.urdf", False),
    ("tiago_description/robots/tiago_no_hand.urdf", False),
    ("tiago_description/robots/tiago_dual.urdf", False),
    ("baxter_description/urdf/baxter.urdf", False),
)


def robots(names: list[str]) -> Iterator[px.Robot]:
    """The robots whose files contain one of the names, all without names."""
    for file, floating in ROBOTS:
        if not names or any(name in file for name in names):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", px.PhalanxWarning)
                yield px.load(SHARE / file, floating_base=floating)


def cases(robot: px.Robot, batches: list[int], rounds: int) -> Iterator[dict[str, Any]]:
    """One record per function and batch size: what was recommended and what was measured."""
    for function in FUNCTIONS:
        calls = {}
        for algorithm in px.algorithms(function):
            try:
                call = resolve(robot, function, algorithm.name)
            except px.PhalanxError:
                continue
            if served(call) == "native":
                calls[algorithm.name] = call
        if len(calls) < 2:
            continue
        for batch in batches:
            advice = px.recommend(robot, function, batch=batch)
            key = advice.algorithm + (str(dict(advice.options)) if advice.options else "")
            if advice.options:
                calls[key] = resolve(robot, function, advice.choice)
            states = sample(calls[key], batch)
            times = timed({name: job(call, states) for name, call in calls.items()}, rounds=rounds)
            yield record(robot, advice, key, times)


def record(robot: px.Robot, advice: Any, recommended: str, times: dict[str, list[float]]) -> dict[str, Any]:
    """The verdict on a recommendation."""
    middle = {name: statistics.median(t) for name, t in times.items()}
    fastest = min(middle, key=lambda name: middle[name])
    low = statistics.quantiles(times[recommended], n=4)[0]
    high = statistics.quantiles(times[fastest], n=4)[2]
    ratio = middle[recommended] / middle[fastest]
    return {
        "robot": robot.name,
        "nv": robot.nv,
        "function": advice.function,
        "batch": advice.batch,
        "recommended": recommended,
        "auto": advice.auto,
        "fastest": fastest,
        "ratio": ratio,
        "auto_ratio": middle[advice.auto] / middle[fastest],
        "hit": ratio <= NOISE or low <= high,
        "predicted": dict(advice.predicted),
        "measured": {name: t / advice.batch for name, t in middle.items()},
    }


def share(rows: list[dict[str, Any]], key: str = "hit") -> str:
    hits = sum(bool(row[key]) for row in rows)
    return f"{hits} of {len(rows)} ({100 * hits / len(rows):.0f} %)"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64, 4096])
    parser.add_argument("--robots", nargs="*", default=[], help="parts of file names (default: all)")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    print(conditions())
    rows: list[dict[str, Any]] = []
    for robot in robots(args.robots):
        for row in cases(robot, args.batches, args.rounds):
            rows.append(row)
            verdict = "hit " if row["hit"] else "MISS"
            print(
                f"{verdict} {row['robot'][:24]:24} {row['nv']:3} {row['function']:17} {row['batch']:5}  "
                f"{row['recommended']:18} fastest {row['fastest']:18} {row['ratio']:.2f}"
                + (
                    ""
                    if row["recommended"] == row["auto"]
                    else f"  auto {row['auto']} {row['auto_ratio']:.2f}"
                ),
                flush=True,
            )
    print(f"\nrecommendation is the measured fastest within noise: {share(rows)}")
    for name in ("function", "batch"):
        groups = defaultdict(list)
        for row in rows:
            groups[row[name]].append(row)
        print(f"  by {name}: " + "; ".join(f"{key} {share(group)}" for key, group in groups.items()))
    for row in rows:
        row["strict"] = row["ratio"] == 1.0
        row["near"] = row["ratio"] <= NOISE
        row["auto_hit"] = row["auto_ratio"] <= NOISE
    print(f"  within 5 % by medians alone: {share(rows, 'near')}")
    print(f"  the very fastest, noise or not: {share(rows, 'strict')}")
    print(f'  "auto" within 5 %: {share(rows, "auto_hit")}')
    several = [row for row in rows if len(row["measured"]) > 3]
    if several:
        print(f"  where more than three algorithms compete: {share(several)}")
    if args.json:
        about = {"date": date.today().isoformat(), "machine": platform.processor() or platform.machine()}
        args.json.write_text(json.dumps({**about, "cases": rows}, indent=1))


if __name__ == "__main__":
    main()
