# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs as LLVM IR for machines without an operating system or a C library.

Each program becomes a function of one state and one of rows of states. A module allocates nothing, has no
static variables and calls no external function.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from string import Template

from ...program.elementary import SINCOS_CONSTANTS
from ...program.ir import Program
from .emit.codegen import Module, scratch_bytes
from .emit.writer import LlvmWriter
from .loop import loop_over_blocks, runtime_text
from .targets import TargetMachine

# Bits of a number, bits of its fraction, and the bias of its exponent.
_LAYOUTS = {"double": (64, 52, 1023), "float": (32, 23, 127)}


@dataclass(frozen=True)
class ExportedFunction:
    """A program that becomes the functions `name` and `name_batch`."""

    name: str
    program: Program


def workspace_numbers(program: Program, target: TargetMachine, size: int) -> int:
    """Length of the workspace that a caller passes to a function of a program, in numbers, unaligned."""
    scratch = scratch_bytes(program, target, size)
    return (scratch + _slack(program, target, size)) // size if scratch else 0


def _slack(program: Program, target: TargetMachine, size: int) -> int:
    """Bytes of a workspace that aligning it may skip; it is aligned to the size of a number."""
    return max(program.lanes, target.lanes(size)) * size - size


def module(functions: Iterable[ExportedFunction], element: str, target: TargetMachine) -> str:
    """The LLVM IR of some programs for one machine.

    `name(in…, out…[, workspace])` computes one state, `name_batch(count, in…, out…[, workspace])` so many
    rows. There is a workspace if `workspace_numbers` is not 0. Outputs must not overlap inputs.
    """
    size = _LAYOUTS[element][0] // 8
    made = Module(element, f"i{target.word}", max(8, target.lanes(size) * size))
    around = [_functions(each, made, target) for each in functions]
    body = "\n".join([made.text, *around])
    body = with_sincos(body, element)
    return "\n".join([body, *sorted(made.used), *_attributes(target)]) + "\n"


def _attributes(target: TargetMachine) -> list[str]:
    words = {"target-cpu": target.cpu, "target-features": target.features}
    if target.bits > 64:
        words |= {"prefer-vector-width": str(target.bits), "min-legal-vector-width": str(target.bits)}
    listed = " ".join(f'"{key}"="{value}"' for key, value in words.items() if value)
    return [f"attributes #0 = {{ nounwind {listed} }}", '!0 = !{!"branch_weights", i32 1, i32 1000000}']


def _functions(function: ExportedFunction, module: Module, target: TargetMachine) -> str:
    """The functions around the block of a program, which is added to the module."""
    name, program = function.name, function.program
    lanes = target.lanes(module.size)
    rows = lanes if program.lanes == 1 else 1  # of a block
    block = f"{name}_block"
    module.add(program, target, block, clamped=rows > 1)
    scratch = workspace_numbers(program, target, module.size)
    bytes_of = [buffer.size * module.size for buffer in (*program.inputs, *program.outputs)]
    numbers = range(len(bytes_of))
    head = ""
    if scratch:
        slack = _slack(program, target, module.size)
        head += _ALIGNED.format(above=slack, mask=-(slack + module.size), word=target.word)
    more = "" if program.is_straight else ", ptr %scratch"
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
        loop=loop_over_blocks(
            block, rows, bytes_of, more, _LAST.format(last=rows - 1) if rows > 1 else "", less="ult"
        ),
    )


_ALIGNED = """%address = ptrtoint ptr %workspace to i{word}
  %above = add i{word} %address, {above}
  %aligned = and i{word} %above, {mask}
  %scratch = inttoptr i{word} %aligned to ptr
  """
# Lanes beyond the last row repeat it: nothing is read or written out of bounds.
_LAST = """%left = sub i64 %count, %i
%more = sub i64 %left, 1
%inside = icmp ult i64 %more, {last}
%last = select i1 %inside, i64 %more, i64 {last}"""
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
{loop}
end:
  ret void
}}"""


# ------------------------------------------------------------------- large angles


def with_sincos(ir: str, element: str) -> str:
    """LLVM IR with the functions for sines and cosines of large angles appended, if it calls them."""
    if "@sincos_large" not in ir:
        return ir
    return "\n".join([ir, runtime_text("sincos.ll", element), far_text(element)])


def far_text(element: str) -> str:
    """Sine and cosine of large angles, as LLVM IR that replaces the C library's."""
    bits, mantissa, bias = _LAYOUTS[element]
    ir = Path(__file__).with_name("runtime").joinpath("far.ll").read_text(encoding="utf-8")
    k = SINCOS_CONSTANTS[element]
    return Template(ir).substitute(
        element=element,
        suffix="" if element == "double" else "f",
        integer=f"i{bits}",
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
    """A polynomial in %r2 by Horner's rule, each step rounded."""
    constant = LlvmWriter(element, 1, fma=False).scalar
    value, lines = constant(coefficients[-1]), []
    for k, a in reversed(list(enumerate(coefficients[:-1]))):
        lines.append(f"  %{name}.p{k} = fmul {element} {value}, %r2")
        value = f"%{name}.{k}" if k else f"%{name}"
        lines.append(f"  {value} = fadd {element} %{name}.p{k}, {constant(a)}")
    return lines
