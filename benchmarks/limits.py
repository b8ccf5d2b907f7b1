# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How close do kernels come to the machine's peak of operations per second?

    python benchmarks/limits.py [--robots ur5 panda …] [--json FILE]

The peak is what a loop of independent fused multiply-adds reaches on this core, in the same run.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from machine import conditions
from peers import ROBOTS

from phalanx.backends.native.compile import host


def fma_peak(element: str = "double", chains: int = 16, rounds: int = 200_000) -> Callable[[], float]:
    """A function that measures additions and multiplications per second of independent multiply-adds."""
    target = host()
    lanes = target.lanes(8 if element == "double" else 4)
    v = f"<{lanes} x {element}>"
    kind = f"v{lanes}f{64 if element == 'double' else 32}"
    starts = "\n  ".join(
        f"%x{k} = phi {v} [ splat ({element} 1.0), %entry ], [ %y{k}, %loop ]" for k in range(chains)
    )
    steps = "\n  ".join(
        f"%y{k} = call {v} @llvm.fma.{kind}({v} %x{k}, {v} %a, {v} %a)" for k in range(chains)
    )
    total = [f"%t0 = fadd {v} %y0, %y1"] + [
        f"%t{k} = fadd {v} %t{k - 1}, %y{k + 1}" for k in range(1, chains - 1)
    ]
    newline = "\n  "
    text = f"""
target triple = "{target.triple}"
declare {v} @llvm.fma.{kind}({v}, {v}, {v})
define void @spin(ptr %place, i64 %rounds) "prefer-vector-width"="{target.bits}" "min-legal-vector-width"="{target.bits}" {{
entry:
  %a = load {v}, ptr %place, align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  {starts}
  {steps}
  %j = add i64 %i, 1
  %more = icmp ult i64 %j, %rounds
  br i1 %more, label %loop, label %end
end:
  {newline.join(total)}
  store {v} %t{chains - 2}, ptr %place, align 8
  ret void
}}"""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text), target.machine())
    engine.finalize_object()
    spin = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("spin"))
    place = np.full(lanes, 0.5, dtype=np.float64 if element == "double" else np.float32)

    def measure(keep: object = engine) -> float:
        place[:] = 0.5
        start = time.perf_counter()
        spin(place.ctypes.data, rounds)
        return 2 * chains * lanes * rounds / (time.perf_counter() - start)

    return measure


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--robots", nargs="*", default=["ur5", "panda", "talos", "anymal"], choices=list(ROBOTS)
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(conditions())
    peak = fma_peak()
    rows = []
    print(
        f"{'robot':19} {'function':17} {'ops':>6} {'instr':>6} {'moves':>6} {'ns':>7} {'Gop/s':>6} {'peak':>6} share"
    )
    for name in options.robots:
        pair = ROBOTS[name]()
        states = pair.states(1024)[0]
        for function in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
            kernel = pair.robot.kernel(function)
            inputs = states[: 1 if function == "mass_matrix" else 3]
            out = kernel(*inputs, threads=1)
            times, peaks = [], []
            for _ in range(15):
                peaks.append(peak())
                start = time.perf_counter()
                for _ in range(50):
                    kernel(*inputs, out=out, threads=1)
                times.append((time.perf_counter() - start) / 50 / 1024)
            seconds, best = statistics.median(times), statistics.median(peaks)
            # A sine and cosine together are 24 operations of our own polynomials and reduction.
            operations = kernel.cost.total + 12 * kernel.cost.trigonometric
            block = re.search(r"\nblock:(.*?)Lfunc_end", kernel.assembly(), re.S)
            lines = [
                x.split()[0] for x in (block.group(1) if block else "").splitlines() if x.startswith("\tv")
            ]
            moves = sum(x.startswith("vmov") for x in lines)
            rate = operations / seconds
            print(
                f"{pair.label:19} {function:17} {operations:6} {len(lines):6} {moves:6} {seconds * 1e9:7.1f} "
                f"{rate / 1e9:6.1f} {best / 1e9:6.1f} {rate / best:.2f}"
            )
            rows.append({"robot": pair.label, "function": function, "share": rate / best, "peak": best})
    if options.json:
        options.json.write_text(json.dumps({"rows": rows}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
