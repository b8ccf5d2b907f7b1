# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A CMake file beside exported C: a library to link to."""

from __future__ import annotations

from .request import Request

_TEXT = """# The library {prefix}, from {file}.
cmake_minimum_required(VERSION 3.10)
project({prefix} LANGUAGES C)
{library}
# Without contraction the numbers are those of every other compiler; multiply-adds are written out.
set({prefix}_options $<$<C_COMPILER_ID:GNU,Clang,AppleClang>:-ffp-contract=off>)
target_compile_options({prefix} {scope} ${{{prefix}_options}})
if(UNIX)
  target_link_libraries({prefix} {scope} m)
endif()
"""
_HEADER = """add_library({prefix} INTERFACE)
target_include_directories({prefix} INTERFACE ${{CMAKE_CURRENT_SOURCE_DIR}})
target_compile_features({prefix} INTERFACE c_std_99)"""
_SOURCE = """add_library({prefix} SHARED {file})
set_target_properties({prefix} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF)"""


def cmake_file(request: Request) -> str:
    """A project with one library: of headers only, or a shared one."""
    header = request.suffix == ".h"
    names = {"prefix": request.prefix, "file": request.path.name}
    library = (_HEADER if header else _SOURCE).format(**names)
    return _TEXT.format(**names, library=library, scope="INTERFACE" if header else "PRIVATE")
