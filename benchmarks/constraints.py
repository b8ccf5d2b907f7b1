# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast is constrained dynamics beside Pinocchio, called from Python, in one run on one core?

    python benchmarks/constraints.py [--batch 1024] [--seconds 1.0] [--links 10 20 50 100 200] [--dense 30]

ANYmal on four feet (point contacts), its derivatives, and rings of links welded to the world. Both sides are
measured in turns; figures are medians. Needs `pin` and, for ANYmal, `example-robot-data`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
from machine import conditions

import phalanx as px

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")


def seconds_of(calls: dict[str, Callable[[], Any]], budget: float) -> dict[str, float]:
    """Median seconds of each call, all of them in turns until the budget is spent."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    end = time.perf_counter() + budget
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: median(each) for name, each in times.items()}


def constraint_models(model: Any, contacts: Any) -> tuple[Any, Any]:
    """Pinocchio's constraints for ours, to the world."""
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for c in contacts:
        frame = model.frames[model.getFrameId(c.first)]
        kind = pin.ContactType.CONTACT_3D if c.kind == "point" else pin.ContactType.CONTACT_6D
        made = pin.RigidConstraintModel(kind, model, frame.parentJoint, frame.placement, pin.LOCAL)
        models.append(made)
        datas.append(made.createData())
    return models, datas


def measure(
    name: str,
    robot: px.Robot,
    model: Any,
    contacts: Any,
    args: Any,
    *,
    derivatives: bool,
    algorithm: str = "auto",
) -> None:
    """Print the times of one robot."""
    rng = np.random.default_rng(0)
    q = robot.random_state(args.batch, rng)[0]
    qd, tau = rng.normal(size=(2, args.batch, robot.nv))
    data = model.createData()
    models, datas = constraint_models(model, contacts)
    pin.initConstraintDynamics(model, data, models, datas)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)
    state = (
        *px.convert.to_pinocchio(robot, model, q[0], qd[0]),
        px.convert.tau_to_pinocchio(robot, model, q[0], tau[0]),
    )
    theirs = pin.constraintDynamics(model, data, *state, models, datas, settings).copy()
    options: Any = {"contacts": contacts, "algorithm": algorithm, "threads": 1}
    ours = robot.constrained_dynamics(q, qd, tau, **options)
    own = px.convert.to_pinocchio(robot, model, q[0], qd[0], ours.qdd[0])[2]
    apart = np.abs(own - theirs).max() / np.abs(theirs).max()
    repeats = 50

    def dynamics() -> None:
        for _ in range(repeats):
            pin.constraintDynamics(model, data, *state, models, datas, settings)

    def slopes() -> None:
        for _ in range(repeats):
            pin.computeConstraintDynamicsDerivatives(model, data, models, datas, settings)

    calls = {
        "ours": lambda: robot.constrained_dynamics(q, qd, tau, **options),
        "theirs": dynamics,
    }
    if derivatives:
        calls["our slopes"] = lambda: robot.constrained_dynamics_derivatives(
            q, qd, tau, contacts=contacts, threads=1
        )
        calls["their slopes"] = slopes
    found = seconds_of(calls, args.seconds)
    mine, other = found["ours"] / args.batch, found["theirs"] / repeats
    print(f"{name:<32}{mine * 1e9:9.0f} ns {other * 1e6:9.2f} us {other / mine:7.1f}   {apart:.1e}")
    if derivatives:
        mine, alone = found["our slopes"] / args.batch, found["their slopes"] / repeats
        print(f"{'  derivatives':<32}{mine * 1e9:9.0f} ns {alone * 1e6:9.2f} us {alone / mine:7.1f}")
        both = alone + other
        print(
            f"{'  with what theirs need first':<32}{mine * 1e9:9.0f} ns {both * 1e6:9.2f} us {both / mine:7.1f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--links", type=int, nargs="*", default=[10, 20, 50, 100, 200])
    parser.add_argument("--dense", type=int, default=30, help="links up to which the dense route is measured")
    args = parser.parse_args()
    warnings.simplefilter("ignore", px.PhalanxWarning)
    print(conditions())
    print(f"batch {args.batch}, one core; Phalanx, Pinocchio {pin.__version__}, ratio, relative difference")
    folder = Path(pin.__file__).parents[4] / "cmeel.prefix" / "share" / "example-robot-data"
    roots = [p for p in Path(pin.__file__).parents if (p / "share" / "example-robot-data").exists()]
    folder = roots[0] / "share" / "example-robot-data" if roots else folder
    for file in sorted(folder.rglob("anymal.urdf"))[:1]:
        robot = px.load(file, floating_base=True)
        model = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
        contacts = tuple(px.constraint.point(foot) for foot in FEET)
        measure("ANYmal, four feet", robot, model, contacts, args, derivatives=True)
    for n in args.links:
        chain = px.chain(n)
        model = pin.buildModelFromXML(chain.to_urdf())
        contacts = (px.constraint.weld(chain.link_names[-1]),)
        for algorithm in ("dense", "articulated"):
            if algorithm == "articulated" or n <= args.dense:
                label = f"ring of {n} links, {algorithm}"
                measure(label, chain, model, contacts, args, derivatives=False, algorithm=algorithm)
    return 0


if __name__ == "__main__":
    sys.exit(main())
