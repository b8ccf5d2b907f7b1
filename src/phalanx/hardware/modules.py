# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Pipelines as modules of Verilog-2005."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..languages.names import comment_lines
from .circuit import Circuit, Port, Wire
from .float_cores import Core
from .schedule import Pipeline
from .units import UNITS, Signal, literal

_ROW = 4  # entries of a table in a line


@dataclass
class Tables:
    """The read-only memories and cores of a file: modules that several pipelines use."""

    prefix: str
    modules: dict[tuple[int, tuple[int, ...]], str] = field(default_factory=dict)
    cores: dict[str, Core] = field(default_factory=dict)

    def name(self, wire: Wire) -> str:
        key = (wire.width, wire.data[0])
        return self.modules.setdefault(key, f"{self.prefix}_table{len(self.modules)}")

    def core(self, core: Core) -> str:
        """The name of the module of a core."""
        self.cores[core.name] = core
        return f"{self.prefix}_{core.name}"

    def text(self) -> list[str]:
        """The Verilog of all modules."""
        tables = [_table(name, width, contents) for (width, contents), name in self.modules.items()]
        return tables + [core.text(self.prefix) for core in self.cores.values()]


def _table(name: str, width: int, contents: tuple[int, ...]) -> str:
    bits = (len(contents) - 1).bit_length()
    cases = [f"{bits}'d{k}: y <= {literal(x, width)};" for k, x in enumerate(contents)]
    rows = ["      " + " ".join(cases[k : k + _ROW]) for k in range(0, len(cases), _ROW)]
    return "\n".join(
        [
            f"module {name} (",
            "  input wire clk, input wire ce,",
            f"  input wire [{bits - 1}:0] a,",
            f"  output reg [{width - 1}:0] y",
            ");",
            "  always @(posedge clk) if (ce)",
            "    case (a)",
            *rows,
            "    endcase",
            "endmodule",
        ]
    )


def module(name: str, pipeline: Pipeline, tables: Tables, about: str) -> str:
    """The module of a pipeline that takes a state in every clock."""
    return _FullModule(name, pipeline, tables).text(about)


def header(name: str, circuit: Circuit) -> list[str]:
    """The ports of a module."""
    inputs = [f"  input wire [{p.width * p.size - 1}:0] {p.signal}," for p in circuit.inputs]
    outputs = [f"  output wire [{p.width * p.size - 1}:0] {p.signal}" for p in circuit.outputs]
    return [
        f"module {name} (",
        "  input wire clk,",
        "  input wire rst,",
        "  input wire in_valid,",
        "  output wire in_ready,",
        *inputs,
        "  output wire out_valid,",
        "  input wire out_ready,",
        ",\n".join(outputs),
        ");",
    ]


class _FullModule:
    """A module under construction: declarations, and assignments at the edge of the clock."""

    def __init__(self, name: str, pipeline: Pipeline, tables: Tables) -> None:
        self.name, self.pipeline, self.tables = name, pipeline, tables
        self.declared: list[str] = []
        self.clocked: list[str] = []
        self.unused: list[str] = []

    def text(self, about: str) -> str:
        circuit, latency = self.pipeline.circuit, self.pipeline.latency
        for port in circuit.inputs:
            self._input(port)
        for wire in self.pipeline.wires:
            if wire.op not in ("input", "constant"):
                self._unit(wire)
                self._delays(wire)
        leaving = [self._output(port) for port in circuit.outputs]
        shifted = f"{{valid[{latency - 2}:0], in_valid}}" if latency > 1 else "in_valid"
        unused = f"  wire unused = &{{1'b0, {', '.join(self.unused)}}};" if self.unused else None
        return "\n".join(
            [
                *comment_lines(about, "// "),
                *header(self.name, circuit),
                f"  reg [{latency - 1}:0] valid;",
                f"  assign out_valid = valid[{latency - 1}];",
                "  wire ce = out_ready | ~out_valid;  // all registers wait while a result is not taken",
                "  assign in_ready = ce;",
                "  always @(posedge clk)",
                f"    if (rst) valid <= {latency}'d0;",
                f"    else if (ce) valid <= {shifted};",
                *self.declared,
                *([unused] if unused else []),
                "  always @(posedge clk)",
                "    if (ce) begin",
                *(f"      {line}" for line in self.clocked),
                "    end",
                *leaving,
                "endmodule",
            ]
        )

    def _register(self, name: str, width: int, value: str) -> None:
        self.declared.append(f"  reg [{width - 1}:0] {name};")
        self.clocked.append(f"{name} <= {value};")

    def _input(self, port: Port) -> None:
        live = {a for wire in self.pipeline.wires for a in wire.args}
        live |= {w for p in self.pipeline.circuit.outputs for w in p.wires}
        for k, wire in enumerate(port.wires):
            low, used = k * port.width, wire.width if wire in live else 0
            if used:
                self._register(wire.name, wire.width, f"{port.signal}[{low + used - 1}:{low}]")
                self._delays(wire)
            if used < port.width:
                self.unused.append(f"{port.signal}[{low + port.width - 1}:{low + used}]")

    def _unit(self, wire: Wire) -> None:
        at = self.pipeline.at(wire)
        names = [self._read(a, at) for a in wire.args]
        if wire.op == "table":
            self.declared.append(f"  wire [{wire.width - 1}:0] {wire.name};")
            self.declared.append(
                f"  {self.tables.name(wire)} {wire.name}_rom (.clk(clk), .ce(ce), .a({names[0].name}), "
                f".y({wire.name}));"
            )
            return
        if (made := UNITS[wire.op].core) is not None:
            core = made(wire)
            operands = UNITS[wire.op].verilog(wire, names)[1]
            self.declared.append(f"  wire [{wire.width - 1}:0] {wire.name};")
            if len(core.operands) == 1:
                ports = f".a({operands})"
            else:
                self.declared.append(
                    f"  wire [{sum(core.operands) - 1}:0] {wire.name}_operands = {{{operands}}};"
                )
                low = core.operands[1]
                ports = f".a({wire.name}_operands[{sum(core.operands) - 1}:{low}]), "
                ports += f".b({wire.name}_operands[{low - 1}:0])"
            self.declared.append(
                f"  {self.tables.core(core)} {wire.name}_core (.clk(clk), .ce(ce), {ports}, .y({wire.name}));"
            )
            return
        if wire.op.startswith("float_"):
            self.unused.append(names[0].name)
        if wire.op in ("add", "sub"):
            left = zip(names, wire.data[:2], strict=True)
            self.unused += filter(None, (a.unread(wire.width + wire.data[2], k) for a, k in left))
        elif wire.op == "shift" and wire.data[0] > 0:
            self.unused.append(names[0].name)
        between, value = UNITS[wire.op].verilog(wire, names)
        if between is not None:
            total, text = between
            middle = f"{wire.name}_full"
            self.declared.append(f"  wire [{total - 1}:0] {middle} = {text};")
            self.unused += left_out(middle, total, value)
            value = value.replace("#", middle)
        latency = UNITS[wire.op].latency
        if latency == 0:
            self.declared.append(f"  wire [{wire.width - 1}:0] {wire.name} = {value};")
        for k in range(1, latency + 1):
            name = wire.name if k == latency else f"{wire.name}_stage{k}"
            self._register(name, wire.width, value)
            value = name

    def _delays(self, wire: Wire) -> None:
        before = wire.name
        for k in range(1, self.pipeline.delays[wire] + 1):
            self._register(f"{wire.name}_{k}", wire.width, before)
            before = f"{wire.name}_{k}"

    def _read(self, wire: Wire, at: int) -> Signal:
        if wire.op == "constant":
            return Signal("", wire.width, wire.data[0])
        late = at - self.pipeline.ready[wire]
        return Signal(f"{wire.name}_{late}" if late else wire.name, wire.width)

    def _output(self, port: Port) -> str:
        words = [self._read(w, self.pipeline.latency).extended(port.width) for w in reversed(port.wires)]
        return f"  assign {port.signal} = {{{', '.join(words)}}};"


def left_out(name: str, total: int, value: str) -> list[str]:
    """The bits of an intermediate result that its slice leaves out."""
    if "#[" not in value:
        return []
    top, low = (int(x) for x in value.partition("#[")[2].partition("]")[0].split(":"))
    above = [f"{name}[{total - 1}:{top + 1}]"] if top < total - 1 else []
    return above + ([f"{name}[{low - 1}:0]"] if low else [])
