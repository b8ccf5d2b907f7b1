# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""CUDA: a header of functions and kernels to include (.cuh), or a file that is compiled by itself (.cu).

The functions use nothing of CUDA: a C++ compiler for the host takes the same source, without the kernels.
"""

from __future__ import annotations

from ..languages.dialects import bits_functions, cuda, helpers, named
from ..languages.tiles import CUDA, GROUP, copies, tiled
from .api import Request
from .comments import banner, constants, described

_ABOUT = """/* Functions NAME(...) compute one state in arrays of a thread, on the device and, by any C++
 * compiler, on the host. Kernels NAME_kernel(count, ...) compute `count` rows of states in device
 * memory, one a thread; launch them with blocks of $GROUP threads, any number of blocks. Where
 * there is a workspace, it holds NAME_WORKSPACE numbers for each thread of a launch, those of
 * neighbouring threads side by side: `stride` numbers lie between two of the same thread.
 * Multiply-adds are written out; compile with -fmad=false (nvcc) or -ffp-contract=off, so that
 * all other operations round. */"""
_HEAD = """#include <math.h>
#include <stddef.h>
#include <string.h>

#ifdef __CUDACC__
#define $INLINE static __host__ __device__ __forceinline__
#define $FUNCTION static inline __host__ __device__
#elif defined(_MSC_VER)
#define $INLINE static __forceinline
#define $FUNCTION static inline
#else
#define $INLINE static inline __attribute__((always_inline))
#define $FUNCTION static inline
#endif
#define $RESTRICT __restrict
/* Threads of a block. */
#ifndef $GROUP
#define $GROUP {group}
#endif"""

_LOCAL = """#ifdef _MSC_VER
#define $GLOBAL static __global__
#else
#define $GLOBAL static __attribute__((unused)) __global__
#endif"""


def files(request: Request) -> dict[str, str]:
    """The file; kernels of a header are local to the source that includes it."""
    request.chosen()
    is_header = request.suffix == ".cuh"
    dialect = cuda(request.real)
    routines = request.routines(dialect)
    parts = [banner(request), _ABOUT, constants(request, {r.name: r.workspace for r in routines})]
    parts += [_HEAD.format(group=GROUP), bits_functions(dialect)]
    parts += helpers(dialect, {name for r in routines for name in r.helpers})
    for entry, r in zip(request.entries, routines, strict=True):
        parts += [r.source(), f"{described(entry, r.workspace)}\n{r.of_one_state('$FUNCTION')}"]
    kernels = "\n\n".join([*copies(CUDA, routines), *(tiled(r, CUDA) for r in routines)])
    qualifiers = _LOCAL if is_header else '#define $GLOBAL extern "C" __global__'
    parts.append(f"#ifdef __CUDACC__\n{qualifiers}\n{kernels}\n#endif")
    if is_header:
        parts = ["#ifndef $CUH\n#define $CUH", *parts, "#endif"]
    return {request.path.name: named("\n\n".join(parts), request.prefix) + "\n"}
