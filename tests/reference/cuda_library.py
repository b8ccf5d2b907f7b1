# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exported CUDA compiled for the host, and its functions called on NumPy arrays; nvcc, where it is."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from phalanx.export.api import Request, entries
from phalanx.languages.dialects import cuda

STRICT = ("-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off")


def on_host(
    robot: Any, functions: Any, folder: Path, dtype: Any, compiler: str, inputs: dict[str, list[np.ndarray]]
) -> dict[str, tuple[np.ndarray, ...]]:
    """The results of exported functions, state by state, by a C++ compiler."""
    path = folder / "arm.cuh"
    robot.export(path, functions, dtype=dtype)
    request = Request(robot, entries(robot, functions), path, np.dtype(dtype))
    real, made = request.real, {r.name: r for r in request.routines(cuda(request.real))}
    lines = ['#include "arm.cuh"', "#include <vector>"]
    for r in made.values():
        listed = ", ".join([f"const {real} *{x}" for x in r.inputs] + [f"{real} *{x}" for x in r.outputs])
        lines += [f'extern "C" void {r.name}(size_t count, {listed}) {{']
        passed = [f"{name} + i * {size}" for name, size in r.sizes.items()]
        if r.workspace:  # as threads have it: two numbers of one state lie apart
            lines.append(f"  std::vector<{real}> work(3 * {r.workspace});")
            passed += ["work.data() + 1", "3"]
        lines += [f"  for (size_t i = 0; i < count; ++i) arm_{r.name}({', '.join(passed)});", "}"]
    (folder / "driver.cpp").write_text("\n".join(lines) + "\n")
    library = folder / f"driver_{request.version}_{compiler}.so"  # loaded ones must not change
    command = [
        compiler,
        *STRICT,
        "-O1",
        "-march=native",
        "-shared",
        "-fPIC",
        "driver.cpp",
        "-o",
        str(library),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(library))
    found = {}
    for entry in request.entries:
        arrays = [np.ascontiguousarray(x, dtype) for x in inputs[entry.name]]
        count = len(arrays[0])
        outs = [np.full((count, *shape), np.nan, dtype) for shape in entry.outputs.values()]
        getattr(loaded, entry.name)(
            ctypes.c_size_t(count), *(ctypes.c_void_p(a.ctypes.data) for a in (*arrays, *outs))
        )
        found[entry.name] = tuple(outs)
    return found


def nvcc() -> str | None:
    """NVIDIA's compiler, from the machine or from its wheels."""
    if found := shutil.which("nvcc"):
        return found
    package = importlib.util.find_spec("nvidia")
    for place in package.submodule_search_locations or () if package else ():
        for each in sorted(Path(place).glob("*/bin/nvcc")):
            return str(each)
    return None
