# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""LLVM IR of a kernel: its block, and the loop around it for any strides and any number of states.

Contiguous rows are passed to the block in place. Others, and the last few of a batch, are
copied to a small buffer on the stack, whose spare rows repeat the last state: no lane
computes on garbage, and a state gives the same bits wherever it is in the batch.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import prod
from pathlib import Path
from string import Template

import numpy as np

from ...algorithms import algorithms
from ...errors import PhalanxError
from ...program.lowering import lowered, unrolls
from ...program.passes.nonfinite import spread
from ...program.task import Call
from ...program.unroll_policy import is_segmented
from .compile import LONG, CodegenOptions, Target
from .emit.codegen import Module, block_function, branched_block_function, scratch_bytes
from .emit.phases import shared_functions
from .emit.widths import in_widths

# Bytes of buffers that a call may put on the stack of whatever thread it runs in.
_STACK = 1 << 15
ELEMENTS = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}


_LARGE = 1 << 22  # bytes of scratch memory from which it is allocated from the pool
_HEAD = 8  # bytes in front of memory from the pool


def module(call: Call, optional: tuple[str, ...], dtype: np.dtype, target: Target) -> str:
    """The LLVM IR of a call; for a function of a frame, one module serves all frames."""
    element = ELEMENTS[dtype]
    scratch, rows, alone = 0, 0, "@block"
    sizes: Sequence[int] | None = () if is_segmented(call) else None
    loops = lowered(call, optional)
    if isinstance(loops, list):
        programs = [spread(program) for program in loops]
        if call.function.frame:
            block, declarations, scratch = branched_block_function(programs, target, element)
        else:
            block, declarations, scratch = block_function(programs[0], target, element)
    elif loops.one_state:
        rows, program = 1, spread(loops.built(target.lanes(dtype.itemsize)))
        written = Module(element)
        written.add(program, target)
        block, declarations, sizes = written.text, written.used, written.phases.get("block", [])
        scratch = scratch_bytes(program, target, dtype.itemsize)
    else:
        block, declarations, scratch, target, alone = in_widths(loops.built, loops.alone, target, element)
        _require_memory(call, scratch)
    shapes = call.shapes(optional)
    uniforms = call.function.frame
    outputs = len(call.function.outputs)
    text = module_text(
        block, declarations, shapes, element, target, scratch, rows, alone, outputs=outputs, uniforms=uniforms
    )
    if sizes is None:
        return text
    get, _, put = _scratch(scratch, 0, _filled_with_nan(shapes, outputs, dtype.itemsize, "1", "", "", "%p"))
    return f"{text}\n{shared_functions('block', sizes, len(shapes), uniforms=uniforms, get=get, put=put)}"


def codegen_options(call: Call, optional: tuple[str, ...], ir: str) -> CodegenOptions:
    """The options with which LLVM generates code for a call."""
    if call.algorithm.derivative or not unrolls(call, optional):
        return CodegenOptions()
    # A long matrix of which both sides are computed has as many values as several matrices.
    several = len(call.function.outputs) > 1
    return CodegenOptions(high_pressure=several or (len(ir) > LONG and not call.algorithm.symmetric))


def _require_memory(call: Call, scratch: int) -> None:
    """Raise if the scratch memory of loops would take more than half of this machine's memory."""
    if hasattr(os, "sysconf") and scratch > 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
        others = [a for a in algorithms(call.function.name) if a.name != call.algorithm.name]
        remedy = 'use algorithm "auto"'
        if all(a.refusal(call.robot) for a in others):
            remedy = "no other algorithm covers it; take a shorter robot"
        raise PhalanxError(
            f'{call.function.name}: algorithm "{call.algorithm.name}" keeps a matrix over the bodies of '
            f'robot "{call.robot.name}" ({call.robot.model.n} bodies): {scratch / 1e9:.1f} GB for each '
            f"thread, more than half of the memory of this machine; {remedy}."
        )


def module_text(
    block: str,
    declarations: set[str],
    shapes: Sequence[tuple[int, ...]],
    element: str,
    target: Target,
    scratch: int = 0,
    rows: int = 0,
    alone: str = "@block",
    *,
    outputs: int = 1,
    uniforms: bool = False,
) -> str:
    """The module with the block, the ufunc loop `@loop` around it, and `@single` for one state.

    `shapes` are the core shapes of the inputs, then of the `outputs`. A block that needs `scratch` bytes
    gets their address as its last argument, aligned to 64. It computes `rows` states, by default as many
    as there are lanes. A single state goes to the function `alone`. With `uniforms` the loop passes its
    last argument, the address of numbers that all states share, on to the block.
    """
    size = 8 if element == "double" else 4
    save, restore, needs = floating_point_status(target)
    parts = [block, runtime_text("sincos.ll", element), runtime_text("kernel.ll", element)]
    if _is_pooled(scratch):
        parts.append(runtime_text("pool.ll", element))
    more_of_all = ", ptr %uniforms" if uniforms else ""
    lanes = rows or target.lanes(size)
    parts += [_loop(shapes, outputs, size, lanes, scratch, alone, save, restore, more_of_all), *needs]
    parts += [_single(shapes, outputs, scratch, alone, size, more_of_all), *sorted(declarations)]
    parts += ["declare ptr @malloc(i64)", "declare void @free(ptr)"]
    parts.append(f"@nothing = internal constant {element} 0x7FF8000000000000")
    return "\n".join([*parts, *attributes(element, target)])


def attributes(element: str, target: Target) -> list[str]:
    """The declarations, attributes and metadata that end every module."""
    suffix = "" if element == "double" else "f"
    width = f'"prefer-vector-width"="{target.bits}" "min-legal-vector-width"="{target.bits}"'
    return [
        f"declare {element} @sin{suffix}({element})",
        f"declare {element} @cos{suffix}({element})",
        f"attributes #0 = {{ nounwind {width} }}",
        '!0 = !{!"branch_weights", i32 1, i32 1000000}',
    ]


def runtime_text(name: str, element: str) -> str:
    """The LLVM IR of a file of `runtime/` in the precision of `element`."""
    ir = Path(__file__).with_name("runtime").joinpath(name).read_text(encoding="utf-8")
    return Template(ir).safe_substitute(element=element, suffix="" if element == "double" else "f")


def floating_point_status(target: Target) -> tuple[str, str, list[str]]:
    """LLVM IR that saves the floating-point status, IR that restores it, and declarations for both.

    A NaN in a state belongs to that state; NumPy would warn about the flags it leaves.
    """
    if target.triple.startswith(("x86_64", "amd64")):
        names = ("@llvm.x86.sse.stmxcsr", "@llvm.x86.sse.ldmxcsr")
        save = f"%status = alloca i32\n  call void {names[0]}(ptr %status)"
        return save, f"call void {names[1]}(ptr %status)", [f"declare void {n}(ptr)" for n in names]
    if target.triple.startswith(("aarch64", "arm64")):
        get, put = "@llvm.aarch64.get.fpsr", "@llvm.aarch64.set.fpsr"
        needs = [f"declare i64 {get}()", f"declare void {put}(i64)"]
        return f"%status = call i64 {get}()", f"call void {put}(i64 %status)", needs
    return "", "", []


def loop_over_blocks(
    block: str, rows: int, strides: Sequence[int | str], more: str, last: str, *, less: str
) -> str:
    """The loop over blocks of `rows` states, in LLVM IR: from the label %entry to the label %end.

    %count states lie in the arrays %b0, %b1, …, `strides` bytes apart. `more` are further arguments of the
    function `block`, and `last` computes the index of the last state of a block, if it is an argument, too.
    """
    lines = ["blocks:", "%i = phi i64 [ 0, %entry ], [ %next, %blocks ]"]
    for k, stride in enumerate(strides):
        lines.append(f"%m{k} = mul i64 %i, {stride}")
        lines.append(f"%w{k} = getelementptr i8, ptr %b{k}, i64 %m{k}")
    arguments = ", ".join(f"ptr %w{k}, i64 {stride}" for k, stride in enumerate(strides)) + more
    lines += [*last.splitlines(), f"call void @{block}({arguments}{', i64 %last' * bool(last)})"]
    lines += [f"%next = add i64 %i, {rows}", f"%again = icmp {less} i64 %next, %count"]
    return "\n  ".join([*lines, "br i1 %again, label %blocks, label %end"])


def _three(shape: tuple[int, ...]) -> tuple[int, int, int]:
    n1, n2, n3 = (1,) * (3 - len(shape)) + shape
    return n1, n2, n3


def _loop(
    shapes: Sequence[tuple[int, ...]],
    outputs: int,
    size: int,
    lanes: int,
    scratch: int,
    alone: str,
    save: str,
    restore: str,
    uniforms: str,
) -> str:
    """`loop(args, dimensions, steps, uniforms)`, the inner loop of a generalized ufunc."""
    n = len(shapes)
    lines: list[str] = []
    stride_index = n  # core strides follow the outer strides of all operands
    contiguous = "true"
    for k, shape in enumerate(shapes):
        lines.append(f"%a{k} = getelementptr ptr, ptr %args, i64 {k}")
        lines.append(f"%b{k} = load ptr, ptr %a{k}")
        lines.append(f"%o{k}p = getelementptr i64, ptr %steps, i64 {k}")
        lines.append(f"%o{k} = load i64, ptr %o{k}p")
        names = []
        for axis in range(len(shape)):
            lines.append(f"%c{k}_{axis}p = getelementptr i64, ptr %steps, i64 {stride_index}")
            lines.append(f"%c{k}_{axis} = load i64, ptr %c{k}_{axis}p")
            natural = size * prod(shape[axis + 1 :])
            # The stride of an axis of length one is arbitrary.
            test = f"icmp eq i64 %c{k}_{axis}, {natural}" if shape[axis] > 1 else "icmp eq i64 0, 0"
            lines.append(f"%e{k}_{axis} = {test}")
            lines.append(f"%f{k}_{axis} = and i1 {contiguous}, %e{k}_{axis}")
            contiguous = f"%f{k}_{axis}"
            names.append(f"%c{k}_{axis}")
            stride_index += 1
    head = "\n  ".join(lines)
    strides = [["0"] * (3 - len(s)) + [f"%c{k}_{a}" for a in range(len(s))] for k, s in enumerate(shapes)]
    rows: list[int] = []
    gather, scatter = [], []
    for k, shape in enumerate(shapes):
        n1, n2, n3 = _three(shape)
        row = size * prod(shape)
        rows.append(-(-row * lanes // 64) * 64)
        own = f"i64 {row}, i64 {size * n2 * n3}, i64 {size * n3}, i64 {size}"
        user = f"i64 %o{k}, " + ", ".join(f"i64 {s}" for s in strides[k])
        counts = f"i64 {n1}, i64 {n2}, i64 {n3}"
        at = f"%g{k}"
        if k < n - outputs:
            gather.append(f"%go{k} = mul i64 %i2, %o{k}")
            gather.append(f"{at} = getelementptr i8, ptr %b{k}, i64 %go{k}")
            gather.append(
                f"call void @copy(ptr %buf{k}, {own}, ptr {at}, {user}, i64 {lanes}, i64 %take, {counts})"
            )
        else:
            scatter.append(f"%go{k} = mul i64 %i2, %o{k}")
            scatter.append(f"{at} = getelementptr i8, ptr %b{k}, i64 %go{k}")
            scatter.append(
                f"call void @copy(ptr {at}, {user}, ptr %buf{k}, {own}, i64 %take, i64 %take, {counts})"
            )
    on_stack = sum(rows) <= _STACK
    get, give, put = _scratch(
        scratch,
        0 if on_stack else sum(rows),
        _filled_with_nan(shapes, outputs, size, "%count", "%o", "%c", "%b"),
    )
    buffers = [
        f"%buf{k} = alloca [{r} x i8], align 64"
        if on_stack
        else f"%buf{k} = getelementptr i8, ptr %scratch, i64 {scratch + sum(rows[:k])}"
        for k, r in enumerate(rows)
    ]
    give = uniforms + (give if scratch else "")
    in_place = ", ".join(f"ptr %w{k}, i64 %o{k}" for k in range(n)) + give
    single = ", ".join(f"ptr %x{k}, i64 0" for k in range(n)) + give
    buffered = ", ".join(f"ptr %buf{k}, i64 {size * prod(s)}" for k, s in enumerate(shapes)) + give
    moves = "\n  ".join(
        f"%m{k} = mul i64 %i, %o{k}\n  %w{k} = getelementptr i8, ptr %b{k}, i64 %m{k}" for k in range(n)
    )
    moves1 = "\n  ".join(
        f"%n{k} = mul i64 %i2, %o{k}\n  %x{k} = getelementptr i8, ptr %b{k}, i64 %n{k}" for k in range(n)
    )
    newline = "\n  "
    return f"""
define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %uniforms) #0 {{
entry:
  {save}
  %count = load i64, ptr %dims
  {head}
  {get}
  br label %begin
begin:
  {newline.join(buffers)}
  %full = sdiv i64 %count, {lanes}
  %whole = mul i64 %full, {lanes}
  %some = icmp sgt i64 %whole, 0
  %straight = and i1 {contiguous}, %some
  br i1 %straight, label %blocks, label %rest0
blocks:
  %i = phi i64 [ 0, %begin ], [ %i1, %blocks ]
  {moves}
  call void @block({in_place})
  %i1 = add i64 %i, {lanes}
  %more = icmp slt i64 %i1, %whole
  br i1 %more, label %blocks, label %rest0
rest0:
  %start = phi i64 [ 0, %begin ], [ %whole, %blocks ]
  %any = icmp slt i64 %start, %count
  br i1 %any, label %rest, label %end
rest:
  %i2 = phi i64 [ %start, %rest0 ], [ %i3, %rest_end ]
  %left = sub i64 %count, %i2
  %short = icmp slt i64 %left, {lanes}
  %take = select i1 %short, i64 %left, i64 {lanes}
  %one = icmp eq i64 %take, 1
  %single = and i1 %one, {contiguous}
  br i1 %single, label %alone, label %through
alone:
  {moves1}
  call void {alone}({single})
  br label %rest_end
through:
  {newline.join(gather)}
  call void @block({buffered})
  {newline.join(scatter)}
  br label %rest_end
rest_end:
  %i3 = add i64 %i2, {lanes}
  %again = icmp slt i64 %i3, %count
  br i1 %again, label %rest, label %end
end:
  {put}
  {restore}
  ret void
}}"""


def _scratch(size: int, more: int, failed: str) -> tuple[str, str, str]:
    """LLVM IR that allocates a block's scratch memory and buffers, passes it to a block, and frees it.

    If allocation fails, `failed` runs instead: it fills the output with NaN.
    """
    if not size + more:
        return "", "", ""
    take, give = ("@take", "@give") if _is_pooled(size) else ("@malloc", "@free")
    get = f"""%memory = call ptr {take}(i64 {size + more + (_HEAD if _is_pooled(size) else 0) + 64})
  %empty = icmp eq ptr %memory, null
  br i1 %empty, label %out_of_memory, label %allocated
out_of_memory:
  {failed}
  ret void
allocated:
  %address = ptrtoint ptr %memory to i64
  %above = add i64 %address, {_HEAD + 63 if _is_pooled(size) else 63}
  %aligned = and i64 %above, -64
  %scratch = inttoptr i64 %aligned to ptr"""
    return get, ", ptr %scratch", f"call void {give}(ptr %memory)"


def _is_pooled(scratch: int) -> bool:
    """Whether a kernel's scratch memory, in bytes, is large enough to come from the pool."""
    return scratch > _LARGE


def _filled_with_nan(
    shapes: Sequence[tuple[int, ...]],
    outputs: int,
    size: int,
    count: str,
    outer: str,
    inner: str,
    base: str,
) -> str:
    """LLVM IR that fills all outputs with NaN."""
    lines = []
    for k in range(len(shapes) - outputs, len(shapes)):
        n1, n2, n3 = _three(shapes[k])
        if inner:
            axes = len(shapes[k])
            strides = ["0"] * (3 - axes) + [f"{inner}{k}_{a}" for a in range(axes)]
            first = f"{outer}{k}"
        else:
            strides, first = [str(size * n2 * n3), str(size * n3), str(size)], "0"
        to = f"ptr {base}{k}, i64 {first}, " + ", ".join(f"i64 {s}" for s in strides)
        sizes = f"i64 {count}, i64 1, i64 {n1}, i64 {n2}, i64 {n3}"
        lines.append(f"call void @copy({to}, ptr @nothing, i64 0, i64 0, i64 0, i64 0, {sizes})")
    return "\n  ".join(lines)


def _single(
    shapes: Sequence[tuple[int, ...]], outputs: int, scratch: int, alone: str, size: int, uniforms: str
) -> str:
    """`single(args, uniforms)`: one state in contiguous arrays."""
    n = len(shapes)
    loads = [
        f"%a{k} = getelementptr ptr, ptr %args, i64 {k}\n  %p{k} = load ptr, ptr %a{k}" for k in range(n)
    ]
    get, give, put = _scratch(scratch, 0, _filled_with_nan(shapes, outputs, size, "1", "", "", "%p"))
    call = ", ".join(f"ptr %p{k}, i64 0" for k in range(n)) + uniforms + give
    lines = [*loads, get, f"call void {alone}({call})", put, "ret void"]
    body = "\n  ".join(line for line in lines if line)
    return f"define void @single(ptr %args, ptr %uniforms) #0 {{\n  {body}\n}}"
