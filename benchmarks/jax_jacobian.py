# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What do analytic derivatives save on JAX: Jacobians and gradients of forward dynamics against XLA's own?

python benchmarks/jax_jacobian.py [--robot panda.urdf] [--batches 1 256]

Without a robot it is the Panda of example-robot-data, fingers included, if that is installed. Both ways take turns;
of several rounds the least counts. Compiling is processor seconds of tracing and compiling.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, files
from typing import Any

import jax
import jax.numpy as jnp
from machine import conditions

import phalanx as px

WAYS = ("xla", "analytic")
EVERY = (0, 1, 2)


def panda() -> str:
    """The file of example-robot-data, or the built-in robot."""
    try:
        own = [str(f.locate()) for f in files("example-robot-data") or () if f.name == "panda.urdf"]
    except PackageNotFoundError:
        own = []
    return own[0] if own else "panda"


def compiled(f: Callable[..., Any], inputs: list[Any]) -> tuple[float, Any]:
    """(processor seconds, program), with nothing left of the last time."""
    jax.clear_caches()
    start = time.process_time()
    program = jax.jit(f).lower(*inputs).compile()
    return time.process_time() - start, program


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default=None)
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(conditions())
    robot = px.load(options.robot or panda())
    print(f"jax {jax.__version__}, {jax.default_backend()}, {robot!r}")
    print(
        f"{'derivative':15} {'dtype':8} {'batch':>5} {'compile: xla':>13} {'analytic':>9} {'run: xla':>11} {'analytic':>11}  ratios"
    )
    for dtype in (jnp.float64, jnp.float32):
        for batch in options.batches:
            inputs = [jnp.asarray(x, dtype) for x in robot.random_state((batch,) if batch > 1 else (), rng=0)]
            for name, make in DERIVATIVES.items():
                if batch > 1 and name not in ("jacobian", "gradient"):
                    continue
                row = measured(robot, make, inputs, options.rounds)
                (c0, r0), (c1, r1) = (row[way] for way in WAYS)
                print(
                    f"{name:15} {jnp.dtype(dtype).name:8} {batch:5} {c0:11.2f} s {c1:7.2f} s {r0 * 1e6:8.0f} us {r1 * 1e6:8.0f} us"
                    f"  {c1 / c0:.2f} {r1 / r0:.2f}",
                    flush=True,
                )


DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "jacobian": lambda f: jax.jacobian(f, argnums=EVERY),
    "jacobian of q": jax.jacobian,
    "jacfwd": lambda f: jax.jacfwd(f, argnums=EVERY),
    "gradient": lambda f: jax.grad(lambda *x: (f(*x) ** 2).sum(), argnums=EVERY),
}


def measured(robot: px.Robot, make: Callable[[Any], Any], inputs: list[Any], rounds: int) -> dict[str, Any]:
    """For each way the least (compile seconds, run seconds)."""
    best = {way: (float("inf"), float("inf")) for way in WAYS}
    for _ in range(rounds):
        programs = {}
        for way in WAYS:
            f = make(lambda *x, way=way: robot.jax.forward_dynamics(*x, derivatives=way))
            f = jax.vmap(f) if inputs[0].ndim > 1 else f
            seconds, programs[way] = compiled(f, inputs)
            best[way] = (min(best[way][0], seconds), best[way][1])
        for _ in range(200 if inputs[0].ndim == 1 else 20):
            for way, program in programs.items():
                start = time.perf_counter()
                jax.block_until_ready(program(*inputs))
                best[way] = (best[way][0], min(best[way][1], time.perf_counter() - start))
    return best


if __name__ == "__main__":
    main()
