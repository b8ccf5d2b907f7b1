# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""C99, also C++: a header of inline functions (.h), or a file for a library (.c), and a CMake file beside it.

Every function has a form for one state and one for rows of states, which a compiler vectorises over states.
No function allocates memory or has static variables; loops over bodies use memory that the caller passes.
"""

from __future__ import annotations

from ..errors import PhalanxError
from ..languages.codegen import Routine
from ..languages.dialects import bits_functions, c, helpers, named
from ..program import ops
from ..program.elementary import LARGEST
from ..program.ir import Select, Value, statements
from ..program.passes.order import peak
from .api import Request
from .casadi import casadi_derivatives, casadi_entries
from .comments import banner, constants, described

_FUSED = "defined($FUSED)"
# Not every compiler with a fast multiply-add defines the macro of C99.
_FAST = {
    "double": ("FP_FAST_FMA", "__FMA__", "__aarch64__", "__riscv_d"),
    "float": ("FP_FAST_FMAF", "__FMA__", "__aarch64__", "__ARM_FEATURE_FMA", "__riscv_f"),
}
# Numbers of a state, which are on the stack for each lane, and statements up to which compilers vectorise
# over states in reasonable time; no script measures them.
_WIDEST, _LONGEST = 1024, 6000
_CHOICES = (ops.LESS, ops.SELECT, ops.MIN, ops.MAX)
_MOST_BYTES = 64  # of the numbers that lanes hold side by side
_SPILLED, _FRAME = 2.5, 256  # `stack_of`: values on the stack for each live one; bytes of a call besides


def files(request: Request) -> dict[str, str]:
    """The source, and a CMake file if requested."""
    wanted = request.chosen(casadi=False, cmake=False, derivatives=None)
    dialect = c(request.real)
    all_routines = request.routines(dialect)
    is_loaded = wanted["casadi"] or wanted["derivatives"] is not None
    derived = casadi_derivatives(request, dialect, wanted) if is_loaded else []
    called = {
        name for r in (*all_routines, *(d for each in derived for d in each.routines)) for name in r.helpers
    }
    workspaces = {routine.name: routine.workspace for routine in all_routines}
    used = {macro for routine in all_routines for macro in _lane_macros(routine)}
    parts = [banner(request), _head(request, used), constants(request, workspaces), bits_functions(dialect)]
    parts += helpers(dialect, called, _FUSED)
    for entry, routine in zip(request.entries, all_routines, strict=True):
        parts += [*routine.tables(), routine.source()]
        comment = described(entry, routine.workspace, stack_of(routine, request.dtype.itemsize))
        parts += [f"{comment}\n{routine.of_one_state('$API')}", _batch(routine)]
    if wanted["casadi"]:
        parts += casadi_entries(request, all_routines, derived)
    parts.append(_tail(request))
    made = {request.path.name: named("\n\n".join(parts), request.prefix) + "\n"}
    return made | ({f"{request.path.stem}.cmake": _cmake_file(request)} if wanted["cmake"] else {})


def _is_header(request: Request) -> bool:
    return request.suffix == ".h"


def prototypes(request: Request) -> list[tuple[str, int]]:
    """The declarations of all functions, each with the bytes of stack that it needs at most."""
    made, size = [], request.dtype.itemsize
    for routine in request.routines(c(request.real)):
        lanes = _MOST_BYTES // size if _is_vectorised(routine) else 1
        several = [(routine.name, [], 1), (f"{routine.name}_batch", ["size_t count"], lanes)]
        for name, first, each in several:
            listed = ", ".join([*first, *routine.parameters(more=" *")])
            declared = named(f"void ${name}({listed});", request.prefix)
            made.append((declared, stack_of(routine, size, each)))
    return made


def stack_of(routine: Routine, size: int, lanes: int = 1) -> int:
    """Bytes of stack that a call needs at most when compiled with optimisation, rounded up.

    Compilers reorder, and spill up to two and a half times the values that are live in our order: what gcc 12
    and clang 14 say with -fstack-usage is less in all tests.
    """
    live = peak(routine.program) if routine.program.is_straight else routine.length
    numbers = _SPILLED * live + (routine.numbers if lanes > 1 else 0)
    return -(-int(numbers * size * lanes + _FRAME) // 64) * 64


def _head(request: Request, used: set[str]) -> str:
    """Guards, what is included, and macros that compilers need."""
    guard = ["#ifndef $H", "#define $H", ""] if _is_header(request) else []
    wide = 1 if request.real == "double" else 2
    fast = " || ".join(f"defined({name})" for name in _FAST[request.real])
    suffix = "" if request.real == "double" else "f"
    api = "static inline" if _is_header(request) else "extern"
    head = _HEAD.format(lanes=8 * wide, fewer=4 * wide, fast=fast, suffix=suffix, real=request.real, api=api)
    return "\n".join([*guard, head, *(text for macro, text in _LANES.items() if macro in used)])


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
/* States that are computed side by side, 1 where compilers would not vectorise; define it to change that. */
#ifdef $LANES
#define $LANES_GIVEN 1
#elif defined(__AVX512F__)
#define $LANES {lanes}
#elif defined(__AVX__) || defined(__SSE4_1__) || defined(__aarch64__)
#define $LANES {fewer}
#elif defined(__clang__) && defined(__SSE2__)
#define $LANES {fewer}
#else
#define $LANES 1
#endif"""
# Functions with square roots, or with comparisons, are vectorised under further conditions.
_LANES = {
    "$WITH_ROOTS": """/* Square roots are vectorised only if they need not set errno: with -fno-math-errno. */
#if defined($LANES_GIVEN) || defined(__NO_MATH_ERRNO__)
#define $WITH_ROOTS 1
#else
#define $WITH_ROOTS 0
#endif""",
    "$WITH_CHOICES": """/* GCC vectorises comparisons with masks of AVX-512, else with -fno-trapping-math. */
#if defined($LANES_GIVEN) || !defined(__GNUC__) || defined(__clang__) || defined(__AVX512F__)
#define $WITH_CHOICES 1
#else
#define $WITH_CHOICES 0
#endif""",
}


def _tail(request: Request) -> str:
    close = "#ifdef __cplusplus\n}\n#endif"
    return f"{close}\n\n#endif" if _is_header(request) else close


def _batch(routine: Routine) -> str:
    """The function for rows of states."""
    listed = ", ".join(["size_t count", *routine.parameters()])
    one = ", ".join(routine.arguments("{name} + {{at}} * {size}"))
    single = f"${routine.name}({one});"
    lines = [f"$API void ${routine.name}_batch({listed}) {{", "  size_t i = 0;"]
    if _is_vectorised(routine):
        condition = " && ".join(["$LANES > 1", *_lane_macros(routine)])
        lines += [f"#if {condition}", *_blocks(routine, single.format(at="(i + l)")), "#endif"]
    rest = f"  for (; i < count; ++i) {single.format(at='i')}"
    return "\n".join([*lines, rest, "}"])


def _blocks(routine: Routine, single: str) -> list[str]:
    """The loop over blocks of states, a state in each lane; `single` computes one whose angles are too large.

    Its bound is a multiple of the lanes: from `count - i >= LANES` GCC 12 derives that the loop over the rest
    might overflow, and warns.
    """
    real = routine.dialect.real
    limit = routine.dialect.literal(LARGEST)
    lines = ["  for (; i < count - count % $LANES; i += $LANES) {"]
    lines += [f"    {real} {name}_[{size}][$LANES];" for name, size in routine.sizes.items()]
    lines += [f"    {real} far_[$LANES], far = 0;", "    size_t l, k;", "    for (l = 0; l < $LANES; ++l) {"]
    for name, size in routine.inputs.items():
        lines.append(f"      for (k = 0; k < {size}; ++k) {name}_[k][l] = {name}[(i + l) * {size} + k];")
    lanes = [f"&{name}_[0][l]" for name in routine.sizes]
    lines += [
        "    }",
        "    for (l = 0; l < $LANES; ++l) {",
        f"      {routine.call(lanes, step='$LANES', careful=False, farthest='&far_[l]')}",
        "    }",
        "    for (l = 0; l < $LANES; ++l) {",
    ]
    for name, size in routine.outputs.items():
        lines.append(f"      for (k = 0; k < {size}; ++k) {name}[(i + l) * {size} + k] = {name}_[k][l];")
    return [
        *lines,
        "      far = far_[l] > far ? far_[l] : far;",
        "    }",
        f"    if (far > {limit}) {{",
        "      for (l = 0; l < $LANES; ++l) {",
        f"        if (far_[l] > {limit}) {single}",
        "      }",
        "    }",
        "  }",
    ]


def _lane_macros(routine: Routine) -> list[str]:
    """The conditions under which compilers vectorise a function over states."""
    if not _is_vectorised(routine):
        return []
    found = list(statements(routine.program.body))
    roots = any(isinstance(s, Value) and s.op == ops.SQRT for s in found)
    choices = any(isinstance(s, Select) or (isinstance(s, Value) and s.op in _CHOICES) for s in found)
    return ["$WITH_ROOTS"] * roots + ["$WITH_CHOICES"] * choices


def _is_vectorised(routine: Routine) -> bool:
    """Whether a compiler can vectorise over states: no loops, and few enough numbers and statements."""
    few = routine.numbers <= _WIDEST and routine.length <= _LONGEST
    return few and not routine.workspace and routine.program.is_straight


# ------------------------------------------------------------------- CMake


_CMAKE = """# The library {prefix}, from {file}: include() this file and link to it.
{library}
# Without contraction the numbers are those of every other compiler; multiply-adds are written out.
target_compile_options({prefix} {scope} $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off>)
# Nobody reads errno or traps here; compilers then vectorise square roots and comparisons.
target_compile_options({prefix} {scope} $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-fno-math-errno>)
target_compile_options({prefix} {scope} $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-fno-trapping-math>)
if(UNIX)
  target_link_libraries({prefix} {scope} m)
endif()
"""
_INTERFACE = """add_library({prefix} INTERFACE)
target_include_directories({prefix} INTERFACE "${{CMAKE_CURRENT_LIST_DIR}}")
target_compile_features({prefix} INTERFACE c_std_99)"""
_SHARED = """add_library({prefix} SHARED "${{CMAKE_CURRENT_LIST_DIR}}/{file}")
set_target_properties({prefix} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)"""


def _cmake_file(request: Request) -> str:
    """A CMake file with one library: of headers only, or a shared one."""
    header = _is_header(request)
    if not all(c.isalnum() or c in " _-+." for c in request.path.name):
        raise PhalanxError(
            f'export: "{request.path.name}" is no name that CMake takes as it is; with cmake=True name the '
            "file with letters, digits, spaces and the characters _ - + only."
        )
    names = {"prefix": request.prefix, "file": request.path.name}
    library = (_INTERFACE if header else _SHARED).format(**names)
    return _CMAKE.format(**names, library=library, scope="INTERFACE" if header else "PRIVATE")
