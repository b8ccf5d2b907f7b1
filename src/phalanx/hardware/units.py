# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The table of units: what an operation of a circuit computes, how Verilog writes it, how many clocks it
takes.

All words are two's complement. Low bits that a result has no place for are cut off, which rounds down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import float_cores
from .float_cores import Core


@dataclass(frozen=True, kw_only=True)
class Unit:
    """An operation on words. `wire` is that of the result, `data` of which holds the operation's own
    constants.

    `model(wire, …)` computes integers. `verilog(wire, names)` gives an intermediate result (width,
    expression), or None, and the expression for exactly the bits of the result, in which # is the
    intermediate one. `shared` is the kind of unit that folding shares. A unit with a `core` is an instance of
    that module instead, whose operands are what `verilog` gives, separated by commas.
    """

    latency: int
    model: Callable[..., Any]
    verilog: Callable[[Any, Sequence[Any]], tuple[Any, str]]
    widest: Callable[[Any], int] = lambda wire: int(wire.width)
    shared: str = ""
    core: Callable[[Any], Core] | None = None

    def registers(self, wire: Any) -> int:
        """The bits of its registers."""
        return int(wire.width) * self.latency if self.core is None else self.core(wire).registers


@dataclass(frozen=True)
class Signal:
    """A name of Verilog with its width; a constant has a value instead."""

    name: str
    width: int
    value: int | None = None

    def unread(self, total: int, left: int = 0) -> str:
        """The bits that `extended` leaves out; empty if there are none."""
        kept = total - left
        return f"{self.name}[{self.width - 1}:{kept}]" if self.value is None and kept < self.width else ""

    def extended(self, total: int, left: int = 0) -> str:
        """The signal times 2^left, sign-extended to `total` bits."""
        if self.value is not None:
            return literal(self.value << left, total)
        sign = total - self.width - left
        if sign < 0:
            kept = self.width + sign
            parts = [f"{self.name}[{kept - 1}:0]"]
        else:
            top = self.name if self.width == 1 else f"{self.name}[{self.width - 1}]"
            parts = [f"{{{sign}{{{top}}}}}"] if sign else []
            parts.append(self.name)
        parts += [f"{left}'d0"] if left else []
        return parts[0] if len(parts) == 1 else f"{{{', '.join(parts)}}}"


def literal(value: int, width: int) -> str:
    """An integer as a Verilog constant of `width` bits, in two's complement."""
    return f"{width}'h{value % (1 << width):x}"


# ------------------------------------------------------------------- sums


def _aligned(wire: Any) -> int:
    """The bits of the sum before it is cut."""
    return int(wire.width + wire.data[2])


def _sum_model(sign: int) -> Callable[..., Any]:
    def model(wire: Any, a: Any, b: Any) -> Any:
        left, right, cut = wire.data
        return ((a << left) + sign * (b << right)) >> cut

    return model


def _sum_verilog(sign: str) -> Callable[[Any, Sequence[Signal]], tuple[Any, str]]:
    def verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
        left, right, cut = wire.data
        total = _aligned(wire)
        text = f"{names[0].extended(total, left)} {sign} {names[1].extended(total, right)}"
        return ((total, text), f"#[{total - 1}:{cut}]") if cut else (None, text)

    return verilog


def _sum_widest(wire: Any) -> int:
    return max(_aligned(wire), *(a.width + s for a, s in zip(wire.args, wire.data, strict=False))) + 1


# ------------------------------------------------------------------- products


def _product(wire: Any, factors: Sequence[Signal], cut: int) -> tuple[Any, str]:
    widths = [f.width for f in factors]
    total = max(sum(widths), cut + wire.width)
    text = " * ".join(f"$signed({f.extended(total)})" for f in factors)
    return (total, text), f"#[{cut + wire.width - 1}:{cut}]"


def constant_width(value: int) -> int:
    """Bits of an integer in two's complement."""
    return (value if value >= 0 else ~value).bit_length() + 1


def _scale_verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    factor, cut = wire.data
    constant = Signal("", constant_width(factor), factor)
    return _product(wire, [names[0], constant], cut)


# ------------------------------------------------------------------- bits and tables


def _wrapped(value: Any, width: int) -> Any:
    """The low bits of an integer, as one of two's complement."""
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def _field_model(wire: Any, a: Any) -> Any:
    low, centred = wire.data
    return _wrapped((a >> low) + (centred << (wire.width - 1)), wire.width)


def _field_verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    low, centred = wire.data
    name, top = names[0].name, low + wire.width - 1
    if not centred:
        return None, f"{name}[{top}:{low}]"
    return None, f"{{~{name}[{top}], {name}[{top - 1}:{low}]}}"


def _table_model(wire: Any, a: Any) -> Any:
    contents = np.array(wire.data[0], dtype=object)
    found = contents[np.asarray(a % len(contents)).astype(np.intp)]
    return np.asarray(found).astype(a.dtype) if isinstance(a, np.ndarray) else found


def _shift_model(wire: Any, a: Any) -> Any:
    (cut,) = wire.data
    return a >> cut if cut >= 0 else a << -cut


def _shift_verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    (cut,) = wire.data
    if cut <= 0:
        return None, names[0].extended(wire.width, -cut)
    a = names[0]
    top = min(a.width - 1, cut + wire.width - 1)
    kept = Signal(f"{a.name}[{top}:{cut}]", top + 1 - cut)
    if kept.width == wire.width:
        return None, kept.name
    return None, f"{{{{{wire.width - kept.width}{{{a.name}[{a.width - 1}]}}}}, {kept.name}}}"


# ------------------------------------------------------------------- quadrants

# The sine in each quadrant from (sine, cosine) of the first one: which, and its sign.
_SINE = ((0, 1), (1, 1), (0, -1), (1, -1))


def _quadrant_model(wire: Any, sine: Any, cosine: Any, quadrant: Any) -> Any:
    ahead, cut = wire.data
    which = (quadrant + ahead) % 4
    cases = [(sine, cosine)[k] * sign for k, sign in _SINE]
    return np.select([which == k for k in range(4)], cases) >> cut


def _quadrant_verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    """Bit 0 of the quadrant swaps, bit 1 negates; the cosine is the sine a quadrant ahead."""
    ahead, cut = wire.data
    q, total = names[2].name, wire.width + cut
    pair = [names[k].extended(total) for k in (0, 1)]
    swapped = f"({q}[0] ? {pair[1 - ahead]} : {pair[ahead]})"
    minus = f"({q}[1] ^ {q}[0])" if ahead else f"{q}[1]"
    return (total, f"{minus} ? {total}'d0 - {swapped} : {swapped}"), f"#[{total - 1}:{cut}]"


# ------------------------------------------------------------------- normalisation


def _zeros_model(wire: Any, a: Any) -> Any:
    most, top = wire.data
    return sum((a < (1 << (top - k))) * 1 for k in range(most))


def _zeros_verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    most, top = wire.data
    cases = [f"{names[0].name}[{top - k}] ? {literal(k, wire.width)} : " for k in range(most)]
    return None, "".join(cases) + literal(most, wire.width)


def _shifted_verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    cut, most = wire.data
    total = max(names[0].width + most, cut + wire.width)
    return (total, f"{names[0].extended(total)} << {names[1].name}"), f"#[{cut + wire.width - 1}:{cut}]"


# ------------------------------------------------------------------- floating point


def _operands(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    widths = [a.width for a in wire.args]
    return None, ", ".join(n.extended(w) for n, w in zip(names, widths, strict=True))


def _opposite(name: Signal) -> str:
    """A number in floating point with the other sign."""
    if name.value is not None:
        return literal(int(float_cores.negated(name.value)), 32)
    return f"{{~{name.name}[31], {name.name}[30:0]}}"


def _float(latency: int, shared: str, model: Callable[..., Any], core: Callable[[Any], Core]) -> Unit:
    return Unit(
        latency=latency,
        model=lambda wire, *args: model(*args),
        verilog=_operands,
        shared=shared,
        core=core,
    )


def _mantissa(wire: Any, a: Any) -> Any:
    one = (a % (1 << 23)) + (1 << 23)
    return one << (1 - (a >> 23) % 2) if wire.width == 26 else one


def _mantissa_verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    x = names[0].name
    if wire.width == 26:  # of a root: the exponent is made even
        return None, f"{x}[23] ? {{3'b001, {x}[22:0]}} : {{2'b01, {x}[22:0], 1'b0}}"
    return None, f"{{2'b01, {x}[22:0]}}"


def _class_model(wire: Any, a: Any) -> Any:
    is_nan = ((a >> 23) % 256 == 255) & (a % (1 << 23) != 0)
    return _wrapped((is_nan * 512) + (a >> 23) % 512, 10)


_FLOATS = {
    "float_add": _float(5, "adder", float_cores.added, lambda wire: float_cores.ADD),
    "float_sub": Unit(
        latency=5,
        model=lambda wire, a, b: float_cores.added(a, float_cores.negated(b)),
        verilog=lambda wire, names: (None, f"{names[0].extended(32)}, {_opposite(names[1])}"),
        shared="adder",
        core=lambda wire: float_cores.ADD,
    ),
    "float_mul": _float(4, "multiplier", float_cores.multiplied, lambda wire: float_cores.MULTIPLY),
    "float_neg": Unit(
        latency=0,
        model=lambda wire, a: float_cores.negated(a),
        verilog=lambda wire, names: (None, _opposite(names[0])),
    ),
    "float_mantissa": Unit(latency=0, model=_mantissa, verilog=_mantissa_verilog),
    "float_class": Unit(  # whether it is NaN, sign, exponent
        latency=0,
        model=_class_model,
        verilog=lambda wire, names: (
            None,
            f"{{(&{names[0].name}[30:23]) & (|{names[0].name}[22:0]), {names[0].name}[31:23]}}",
        ),
    ),
    "float_beyond": Unit(  # whether it is too large, infinite or NaN
        latency=1,
        model=lambda wire, a: -float_cores.out_of(a, wire.data[0]).astype(np.int64),
        verilog=lambda wire, names: (None, f"{names[0].name}[30:23] > 8'd{126 + wire.data[0]}"),
    ),
    "float_to_integer": Unit(
        latency=2,
        model=lambda wire, a: float_cores.as_integer(a, wire.width, wire.fraction),
        verilog=_operands,
        shared="converter",
        core=lambda wire: float_cores.to_integer(wire.width, wire.fraction),
    ),
    "float_from_integer": Unit(
        latency=3,
        model=lambda wire, a, bad: np.where(
            bad == -1,
            float_cores.NAN,
            float_cores.words_of(np.ldexp(np.asarray(a, dtype=float), -wire.args[0].fraction)),
        ),
        verilog=_operands,
        shared="converter",
        core=lambda wire: float_cores.from_integer(wire.args[0].width, wire.args[0].fraction),
    ),
    "float_reciprocal": _float(
        1, "converter", float_cores.reciprocal_words, lambda wire: float_cores.RECIPROCAL
    ),
    "float_root": _float(1, "converter", float_cores.root_words, lambda wire: float_cores.ROOT),
}


def _pairs_model(wire: Any, a: Any) -> Any:
    most, top = wire.data
    return sum(((a < (1 << (top - 1 - 2 * k))) * 1 for k in range(most)), 0 * a)


def _pairs_verilog(wire: Any, names: Sequence[Signal]) -> tuple[Any, str]:
    most, top = wire.data
    bits = [f"(|{names[0].name}[{top - 2 * k}:{top - 2 * k - 1}])" for k in range(most)]
    cases = [f"{bit} ? {literal(k, wire.width)} : " for k, bit in enumerate(bits)]
    return None, "".join(cases) + literal(most, wire.width)


UNITS: dict[str, Unit] = {
    "pairs": Unit(latency=1, model=_pairs_model, verilog=_pairs_verilog),  # of leading zeros
    **_FLOATS,
    "input": Unit(latency=0, model=lambda wire: None, verilog=lambda wire, names: (None, "")),
    "constant": Unit(
        latency=0,
        model=lambda wire: wire.data[0],
        verilog=lambda wire, names: (None, literal(wire.data[0], wire.width)),
    ),
    "add": Unit(
        latency=1, model=_sum_model(1), verilog=_sum_verilog("+"), widest=_sum_widest, shared="adder"
    ),
    "sub": Unit(
        latency=1, model=_sum_model(-1), verilog=_sum_verilog("-"), widest=_sum_widest, shared="adder"
    ),
    "mul": Unit(
        latency=2,
        model=lambda wire, a, b: (a * b) >> wire.data[0],
        verilog=lambda wire, names: _product(wire, names, wire.data[0]),
        widest=lambda wire: sum(a.width for a in wire.args),
        shared="multiplier",
    ),
    "scale": Unit(
        latency=2,
        model=lambda wire, a: (a * wire.data[0]) >> wire.data[1],
        verilog=_scale_verilog,
        widest=lambda wire: wire.args[0].width + constant_width(wire.data[0]),
        shared="multiplier",
    ),
    "phase": Unit(  # a product by a constant that wraps around
        latency=2,
        model=lambda wire, a: _wrapped((a * wire.data[0]) >> wire.data[1], wire.width),
        verilog=_scale_verilog,
        widest=lambda wire: wire.args[0].width + constant_width(wire.data[0]),
        shared="multiplier",
    ),
    "shift": Unit(
        latency=0,
        model=_shift_model,
        verilog=_shift_verilog,
        widest=lambda wire: max(wire.width, wire.args[0].width),
    ),
    "field": Unit(latency=0, model=_field_model, verilog=_field_verilog),
    "table": Unit(latency=1, model=_table_model, verilog=lambda wire, names: (None, ""), shared="table"),
    "zeros": Unit(latency=1, model=_zeros_model, verilog=_zeros_verilog),  # leading ones, of positive numbers
    "shifted": Unit(  # to the left by another value
        latency=1,
        model=lambda wire, a, n: (a << n) >> wire.data[0],
        verilog=_shifted_verilog,
        widest=lambda wire: max(wire.args[0].width + wire.data[1], wire.width),
    ),
    "quadrant": Unit(latency=1, model=_quadrant_model, verilog=_quadrant_verilog),
}
