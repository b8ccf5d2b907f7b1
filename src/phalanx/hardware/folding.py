# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Folded pipelines: a state enters every k clocks, and up to k operations share a unit.

Modulo scheduling of straight-line code: an operation takes the first clock with a free unit, counted modulo
k. There are no recurrences, so that as few units as operations need always suffice. Between units values
stay in registers; those whose lives do not overlap, modulo k, share one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from .circuit import Circuit, Wire
from .float_cores import Core
from .units import UNITS, constant_width

# Clocks of shared units: operands are selected into registers first.
LATENCY = {"multiplier": 3, "adder": 2, "table": 2}


@dataclass
class SharedUnit:
    """A unit and the operations that it does, by phase."""

    kind: str
    name: str
    operations: dict[int, Wire] = field(default_factory=dict)

    @property
    def core(self) -> Core | None:
        """The module that it is an instance of, in floating point."""
        return core_of(next(iter(self.operations.values())))

    @property
    def widths(self) -> tuple[int, ...]:
        """The bits of its operands; of a table, of its entries."""
        if self.kind == "table":
            return (next(iter(self.operations.values())).width,)
        each = [operand_widths(wire) for wire in self.operations.values()]
        return tuple(max(column) for column in zip(*each, strict=True))

    @property
    def registers(self) -> int:
        """Bits of its registers."""
        if self.core is not None:
            return sum(self.core.operands) + self.core.registers
        widths = self.widths
        if self.kind == "multiplier":
            return 3 * sum(widths)
        if self.kind == "adder":
            return sum(widths) + 1 + widths[0]
        address = max(wire.args[0].width for wire in self.operations.values())
        return widths[0] + address


@dataclass
class SharedRegister:
    """A register and the values that it holds: (phase in which it is loaded, value, stage of its life)."""

    name: str
    width: int
    busy: int = 0  # phases in which it is read, as bits
    loads: list[tuple[int, Wire, int]] = field(default_factory=list)


@dataclass(frozen=True)
class FoldedPipeline:
    """A circuit with clocks, units and registers, that takes a state every `interval` clocks."""

    circuit: Circuit
    wires: list[Wire]
    interval: int
    at: dict[Wire, int]  # the clock in which an operation reads its operands
    ready: dict[Wire, int]  # the first clock in which its result can be read
    stays: dict[Wire, int]  # for how many clocks it can be read where it appears
    units: list[SharedUnit]
    registers_of: dict[tuple[Wire, int], SharedRegister]  # by value and stage
    stored: list[SharedRegister]
    latency: int

    @property
    def registers(self) -> int:
        """How many bits all registers hold."""
        bits = sum(unit.registers for unit in self.units) + sum(r.width for r in self.stored)
        bits += sum(w.width for w in self.wires if w.op == "input" or is_single(w))
        bits += sum(port.width * port.size for port in self.circuit.outputs)
        return bits + len(range(0, self.latency, self.interval)) + (self.interval - 1).bit_length()

    def stage(self, wire: Wire, clock: int) -> int:
        """The stage of a value's life in a clock: 0 where it appears, then a register for every interval."""
        late = clock - self.ready[wire] - self.stays[wire]
        return 0 if late < 0 else late // self.interval + 1

    def count(self, kind: str) -> int:
        """The number of units of a kind."""
        return sum(unit.kind == kind for unit in self.units)


def core_of(wire: Wire) -> Core | None:
    """The module that computes an operation, in floating point."""
    made = UNITS[wire.op].core
    return None if made is None else made(wire)


def operand_widths(wire: Wire) -> tuple[int, int]:
    """The bits of the operands of a multiplier or an adder for an operation; the wider factor comes first."""
    if (core := core_of(wire)) is not None:
        return core.operands[0], sum(core.operands[1:])
    if UNITS[wire.op].shared == "adder":
        total = wire.width + wire.data[2]
        return total, total
    if wire.op == "mul":
        widths = [a.width for a in wire.args]
    else:
        widths = [wire.args[0].width, constant_width(wire.data[0])]
    cut = wire.data[-1]
    wide, narrow = max(widths), min(widths)
    return max(wide, wire.width + cut - narrow), narrow


def is_single(wire: Wire) -> bool:
    """Whether an operation has a unit of its own in a folded pipeline, with a register."""
    return wire.op != "input" and not UNITS[wire.op].shared and UNITS[wire.op].latency > 0


def _latency(wire: Wire) -> int:
    kind, latency = UNITS[wire.op].shared, UNITS[wire.op].latency
    if UNITS[wire.op].core is not None:
        return latency + 1
    return LATENCY[kind] if kind else latency


def folded(circuit: Circuit, interval: int) -> FoldedPipeline:
    """The pipeline of a circuit for a state every `interval` clocks."""
    wires = circuit.live()
    at = _clocks(wires, interval)
    ready = {w: 1 if w.op == "input" else at[w] + _latency(w) for w in wires}
    stays = {w: 1 if UNITS[w.op].shared else interval for w in wires}
    source = _sources(wires)
    last: dict[Wire, int] = {}
    for wire in wires:
        for a in wire.args:
            if UNITS[wire.op].latency:
                last[source[a]] = max(last.get(source[a], 0), at[wire])
    leaving = {w for port in circuit.outputs for w in port.wires if w.op != "constant"}
    latency = max((ready[source[w]] for w in leaving), default=1) + 1
    for wire in leaving:
        taken = max(ready[source[wire]], latency - interval)
        last[source[wire]] = max(last.get(source[wire], 0), taken)
    units = _bound(wires, at, interval)
    stored, registers_of = _registers(wires, ready, stays, last, interval)
    return FoldedPipeline(circuit, wires, interval, at, ready, stays, units, registers_of, stored, latency)


def _sources(wires: list[Wire]) -> dict[Wire, Wire]:
    """Where the bits of each wire are stored: selections of bits have no registers."""
    found: dict[Wire, Wire] = {}
    for wire in wires:
        plain = wire.op not in ("input", "constant") and UNITS[wire.op].latency == 0
        found[wire] = found[wire.args[0]] if plain else wire
    return found


def _kind(wire: Wire) -> object:
    """A key, equal for operations that may share a unit: products, sums, reads of one table, a core."""
    kind = UNITS[wire.op].shared
    if (core := core_of(wire)) is not None:
        return kind, core.name
    return (kind, wire.width, wire.data[0]) if kind == "table" else kind


def _clocks(wires: list[Wire], interval: int) -> dict[Wire, int]:
    """The clock in which each operation starts: list scheduling, the longest path to a result first."""
    users: dict[Wire, list[Wire]] = {w: [] for w in wires}
    waiting: dict[Wire, int] = {}
    for wire in wires:
        waiting[wire] = len(wire.args)
        for a in wire.args:
            users[a].append(wire)
    height: dict[Wire, int] = {}
    for wire in reversed(wires):
        height[wire] = _latency(wire) + max((height[u] for u in users[wire]), default=0)
    slots: dict[object, list[int]] = {}
    most: dict[object, int] = {}
    for wire in wires:
        if kind := _kind(wire):
            most[kind] = most.get(kind, 0) + 1
    most = {kind: -(-n // interval) for kind, n in most.items()}
    at: dict[Wire, int] = {}
    queue: list[tuple[int, int, int, Wire]] = []
    early: dict[Wire, int] = dict.fromkeys(wires, 0)

    def put(wire: Wire, clock: int) -> None:
        heapq.heappush(queue, (clock, -height[wire], wire.number, wire))

    for wire in wires:
        if not wire.args:
            put(wire, 0)
    while queue:
        clock, _, _, wire = heapq.heappop(queue)
        kind = _kind(wire)
        if kind:
            busy = slots.setdefault(kind, [0] * interval)
            if busy[clock % interval] >= most[kind]:
                put(wire, clock + 1)
                continue
            busy[clock % interval] += 1
        at[wire] = clock
        done = 0 if wire.op == "constant" else 1 if wire.op == "input" else clock + _latency(wire)
        for user in users[wire]:
            early[user] = max(early[user], done)
            waiting[user] -= 1
            if waiting[user] == 0:
                put(user, early[user])
    return at


def _bound(wires: list[Wire], at: dict[Wire, int], interval: int) -> list[SharedUnit]:
    """Units with their operations; of those in a phase, the widest go to the first unit."""
    together: dict[object, list[list[Wire]]] = {}
    for wire in wires:
        if kind := _kind(wire):
            together.setdefault(kind, [[] for _ in range(interval)])[at[wire] % interval].append(wire)
    made: list[SharedUnit] = []
    for phases in together.values():
        first = len(made)
        for phase, each in enumerate(phases):
            wide = [sum(operand_widths(w)) if w.op != "table" else 0 for w in each]
            for k, (_, _, wire) in enumerate(
                sorted(
                    zip([-x for x in wide], [w.number for w in each], each, strict=True), key=lambda x: x[:2]
                )
            ):
                if first + k == len(made):
                    kind = UNITS[wire.op].shared
                    made.append(SharedUnit(kind, f"{kind}{sum(u.kind == kind for u in made)}"))
                made[first + k].operations[phase] = wire
    return made


def _registers(
    wires: list[Wire], ready: dict[Wire, int], stays: dict[Wire, int], last: dict[Wire, int], interval: int
) -> tuple[list[SharedRegister], dict[tuple[Wire, int], SharedRegister]]:
    """Registers for what is read after it has left its unit: first fit of circular arcs, the widest first."""
    arcs: list[tuple[Wire, int, int, int]] = []
    for wire in wires:
        if wire.op == "constant" or wire not in last:
            continue
        first, stage = ready[wire] + stays[wire], 1
        while first <= last[wire]:
            arcs.append((wire, stage, first, min(last[wire], first + interval - 1)))
            first, stage = first + interval, stage + 1
    stored: list[SharedRegister] = []
    found: dict[tuple[Wire, int], SharedRegister] = {}
    for wire, stage, first, end in sorted(arcs, key=lambda a: (-a[0].width, a[2] - a[3], a[0].number, a[1])):
        busy = sum({1 << (clock % interval) for clock in range(first, end + 1)})
        register = next((r for r in stored if not r.busy & busy), None)
        if register is None:
            register = SharedRegister(f"r{len(stored)}", wire.width)
            stored.append(register)
        register.busy |= busy
        register.loads.append(((first - 1) % interval, wire, stage))
        found[wire, stage] = register
    return stored, found
