# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx demo`: torques of a built-in robot for many random states."""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

from ..dispatch import evaluate
from ..errors import printable
from ..robot.robot import Robot
from .arguments import add_robot, load_robot, positive_integer
from .output import emit, emit_json, number, table, terminal_width

_RUNS = 3


EXAMPLES = """
phalanx demo
phalanx demo panda --batch 10000
phalanx demo arm.urdf --seed 7 --json
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser, default="puma560")
    parser.add_argument(
        "--batch", type=positive_integer, default=1_000_000, help="number of states (default: 1000000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random states (default: 0)")


def run(args: argparse.Namespace) -> int:
    """Print the torques and the time they took; exit status 0."""
    robot = load_robot(args)
    report = measure(robot, args.batch, args.seed)
    if args.json:
        emit_json(report)
    else:
        emit("\n".join(_readable(report)))
    return 0


def measure(robot: Robot, batch: int, seed: int) -> dict[str, Any]:
    """Return the range of each joint force over random states, and the times of compiling and computing."""
    states = robot.random_state((batch,), rng=np.random.default_rng(seed))
    start = time.perf_counter()
    cached = (
        robot.kernel("inverse_dynamics").cached if robot.nv else None
    )  # nothing moves, nothing to compile
    compiling = time.perf_counter() - start
    tau = np.zeros((batch, robot.nv))  # memory that is there already: its first touch is no dynamics
    seconds = math.inf
    for _ in range(_RUNS):
        start = time.perf_counter()
        evaluate(robot, "inverse_dynamics", states, {}, out=tau)
        seconds = min(seconds, time.perf_counter() - start)
    return {
        "robot": robot.name,
        "batch": batch,
        "seed": seed,
        "compile_seconds": compiling,
        "cached": cached,
        "seconds": seconds,
        "states_per_second": batch / seconds,
        "joints": [
            {"name": name, "min": low, "mean": mean, "max": high}
            for name, low, mean, high in zip(
                _names(robot), tau.min(axis=0), tau.mean(axis=0), tau.max(axis=0), strict=True
            )
        ],
    }


def _names(robot: Robot) -> list[str]:
    """Return a name per degree of freedom; joints with several number theirs."""
    names = [""] * robot.nv
    for joint, where in robot.v_slices.items():
        indices = range(robot.nv)[where]
        for k, i in enumerate(indices):
            if not names[i]:  # a coupled joint shares the entry of its driver
                names[i] = (joint or "(floating base)") + (f"[{k}]" if len(indices) > 1 else "")
    return names


def _readable(report: dict[str, Any]) -> list[str]:
    rows = [
        (joint["name"], *(number(joint[key]) for key in ("min", "mean", "max"))) for joint in report["joints"]
    ]
    return [
        f"{printable(report['robot'])}: joint torques for {report['batch']:,} random states (q, qd, qdd)",
        "",
        *table(("joint", "min", "mean", "max"), rows, align="<>>>", width=terminal_width()),
        "",
        "N·m for joints that turn, N for joints that slide",
        *_times(report),
    ]


def _times(report: dict[str, Any]) -> list[str]:
    """Lines on the time of compilation and of all states."""
    done = "read from the cache" if report["cached"] else "compiled"
    once = [] if report["cached"] is None else [f"kernel {done} in {report['compile_seconds']:.2g} s"]
    speed = f"{report['states_per_second']:,.0f} states per second"
    return [*once, f"computed in {report['seconds']:.2g} s: {speed} (fastest of {_RUNS} runs)"]
