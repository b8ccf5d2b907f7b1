# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Self-checking testbenches: states go in with gaps, results are taken with pauses and compared with stored
ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .circuit import FloatPort, Port
from .units import literal


@dataclass(frozen=True)
class Check:
    """States and results of one module, in words of its ports, and how far a result may be off in its last
    bit. Of a port in floating point, results and tolerances are real numbers.
    """

    module: str
    inputs: list[tuple[Port, np.ndarray]]  # words (states, elements)
    outputs: list[tuple[Port, np.ndarray]]
    tolerances: list[list[Any]]


# A number is as close to a double as another one; no NaN is.
_CLOSE = """  function close(input [31:0] x, input [63:0] exact, input [63:0] most);
    reg [10:0] exponent;
    real off;
    begin
      exponent = (x[30:23] == 8'd255) ? 11'd2047 : {3'd0, x[30:23]} + 11'd896;
      off = $bitstoreal((x[30:23] == 8'd0) ? {x[31], 63'd0} : {x[31], exponent, x[22:0], 29'd0})
        - $bitstoreal(exact);
      close = (off <= $bitstoreal(most)) && (-off <= $bitstoreal(most));
    end
  endfunction"""
_DOUBLE = 64


def _double(x: float) -> int:
    """The bits of a number in double precision."""
    return int(np.float64(x).view(np.uint64))


def packed(port: Port, words: np.ndarray) -> list[int]:
    """Rows of words as integers of all bits of a port, element 0 in the low bits."""
    mask = (1 << port.width) - 1
    return [sum((int(x) & mask) << (k * port.width) for k, x in enumerate(row)) for row in words]


def testbench(prefix: str, checks: Sequence[Check]) -> str:
    """The module `PREFIX_tb`, which ends with a line `N passed, M failed`."""
    parts = [_check(check) for check in checks]
    names = [check.module for check in checks]
    instances = "\n".join(
        f"  wire [31:0] passed{k}, failed{k}; wire done{k};\n"
        f"  {name}_check check{k} (.clk(clk), .rst(rst), .passed(passed{k}), .failed(failed{k}),\n"
        f"    .done(done{k}));"
        for k, name in enumerate(names)
    )
    done, passed, failed = (
        sign.join(f"{word}{k}" for k in range(len(names)))
        for word, sign in (("done", " & "), ("passed", " + "), ("failed", " + "))
    )
    longest = max(len(check.inputs[0][1]) for check in checks)
    parts.append(
        f"""module {prefix}_tb;
  reg clk, rst;
  integer clocks;
{instances}
  always #5 clk = ~clk;
  initial begin
    clk = 1'b0; rst = 1'b1; clocks = 0;
    #22 rst = 1'b0;
  end
  always @(posedge clk) begin
    clocks <= clocks + 1;
    if ({done} | clocks > {100000 + 1000 * longest}) begin
      $display("%0d passed, %0d failed", {passed}, {failed});
      $finish;
    end
  end
endmodule"""
    )
    return "\n\n".join(parts) + "\n"


def _check(check: Check) -> str:
    """The module that drives one pipeline."""
    count = len(check.inputs[0][1])
    lines = [
        f"module {check.module}_check (",
        "  input wire clk, input wire rst,",
        "  output reg [31:0] passed, output reg [31:0] failed, output wire done",
        ");",
        "  reg [31:0] sent, taken;",
        "  reg [15:0] random;  // gaps between states, and pauses before results are taken",
        "  wire in_ready, out_valid;",
        f"  wire in_valid = ~rst & (sent < {count}) & (random[1:0] != 2'd0);",
        "  wire out_ready = random[4:3] != 2'd0;",
        f"  assign done = taken >= {count};",
    ]
    ports = ["clk", "rst", "in_valid", "in_ready", "out_valid", "out_ready"]
    filling = []
    for port, words in (*check.inputs, *check.outputs):
        if isinstance(port, FloatPort) and words.dtype == float:
            bits = _DOUBLE * port.size
            rows = [sum(_double(x) << (k * _DOUBLE) for k, x in enumerate(row)) for row in words]
        else:
            bits, rows = port.width * port.size, packed(port, words)
        lines.append(f"  reg [{bits - 1}:0] {port.signal}_list [0:{count - 1}];")
        filling += [f"    {port.signal}_list[{k}] = {literal(x, bits)};" for k, x in enumerate(rows)]
    for port, _ in check.inputs:
        last = f"(sent < {count}) ? sent : {count - 1}"
        lines.append(f"  wire [{port.width * port.size - 1}:0] {port.signal} = {port.signal}_list[{last}];")
    lines += [f"  wire [{port.width * port.size - 1}:0] {port.signal};" for port, _ in check.outputs]
    ports += [port.signal for port, _ in (*check.inputs, *check.outputs)]
    lines.append(f"  {check.module} pipeline ({', '.join(f'.{p}({p})' for p in ports)});")
    compare = []
    for (port, _), allowed in zip(check.outputs, check.tolerances, strict=True):
        w = port.width
        at = f"(taken < {count}) ? taken : {count - 1}"
        if isinstance(port, FloatPort):
            if _CLOSE not in lines:
                lines.append(_CLOSE)
            name = f"{port.signal}_expected"
            lines.append(f"  wire [{_DOUBLE * port.size - 1}:0] {name} = {port.signal}_list[{at}];")
            compare += [
                f"close({port.signal}[{32 * k + 31}:{32 * k}], {name}[{64 * k + 63}:{64 * k}], "
                f"{literal(_double(tolerance), _DOUBLE)})"
                for k, tolerance in enumerate(allowed)
            ]
            continue
        for k, tolerance in enumerate(allowed):
            low = k * w
            name = f"{port.signal}_off{k}"
            expected = f"{port.signal}_expected"
            lines.append(
                f"  wire signed [{w + 1}:0] {name} = $signed({{{{2{{{port.signal}[{low + w - 1}]}}}}, "
                f"{port.signal}[{low + w - 1}:{low}]}}) - $signed({{{{2{{{expected}[{low + w - 1}]}}}}, "
                f"{expected}[{low + w - 1}:{low}]}});"
            )
            compare.append(f"({name} <= {tolerance}) & ({name} >= -{tolerance})")
        lines.insert(
            len(lines) - len(allowed),
            f"  wire [{w * port.size - 1}:0] {port.signal}_expected = {port.signal}_list[{at}];",
        )
    lines += [
        "  wire good = " + "\n    & ".join(compare) + ";",
        "  initial begin",
        *filling,
        "  end",
        "  always @(posedge clk)",
        "    if (rst) begin",
        "      sent <= 0; taken <= 0; passed <= 0; failed <= 0; random <= 16'hACE1;",
        "    end else begin",
        "      random <= {random[14:0], random[15] ^ random[13] ^ random[12] ^ random[10]};",
        "      if (in_valid & in_ready) sent <= sent + 1;",
        "      if (out_valid & out_ready) begin",
        "        taken <= taken + 1;",
        "        if (good) passed <= passed + 1; else failed <= failed + 1;",
        "      end",
        "    end",
        "endmodule",
    ]
    return "\n".join(lines)
