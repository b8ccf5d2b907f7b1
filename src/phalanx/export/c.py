# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""C99, also C++: a header of inline functions (.h), or a file for a library (.c).

Every function has a form for one state and one for rows of states, which takes as many of them at once as
a compiler puts into registers. Nothing is allocated, nothing kept; loops over bodies work in memory that the
caller passes.
"""

from __future__ import annotations

from ..languages.dialects import c, named
from ..languages.helpers import bits_functions, helpers
from ..languages.routine import WORKSPACE, Routine
from ..program.elementary.sincos import LARGEST
from .casadi import casadi_entries
from .cmake import cmake_file
from .comments import banner, constants, described
from .request import Request, routines

_FUSED = "defined($FUSED)"
# Not every compiler that knows a fast multiply-add says so by the macro of C99.
_FAST = {
    "double": ("FP_FAST_FMA", "__FMA__", "__aarch64__", "__riscv_d"),
    "float": ("FP_FAST_FMAF", "__FMA__", "__aarch64__", "__ARM_FEATURE_FMA", "__riscv_f"),
}
_WIDEST = 1024  # numbers of a state up to which several states go side by side, on the stack
_LONGEST = 6000  # statements up to which compilers vectorise in reasonable time


def files(request: Request) -> dict[str, str]:
    """The file, and what is asked for beside it."""
    wanted = request.chosen(casadi=False, cmake=False)
    dialect = c(request.real)
    all_routines = routines(request, dialect)
    called = {name for routine in all_routines for name in routine.helpers}
    parts = [banner(request), _head(request), constants(request, all_routines), bits_functions(dialect)]
    parts += helpers(dialect, called, _FUSED)
    for entry, routine in zip(request.entries, all_routines, strict=True):
        parts += [*routine.tables(), routine.text()]
        parts += [f"{described(entry, routine)}\n{_alone(routine)}", _batch(routine)]
    if wanted["casadi"]:
        parts.append(casadi_entries(request, all_routines))
    parts.append(_tail(request))
    made = {request.path.name: named("\n\n".join(parts), request.prefix) + "\n"}
    return made | ({f"{request.path.stem}.cmake": cmake_file(request)} if wanted["cmake"] else {})


def _is_header(request: Request) -> bool:
    return request.suffix == ".h"


def _head(request: Request) -> str:
    """Guards, what is included, and macros that compilers need."""
    guard = ["#ifndef $H", "#define $H", ""] if _is_header(request) else []
    lanes = 8 if request.real == "double" else 16
    fast = " || ".join(f"defined({name})" for name in _FAST[request.real])
    suffix = "" if request.real == "double" else "f"
    api = "static inline" if _is_header(request) else "extern"
    return "\n".join(
        [*guard, _HEAD.format(lanes=lanes, fast=fast, suffix=suffix, real=request.real, api=api)]
    )


_HEAD = """#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {{
#define $RESTRICT __restrict
#else
#define $RESTRICT restrict
#endif
#if defined(__GNUC__) || defined(__clang__)
#define $INLINE static inline __attribute__((always_inline))
#elif defined(_MSC_VER)
#define $INLINE static __forceinline
#else
#define $INLINE static inline
#endif
#ifndef $API
#define $API {api}
#endif
/* A multiply-add rounds once where the processor does so fast; elsewhere product and sum round. */
#if {fast}
#define $FUSED 1
#define $FMA(a, b, c) fma{suffix}(a, b, c)
#else
#define $FMA(a, b, c) ((a) * (b) + (c))
#endif
/* States that are computed side by side: a multiple of what a register of the processor holds. */
#ifndef $LANES
#define $LANES {lanes}
#endif"""


def _tail(request: Request) -> str:
    close = "#ifdef __cplusplus\n}\n#endif"
    return f"{close}\n\n#endif" if _is_header(request) else close


def _alone(routine: Routine) -> str:
    """The function for one state."""
    real = routine.dialect.real
    listed = ", ".join(routine.parameters())
    call = routine.call(routine.arguments(), step="1", careful=True, farthest="&far")
    return f"$API void ${routine.name}({listed}) {{\n  {real} far;\n  {call}\n  (void)far;\n}}"


def _batch(routine: Routine) -> str:
    """The function for rows of states."""
    sizes = routine.sizes
    listed = ", ".join(["size_t count", *routine.parameters()])
    one = ", ".join(routine.arguments("{name} + {{at}} * {size}"))
    alone = f"${routine.name}({one});"
    rest = f"  for (; i < count; ++i) {alone.format(at='i')}"
    lines = [f"$API void ${routine.name}_batch({listed}) {{", "  size_t i = 0;"]
    if not _goes_side_by_side(routine):
        return "\n".join([*lines, rest, "}"])
    real, names = routine.dialect.real, [*sizes]
    lines.append("  for (; count - i >= $LANES; i += $LANES) {")
    lines += [f"    {real} {name}_[{size}][$LANES];" for name, size in sizes.items()]
    lines += [f"    {real} far_[$LANES], far = 0;", "    int l, k;", "    for (l = 0; l < $LANES; ++l) {"]
    for name, size in routine.inputs.items():
        row = f"{name}[(i + (size_t)l) * {size} + (size_t)k]"
        lines.append(f"      for (k = 0; k < {size}; ++k) {name}_[k][l] = {row};")
    inner = [f"&{name}_[0][l]" for name in names]
    lines += [
        "    }",
        "    for (l = 0; l < $LANES; ++l) {",
        f"      {routine.call(inner, step='$LANES', careful=False, farthest='&far_[l]')}",
        "    }",
        "    for (l = 0; l < $LANES; ++l) {",
    ]
    for name, size in routine.outputs.items():
        row = f"{name}[(i + (size_t)l) * {size} + (size_t)k]"
        lines.append(f"      for (k = 0; k < {size}; ++k) {row} = {name}_[k][l];")
    limit = routine.dialect.literal(LARGEST)
    lines += [
        "      far = far_[l] > far ? far_[l] : far;",
        "    }",
        f"    if (far > {limit}) {{",
        "      for (l = 0; l < $LANES; ++l) {",
        f"        if (far_[l] > {limit}) {alone.format(at='(i + (size_t)l)')}",
        "      }",
        "    }",
        "  }",
    ]
    return "\n".join([*lines, rest, "}"])


def _goes_side_by_side(routine: Routine) -> bool:
    """Whether a compiler can vectorise over states: no loops, and few enough numbers and statements."""
    few = routine.numbers <= _WIDEST and routine.length <= _LONGEST
    return few and WORKSPACE not in routine.arguments() and routine.program.is_straight
