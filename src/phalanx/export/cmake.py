# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A CMake file beside exported C: a library to link to."""

from __future__ import annotations

from ..errors import PhalanxError
from .request import Request

_TEXT = """# The library {prefix}, from {file}: include() this file and link to it.
{library}
# Without contraction the numbers are those of every other compiler; multiply-adds are written out.
target_compile_options({prefix} {scope} $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off>)
if(UNIX)
  target_link_libraries({prefix} {scope} m)
endif()
"""
_HEADER = """add_library({prefix} INTERFACE)
target_include_directories({prefix} INTERFACE "${{CMAKE_CURRENT_LIST_DIR}}")
target_compile_features({prefix} INTERFACE c_std_99)"""
_SOURCE = """add_library({prefix} SHARED "${{CMAKE_CURRENT_LIST_DIR}}/{file}")
set_target_properties({prefix} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)"""


def cmake_file(request: Request) -> str:
    """One library: of headers only, or a shared one."""
    header = request.suffix == ".h"
    if not all(c.isalnum() or c in " _-+." for c in request.path.name):
        raise PhalanxError(
            f'export: "{request.path.name}" is no name that CMake takes as it is; with cmake=True name the '
            "file with letters, digits, spaces and the characters _ - + only."
        )
    names = {"prefix": request.prefix, "file": request.path.name}
    library = (_HEADER if header else _SOURCE).format(**names)
    return _TEXT.format(**names, library=library, scope="INTERFACE" if header else "PRIVATE")
