# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""CUDA: functions for one state on the device and on the host, and kernels in which each thread has a state.

The functions need nothing of CUDA: a C++ compiler for the host takes the same text, without the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence

from .helpers import bits_functions, helpers
from .routine import Routine
from .tiles import CUDA, GROUP, copies, device_function, tiled

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


def parts_of(routines: Sequence[Routine], *, header: bool = False, notes: Sequence[str] = ()) -> list[str]:
    """The paragraphs of a file, a note in front of each function; kernels of a header are local to a file."""
    dialect = routines[0].dialect
    called = {name for r in routines for name in r.helpers}
    parts = [_HEAD.format(group=GROUP), bits_functions(dialect)]
    parts += helpers(dialect, called)
    for k, r in enumerate(routines):
        note = f"{notes[k]}\n" if notes else ""
        parts += [r.text(), note + device_function(r, "$FUNCTION")]
    kernels = "\n\n".join([*copies(CUDA, routines), *(tiled(r, CUDA) for r in routines)])
    qualifiers = _LOCAL if header else '#define $GLOBAL extern "C" __global__'
    return [*parts, f"#ifdef __CUDACC__\n{qualifiers}\n{kernels}\n#endif"]
