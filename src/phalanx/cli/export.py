# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx export`: functions of a robot as code for other programs and machines."""

from __future__ import annotations

import argparse
import os
import textwrap
from pathlib import Path
from typing import Any

from ..errors import PhalanxError
from ..export.api import FORMATS
from ..robot.robot import Robot
from ..simulation.integrators import DEFAULT, names
from .arguments import add_command, add_robot, load_robot
from .report import emit, emit_json, terminal_width

_DEFAULT = ("inverse_dynamics", "forward_dynamics")
_STEP = "step"


def add(commands: Any) -> None:
    """Add the command to the parser."""
    parser = add_command(
        commands,
        "export",
        run,
        summary="write functions of a robot as C, OpenCL, CUDA, PTX, object code or WebAssembly",
        examples="""
            phalanx export panda -o arm.h
            phalanx export arm.urdf -o arm.c --functions forward_dynamics \\
                forward_dynamics_derivatives --casadi --cmake
            phalanx export ur5 -o arm.o --target cortex-m4 --float32
            phalanx export panda -o arm.wasm --functions gravity_forces step

            a function is [jvp:|vjp:|hvp:]NAME[+OPTIONAL…][:FRAME], such as
            vjp:forward_dynamics, forward_dynamics+external, jacobian:hand;
            step is one of a simulation driven by joint forces.
        """,
    )
    add_robot(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help=f"its suffix tells the language: {' '.join(FORMATS)}",
    )
    parser.add_argument(
        "--functions",
        nargs="+",
        default=list(_DEFAULT),
        metavar="F",
        help=f"default: {' '.join(_DEFAULT)}",
    )
    parser.add_argument("--float32", action="store_true", help="single precision (default: double)")
    parser.add_argument("--target", metavar="T", help="a processor for .o and .ll, or sm_XX for .ptx")
    parser.add_argument("--casadi", action="store_true", help="entries for casadi.external (.c)")
    parser.add_argument("--cmake", action="store_true", help="a CMake file beside it (.h, .c)")
    parser.add_argument(
        "--dt", type=float, default=1e-3, metavar="S", help="seconds of a step (default: 0.001)"
    )
    parser.add_argument(
        "--integrator", choices=names(), default=DEFAULT, help=f"of a step (default: {DEFAULT})"
    )


def run(args: argparse.Namespace) -> int:
    """Write the files and print what is in them; exit status 0."""
    from ..export.entries import entries  # the compiler half
    from ..export.request import Request

    robot = load_robot(args)
    functions = _functions(robot, args)
    dtype: Any = "float32" if args.float32 else "float64"
    options = {name: True for name in ("casadi", "cmake") if getattr(args, name)}
    written = robot.export(args.output, functions, dtype=dtype, target=args.target, **options)
    made = entries(robot, functions)
    version = Request(robot, made, Path(args.output), _dtype(dtype)).version
    sizes = {str(path): os.path.getsize(path) for path in written}
    if args.json:
        facts = [
            {
                "name": e.name,
                "inputs": {n: list(s) for n, s in e.inputs.items()},
                "outputs": {n: list(s) for n, s in e.outputs.items()},
                "form": e.form,
            }
            for e in made
        ]
        emit_json({"files": sizes, "version": version, "dtype": dtype, "functions": facts})
        return 0
    lines = [f"{path}  {size / 1000:,.1f} kB" for path, size in sizes.items()]
    lines += [f"version {version}, {dtype}", ""]
    for e in made:
        told = f"{e.name}: {_listed(e.outputs)} from {_listed(e.inputs)}; {e.form.partition(':')[0]}"
        lines += textwrap.wrap(told, terminal_width(), subsequent_indent="    ", break_on_hyphens=False)
    emit("\n".join(lines))
    return 0


def _functions(robot: Robot, args: argparse.Namespace) -> list[Any]:
    """What is asked for; commas separate as spaces do."""
    names = [name for word in args.functions for name in word.split(",") if name]
    if not names:
        raise PhalanxError("--functions: got none, expected names such as inverse_dynamics.")
    return [_simulation(robot, args) if name == _STEP else name for name in names]


def _simulation(robot: Robot, args: argparse.Namespace) -> Any:
    return robot.simulation(dt=args.dt, integrator=args.integrator)


def _dtype(name: str) -> Any:
    import numpy as np

    return np.dtype(name)


def _listed(shapes: Any) -> str:
    return ", ".join(f"{name} {'x'.join(map(str, shape)) or 1}" for name, shape in shapes.items())
