# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Names of ports that are no words of Verilog and no signals inside of modules and testbenches."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Reserved words of Verilog and of SystemVerilog, as which some tools read every file.
_WORDS = """accept_on alias always always_comb always_ff always_latch and assert assign assume automatic
before begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle
checker class clocking cmos config const constraint context continue cover covergroup coverpoint
cross deassign default defparam design disable dist do edge else end endcase endchecker endclass
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage
endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event
eventually expect export extends extern final first_match for force foreach forever fork
forkjoin function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins
implements implies import incdir include initial inout input inside instance int integer
interconnect interface intersect join join_any join_none large let liblist library local
localparam logic longint macromodule matches medium modport module nand negedge nettype new
nexttime nmos nor noshowcancelled not notif0 notif1 null or output package packed parameter pmos
posedge primitive priority program property protected pull0 pull1 pulldown pullup
pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime
ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always
s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled
signed small soft solve specify specparam static string strong strong0 strong1 struct super
supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time
timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union
unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait
wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor"""
_KEYWORDS = frozenset(_WORDS.split())
_INSIDE = re.compile(
    r"clk|rst|(in|out)_(valid|ready)|valid|ce|phase|unused|(v|r|multiplier|adder|table|converter)\d+(_[a-z0-9_]*[a-z0-9])?"
    r"|sent|taken|random|passed|failed|done|good|close|pipeline|check\d*"
)
_MADE = re.compile(r"_(\d+|list|expected|off\d+)")  # from the name of a port


def signals(names: Sequence[str]) -> list[str]:
    """The names of ports with these names: an underscore is added where a word or a signal has the name."""
    made: list[str] = []
    for name in names:
        signal = name
        while signal in made or _is_taken(signal, names):
            signal += "_"
        made.append(signal)
    return made


def _is_taken(name: str, others: Sequence[str]) -> bool:
    made = (name[len(o) :] for o in others if o != name and name.startswith(o))
    return name in _KEYWORDS or bool(_INSIDE.fullmatch(name)) or any(map(_MADE.fullmatch, made))
