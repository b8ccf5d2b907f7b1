# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""WebAssembly: a module that imports nothing (.wasm), and functions of typed arrays around it (.mjs).

Lanes of 128 bits are states. There is no fused multiply-add: bits are those of a processor without one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from ..backends.native.targets import WASM
from ..errors import PhalanxError
from ..languages.names import in_comment
from .linking import linked
from .objects import CompiledObject, compiled
from .request import Request, package_version

_LINE = 100  # characters
_RESERVED = frozenset(
    ("info", "rows", "constructor", "__proto__")
)  # names that a robot has in JavaScript anyway


def files(request: Request) -> dict[str, bytes | str]:
    """The module and what calls it."""
    request.chosen()
    taken = next((entry.name for entry in request.entries if entry.name in _RESERVED), None)
    if taken:
        raise PhalanxError(
            f'export: "{request.path.name}" has a member "{taken}" already; give a mapping from another name.'
        )
    made = compiled(request, WASM)
    module = linked(made.object_code(), [("phalanx", request.version.encode())])
    return {request.path.name: module, f"{request.path.stem}.mjs": _script(made)}


def _script(made: CompiledObject) -> str:
    """The functions around the module."""
    request = made.request
    text = Path(__file__).with_name("module.mjs").read_text(encoding="utf-8")
    first = request.entries[0]
    words = {
        "about": _about(request),
        "info": _json(_info(made)),
        "array": "Float64Array" if request.real == "double" else "Float32Array",
        "prefix_": f"{request.prefix}_",
        "stem": _escaped(request.path.stem),
        "example": first.name,
        "example_inputs": ", ".join(first.inputs),
        "example_result": next(iter(first.outputs)) if len(first.outputs) == 1 else "results",
    }
    return re.sub(r"\$(prefix_|[a-z]+(?:_[a-z]+)*)\b", lambda m: words[m[1]], text)


def _about(request: Request) -> str:
    robot = request.robot
    return (
        f'Robot "{in_comment(robot.name)}" ({robot.nq} coordinates, {robot.nv} degrees of freedom) in '
        "WebAssembly.\n"
        f"// Written by Phalanx {package_version()}, version {request.version}, {request.real} precision. "
        "Do not edit: export it again."
    )


def _escaped(name: str) -> str:
    """A file's name as it may stand in a string of JavaScript and in an address."""
    from urllib.parse import quote

    return quote(name)


def _info(made: CompiledObject) -> dict[str, Any]:
    """What scripts may want to know of the robot and its functions."""
    request, robot = made.request, made.request.robot
    limits = {name: _finite(getattr(robot.limits, name)) for name in ("lower", "upper", "velocity", "effort")}
    functions = {
        entry.name: {
            "title": entry.title,
            "inputs": {name: list(shape) for name, shape in entry.inputs.items()},
            "outputs": {name: list(shape) for name, shape in entry.outputs.items()},
            "workspace": needs.workspace,
        }
        for entry, needs in zip(request.entries, made.workspaces, strict=True)
    }
    return {
        "name": robot.name,
        "version": request.version,
        "dtype": request.dtype.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "nLinks": robot.n_links,
        "jointNames": list(robot.joint_names),
        "linkNames": list(robot.link_names),
        "parents": [int(p) for p in robot.parents],
        "limits": limits,
        "functions": functions,
    }


def _json(values: dict[str, Any], indent: str = "  ") -> str:
    """An object of JavaScript, a line for each member; it may stand in a page, too."""
    lines = []
    for key, value in values.items():
        text = json.dumps(value, allow_nan=False).replace("<", "\\u003c")
        if isinstance(value, dict) and len(text) > _LINE:
            text = _json(value, f"{indent}  ")
        lines.append(f"{indent}{json.dumps(key)}: {text},")
    return "\n".join(["{", *lines, f"{indent[:-2]}}}"])


def _finite(numbers: np.ndarray) -> list[float | None]:
    return [float(x) if np.isfinite(x) else None for x in numbers]
