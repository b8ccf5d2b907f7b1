# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Any program in C by a compiler of the host, in OpenCL C on a device, and in CUDA on threads of the host."""

from __future__ import annotations

import ctypes
import subprocess
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from phalanx.export import c as exported_c
from phalanx.export import cuda as exported_cuda
from phalanx.languages import opencl
from phalanx.languages.codegen import Routine
from phalanx.languages.dialects import Dialect, bits_functions, c, cuda, helpers, named
from phalanx.languages.dialects import opencl as opencl_dialect
from phalanx.languages.groups import GroupKernel, opencl_source
from phalanx.languages.tiles import CUDA, OPENCL
from phalanx.program.ir import Program


def routine(made: Program, dialect: Dialect) -> Routine:
    return Routine("f", *_sizes(made), made, dialect)


def _sizes(made: Program) -> tuple[dict[str, int], dict[str, int]]:
    return {b.name: b.size for b in made.inputs}, {b.name: b.size for b in made.outputs}


def _outputs(made: Program, count: int) -> list[np.ndarray]:
    return [np.full((count, *made.shapes[b.name]), np.nan) for b in made.outputs]


def in_c(made: Program, inputs: list[np.ndarray], folder: Path, compiler: str = "gcc") -> list[np.ndarray]:
    """The results of a program as C, state by state."""
    r = routine(made, c("double"))
    head = exported_c._HEAD.format(
        lanes=8, fewer=4, fast="defined(__FMA__)", suffix="", real="double", api="extern"
    )
    parts = [head, bits_functions(r.dialect), *helpers(r.dialect, r.helpers, "defined($FUSED)")]
    parts += [*r.tables(), r.source(), r.of_one_state("$API"), "#ifdef __cplusplus\n}\n#endif"]
    (folder / "f.c").write_text(named("\n\n".join(parts), "p") + "\n")
    command = [compiler, "-O2", "-march=native", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC"]
    done = subprocess.run(
        [*command, "f.c", "-o", "f.so", "-lm"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    function = ctypes.CDLL(str(folder / "f.so")).p_f
    count = len(inputs[0])
    outs, work = _outputs(made, count), np.empty(r.workspace + 1)
    for k in range(count):
        rows = [*(np.ascontiguousarray(x[k]) for x in inputs), *(out[k : k + 1] for out in outs)]
        rows += [work] if r.workspace else []
        function(*(ctypes.c_void_p(row.ctypes.data) for row in rows))
    return outs


def in_opencl(made: Program, inputs: list[np.ndarray], form: str) -> list[np.ndarray]:
    """The results of a program on an OpenCL device: "tiles", "vectors" or "groups"."""
    import pyopencl as cl

    from phalanx.backends.devices.opencl_programs import default_queue

    queue, count = default_queue(), len(inputs[0])
    r = routine(made, opencl_dialect("double"))
    if form == "groups":
        kernel = GroupKernel("f", *_sizes(made), made, r.dialect, OPENCL)
        source, name = opencl_source(kernel, "p", 8, fused=False), "p_f_group"
    else:
        lanes = 4 if form == "vectors" else 0
        source = opencl.program_source([r], "p", lanes=lanes, tiles=form == "tiles")
        name = "p_f_vectors" if lanes else "p_f_kernel"
    program = cl.Program(queue.context, source).build()
    flags, outs = cl.mem_flags, _outputs(made, count)
    given = [
        cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=np.ascontiguousarray(x))
        for x in inputs
    ]
    taken = [cl.Buffer(queue.context, flags.READ_WRITE, out.nbytes) for out in outs]
    work = [cl.Buffer(queue.context, flags.READ_WRITE, 8 * 4096 * (r.workspace + 1))]
    constants = list(kernel.tables().values()) if form == "groups" else []
    taken += [cl.Buffer(queue.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=x) for x in constants]
    has_workspace = kernel.workspace if form == "groups" else r.workspace
    items = {"groups": (3 * 8, 8), "tiles": (128, 64), "vectors": (4, None)}[form]
    shape, local = (items[0],), None if items[1] is None else (items[1],)
    getattr(program, name)(
        queue, shape, local, np.uint64(count), *given, *taken, *(work if has_workspace else [])
    )
    for out, buffer in zip(outs, taken, strict=False):
        cl.enqueue_copy(queue, out, buffer)
    return outs


_THREADS = """
#include <pthread.h>
#include <thread>
#include <vector>
struct Three { unsigned x; };
static thread_local Three threadIdx, blockIdx;
static Three gridDim = {1};
static pthread_barrier_t everyone;
#define __shared__ static
#define __global__
#define __launch_bounds__(n)
#define __syncthreads() pthread_barrier_wait(&everyone)
"""
_DRIVER = """
extern "C" void run(unsigned long long count, PARAMETERS) {
  pthread_barrier_init(&everyone, nullptr, P_GROUP);
  std::vector<std::thread> all;
  for (unsigned t = 0; t < P_GROUP; ++t)
    all.emplace_back([=] { threadIdx.x = t; blockIdx.x = 0; p_f_group(count, PASSED); });
  for (auto &each : all) each.join();
  pthread_barrier_destroy(&everyone);
}
"""


def in_cuda_groups(made: Program, inputs: list[np.ndarray], folder: Path, group: int = 4) -> list[np.ndarray]:
    """The results of a program as a CUDA kernel with a block for each state, on threads of the host."""
    dialect = cuda("double")
    kernel = GroupKernel("f", *_sizes(made), made, dialect, CUDA)
    head = exported_cuda._HEAD.format(group=group)
    parts = [head, "#define $GLOBAL static", bits_functions(dialect), *helpers(dialect, kernel.helpers)]
    text = _THREADS + named("\n\n".join([*parts, kernel.source()]), "p")
    names = [*kernel.inputs, *kernel.outputs]
    listed = ", ".join(f"{'const ' if n in kernel.inputs else ''}double *{n}" for n in names)
    passed, count = ", ".join(names), len(inputs[0])
    work = []
    if kernel.workspace:
        listed, passed, work = f"{listed}, double *work", f"{passed}, work", [np.empty(kernel.workspace)]
    (folder / "g.cpp").write_text(text + _DRIVER.replace("PARAMETERS", listed).replace("PASSED", passed))
    command = [
        "g++",
        "-std=c++17",
        "-O1",
        "-march=native",
        "-ffp-contract=off",
        "-shared",
        "-fPIC",
        "-pthread",
    ]
    done = subprocess.run(
        [*command, "g.cpp", "-o", "g.so"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    outs = _outputs(made, count)
    arrays: list[Any] = [*(np.ascontiguousarray(x) for x in inputs), *outs, *work]
    assert all(a.size == count * prod(made.shapes[n]) for a, n in zip(arrays, names, strict=False))
    ctypes.CDLL(str(folder / "g.so")).run(
        ctypes.c_ulonglong(count), *(ctypes.c_void_p(a.ctypes.data) for a in arrays)
    )
    return outs
