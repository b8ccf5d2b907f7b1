# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx export`: functions of a robot as code for other programs and machines."""

from __future__ import annotations

import argparse
import os
import textwrap
from typing import Any

from ..errors import PhalanxError
from ..export.api import FORMATS, requested, write
from ..export.c import prototypes
from ..robot.robot import Robot
from ..simulation.integrators import DEFAULT, INTEGRATORS
from .arguments import add_robot, load_robot, refuse_without
from .output import emit, emit_json, terminal_width

_STEP = "step"
_DT = 0.001


EXAMPLES = """
phalanx export panda -o arm.h
phalanx export arm.urdf -o arm.c --functions forward_dynamics --casadi --cmake
phalanx export ur5 -o arm.o --target cortex-m4 --float32
phalanx export panda -o arm.wasm --functions gravity_forces step
phalanx export ur5 -o arm.v --functions inverse_dynamics --accuracy 1e-3

a function is [jvp:|vjp:|hvp:]NAME[+OPTIONAL…][:FRAME], such as
vjp:forward_dynamics, forward_dynamics+external, jacobian:hand;
step is one of a simulation driven by joint forces.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_robot(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help=f"its suffix selects the language: {' '.join(FORMATS)}",
    )
    parser.add_argument(
        "--functions",
        nargs="+",
        metavar="F",
        help="default: inverse_dynamics and, but for .v, forward_dynamics",
    )
    parser.add_argument("--float32", action="store_true", help="single precision (default: double)")
    parser.add_argument(
        "--target",
        metavar="T",
        help="a processor for .o and .ll, sm_XX for .ptx; generic, xilinx or ecp5 for .v",
    )
    parser.add_argument("--casadi", action="store_true", help="entries for casadi.external (.c)")
    parser.add_argument(
        "--derivatives", type=int, choices=(0, 1, 2), help="their highest order with --casadi (default: 2)"
    )
    parser.add_argument("--cmake", action="store_true", help="a CMake file beside it (.h, .c)")
    parser.add_argument("--accuracy", type=float, metavar="E", help="largest error of a result (.v)")
    parser.add_argument("--word", type=int, metavar="BITS", help="width of all numbers instead (.v)")
    parser.add_argument("--interval", type=int, metavar="N", help="clocks between states (.v, default: 1)")
    parser.add_argument(
        "--bounds",
        nargs="+",
        metavar="INPUT=LOW:HIGH",
        help="ranges of inputs without limits (.v), as qd=-2:2",
    )
    parser.add_argument("--dt", type=float, metavar="S", help=f"seconds of a step (default: {_DT})")
    parser.add_argument("--integrator", choices=list(INTEGRATORS), help=f"of a step (default: {DEFAULT})")


def run(args: argparse.Namespace) -> int:
    """Write the files and print what is in them; exit status 0."""
    robot = load_robot(args)
    functions = _functions(robot, args)
    options: dict[str, Any] = {name: True for name in ("casadi", "cmake") if getattr(args, name)}
    for name in ("accuracy", "word", "interval", "derivatives"):
        if (value := getattr(args, name)) is not None:
            options[name] = value
    if args.bounds:
        options["bounds"] = dict(map(_bound, args.bounds))
    dtype = "float32" if args.float32 else "float64"
    request = requested(robot, args.output, functions, dtype, args.target, **options)
    sizes = {str(path): os.path.getsize(path) for path in write(request)}
    version = request.version
    declared = prototypes(request) if request.suffix in (".h", ".c") else []
    if args.json:
        facts = [
            {
                "name": e.name,
                "inputs": {n: list(s) for n, s in e.inputs.items()},
                "outputs": {n: list(s) for n, s in e.outputs.items()},
                "form": e.form,
            }
            for e in request.entries
        ]
        of_c = {"prototypes": [{"declaration": d, "stack": n} for d, n in declared]} if declared else {}
        emit_json({"files": sizes, "version": version, "dtype": dtype, "functions": facts, **of_c})
        return 0
    lines = [f"{path}  {size / 1000:,.1f} kB" for path, size in sizes.items()]
    lines += [f"version {version}, {dtype}", ""]
    for e in request.entries:
        line = f"{e.name}: {_listed(e.outputs)} from {_listed(e.inputs)}; {e.form.partition(':')[0]}"
        lines += textwrap.wrap(line, terminal_width(), subsequent_indent="    ", break_on_hyphens=False)
    if declared:
        lines += ["", "stack in bytes, at most, compiled with optimisation:"]
    for declaration, stack in declared:
        line = f"{stack:>7,}  {declaration}"
        lines += textwrap.wrap(line, terminal_width(), subsequent_indent=" " * 13, break_on_hyphens=False)
    emit("\n".join(lines))
    return 0


def _functions(robot: Robot, args: argparse.Namespace) -> list[Any] | None:
    """The requested functions, None for the default ones; commas separate as spaces do."""
    if args.functions is None:
        refuse_without(args, "step among --functions", "dt", "integrator")
        return None
    names = [name for word in args.functions for name in word.split(",") if name]
    if not names:
        raise PhalanxError("--functions: got none, expected names such as inverse_dynamics.")
    if _STEP not in names:
        refuse_without(args, "step among --functions", "dt", "integrator")
        return names
    given = {name: value for name in ("dt", "integrator") if (value := getattr(args, name)) is not None}
    step = robot.simulation(**{"dt": _DT, **given})
    return [step if name == _STEP else name for name in names]


def _bound(text: str) -> tuple[str, tuple[float, float]]:
    """The range that INPUT=LOW:HIGH means."""
    name, _, ends = text.partition("=")
    low, _, high = ends.partition(":")
    try:
        return name, (float(low), float(high))
    except ValueError:
        raise PhalanxError(f"--bounds: got {text!r}, expected INPUT=LOW:HIGH such as qd=-2:2.") from None


def _listed(shapes: Any) -> str:
    return ", ".join(f"{name} {'x'.join(map(str, shape)) or 1}" for name, shape in shapes.items())
