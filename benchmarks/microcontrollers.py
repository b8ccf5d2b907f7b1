# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What do a robot's functions take of a microcontroller: flash, RAM, stack, instructions and cycles?

    python benchmarks/microcontrollers.py             prints the tables
    python benchmarks/microcontrollers.py --write     and writes docs/microcontrollers.md

Needs arm-none-eabi-gcc with newlib, qemu-system-arm and llvm-mca (Debian: gcc-arm-none-eabi,
libnewlib-arm-none-eabi, qemu-system-arm, llvm).
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
from machine import conditions

import phalanx as px
from phalanx.backends.native.availability import version
from phalanx.backends.native.compile import assembly
from phalanx.backends.native.freestanding import ExportedFunction
from phalanx.backends.native.targets import machine
from phalanx.dispatch import resolve
from phalanx.export import objects
from phalanx.export.api import ExportEntry, Request, entry_of
from phalanx.export.objects import CompiledObject, read_elf
from phalanx.program.lowering import _rolled

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from reference.boards import BOARDS, initialiser, run  # noqa: E402

ROBOTS = ("ur5", "panda", "puma560")
FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "gravity_forces")
BOARD_NAMES = {"cortex-m4": "Cortex-M4F", "cortex-m7": "Cortex-M7", "cortex-m33": "Cortex-M33"}
PAGE = ROOT / "docs" / "microcontrollers.md"
MODELLED = ("cortex-m4", "cortex-m7")  # LLVM has no model of the other
CALLS = 200
STRAIGHT, LOOPED, IN_C = "straight", "looped", "C, gcc -O2"

PROGRAM = """
#include "arm.o.h"
{inputs}
static float out[{size}], work[{work}] __attribute__((unused));
static volatile unsigned *const tick = (volatile unsigned *)0xE000E010;
static void put_number(unsigned x) {{ put_bits(&x, 4); }}
static unsigned now(void) {{ return tick[2]; }}
static void once(void) {{ arm_{name}({arguments}); }}
static void far(void) {{ arm_{name}(far_q.at, {others}); }}  /* an angle beyond 100,000 rad */
static __attribute__((noinline)) unsigned deepest(void) {{
  unsigned *here = (unsigned *)__builtin_frame_address(0) - 16, *low = here - 8192, *p;
  for (p = low; p < here; ++p) *p = 0xA5A5A5A5u;
  far();
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


def entry(robot: px.Robot, function: str, looped: bool) -> ExportEntry:
    """A function in the form asked for."""
    call = resolve(robot, function)
    made = entry_of(call)
    return replace(made, built=_rolled(call, ()).built, form="looped") if looped else made


def measured(robot: px.Robot, function: str, target: str, form: str) -> Figures:
    """What a function takes, from its object code and from a run whose results are the host's."""
    wanted, dtype = entry(robot, function, form == LOOPED), np.dtype("float32")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        request = Request(robot, [wanted], folder / "arm.o", dtype, target)
        code = [ExportedFunction(f"arm_{wanted.name}", wanted.built(1), wanted.uniforms)]
        made = CompiledObject(request, machine(target, dtype), code)
        (workspace,) = made.workspaces.values()
        libraries: list[str] = []
        if form == IN_C:
            flash, libraries = written_in_c(robot, function, target, folder), ["-lm", "-lc", "-lgcc"]
        else:
            for file, content in objects.written(made).items():
                (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
            found = read_elf((folder / "arm.o").read_bytes())
            assert found is not None
            assert not any(found.writable.values())
            flash = found.constant
        state = [a.astype(dtype) for a in robot.random_state((), rng=1)]
        known = dict(zip(("q", "qd", "qdd", "tau"), (*state, state[2]), strict=True))
        inputs = {key: known[key] for key in wanted.inputs}
        size = int(np.prod(*wanted.outputs.values()))
        arguments = [*(f"in_{key}.at" for key in inputs), "out", *["work"] * bool(workspace)]
        given = {f"in_{key}": a for key, a in inputs.items()}
        given["far_q"] = np.where(np.arange(robot.nq) == 1, np.float32(3e5), inputs["q"])
        board = BOARDS[target]
        counting = replace(board, runner=(board.runner[0], "-icount", "shift=0", *board.runner[1:]))
        program = PROGRAM.format(
            inputs="".join(initialiser(name, a) for name, a in given.items()),
            size=size,
            work=max(1, workspace),
            name=wanted.name,
            arguments=", ".join(arguments),
            others=", ".join(arguments[1:]),
            calls=CALLS,
        )
        printed = run(folder, counting, program, [folder / "arm.o", *libraries]).split()
    words = np.array([int(word, 16) for word in printed], np.uint32)
    _compare(words[:size].view(np.float32), robot, function, inputs, form)
    stack, ticks, million = (int(x) for x in words[size:])
    cycles = predicted(made, target) if form == STRAIGHT and target in MODELLED else None
    return Figures(flash, 4 * workspace, stack, round(ticks / million * 2e6 / CALLS), cycles)


def written_in_c(robot: px.Robot, function: str, target: str, folder: Path) -> int:
    """Bytes of the function of one state in exported C, compiled into a folder, without the library's sine."""
    robot.export(folder / "arm.c", function, dtype="float32")
    flags = [each for each in BOARDS[target].flags if each not in ("-O1", "-ffreestanding")]
    flags += ["-O2", "-std=c99", "-ffp-contract=off", "-ffunction-sections", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([BOARDS[target].compiler, *flags, "-c", "arm.c"], cwd=folder, check=True)
    found = read_elf((folder / "arm.o").read_bytes())
    assert found is not None
    assert not any(found.writable.values())
    own = f"arm_{function}"
    # A header with the declarations, as for object code.
    text = (folder / "arm.c").read_text()
    declared = re.search(rf"ARM_API (void {own}\([^)]*\))", text)
    assert declared
    (folder / "arm.o.h").write_text(declared[1].replace("ARM_RESTRICT", "restrict") + ";\n")
    return sum(n for key, n in found.sections.items() if "rodata" in key or key == f".text.{own}")


def _compare(
    results: np.ndarray, robot: px.Robot, function: str, inputs: dict[str, np.ndarray], form: str
) -> None:
    wanted = getattr(robot, function)(*inputs.values()).ravel()
    if form == LOOPED:  # the same equations in another order
        np.testing.assert_allclose(results, wanted, rtol=2e-4, atol=2e-4 * np.abs(wanted).max())
    else:
        np.testing.assert_array_equal(results, wanted)


def predicted(made: CompiledObject, target: str) -> int:
    """Cycles of the block of straight-line code, angles below 1e5, by llvm-mca."""
    lines = assembly(made.llvm_ir, made.machine).split("\n")
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


def table(target: str, rows: Iterable[tuple[str, str, str, Figures]]) -> str:
    """One board as a table of Markdown."""
    lines = [
        "| Robot | Function | Form | Flash | Workspace | Stack | Instructions | Cycles, modelled |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for robot, function, form, f in rows:
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

- **Flash**: bytes of code and constants. What turns angles beyond 100,000 rad takes 0.9 KB of it. There is no
  other static memory.
- **Workspace**: bytes that the caller passes; its contents mean nothing between calls.
- **Stack**: bytes below the caller's frame, read from painted memory after a call with an angle beyond
  100,000 rad, which needs most.
- **Instructions**: of one call, counted by QEMU. QEMU is not cycle accurate.
- **Cycles, modelled**: `llvm-mca` on the straight-line code with LLVM's model of the core. It knows no flash
  wait states and no caches: with code in RAM or in a cache, expect about that; with wait states, more. LLVM has
  no model of the Cortex-M33.

The straight form is the default for these robots; looped code is what long robots get. The C form is the export
`arm.c` of the same functions by GCC; the sine and cosine of large angles, from the C library, come on top of
its flash. All results were those of the kernels on the host, of straight code and C the same bits.
"""

SPEED = """
By the model, the inverse dynamics of a UR5 takes {cycles} cycles on a Cortex-M4F: {microseconds:.1f} µs at 168 MHz.
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    args = parser.parse_args()
    print(conditions())
    parts, figures = [HEAD], {}
    for target in BOARD_NAMES:
        if missing := BOARDS[target].missing:
            sys.exit(f"{target}: {missing}")
        rows = [
            (name, function, form, measured(px.load(name), function, target, form))
            for name in ROBOTS
            for function in FUNCTIONS
            for form in (STRAIGHT, LOOPED, IN_C)
        ]
        parts.append(table(target, rows))
        figures |= {(target, *row[:3]): row[3] for row in rows}
        print(parts[-1], end="\n\n", flush=True)
    cycles = figures["cortex-m4", "ur5", "inverse_dynamics", STRAIGHT].cycles
    parts[0] += SPEED.format(cycles=cycles, microseconds=cycles / 168)
    made = f"Measured with {version()}; {command('qemu-system-arm', '--version')}; {command('llvm-mca', '--version')}"
    parts.append(f"{made}.\n")
    if args.write:
        PAGE.write_text("\n\n".join(parts).replace("\n\n\n", "\n\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
