# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Circuits: integer operations on words of given widths, and what they compute, bit for bit.

A wire holds a two's complement integer of `width` bits that stands for itself times 2^-`fraction`.
Operations are rows of `units.py`. A circuit has no clocks: `schedule.py` adds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from . import float_cores
from .units import UNITS

_WIDE = 62  # bits of intermediate results up to which NumPy's integers serve


class Wire:
    """One value of a circuit."""

    __slots__ = ("args", "data", "fraction", "number", "op", "width")

    def __init__(
        self, op: str, args: tuple[Wire, ...], width: int, fraction: int, data: tuple[Any, ...], number: int
    ) -> None:
        self.op = op
        self.args = args
        self.width = width
        self.fraction = fraction
        self.data = data
        self.number = number

    @property
    def name(self) -> str:
        return f"v{self.number}"


@dataclass
class Port:
    """An array that enters or leaves a circuit: one element in `width` bits, a fraction for each.

    `signal` is its name in Verilog.
    """

    name: str
    shape: tuple[int, ...]
    width: int
    wires: list[Wire]
    low: np.ndarray  # real numbers between which the elements lie
    high: np.ndarray
    signal: str = ""

    def __post_init__(self) -> None:
        self.signal = self.signal or self.name

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def fractions(self) -> list[int]:
        return [wire.fraction for wire in self.wires]

    def quantised(self, numbers: np.ndarray) -> np.ndarray:
        """Real numbers (…, size) as integers of the port, rounded to the nearest; those out of range at its
        end.
        """
        scaled = np.rint(np.ldexp(np.asarray(numbers, dtype=float), self.fractions))
        most = np.array([2.0 ** (wire.width - 1) for wire in self.wires])
        return np.clip(scaled, -most, np.minimum(most - 1, np.nextafter(most, 0))).astype(np.int64)

    def reals(self, words: np.ndarray) -> np.ndarray:
        """Integers (…, size) of the port as real numbers."""
        return np.ldexp(np.asarray(words, dtype=float), -np.array(self.fractions))


class FloatPort(Port):
    """An array of numbers in 32-bit floating point, whose bits are its integers."""

    @property
    def fractions(self) -> list[int]:
        return []

    def quantised(self, numbers: np.ndarray) -> np.ndarray:
        """Real numbers as words, rounded to the nearest."""
        return np.asarray(float_cores.words_of(numbers))

    def reals(self, words: np.ndarray) -> np.ndarray:
        """Words as real numbers."""
        return np.asarray(float_cores.numbers_of(words), dtype=float)


@dataclass
class Circuit:
    """Wires in the order of their computation, equal ones once."""

    wires: list[Wire] = field(default_factory=list)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    _known: dict[Any, Wire] = field(default_factory=dict)

    def wire(self, op: str, args: tuple[Wire, ...], width: int, fraction: int, *data: Any) -> Wire:
        """The wire of an operation."""
        key = (op, tuple(a.number for a in args), width, fraction, data)
        if key not in self._known:
            self._known[key] = Wire(op, args, width, fraction, data, len(self.wires))
            self.wires.append(self._known[key])
        return self._known[key]

    def live(self) -> list[Wire]:
        """The wires that outputs need, in order; inputs in any case."""
        wanted = {w for port in self.outputs for w in port.wires}
        for wire in reversed(self.wires):
            if wire in wanted:
                wanted.update(wire.args)
        return [w for w in self.wires if w in wanted or w.op == "input"]

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The words (…, size) of all outputs from those of all inputs: what the hardware computes.

        Raises `OverflowError` if a value leaves its word, which its range excludes for inputs within their
        bounds.
        """
        memory: dict[Wire, Any] = {}
        for port in self.inputs:
            words = np.asarray(inputs[port.name])
            memory.update({wire: words[..., k] for k, wire in enumerate(port.wires)})
        for wire in self.live():
            if wire.op == "input":
                continue
            unit, args = UNITS[wire.op], [memory[a] for a in wire.args]
            is_wide = unit.widest(wire) > _WIDE
            made = unit.model(wire, *(np.asarray(a).astype(object) if is_wide else a for a in args))
            limit = 1 << (wire.width - 1)
            if np.any((made < -limit) | (made >= limit)):
                raise OverflowError(f"circuit: {wire.op} {wire.name} leaves its {wire.width} bits.")
            memory[wire] = np.asarray(made).astype(np.int64) if is_wide and wire.width <= _WIDE else made
        batch = next((memory[w].shape for p in self.inputs for w in p.wires), ())
        return {
            port.name: np.stack([np.broadcast_to(memory[w], batch) for w in port.wires], axis=-1)
            for port in self.outputs
        }
