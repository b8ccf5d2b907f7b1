# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lower a program with formats to a circuit: every operation written with units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..program import ops
from ..program.ir import Load, Program, Store, Value
from . import approximations
from .circuit import Circuit, Port, Wire
from .formats import FixedPoint, Formats, factor_fraction


def circuit(
    program: Program, formats: Formats, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> Circuit:
    """The circuit of a straight-line program; its ports have the names of the program's buffers."""
    return _Lowering(program, formats, bounds).circuit


class _Lowering:
    """A circuit under construction."""

    def __init__(
        self, program: Program, formats: Formats, bounds: Mapping[str, tuple[np.ndarray, np.ndarray]]
    ) -> None:
        self.formats = formats
        self.circuit = Circuit()
        self.of: dict[Any, Wire] = {}
        loads = {(s.buffer.name, s.index): s for s in program.body if isinstance(s, Load)}
        for buffer in program.inputs:
            self._input(program, buffer, loads, bounds[buffer.name])
        stored: dict[Any, Any] = {}
        for s in program.body:
            if isinstance(s, Value):
                self.of[s] = self._value(s)
            elif isinstance(s, Store):
                stored[s.buffer.name, s.index] = s.value
        for buffer in program.outputs:
            self._output(program, buffer, stored)

    def _input(self, program: Program, buffer: Any, loads: Any, bounds: Any) -> None:
        """A port; elements that nothing reads have the format of those that are read."""
        low, high = (np.ravel(x) for x in bounds)
        read = [
            self.formats.of[loads[buffer.name, k]] for k in range(buffer.size) if (buffer.name, k) in loads
        ]
        width = max((f.width for f in read), default=2)
        wires = []
        for k in range(buffer.size):
            load = loads.get((buffer.name, k))
            if load is not None:
                f = self.formats.of[load]
            else:
                size = max(abs(low[k]), abs(high[k]), 2.0**-20)
                f = FixedPoint(width, width - 1 - math.frexp(size)[1])
            wires.append(self.circuit.wire("input", (), f.width, f.fraction, buffer.name, k))
            if load is not None:
                self.of[load] = wires[-1]
        shape = program.shapes.get(buffer.name, (buffer.size,))
        self.circuit.inputs.append(Port(buffer.name, shape, width, wires, low, high))

    def _output(self, program: Program, buffer: Any, stored: Any) -> None:
        wires = []
        for k, f in enumerate(self.formats.outputs[buffer.name]):
            x = stored[buffer.name, k]
            wires.append(self._constant(x, f.fraction) if isinstance(x, float) else self.of[x])
        error = self.formats.error[buffer.name]
        ranges = [
            (x, x) if isinstance(x, float) else (self.formats.ranges[x].low, self.formats.ranges[x].high)
            for x in (stored[buffer.name, k] for k in range(buffer.size))
        ]
        low, high = np.array(ranges).reshape(-1, 2).T
        width = max((w.width for w in wires), default=2)
        shape = program.shapes[buffer.name]
        assert len(error) == len(wires)
        self.circuit.outputs.append(Port(buffer.name, shape, width, wires, low, high))

    def _constant(self, x: float, fraction: int) -> Wire:
        value = round(math.ldexp(x, fraction))
        width = max((value if value >= 0 else ~value).bit_length() + 1, 2)
        return self.circuit.wire("constant", (), width, fraction, value)

    def _value(self, s: Value) -> Wire:
        f = self.formats.of[s]
        return _RULES[s.op](self, s, f)

    # ------------------------------------------------------------------- operations

    def _sum(self, s: Value, f: FixedPoint) -> Wire:
        a, b = (self._constant(x, f.fraction) if isinstance(x, float) else self.of[x] for x in s.args)
        fine = max(a.fraction, b.fraction, f.fraction)
        return self.circuit.wire(
            s.op, (a, b), f.width, f.fraction, fine - a.fraction, fine - b.fraction, fine - f.fraction
        )

    def _negative(self, s: Value, f: FixedPoint) -> Wire:
        a = self.of[s.args[0]]
        zero = self._constant(0.0, a.fraction)
        return self.circuit.wire("sub", (zero, a), f.width, f.fraction, 0, 0, a.fraction - f.fraction)

    def _product(self, s: Value, f: FixedPoint) -> Wire:
        a, b = s.args
        if not isinstance(a, float) and not isinstance(b, float):
            x, y = self.of[a], self.of[b]
            return self.circuit.wire("mul", (x, y), f.width, f.fraction, x.fraction + y.fraction - f.fraction)
        factor, other = (a, b) if isinstance(a, float) else (b, a)
        x = self.of[other]
        digits = factor_fraction(factor, f.fraction, self.formats.ranges[other].magnitude)
        number = round(math.ldexp(factor, digits))
        while number % 2 == 0 and number:
            number, digits = number // 2, digits - 1
        cut = x.fraction + digits - f.fraction
        if number == 1:
            return self.circuit.wire("shift", (x,), f.width, f.fraction, cut)
        if cut < 0:
            number, cut = number << -cut, 0
        return self.circuit.wire("scale", (x,), f.width, f.fraction, number, cut)

    def _angle(self, s: Value, f: FixedPoint) -> Wire:
        x = s.args[0]
        pair = approximations.sincos(
            self.circuit, self.of[x], self.formats.sines, self.formats.ranges[x].magnitude
        )
        return pair[s.op == ops.COS]

    def _quotient(self, s: Value, f: FixedPoint) -> Wire:
        x = s.args[1]
        return approximations.reciprocal(
            self.circuit, self.of[x], f.fraction, f.width, self.formats.ranges[x].low
        )

    def _root(self, s: Value, f: FixedPoint) -> Wire:
        x = s.args[0]
        return approximations.shifted_root(
            self.circuit, self.of[x], f.fraction, f.width, self.formats.ranges[x].low
        )


_RULES: dict[str, Callable[[_Lowering, Value, FixedPoint], Wire]] = {
    ops.ADD: _Lowering._sum,
    ops.SUB: _Lowering._sum,
    ops.NEG: _Lowering._negative,
    ops.MUL: _Lowering._product,
    ops.SIN: _Lowering._angle,
    ops.COS: _Lowering._angle,
    ops.DIV: _Lowering._quotient,
    ops.SQRT: _Lowering._root,
}
