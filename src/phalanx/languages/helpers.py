# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions that programs call, in a language like C: the steps are those of every other machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from ..program import ops
from ..program.elementary import analytic
from ..program.elementary.sincos import LARGEST, rescale, sincos
from .dialects import Dialect
from .writer import SourceWriter

_FUNCTIONS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    ops.EXP: (("x",), analytic.exp),
    ops.TANH: (("x",), analytic.tanh),
    ops.LOG: (("x",), analytic.log),
    ops.ARCTAN2: (("y", "x"), analytic.arctan2),
    ops.RESCALE: (("x",), rescale),
}
_ORDER = ("minimum", "maximum", *_FUNCTIONS, "turn")


def helpers(dialect: Dialect, wanted: Iterable[str], fused: str = "") -> list[str]:
    """The functions that are called, those behind them included.

    If `fused` is a condition of the preprocessor, sines and cosines have a form for each case.
    """
    texts: dict[str, str] = {}
    missing = list(wanted)
    while missing:
        name = missing.pop()
        if name not in texts:
            texts[name], more = _helper(dialect, name, fused)
            missing += more
    return [texts[name] for name in _ORDER if name in texts]


def _helper(dialect: Dialect, name: str, fused: str) -> tuple[str, set[str]]:
    if name == "turn":
        return _turn(dialect, fused), set()
    if name in ("minimum", "maximum"):
        return _extreme(dialect, name), set()
    parameters, formula = _FUNCTIONS[name]
    w = SourceWriter(dialect)
    result = formula(w, *parameters)
    listed = ", ".join(f"{dialect.type} {p}" for p in parameters)
    head = f"{dialect.function} {dialect.type} ${name}{dialect.tag}({listed}) {{"
    return "\n".join([head, *w.lines, f"  return {w.operand(result)};", "}"]), w.helpers


def _turn(dialect: Dialect, fused: str) -> str:
    """Sine and cosine; beyond the fast path by the library, unless the caller sees to that."""
    real = dialect.type
    listed = f"{real} x, int careful, {real} *s, {real} *c, {real} *far"
    head = f"{dialect.function} void $turn{dialect.tag}({listed}) {{"
    lines = [head, f"  {real} size;"]
    if fused:
        lines += [
            f"#if {fused}",
            *_sincos(dialect, fma=True),
            "#else",
            *_sincos(dialect, fma=False),
            "#endif",
        ]
    else:
        lines += _sincos(dialect, fma=True)
    absolute, sine, cosine = (dialect.library[name] for name in ("fabs", "sin", "cos"))
    lines += [
        f"  size = {absolute}(x);",
        "  *far = size > *far ? size : *far;",
    ]
    if dialect.lanes > 1:
        tag = dialect.tag
        lines += ["  if (careful) {", f"    *s = $sin_far{tag}(x, *s);", f"    *c = $cos_far{tag}(x, *c);"]
        return "\n\n".join(
            [*(_far(dialect, name) for name in ("sin", "cos")), "\n".join([*lines, "  }", "}"])]
        )
    lines += [
        f"  if (careful && size > {dialect.literal(LARGEST)}) {{",
        f"    *s = {sine}(x);",
        f"    *c = {cosine}(x);",
        "  }",
        "}",
    ]
    return "\n".join(lines)


def _far(dialect: Dialect, name: str) -> str:
    """A sine or cosine by the library in lanes whose angle is beyond the fast path; hardly ever called."""
    kind, limit = dialect.type, replace(dialect, lanes=1).literal(LARGEST)
    lines = [f"__attribute__((noinline)) static {kind} ${name}_far{dialect.tag}({kind} x, {kind} near) {{"]
    for k in range(dialect.lanes):
        lines.append(f"  if (fabs(x.s{k:x}) > {limit}) near.s{k:x} = {name}(x.s{k:x});")
    return "\n".join([*lines, "  return near;", "}"])


def _sincos(dialect: Dialect, *, fma: bool) -> list[str]:
    w = SourceWriter(dialect, fma=fma)
    sine, cosine = sincos(w, "x")
    return [*w.lines, f"  *s = {sine};", f"  *c = {cosine};"]


def _extreme(dialect: Dialect, name: str) -> str:
    """The lesser or greater of two, NaN if one is; of zeros, -0 is less."""
    real, test, joint = dialect.type, *(("<", "|") if name == "minimum" else (">", "&"))
    w = SourceWriter(dialect)  # without branches, so that compilers vectorise
    alike = w.put(f"{dialect.number}({dialect.bits}(a) {joint} {dialect.bits}(b))")
    found = w.select(f"(a {test} b)", "a", w.select(f"(b {test} a)", "b", alike))
    found = w.select("(a != a)", "a", w.select("(b != b)", "b", found))
    head = f"{dialect.function} {real} ${name}{dialect.tag}({real} a, {real} b) {{"
    return "\n".join([head, *w.lines, f"  return {found};", "}"])


def bits_functions(dialect: Dialect) -> str:
    """The functions between numbers and their bits, where the language has none of its own."""
    return "\n\n".join(
        "\n".join(
            [
                f"{dialect.function} {made} {name}({given} x) {{",
                f"  {made} y;",
                "  memcpy(&y, &x, sizeof y);",
                "  return y;",
                "}",
            ]
        )
        for name, given, made in (
            (dialect.bits, dialect.real, dialect.unsigned),
            (dialect.number, dialect.unsigned, dialect.real),
        )
    )
