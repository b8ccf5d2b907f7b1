# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Figs. 2, 3a and 3b of Yang, Wu and Pan on a device: one state in each work-group.

`band_sparsity.py --device opencl|cuda` calls it. The hybrid form computes articulated inertias on the host while
the device computes the bias; then the device runs both propagations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

import phalanx as px
from phalanx.algorithms.forward.abia import factors, propagated
from phalanx.algorithms.registry import ALGORITHMS, FUNCTIONS, Algorithm, Function
from phalanx.robot.model import Model

Job = Callable[[], Any]
PSI = tuple(f"psi{k}" for k in range(6))


def _factors(model: Model, q: Any) -> Any:
    psi, inverse = factors(model, q)
    return np.concatenate([psi, inverse], axis=-1).swapaxes(-1, -2)


def _propagated(model: Model, q: Any, tau: Any, bias: Any, *rows: Any) -> Any:
    *psi, inverse = (x[..., None] for x in rows)
    return propagated(model, q, model.bodies(tau - bias), np.concatenate(psi, axis=-1), inverse)


def register() -> None:
    """Register both halves of the hybrid as functions of their own, for this process."""
    v = ("v",)
    halves = {
        "articulated_factors": (_factors, {"q": ("q",)}, {"factors": ("7", "v")}),
        "propagations": (
            _propagated,
            {"q": ("q",), "tau": v, "bias": v, **dict.fromkeys((*PSI, "Di"), v)},
            {"qdd": v},
        ),
    }
    for name, (run, inputs, outputs) in halves.items():
        FUNCTIONS[name] = Function(name, inputs, outputs)
        ALGORITHMS[name] = {
            name: Algorithm(name, name, run, source="Yang, Wu, Pan 2017", topology="chain", bodies="rigid")
        }


def name_of(device: str) -> str:
    """The name of the device that computes."""
    if device == "opencl":
        from phalanx.backends.devices.opencl_programs import default_queue

        found = default_queue().device
        return f"{found.name.strip()}, {found.max_compute_units} compute units, {found.platform.version}"
    from phalanx.backends.devices.cuda_driver import driver

    gpu = driver()
    major, minor = gpu.capability(0)
    count = gpu.attribute(0, "MULTIPROCESSOR_COUNT")
    return f"GPU of compute capability {major}.{minor}, {count} multiprocessors"


class Hybrid:
    """The published hybrid: inertias on the host, bias on the device at the same time, then the scans."""

    def __init__(self, robot: px.Robot, device: str, group: int) -> None:
        self.bias = robot.kernel("inverse_dynamics", "scan", device=device, group=group)
        self.rest = robot.kernel("propagations", device=device, group=group)
        self.factors = robot.kernel("articulated_factors")
        self._host = ThreadPoolExecutor(1)

    def __call__(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        on_host = self._host.submit(self.factors, q)
        bias = self.bias(q, qd, np.zeros_like(qd))
        rows = on_host.result()
        found: np.ndarray = self.rest(q, tau, bias, *np.moveaxis(rows, -2, 0))
        return found


def kernels_of(robot: px.Robot, device: str, group: int, published: dict[str, Any]) -> dict[str, Any]:
    """The paper's three forms and `partition` with one state in each group, and ABA with one in each item."""
    made = {
        name: Hybrid(robot, device, group)
        if name == "hybrid ABIA"
        else robot.kernel("forward_dynamics", algorithm, device=device, group=group)
        for name, algorithm in published.items()
    }
    made["partition"] = robot.kernel("forward_dynamics", "partition", device=device, group=group)
    made["ABA, one state an item"] = robot.kernel("forward_dynamics", "aba", device=device)
    return made


def measure(
    device: str,
    group: int,
    points: list[tuple[str, int, int]],
    published: dict[str, Any],
    budget: float,
    best_of: Callable[[dict[str, Job], float], dict[str, float]],
) -> None:
    """Print milliseconds of one call, copies from and to NumPy's arrays included, and errors against ABA."""
    register()
    print(f"device: {name_of(device)}; {group} work-items a state; NumPy arrays, copies included", flush=True)
    made: dict[int, dict[str, Any]] = {}
    for figure, n, batch in points:
        robot = px.chain(n)
        if n not in made:
            start = time.perf_counter()
            made[n] = kernels_of(robot, device, group, published)
            print(f"{n} links: kernels built in {time.perf_counter() - start:.0f} s", flush=True)
        state = robot.random_state((batch,), rng=0)
        wanted = robot.forward_dynamics(*state, algorithm="aba")
        jobs: dict[str, Job] = {name: partial(k, *state) for name, k in made[n].items()}
        wrong = {name: np.abs(job() - wanted).max() / np.abs(wanted).max() for name, job in jobs.items()}
        jobs["ABA, native"] = robot.kernel("forward_dynamics", "aba").bind(*state, out=np.empty_like(wanted))
        times = best_of(jobs, budget)
        entries = ", ".join(
            f"{name} {t * 1e3:.3g}" + (f" (error {wrong[name]:.0e})" if name in wrong else "")
            for name, t in times.items()
        )
        print(f"Fig. {figure}: {n} links, {batch} chains [ms]: {entries}", flush=True)
