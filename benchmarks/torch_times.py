# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What do PyTorch's tensors and gradients cost on top of the kernels?

python benchmarks/torch_times.py [--robot panda] [--batches 1 1024]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from machine import conditions

import phalanx as px


def best(f: Callable[[], Any], repeats: int = 2000) -> float:
    """The least microseconds of many calls."""
    least = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        f()
        least = min(least, time.perf_counter() - start)
    return least * 1e6


def gradients(robot: px.Robot, inputs: list[Any], weights: Any) -> Any:
    """Those of the sum of all results."""
    return torch.autograd.grad(robot.torch.forward_dynamics(*inputs), inputs, weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 1024])
    options = parser.parse_args()
    print(conditions())
    torch.set_num_threads(1)
    px.set_threads(1)
    robot = px.load(options.robot)
    print(f"torch {torch.__version__}, {robot!r}, forward dynamics, one thread, microseconds a call")
    print(
        f"{'dtype':8} {'batch':>6} {'kernel':>8} {'torch':>8} {'vjp kernel':>11} {'forward and backward':>21}"
    )
    for dtype in ("float64", "float32"):
        kernel = robot.kernel("forward_dynamics", dtype=dtype)
        vjp = kernel.vjp
        for batch in options.batches:
            arrays = [x.astype(dtype) for x in robot.random_state((batch,) if batch > 1 else (), rng=0)]
            plain = [torch.from_numpy(x) for x in arrays]
            inputs = [torch.from_numpy(x.copy()).requires_grad_() for x in arrays]
            weights = torch.ones_like(plain[2])
            cotangent = np.ones_like(arrays[2])

            times = [
                best(partial(kernel, *arrays)),
                best(partial(robot.torch.forward_dynamics, *plain)),
                best(partial(vjp, *arrays, cotangent)),
                best(partial(gradients, robot, inputs, weights)),
            ]
            print(
                f"{dtype:8} {batch:6} {times[0]:8.1f} {times[1]:8.1f} {times[2]:11.1f} {times[3]:21.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
