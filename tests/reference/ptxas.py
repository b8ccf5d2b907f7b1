# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""NVIDIA's assembler: whether it accepts PTX, and the registers, spills and memory that it reports."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Report(NamedTuple):
    """What a kernel takes: registers of a thread, then bytes."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int


@cache
def ptxas() -> str | None:
    """The assembler of the package nvidia-cuda-nvcc, else the one on the path, None without either."""
    spec = importlib.util.find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        found = sorted(Path(folder).glob("cu*/bin/ptxas*"))
        if found:
            return str(found[-1])
    return shutil.which("ptxas")


def assemble(text: str, target: str, name: str = "", *, alone: bool = True) -> Report:
    """What the assembler reports of a kernel, or of the only one; raises if it refuses the text.

    If not `alone`, functions that nobody calls are kept, for others to link.
    """
    tool = ptxas()
    assert tool is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(text, encoding="utf-8")
        options = [] if alone else ["-c"]
        done = subprocess.run(
            [tool, "-v", *options, "-arch", target, str(path), "-o", str(Path(folder) / "kernel.cubin")],
            capture_output=True,
            text=True,
            check=False,
        )
    told = done.stdout + done.stderr
    if done.returncode or "warning" in told.lower():
        raise ValueError(f"ptxas -arch {target}: {told[:2000]}")
    part = told[told.index(f"Compiling entry function '{name}") :]
    numbers = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
    used = re.search(r"Used (\d+) registers", part)
    shared = re.search(r"(\d+) bytes smem", part.split("Compiling entry function")[1])
    assert numbers is not None
    assert used is not None
    return Report(int(used[1]), *map(int, numbers.groups()), int(shared[1]) if shared else 0)
