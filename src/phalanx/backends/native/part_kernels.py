# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A function of one part of a chain as machine code that stops wherever messages are exchanged."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ...program.task import Call
from . import availability, cache, compile
from .compile import CodegenOptions, Target, host
from .mailboxes import aligned_memory

_SIZE = 8
_ABOUT = "about"  # the function that returns bytes of scratch memory and numbers of each message

Exchange = Callable[[int, np.ndarray], np.ndarray]  # the number of a message and what is sent: what arrives


class PartKernel:
    """The compiled part: `run` computes one state, and calls `exchange` for each message."""

    def __init__(self, call: Call, optional: Sequence[str] = ()) -> None:
        availability.require()
        self.names = tuple(optional)
        (self.output,) = call.output_sizes().values()
        parts = (call.robot.digest, "part", call.function.name, call.algorithm.name, call.options, self.names)
        names = ["steps0", "steps1", "steps2", _ABOUT]
        self._loaded, self.cached = compile.cached_or_made(
            parts, lambda: (_module(call, self.names, host()), CodegenOptions()), names
        )
        cache.check_variables()
        address = self._loaded.addresses
        about = (ctypes.c_int64 * 5)()
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address[_ABOUT])(ctypes.addressof(about))
        scratch, *sizes = about
        self._scratch = aligned_memory(scratch)
        self._received = [np.zeros(size) for size in sizes[:2]]
        self._sent = [np.zeros(size) for size in sizes[2:]]
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._steps = [kind(address[name]) for name in names[:-1]]

    def run(self, inputs: Sequence[np.ndarray], out: np.ndarray, exchange: Exchange) -> None:
        """Fill `out` from contiguous float64 arrays of just the right shapes."""
        pointers = self._pointers(inputs, out)
        for number, step in enumerate(self._steps):
            if number:
                self._received[number - 1][:] = exchange(number - 1, self._sent[number - 1])
            step(pointers.ctypes.data, self._scratch.ctypes.data)

    def first(self, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """The first message, which nothing that is received enters."""
        pointers = self._pointers(inputs, np.empty(self.output))
        self._steps[0](pointers.ctypes.data, self._scratch.ctypes.data)
        return self._sent[0]

    def _pointers(self, inputs: Sequence[np.ndarray], out: np.ndarray) -> np.ndarray:
        arrays = [*inputs, *self._received, out, *self._sent]
        return np.array([a.ctypes.data for a in arrays], np.int64)


def _module(call: Call, optional: tuple[str, ...], target: Target) -> str:
    """LLVM IR of the programs between messages, each on an array of pointers and the same scratch memory."""
    from ...program.rolled.segments.roll import roll_segments  # the compiler half
    from .emit.codegen import Module, scratch_bytes
    from .loop import attributes, runtime_text

    rolled = roll_segments(replace(call.task(optional), is_part=True))
    programs = rolled.between_messages(target.lanes(_SIZE))
    module = Module("double")
    for number, program in enumerate(programs):
        name, count = f"block{number}", len(program.inputs) + len(program.outputs)
        module.add(program, target, name)
        lines, given = [], []
        for k in range(count):
            lines += [f"%a{k} = getelementptr ptr, ptr %arrays, i64 {k}", f"%p{k} = load ptr, ptr %a{k}"]
            given.append(f"ptr %p{k}, i64 0")
        passed = ", ".join([*given, "ptr %scratch"])
        lines += [f"call void @{name}({passed})", "ret void"]
        body = "\n  ".join(lines)
        module.texts.append(f"define void @steps{number}(ptr %arrays, ptr %scratch) #0 {{\n  {body}\n}}\n")
    numbers = [scratch_bytes(programs[0], target, _SIZE), *_sizes(rolled.inputs), *_sizes(rolled.sent)]
    module.texts.append(_about(numbers))
    parts = [module.text, runtime_text("sincos.ll", "double"), runtime_text("kernel.ll", "double")]
    parts += ["declare ptr @malloc(i64)", "declare void @free(ptr)", *sorted(module.used)]
    return "\n".join([*parts, *attributes("double", target)])


def _sizes(shapes: Mapping[str, tuple[int, ...]]) -> list[int]:
    """The length of each message in numbers."""
    return [prod(shape) for name, shape in shapes.items() if name.startswith(("received", "sent"))]


def _about(numbers: Sequence[int]) -> str:
    lines = []
    for k, number in enumerate(numbers):
        lines += [f"%a{k} = getelementptr i64, ptr %out, i64 {k}", f"store i64 {number}, ptr %a{k}"]
    body = "\n  ".join([*lines, "ret void"])
    return f"define void @{_ABOUT}(ptr %out) #0 {{\n  {body}\n}}\n"
