# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lower a program to a circuit in 32-bit floating point, and bound the errors of its results.

Sums and products are those of IEEE 754 (`float_cores.py`). Sines, cosines, reciprocals and roots go through
the units in fixed point: an angle, or the mantissa of an argument, becomes an integer, the result a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..program import ops
from ..program.analyses.ranges import ranges
from ..program.intervals import Interval
from ..program.ir import Load, Program, Store, Value
from . import approximations, float_cores
from .circuit import Circuit, FloatPort, Wire
from .formats import Formats, error_bounds
from .pivots import KnownValues

_ROUNDING = 2.0**-24  # of a number, relative
_SINE, _ANGLE, _MANTISSA = 27, 30, 27  # fraction bits of sines, of angles, of reciprocals and roots
_LARGEST = 16  # bits before the point of an angle, at most
# Absolute errors of sines and cosines: of the unit, of cutting the angle, of rounding.
_SINE_ERROR = approximations.SINE_ERROR * 2.0**-_SINE + 2.0**-_ANGLE + _ROUNDING / 2
# Relative errors: those of the unit on a mantissa, and of rounding.
_RECIPROCAL_ERROR = (2 * approximations.RECIPROCAL_ERROR * 2.0**-_MANTISSA + _ROUNDING) * 1.001
_ROOT_ERROR = (approximations.ROOT_ERROR * 2.0**-_MANTISSA + _ROUNDING) * 1.001
_FLUSHED = 2.0**-126

OPERATIONS = (ops.ADD, ops.SUB, ops.NEG, ops.MUL, ops.DIV, ops.SIN, ops.COS, ops.SQRT)


def float_circuit(
    program: Program, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]], where: str
) -> Circuit:
    """The circuit of a straight-line program in float32; its ports have the names of the program's buffers.

    Raises if an operation has no unit, or an angle no bound that the unit of sines covers.
    """
    for s in program.body:
        if isinstance(s, Value) and s.op not in OPERATIONS:
            raise PhalanxError(
                f"{where} has the operation {s.op}, for which there is no unit; there are units for "
                f"{', '.join(sorted(OPERATIONS))}; export it as C."
            )
    return _FloatLowering(program, bounds, where).circuit


def float_formats(
    program: Program,
    bounds: Mapping[str, tuple[np.ndarray, np.ndarray]],
    where: str,
    known: KnownValues,
) -> Formats:
    """The error bounds of the circuit; infinite where none can be proven."""
    found: dict[str, np.ndarray] | None = None
    with suppress(PhalanxError):
        found = error_bounds(program, bounds, where, known, _error)
    if found is None:
        found = {buffer.name: np.full(buffer.size, np.inf) for buffer in program.outputs}
    return Formats({}, {}, {}, found, 0)


def _error(s: Any, interval: Callable[[Any], Interval]) -> float:
    """The largest rounding error of an operation, or of an input."""
    size = interval(s).magnitude
    if isinstance(s, Load):
        return size * _ROUNDING + _FLUSHED
    if s.op == ops.NEG:
        return 0.0
    if s.op in (ops.SIN, ops.COS):
        return _SINE_ERROR
    if s.op == ops.DIV:
        return size * _RECIPROCAL_ERROR + _FLUSHED
    if s.op == ops.SQRT:
        return size * _ROOT_ERROR + _FLUSHED
    constants = sum(abs(a) for a in s.args if isinstance(a, float))
    of_constant = size if s.op == ops.MUL and constants else constants
    return (size + 1.01 * of_constant) * _ROUNDING + _FLUSHED


class _FloatLowering:
    """A circuit under construction."""

    def __init__(
        self, program: Program, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]], where: str
    ) -> None:
        self.where = where
        self.circuit = Circuit()
        self.of: dict[Any, Wire] = {}
        self.inputs: dict[tuple[str, int], Wire] = {}
        self.turned: dict[Any, tuple[Wire, Wire]] = {}
        for buffer in program.inputs:
            low, high = (np.ravel(x) for x in bounds[buffer.name])
            wires = [self.circuit.wire("input", (), 32, 0, buffer.name, k) for k in range(buffer.size)]
            self.inputs.update({(buffer.name, k): wire for k, wire in enumerate(wires)})
            shape = program.shapes.get(buffer.name, (buffer.size,))
            self.circuit.inputs.append(FloatPort(buffer.name, shape, 32, wires, low, high))
        found = ranges(program, dict(bounds))
        self.ranges = found.values
        self.bounds = bounds
        stored: dict[Any, Any] = {}
        for s in program.body:
            if isinstance(s, Load):
                at: Any = s.index
                self.of[s] = self.inputs[s.buffer.name, at]
            elif isinstance(s, Value):
                self.of[s] = _FLOAT_RULES[s.op](self, s)
            elif isinstance(s, Store):
                stored[s.buffer.name, s.index] = s.value
        for buffer in program.outputs:
            wires = [self._read(stored[buffer.name, k]) for k in range(buffer.size)]
            low, high = (np.ravel(x[buffer.name]) for x in (found.low, found.high))
            shape = program.shapes[buffer.name]
            self.circuit.outputs.append(FloatPort(buffer.name, shape, 32, wires, low, high))

    def _read(self, x: Any) -> Wire:
        if not isinstance(x, float):
            return self.of[x]
        return self.circuit.wire("constant", (), 32, 0, int(float_cores.words_of(x)))

    def _arithmetic(self, s: Value) -> Wire:
        args = tuple(map(self._read, s.args))
        return self.circuit.wire(
            {ops.ADD: "float_add", ops.SUB: "float_sub"}.get(s.op, "float_mul"), args, 32, 0
        )

    def _negative(self, s: Value) -> Wire:
        return self.circuit.wire("float_neg", (self._read(s.args[0]),), 32, 0)

    def _angle(self, s: Value) -> Wire:
        """Angles that are too large, infinite or NaN give NaN."""
        x = s.args[0]
        if x not in self.turned:
            size = self._magnitude(x)
            if not size < 2.0**_LARGEST:
                raise PhalanxError(
                    f"{self.where}: an angle of {s.quantity or 'the program'} reaches {size:.3g} rad, and "
                    f"sines take up to {2**_LARGEST}; narrow the ranges of the inputs by bounds={{…}}."
                )
            digits, wire = max(math.frexp(size)[1], 1), self.of[x]
            angle = self.circuit.wire("float_to_integer", (wire,), 1 + digits + _ANGLE, _ANGLE)
            beyond = self.circuit.wire("float_beyond", (wire,), 1, 0, digits)
            pair = approximations.sincos(self.circuit, angle, _SINE, 2.0**digits)
            sine, cosine = (self.circuit.wire("float_from_integer", (y, beyond), 32, 0) for y in pair)
            self.turned[x] = sine, cosine
        return self.turned[x][s.op == ops.COS]

    def _magnitude(self, x: Any) -> float:
        if isinstance(x, Load):
            at: Any = x.index
            return max(abs(float(np.ravel(end)[at])) for end in self.bounds[x.buffer.name]) * (1 + _ROUNDING)
        return self.ranges[x].magnitude * (1 + 2.0**-10)

    def _reciprocal(self, s: Value) -> Wire:
        x = self._read(s.args[1])
        m = self.circuit.wire("float_mantissa", (x,), 25, 23)
        y = approximations.reciprocal(self.circuit, m, _MANTISSA, _MANTISSA + 2, 1.0)
        return self._scaled("float_reciprocal", y, x)

    def _root(self, s: Value) -> Wire:
        x = self._read(s.args[0])
        m = self.circuit.wire("float_mantissa", (x,), 26, 23)
        return self._scaled("float_root", approximations.root(self.circuit, m, _MANTISSA), x)

    def _scaled(self, op: str, y: Wire, x: Wire) -> Wire:
        """A function of the mantissa with the exponent of the result."""
        good = self.circuit.wire("constant", (), 1, 0, 0)
        number = self.circuit.wire("float_from_integer", (y, good), 32, 0)
        return self.circuit.wire(op, (number, self.circuit.wire("float_class", (x,), 10, 0)), 32, 0)


_FLOAT_RULES: dict[str, Callable[[_FloatLowering, Value], Wire]] = {
    ops.ADD: _FloatLowering._arithmetic,
    ops.SUB: _FloatLowering._arithmetic,
    ops.MUL: _FloatLowering._arithmetic,
    ops.NEG: _FloatLowering._negative,
    ops.SIN: _FloatLowering._angle,
    ops.COS: _FloatLowering._angle,
    ops.DIV: _FloatLowering._reciprocal,
    ops.SQRT: _FloatLowering._root,
}
