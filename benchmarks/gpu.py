# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What would kernels reach on NVIDIA's GPUs: registers, spills and occupancy as NVIDIA's assembler reports them, work
as counted, and states per second as a roofline predicts them?

    python benchmarks/gpu.py            writes the tables of docs/gpu.md
    python benchmarks/gpu.py --json     prints the figures

Nothing here runs on a GPU. Needs the packages nvidia-cuda-nvcc and example-robot-data.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from machine import conditions

import phalanx as px
from phalanx.backends.devices.ptx import Grid, LaunchLayout, assembled, reordered, translated
from phalanx.backends.native.freestanding import ExportedFunction
from phalanx.dispatch import resolve
from phalanx.export.api import ExportEntry, entries
from phalanx.program.lowering import _rolled
from phalanx.program.passes.order import for_registers, peak

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reference.examples import example
from reference.ptx_machine import Machine
from reference.ptxas import Report, assemble, ptxas

PAGE = Path(__file__).parents[1] / "docs" / "gpu.md"
TARGETS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
FUNCTIONS = {"ID": "inverse_dynamics", "FD": "forward_dynamics", "M": "mass_matrix"}
DERIVATIVES = {"∂ID": "inverse_dynamics_derivatives", "∂FD": "forward_dynamics_derivatives"}
ELEMENTS = {"float32": "float", "float64": "double"}


@dataclass(frozen=True)
class Gpu:
    """Peak rates as published: operations (two of a multiply-add) and bytes a second."""

    name: str
    target: str  # the nearest that is assembled
    multiprocessors: int
    lanes: int  # of float32 in each
    float32: float
    float64: float
    bandwidth: float
    shared: int  # bytes of shared memory in each multiprocessor
    warps: int  # that each holds

    @property
    def clock(self) -> float:
        return self.float32 / (2 * self.multiprocessors * self.lanes)


GPUS = (
    Gpu("Jetson AGX Orin", "sm_80", 16, 128, 5.3e12, 5.3e12 / 64, 204.8e9, 164 << 10, 48),
    Gpu("RTX 4090", "sm_80", 128, 128, 82.6e12, 1.29e12, 1008e9, 100 << 10, 48),
    Gpu("A100 80 GB", "sm_80", 108, 64, 19.5e12, 9.7e12, 2039e9, 164 << 10, 64),
    Gpu("H100 SXM", "sm_90", 132, 128, 67e12, 34e12, 3350e9, 228 << 10, 64),
    Gpu("B200", "sm_100", 148, 128, 75e12, 37e12, 7700e9, 228 << 10, 64),
)


def robots() -> dict[str, px.Robot]:
    found = {name: px.load(name) for name in ("ur5", "puma560", "panda")}
    found["anymal, floating"] = example("anymal.urdf", floating_base=True)
    found["talos"] = example("talos_reduced.urdf")
    return found | {f"chain of {n}": px.chain(n) for n in (40, 100)}


@dataclass
class Case:
    """A function of a robot in one precision."""

    robot: str
    function: str
    dtype: str
    entry: ExportEntry
    layout: LaunchLayout
    seconds: float
    reports: dict[str, Report]
    counts: Counter[str]

    @property
    def is_looped(self) -> bool:
        return bool(self.layout.scratch)

    @property
    def io(self) -> int:
        """Bytes of inputs and outputs of a state."""
        return self.layout.element * sum(self.layout.sizes)

    @property
    def kept(self) -> int:
        """Bytes that loops move to their workspace and back."""
        if not self.is_looped:
            return 0
        moved = sum(n for op, n in self.counts.items() if re.match(r"(ld|st)\.global\.b", op))
        direct = sum(n for n, staged in zip(self.layout.sizes, self.layout.staged, strict=True) if not staged)
        through = sum(n for n, staged in zip(self.layout.sizes, self.layout.staged, strict=True) if staged)
        return max(0, moved - through - direct) * self.layout.element

    @property
    def arithmetic(self) -> int:
        """Operations on real numbers, a multiply-add being one."""
        return sum(n for op, n in self.counts.items() if re.search(r"\.f(32|64)$", op) and "setp" not in op)

    def occupancy(self, gpu: Gpu) -> int:
        """Warps that a multiprocessor holds at once."""
        registers = -(-self.reports[gpu.target].registers // 8) * 8
        warps = self.layout.block // 32
        blocks = min(gpu.warps // warps, 65536 // (registers * self.layout.block), 32)
        if self.layout.shared:
            blocks = min(blocks, gpu.shared // (self.layout.shared + 1024))
        return blocks * warps

    def bounds(self, gpu: Gpu) -> dict[str, float]:
        """States a second that each resource allows."""
        wide = self.dtype == "float64"
        spilt = self.reports[gpu.target].spill_stores + self.reports[gpu.target].spill_loads
        cores = gpu.multiprocessors * gpu.clock
        shared = sum(n for op, n in self.counts.items() if ".shared." in op) * (2 if wide else 1)
        return {
            "memory": gpu.bandwidth / (self.io + self.kept + spilt),
            "arithmetic": (gpu.float64 if wide else gpu.float32) / 2 / self.arithmetic,
            "issue": cores * 128 / self.counts.total(),
            "shared memory": cores * 32 / max(1, shared),
        }


def counted(entry: ExportEntry, text: str, layout: LaunchLayout, dtype: str) -> Counter[str]:
    """Operations that a thread of a full block carries out, as the machine of the tests counts them."""
    machine = Machine(text)
    memory = machine.memory["global"]
    rng = np.random.default_rng(0)
    count = layout.block
    places = [
        memory.allocate(rng.uniform(0.1, 1, size=(count, *s)).astype(dtype).tobytes())
        for s in entry.inputs.values()
    ]
    places += [memory.allocate(count * layout.element * int(np.prod(s))) for s in entry.outputs.values()]
    if layout.scratch:
        places.append(memory.allocate(layout.workspace(1)))
    machine.launch("kernel", 1, layout.block, [count, *places])
    return machine.executed


def case_of(
    robot: px.Robot, name: str, short: str, function: str, dtype: str, targets: Iterable[str]
) -> Case:
    start = time.process_time()
    (entry,) = entries(robot, function)
    kernel = ExportedFunction("kernel", reordered(entry.built(1)), entry.uniforms)
    first, (layout,) = assembled([kernel], ELEMENTS[dtype], "sm_75")
    seconds = time.process_time() - start
    texts = {t: assembled([kernel], ELEMENTS[dtype], t)[0] for t in targets}
    with ThreadPoolExecutor(2) as pool:
        reports = dict(zip(texts, pool.map(assemble, texts.values(), texts), strict=True))
    counts = counted(entry, first, layout, dtype)
    print(f"{name} {short} {dtype}: {reports} {seconds:.2f} s", file=sys.stderr, flush=True)
    return Case(name, short, dtype, entry, layout, seconds, reports, counts)


def cases() -> list[Case]:
    made = []
    for name, robot in robots().items():
        few = name in ("ur5", "panda")
        for short, function in {**FUNCTIONS, **(DERIVATIVES if few else {})}.items():
            if name == "chain of 100" and short == "M":
                continue  # its work is counted on a slow machine
            made += [case_of(robot, name, short, function, dtype, TARGETS) for dtype in ELEMENTS]
    return made


# ------------------------------------------------------------------- forms of one function


def forms() -> list[dict[str, Any]]:
    """Functions too large for registers: as recorded, in the order for registers, and in loops over bodies."""
    made = []
    for name, robot in {
        "talos": example("talos_reduced.urdf"),
        "anymal, floating": example("anymal.urdf", floating_base=True),
    }.items():
        call = resolve(robot, "forward_dynamics", "auto", None)
        (entry,) = entries(robot, "forward_dynamics")
        recorded = entry.built(1)
        programs = {"as recorded": recorded, "in the order for registers": for_registers(recorded)}
        programs["loops over bodies"] = _rolled(resolve(robot, "forward_dynamics", "aba", None), ()).built(1)
        for form, program in programs.items():
            grid = Grid("float")
            layout = grid.kernel(program, "kernel")
            texts = {t: translated(grid.llvm_ir, t) for t in TARGETS}
            reports = {t: assemble(text, t) for t, text in texts.items()}
            counts = counted(entry, texts["sm_75"], layout, "float32")
            case = Case(name, form, "float32", entry, layout, 0.0, reports, counts)
            made.append(
                {
                    "case": case,
                    "peak": peak(program) if program.is_straight else None,
                    "algorithm": call.algorithm.name if program.is_straight else "aba",
                }
            )
    return made


# ------------------------------------------------------------------- tables


def row(*cells: Any) -> str:
    return "| " + " | ".join(str(c) for c in cells) + " |"


def head(*cells: str) -> list[str]:
    return [row(*cells), row(*("---" for _ in cells))]


def spilt(report: Report) -> str:
    return f"{report.registers}" + (f" ({report.spill_stores})" if report.spill_stores else "")


def in_words(rate: float) -> str:
    return f"{rate / 1e9:.2g} G" if rate >= 1e9 else f"{rate / 1e6:.3g} M"


def registers_table(every: list[Case], dtype: str) -> str:
    lines = head("Robot", "Function", "Form", *TARGETS, "Threads a block", "Shared memory", "Built")
    for c in every:
        if c.dtype == dtype:
            form = "loops" if c.is_looped else "straight"
            reports = [spilt(c.reports[t]) for t in TARGETS]
            shared = f"{c.layout.shared / 1024:.0f} KB"
            lines.append(
                row(c.robot, c.function, form, *reports, c.layout.block, shared, f"{c.seconds:.2f} s")
            )
    return "\n".join(lines)


def roofline_table(every: list[Case], dtype: str, gpus: tuple[Gpu, ...]) -> str:
    lines = head("Robot", "Function", "Bytes", "Kept", "Operations", "Instructions", *(g.name for g in gpus))
    for c in every:
        if c.dtype != dtype:
            continue
        cells = []
        for gpu in gpus:
            bounds = c.bounds(gpu)
            limit = min(bounds, key=bounds.__getitem__)
            cells.append(f"{in_words(bounds[limit])}, {limit}, {c.occupancy(gpu)} w")
        lines.append(row(c.robot, c.function, c.io, c.kept, c.arithmetic, c.counts.total(), *cells))
    return "\n".join(lines)


def forms_table(every: list[dict[str, Any]]) -> str:
    gpu = next(g for g in GPUS if g.name == "H100 SXM")
    lines = head(
        "Robot",
        "Form",
        "Algorithm",
        "Alive at once",
        *TARGETS,
        "Instructions",
        "Kept",
        f"{gpu.name}, predicted",
    )
    for each in every:
        c = each["case"]
        bounds = c.bounds(gpu)
        limit = min(bounds, key=bounds.__getitem__)
        cells = [spilt(c.reports[t]) for t in TARGETS]
        lines.append(
            row(
                c.robot,
                c.function,
                each["algorithm"],
                each["peak"] or "–",
                *cells,
                c.counts.total(),
                c.kept,
                f"{in_words(bounds[limit])}, {limit}",
            )
        )
    return "\n".join(lines)


def gpus_table() -> str:
    lines = head("GPU", "Multiprocessors", "float32", "float64", "Memory", "Shared memory", "Warps")
    for g in GPUS:
        cells = [
            f"{g.float32 / 1e12:.3g} T/s",
            f"{g.float64 / 1e12:.2g} T/s",
            f"{g.bandwidth / 1e9:.4g} GB/s",
        ]
        lines.append(row(g.name, g.multiprocessors, *cells, f"{g.shared >> 10} KB", g.warps))
    return "\n".join(lines)


def main() -> None:
    if ptxas() is None:
        raise SystemExit("gpu.py needs NVIDIA's assembler: pip install nvidia-cuda-nvcc")
    print(conditions(), file=sys.stderr)
    every, alternatives = cases(), forms()
    if "--json" in sys.argv:
        cells = [
            {
                "robot": c.robot,
                "function": c.function,
                "dtype": c.dtype,
                "reports": {t: r._asdict() for t, r in c.reports.items()},
                "bytes": c.io,
                "kept": c.kept,
                "operations": c.arithmetic,
                "instructions": c.counts.total(),
                "predicted": {g.name: c.bounds(g) for g in GPUS},
            }
            for c in every
        ]
        print(json.dumps(cells, indent=1))
        return
    tables = {
        "registers float32": registers_table(every, "float32"),
        "registers float64": registers_table(every, "float64"),
        "gpus": gpus_table(),
        "roofline float32": roofline_table(every, "float32", GPUS),
        "roofline float64": roofline_table(every, "float64", tuple(g for g in GPUS if g.float64 > 5e12)),
        "forms": forms_table(alternatives),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, table in tables.items():
        mark = f"<!-- figures: {name} -->"
        pattern = re.escape(mark) + r"\n(?:\n*\|[^\n]*)*\n+"
        assert mark in text, name
        text = re.sub(pattern, lambda _, m=mark, t=table: f"{m}\n\n{t}\n\n", text)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
