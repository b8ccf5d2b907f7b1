# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Are segments of one long chain in SIMD lanes faster than the serial recursion? One state, one core.

    python benchmarks/partition.py [--links 1000] [--joints TYPE ...] [--floating-base] [--segments 8]
                                   [--rounds 40] [--json FILE]

Native `partition` and native `aba` on the same chain, and Pinocchio's `aba` on a chain of 200 links
(its memory grows with the cube of the length), all bound to fixed arrays and measured by turns in one
run; medians and the least of all rounds.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from machine import conditions

import phalanx as px

_PEER_LINKS = 200


def native(robot: px.Robot, algorithm: Any) -> tuple[Callable[[], Any], np.ndarray]:
    """A function that computes one state again and again, and where its result lies."""
    q, qd, tau = robot.random_state(rng=1)
    out = np.empty(robot.nv)
    step = robot.kernel("forward_dynamics", algorithm=algorithm).bind(q, qd, tau, out=out)
    step()
    return step, out


def pinocchio(n: int) -> Callable[[], Any] | None:
    """Pinocchio's articulated bodies on a random chain, None where Pinocchio is missing."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    robot, model, parent = px.chain(n), pin.Model(), 0
    links = {link.name: link for link in robot.description.links}
    for joint in robot.description.joints:
        axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
        place = pin.SE3(np.reshape(joint.origin.rotation, (3, 3)), np.array(joint.origin.translation))
        parent = model.addJoint(parent, pin.JointModelRevoluteUnaligned(axis), place, joint.name)
        link = links[joint.child]
        xx, xy, xz, yy, yz, zz = link.inertia
        own = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        model.appendBodyToJoint(parent, pin.Inertia(link.mass, np.array(link.com), own), pin.SE3.Identity())
    data, (q, qd, tau) = model.createData(), robot.random_state(rng=1)
    found, wanted = pin.aba(model, data, q, qd, tau), robot.forward_dynamics(q, qd, tau, algorithm="aba")
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()
    return lambda: pin.aba(model, data, q, qd, tau)


def measured(jobs: dict[str, Callable[[], Any]], rounds: int, least: float = 2e-3) -> dict[str, list[float]]:
    """Seconds per call of each job in each round, one after another."""
    counts = {}
    for name, job in jobs.items():
        start = time.perf_counter()
        job()
        counts[name] = max(1, round(least / (time.perf_counter() - start)))
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                job()
            times[name].append((time.perf_counter() - start) / counts[name])
    return times


def main() -> None:
    """Print times per link and ratios."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=int, default=1000)
    parser.add_argument("--joints", nargs="+", default=["revolute"], metavar="TYPE")
    parser.add_argument("--floating-base", action="store_true")
    parser.add_argument("--segments", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(conditions())
    alike = options.joints == ["revolute"]
    robot = px.chain(options.links) if alike else px.tree(options.links, 0.0, joints=options.joints)
    robot = robot.with_floating_base() if options.floating_base else robot
    cut, result = native(robot, ("partition", {"segments": options.segments}))
    serial, wanted = native(robot, "aba")
    error = float(np.abs(result - wanted).max() / np.abs(wanted).max())
    jobs = {"partition": cut, "aba": serial}
    peer = pinocchio(_PEER_LINKS)
    if peer is not None:
        jobs["Pinocchio aba"] = peer
    times = measured(jobs, options.rounds)
    lengths = {"partition": options.links, "aba": options.links, "Pinocchio aba": _PEER_LINKS}
    joints = " and ".join([*options.joints, *["a floating base"] * options.floating_base])
    print(
        f"{options.links} links ({joints}, {robot.nv} degrees of freedom), {options.segments} segments, one state; "
        f"difference {error:.0e}\n"
    )
    print(
        f"{'':14}{'links':>6}{'median us':>11}{'per link':>10}{'times':>7}{'least us':>11}{'per link':>10}{'times':>7}"
    )
    for name, t in times.items():
        row = f"{name:14}{lengths[name]:6}"
        for pick in (statistics.median, min):
            each = {k: pick(x) / lengths[k] for k, x in times.items()}
            ratio = each[name] / each["partition"]
            row += f"{pick(t) * 1e6:11.1f}{each[name] * 1e9:7.0f} ns{ratio:7.2f}"
        print(row)
    if options.json:
        about = {"machine": platform.machine(), "date": str(datetime.date.today()), "links": options.links}
        about |= {"joints": options.joints, "floating base": options.floating_base}
        about |= {"segments": options.segments, "difference": error, "seconds": times}
        options.json.write_text(json.dumps(about, indent=1))


if __name__ == "__main__":
    main()
