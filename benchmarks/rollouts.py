# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast are rollouts beside `mujoco.rollout`, the loop over time beside single steps, and threads?

    python benchmarks/rollouts.py [--batch 1024] [--steps 50] [--rounds 15] [--json FILE]

Both engines get the same robot (MJCF text written from it: masses, damping, armature), the same gains, step and
starts. MuJoCo 1 thread, `implicitfast`, position actuators with kp and kv; contacts, limits and friction off
(`contact` and `constraint` disabled), no sensors, `skip_checks`; its rollout records every state. Phalanx records
the last state, and every one in the line "all recorded". Medians of interleaved rounds, in processor time, so that
others on the machine do not count; threads by the clock, at best. With its own contacts MuJoCo has a plane, a sphere at each
foot and its default solver; no collisions but feet against the plane. `PHALANX_CPU=avx2` lowers the processor.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import mujoco
import mujoco.rollout
import numpy as np
from machine import conditions, processor

import phalanx as px
from phalanx.backends.native.compile import host

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reference.mjcf_texts import mjcf_of

DT = 2e-3
KP, KD = 200.0, 10.0
LEG_KP, LEG_KD = 10.0, 0.5
QUIET = 'contact="disable" constraint="disable"'
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
RADIUS = 0.016
GROUND = {"stiffness": 5e3, "damping": 50.0, "friction": 0.8, "passes": 1}


def solo() -> px.Robot:
    """Solo 12 with a floating base."""
    import pinocchio

    folder = Path(pinocchio.__file__).parents[4] / "share" / "example-robot-data" / "robots"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.load(next(folder.rglob("solo12.urdf")), floating_base=True)


def legs(t, q, qd, u, robot):
    """Torques that hold the twelve joints of the legs; nothing drives the base."""
    return np.concatenate([np.zeros(6), LEG_KP * (u - q[7:]) - LEG_KD * qd[6:]])


# ------------------------------------------------------------------------ both engines


class Case:
    """A robot, its starts and targets, and MuJoCo's model of it."""

    def __init__(self, robot: px.Robot, q: np.ndarray, u: np.ndarray, kp: float, kd: float) -> None:
        self.robot, self.q, self.u, self.gains = robot, q, u, (kp, kd)
        self.qd = np.zeros((len(q), robot.nv))

    def model(self, *, flags: str = QUIET, **more: Any) -> Any:
        kp, kd = self.gains
        drives = "".join(f'<position joint="{name}" kp="{kp}" kv="{kd}"/>' for name in self.robot.joint_names)
        options = f'integrator="implicitfast" timestep="{DT}"'
        rest = f"<actuator>{drives}</actuator>"
        return mujoco.MjModel.from_xml_string(
            mjcf_of(self.robot, options=options, flags=flags, rest=rest, **more)
        )

    def mujoco_job(self, model: Any, steps: int, threads: int = 1) -> Callable[[], np.ndarray]:
        """A call of `mujoco.rollout` that returns all states (batch, steps, 1 + nq + nv)."""
        batch = len(self.q)
        qpos, qvel = px.convert.to_mujoco(self.robot, model, self.q, self.qd)
        start = np.concatenate([np.zeros((batch, 1)), qpos, qvel], axis=1)
        control = np.repeat(self.u[:, None], steps, axis=1)
        data = [mujoco.MjData(model) for _ in range(threads)]
        state = np.empty((batch, steps, start.shape[1]))
        pool = mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0)

        models = [model] * batch  # checks are skipped: all as the function wants it
        sensors = np.empty((batch, steps, model.nsensordata))
        warm = np.zeros((batch, model.nv))

        def run() -> np.ndarray:
            pool.rollout(
                models,
                data,
                start,
                control,
                skip_checks=True,
                nstep=steps,
                state=state,
                sensordata=sensors,
                initial_warmstart=warm,
            )
            return state

        return run

    def job(self, sim: Any, steps: int, *, every: int | None = None, threads: int = 1) -> Callable[[], Any]:
        kind = sim.dtype
        given = [np.ascontiguousarray(x, dtype=kind) for x in (self.q, self.qd, self.u[:, None])]
        every = steps if every is None else every
        out = sim.rollout(*given, steps=steps, every=every, threads=1)
        return lambda: sim.rollout(*given, steps=steps, every=every, threads=threads, out=out)


def panda(batch: int) -> Case:
    robot = px.load("panda")
    rng = np.random.default_rng(0)
    middle = 0.5 * (robot.limits.lower + robot.limits.upper)
    q = middle + rng.uniform(-0.3, 0.3, (batch, robot.nq))
    return Case(robot, q, middle + rng.uniform(-0.3, 0.3, q.shape), KP, KD)


def quadruped(batch: int) -> Case:
    robot = solo()
    rng = np.random.default_rng(0)
    bent = np.array([0.0, 0.8, -1.6] * 2 + [0.0, -0.8, 1.6] * 2)
    q = np.tile(np.concatenate([[0.0, 0.0, 0.28, 0.0, 0.0, 0.0, 1.0], bent]), (batch, 1))
    q[:, 7:] += rng.uniform(-0.1, 0.1, (batch, 12))
    return Case(robot, q, q[:, 7:].copy(), LEG_KP, LEG_KD)


def foot_geoms(robot: px.Robot) -> dict[str, str]:
    """A sphere for each foot, inside the link that carries it."""
    shapes = {}
    for foot in FEET:
        frame = robot.frame(foot)
        link = robot.link_names[frame.link]
        place = " ".join(map(repr, map(float, frame.pose.translation)))
        shapes[link] = (
            f'<geom type="sphere" size="{RADIUS}" pos="{place}" contype="1" conaffinity="2" mass="0"/>'
        )
    return shapes


FLOOR = '<geom type="plane" size="0 0 1" contype="2" conaffinity="1"/>'


# ------------------------------------------------------------------------ measuring


def interleaved(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median processor time of each job, by turns; short jobs run several times in a row."""
    bursts = {}
    for name, job in jobs.items():
        job()
        begin = time.perf_counter()
        job()
        bursts[name] = max(1, int(0.01 / (time.perf_counter() - begin)))
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            begin = time.process_time()
            for _ in range(bursts[name]):
                job()
            times[name].append((time.process_time() - begin) / bursts[name])
    return {name: median(found) for name, found in times.items()}


def best(jobs: dict[str, Callable[[], Any]], calls: int = 1000) -> dict[str, float]:
    """The least time of a call of each job by the clock, by turns: what threads do while they have their cores."""
    times = dict.fromkeys(jobs, float("inf"))
    for _ in range(calls):
        for name, job in jobs.items():
            begin = time.perf_counter()
            job()
            times[name] = min(times[name], time.perf_counter() - begin)
    return times


def independent(
    make: Callable[[], Callable[[], Any]], threads: int, turns: int = 1, tries: int = 400
) -> float:
    """How much more independent threads compute than one does, at best: what the machine allows."""
    jobs = [make() for _ in range(threads)]

    def seconds(count: int) -> float:
        """Of the slowest, all of them beginning together."""
        barrier, spent = threading.Barrier(count), []

        def run(job: Callable[[], Any]) -> None:
            barrier.wait()
            begin = time.perf_counter()
            for _ in range(turns):
                job()
            spent.append(time.perf_counter() - begin)

        workers = [threading.Thread(target=run, args=(job,)) for job in jobs[:count]]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return max(spent)

    one, many = (min(seconds(count) for _ in range(tries)) for count in (1, threads))
    return threads * one / many


# ------------------------------------------------------------------------ reporting


class Table:
    """Lines of 80 columns, printed as they come, and kept."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def head(self, title: str) -> None:
        print(f"\n{title}\n{'':46}{'ns a step':>10} {'M steps/s':>10} {'ratio':>8}")

    def row(self, title: str, seconds: float, steps: int, base: float | None = None) -> None:
        """`base` is the time of as many steps that this one is compared with."""
        ns = 1e9 * seconds / steps
        ratio = None if base is None else base / ns
        self.rows.append({"what": title, "ns": ns, "ratio": ratio})
        shown = "" if ratio is None else f"{ratio:8.2f}"
        print(f"{title:46}{ns:10.1f} {1e3 / ns:10.3f} {shown:>8}", flush=True)


def compare_panda(table: Table, batch: int, steps: int, rounds: int) -> None:
    case = panda(batch)
    robot, total = case.robot, batch * steps
    law = px.control.pd(KP, KD, gravity=False)
    wide, narrow = (
        robot.simulation(dt=DT, integrator="implicit", control=law, friction=False, limits=False, dtype=dtype)
        for dtype in ("float64", "float32")
    )
    theirs = case.mujoco_job(case.model(), steps)
    ours = case.job(wide, steps)
    held = px.convert.from_mujoco(robot, case.model(), theirs()[:, -1, 1 : 1 + robot.nq])
    gap = np.abs(held - ours().final[0]).max()
    kernel = robot.kernel("forward_dynamics")
    single = [np.ascontiguousarray(x) for x in (case.q, case.qd, case.u)]
    out = kernel(*single, threads=1)
    jobs = {
        "mujoco": theirs,
        "float64": ours,
        "all": case.job(wide, steps, every=1),
        "float32": case.job(narrow, steps),
        "kernel": lambda: kernel(*single, out=out, threads=1),
    }
    took = interleaved(jobs, rounds)
    base = 1e9 * took["mujoco"] / total
    table.head(f"panda, implicit PD, batch {batch}, {steps} steps of {DT} s, one thread")
    table.row("mujoco.rollout, implicitfast", took["mujoco"], total)
    table.row("phalanx float64, ratio to MuJoCo", took["float64"], total, base)
    table.row("phalanx float64, all recorded, to MuJoCo", took["all"], total, base)
    table.row("phalanx float32, to MuJoCo", took["float32"], total, base)
    table.row("  to phalanx float64", took["float32"], total, 1e9 * took["float64"] / total)
    table.row(
        "forward dynamics alone, to a step of the loop", took["kernel"], batch, 1e9 * took["float64"] / total
    )
    least = best({"one": ours, "two": case.job(wide, steps, threads=2)})
    table.row("phalanx, two threads, to one (both at best)", least["two"], total, 1e9 * least["one"] / total)
    print(f"joint angles after {steps} steps differ from MuJoCo's by {gap:.1e} rad at most")
    most = independent(lambda: case.job(wide, steps), 2)
    print(f"two independent threads, each with a batch of its own, reach {most:.2f} times one")
    table.rows.append({"what": "independent threads", "ratio": most})


def compare_quadruped(table: Table, batch: int, steps: int, rounds: int) -> None:
    case = quadruped(batch)
    robot, total = case.robot, batch * steps
    ground = px.contact.ground({foot: [[0.0, 0.0, -RADIUS]] for foot in FEET}, **GROUND)
    options = {
        "dt": DT,
        "integrator": "implicit",
        "control": legs,
        "controls": 12,
        "friction": False,
        "limits": False,
    }
    floor = case.model(flags="", world=FLOOR, geoms=foot_geoms(robot))
    jobs = {
        "mujoco": case.mujoco_job(case.model(), steps),
        "contacts": case.mujoco_job(floor, steps),
        "ground": case.job(robot.simulation(**options, forces=ground), steps),
        "free": case.job(robot.simulation(**options), steps),
    }
    took = interleaved(jobs, rounds)
    base = 1e9 * took["mujoco"] / total
    table.head(f"solo12 floating, legs held, batch {batch}, {steps} steps of {DT} s, one thread")
    table.row("mujoco.rollout, no contacts", took["mujoco"], total)
    table.row("mujoco.rollout, its own contacts", took["contacts"], total)
    table.row("phalanx, four ground points, to no contacts", took["ground"], total, base)
    table.row(
        "  to its own contacts (not the same work)", took["ground"], total, 1e9 * took["contacts"] / total
    )
    table.row("phalanx, no contacts", took["free"], total, base)


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(None if arguments is None else list(arguments))
    print(f"{conditions()}; {host().cpu}, {host().bits}-bit lanes; MuJoCo {mujoco.__version__}")
    table = Table()
    for compare in (compare_panda, compare_quadruped):
        compare(table, options.batch, options.steps, options.rounds)
    if options.json:
        facts = {"processor": processor(), "mujoco": mujoco.__version__, "date": date.today().isoformat()}
        options.json.write_text(json.dumps({**facts, "rows": table.rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
