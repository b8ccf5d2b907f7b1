# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""How many kernels, and how many one after another, does XLA make of one state of one chain?

On a GPU every kernel is a launch and those that depend on each other wait for each other: their
number along the critical path is what a single state of a long chain costs there. It can be read
from the compiled program without a GPU.

    python benchmarks/jax_hlo.py [--sizes 10 100 1000] [--functions inverse_dynamics ...]
        [--shapes chain tree] [--written-out]

`--written-out` counts the program that devices other than CPUs get: pointer jumping without loops.
"""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from machine import conditions

SHAPES = ("chain", "tree")
# What a device does not launch: renaming, and values that are there from the start.
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "iota", "partition-id"}

_HEADER = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$")
_LINE = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (?:\([^=]*?\)|\S+) ([\w\-]+)\((.*)$")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_CALLED = re.compile(r"(?:to_apply|body|calls)=%?([\w.\-]+)")


@dataclass
class Instruction:
    """One line of a compiled program."""

    name: str
    opcode: str
    operands: list[str]
    called: str | None
    trips: int


@dataclass
class Program:
    """The computations of a compiled program, and which one is entered first."""

    computations: dict[str, list[Instruction]] = field(default_factory=dict)
    entry: str = ""

    def measure(self) -> tuple[int, int]:
        """(kernels launched, kernels on the critical path)."""

        @cache
        def of(name: str) -> tuple[int, int]:
            count, depth = 0, {}
            for line in self.computations[name]:
                own, steps = 0 if line.opcode in FREE else 1, 0 if line.opcode in FREE else 1
                if line.opcode in ("while", "call", "conditional") and line.called in self.computations:
                    own, steps = (line.trips * k for k in of(line.called))
                count += own
                depth[line.name] = steps + max((depth.get(o, 0) for o in line.operands), default=0)
            return count, max(depth.values(), default=0)

        return of(self.entry)


def parse(text: str) -> Program:
    """The program of the text of a compiled HLO module."""
    program, current = Program(), []
    for row in text.splitlines():
        if header := _HEADER.match(row):
            current = program.computations.setdefault(header[2], [])
            program.entry = header[2] if header[1] else program.entry
        elif line := _LINE.match(row):
            name, opcode, rest = line.groups()
            operands = re.findall(r"%([\w.\-]+)", rest.split("), ")[0])
            called, trips = _CALLED.search(rest), _TRIPS.search(rest)
            kernel = Instruction(name, opcode, operands, called and called[1], int(trips[1]) if trips else 1)
            current.append(kernel)
    return program


def compiled(robot, function: str, schedule: str):  # type: ignore[no-untyped-def]
    """(compiled program of a function for one state, processor seconds that tracing and compiling took)."""
    import jax

    from phalanx.algorithms import FUNCTIONS

    q, qd, qdd = robot.random_state((), rng=0)
    known = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    inputs = [known[name] for name in FUNCTIONS[function].inputs]
    start = time.process_time()
    f = jax.jit(lambda *x: getattr(robot.jax, function)(*x, schedule=schedule))
    program = f.lower(*inputs).compile()
    return program, time.process_time() - start


def main() -> None:
    import jax

    import phalanx as px

    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    parser.add_argument(
        "--functions", nargs="+", default=["inverse_dynamics", "mass_matrix", "forward_dynamics"]
    )
    parser.add_argument("--schedules", nargs="+", default=["sequential", "doubling"])
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=["chain"])
    parser.add_argument("--written-out", action="store_true")
    options = parser.parse_args()
    print(conditions())
    if options.written_out:
        from phalanx.backends.jax import pointer_jumping

        pointer_jumping.UNROLLED["cpu"] = pointer_jumping.UNROLLED_ELSEWHERE
    print(f"jax {jax.__version__}, {jax.default_backend()}, one state, float64")
    print(f"{'function':17} {'schedule':11} {'robot':6} {'n':>5} {'kernels':>8} {'depth':>6} {'compile':>9}")
    for function, schedule, shape in product(options.functions, options.schedules, options.shapes):
        for n in options.sizes:
            robot = px.chain(n) if shape == "chain" else px.tree(n, 0.3, seed=1)
            program, seconds = compiled(robot, function, schedule)
            kernels, depth = parse(program.as_text()).measure()
            row = f"{function:17} {schedule:11} {shape:6} {n:5} {kernels:8} {depth:6} {seconds:7.1f} s"
            print(row, flush=True)


if __name__ == "__main__":
    main()
