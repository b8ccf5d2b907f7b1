# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot's functions take of a microcontroller: flash, RAM, stack, instructions and cycles.

    python benchmarks/microcontrollers.py             prints the tables
    python benchmarks/microcontrollers.py --write     and writes docs/microcontrollers.md

Needs arm-none-eabi-gcc, qemu-system-arm and llvm-mca (Debian: gcc-arm-none-eabi, qemu-system-arm, llvm).
Object code is linked into a program without an operating system and run on emulated boards, where its results
must be the host's, bit for bit. QEMU counts instructions, not cycles; cycles are those of llvm-mca's model.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import phalanx as px
from phalanx.backends.native.compile import VERSION, assembly
from phalanx.backends.native.freestanding import Function
from phalanx.backends.native.source import _rolled
from phalanx.dispatch import resolve
from phalanx.export.elf import read_elf
from phalanx.export.entries import Entry, entry_of
from phalanx.export.objects import Compiled
from phalanx.export.request import Request
from phalanx.backends.native.targets import machine

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from reference.boards import BOARDS, initialiser, run  # noqa: E402

ROBOTS = ("ur5", "panda", "puma560")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_forces")
BOARD_NAMES = {"cortex-m4": "Cortex-M4F", "cortex-m7": "Cortex-M7", "cortex-m33": "Cortex-M33"}
PAGE = ROOT / "docs" / "microcontrollers.md"
CALLS = 200

PROGRAM = """
#include "arm.h"
{inputs}
static float out[{size}], work[{work}] __attribute__((unused));
static volatile unsigned *const tick = (volatile unsigned *)0xE000E010;
static void put_number(unsigned x) {{ put_bits(&x, 4); }}
static unsigned now(void) {{ return tick[2]; }}
static void once(void) {{ arm_{name}({arguments}); }}
static __attribute__((noinline)) unsigned deepest(void) {{
  unsigned *here = (unsigned *)__builtin_frame_address(0) - 16, *low = here - 8192, *p;
  for (p = low; p < here; ++p) *p = 0xA5A5A5A5u;
  once();
  for (p = low; p < here && *p == 0xA5A5A5A5u; ++p) {{}}
  return (unsigned)((char *)__builtin_frame_address(0) - (char *)p);
}}
int main(void) {{
  unsigned i, start;
  tick[1] = 0xFFFFFF; tick[2] = 0; tick[0] = 5;
  once();
  for (i = 0; i < {size}; ++i) put_bits(out + i, 4);
  put_number(deepest());
  start = now();
  for (i = 0; i < {calls}; ++i) once();
  put_number((start - now()) & 0xFFFFFF);
  start = now();
  i = 1000000;
  __asm__ volatile("1: subs %0, #1\\nbne 1b" : "+r"(i) : : "cc");  /* two million instructions */
  put_number((start - now()) & 0xFFFFFF);
  leave();
  return 0;
}}
"""


@dataclass(frozen=True)
class Figures:
    """What one function takes of one board."""

    flash: int  # bytes of code and constants
    workspace: int  # bytes that the caller passes
    stack: int  # bytes
    instructions: int  # of one call
    cycles: int | None  # of one call by llvm-mca, straight-line code only


def entry(robot: px.Robot, function: str, looped: bool) -> Entry:
    """A function in the form asked for."""
    call = resolve(robot, function)
    made = entry_of(call)
    return replace(made, built=_rolled(call, ()).built, form="looped") if looped else made


def measured(robot: px.Robot, function: str, target: str, looped: bool) -> Figures:
    """What a function takes, from its object code and from a run whose results are the host's."""
    wanted, dtype = entry(robot, function, looped), np.dtype("float32")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        request = Request(robot, [wanted], folder / "arm.o", dtype, target)
        made = Compiled(request, machine(target, dtype), [Function(f"arm_{wanted.name}", wanted.built(1), wanted.told)])
        code = made.object_code()
        (folder / "arm.o").write_bytes(code)
        from phalanx.export.objects import _header

        (folder / "arm.h").write_text(_header(made))
        (needs,) = made.workspaces
        state = [a.astype(dtype) for a in robot.random_state((), rng=1)]
        known = dict(zip(("q", "qd", "qdd", "tau"), (*state, state[2]), strict=True))
        inputs = {key: known[key] for key in wanted.inputs}
        size = int(np.prod(*wanted.outputs.values()))
        arguments = [*(f"in_{key}.at" for key in inputs), "out", *["work"] * bool(needs.workspace)]
        printed = run(
            folder,
            replace(BOARDS[target], runner=(*BOARDS[target].runner[:1], "-icount", "shift=0", *BOARDS[target].runner[1:])),
            PROGRAM.format(
                inputs="".join(initialiser(f"in_{key}", a) for key, a in inputs.items()),
                size=size,
                work=max(1, needs.workspace),
                name=wanted.name,
                arguments=", ".join(arguments),
                calls=CALLS,
            ),
            [folder / "arm.o"],
        ).split()
    words = np.array([int(word, 16) for word in printed], np.uint32)
    results = words[:size].view(np.float32)
    _compare(results, robot, function, inputs, looped)
    stack, ticks, million = (int(x) for x in words[size:])
    found = read_elf(code)
    assert found is not None
    assert not any(found.writable.values())
    cycles = None if looped else predicted(made, target)
    return Figures(found.constant, 4 * needs.workspace, stack, round(ticks / million * 2e6 / CALLS), cycles)


def _compare(results: np.ndarray, robot: px.Robot, function: str, inputs: dict[str, np.ndarray], looped: bool) -> None:
    wanted = getattr(robot, function)(*inputs.values()).ravel()
    if looped:  # the same equations in another order
        np.testing.assert_allclose(results, wanted, rtol=2e-4, atol=2e-4 * np.abs(wanted).max())
    else:
        np.testing.assert_array_equal(results, wanted)


def predicted(made: Compiled, target: str) -> int:
    """Cycles of the block of straight-line code, angles below 1e5, by llvm-mca."""
    lines = assembly(made.text, made.machine).split("\n")
    start = next(k for k, line in enumerate(lines) if line.startswith(f"{made.functions[0].name}_block:"))
    body = []
    for line in lines[start + 1 :]:
        words = line.split()
        if not words or words[0].endswith(":") or words[0].startswith((".", "@", "b\t")) or words[0] == "b":
            continue
        body.append(line.partition("@")[0])
        if re.match(r"\s*(pop\S*\s.*pc|bx\s+lr)", line):
            break
    done = subprocess.run(
        ["llvm-mca", f"-mtriple={made.machine.triple}", f"-mcpu={target}", "-iterations=1"],
        input="\n".join(body),
        capture_output=True,
        text=True,
    )
    found = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    assert found, done.stderr
    return int(found[1])


def table(target: str, rows: Iterable[tuple[str, str, bool, Figures]]) -> str:
    """One board as a table of Markdown."""
    lines = [
        "| Robot | Function | Form | Flash | Workspace | Stack | Instructions | Cycles, modelled |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for robot, function, looped, f in rows:
        form = "looped" if looped else "straight"
        cycles = f"{f.cycles:,}" if f.cycles else "–"
        lines.append(
            f"| {robot} | `{function}` | {form} | {f.flash:,} | {f.workspace:,} | {f.stack:,} | {f.instructions:,} | {cycles} |"
        )
    return f"## {BOARD_NAMES[target]}\n\n" + "\n".join(lines)


def command(*words: str) -> str:
    """The first line that a program prints about its version."""
    return subprocess.run(words, capture_output=True, text=True).stdout.strip().split("\n")[0]


HEAD = """# Microcontrollers

<!-- Written by benchmarks/microcontrollers.py --write: edit that. -->

Functions of a robot run on microcontrollers without an operating system, a C library or a heap:

    phalanx export ur5 -o arm.o --target cortex-m4 --float32

[Object code and WebAssembly](howto/object_code.md) tells how to call it. The tables are for single precision,
one robot state a call, one function in each object file.

- **Flash**: bytes of code and constants. What turns angles beyond 100,000 rad takes 1 KB of it. There is no
  other static memory.
- **Workspace**: bytes that the caller passes; its contents mean nothing between calls.
- **Stack**: bytes below the caller's frame, read from painted memory after a call.
- **Instructions**: of one call, counted by QEMU. QEMU is not cycle accurate.
- **Cycles, modelled**: `llvm-mca` on the straight-line code with LLVM's model of the core. It knows no flash
  wait states and no caches: with code in RAM or in a cache, expect about that; with wait states, more.

The straight form is the default for these robots; looped code is what long robots get.
All results were those of the kernels on the host: the same bits for straight code.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    args = parser.parse_args()
    parts = [HEAD]
    for target in BOARD_NAMES:
        if missing := BOARDS[target].missing:
            sys.exit(f"{target}: {missing}")
        rows = [
            (name, function, looped, measured(px.load(name), function, target, looped))
            for name in ROBOTS
            for function in FUNCTIONS
            for looped in (False, True)
        ]
        parts.append(table(target, rows))
        print(parts[-1], end="\n\n", flush=True)
    made = f"Measured with {VERSION}; {command('qemu-system-arm', '--version')}; {command('llvm-mca', '--version')}"
    parts.append(f"{made}, whose Cortex-M33 is the model of the Cortex-M4.\n")
    if args.write:
        PAGE.write_text("\n\n".join(parts).replace("\n\n\n", "\n\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
