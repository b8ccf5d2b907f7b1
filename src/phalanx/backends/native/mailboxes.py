# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Workers in machine code that exchange messages through mailboxes in memory that all of them see.

A worker is a list of steps: receive a message, compute a segment, send a message. A segment is a
straight-line program that reads inputs and mailboxes and writes outputs and mailboxes; values for
later segments of the same worker are in local memory. `runtime/mailboxes.ll` runs the steps, block by block
of states.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import Template
from threading import Thread
from typing import Any

import numpy as np

from ...errors import PhalanxError
from ...program.ir import Buffer, Program, Table, checked
from . import availability, compile, objects
from .compile import Target
from .emit.codegen import Module, Text
from .emit.writer import MemoryLayout
from .loop import attributes, runtime_text

KINDS = ("receive", "compute", "send")
_SIZE, _LINE = 8, 64
_FIELDS = 20  # of a worker in `runtime/mailboxes.ll`
_HEAD = 2  # times in front of those of the steps: begin, end
# Polls of a word before the core is yielded: some microseconds where every worker has a core of its own.
_PATIENT, _POLITE, _FEW = 2000, 20, 4


def target_of(lanes: int) -> Target:
    """This machine with vectors of `lanes` states."""
    return replace(compile.host(), bits=8 * _SIZE * lanes)


def widest() -> int:
    """The number of states in the widest registers of this machine."""
    availability.require()
    return compile.host().lanes(_SIZE)


class _SegmentText(Text):
    """Writes the LLVM IR of a segment: the buffer `mail` is an argument of its own."""

    def _start(self, buffer: Buffer | Table) -> str:
        return "%mail" if buffer.name == "mail" else super()._start(buffer)


def workers_ir(workers: Sequence[Sequence[Program]], lanes: int) -> str:
    """LLVM IR of all segments of all workers, and of the function `work` that runs their steps."""
    target, module = target_of(lanes), Module("double")
    for p, segments in enumerate(workers):
        for k, program in enumerate(segments):
            _add_segment(module, program, target, f"segment_{p}_{k}", lanes)
    pause, declarations = objects.pausing(target)
    words = {
        "pause": pause,
        "few": _FEW,
        "declarations": "\n".join(declarations),
        "clock": objects.CLOCK.format(number=time.CLOCK_MONOTONIC),
    }
    runner = Template(runtime_text("mailboxes.ll", "double")).substitute(words)
    parts = [module.text, runtime_text("sincos.ll", "double"), runner, *sorted(module.used)]
    return "\n".join([*parts, *attributes("double", target)])


def _add_segment(module: Module, program: Program, target: Target, name: str, lanes: int) -> None:
    """Append the function `name(rows, state, locals, mail)`; `rows` are addresses of inputs and outputs."""
    frame = MemoryLayout(module, checked(program), lanes, name)
    w = _SegmentText(frame, target.fma, 1)
    for buffer, k in frame.pointers.items():
        row = _SIZE * buffer.size
        w.prologue += [
            f"%b{k}p = getelementptr ptr, ptr %rows, i64 {k}",
            f"%b{k} = load ptr, ptr %b{k}p",
            f"%o{k} = mul i64 %state, {row}",
            f"%p{k} = getelementptr i8, ptr %b{k}, i64 %o{k}",
            f"%s{k} = add i64 0, {row}",
        ]
    w.body(program.body)
    head = f"define void @{name}(ptr %rows, i64 %state, ptr %scratch, ptr %mail) noinline #0 {{"
    module.texts.append(f"{head}\n  {w.text}\n  ret void\n}}\n")


def load_workers(ir: str, segments: Sequence[int]) -> compile.Loaded:
    """The machine code of workers, read from disk or compiled now; `segments` counts those of each worker."""
    symbols = objects.posix()
    if not symbols:
        raise PhalanxError("run: workers need a POSIX system (sched_yield, clock_gettime).")
    names = ["work", *(f"segment_{p}_{k}" for p, count in enumerate(segments) for k in range(count))]
    loaded, _ = compile.cached_or_made(
        ("schedule", ir), lambda: (ir, compile.CodegenOptions()), names, symbols
    )
    return loaded


@dataclass(frozen=True)
class WorkerSteps:
    """The steps of a worker, kind and number of message or segment each, and its local values."""

    steps: tuple[tuple[str, int], ...]
    locals: int


@dataclass(frozen=True)
class SharedLayout:
    """Layout of the shared memory of a run: its inputs, outputs, mailboxes and times."""

    rows: tuple[int, ...]  # numbers of a state in each input, then in each output
    inputs: int  # how many of these are inputs
    workers: tuple[WorkerSteps, ...]
    messages: int
    words: int  # of a mailbox
    lanes: int
    vectors: int  # in a block
    blocks: int
    ring: int

    @property
    def states(self) -> int:
        """Number of states, including the padding of the last block."""
        return self.blocks * self.vectors * self.lanes

    @property
    def offsets(self) -> dict[str, int]:
        """The offset in bytes of each area, and of the `end`."""
        sizes = {"control": _LINE * (2 + len(self.workers))}
        sizes["words"] = self.ring * self.messages * _LINE
        sizes["mail"] = self.ring * self.vectors * self.words * self.lanes * _SIZE
        for k, row in enumerate(self.rows):
            sizes[f"row{k}"] = self.states * row * _SIZE
        for p in range(len(self.workers)):
            sizes[f"times{p}"] = self.moments(p) * 8
        found, at = {}, 0
        for name, size in sizes.items():
            found[name] = at
            at += -(-size // _LINE) * _LINE
        return found | {"end": at}

    def array(self, memory: Any, name: str, shape: tuple[int, ...], kind: Any = np.float64) -> np.ndarray:
        """An area as an array."""
        return np.ndarray(shape, kind, memory, self.offsets[name])

    def row(self, memory: Any, k: int) -> np.ndarray:
        """An input or output of all states."""
        return self.array(memory, f"row{k}", (self.states, self.rows[k]))

    def times(self, memory: Any, p: int) -> np.ndarray:
        """Nanoseconds: begin and end of a worker, then begin and end of each step in the last block."""
        return self.array(memory, f"times{p}", (self.moments(p),), np.int64)

    def moments(self, p: int) -> int:
        """The number of timestamps that a worker records."""
        return _HEAD + 2 * len(self.workers[p].steps)

    def give_up(self, memory: Any) -> None:
        """Make every worker that waits for a message return."""
        self.array(memory, "control", (1,), np.int64)[0] = 1


class Worker:
    """One worker of a run in this process; `memory` begins at an address that is a multiple of 64."""

    def __init__(self, loaded: compile.Loaded, layout: SharedLayout, number: int, memory: Any) -> None:
        own, at = layout.workers[number], layout.offsets
        base = np.ndarray((1,), np.uint8, memory).ctypes.data
        self.layout, self.number, self.memory = layout, number, memory
        self.loaded, self.addresses = loaded, loaded.addresses
        width = layout.lanes * _SIZE
        size = max(own.locals * width * layout.vectors * layout.ring, 1) + _LINE
        self._locals = np.zeros(size, np.uint8)
        local = -(-self._locals.ctypes.data // _LINE) * _LINE
        self._rows = np.array([base + at[f"row{k}"] for k in range(len(layout.rows))], np.int64)
        steps = [
            (KINDS.index(kind), k, self.addresses[f"segment_{number}_{k}"] if kind == "compute" else 0)
            for kind, k in own.steps
        ]
        self._steps = np.array(steps or [(0, 0, 0)], np.int64)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        spins = _PATIENT if cores >= len(layout.workers) else _POLITE
        fields = [self._steps.ctypes.data, len(own.steps), self._rows.ctypes.data, local]
        fields += [base + at["mail"], base + at["words"], base + at["control"], layout.blocks, layout.vectors]
        fields += [layout.lanes, own.locals * width, layout.words * width, layout.ring, number]
        fields += [len(layout.workers), spins, base + at[f"times{number}"], 0, layout.messages]
        self._positions = np.zeros(layout.ring, np.int64)
        fields.append(self._positions.ctypes.data)
        assert len(fields) == _FIELDS
        self.fields = np.array(fields, np.int64)
        self._work = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.addresses["work"])

    def run(self, repeat: int = 0) -> bool:
        """Compute all blocks, for the `repeat`-th time; False if the run was given up."""
        self.fields[17] = repeat * self.layout.blocks
        return bool(self._work(self.fields.ctypes.data) == 0)

    def compute(self, segment: int, block: int) -> None:
        """Compute one segment for one block, where the caller transfers the messages."""
        layout, f = self.layout, self.fields
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        call = kind(self.addresses[f"segment_{self.number}_{segment}"])
        for v in range(layout.vectors):
            state = (block * layout.vectors + v) * layout.lanes
            call(int(f[2]), state, int(f[3] + v * f[10]), int(f[4] + v * f[11]))


def aligned_memory(size: int) -> np.ndarray:
    """Zeroed memory of this process, aligned to a cache line."""
    raw = np.zeros(size + _LINE, np.uint8)
    first = -raw.ctypes.data % _LINE
    return raw[first : first + size]


def round_trip(turns: int = 64, repeats: int = 9) -> float:
    """Seconds of a message from one core to another and back, the least of some repeats.

    Two workers in machine code pass a message to and fro. On a busy machine both may share a core for a
    while, hence the least.
    """
    back_and_forth = [[(("send", "receive")[(k + p) % 2], k) for k in range(2 * turns)] for p in range(2)]
    workers = tuple(WorkerSteps(tuple(steps), 0) for steps in back_and_forth)
    layout = SharedLayout((), 0, workers, 2 * turns, 1, 1, 1, 8, 1)  # one block at a time
    loaded, memory = load_workers(workers_ir([[], []], 1), (0, 0)), aligned_memory(layout.offsets["end"])
    pair = [Worker(loaded, layout, p, memory) for p in range(2)]
    least = np.inf
    for repeat in range(repeats):
        threads = [Thread(target=w.run, args=(repeat,), daemon=True) for w in pair]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        begin = max(int(layout.times(memory, p)[0]) for p in range(2))
        end = max(int(layout.times(memory, p)[1]) for p in range(2))
        least = min(least, (end - begin) * 1e-9)
    return float(least) / (turns * layout.blocks)
