# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast are OpenCL kernels on this processor beside native ones? PoCL on device arrays, the same threads.

    python benchmarks/opencl.py [--robot panda] [--batch 65536] [--threads 1] [--rounds 31]

Runs alternate; medians. With `--cpu` times are those of the processor, whatever else it is doing.
"""

from __future__ import annotations

import argparse
import os
import time

from machine import conditions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--batch", type=int, default=65536)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--cpu", action="store_true", help="processor time in place of wall-clock time")
    args = parser.parse_args()
    print(conditions())
    os.environ["POCL_MAX_PTHREAD_COUNT"] = str(args.threads)  # read when PoCL is loaded

    import numpy as np
    import pyopencl as cl
    import pyopencl.array as cl_array

    import phalanx as px

    devices = [d for p in cl.get_platforms() for d in p.get_devices(cl.device_type.CPU)]
    queue = cl.CommandQueue(cl.Context(devices[:1]))
    clock = time.process_time if args.cpu else time.perf_counter
    robot = px.load(args.robot)
    print(f"{robot.name}, {args.batch} states, {args.threads} threads, {devices[0].name.strip()}")
    print(
        f"{'function':20} {'dtype':8} {'build s':>8} {'native ns':>10} {'OpenCL ns':>10} {'ratio':>6}  bits"
    )
    for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        for dtype in ("float64", "float32"):
            native = robot.kernel(function, dtype=dtype)
            device = robot.kernel(function, dtype=dtype, device="opencl")
            state = robot.random_state(args.batch, rng=0)[: len(device._call.function.inputs)]
            inputs = [x.astype(dtype) for x in state]
            arrays = [cl_array.to_device(queue, x) for x in inputs]
            out, result = native(*inputs), device(*arrays)
            equal = np.array_equal(out, result.get())
            times: tuple[list[float], list[float]] = ([], [])
            for _ in range(args.rounds):
                start = clock()
                native(*inputs, out=out, threads=args.threads)
                middle = clock()
                device(*arrays, out=result)
                queue.finish()
                times[0].append(middle - start)
                times[1].append(clock() - middle)
            ours, theirs = (1e9 * float(np.median(t)) / args.batch for t in times)
            print(
                f"{function:20} {dtype:8} {device.compile_seconds:8.2f} {ours:10.1f} {theirs:10.1f} {ours / theirs:6.2f}  {'equal' if equal else 'differ'}"
            )


if __name__ == "__main__":
    main()
