# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exported C compiled into a shared library, and its functions called on NumPy arrays."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from phalanx.export.api import ExportEntry, Request, entries
from phalanx.languages.dialects import c

STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffp-contract=off")


class Library:
    """The functions of a robot in a shared library of a C compiler."""

    def __init__(
        self,
        robot: Any,
        functions: Any,
        folder: Path,
        dtype: str = "float64",
        compiler: str = "gcc",
        flags: tuple[str, ...] = ("-O2", "-march=native"),
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.entries = {entry.name: entry for entry in entries(robot, functions)}
        path = folder / "arm.c"
        robot.export(path, functions, dtype=dtype)
        library = folder / f"arm_{dtype}_{compiler}.so"
        command = [compiler, *STRICT, *flags, "-shared", "-fPIC", str(path), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        self._loaded = ctypes.CDLL(str(library))
        request = Request(robot, list(self.entries.values()), path, self.dtype)
        self._workspaces = {r.name: r.workspace for r in request.routines(c(request.real))}

    def __call__(self, name: str, *inputs: np.ndarray, batch: bool = True) -> tuple[np.ndarray, ...]:
        """The results of a function for rows of states, by its batch form or one after another."""
        entry: ExportEntry = self.entries[name]
        arrays = [np.ascontiguousarray(x, self.dtype) for x in inputs]
        shapes = list(entry.inputs.values())
        count = arrays[0].size // max(1, int(np.prod(shapes[0])))
        outs = [np.full((count, *shape), np.nan, self.dtype) for shape in entry.outputs.values()]
        work = [np.empty(self._workspaces[name], self.dtype)] if self._workspaces[name] else []
        if batch:
            function = getattr(self._loaded, f"arm_{name}_batch")
            function(ctypes.c_size_t(count), *map(_pointer, [*arrays, *outs, *work]))
        else:
            function = getattr(self._loaded, f"arm_{name}")
            for i in range(count):
                rows = [a.reshape(count, -1)[i] for a in (*arrays, *outs)]
                function(*map(_pointer, [*rows, *work]))
        return tuple(outs)


def _pointer(array: np.ndarray) -> Any:
    return ctypes.c_void_p(array.ctypes.data)
