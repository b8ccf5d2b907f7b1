# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a machine must be able to do, run on that machine: one line of JSON for each check.

    python tests/emulated/check.py demo kernels threads rollouts bits

It needs Phalanx, NumPy and llvmlite only. `bits` prints digests of results, for another machine to compare.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import phalanx as px
from phalanx.backends.native.compile import host
from phalanx.simulation.integrators import names

ROBOTS = ("two_link", "puma560", "panda", "ur5")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_forces", "mass_matrix_inverse")
DTYPES = ("float64", "float32")
BATCH = 37  # full registers of any width, and a rest


def states(robot: Any, function: str, dtype: str, batch: int = BATCH) -> list[np.ndarray]:
    """Inputs that have the same bits everywhere: multiples of 1/1024 between -2 and 2."""
    rng = np.random.default_rng(7)
    count = {"mass_matrix": 1, "mass_matrix_inverse": 1, "bias_forces": 2}.get(function, 3)
    draws = [rng.integers(-2048, 2049, (batch, robot.nv)) for _ in range(count)]
    return [(draw / 1024.0).astype(dtype) for draw in draws]


def demo() -> Iterator[tuple[str, bool]]:
    """The command of the README, on fewer states."""
    for robot in ("puma560", "panda"):
        command = [sys.executable, "-m", "phalanx", "demo", robot, "--batch", "2000", "--json"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        yield robot, run.returncode == 0 and len(json.loads(run.stdout)["joints"]) >= 6


def kernels() -> Iterator[tuple[str, bool]]:
    """Compiled code against NumPy: the batch, and each state alone with the same bits."""
    for name in ROBOTS:
        robot = px.load(name)
        for function in FUNCTIONS:
            for dtype in DTYPES:
                arrays = states(robot, function, dtype)
                kernel = robot.kernel(function, dtype=dtype)
                found = kernel(*arrays)
                alone = np.array([kernel(*(a[i].copy() for a in arrays)) for i in range(BATCH)])
                wanted = getattr(robot, function)(*(a.astype(float) for a in arrays), backend="numpy")
                # Errors of float32 in forward dynamics grow with the condition of M.
                close = np.abs(found - wanted).max() <= np.abs(wanted).max() * (
                    1e-10 if dtype == "float64" else 1e-2
                )
                yield f"{name} {function} {dtype}", bool(close and np.array_equal(found, alone))


def threads() -> Iterator[tuple[str, bool]]:
    """Any number of threads gives the bits of one."""
    for name in ("puma560", "panda"):
        robot = px.load(name)
        for function in ("inverse_dynamics", "forward_dynamics"):
            arrays = states(robot, function, "float64", 20_000)
            wanted = getattr(robot, function)(*arrays, threads=1)
            for count in (2, 3, 4):
                found = getattr(robot, function)(*arrays, threads=count)
                yield f"{name} {function} on {count}", np.array_equal(found, wanted)


def rollouts() -> Iterator[tuple[str, bool]]:
    """Rollouts are their own steps one after another; a batch has the bits of its simulations."""
    for name in ("two_link", "panda"):
        robot = px.load(name)
        q, qd = states(robot, "bias_forces", "float64", 5)
        for integrator in (name for name in names() if name != "variational"):  # which compiles long
            sim = robot.simulation(dt=1e-3, integrator=integrator, limits=False)
            run = sim.rollout(q, qd, steps=20)
            a, b = q, qd
            for _ in range(20):
                a, b = sim.step(a, b)
            alone = sim.rollout(q[2], qd[2], steps=20)
            yield (
                f"{name} {integrator} steps",
                bool(
                    np.allclose(run.final[0], a, rtol=1e-12, atol=1e-12)
                    and np.allclose(run.final[1], b, rtol=1e-11, atol=1e-11)
                    and np.isfinite(run.q).all()
                ),
            )
            yield f"{name} {integrator} alone", np.array_equal(run.q[2], alone.q)


def digests() -> dict[str, str]:
    """Digests of robots and of what their kernels compute."""
    found = {}
    for name in ROBOTS:
        robot = px.load(name)
        found[name] = robot.digest
        for function in FUNCTIONS:
            for dtype in DTYPES:
                result = robot.kernel(function, dtype=dtype)(*states(robot, function, dtype))
                found[f"{name} {function} {dtype}"] = hashlib.sha256(result.tobytes()).hexdigest()
    for name in ("two_link", "panda"):
        robot = px.load(name)
        run = robot.simulation().rollout(*states(robot, "bias_forces", "float64", 5), steps=50)
        found[f"{name} rollout"] = hashlib.sha256(run.q.tobytes()).hexdigest()
    return found


CHECKS: dict[str, Callable[[], Iterator[tuple[str, bool]]]] = {
    "demo": demo,
    "kernels": kernels,
    "threads": threads,
    "rollouts": rollouts,
}


def main(names: list[str]) -> int:
    """Print a line of JSON for the machine and for each check; exit status 0 if all passed."""
    target = host()
    machine = {
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "triple": target.triple,
        "cpu": target.cpu,
        "bits": target.bits,
        "fma": target.fma,
    }
    print(json.dumps({"machine": machine}), flush=True)
    wrong = 0
    for name in names:
        if name == "bits":
            print(json.dumps({"check": name, "digests": digests()}), flush=True)
            continue
        passed, failed = 0, []
        try:
            for case, fine in CHECKS[name]():
                passed += fine
                failed += [] if fine else [case]
        except Exception:
            failed.append(traceback.format_exc(limit=-3))
        wrong += len(failed)
        print(json.dumps({"check": name, "passed": passed, "failed": failed}), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or [*CHECKS, "bits"]))
