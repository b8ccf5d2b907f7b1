# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What is exported: functions of a robot, named as users name them, each with its program.

A function is named `[jvp:|vjp:|hvp:]FUNCTION[+OPTIONAL …][:FRAME]`: "inverse_dynamics",
"vjp:forward_dynamics", "forward_dynamics+external", "jacobian:hand". A kernel or a simulation may stand in
place of a name: the latter is its step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS
from ..backends.base import Call
from ..backends.native.kernel import Kernel
from ..backends.native.lowering import alone
from ..dispatch import is_native, resolve
from ..errors import PhalanxError, nearest, shown
from ..languages.names import identifier, taken
from ..products import derivative_of
from ..program.form.nonfinite import spread
from ..program.form.program import Program
from ..robot.robot import Robot
from ..simulation.simulation import Simulation
from ..simulation.straight import straight_step

_MODES = ("jvp", "vjp", "hvp")
_VALUE = "value"  # the pseudo input that asks for what a function is the derivative of


@dataclass(frozen=True)
class ExportEntry:
    """One function to be exported, under a name that is an identifier."""

    name: str
    title: str  # what it computes, for people
    robot: Robot
    inputs: Mapping[str, tuple[int, ...]]  # shapes by identifiers, in the order of the program's regions
    outputs: Mapping[str, tuple[int, ...]]
    built: Callable[[int], Program]  # the program for registers of so many lanes
    form: str
    told: tuple[float, ...] = ()  # what the program is told with every call
    spreads: bool = True  # whether what is not finite reaches all results

    def program(self, lanes: int) -> Program:
        """The program for registers of so many lanes, ready to be written."""
        return spread(self.built(lanes)) if self.spreads else self.built(lanes)

    @property
    def sizes(self) -> dict[str, int]:
        """How many numbers each input and output is, in order."""
        return {name: prod(shape) for name, shape in (*self.inputs.items(), *self.outputs.items())}


def entries(robot: Robot, functions: Any) -> list[ExportEntry]:
    """What is asked for: names, kernels and simulations, or a mapping from names to them."""
    if isinstance(functions, (str, Kernel, Simulation)):
        functions = (functions,)
    if not isinstance(functions, Iterable) or (isinstance(functions, np.ndarray) and not functions.ndim):
        raise PhalanxError(
            f"export: functions is {shown(functions)}, expected names such as inverse_dynamics."
        )
    named = functions.items() if isinstance(functions, Mapping) else ((None, each) for each in functions)
    made = [_entry(robot, wanted, name) for name, wanted in named]
    if not made:
        raise PhalanxError("export: functions is empty, expected at least one such as inverse_dynamics.")
    twice = [e.name for k, e in enumerate(made) if e.name in {other.name for other in made[:k]}]
    if twice:
        raise PhalanxError(
            f'export: two functions would be called "{twice[0]}"; give a mapping from names to functions.'
        )
    for each in made:
        if like := taken(each.name, (other.name for other in made)):
            raise PhalanxError(
                f'export: a function would be called "{each.name}", which is {like}; '
                "give a mapping from other names to functions."
            )
    return made


def _entry(robot: Robot, wanted: Any, name: Any) -> ExportEntry:
    if name is not None and (not isinstance(name, str) or identifier(name, reserved=False) != name):
        raise PhalanxError(f"export: the name {shown(name)} is no identifier; use letters, digits and _.")
    if isinstance(wanted, Simulation):
        made = _step(wanted)
    elif isinstance(wanted, Kernel):
        made = entry_of(wanted._call)
    elif isinstance(wanted, str):
        made = entry_of(*_named(robot, wanted))
    else:
        raise PhalanxError(
            f"export: {shown(wanted)} is no function; expected a name such as inverse_dynamics, a kernel "
            "or a simulation."
        )
    if made.robot is not robot and made.robot.digest != robot.digest:
        raise PhalanxError(
            f'export: {made.name} is of robot "{made.robot.name}", expected one of "{robot.name}"; export it '
            "from its own robot."
        )
    return made if name is None else replace(made, name=name)


def _named(robot: Robot, text: str) -> tuple[Call, tuple[str, ...]]:
    """The call that a name stands for, and its optional inputs."""
    mode, _, rest = text.partition(":")
    if mode not in _MODES:
        mode, rest = "", text
    words, _, frame = rest.partition(":")
    function, *optional = words.split("+")
    if function not in FUNCTIONS:
        raise PhalanxError(f"export: unknown function {shown(function)};{nearest(function, FUNCTIONS)}")
    f = FUNCTIONS[function]
    if f.frame and not frame:
        raise PhalanxError(
            f'export: {function} is of a frame; name it, such as "{text}:{robot.frame_names[-1]}".'
        )
    if mode:
        call = derivative_of(robot, mode, function, "auto", frame or None)
    else:
        call = resolve(robot, function, "auto", frame or None)
    if _VALUE in optional and f.value and not mode:
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
    source = alone(call, optional)
    words = [f.name.replace(".", "_"), *optional, *([call.frame] if call.frame else [])]
    inputs = _identifiers(call.input_sizes(optional), ())
    outputs = _identifiers(call.output_sizes(), inputs)
    title = f"{f.name.replace('.', ', ')}{f' of frame {call.frame}' if call.frame else ''}"
    title = f"{title} by {call.algorithm.name}"
    return ExportEntry(
        identifier("_".join(words), reserved=False),
        title,
        call.robot,
        inputs,
        outputs,
        source.built,
        str(source.form),
        source.told,
    )


def _step(sim: Simulation) -> ExportEntry:
    """One step of a simulation, to be exported."""
    program = straight_step(sim)
    shapes = program.shapes
    inputs = _identifiers({region.name: shapes[region.name] for region in program.inputs}, ())
    outputs = _identifiers({region.name: shapes[region.name] for region in program.outputs}, inputs)
    title = f"a step of {sim.dt:g} s, integrator {sim.integrator}"
    return ExportEntry(
        "step", title, sim.robot, inputs, outputs, lambda _: program, "unrolled: one step", spreads=False
    )


def _identifiers(shapes: Mapping[str, tuple[int, ...]], taken: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Shapes by identifiers; an output that is called like an input is its gradient."""
    made: dict[str, tuple[int, ...]] = {}
    for name, shape in shapes.items():
        plain = identifier(name)
        made[f"grad_{plain}" if plain in taken else plain] = shape
    return made
