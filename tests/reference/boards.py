# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exported object code linked into small C programs, and run: here, or on emulated machines and boards.

The programs hold their inputs and print their results as bits. On boards there is no operating system, no C
library; results leave by semihosting. Benchmarks use it, too.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Board:
    """How programs for a machine are linked and run."""

    compiler: str
    flags: tuple[str, ...]
    runner: tuple[str, ...] = ()
    memory: tuple[int, int] | None = None  # where code and data begin, without an operating system

    @property
    def missing(self) -> str:
        """Why it cannot run here, if it cannot."""
        needed = [self.compiler, *self.runner[:1]]
        absent = [name for name in needed if shutil.which(name) is None]
        return f"no {' and no '.join(absent)} on this machine" if absent else ""


_BARE = (
    "-mthumb",
    "-mfloat-abi=hard",
    "-nostdlib",
    "-ffreestanding",
    "-O1",
    "-fno-tree-loop-distribute-patterns",
)
_SYSTEM = ("-display", "none", "-monitor", "none", "-serial", "none", "-chardev", "stdio,id=out")
_SYSTEM += ("-semihosting-config", "enable=on,target=native,chardev=out")


def _board(name: str, cpu: str, fpu: str, memory: tuple[int, int]) -> Board:
    flags = (f"-mcpu={cpu}", f"-mfpu={fpu}", *_BARE)
    return Board("arm-none-eabi-gcc", flags, ("qemu-system-arm", "-M", name, *_SYSTEM, "-kernel"), memory)


BOARDS = {
    "host": Board("gcc", ("-O1",)),
    "x86-64": Board("gcc", ("-O1",)),
    "aarch64": Board("aarch64-linux-gnu-gcc", ("-O1", "-static"), ("qemu-aarch64",)),
    "riscv64": Board("riscv64-linux-gnu-gcc", ("-O1", "-static"), ("qemu-riscv64",)),
    "cortex-m4": _board("mps2-an386", "cortex-m4", "fpv4-sp-d16", (0, 0x20000000)),
    "cortex-m7": _board("mps2-an500", "cortex-m7", "fpv5-d16", (0, 0x20000000)),
    "cortex-m33": _board("mps2-an505", "cortex-m33", "fpv5-sp-d16", (0x10000000, 0x38000000)),
}

_LINUX = """
#include <stdio.h>
static void put(const char *text) { fputs(text, stdout); }
static void leave(void) {}
"""
# The stack is painted before, so that its use can be read afterwards.
_METAL = """
extern unsigned stack_low[], stack_high[], data_from[], data_low[], data_high[], bss_low[], bss_high[];
int main(void);
static int call(int what, const void *with) {
  register int r0 __asm__("r0") = what;
  register const void *r1 __asm__("r1") = with;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}
static void put(const char *text) { call(4, text); }
static void leave(void) { call(0x18, (void *)0x20026); }
void *memcpy(void *to, const void *from, size_t n) {
  for (size_t k = 0; k < n; ++k) ((char *)to)[k] = ((const char *)from)[k];
  return to;
}
void *memset(void *to, int value, size_t n) {
  for (size_t k = 0; k < n; ++k) ((char *)to)[k] = (char)value;
  return to;
}
void start(void) {
  *(volatile unsigned *)0xE000ED88 |= 0xF << 20; /* the floating-point unit is off at reset */
  __asm__ volatile("dsb\\nisb");
  unsigned *from = data_from;
  for (unsigned *p = data_low; p < data_high;) *p++ = *from++;
  for (unsigned *p = bss_low; p < bss_high;) *p++ = 0;
  main();
  leave();
  for (;;) {}
}
static void trap(void) { put("trap\\n"); leave(); for (;;) {} }
__attribute__((section(".vectors"), used)) void *const vectors[] = {
  stack_high, (void *)start, (void *)trap, (void *)trap, (void *)trap, (void *)trap, (void *)trap};
"""
_SCRIPT = """
SECTIONS {{
  . = {code};
  .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.ARM.ex*) . = ALIGN(8); }}
  data_from = .;
  . = {data};
  .data : AT(data_from) {{ data_low = .; *(.data*) . = ALIGN(8); data_high = .; }}
  .bss : {{ bss_low = .; *(.bss*) *(COMMON) . = ALIGN(8); bss_high = .; }}
  stack_low = .;
  stack_high = {data} + 0x200000;
}}
"""
_PRINT = """
static void put_bits(const void *at, size_t size) {
  static const char digits[] = "0123456789abcdef";
  char text[20];
  size_t k;
  unsigned long long bits = 0;
  for (k = 0; k < size; ++k) bits |= (unsigned long long)((const unsigned char *)at)[k] << (8 * k);
  for (k = 0; k < 2 * size; ++k) text[k] = digits[(bits >> (4 * (2 * size - 1 - k))) & 15];
  text[2 * size] = '\\n';
  text[2 * size + 1] = 0;
  put(text);
}
"""


def run(folder: Path, board: Board, source: str, objects: Sequence[Path]) -> str:
    """What a program prints; `source` defines `main` and calls `put`, `put_bits` and functions of objects."""
    text = "#include <stddef.h>\n" + (_METAL if board.memory else _LINUX) + _PRINT + source
    (folder / "program.c").write_text(text)
    command = [board.compiler, *board.flags, "-Wall", "-Werror", f"-I{folder}", "program.c"]
    if board.memory:
        (folder / "link.ld").write_text(_SCRIPT.format(code=board.memory[0], data=board.memory[1]))
        command += ["-Tlink.ld", "-Wl,--no-warn-rwx-segments"]
    command += [*map(str, objects), "-o", "program"]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    done = subprocess.run(
        [*board.runner, "./program"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, (done.returncode, done.stdout[-500:], done.stderr)
    return done.stdout


def initialiser(name: str, array: np.ndarray) -> str:
    """A constant array of C with the bits of some numbers, and how it is read."""
    whole, kind = ("unsigned long long", "double") if array.dtype == np.float64 else ("unsigned", "float")
    bits = array.view(np.uint64 if array.dtype == np.float64 else np.uint32).ravel()
    n, values = max(1, bits.size), ", ".join(f"{int(b):#x}u" + "ll" * (kind == "double") for b in bits) or "0"
    return f"static const union {{ {whole} bits[{n}]; {kind} at[{n}]; }} {name} = {{{{{values}}}}};\n"


def evaluated(
    folder: Path,
    board: Board,
    prefix: str,
    name: str,
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, Any],
    workspace: int = 0,
) -> list[dict[str, np.ndarray]]:
    """Results of an exported function for rows of states: one by one, then by its batch function.

    The memory behind the results of the batch must stay as it was.
    """
    first = next(iter(inputs.values()))
    count, dtype = len(first), first.dtype
    real = "double" if dtype == np.float64 else "float"
    lines = [f'#include "{prefix}.o.h"\n', *(initialiser(f"in_{n}", a) for n, a in inputs.items())]
    sizes = {n: int(np.prod(shape)) for n, shape in outputs.items()}
    for n, size in sizes.items():
        lines.append(f"static {real} alone_{n}[{count * size or 1}], many_{n}[{count * size + 1}];\n")
    work = ["work"] if workspace else []
    if workspace:
        lines.append(f"static {real} work[{workspace}];\n")
    row = [f"in_{n}.at + i * {a[0].size if count else 0}" for n, a in inputs.items()]
    row += [f"alone_{n} + i * {size}" for n, size in sizes.items()]
    rows = [f"in_{n}.at" for n in inputs] + [f"many_{n}" for n in sizes]
    lines += [f"int main(void) {{\n  size_t i;\n  for (i = 0; i < {count}; ++i)\n    {prefix}_{name}("]
    lines += [", ".join([*row, *work]), ");\n"]
    lines += [f"  many_{n}[{count * size}] = 7;\n" for n, size in sizes.items()]
    lines += [f"  {prefix}_{name}_batch({', '.join([str(count), *rows, *work])});\n"]
    for way in ("alone", "many"):
        for n, size in sizes.items():
            last = count * size + (way == "many")
            lines.append(f"  for (i = 0; i < {last}; ++i) put_bits({way}_{n} + i, sizeof({real}));\n")
    lines.append("  leave();\n  return 0;\n}\n")
    objects = [folder / f"{prefix}.o"]
    printed = run(folder, board, "".join(lines), objects).split()
    bits = np.array([int(word, 16) for word in printed], np.uint64 if dtype == np.float64 else np.uint32)
    numbers, found, at = bits.view(dtype), [], 0
    for way in ("alone", "many"):
        results = {}
        for n, size in sizes.items():
            results[n] = numbers[at : at + count * size].reshape(count, *outputs[n])
            at += count * size
            if way == "many":
                assert numbers[at] == 7
                at += 1
        found.append(results)
    assert at == numbers.size
    return found
