# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What do pipelines in Verilog take: clocks, units, registers, cells of an FPGA, and how large is their error?

    python benchmarks/hardware.py                        prints the tables
    python benchmarks/hardware.py --cells generic xilinx ecp5    and counts cells by Yosys, which takes minutes
    python benchmarks/hardware.py --write                and writes them into docs/hardware.md

Errors are measured on the circuit's own integers against the kernels in double precision.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from machine import conditions

import phalanx as px
from phalanx.export import verilog
from phalanx.export.api import entries

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "export")]

from test_verilog import leg  # noqa: E402

from reference.examples import example  # noqa: E402

PAGE = ROOT / "docs" / "hardware.md"
STATES = 1_000_000  # of which half are random, and half have rates and forces at their limits
_CHUNK = 10_000
ROBOTS = {
    "two_link": lambda: px.load("two_link"),
    "quadruped's leg (3 joints)": leg,
    "UR5": lambda: px.load("ur5"),
    "Panda": lambda: px.load("panda"),
    "ANYmal, fixed base": lambda: example("anymal.urdf"),
}
INTERVALS = (1, 2, 4, 8, 16, 32)


def functions_of(name: str, robot: px.Robot) -> list[str]:
    few = ["inverse_dynamics", "mass_matrix", f"jacobian:{robot.link_names[-1]}"]
    if name.startswith("ANYmal"):
        return few[:1]
    return few + (["forward_dynamics"] if name != "two_link" else [])


def worst(robot: px.Robot, function: str, d: Any) -> tuple[float, float]:
    """The largest error of a result over random states, and the largest relative to that result's largest."""
    rng = np.random.default_rng(3)
    errors, sizes = np.zeros(1), np.zeros(1)
    name, _, frame = function.partition(":")
    (port,) = d.circuit.outputs
    for number in range(STATES // _CHUNK):
        x = {p.name: rng.uniform(p.low, p.high, (_CHUNK, p.size)) for p in d.circuit.inputs}
        if number % 2:
            for p in d.circuit.inputs:
                if p.name != "q":
                    x[p.name] = np.where(rng.random((_CHUNK, p.size)) < 0.5, p.low, p.high)
        words = d.circuit.run({p.name: p.quantised(x[p.name]) for p in d.circuit.inputs})
        exact = getattr(robot, name)(*x.values(), **({"frame": frame} if frame else {}))
        exact = exact.reshape(len(exact), -1)
        errors = np.maximum(errors, np.abs(port.reals(words[port.name]) - exact).max(axis=0))
        sizes = np.maximum(sizes, np.abs(exact).max(axis=0))
    return float(errors.max()), float((errors / np.where(sizes > 0, sizes, np.inf)).max())


def designed(robot: px.Robot, function: str, **options: Any) -> Any:
    (entry,) = entries(robot, function)
    return verilog.designed(entry, f"arm_{entry.name}", **options)


def pipelines(dtype: str = "float64") -> str:
    rows = []
    wanted = [(name, f) for name, make in ROBOTS.items() for f in functions_of(name, make())]
    if dtype == "float32":
        wanted = [("UR5", "inverse_dynamics"), ("UR5", "forward_dynamics"), ("Panda", "inverse_dynamics")]
    for name, function in wanted:
        robot = ROBOTS[name]()
        fixed = {"accuracy": 1e-3} if function == "inverse_dynamics" else {}
        d = designed(robot, function, **(fixed if dtype == "float64" else {"dtype": dtype}))
        error, relative = worst(robot, function, d)
        p = d.pipeline
        bound = d.formats.error_bound
        ends = f"{bound:.2g} | {error:.2g} | {bound / error:.0f}"
        if dtype == "float32":
            ends = (
                f"{bound:.2g} | {error:.2g} | {relative:.2g}"
                if np.isfinite(bound)
                else f"- | {error:.2g} | {relative:.2g}"
            )
        widest = [] if dtype == "float32" else [str(max(w.width for w in p.wires))]
        cells = [name, function.partition(":")[0].replace("_", " "), p.latency, p.count("multiplier")]
        cells += [p.count("adder"), f"{p.registers / 1000:.1f}", *widest, ends]
        rows.append(f"| {' | '.join(map(str, cells))} |")
        print(rows[-1], flush=True)
    head = "| robot | function | clocks | multipliers | adders | registers, kbit |"
    head += (
        " bound | measured | relative |"
        if dtype == "float32"
        else " widest word | bound | measured | ratio |"
    )
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def folded() -> str:
    rows = []
    robot = px.load("ur5")
    for interval in INTERVALS:
        p = designed(robot, "inverse_dynamics", accuracy=1e-3, interval=interval).pipeline
        rate = f"{100 / interval:.4g}"
        rows.append(
            f"| {interval} | {p.count('multiplier')} | {p.count('adder')} | {p.registers / 1000:.1f} | {p.latency} | {rate} |"
        )
        print(rows[-1], flush=True)
    head = (
        "| interval | multipliers | adders | registers, kbit | clocks | million states a second at 100 MHz |"
    )
    return "\n".join([head, "|" + "---|" * 6, *rows])


def cells(targets: list[str]) -> str:
    """What Yosys makes of each pipeline: a row each, and those of the UR5 with shared units and in float32."""
    wanted = [(name, f, {}) for name, make in ROBOTS.items() for f in functions_of(name, make())]
    wanted += [
        ("UR5", "inverse_dynamics", o) for o in ({"interval": 16}, {"dtype": "float32", "interval": 16})
    ]
    rows = []
    for name, function, options in wanted:
        robot = ROBOTS[name]()
        if function == "inverse_dynamics" and "dtype" not in options:
            options = {"accuracy": 1e-3, **options}
        found = []
        for target in targets:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "arm.v"
                robot.export(file, function, target=target, **options)
                (facts,) = json.loads(file.with_suffix(".json").read_text())["modules"].values()
            found.append(", ".join(f"{n:,} {kind}" for kind, n in facts["cells"].items() if n))
        about = ", ".join(f"{k} {v}" for k, v in options.items() if k != "accuracy")
        about = f" ({about})" if about else ""
        rows.append(
            f"| {name} | {function.partition(':')[0].replace('_', ' ')}{about} | {' | '.join(found)} |"
        )
        print(rows[-1], flush=True)
    head = f"| robot | function | {' | '.join(targets)} |"
    return "\n".join([head, "|" + "---|" * (2 + len(targets)), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cells", nargs="*", default=[], choices=["generic", "xilinx", "ecp5"])
    args = parser.parse_args()
    print(conditions(), file=sys.stderr)
    parts = {"pipelines": pipelines(), "floats": pipelines("float32"), "folded": folded()}
    if args.cells:
        parts["cells"] = cells(args.cells)
    if args.write:
        text = PAGE.read_text()
        for name, table in parts.items():
            start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
            before, _, rest = text.partition(start)
            text = f"{before}{start}\n{table}\n{end}{rest.partition(end)[2]}"
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
