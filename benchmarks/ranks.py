# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How long does the forward dynamics of a long chain take on the ranks of an MPI job, against one process?

    python benchmarks/ranks.py                  # the kernel of the whole robot in one process
    mpiexec -n 2 python benchmarks/ranks.py     # each rank has its part
    mpiexec -n 2 python benchmarks/ranks.py --check     # and rank 0 compares with the whole robot

A state is a travelling wave along a snake of `--links` links, without joint forces.
"""

from __future__ import annotations

import argparse
import resource
import sys
from time import perf_counter

import numpy as np
from machine import conditions, processor

import phalanx as px


def wave(first: int, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions, rates and forces of joints `first` to `end`: a wave that all lengths of chains share."""
    phase = 2.0 * np.pi * np.arange(first, end) / 1000.0
    return 0.05 * np.sin(phase), 0.01 * np.cos(phase), np.zeros(end - first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--whole", action="store_true", help="one process, by the kernel of the whole robot")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    n = options.links
    begun = perf_counter()
    if options.whole:
        robot = px.snake(n)
        kernel = robot.kernel("forward_dynamics", "partition", batch=1)
        state, rank, size = wave(0, n), 0, 1

        def step() -> np.ndarray:
            return np.asarray(kernel(*state))
    else:
        from mpi4py import MPI

        rank, size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
        # Axes alternate: parts of even length continue the snake.
        ends = [2 * (k * n // (2 * size)) for k in range(size)] + [n]
        chain = px.DistributedChain(px.snake(ends[rank + 1] - ends[rank]))
        state = wave(ends[rank], ends[rank + 1])

        def step() -> np.ndarray:
            return chain.forward_dynamics(*state)

    qdd = step()
    ready = perf_counter() - begun
    seconds = []
    for _ in range(options.repeats):
        if size > 1:
            MPI.COMM_WORLD.Barrier()
        before = perf_counter()
        step()
        seconds.append(perf_counter() - before)
    if rank == 0:
        print(conditions(), file=sys.stderr)
        how = "the kernel of the whole robot" if options.whole else f"{size} ranks"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{processor()}, {n} links, {how}: {1e3 * min(seconds):.2f} ms a state (median "
            f"{1e3 * np.median(seconds):.2f}), ready after {ready:.1f} s, {memory:.1f} GB a process"
        )
    if options.check and not options.whole:
        parts = MPI.COMM_WORLD.gather(qdd)
        if rank == 0:
            whole = px.snake(n).forward_dynamics(*wave(0, n))
            print(
                f"differs from one process by {np.abs(np.concatenate(parts) - whole).max() / np.abs(whole).max():.1e}"
            )


if __name__ == "__main__":
    main()
