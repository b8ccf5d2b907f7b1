# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How fast does exported WebAssembly run in Node, one thread, beside kernels on the same core?

    python benchmarks/webassembly.py [--robot panda]

For each function and precision: million states a second of a batch of 1024 in the module's memory, of typed
arrays that are copied in and out, of one state at a time in place, and of the kernel. Medians of interleaved runs.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from machine import conditions

import phalanx as px
from phalanx.backends.native.compile import host
from phalanx.export.api import entries

FUNCTIONS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "gravity_forces",
    "forward_dynamics_derivatives",
)
COUNT, ROUNDS = 1024, 9
SCRIPT = """
import { load, info } from "./arm.mjs";
const arm = await load();
const rate = (states, work) => {
  const times = [];
  for (let r = 0; r < %d; ++r) {
    let loops = 0;
    const start = performance.now();
    do { work(); ++loops; } while (performance.now() - start < 30);
    times.push((performance.now() - start) / loops);
  }
  return states / times.sort((a, b) => a - b)[times.length >> 1] / 1e3;
};
const found = {};
for (const [name, f] of Object.entries(info.functions)) {
  const rows = arm.rows(name, %d), one = arm.rows(name, 1);
  const inputs = Object.keys(f.inputs);
  for (const key of inputs) rows[key].forEach((_, k, a) => (a[k] = Math.sin(k)));
  const given = inputs.map((key) => rows[key].slice());
  found[name] = [rate(rows.count, rows.run), rate(rows.count, () => arm[name](...given)), rate(1, one.run)];
}
console.log(JSON.stringify(found));
"""


def in_node(folder: Path) -> dict[str, list[float]]:
    """Million states a second in Node: in place, copied, one by one."""
    (folder / "time.mjs").write_text(SCRIPT % (ROUNDS, COUNT))
    done = subprocess.run(["node", "time.mjs"], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def of_kernel(robot: px.Robot, function: str, dtype: str) -> float:
    """Million states a second of the kernel, one thread."""
    kernel = robot.kernel(function, dtype=dtype)
    (entry,) = entries(robot, function)
    inputs = [np.sin(np.arange(COUNT * n, dtype=dtype)).reshape(COUNT, n) for (n,) in entry.inputs.values()]
    times = []
    for _ in range(ROUNDS * 20):
        start = time.perf_counter()
        kernel(*inputs, threads=1)
        times.append(time.perf_counter() - start)
    return COUNT / statistics.median(times) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--robot", default="panda")
    args = parser.parse_args()
    print(conditions())
    robot = px.load(args.robot)
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{robot.name}, Node {node}, {host().cpu}, {platform.machine()}; million states a second\n")
    print(
        "| Function | Precision | Size | Batch in place | Batch copied | One by one | Kernel |\n|---|---|---|---|---|---|---|"
    )
    for dtype in ("float64", "float32"):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            sizes = {}
            for function in FUNCTIONS:
                sizes[function] = robot.export(folder / "arm.wasm", function, dtype=dtype)[0].stat().st_size
            robot.export(folder / "arm.wasm", FUNCTIONS, dtype=dtype)
            for function, rates in in_node(folder).items():
                cells = " | ".join(f"{x:.2f}" for x in (*rates, of_kernel(robot, function, dtype)))
                print(f"| `{function}` | {dtype} | {sizes[function] / 1024:.0f} KB | {cells} |")


if __name__ == "__main__":
    main()
