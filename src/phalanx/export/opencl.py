# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""OpenCL C (.cl): functions for one state, and kernels."""

from __future__ import annotations

from ..languages.dialects import named, opencl
from ..languages.opencl import LANES, paragraphs, vector_workspace, with_wide_rows_global
from .api import Request
from .comments import banner, constants, described

_ABOUT = """/* Functions NAME(...) compute one state in private arrays, wide ones in global memory. Kernels
 * NAME_kernel(count, ...) compute `count` rows of states in global memory, one a work-item; launch
 * them with groups of $GROUP, any number of groups. Where there is a workspace, it holds
 * NAME_WORKSPACE numbers for each work-item of a launch, those of neighbouring ones side by side:
 * `stride` numbers lie between two of the same work-item. */"""
_VECTORS = """/* Kernels NAME_vectors(count, ...) are for ordinary processors: {lanes} states a work-item in
 * vector types; launch any number of work-items, in groups of one. Their workspace holds
 * NAME_VECTORS_WORKSPACE numbers for each work-item. */"""


def files(request: Request) -> dict[str, str]:
    """The file; with the option `vectors=True` it has kernels for ordinary processors as well."""
    lanes = LANES[request.real] if request.chosen(vectors=False)["vectors"] else 0
    routines = [with_wide_rows_global(r) for r in request.routines(opencl(request.real))]
    notes = [described(e, r.workspace) for e, r in zip(request.entries, routines, strict=True)]
    parts = [banner(request), _ABOUT, constants(request, {r.name: r.workspace for r in routines})]
    if lanes:
        needs = {r.name: vector_workspace(r, lanes) for r in routines}
        sizes = [f"#define ${name.upper()}_VECTORS_WORKSPACE {n}" for name, n in needs.items() if n]
        parts.append("\n".join([_VECTORS.format(lanes=lanes), *sizes]))
    parts += paragraphs(routines, lanes=lanes, notes=notes)
    return {request.path.name: named("\n\n".join(parts), request.prefix) + "\n"}
