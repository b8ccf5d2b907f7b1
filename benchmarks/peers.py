# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast is Phalanx beside Pinocchio, MuJoCo and CasADi-generated C, in one run?

    python benchmarks/peers.py [--robots ur5 panda …] [--threads N] [--json FILE] [--plot FILE] [--casadi]

Every engine gets the same states. Runs are interleaved; each measurement is a burst of calls,
because wide vector units need some ten microseconds to wake up; the median of all bursts counts.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import timeit
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pinocchio as pin
from machine import conditions, processor

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering

SHARE = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix")


class Pair:
    """A robot loaded by Phalanx and by Pinocchio, with states for both."""

    def __init__(self, label: str, file: str, *, floating: bool = False, lock: tuple[str, ...] = ()) -> None:
        self.label = label
        path = find(file)
        joint = (pin.JointModelFreeFlyer(),) if floating else ()
        model = pin.buildModelFromUrdf(str(path), *joint)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", px.PhalanxWarning)
            robot = px.load(path, floating_base=floating, mimic="independent")
        if lock:
            model = pin.buildReducedModel(model, [model.getJointId(j) for j in lock], pin.neutral(model))
            robot = robot.fix(dict.fromkeys(lock, 0.0))
        self.robot, self.model = robot, model

    def states(self, batch: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The same random states in the order of each engine (Pinocchio: one column per state)."""
        q, qd, qdd = self.robot.random_state(batch, rng=0)
        theirs = px.convert.to_pinocchio(self.robot, self.model, q, qd, qdd)
        return [q, qd, qdd], [np.asfortranarray(np.asarray(x).T) for x in theirs]


class BuiltIn(Pair):
    """A robot of Phalanx's own; Pinocchio gets the URDF that is written of it."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.robot = px.load(label)
        self.model = pin.buildModelFromXML(self.robot.to_urdf())


class Chain(Pair):
    """A generated chain; Pinocchio gets the same links and joints."""

    def __init__(self, n: int) -> None:
        self.label = f"chain{n}"
        self.robot = px.chain(n)
        self.model = pinocchio_chain(self.robot)


def pinocchio_chain(robot: px.Robot) -> Any:
    model = pin.Model()
    links = {link.name: link for link in robot.description.links}
    above = 0
    for joint in robot.description.joints:
        place = pin.SE3(np.reshape(joint.origin.rotation, (3, 3)), np.array(joint.origin.translation))
        axis = np.array(joint.axis) / np.linalg.norm(joint.axis)
        above = model.addJoint(above, pin.JointModelRevoluteUnaligned(axis), place, joint.name)
        link = links[joint.child]
        xx, xy, xz, yy, yz, zz = link.inertia
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        model.appendBodyToJoint(
            above, pin.Inertia(link.mass, np.array(link.com), inertia), pin.SE3.Identity()
        )
    return model


def find(name: str) -> Path:
    roots = [SHARE, *(Path(p) for p in sys.path if p)]
    for root in roots:
        found = sorted(glob.glob(str(root / "**" / name), recursive=True))
        if found:
            return Path(found[0])
    raise SystemExit(f"{name} not found; install example-robot-data")


ROBOTS: dict[str, Callable[[], Pair]] = {
    "ur5": lambda: Pair("ur5", "ur5_robot.urdf"),
    "panda": lambda: Pair("panda", "panda.urdf", lock=("panda_finger_joint1", "panda_finger_joint2")),
    "iiwa": lambda: BuiltIn("iiwa14"),
    "talos": lambda: Pair("talos", "talos_reduced.urdf"),
    "anymal": lambda: Pair("anymal (floating)", "anymal.urdf", floating=True),
    "solo12": lambda: Pair("solo12 (floating)", "solo12.urdf", floating=True),
    "chain200": lambda: Chain(200),
}


# ------------------------------------------------------------------------ jobs


def pinocchio_jobs(pair: Pair, batch: int, threads: int) -> dict[str, Callable[[], Any]]:
    _, (q, v, a) = pair.states(batch)
    pool = pin.ModelPool(pair.model, threads)
    out = np.zeros((pair.model.nv, batch), order="F")
    data = pair.model.createData()
    columns = [np.ascontiguousarray(q[:, k]) for k in range(min(batch, 64))]

    def crba() -> None:
        # There is no batched call; the loop's own cost is measured and taken off below.
        for x in columns:
            pin.crba(pair.model, data, x)

    return {
        "inverse_dynamics": lambda: pin.rneaInParallel(threads, pool, q, v, a, out),
        "forward_dynamics": lambda: pin.abaInParallel(threads, pool, q, v, a, out),
        "mass_matrix": crba,
    }


def phalanx_jobs(
    pair: Pair, batch: int, threads: int, dtype: str = "float64"
) -> dict[str, Callable[[], Any]]:
    states = [x.astype(dtype) for x in pair.states(batch)[0]]
    jobs = {}
    for name in FUNCTIONS:
        kernel = pair.robot.kernel(name, dtype=dtype)
        inputs = states[: 1 if name == "mass_matrix" else 3]
        out = kernel(*inputs, threads=1)
        jobs[name] = lambda k=kernel, x=inputs, out=out: k(*x, out=out, threads=threads)
    return jobs


def mujoco_jobs(pair: Pair, batch: int) -> dict[str, Callable[[], Any]]:
    """MuJoCo's own recursions on a model of the same size; its loaders keep no URDF joint order."""
    import mujoco

    try:
        model = mujoco.MjModel.from_xml_string(bare_mjcf(pair.robot))
    except ValueError:
        return {}
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    data.qpos[:] = rng.standard_normal(model.nq)
    data.qvel[:] = rng.standard_normal(model.nv)
    result = np.zeros(model.nv)

    def inverse() -> None:
        for _ in range(32):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 1, result)

    def inertia() -> None:
        for _ in range(32):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_crb(model, data)

    return {"inverse_dynamics": inverse, "mass_matrix": inertia}


def bare_mjcf(robot: px.Robot) -> str:
    """A chain of hinges with as many joints: enough for a fair time of MuJoCo's recursions."""
    body = '<body pos="0 0 0.1"><joint axis="0 {y} {z}"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.1"/>'
    text = "".join(body.format(y=k % 2, z=1 - k % 2) for k in range(robot.nv)) + "</body>" * robot.nv
    return f"<mujoco><worldbody>{text}</worldbody></mujoco>"


CASADI_STATES = 256
CASADI_ALGORITHMS = {"inverse_dynamics": "newton_euler", "forward_dynamics": "aba"}


def casadi_function(robot: px.Robot, function: str, folder: str) -> Any:
    """The textbook's equations on CasADi's symbols, as C code compiled by the system's compiler."""
    import casadi

    call = resolve(robot, function, CASADI_ALGORITHMS[function])
    symbols = [
        casadi.SX.sym(name, size) for name, size in zip("abc", (robot.nq, robot.nv, robot.nv), strict=True)
    ]
    inputs = [np.array([x[k] for k in range(x.shape[0])], dtype=object) for x in symbols]
    model = robot.model.cast(lambda array: array.astype(object))
    with ordering(Sequential(model.parents, model.pattern)):
        result = call.algorithm(model, *inputs)
    name = f"f{robot.nv}_{function}"
    expression = casadi.Function(name, symbols, [casadi.vertcat(*np.asarray(result).ravel().tolist())])
    generator = casadi.CodeGenerator(f"{name}.c")
    generator.add(expression)
    generator.generate(folder + os.sep)
    source = Path(folder) / f"{name}.c"
    library = source.with_suffix(".so")
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source], check=True)
    return casadi.external(name, str(library))


def casadi_functions(name: str, folder: str) -> dict[str, Any]:
    """By function; none for robots whose C code takes minutes to compile."""
    robot = ROBOTS[name]().robot
    return {f: casadi_function(robot, f, folder) for f in CASADI_ALGORITHMS} if robot.nv < 10 else {}


def casadi_job(function: Any, inputs: list[np.ndarray], out: np.ndarray) -> Callable[[], Any]:
    """A call with bound buffers: CasADi's fastest way in."""
    buffer, run = function.buffer()
    for k, x in enumerate(inputs):
        buffer.set_arg(k, memoryview(x))
    buffer.set_res(0, memoryview(out))
    run()
    return lambda keep=(buffer, inputs, out, function): run()


def casadi_jobs(functions: dict[str, Any], pair: Pair) -> dict[str, Callable[[], Any]]:
    """Mapped over a batch; results are checked against ours before anything is timed."""
    states, _ = pair.states(CASADI_STATES)
    jobs = {}
    for name, function in functions.items():
        out = np.zeros((CASADI_STATES, pair.robot.nv))
        jobs[name] = casadi_job(function.map(CASADI_STATES, "serial"), states, out)
        np.testing.assert_allclose(out, getattr(pair.robot, name)(*states), rtol=1e-6, atol=1e-6)
    return jobs


# ------------------------------------------------------------------------ measuring


def interleaved(jobs: dict[str, tuple[Callable[[], Any], int]], seconds: float = 2.0) -> dict[str, float]:
    """Median nanoseconds per state of each job, in bursts of about ten milliseconds."""
    bursts = {}
    for label, (job, _) in jobs.items():
        job()
        start = time.perf_counter()
        job()
        bursts[label] = max(1, min(200, int(0.01 / (time.perf_counter() - start + 1e-9))))
    times: dict[str, list[float]] = {label: [] for label in jobs}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(next(iter(times.values()))) < 5:
        for label, (job, states) in jobs.items():
            start = time.perf_counter()
            for _ in range(bursts[label]):
                job()
            times[label].append((time.perf_counter() - start) / bursts[label] / states * 1e9)
    return {label: statistics.median(values) for label, values in times.items()}


def measure(name: str, batch: int, threads: int, seconds: float, generated: dict[str, Any]) -> dict[str, Any]:
    pair = ROBOTS[name]()
    batch = 256 if pair.robot.nv > 100 else batch
    ours = phalanx_jobs(pair, batch, threads)
    ours32 = phalanx_jobs(pair, batch, threads, "float32")
    pinocchio = pinocchio_jobs(pair, batch, threads)
    mujoco = mujoco_jobs(pair, batch) if threads == 1 else {}
    casadi = casadi_jobs(generated, pair) if threads == 1 else {}
    rows = {}
    for f in FUNCTIONS:
        jobs = {"phalanx": (ours[f], batch), "phalanx float32": (ours32[f], batch)}
        jobs["pinocchio"] = (pinocchio[f], min(batch, 64) if f == "mass_matrix" else batch)
        if f in mujoco:
            jobs["mujoco"] = (mujoco[f], 32)
        if f in casadi:
            jobs["casadi"] = (casadi[f], CASADI_STATES)
        rows[f] = interleaved(jobs, seconds)
    return {"robot": pair.label, "nv": pair.robot.nv, "batch": batch, "threads": threads, "ns": rows}


def latency(name: str, generated: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Microseconds of one state from Python."""
    pair = ROBOTS[name]()
    (q, qd, x), _ = pair.states(1)
    q, qd, x = q[0].copy(), qd[0].copy(), x[0].copy()
    theirs = [np.ascontiguousarray(c[:, 0]) for c in pair.states(1)[1]]
    data = pair.model.createData()
    result: dict[str, dict[str, float]] = {}
    for f, peer in (("inverse_dynamics", pin.rnea), ("forward_dynamics", pin.aba)):
        kernel = pair.robot.kernel(f)
        method = getattr(pair.robot, f)
        step = kernel.bind(q, qd, x, out=np.zeros(pair.robot.nv))
        method(q, qd, x)
        jobs: dict[str, Callable[[], Any]] = {
            "pinocchio": lambda peer=peer: peer(pair.model, data, *theirs),
            "kernel": lambda k=kernel: k(q, qd, x),
            "method": lambda m=method: m(q, qd, x),
            "bound": step,
        }
        if f in generated:
            jobs["casadi bound"] = casadi_job(generated[f], [q, qd, x], np.zeros(pair.robot.nv))
        best = dict.fromkeys(jobs, float("inf"))
        for _ in range(15):
            for label, job in jobs.items():
                best[label] = min(best[label], timeit.timeit(job, number=4000) / 4000 * 1e6)
        result[f] = best
    return result


# ------------------------------------------------------------------------ reporting


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        f"{'robot':19} {'function':17} {'thr':>3} {'phalanx':>9} {'pinocchio':>10} {'ratio':>6} {'f32 gain':>8}  others"
    ]
    for r in results:
        for f, ns in r["ns"].items():
            others = ", ".join(f"{k} {v:.0f}" for k, v in ns.items() if k in ("mujoco", "casadi"))
            lines.append(
                f"{r['robot']:19} {f:17} {r['threads']:3} {ns['phalanx']:7.1f}ns {ns['pinocchio']:8.0f}ns "
                f"{ns['pinocchio'] / ns['phalanx']:6.1f} {ns['phalanx'] / ns['phalanx float32']:8.2f}  {others}"
            )
    return "\n".join(lines)


def plot(results: list[dict[str, Any]], path: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [r for r in results if r["threads"] == 1]
    figure, axes = plt.subplots(figsize=(8, 3.6))
    width, colours = 0.26, ("#0072B2", "#E69F00", "#009E73")
    for k, f in enumerate(FUNCTIONS):
        ratios = [r["ns"][f]["pinocchio"] / r["ns"][f]["phalanx"] for r in rows]
        places = np.arange(len(rows)) + (k - 1) * width
        bars = axes.bar(places, ratios, width, label=f.replace("_", " "), color=colours[k])
        axes.bar_label(bars, fmt="%.0f", fontsize=7)
    axes.set_xticks(range(len(rows)), [f"{r['robot']}\n{r['nv']} dof" for r in rows], fontsize=8)
    axes.set_ylabel("times Pinocchio, one core")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=160)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robots", nargs="*", default=list(ROBOTS), choices=list(ROBOTS))
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--threads", type=int, nargs="*", default=[1])
    parser.add_argument("--seconds", type=float, default=2.0, help="per robot and function")
    parser.add_argument(
        "--casadi", action="store_true", help="compile CasADi's C too (half a minute a robot)"
    )
    parser.add_argument("--json")
    parser.add_argument("--plot")
    options = parser.parse_args()
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        generated = {
            name: casadi_functions(name, folder) if options.casadi else {} for name in options.robots
        }
        results = [
            measure(name, options.batch, threads, options.seconds, generated[name])
            for threads in options.threads
            for name in options.robots
        ]
        print(table(results))
        single = {name: latency(name, generated[name]) for name in options.robots if name in ("ur5", "panda")}
    for name, rows in single.items():
        for f, best in rows.items():
            entries = ", ".join(f"{k} {v:.2f} us ({v / best['pinocchio']:.2f})" for k, v in best.items())
            print(f"one state, {name}, {f}: {entries}")
    facts = {"date": date.today().isoformat(), "machine": platform.machine()}
    facts |= {
        "cpu": processor(),
        "numpy": np.__version__,
        "pinocchio": pin.__version__,
        "phalanx": px.__version__,
    }
    if options.json:
        Path(options.json).write_text(
            json.dumps({**facts, "batch": results, "one_state_us": single}, indent=1)
        )
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
