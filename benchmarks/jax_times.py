# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How long do functions on JAX compile and run, and when do native kernels called back pay?

python benchmarks/jax_times.py [--robot panda] [--batches 1 64 1024 16384]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from machine import conditions

import phalanx as px


def measured(f: Callable[..., Any], inputs: list[Any], repeats: int) -> tuple[float, float]:
    """(processor seconds of compiling, best seconds of a run)."""
    start = time.process_time()
    program = jax.jit(f).lower(*inputs).compile()
    compiling = time.process_time() - start
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(program(*inputs))
        best = min(best, time.perf_counter() - start)
    return compiling, best


def gradient(f: Callable[..., Any], q: Any, *others: Any) -> Any:
    """The gradient by q of the sum of all results."""
    return jax.grad(lambda q: f(q, *others).sum())(q)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64, 1024, 16384])
    options = parser.parse_args()
    print(conditions())
    robot = px.load(options.robot)
    print(f"jax {jax.__version__}, {jax.default_backend()}, {robot!r}, float64")
    print(f"{'function':18} {'batch':>6} {'way':>18} {'compile':>9} {'per state':>12}")
    for function in ("inverse_dynamics", "mass_matrix", "forward_dynamics"):
        plain = getattr(robot.jax, function)
        ways = {
            "sequential": plain,
            "gradient": partial(gradient, plain),
            "native, called back": getattr(robot.jax.native, function),
        }
        for batch in options.batches:
            state = robot.random_state((batch,), rng=0)
            inputs = list(state[:1] if function == "mass_matrix" else state)
            for way, f in ways.items():
                compiling, best = measured(f, inputs, 30 if batch < 5000 else 8)
                print(
                    f"{function:18} {batch:6} {way:>19} {compiling:7.1f} s {best / batch * 1e6:9.2f} us",
                    flush=True,
                )


if __name__ == "__main__":
    main()
