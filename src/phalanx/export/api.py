# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.export`: from names of functions to programs, and to the files of a language.

The suffix of the file selects the language. Functions are named
`[jvp:|vjp:|hvp:]FUNCTION[+OPTIONAL …][:FRAME]`: "inverse_dynamics", "vjp:forward_dynamics",
"forward_dynamics+external", "jacobian:hand". Kernels may be passed as well, functions of users' own
(`robot.function`) with their derivatives, laws: the forces that they return, and simulations: their step.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS, FunctionSpec
from ..arrays import float_type
from ..backends.native.kernel import Kernel
from ..dispatch import is_native, resolve
from ..errors import PhalanxError, nearest, shown
from ..files import path_text, write_files
from ..inverse_kinematics.iteration import BOUND, exported
from ..languages.codegen import Routine
from ..languages.dialects import Dialect
from ..languages.names import identifier, taken
from ..products import derivative_of
from ..program.ir import Program
from ..program.lowering import annotated, form_of, specialised
from ..program.passes.nonfinite import spread
from ..program.task import Call
from ..robot.constrained import CONSTRAINED
from ..robot.formulas import STEPS
from ..robot.robot import Robot
from ..simulation.engine import step_trace, straight_step
from ..simulation.simulation import Simulation
from ..tracing.function import OwnFunction
from .casadi_derivatives import Differentiable, of_call, of_step, of_trace

# The module that writes files of a suffix: its `files(request)` returns their contents by name.
FORMATS = {
    ".h": "c",
    ".c": "c",
    ".cl": "opencl",
    ".cu": "cuda",
    ".cuh": "cuda",
    ".ptx": "ptx",
    ".ll": "objects",
    ".o": "objects",
    ".wasm": "wasm",
    ".v": "verilog",
}
SOLVER = "inverse_kinematics"
_VALUE = "value"  # the pseudo input that requests a derivative's own function as well


def export(
    robot: Robot,
    path: Any,
    functions: Any = None,
    dtype: Any = "float64",
    target: str | None = None,
    **options: Any,
) -> list[Path]:
    """`Robot.export`, as `robot/api.py` declares it."""
    return write(requested(robot, path, functions, dtype, target, **options))


def requested(
    robot: Robot, path: Any, functions: Any, dtype: Any, target: str | None = None, **options: Any
) -> Request:
    """The traced functions and the file they go to; a bad path raises before anything is traced."""
    checked = _checked(path)
    if functions is None:
        functions = default_functions(checked.suffix)
    kind = float_type(dtype, "export")
    return Request(robot, entries(robot, functions, kind), checked, kind, target, dict(options))


def default_functions(suffix: str) -> tuple[str, ...]:
    """The functions that are exported where none are named."""
    return ("inverse_dynamics",) if suffix == ".v" else ("inverse_dynamics", "forward_dynamics")


def write(request: Request) -> list[Path]:
    """The paths of the files written; they appear under their names when complete."""
    module = import_module(f".{FORMATS[request.suffix]}", __package__)
    contents: Mapping[str, bytes | str] = module.files(request)
    return write_files(request.path.parent, contents, where="export")


def _checked(path: Any) -> Path:
    """The path to write to; raises before anything is computed."""
    if not isinstance(path, (str, os.PathLike)):
        raise PhalanxError(f"export: path is {shown(path)}, expected the name of a file such as arm.h.")
    file = Path(path_text(path, "export"))
    if file.suffix not in FORMATS:
        known = nearest(file.suffix, FORMATS, what="suffixes")
        raise PhalanxError(f'export: "{file.name}" has the suffix {shown(file.suffix)};{known}')
    try:
        is_there, is_folder = file.parent.is_dir(), file.is_dir()
    except OSError as error:  # names that are too long, in most file systems above 255 bytes
        raise PhalanxError(f"export: cannot write {shown(str(file))}: {error.strerror}.") from None
    if not is_there:
        raise PhalanxError(f'export: the folder "{file.parent}" is not there; make it first.')
    if is_folder:
        raise PhalanxError(f'export: "{file}" is a folder, expected the name of a file.')
    return file


@dataclass(frozen=True)
class ExportEntry:
    """One function to be exported, under a name that is an identifier."""

    name: str
    title: str  # what it computes, for people
    robot: Robot
    inputs: Mapping[str, tuple[int, ...]]  # shapes by identifiers, in the order of the program's buffers
    outputs: Mapping[str, tuple[int, ...]]
    built: Callable[[int], Program]  # the program for a number of SIMD lanes
    form: str
    spreads: bool = True  # whether a NaN or an infinity reaches all results
    annotated: Callable[[], Program] | None = None  # straight-line code whose values know their quantities
    digest: str = ""  # of the program, where the names do not determine it
    differentiable: Callable[[], Differentiable] | None = None  # the function with its derivatives

    def program(self, lanes: int) -> Program:
        """The program for a number of SIMD lanes, NaN propagation included."""
        return spread(self.built(lanes)) if self.spreads else self.built(lanes)

    @property
    def sizes(self) -> dict[str, int]:
        """The length of each input and output in numbers, in order."""
        return {name: prod(shape) for name, shape in (*self.inputs.items(), *self.outputs.items())}

    def routine(self, dialect: Dialect) -> Routine:
        """The entry as a function of a language like C."""
        inputs, outputs = ({n: self.sizes[n] for n in names} for names in (self.inputs, self.outputs))
        return Routine(self.name, inputs, outputs, self.program(1), dialect)


@dataclass(frozen=True)
class Request:
    """One export: functions of a robot, traced once, and the file they are written to."""

    robot: Robot
    entries: list[ExportEntry]
    path: Path
    dtype: np.dtype
    target: str | None = None
    options: dict[str, Any] = field(default_factory=dict)  # of single formats

    @property
    def suffix(self) -> str:
        return self.path.suffix

    @property
    def prefix(self) -> str:
        """The prefix of all names, from the name of the file."""
        return identifier(self.path.stem)

    @property
    def real(self) -> str:
        """The type of real numbers: "double" or "float"."""
        return "double" if self.dtype == np.float64 else "float"

    @property
    def version(self) -> str:
        """A hash of the robot, the functions and the precision: equal ones compute the same."""
        sha = hashlib.sha256(self.robot.digest.encode())
        for entry in self.entries:
            sha.update(repr((entry.name, entry.title, entry.form, entry.digest, self.dtype.name)).encode())
        return sha.hexdigest()[:16]

    def chosen(self, **defaults: Any) -> dict[str, Any]:
        """The options of a format, `defaults` where none are given; raises if one is unknown."""
        for name, value in self.options.items():
            if name not in defaults:
                known = nearest(name, defaults, what="options")
                raise PhalanxError(
                    f'export: files such as "{self.path.name}" have no option {name!r};{known}'
                )
            if isinstance(defaults[name], bool) and not isinstance(value, bool | np.bool_):
                raise PhalanxError(f"export: {name} is {shown(value)}, expected True or False.")
        if self.target is not None and "target" not in defaults:
            raise PhalanxError(
                f'export: target={shown(self.target)} for "{self.path.name}", which has none; use .o, .ll, '
                ".ptx or .v."
            )
        return {**defaults, **self.options}

    def routines(self, dialect: Dialect) -> list[Routine]:
        """The entries as functions of a language like C."""
        return [entry.routine(dialect) for entry in self.entries]


# ------------------------------------------------------------------- functions by name


def entries(robot: Robot, functions: Any, dtype: Any = np.float64) -> list[ExportEntry]:
    """The functions to export, from names, kernels and simulations or a mapping from names to them."""
    if isinstance(functions, (str, Kernel, OwnFunction, Simulation)) or callable(functions):
        functions = (functions,)
    if not isinstance(functions, Iterable) or (isinstance(functions, np.ndarray) and not functions.ndim):
        raise PhalanxError(
            f"export: functions is {shown(functions)}, expected names such as inverse_dynamics."
        )
    named = functions.items() if isinstance(functions, Mapping) else ((None, each) for each in functions)
    made = [_entry(robot, wanted, name, dtype) for name, wanted in named]
    if not made:
        raise PhalanxError("export: functions is empty, expected at least one such as inverse_dynamics.")
    names = [each.name for each in made]
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise PhalanxError(
            f'export: two functions would be called "{twice[0]}"; give a mapping from names to functions.'
        )
    for name in names:
        if like := taken(name, names):
            raise PhalanxError(
                f'export: a function would be called "{name}", which is {like}; '
                "give a mapping from other names to functions."
            )
    return made


def _entry(robot: Robot, wanted: Any, name: Any, dtype: Any) -> ExportEntry:
    if name is not None and (not isinstance(name, str) or identifier(name, reserved=False) != name):
        raise PhalanxError(f"export: the name {shown(name)} is no identifier; use letters, digits and _.")
    if isinstance(wanted, Simulation):
        made = _step(wanted)
    elif isinstance(wanted, OwnFunction):
        made = _own(wanted)
    elif isinstance(wanted, Kernel):
        made = entry_of(wanted._call)
    elif isinstance(wanted, str) and FunctionSpec.parse(wanted).function in (*STEPS, *CONSTRAINED):
        spec = FunctionSpec.parse(wanted)
        own = robot.function(spec.function)
        made = _own(getattr(own, spec.derivative) if spec.derivative else own)
    elif isinstance(wanted, str) and FunctionSpec.parse(wanted).function == SOLVER:
        made = _solver(robot, wanted, dtype)
    elif isinstance(wanted, str):
        made = entry_of(*_named(robot, wanted))
    elif callable(wanted):
        made = _own(robot.function(wanted))
    else:
        raise PhalanxError(
            f"export: {shown(wanted)} is no function; expected a name such as inverse_dynamics, a kernel, "
            "a simulation, a law, a Python function, or what robot.function has made of one."
        )
    if made.robot is not robot and made.robot.digest != robot.digest:
        raise PhalanxError(
            f'export: {made.name} is of robot "{made.robot.name}", expected one of "{robot.name}"; export it '
            "from its own robot."
        )
    return made if name is None else replace(made, name=name)


def _named(robot: Robot, text: str) -> tuple[Call, tuple[str, ...]]:
    """The call that a name means, and its optional inputs."""
    spec = FunctionSpec.parse(text)
    function, optional = spec.function, list(spec.optional)
    if function not in FUNCTIONS:
        raise PhalanxError(f"export: unknown function {shown(function)};{nearest(function, FUNCTIONS)}")
    f = FUNCTIONS[function]
    if f.frame and not spec.frame:
        raise PhalanxError(
            f'export: {function} is of a frame; name it, such as "{text}:{robot.frame_names[-1]}".'
        )
    if spec.derivative:
        call = derivative_of(robot, spec.derivative, function, "auto", spec.frame)
    else:
        call = resolve(robot, function, "auto", spec.frame)
    if _VALUE in optional and f.value and not spec.derivative:
        call = replace(call, algorithm=replace(call.algorithm, valued=True))
        optional.remove(_VALUE)
    for each in optional:
        if each not in f.optional:
            known = [*f.optional, *([_VALUE] if f.value else [])]
            raise PhalanxError(f"export: {function} takes no {shown(each)};{nearest(each, known)}")
    return call, tuple(each for each in f.optional if each in optional)


def entry_of(call: Call, optional: tuple[str, ...] = ()) -> ExportEntry:
    """A function of a robot by an algorithm, to be exported."""
    f = call.function
    if not is_native(call):
        raise PhalanxError(f'export: {f.name} of robot "{call.robot.name}" has no result; nothing to export.')
    built = specialised(call, optional)
    words = [f.name.replace(".", "_"), *optional, *([call.frame] if call.frame else [])]
    inputs = _identifiers(call.input_sizes(optional), ())
    outputs = _identifiers(call.output_sizes(), inputs)
    frame = f" of frame {call.frame}" if call.frame else ""
    title = f"{f.name.replace('.', ', ')}{frame} by {call.algorithm.name}"
    name, form = identifier("_".join(words), reserved=False), str(form_of(call, optional))
    straight = partial(annotated, call, optional)
    slopes = partial(of_call, call, optional)
    return ExportEntry(
        name, title, call.robot, inputs, outputs, built, form, annotated=straight, differentiable=slopes
    )


def _own(function: OwnFunction) -> ExportEntry:
    """An entry for a user's function; NaN spreads as its operations spread it."""
    program = function.program()
    shapes = program.shapes
    inputs = _identifiers({buffer.name: shapes[buffer.name] for buffer in program.inputs}, ())
    outputs = _identifiers({buffer.name: shapes[buffer.name] for buffer in program.outputs}, inputs)
    name = identifier(function.name, reserved=False)
    title = f"{function.name.replace('.', ', ')}, a function of one's own"
    built, form = (lambda _: program), "unrolled: a traced function"
    digest = hashlib.sha256(str(program).encode()).hexdigest()
    return ExportEntry(
        name,
        title,
        function.robot,
        inputs,
        outputs,
        built,
        form,
        spreads=False,
        annotated=lambda: program,
        digest=digest,
        differentiable=partial(of_trace, function._trace),
    )


def _solver(robot: Robot, text: str, dtype: Any) -> ExportEntry:
    """Inverse kinematics of the pose of a frame, to be exported."""
    spec = FunctionSpec.parse(text)
    if not spec.frame or spec.derivative or spec.optional:
        raise PhalanxError(
            f'export: {text} is of the pose of a frame; write "{SOLVER}:{robot.frame_names[-1]}".'
        )
    program = exported(robot, spec.frame, np.dtype(dtype))
    inputs = {buffer.name: program.shapes[buffer.name] for buffer in program.inputs}
    outputs = {buffer.name: program.shapes[buffer.name] for buffer in program.outputs}
    name = identifier(f"{SOLVER}_{spec.frame}", reserved=False)
    title = (
        f"{SOLVER} of the pose of frame {spec.frame}: settings are the tolerance (rad and m), the number of "
        "tries, the most iterations of one, and which start is tried first after the given one; facts are "
        f"whether it is solved, the iterations of all tries, at most {BOUND}, and how far the target is from "
        "a rigid motion"
    )
    digest = hashlib.sha256(str(program).encode()).hexdigest()
    form = f"a loop of at most {BOUND} iterations"
    return ExportEntry(name, title, robot, inputs, outputs, lambda _: program, form, digest=digest)


def _step(sim: Simulation) -> ExportEntry:
    """One step of a simulation, to be exported."""
    program = straight_step(sim)
    shapes = program.shapes
    inputs = _identifiers({buffer.name: shapes[buffer.name] for buffer in program.inputs}, ())
    outputs = _identifiers({buffer.name: shapes[buffer.name] for buffer in program.outputs}, inputs)
    title = f"a step of {sim.dt:g} s, integrator {sim.integrator}"
    form, digest = "unrolled: one step", hashlib.sha256(str(program).encode()).hexdigest()
    return ExportEntry(
        "step",
        title,
        sim.robot,
        inputs,
        outputs,
        lambda _: program,
        form,
        spreads=False,
        digest=digest,
        differentiable=lambda: of_step(sim._settings, step_trace(sim)),
    )


def _identifiers(shapes: Mapping[str, tuple[int, ...]], taken: Collection[str]) -> dict[str, tuple[int, ...]]:
    """Shapes by names that are valid in C; a name in `taken` gets the prefix `grad_`."""
    made: dict[str, tuple[int, ...]] = {}
    used = {name: name for name in taken}
    for name, shape in shapes.items():
        plain = identifier(name)
        plain = f"grad_{plain}" if plain in taken else plain
        if plain in used:
            raise PhalanxError(
                f'export: the arrays "{used[plain]}" and "{name}" are both called {plain} in exported code; '
                "rename one."
            )
        used[plain], made[plain] = name, shape
    return made
