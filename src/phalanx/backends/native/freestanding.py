# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs as LLVM text for machines without an operating system or a C library.

Each program becomes a function of one state and one of rows of states. Nothing is allocated, nothing is kept
between calls, and nothing outside the module is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np

from ...program.elementary.sincos import CONSTANTS
from ...program.form.program import Program
from .emit.codegen import Module, scratch_bytes
from .emit.writer import LlvmWriter
from .loop import runtime_text
from .targets import TargetMachine

# Bits of a number, those of its fraction, and what is added to its exponent.
_LAYOUTS = {"double": (64, 52, 1023), "float": (32, 23, 127)}


@dataclass(frozen=True)
class ExportedFunction:
    """A program that becomes the functions `name` and `name_batch`."""

    name: str
    program: Program
    told: tuple[float, ...] = ()  # what it is told with every call


def workspace_numbers(program: Program, target: TargetMachine, size: int) -> int:
    """How many numbers of memory a caller passes to a function of a program; it is aligned inside."""
    scratch = scratch_bytes(program, target, size)
    return (scratch + _slack(program, target, size)) // size if scratch else 0


def _slack(program: Program, target: TargetMachine, size: int) -> int:
    """What alignment may take of a workspace, whose numbers are aligned by themselves."""
    return max(program.lanes, target.lanes(size)) * size - size


def module(functions: Iterable[ExportedFunction], element: str, target: TargetMachine) -> str:
    """The LLVM text of some programs for one machine.

    `name(in…, out…[, workspace])` computes one state, `name_batch(count, in…, out…[, workspace])` so many
    rows. There is a workspace if `workspace_numbers` tells so. Outputs must not overlap inputs.
    """
    size = _LAYOUTS[element][0] // 8
    made = Module(element, f"i{target.word}", max(8, target.lanes(size) * size))
    texts = [_functions(each, made, target) for each in functions]
    body = "\n".join([made.text, *texts])
    if "@turn_large" in body:
        body = "\n".join([body, runtime_text("turns.ll", element), far_text(element)])
    return "\n".join([body, *sorted(made.used), *_attributes(target)]) + "\n"


def _attributes(target: TargetMachine) -> list[str]:
    words = {"target-cpu": target.cpu, "target-features": target.features}
    if target.bits > 64:
        words |= {"prefer-vector-width": str(target.bits), "min-legal-vector-width": str(target.bits)}
    told = " ".join(f'"{key}"="{value}"' for key, value in words.items() if value)
    return [f"attributes #0 = {{ nounwind {told} }}", '!0 = !{!"branch_weights", i32 1, i32 1000000}']


def _functions(function: ExportedFunction, module: Module, target: TargetMachine) -> str:
    """The block of a program goes into the module; returns the functions around it."""
    name, program = function.name, function.program
    lanes = target.lanes(module.size)
    rows = lanes if program.lanes == 1 else 1  # that a block takes
    told = program.uniform is not None or bool(program.sizes)
    block = f"{name}_block"
    module.add(program, target, block, clamped=rows > 1)
    scratch = workspace_numbers(program, target, module.size)
    bytes_of = [region.size * module.size for region in (*program.inputs, *program.outputs)]
    numbers = range(len(bytes_of))
    head = _TOLD.format(place=module.table(np.array(function.told, float))) if told else ""
    if scratch:
        slack = _slack(program, target, module.size)
        head += _ALIGNED.format(above=slack, mask=-(slack + module.size), word=target.word)
    more = ", ptr %told" * told + ("" if program.is_straight else ", ptr %scratch")
    if not scratch and not program.is_straight:
        head += "%scratch = getelementptr i8, ptr null, i64 0\n  "
    parameters = [*(f"ptr %b{k}" for k in numbers), *["ptr %workspace"] * bool(scratch)]
    return _FUNCTIONS.format(
        name=name,
        block=block,
        head=head,
        parameters=", ".join(parameters),
        word=f"i{target.word}",
        count="add i64 %given, 0" if target.word == 64 else f"zext i{target.word} %given to i64",
        alone=", ".join(f"ptr %b{k}, i64 0" for k in numbers) + more + ", i64 0" * (rows > 1),
        moves="\n  ".join(
            f"%m{k} = mul i64 %i, {n}\n  %w{k} = getelementptr i8, ptr %b{k}, i64 %m{k}"
            for k, n in enumerate(bytes_of)
        ),
        last=_LAST.format(last=rows - 1) if rows > 1 else "",
        rows=rows,
        given=", ".join(f"ptr %w{k}, i64 {n}" for k, n in enumerate(bytes_of))
        + more
        + ", i64 %last" * (rows > 1),
    )


_TOLD = "%told = getelementptr i8, ptr {place}, i64 0\n  "
_ALIGNED = """%address = ptrtoint ptr %workspace to i{word}
  %above = add i{word} %address, {above}
  %aligned = and i{word} %above, {mask}
  %scratch = inttoptr i{word} %aligned to ptr
  """
# Lanes beyond the last row repeat it: nothing is read or written out of bounds.
_LAST = """%left = sub i64 %count, %i
  %more = sub i64 %left, 1
  %inside = icmp ult i64 %more, {last}
  %last = select i1 %inside, i64 %more, i64 {last}
  """
_FUNCTIONS = """
define void @{name}({parameters}) #0 {{
  {head}call void @{block}({alone})
  ret void
}}
define void @{name}_batch({word} %given, {parameters}) #0 {{
entry:
  %count = {count}
  {head}%any = icmp ne i64 %count, 0
  br i1 %any, label %blocks, label %end
blocks:
  %i = phi i64 [ 0, %entry ], [ %next, %blocks ]
  {moves}
  {last}call void @{block}({given})
  %next = add i64 %i, {rows}
  %again = icmp ult i64 %next, %count
  br i1 %again, label %blocks, label %end
end:
  ret void
}}"""


# ------------------------------------------------------------------- large angles


def far_text(element: str) -> str:
    """Sine and cosine of large arguments, as LLVM text that takes the place of the C library's."""
    bits, mantissa, bias = _LAYOUTS[element]
    text = Path(__file__).with_name("runtime").joinpath("far.ll").read_text(encoding="utf-8")
    k = CONSTANTS[element]
    return Template(text).substitute(
        element=element,
        suffix="" if element == "double" else "f",
        whole=f"i{bits}",
        widened="add i64 %raw, 0" if bits == 64 else f"zext i{bits} %raw to i64",
        narrowed="add i64 %scale.bits, 0" if bits == 64 else f"trunc i64 %scale.bits to i{bits}",
        mantissa=mantissa,
        exponents=2 * bias + 1,
        fractions=(1 << mantissa) - 1,
        implicit=1 << mantissa,
        offset=bias + mantissa - 62,
        unit=bias - 61,
        top=bits - 1,
        polynomials="\n".join([*_polynomial("s", k.sine, element), *_polynomial("c", k.cosine, element)]),
    )


def _polynomial(name: str, coefficients: tuple[float, ...], element: str) -> list[str]:
    """Text of a polynomial in %r2 by Horner's rule, each step rounded."""
    constant = LlvmWriter(element, 1, fma=False).scalar
    value, lines = constant(coefficients[-1]), []
    for k, a in reversed(list(enumerate(coefficients[:-1]))):
        lines.append(f"  %{name}.p{k} = fmul {element} {value}, %r2")
        value = f"%{name}.{k}" if k else f"%{name}"
        lines.append(f"  {value} = fadd {element} %{name}.p{k}, {constant(a)}")
    return lines
