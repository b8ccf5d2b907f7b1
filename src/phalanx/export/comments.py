# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Comments and constants of exported sources: their origin, sizes, names and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

import numpy as np

from ..languages.names import WIDTH, c_string, comment_lines, filled, in_comment
from .api import ExportEntry, Request


def package_version() -> str:
    """The installed version of this package."""
    try:
        return version(__name__.partition(".")[0])
    except PackageNotFoundError:
        return "of an unknown version"


def banner(request: Request) -> str:
    """The comment at the top."""
    return "\n".join(["/*", *about(request, " * "), " */"])


def about(request: Request, start: str) -> list[str]:
    """The lines of the comment at the top of a file, each behind `start`."""
    robot = request.robot
    names = ", ".join(entry.name for entry in request.entries)
    text = [
        f'Robot "{in_comment(robot.name)}" ({robot.nq} coordinates, {robot.nv} degrees of freedom): {names}.',
        f"Written by Phalanx {package_version()}, version {request.version}, {request.real} precision.",
        "Do not edit: export it again.",
        "",
        "Units are SI. Spatial vectors are [angular; linear]. Matrices lie row by row. No function "
        "allocates memory or has static variables; arrays must not overlap.",
    ]
    return [line for each in text for line in comment_lines(each, start)]


def described(entry: ExportEntry, workspace: int, stack: int = 0) -> str:
    """The comment in front of a function."""
    shapes = [f"{name} {_shape(shape)}" for name, shape in entry.inputs.items()]
    results = [f"{name} {_shape(shape)}" for name, shape in entry.outputs.items()]
    text = f"{in_comment(entry.title)}: {', '.join(results)} from {', '.join(shapes)}."
    if workspace:
        text += f" The workspace holds {workspace} numbers and needs no values."
    if stack:
        text += f" Compiled with optimisation it needs at most {stack} bytes of stack for one state."
    lines = comment_lines(text[0].upper() + text[1:], " * ")
    return "\n".join(["/*", *lines, " */"])


def constants(request: Request, workspaces: Mapping[str, int]) -> str:
    """Sizes, names, limits and the version as macros: a program stores only those it uses."""
    robot, limits = request.robot, request.robot.limits
    lines = [
        f'#define $VERSION "{request.version}"',
        f"#define $NQ {robot.nq}",
        f"#define $NV {robot.nv}",
        f"#define $N_LINKS {robot.n_links}",
        _listed("$JOINT_NAMES", [c_string(name) for name in robot.joint_names]),
        _listed("$LINK_NAMES", [c_string(name) for name in robot.link_names]),
        *(
            _listed(f"${name}", [_limit(x) for x in values])
            for name, values in (
                ("LOWER", limits.lower),
                ("UPPER", limits.upper),
                ("VELOCITY", limits.velocity),
                ("EFFORT", limits.effort),
            )
        ),
        *(f"#define ${name.upper()}_WORKSPACE {n}" for name, n in workspaces.items() if n),
    ]
    note = "/* Sizes, names and limits; initialisers of arrays: const double lower[] = $LOWER; */"
    return "\n".join([note, *lines])


def _listed(name: str, values: Iterable[str]) -> str:
    rows = filled(values, WIDTH - 6)
    if len(rows) <= 1:
        return f"#define {name} {{{''.join(rows)}}}"
    return f"#define {name} {{ \\\n  " + " \\\n  ".join(rows) + " }"


def _limit(x: float) -> str:
    if np.isinf(x):
        return "INFINITY" if x > 0 else "-INFINITY"
    return repr(float(x))


def _shape(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) if shape else "1"
