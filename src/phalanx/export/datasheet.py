# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The data sheet of exported pipelines, in Markdown: ports, formats, errors, units by link and quantity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..hardware.circuit import FloatPort
from ..languages.names import in_comment
from ..program import ops
from ..program.ir import Value
from .comments import package_version

if TYPE_CHECKING:
    from .api import Request
    from .verilog import Design


_FLOAT = (
    " Numbers in float32 are those of IEEE 754: sums and products are rounded to the nearest, ties to even; "
    "subnormal numbers are zero, as operands and as results. Sines and cosines are within 4.3e-8, "
    "reciprocals and roots within 0.7 units of the last place; angles beyond their range give NaN."
)
_PORTS = (
    "Numbers are two's complement; element 0 of an array is in its low bits. An integer i of an element "
    "stands for i / 2^fraction. A state is taken in a clock with `in_valid` and `in_ready`, a result in one "
    "with `out_valid` and `out_ready`; while a result waits, the pipeline does. Inputs outside their ranges "
    "give wrong results; those of all elements are in `{json}`."
)


def data_sheet(request: Request, designs: Sequence[Design], cells: Mapping[str, Mapping[str, int]]) -> str:
    """The page of a file; `cells` of a target by module, where Yosys has counted them."""
    robot, stem = request.robot, request.path.stem
    parts = [
        f"# {_name(stem)}: pipelines for robot {_name(robot.name)}",
        f"Written by Phalanx {package_version()}, version {request.version}. {robot.nv} degrees of freedom. "
        f"`{_name(request.path.name)}` holds the modules, `{_name(stem)}_tb.v` a testbench that prints "
        f"`N passed, M failed`, `{_name(stem)}.json` the numbers of this page.",
    ]
    for d in designs:
        parts += _module(d, stem, cells.get(d.name, {}), request.target or "")
    return "\n\n".join(parts) + "\n"


def _module(d: Design, stem: str, cells: Mapping[str, int], target: str) -> list[str]:
    facts, robot = d.facts(), d.entry.robot
    rows: list[list[Any]] = [
        ["latency", f"{facts['latency']} clocks"],
        ["interval", f"a new state every {facts['interval']} clock{'s' * (facts['interval'] > 1)}"],
        ["multipliers", facts["multipliers"]],
        ["adders", facts["adders"]],
        ["registers", f"{facts['registers']} bits"],
        ["widest word", f"{max((w.width for w in d.pipeline.wires), default=0)} bits"],
        [
            "error bound",
            "not proven"
            if facts["error_bound"] is None
            else f"{facts['error_bound']:.3g}, proven for all inputs within the ranges below",
        ],
    ]
    rows += [[f"{kind} ({target}, by Yosys)", n] for kind, n in cells.items()]
    rows += [[f"at {mhz} MHz (an assumed clock)", _speed(d, mhz)] for mhz in (100,)]
    return [
        f"## {d.name}",
        f"{_name(d.entry.title)}.",
        _table(["", ""], rows),
        "### Ports",
        _PORTS.format(json=f"{_name(stem)}.json")
        + _FLOAT * any(isinstance(p, FloatPort) for p in d.circuit.outputs)
        + "".join(f" `q[{s.start}:{s.stop}]` is a quaternion of unit length." for s in d.quaternions),
        _table(
            ["port", "direction", "shape", "bits of an element", "fraction", "range"],
            [_port(p, "in") for p in d.circuit.inputs] + [_port(p, "out") for p in d.circuit.outputs],
        ),
        "Error bounds are against the exact function of the inputs before rounding to words. By element:",
        _table(
            ["result", "largest magnitude", "error bound"],
            [
                [f"{port.signal}[{k}]", f"{max(abs(lo), abs(hi)):.4g}", f"{e:.3g}"]
                for port in d.circuit.outputs
                for k, (lo, hi, e) in enumerate(
                    zip(port.low, port.high, d.formats.error[port.name], strict=True)
                )
            ],
        ),
        "### Operations by link",
        _table(["link", *_KINDS], _by(d, lambda s: _link(robot, s.body_index))),
        "### Operations by quantity",
        _table(["quantity", *_KINDS], _by(d, lambda s: s.quantity or "-")),
        "### Instance",
        _instance(d),
    ]


def _speed(d: Design, mhz: int) -> str:
    rate, time = mhz / d.pipeline.interval, d.pipeline.latency / mhz
    return f"{rate:.4g} million states a second, each after {time:.3g} µs"


def _port(port: Any, direction: str) -> list[Any]:
    fractions = sorted(set(port.fractions))
    few = len(set(zip(port.low.tolist(), port.high.tolist(), strict=True))) == 1
    ends = f"{np.min(port.low):.4g} to {np.max(port.high):.4g}" + ("" if few else " (the widest)")
    if isinstance(port, FloatPort):
        listed = "float32"
    else:
        listed = str(port.fractions[0]) if len(fractions) == 1 else ", ".join(map(str, port.fractions))
    shape = " x ".join(map(str, port.shape)) or "1"
    return [f"`{port.signal}`", direction, shape, port.width, listed, ends]


_KINDS: dict[str, Callable[[Value], bool]] = {
    "products": lambda s: s.op == ops.MUL and not any(isinstance(a, float) for a in s.args),
    "products by constants": lambda s: s.op == ops.MUL and any(isinstance(a, float) for a in s.args),
    "sums": lambda s: s.op in (ops.ADD, ops.SUB, ops.NEG),
    "sines and cosines": lambda s: s.op in (ops.SIN, ops.COS),
    "quotients": lambda s: s.op == ops.DIV,
}


def _by(d: Design, key: Any) -> list[list[Any]]:
    """A table of operation counts: one row per value of `key`, one column per kind, a last row of totals."""
    values = [s for s in d.program.body if isinstance(s, Value)]
    found = Counter((key(s), kind) for s in values for kind, holds in _KINDS.items() if holds(s))
    names = dict.fromkeys(key(s) for s in values)
    total = [sum(found[name, kind] for name in names) for kind in _KINDS]
    return [[_name(name), *(found[name, kind] for kind in _KINDS)] for name in names] + [["all", *total]]


def _link(robot: Any, body: int) -> str:
    if body < 0:
        return "-"
    links = list(robot.model.links)
    carried = next((k for k, b in enumerate(links) if b >= body), None)
    return "-" if carried is None or carried >= robot.n_links else str(robot.link_names[carried])


def _instance(d: Design) -> str:
    ports = [*d.circuit.inputs, *d.circuit.outputs]
    lines = [f"wire [{p.width * p.size - 1}:0] {p.signal};" for p in ports]
    names = ["clk", "rst", "in_valid", "in_ready", "out_valid", "out_ready", *(p.signal for p in ports)]
    return "```verilog\n" + "\n".join(
        [*lines, f"{d.name} pipeline ({', '.join(f'.{n}({n})' for n in names)});\n```"]
    )


def _table(head: Iterable[str], rows: Iterable[Sequence[Any]]) -> str:
    head = list(head)
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in rows])


def _name(text: str) -> str:
    """A name of the user as Markdown shows it."""
    return in_comment(text).replace("|", "[U+007C]").replace("`", "[U+0060]")
