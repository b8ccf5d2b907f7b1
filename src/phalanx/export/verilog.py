# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Verilog-2005: a pipeline for each function (.v), a testbench, and a data sheet for people and as JSON.

Values are fixed-point numbers, each in a format of its own (`hardware/formats.py`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import PhalanxError, nearest, shown
from ..hardware import formats, lower, schedule
from ..hardware.circuit import Circuit, FloatPort, Port
from ..hardware.folded_modules import FoldedModule
from ..hardware.folding import FoldedPipeline, folded
from ..hardware.lower_floats import float_circuit, float_formats
from ..hardware.modules import Tables, module
from ..hardware.pivots import KnownValues, MassMatrixBounds, compliances, factor_values, unit_squares
from ..hardware.port_names import signals
from ..hardware.schedule import Pipeline
from ..hardware.synthesis import cells, require
from ..hardware.testbench import Check, testbench
from ..languages.names import in_comment
from ..program import ops
from ..program.analyses.ranges import ranges
from ..program.interpret import program_on_arrays
from ..program.ir import Load, Program, Store, Value
from ..robot.joints import joint_type
from ..robot.model import joint_kinematics
from ..robot.robot import Robot
from .api import ExportEntry, Request, entries
from .comments import about
from .datasheet import data_sheet

_DEFAULTS: dict[str, Any] = {"word": None, "accuracy": None, "interval": 1, "bounds": None}
_RELATIVE = 1e-6  # the promised error where none is given, of the largest result
_VECTORS = 64  # states of a testbench
_RATE = {"rad": 2 * math.pi, "m": 2.0}  # in a second, of joints whose file has no limit
_LONGEST = 1024  # clocks between states
# Multiply-adds: the sum, and whether the product is its first operand.
_FUSED = {ops.FMA: (ops.ADD, True), ops.FMS: (ops.SUB, True), ops.FNMA: (ops.SUB, False)}
_REACHED = 0.1  # seconds in which a joint reaches its largest rate


@dataclass(frozen=True)
class Design:
    """One function as a pipeline, with the facts that its files state."""

    name: str
    entry: ExportEntry
    program: Program
    formats: formats.Formats
    pipeline: Pipeline | FoldedPipeline
    bounds: dict[str, tuple[np.ndarray, np.ndarray]]

    @property
    def circuit(self) -> Circuit:
        return self.pipeline.circuit

    @property
    def quaternions(self) -> list[slice]:
        """Where `q` holds quaternions."""
        return _quaternions(self.entry.robot) if "q" in self.bounds else []

    def facts(self) -> dict[str, Any]:
        """What `STEM.json` says about the module."""
        return {
            "function": self.entry.title,
            "latency": self.pipeline.latency,
            "interval": self.pipeline.interval,
            "multipliers": self.pipeline.count("multiplier"),
            "adders": self.pipeline.count("adder"),
            "registers": self.pipeline.registers,
            "error_bound": bound if math.isfinite(bound := self.formats.error_bound) else None,
            "ports": {
                **{p.signal: _port(p, "input") for p in self.circuit.inputs},
                **{p.signal: _port(p, "output") for p in self.circuit.outputs},
            },
        }


def _port(port: Port, direction: str) -> dict[str, Any]:
    return {
        "direction": direction,
        "shape": list(port.shape),
        "width": port.width,
        **({"format": "float32"} if isinstance(port, FloatPort) else {}),
        "fraction": port.fractions or [None] * port.size,
        "low": [float(x) for x in port.low],
        "high": [float(x) for x in port.high],
    }


def files(request: Request) -> dict[str, str]:
    """The pipelines, their testbench and their data sheets."""
    options = _options(request)
    known = {name for entry in request.entries for name in entry.inputs}
    designs = [design(entry, f"{request.prefix}_{entry.name}", options, known) for entry in request.entries]
    tables = Tables(request.prefix)
    modules = [_module(d, tables) for d in designs]
    stem = request.path.stem
    head = "\n".join([*about(request, "// "), "/* verilator lint_off DECLFILENAME */"])
    source = "\n\n".join([head, *tables.text(), *modules]) + "\n"
    found = {d.name: cells(source, d.name, request.target) for d in designs} if request.target else {}
    facts = {
        "robot": request.robot.name,
        "version": request.version,
        "modules": {d.name: d.facts() | ({"cells": found[d.name]} if found else {}) for d in designs},
    }
    return {
        request.path.name: source,
        f"{stem}_tb.v": testbench(request.prefix, [_check(d) for d in designs]),
        f"{stem}.json": json.dumps(facts, indent=1) + "\n",
        f"{stem}.md": data_sheet(request, designs, found),
    }


def designed(entry: ExportEntry, name: str, **options: Any) -> Design:
    """The pipeline of a function with the options of `robot.export`, those of a file where none are given."""
    return design(entry, name, {**_DEFAULTS, **options})


def design(entry: ExportEntry, name: str, options: Mapping[str, Any], inputs: Collection[str] = ()) -> Design:
    """The pipeline of a function; `inputs` are those of all functions, for which bounds may be given."""
    where = f"export: {entry.name} of robot {shown(entry.robot.name)}"
    program = _straight(entry, where)
    bounds = _bounds(entry, program, options["bounds"], where, inputs)
    known = _known(entry.robot, program, bounds)
    if np.dtype(options.get("dtype", "float64")) == np.float32:
        made = float_circuit(program, bounds, where)
        found = float_formats(program, bounds, where, known)
    else:
        found = formats.chosen(
            program,
            bounds,
            accuracy=options["accuracy"],
            word=options["word"],
            relative=_RELATIVE,
            where=where,
            known=known,
        )
        made = lower.circuit(program, found, bounds)
    ports = [*made.inputs, *made.outputs]
    for port, signal in zip(ports, signals([*entry.inputs, *entry.outputs]), strict=True):
        port.signal = signal
    interval = int(options["interval"])
    pipeline = schedule.full(made) if interval == 1 else folded(made, interval)
    return Design(name, entry, program, found, pipeline, bounds)


def _module(d: Design, tables: Tables) -> str:
    if isinstance(d.pipeline, Pipeline):
        return module(d.name, d.pipeline, tables, _about(d))
    return FoldedModule(d.name, d.pipeline, tables).text(_about(d))


def _about(d: Design) -> str:
    return (
        f"{in_comment(d.entry.title)}: {d.pipeline.latency} clocks, a state in every {d.pipeline.interval}."
    )


# ------------------------------------------------------------------- options


def _options(request: Request) -> dict[str, Any]:
    options = request.chosen(**_DEFAULTS, target=None)
    if request.target is not None:
        require(request.target)
    word, accuracy = options["word"], options["accuracy"]
    if word is not None and accuracy is not None:
        raise PhalanxError(
            f"export: got word={shown(word)} and accuracy={shown(accuracy)}; give one of them."
        )
    if word is not None and not (_is_integer(word) and formats.SMALLEST <= word <= formats.WIDEST):
        raise PhalanxError(
            f"export: word is {shown(word)}, expected bits from {formats.SMALLEST} to {formats.WIDEST}, such "
            "as 18, 25 or 32."
        )
    if accuracy is not None and not (_is_real(accuracy) and 0 < accuracy < math.inf):
        raise PhalanxError(
            f"export: accuracy is {shown(accuracy)}, expected the largest error of a result, such as 1e-3."
        )
    interval = options["interval"]
    if not _is_integer(interval) or not 1 <= interval <= _LONGEST:
        raise PhalanxError(
            f"export: interval is {shown(interval)}, expected clocks between states, from 1 to {_LONGEST}."
        )
    given = next((name for name in ("word", "accuracy") if options[name] is not None), None)
    if request.real != "double" and given is not None:
        raise PhalanxError(
            f'export: got dtype="float32" and {given}={shown(options[given])}, which is of fixed point; give '
            "one of them."
        )
    return {**options, "dtype": request.dtype}


def _is_integer(x: Any) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def _is_real(x: Any) -> bool:
    return (_is_integer(x) or isinstance(x, float | np.floating)) and not math.isnan(x)


# ------------------------------------------------------------------- programs and the ranges of their inputs


def _straight(entry: ExportEntry, where: str) -> Program:
    """The program without multiply-adds; raises if it has loops."""
    if not entry.form.startswith("unrolled"):
        n, fits = entry.robot.model.n, _largest(entry)
        remedy = (
            f"the first {fits} are straight-line code: weld the other joints by robot.fix"
            if fits
            else "export it as C"
        )
        raise PhalanxError(
            f"{where} ({n} bodies) has loops ({entry.form}), and a pipeline is straight-line code; {remedy}."
        )
    if entry.annotated is None:
        raise PhalanxError(f"{where}: a step of a simulation is no pipeline; export its functions.")
    program = entry.annotated()
    wrong = next((s for s in program.body if not isinstance(s, Load | Value | Store)), None)
    if wrong is not None or program.uniform is not None:
        raise PhalanxError(f"{where} is not straight-line code of its inputs; export it as C.")
    return _in_units(program)


def _largest(entry: ExportEntry) -> int:
    """The number of first joints with which the program is straight-line code; 0 if unknown."""
    robot = entry.robot
    if robot.is_coupled or robot.nq != robot.nv or robot.n_links != robot.nv:
        return 0
    low, high = 0, robot.nv
    while high - low > 1:
        middle = (low + high) // 2
        fixed = robot.fix(dict.fromkeys(robot.joint_names[middle:], 0.0))
        try:
            (found,) = entries(fixed, entry.name)
        except PhalanxError:  # of names with a frame or an optional input
            return 0
        low, high = (middle, high) if found.form.startswith("unrolled") else (low, middle)
    return low


def _in_units(program: Program) -> Program:
    """The program with products by reciprocals for quotients, and products and sums for multiply-adds.

    Quaternions have unit length, so that they are not scaled before rotations are computed from them.
    """
    made: dict[Any, Any] = {}
    body: list[Any] = []
    for s in program.body:
        if isinstance(s, Value):
            args = tuple(made.get(a, a) for a in s.args)
            if s.op == ops.RESCALE:
                made[s] = 1.0
            elif s.op == ops.MUL and 1.0 in args:
                made[s] = args[args[0] == 1.0]
            elif s.op == ops.DIV and args[0] != 1.0:
                inverse = Value(ops.DIV, (1.0, args[1]), s.quantity, "", s.body_index)
                made[s] = Value(ops.MUL, (args[0], inverse), s.quantity, "", s.body_index)
                body += [inverse, made[s]]
            elif s.op in _FUSED:
                product = Value(ops.MUL, args[:2], s.quantity, "", s.body_index)
                op, is_first = _FUSED[s.op]
                pair = (product, args[2]) if is_first else (args[2], product)
                made[s] = Value(op, pair, s.quantity, "", s.body_index)
                body += [product, made[s]]
            else:
                made[s] = s.on(args)
                body.append(made[s])
        elif isinstance(s, Store):
            body.append(Store(s.buffer, s.index, made.get(s.value, s.value)))
        else:
            body.append(s)
    return replace(program, body=_live(body))


def _live(body: Sequence[Any]) -> tuple[Any, ...]:
    """The statements that results need."""
    kept: list[Any] = []
    needed: set[Any] = set()
    for s in reversed(body):
        if isinstance(s, Store):
            needed.add(s.value)
        elif s in needed and isinstance(s, Value):
            needed.update(s.args)
        elif s not in needed:
            continue
        kept.append(s)
    return tuple(reversed(kept))


def _known(
    robot: Robot, program: Program, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> KnownValues:
    """Ranges that follow from the physics: of unit quaternions, or of the factors of the mass matrix."""
    lengths = _quaternions(robot)
    if not lengths or "q" not in bounds:
        return _factors(robot, program, bounds)
    rng = np.random.default_rng(0)
    states = {name: rng.uniform(low, high, (8, len(low))) for name, (low, high) in bounds.items()}
    squares = [(states["q"][:, at] ** 2).sum(axis=1) for at in lengths]
    return unit_squares(program, states, squares)


def _quaternions(robot: Robot) -> list[slice]:
    """Where the quaternions of a robot are in its coordinates."""
    return [
        slice(joint.q.start + at.start, joint.q.start + at.stop)
        for joint in robot._coordinates
        if (at := joint.kind.quaternion) is not None
    ]


def _factors(
    robot: Robot, program: Program, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> KnownValues:
    """Ranges of the values in the factorisation of the mass matrix; empty if the program has no division."""
    model = robot.model
    divides = any(isinstance(s, Value) and s.op == ops.DIV for s in program.body)
    if not divides or "q" not in bounds or model.n != robot.nv or model.coupling is not None:
        return KnownValues()
    matrix = _in_units(_trace(robot, "mass_matrix"))
    found = ranges(matrix, {"q": bounds["q"]})
    most = np.diagonal(found.high["M"])
    own = np.einsum("...i,...i", model.axis, model.inertia @ model.axis) + model.armature
    rng = np.random.default_rng(0)
    states = {name: rng.uniform(low, high, (8, len(low))) for name, (low, high) in bounds.items()}
    mass = MassMatrixBounds(own, most)
    if set(bounds) == {"q", "qd", "tau"}:
        bias = ranges(_in_units(_trace(robot, "bias_forces")), {n: bounds[n] for n in ("q", "qd")})
        (low,), (high,) = bias.low.values(), bias.high.values()
        force = np.maximum(-low, high) + np.maximum(-bounds["tau"][0], bounds["tau"][1])
        mass = MassMatrixBounds(own, most, _compliances(robot), force)
    return factor_values(program, states, program_on_arrays(matrix, {"q": states["q"]}), mass)


def _compliances(robot: Robot) -> np.ndarray:
    """`compliances` of the bodies of a robot."""
    model = robot.model
    n = model.n
    to_body = joint_kinematics(model, np.zeros(robot.nq))[0]
    units = [np.broadcast_to(e, (n, 6)) for e in np.eye(6)]
    inertias = np.stack([np.asarray(model.inertia @ e) for e in units], axis=-1)
    transforms = np.stack([np.asarray(to_body @ e) for e in units], axis=-1)
    axes = np.asarray(model.axis)
    return compliances(inertias, axes, transforms, np.asarray(model.parents), np.asarray(model.armature))


def _trace(robot: Robot, function: str) -> Program:
    """The straight-line code of a function of a robot."""
    (entry,) = entries(robot, function)
    assert entry.annotated is not None
    return entry.annotated()


def _bounds(
    entry: ExportEntry, program: Program, given: Any, where: str, inputs: Collection[str]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The range of each input: the user's, else the joints' limits."""
    if given is not None and not isinstance(given, Mapping):
        raise PhalanxError(
            f'export: bounds is {shown(given)}, expected ranges by input, such as {{"qd": (-2.0, 2.0)}}.'
        )
    sizes = {buffer.name: buffer.size for buffer in program.inputs}
    for name in given or {}:
        if name not in sizes and name not in inputs:
            raise PhalanxError(f"{where} has no input {shown(name)};{nearest(name, sizes, what='inputs')}")
    made = {}
    for name, size in sizes.items():
        low, high = _limits(entry.robot, name, size)
        if given and name in given:
            low, high = _given(given[name], name, size)
        for at in _quaternions(entry.robot) if name == "q" and size == entry.robot.nq else ():
            low[at], high[at] = np.maximum(low[at], -1.0), np.minimum(high[at], 1.0)
        bad = np.flatnonzero(~(np.isfinite(low) & np.isfinite(high)))
        if len(bad):
            raise PhalanxError(
                f"{where}: {_element(entry.robot, name, int(bad[0]))} has no limits; give its range, such as "
                f'bounds={{"{name}": (low, high)}} with numbers or arrays of {size}.'
            )
        made[name] = (low, high)
    return made


def _given(pair: Any, name: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    try:
        low, high = (np.broadcast_to(np.asarray(x, dtype=float).ravel(), size).copy() for x in pair)
    except (TypeError, ValueError):
        raise PhalanxError(
            f"export: bounds of {name} are {shown(pair)}, expected (low, high), numbers or arrays of {size}."
        ) from None
    if not (low < high).all():
        raise PhalanxError(f"export: bounds of {name} are {shown(pair)}, expected low below high.")
    return low, high


def _limits(robot: Robot, name: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Limits of the robot for an input; infinite where there are none.

    A revolute joint without limits makes one turn; rates without limits have those of `_RATE`;
    accelerations reach the largest rate in `_REACHED` seconds.
    """
    limits = robot.limits
    if name == "q" and size == robot.nq:
        low, high = limits.lower.copy(), limits.upper.copy()
        for joint, kind in zip(robot.joint_names, robot.joint_types, strict=True):
            q = robot.q_slices[joint]
            units = joint_type(kind).units
            if len(units) == q.stop - q.start:
                turns = np.where([unit == "rad" for unit in units], np.pi, np.inf)
                low[q] = np.where(np.isfinite(low[q]), low[q], -turns)
                high[q] = np.where(np.isfinite(high[q]), high[q], turns)
        return low, high
    if name in ("qd", "qdd") and size == robot.nv:
        most = limits.velocity.copy()
        for joint, kind in zip(robot.joint_names, robot.joint_types, strict=True):
            v = robot.v_slices[joint]
            usual = [_RATE[unit] for unit in joint_type(kind).units]
            if len(usual) == v.stop - v.start:
                most[v] = np.where(np.isfinite(most[v]), most[v], usual)
        most = most if name == "qd" else most / _REACHED
        return -most, most
    if name == "tau" and size == robot.nv:
        return -limits.effort, limits.effort.copy()
    none = np.full(size, np.inf)
    return -none, none


def _element(robot: Robot, name: str, k: int) -> str:
    """An element of an input, for people."""
    if name not in ("q", "qd", "qdd", "tau"):
        return f"{name}[{k}]"
    slices = robot.q_slices if name == "q" else robot.v_slices
    joint = next(j for j, s in slices.items() if s.start <= k < s.stop)
    return f"{name}[{k}] of {f'joint {shown(joint)}' if joint else 'the floating base'}"


# ------------------------------------------------------------------- testbenches


def _check(d: Design) -> Check:
    """Random states within the ranges, and the results of the program in double precision."""
    rng = np.random.default_rng(0)
    inputs, numbers = [], {}
    for port in d.circuit.inputs:
        state = rng.uniform(port.low, port.high, size=(_VECTORS, port.size))
        if port.name == "q" and port.size == d.entry.robot.nq:
            state = d.entry.robot.normalize(state)
        words = port.quantised(state)
        inputs.append((port, words))
        numbers[port.name] = port.reals(words)
    results = program_on_arrays(d.program, numbers)
    results = results if isinstance(results, tuple | list) else [results]
    outputs: list[tuple[Port, np.ndarray]] = []
    tolerances: list[list[Any]] = []
    for port, result in zip(d.circuit.outputs, results, strict=True):
        if isinstance(port, FloatPort):
            exact = np.reshape(result, (_VECTORS, port.size))
            outputs.append((port, np.asarray(exact, dtype=float)))
            tolerances.append(_tolerances(d, port, exact))
            continue
        outputs.append((port, port.quantised(np.reshape(result, (_VECTORS, port.size)))))
        bound = np.ldexp(d.formats.error[port.name], port.fractions)
        tolerances.append([math.floor(x) + 1 for x in bound])
    return Check(d.name, inputs, outputs, tolerances)


def _tolerances(d: Design, port: Port, exact: np.ndarray) -> list[float]:
    """The proven errors of a port in floating point, or a thousandth of its largest result."""
    bound = d.formats.error[port.name]
    largest = float(np.abs(exact).max(initial=0.0))
    return [float(e) if math.isfinite(e) else 1e-3 * largest for e in bound]
