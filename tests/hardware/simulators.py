# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Other people's simulators of Verilog, on arrays of words."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
needs_verilator = pytest.mark.skipif(shutil.which("verilator") is None, reason="Verilator is not installed")

_MAIN = """#include "V{top}.h"
#include "verilated.h"
#include <cstdint>
#include <cstdio>
#include <vector>
typedef uint32_t Word;
template <class P> static void put(P &p, const Word *w) {{
  p = w[0] | (sizeof(P) > 4 ? (uint64_t)w[1] << 32 : 0);
}}
template <std::size_t N> static void put(VlWide<N> &p, const Word *w) {{
  for (std::size_t i = 0; i < N; ++i) p[i] = w[i];
}}
template <class P> static void get(const P &p, Word *w) {{
  w[0] = (Word)p;
  if (sizeof(P) > 4) w[1] = (Word)((uint64_t)p >> 32);
}}
template <std::size_t N> static void get(const VlWide<N> &p, Word *w) {{
  for (std::size_t i = 0; i < N; ++i) w[i] = p[i];
}}
int main(int argc, char **argv) {{
  V{top} top;
  FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
  const bool gaps = argv[3][0] == '1';
  std::vector<uint32_t> row({inputs}), result({outputs});
  bool more = fread(row.data(), 4, row.size(), in) == row.size();
  uint64_t clocks = 0, sent = 0, taken = 0, first = 0, last = 0;
  uint32_t random = 1;
  auto edge = [&] {{ top.clk = 1; top.eval(); top.clk = 0; top.eval(); }};
  top.clk = 0; top.rst = 1; top.in_valid = 0; top.out_ready = 1; edge(); edge(); top.rst = 0;
  while (more || taken < sent) {{
    random = random * 1664525u + 1013904223u;
    top.in_valid = more && !(gaps && (random >> 30) == 0);
    top.out_ready = !(gaps && ((random >> 28) & 3) == 0);
    if (more) {{ const uint32_t *w = row.data(); {put} }}
    top.eval();
    const bool goes = top.in_valid && top.in_ready, comes = top.out_valid && top.out_ready;
    if (goes && sent++ == 0) first = clocks;
    if (comes) {{
      if (taken++ == 0) last = clocks;
      uint32_t *w = result.data(); {get}
      fwrite(result.data(), 4, result.size(), out);
    }}
    edge(); ++clocks;
    if (goes) more = fread(row.data(), 4, row.size(), in) == row.size();
  }}
  fclose(out);
  printf("{{\\"clocks\\": %d, \\"latency\\": %d}}\\n", (int)(clocks - first), (int)(last - first));
}}
"""


class Verilated:
    """A module compiled by Verilator: words in, words out."""

    def __init__(self, file: Path, module: str) -> None:
        self.ports = json.loads(file.with_suffix(".json").read_text())["modules"][module]["ports"]
        folder = file.parent / f"{module}_verilated"
        folder.mkdir()
        sizes = {name: -(-p["width"] * len(p["fraction"]) // 32) for name, p in self.ports.items()}
        self.inputs = [n for n, p in self.ports.items() if p["direction"] == "input"]
        self.outputs = [n for n, p in self.ports.items() if p["direction"] == "output"]
        self.sizes = sizes
        main = folder / "main.cpp"
        main.write_text(
            _MAIN.format(
                top=module,
                inputs=sum(sizes[n] for n in self.inputs),
                outputs=sum(sizes[n] for n in self.outputs),
                put=" ".join(f"put(top.{n}, w); w += {sizes[n]};" for n in self.inputs),
                get=" ".join(f"get(top.{n}, w); w += {sizes[n]};" for n in self.outputs),
            )
        )
        command = [
            "verilator",
            "--cc",
            "--exe",
            "--build",
            "-O3",
            "-Wall",
            "--Mdir",
            "obj",
            "--top-module",
            module,
        ]
        command += ["-CFLAGS", "-O1", "-o", "simulation", str(file), str(main)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self.folder = folder

    def run(
        self, words: dict[str, np.ndarray], *, gaps: bool = False
    ) -> tuple[dict[str, np.ndarray], dict[str, int]]:
        """(words of the outputs, {clocks, latency}); with `gaps`, states and results pause."""
        rows = [packed(words[n], self.ports[n]["width"], self.sizes[n]) for n in self.inputs]
        (self.folder / "in").write_bytes(np.concatenate(rows, axis=1).astype("<u4").tobytes())
        command = [os.fspath(self.folder / "obj" / "simulation"), "in", "out", "01"[gaps]]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True)
        raw = np.frombuffer((self.folder / "out").read_bytes(), "<u4")
        raw = raw.reshape(-1, sum(self.sizes[n] for n in self.outputs))
        assert len(raw) == len(rows[0])
        made, at = {}, 0
        for n in self.outputs:
            port = self.ports[n]
            made[n] = unpacked(raw[:, at : at + self.sizes[n]], port["width"], len(port["fraction"]))
            at += self.sizes[n]
        return made, json.loads(done.stdout)


def packed(words: np.ndarray, width: int, size: int) -> np.ndarray:
    """Words (states, elements) as rows of 32 bits, element 0 in the low bits."""
    bits = (words[..., None].astype(np.int64) >> np.arange(width)) & 1
    bits = bits.reshape(len(words), -1).astype(np.uint8)
    full = np.zeros((len(words), 32 * size), dtype=np.uint8)
    full[:, : bits.shape[1]] = bits
    return np.packbits(full, axis=1, bitorder="little").view("<u4")


def unpacked(rows: np.ndarray, width: int, count: int) -> np.ndarray:
    """Words (states, elements) in two's complement."""
    bits = np.unpackbits(np.ascontiguousarray(rows).view(np.uint8), axis=1, bitorder="little")
    bits = bits[:, : width * count].reshape(len(rows), count, width).astype(np.int64)
    weights = 1 << np.arange(width, dtype=np.int64)
    weights[-1] = -weights[-1]
    return bits @ weights


def icarus(file: Path) -> str:
    """The last line that the testbench of a file prints."""
    made = file.with_suffix(".vvp")
    bench = file.with_name(f"{file.stem}_tb.v")
    command = ["iverilog", "-g2005", "-Wall", "-o", str(made), str(file), str(bench)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, done.stderr
    return subprocess.run(
        ["vvp", "-n", str(made)], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
