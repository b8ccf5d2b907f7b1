# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What does a call from Python cost: each method on one state beside its bound kernel, in microseconds?

    python benchmarks/calls.py [--rounds 5] [--base SRC] [--json FILE]

The robots are an arm (Panda) and a quadruped of twelve joints with a floating base. "bound" is what `kernel.bind` or
`sim.bind` makes of the same code, "over" what the method takes beyond it. Calls are timed in bursts, the
least time of a burst counts. With `--base`, a folder that holds another source tree's `phalanx`, processes with
one tree and the other take turns, and the table has its times, too. The last rows are batches of 512 states,
in microseconds for the whole batch.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from machine import conditions, load, processor

_BATCH = 512
_BURST = 2e-4  # seconds of calls that are timed together
Job = Callable[[], Any]


def quadruped() -> str:
    """URDF of a trunk with four legs of three joints each."""
    inertial = (
        '<inertial><mass value="{}"/><origin xyz="0 0 {}"/>'
        '<inertia ixx="{}" iyy="{}" izz="{}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    made = [f'<link name="trunk">{inertial.format(9, 0, 0.1, 0.3, 0.35)}</link>']
    for x, front in ((0.2, "f"), (-0.2, "h")):
        for y, side in ((0.15, "l"), (-0.15, "r")):
            parent, at = "trunk", f"{x} {y} 0"
            for part, axis, z in (
                ("hip", "1 0 0", 0.0),
                ("thigh", "0 1 0", -0.25),
                ("shank", "0 1 0", -0.25),
            ):
                name = front + side + part
                made.append(f'<link name="{name}">{inertial.format(1, z / 2, 0.01, 0.01, 0.001)}</link>')
                made.append(
                    f'<joint name="{name}_joint" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
                    f'<origin xyz="{at}"/><axis xyz="{axis}"/><limit lower="-2" upper="2" effort="9" '
                    'velocity="9"/></joint>'
                )
                parent, at = name, f"0 0 {z}"
    return '<robot name="quadruped">' + "".join(made) + "</robot>"


def robots() -> dict[str, tuple[Any, str]]:
    """Robots with their URDF."""
    import phalanx as px

    arm = px.load("panda")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "quadruped.urdf")
        path.write_text(quadruped(), encoding="utf-8")
        return {"Panda": (arm, arm.to_urdf()), "quadruped": (px.load(path, floating_base=True), quadruped())}


def plain(robot: Any, function: str, **named: Any) -> tuple[Job, Job | None]:
    """The method of a function, and its bound kernel."""
    state = robot.random_state(rng=1)
    inputs = state[: 3 if function.startswith(("inverse", "forward")) else 1]
    chosen = {k: v for k, v in named.items() if k in ("algorithm", "value")}
    more = {k: v for k, v in named.items() if k not in chosen}
    method = getattr(robot, function)

    def bound() -> Job:
        kernel = robot.kernel(function, **chosen)
        made = method(*inputs, **named)
        out = tuple(map(np.empty_like, made)) if isinstance(made, tuple) else np.empty_like(made)
        given = {k: robot.wrenches(v) if isinstance(v, dict) else v for k, v in more.items()}
        return kernel.bind(*inputs, out=out, **given)

    return lambda: method(*inputs, **named), _or_none(bound)


def product(robot: Any, mode: str, function: str) -> tuple[Job, Job | None]:
    """A derivative along a direction or against a cotangent, and its bound kernel."""
    state = robot.random_state(rng=1)
    rates = [np.ones(robot.nv) for _ in state]
    more = {"jvp": (rates,), "vjp": (np.ones(robot.nv),), "hvp": (np.ones(robot.nv), rates)}[mode]
    method = getattr(robot, mode)
    flat = [x for each in (state, *more) for x in (each if isinstance(each, (list, tuple)) else [each])]

    def bound() -> Job:
        made = method(function, state, *more)
        out = tuple(map(np.empty_like, made)) if isinstance(made, tuple) else np.empty_like(made)
        return getattr(robot.kernel(function), mode).bind(*flat, out=out)

    return lambda: method(function, state, *more), _or_none(bound)


def _or_none(make: Callable[[], Job]) -> Job | None:
    """What is made, None where this version has no such kernel."""
    try:
        return make()
    except Exception:
        return None


def conversions(robot: Any, urdf: str) -> Iterator[tuple[str, Job]]:
    """States in the coordinates of other engines, where these are installed."""
    import phalanx as px

    q, qd, qdd = robot.random_state(rng=1)
    try:
        import pinocchio as pin

        free = [pin.JointModelFreeFlyer()] if robot.nq > robot.nv else []
        model = pin.buildModelFromXML(urdf, *free)
        p, v, a = px.convert.to_pinocchio(robot, model, q, qd, qdd)
        yield "convert.to_pinocchio(q)", lambda: px.convert.to_pinocchio(robot, model, q)
        yield "convert.to_pinocchio(q, qd, qdd)", lambda: px.convert.to_pinocchio(robot, model, q, qd, qdd)
        yield "convert.from_pinocchio(q, v, a)", lambda: px.convert.from_pinocchio(robot, model, p, v, a)
        yield "convert.tau_to_pinocchio", lambda: px.convert.tau_to_pinocchio(robot, model, q, qdd)
    except ImportError:
        pass
    try:
        import mujoco

        if robot.nq > robot.nv:
            base = '<link name="world"/><joint name="base" type="floating"><parent link="world"/>'
            urdf = urdf.replace("<link", base + '<child link="trunk"/></joint><link', 1)
        there = mujoco.MjModel.from_xml_string(urdf)
        x, y = px.convert.to_mujoco(robot, there, q, qd)
        yield "convert.to_mujoco(q, qd)", lambda: px.convert.to_mujoco(robot, there, q, qd)
        yield "convert.from_mujoco(q, qd)", lambda: px.convert.from_mujoco(robot, there, x, y)
    except ImportError:
        pass


def jobs(robot: Any, urdf: str) -> Iterator[tuple[str, Job, Job | None]]:
    """Every kind of call with its bound kernel, by name."""
    link = robot.link_names[-1]
    wrench, wrenches = np.ones(6), np.ones((robot.n_links, 6))
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        yield function, *plain(robot, function)
    yield (
        'inverse_dynamics(algorithm="newton_euler")',
        *plain(robot, "inverse_dynamics", algorithm="newton_euler"),
    )
    yield 'forward_dynamics(algorithm="aba")', *plain(robot, "forward_dynamics", algorithm="aba")
    yield "inverse_dynamics(external=)", *plain(robot, "inverse_dynamics", external=wrenches)
    yield "inverse_dynamics(external={link: w})", *plain(robot, "inverse_dynamics", external={link: wrench})
    yield "inverse_dynamics_derivatives", *plain(robot, "inverse_dynamics_derivatives")
    for function in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        yield f"{function}(value=True)", *plain(robot, function, value=True)
    for mode in ("jvp", "vjp", "hvp"):
        yield f"{mode}(inverse_dynamics)", *product(robot, mode, "inverse_dynamics")
    q, qd, qdd = robot.random_state(rng=2)
    kernel = robot.kernel("inverse_dynamics")
    yield "kernel", lambda: kernel(q, qd, qdd), plain(robot, "inverse_dynamics")[1]
    yield "kernel.ufunc", lambda: kernel.ufunc(q, qd, qdd), plain(robot, "inverse_dynamics")[1]
    other = robot.random_state(rng=3)[0]
    yield "integrate", lambda: robot.integrate(q, qd), None
    yield "difference", lambda: robot.difference(q, other), None
    yield "normalize", lambda: robot.normalize(q), None
    for name, run in conversions(robot, urdf):
        yield name, run, None
    sim, tau = robot.simulation(dt=1e-4, integrator="implicit"), np.zeros(robot.nv)
    moving = (q.copy(), np.zeros(robot.nv))
    yield "sim.step", lambda: sim.step(q, qd, tau), sim.bind(*moving, tau)


def batches(robot: Any) -> Iterator[tuple[str, Job, Job | None]]:
    """Batches by the method and by the kernel."""
    state = robot.random_state(_BATCH, rng=1)
    weights = np.ones((_BATCH, robot.nv))
    kernel = robot.kernel("inverse_dynamics")
    back = kernel.vjp
    yield (
        "inverse_dynamics, 512 states",
        lambda: robot.inverse_dynamics(*state, threads=1),
        lambda: kernel(*state, threads=1),
    )
    yield (
        "vjp(inverse_dynamics), 512 states",
        lambda: robot.vjp("inverse_dynamics", state, weights, threads=1),
        lambda: back(*state, weights, threads=1),
    )
    yield "integrate, 512 states", lambda: robot.integrate(*state[:2]), None
    yield "difference, 512 states", lambda: robot.difference(state[0], state[0][::-1]), None


def least(run: Job, rounds: int) -> float:
    """The least microseconds of a call, in bursts."""
    for _ in range(3):
        run()
    start = time.perf_counter()
    run()
    count = max(1, int(_BURST / max(time.perf_counter() - start, 1e-7)))
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            run()
        best = min(best, (time.perf_counter() - start) / count)
    return best * 1e6


def measured(rounds: int) -> dict[str, dict[str, tuple[float, float | None]]]:
    """Microseconds of each call and of its bound kernel, for each robot, in this process."""
    table = {}
    for shown, (robot, urdf) in robots().items():
        table[shown] = {
            label: (least(run, rounds), None if bound is None else least(bound, rounds))
            for label, run, bound in [*jobs(robot, urdf), *batches(robot)]
        }
    return table


def elsewhere(source: str | None, rounds: int) -> Any:
    """The same in a process of its own, with another source tree if one is given."""
    path = {} if source is None else {"PYTHONPATH": source}
    command = [sys.executable, __file__, "--here", "--rounds", str(rounds)]
    done = subprocess.run(command, env=os.environ | path, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def smaller(a: Any, b: Any) -> Any:
    """Of two tables of times, the least of each entry."""
    if isinstance(a, dict):
        return {key: smaller(a[key], b[key]) for key in a}
    return [x if y is None else min(x, y) for x, y in zip(a, b, strict=True)] if isinstance(a, list) else a


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="processes of each tree")
    parser.add_argument("--base", help="a folder with another phalanx")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        print(json.dumps(measured(60)))
        return
    made, base = None, None
    for _ in range(options.rounds):
        now = elsewhere(None, options.rounds)
        made = now if made is None else smaller(made, now)
        if options.base:
            then = elsewhere(options.base, options.rounds)
            base = then if base is None else smaller(base, then)
    busy = load()
    print(f"{conditions()}; microseconds of a call")
    assert made is not None
    for robot, rows in made.items():
        print(f"\n{robot:44}{'bound':>9}{'method':>9}{'over':>9}{'  base' if base else ''}")
        for label, (taken, bound) in rows.items():
            over = "" if bound is None else f"{taken - bound:9.2f}"
            before = f"{base[robot][label][0]:9.2f}" if base else ""
            print(f"{label:44}{'' if bound is None else f'{bound:.2f}':>9}{taken:9.2f}{over:>9}{before}")
    if options.json:
        about = {"processor": processor(), "date": str(datetime.date.today()), "load": busy}
        options.json.write_text(json.dumps({**about, "now": made, "base": base}, indent=1))


if __name__ == "__main__":
    main()
