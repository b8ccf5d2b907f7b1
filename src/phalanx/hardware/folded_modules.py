# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Folded pipelines as modules of Verilog-2005: shared units behind multiplexers that follow a counter of
phases.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..languages.names import comment_lines
from .circuit import Port, Wire
from .folding import FoldedPipeline, SharedRegister, SharedUnit, is_single
from .modules import Tables, header, left_out
from .units import UNITS, Signal, constant_width


class FoldedModule:
    """A module under construction: declarations, and assignments at the edge of the clock by phase."""

    def __init__(self, name: str, pipeline: FoldedPipeline, tables: Tables) -> None:
        self.name, self.pipeline, self.tables = name, pipeline, tables
        self.declared: list[str] = []
        self.clocked: list[str] = []  # in every clock
        self.by_phase: list[list[str]] = [[] for _ in range(pipeline.interval)]
        self.unused: list[str] = []
        self.sliced: dict[tuple[Wire, str], Signal] = {}

    def text(self, about: str) -> str:
        p = self.pipeline
        for port in p.circuit.inputs:
            self._input(port)
        for register in p.stored:
            self.declared.append(f"  reg [{register.width - 1}:0] {register.name};")
        for unit in p.units:
            self._declare(unit)
        for wire in p.wires:
            if is_single(wire):
                self._single(wire)
        for unit in p.units:
            self._operands(unit)
        for register in p.stored:
            self._loads(register)
        leaving = [self._output(port) for port in p.circuit.outputs]
        bits = max((p.interval - 1).bit_length(), 1)
        states = (p.latency - 1) // p.interval + 1
        shifted = f"{{valid[{states - 2}:0], in_valid}}" if states > 1 else "in_valid"
        unused = [f"  wire unused = &{{1'b0, {', '.join(self.unused)}}};"] if self.unused else []
        return "\n".join(
            [
                *comment_lines(about, "// "),
                *header(self.name, p.circuit),
                f"  reg [{bits - 1}:0] phase;",
                f"  reg [{states - 1}:0] valid;  // of the states inside, the newest first",
                f"  assign out_valid = valid[{states - 1}] & (phase == {bits}'d{p.latency % p.interval});",
                "  wire ce = out_ready | ~out_valid;  // all registers wait while a result is not taken",
                f"  assign in_ready = ce & (phase == {bits}'d0);",
                "  always @(posedge clk)",
                "    if (rst) begin",
                f"      phase <= {bits}'d0;",
                f"      valid <= {states}'d0;",
                "    end else if (ce) begin",
                f"      phase <= (phase == {bits}'d{p.interval - 1}) ? {bits}'d0 : phase + {bits}'d1;",
                f"      if (phase == {bits}'d0) valid <= {shifted};",
                "    end",
                *self.declared,
                *unused,
                "  always @(posedge clk)",
                "    if (ce) begin",
                *(f"      {line}" for line in self.clocked),
                "      case (phase)",
                *self._cases(bits),
                "        default: ;",
                "      endcase",
                "    end",
                *leaving,
                "endmodule",
            ]
        )

    def _cases(self, bits: int) -> Iterable[str]:
        for phase, lines in enumerate(self.by_phase):
            if lines:
                yield f"        {bits}'d{phase}: begin"
                yield from (f"          {line}" for line in lines)
                yield "        end"

    # ------------------------------------------------------------------- values

    def _input(self, port: Port) -> None:
        read = {a for wire in self.pipeline.wires for a in wire.args}
        read |= {w for p in self.pipeline.circuit.outputs for w in p.wires}
        for k, wire in enumerate(port.wires):
            low, used = k * port.width, wire.width if wire in read else 0
            if used:
                self.declared.append(f"  reg [{used - 1}:0] {wire.name};")
                self.by_phase[0].append(f"{wire.name} <= {port.signal}[{low + used - 1}:{low}];")
            if used < port.width:
                self.unused.append(f"{port.signal}[{low + port.width - 1}:{low + used}]")

    def _read(self, wire: Wire, clock: int) -> Signal:
        """A value as it can be read in a clock."""
        if wire.op == "constant":
            return Signal("", wire.width, wire.data[0])
        if wire.op != "input" and UNITS[wire.op].latency == 0:
            return self._slice(wire, self._read(wire.args[0], clock))
        stage = self.pipeline.stage(wire, clock)
        return Signal(wire.name, wire.width) if stage == 0 else self._stored(wire, stage)

    def _stored(self, wire: Wire, stage: int) -> Signal:
        register = self.pipeline.registers_of[wire, stage]
        if register.width == wire.width:
            return Signal(register.name, wire.width)
        key = (wire, register.name)
        if key not in self.sliced:
            name = f"{wire.name}_{register.name}"
            self.declared.append(f"  wire [{wire.width - 1}:0] {name} = {register.name}[{wire.width - 1}:0];")
            self.sliced[key] = Signal(name, wire.width)
        return self.sliced[key]

    def _slice(self, wire: Wire, whole: Signal) -> Signal:
        """Selected bits of a signal, under a name."""
        key = (wire, whole.name)
        if key not in self.sliced:
            _, value = UNITS[wire.op].verilog(wire, [whole])
            name = f"{wire.name}_of_{whole.name}"
            self.declared.append(f"  wire [{wire.width - 1}:0] {name} = {value};")
            self.unused.append(whole.name)
            self.sliced[key] = Signal(name, wire.width)
        return self.sliced[key]

    # ------------------------------------------------------------------- units

    def _declare(self, unit: SharedUnit) -> None:
        """The registers of a unit, and the bits of its result that are each operation's own."""
        n, widths = unit.name, unit.widths
        if unit.core is not None:
            core = unit.core
            names = [f"{n}_{x}" for x, _ in zip("ab", core.operands, strict=False)]
            for name, width in zip(names, core.operands, strict=True):
                self.declared.append(f"  reg [{width - 1}:0] {name};")
            self.declared.append(f"  wire [{core.width - 1}:0] {n}_y;")
            ports = ", ".join(f".{x}({name})" for x, name in zip("ab", names, strict=False))
            self.declared.append(f"  {self.tables.core(core)} {n} (.clk(clk), .ce(ce), {ports}, .y({n}_y));")
            for wire in unit.operations.values():
                self.declared.append(f"  wire [{core.width - 1}:0] {wire.name} = {n}_y;")
            return
        if unit.kind == "table":
            (wire, *_) = unit.operations.values()
            address = wire.args[0].width
            self.declared += [f"  reg [{address - 1}:0] {n}_a;", f"  wire [{widths[0] - 1}:0] {n}_y;"]
            table = self.tables.name(wire)
            self.declared.append(f"  {table} {n} (.clk(clk), .ce(ce), .a({n}_a), .y({n}_y));")
            result, total = f"{n}_y", widths[0]
        elif unit.kind == "adder":
            total = widths[0]
            self.declared.append(f"  reg [{total - 1}:0] {n}_a, {n}_b, {n}_y;")
            self.declared.append(f"  reg {n}_minus;")
            carry = f"{{{total - 1}'d0, {n}_minus}}"
            self.clocked.append(f"{n}_y <= {n}_a + ({n}_b ^ {{{total}{{{n}_minus}}}}) + {carry};")
            result = f"{n}_y"
        else:
            a, b = widths
            total = a + b
            self.declared.append(f"  reg [{a - 1}:0] {n}_a;")
            self.declared.append(f"  reg [{b - 1}:0] {n}_b;")
            self.declared.append(f"  reg [{total - 1}:0] {n}_p, {n}_y;")
            factors = (Signal(f"{n}_a", a), Signal(f"{n}_b", b))
            product = " * ".join(f"$signed({f.extended(total)})" for f in factors)
            self.clocked += [f"{n}_p <= {product};", f"{n}_y <= {n}_p;"]
            result = f"{n}_y"
        for wire in unit.operations.values():
            cut = 0 if unit.kind == "table" else wire.data[2] if unit.kind == "adder" else wire.data[-1]
            value = result if cut == 0 and wire.width == total else f"{result}[{cut + wire.width - 1}:{cut}]"
            self.declared.append(f"  wire [{wire.width - 1}:0] {wire.name} = {value};")
        self.unused.append(result)

    def _operands(self, unit: SharedUnit) -> None:
        """The selection of a unit's operands in each phase."""
        n, widths = unit.name, unit.widths
        for phase, wire in unit.operations.items():
            names = [self._read(a, self.pipeline.at[wire]) for a in wire.args]
            lines = self.by_phase[phase]
            if unit.core is not None:
                operands = UNITS[wire.op].verilog(wire, names)[1]
                targets = ", ".join(f"{n}_{x}" for x, _ in zip("ab", unit.core.operands, strict=False))
                lines.append(f"{{{targets}}} <= {{{operands}}};")
            elif unit.kind == "table":
                lines.append(f"{n}_a <= {names[0].name};")
            elif unit.kind == "adder":
                left, right, _ = wire.data
                lines.append(f"{n}_a <= {names[0].extended(widths[0], left)};")
                lines.append(f"{n}_b <= {names[1].extended(widths[0], right)};")
                lines.append(f"{n}_minus <= 1'b{int(wire.op == 'sub')};")
                self.unused += [a.name for a in names if a.name]
            else:
                if wire.op != "mul":
                    names.append(Signal("", constant_width(wire.data[0]), wire.data[0]))
                wide, narrow = sorted(names, key=lambda s: -s.width)
                lines.append(f"{n}_a <= {wide.extended(widths[0])};")
                lines.append(f"{n}_b <= {narrow.extended(widths[1])};")

    def _single(self, wire: Wire) -> None:
        """A unit of one operation; its register is loaded once in an interval."""
        at = self.pipeline.at[wire]
        names = [self._read(a, at) for a in wire.args]
        self.unused += [a.name for a in names if a.name]
        between, value = UNITS[wire.op].verilog(wire, names)
        if between is not None:
            total, text = between
            middle = f"{wire.name}_full"
            self.declared.append(f"  wire [{total - 1}:0] {middle} = {text};")
            self.unused += left_out(middle, total, value)
            value = value.replace("#", middle)
        self.declared.append(f"  reg [{wire.width - 1}:0] {wire.name};")
        self.by_phase[at % self.pipeline.interval].append(f"{wire.name} <= {value};")

    def _loads(self, register: SharedRegister) -> None:
        for phase, wire, stage in register.loads:
            before = Signal(wire.name, wire.width) if stage == 1 else self._stored(wire, stage - 1)
            self.by_phase[phase].append(f"{register.name} <= {before.extended(register.width)};")

    def _output(self, port: Port) -> str:
        """Registers that are loaded in the last interval before the result leaves."""
        p = self.pipeline
        for k, wire in enumerate(port.wires):
            if wire.op != "constant":
                source = wire
                while source.op != "input" and UNITS[source.op].latency == 0:
                    (source,) = source.args
                clock = max(p.ready[source], p.latency - p.interval)
                self.declared.append(f"  reg [{wire.width - 1}:0] {port.signal}_{k};")
                self.by_phase[clock % p.interval].append(
                    f"{port.signal}_{k} <= {self._read(wire, clock).extended(wire.width)};"
                )
        words = [
            Signal(
                "" if w.op == "constant" else f"{port.signal}_{k}",
                w.width,
                w.data[0] if w.op == "constant" else None,
            )
            for k, w in enumerate(port.wires)
        ]
        return f"  assign {port.signal} = {{{', '.join(s.extended(port.width) for s in reversed(words))}}};"
