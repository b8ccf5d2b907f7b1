# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""CUDA: a header of functions and kernels to include (.cuh), or a file that is compiled by itself (.cu)."""

from __future__ import annotations

from ..languages.cuda import parts_of
from ..languages.dialects import cuda, named
from .comments import banner, constants, described
from .request import Request, routines

_ABOUT = """/* Functions NAME(...) compute one state in arrays of a thread, on the device and, by any C++
 * compiler, on the host. Kernels NAME_kernel(count, ...) compute `count` rows of states in device
 * memory, one a thread; launch them with blocks of $GROUP threads, any number of blocks. Where
 * there is a workspace, it holds NAME_WORKSPACE numbers for each thread of a launch, those of
 * neighbouring threads side by side: `stride` numbers lie between two of the same thread.
 * Multiply-adds are written out; compile with -fmad=false (nvcc) or -ffp-contract=off, so that
 * all other operations round. */"""


def files(request: Request) -> dict[str, str]:
    """The file."""
    request.chosen()
    all_routines = routines(request, cuda(request.real))
    notes = [described(e, r) for e, r in zip(request.entries, all_routines, strict=True)]
    parts = [banner(request), _ABOUT, constants(request, all_routines)]
    parts += parts_of(all_routines, header=request.suffix == ".cuh", notes=notes)
    if request.suffix == ".cuh":
        parts = ["#ifndef $CUH\n#define $CUH", *parts, "#endif"]
    return {request.path.name: named("\n\n".join(parts), request.prefix) + "\n"}
