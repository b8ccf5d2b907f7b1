# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""PTX for CUDA's driver: kernels on rows of states, and functions of one state for other kernels."""

from __future__ import annotations

from ..backends.devices.ptx import LaunchLayout, architecture, assembled, reordered
from ..backends.native.freestanding import ExportedFunction
from ..languages.names import comment_lines, in_comment
from .api import ExportEntry, Request
from .comments import package_version


def files(request: Request) -> dict[str, str]:
    """The file of all functions."""
    request.chosen(target=None)
    target = architecture(request.target, "export")
    kernels = [
        ExportedFunction(f"{request.prefix}_{e.name}", reordered(e.built(1), spreads=e.spreads))
        for e in request.entries
    ]
    ptx, layouts = assembled(kernels, request.real, target, functions=True)
    notes = [_head(request)]
    for entry, each, layout in zip(request.entries, kernels, layouts, strict=True):
        notes.append(_described(entry, each.name, layout, request.real))
    comments = "\n//\n".join(notes)
    return {request.path.name: f"{comments}\n\n{ptx}"}


def _head(request: Request) -> str:
    robot = request.robot
    return _comment(
        f'Robot "{in_comment(robot.name)}" ({robot.nq} coordinates, {robot.nv} degrees of freedom), '
        f"written by Phalanx {package_version()}, version {request.version}. Do not edit: export it again. "
        "Units are SI; spatial vectors are [angular; linear]. Arrays are rows of a batch, (count, ...), "
        "C-contiguous, and must not overlap. Any number of blocks will do: each goes on while states remain."
    )


def _described(entry: ExportEntry, name: str, layout: LaunchLayout, real: str) -> str:
    """The comment on calls of a function: its parameters, threads and memory."""
    inputs = [f"const {real} *{each}" for each in entry.inputs]
    outputs = [f"{real} *{each}" for each in entry.outputs]
    more = [f"{real} *workspace"] if layout.scratch else []
    shapes = ", ".join(
        f"{each} ({', '.join(map(str, shape))})" for each, shape in {**entry.inputs, **entry.outputs}.items()
    )
    lines = [
        _comment(f"{in_comment(entry.title)}: {shapes}."),
        _comment(
            f"{name}<<<blocks, {layout.block}>>>(int64_t count, {', '.join([*inputs, *outputs, *more])})"
        ),
    ]
    if layout.scratch:
        lines.append(_comment(f"workspace: {layout.workspace(1)} bytes for each block"))
    function = f"{name}_state({', '.join([*inputs, *outputs, *more])}), one state"
    if layout.scratch:
        function += f", its workspace {layout.scratch * layout.element} bytes"
    return "\n".join([*lines, _comment(function)])


def _comment(text: str) -> str:
    return "\n".join(comment_lines(text, "// "))
