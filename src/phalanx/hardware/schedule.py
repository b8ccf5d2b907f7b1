# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Clocks for the operations of a circuit: a full pipeline, which takes a new state in every clock."""

from __future__ import annotations

from dataclasses import dataclass

from .circuit import Circuit, Wire
from .units import UNITS


@dataclass(frozen=True)
class Pipeline:
    """A circuit with clocks: each wire is ready at one after a state enters, and read at others."""

    circuit: Circuit
    wires: list[Wire]
    ready: dict[Wire, int]
    delays: dict[Wire, int]  # clocks for which a wire is kept after it is ready
    latency: int
    interval: int = 1

    def at(self, wire: Wire) -> int:
        """The clock in which an operation reads its operands."""
        return self.ready[wire] - UNITS[wire.op].latency

    @property
    def registers(self) -> int:
        """Bits of registers: of units, and of delays between them."""
        held = sum(w.width * n for w, n in self.delays.items())
        return held + sum(UNITS[w.op].registers(w) for w in self.wires) + self.latency

    def count(self, kind: str) -> int:
        """The number of units of a kind."""
        return sum(UNITS[wire.op].shared == kind for wire in self.wires)


def full(circuit: Circuit) -> Pipeline:
    """The pipeline in which every operation has its own unit and starts as early as it can."""
    wires = circuit.live()
    ready: dict[Wire, int] = {}
    for wire in wires:
        start = max(
            (ready[a] for a in wire.args if a.op != "constant"), default=1 if wire.op == "input" else 0
        )
        ready[wire] = start + UNITS[wire.op].latency
    leaving = {w for port in circuit.outputs for w in port.wires if w.op != "constant"}
    latency = max((ready[w] for w in leaving), default=1)
    delays: dict[Wire, int] = dict.fromkeys(wires, 0)
    for wire in wires:
        for a in wire.args:
            if a.op != "constant":
                delays[a] = max(delays[a], ready[wire] - UNITS[wire.op].latency - ready[a])
    for wire in leaving:
        delays[wire] = max(delays[wire], latency - ready[wire])
    return Pipeline(circuit, wires, ready, delays, latency)
