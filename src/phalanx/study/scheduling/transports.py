# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Workers of a run outside of this process: processes with shared memory, and the ranks of an MPI job."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO

import numpy as np

from ...backends.native import mailboxes
from ...backends.native.mailboxes import SharedLayout, Worker
from ...errors import PhalanxError
from ...ranks import Ranks, ranks
from .schedule_run import Measured, RunJob, fastest, outputs_of

_NAME = "phalanx-run"  # of shared memory, then the process that made it
_FOLDER = Path("/dev/shm")
_PATIENCE = 10.0  # seconds for the last words of a process
_RUN = "run"
_LOOK = 0.005  # seconds between looks at processes
_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from phalanx.study.scheduling.transports import serve; serve(sys.stdin.buffer, sys.stdout.buffer)"
)

# ------------------------------------------------------------------- processes


def on_processes(job: RunJob) -> Measured:
    """A process for each worker, with inputs, outputs and mailboxes in memory that all of them share."""
    remove_leftovers()
    layout = job.layout
    mailboxes.load_workers(job.compiled.ir, job.compiled.segments)  # compiled once; processes find it on disk
    name = f"{_NAME}-{os.getpid()}-{token_hex(4)}"
    memory = shared_memory.SharedMemory(name, create=True, size=layout.offsets["end"])
    children: list[_Child] = []
    try:
        job.fill(memory.buf)
        for p, label in enumerate(job.names):
            children.append(_Child(label))
            children[p].send(sys.path)
            children[p].send((layout, job.compiled.ir, job.compiled.segments, p, name, job.repeats))
        _wait(children, lambda c: c.is_ready.is_set(), layout, memory.buf)
        for child in children:
            child.go()
        _wait(children, lambda c: c.process.poll() is not None, layout, memory.buf)
        times = [child.result() for child in children]
        return outputs_of(layout, memory.buf), fastest(times)
    finally:
        for child in children:
            child.end()
        memory.close()
        memory.unlink()


def remove_leftovers() -> list[str]:
    """Remove shared memory of runs whose process is no more, as after a kill; the names that were removed."""
    removed = []
    for file in _FOLDER.glob(f"{_NAME}-*") if _FOLDER.is_dir() else ():
        owner = file.name.removeprefix(f"{_NAME}-").split("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            file.unlink(missing_ok=True)
            removed.append(file.name)
    return removed


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


class _Child:
    """The process of a worker, seen from outside."""

    def __init__(self, label: str) -> None:
        self.label = label
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([sys.executable, "-c", _START], stdin=pipe, stdout=pipe)
        self.is_ready = threading.Event()
        self._answer = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        if self.process.stdout.read(1) == _READY:
            self.is_ready.set()
            self._answer = self.process.stdout.read()

    def send(self, content: Any) -> None:
        self._write(pickle.dumps(content))

    def go(self) -> None:
        """Signal the worker to start."""
        self._write(_GO)

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it died, and who waits for it says so
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def result(self) -> list[np.ndarray]:
        """Its times in all repeats."""
        self._reader.join(_PATIENCE)
        times: list[np.ndarray] = pickle.loads(self._answer)
        return times

    def end(self) -> None:
        """Kill it if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(_PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()


def _wait(children: list[_Child], is_so: Callable[[_Child], bool], layout: SharedLayout, memory: Any) -> None:
    """Wait until `is_so` holds for all children; if one dies, the others give up and an error names it."""
    while True:
        for child in children:
            if status := child.process.poll():
                layout.give_up(memory)
                how = f"by signal {-status}" if status < 0 else f"with status {status}"
                raise PhalanxError(f"run: worker {child.label} died {how}; its process is no more.")
        if all(map(is_so, children)):
            return
        time.sleep(_LOOK)


_READY, _GO = b"r", b"g"


def serve(source: BinaryIO, answers: BinaryIO) -> None:
    """The life of a worker in a process of its own."""
    layout, ir, segments, number, name, repeats = pickle.load(source)
    # Who made the memory removes it; a second tracker would do so as soon as this process ends.
    resource_tracker.register = lambda name, rtype: None
    memory = shared_memory.SharedMemory(name)
    worker = Worker(mailboxes.load_workers(ir, segments), layout, number, memory.buf)
    answers.write(_READY)
    answers.flush()
    if source.read(1) != _GO:
        os._exit(1)
    threading.Thread(target=_until_alone, args=(source, layout, memory), daemon=True).start()
    times = []
    for repeat in range(repeats):
        if not worker.run(repeat):
            os._exit(1)
        times.append(layout.times(memory.buf, number).copy())
    answers.write(pickle.dumps(times))
    answers.flush()
    os._exit(0)


def _until_alone(source: BinaryIO, layout: SharedLayout, memory: Any) -> None:
    """Give up when the process that started this one is no more: its end of the pipe closes."""
    source.read(1)
    layout.give_up(memory.buf)
    os._exit(1)


# ------------------------------------------------------------------- MPI


def on_mpi(job: RunJob) -> Measured:
    """A rank for each worker; every rank has the inputs and gets the result."""
    world, layout = ranks(None, _RUN), job.layout
    count = len(layout.workers)
    if world.size < count:
        raise PhalanxError(
            f"run: {count} workers need {count} ranks, and this job has {world.size}; start it with "
            f"mpiexec -n {count} python …"
        )
    memory = mailboxes.aligned_memory(layout.offsets["end"])
    job.fill(memory)
    loaded = mailboxes.load_workers(job.compiled.ir, job.compiled.segments)
    times: list[np.ndarray] = []
    for _ in range(job.repeats):
        world.wait(world.comm.Ibarrier(), _RUN, "the start of all ranks")
        if world.rank < count:
            times.append(_Rank(job, Worker(loaded, layout, world.rank, memory), world).run())
    every = list(map(pickle.loads, world.gather_bytes(pickle.dumps(times), _RUN, "the times of all ranks")))
    outputs = []
    for k in range(layout.inputs, len(layout.rows)):
        own = layout.row(memory, k)
        total = np.empty_like(own)
        request = world.comm.Iallreduce(own, total)  # entries of others are zero
        world.wait(request, _RUN, "the results of all ranks")
        outputs.append(total)
    return outputs, fastest(every[:count])


class _Rank:
    """The worker of one rank; messages go from mailbox to mailbox through MPI."""

    def __init__(self, job: RunJob, worker: Worker, world: Ranks) -> None:
        plan, layout = job.compiled.plan, job.layout
        self.worker, self.world, self.layout, self.names = worker, world, layout, job.names
        self.messages = plan.messages
        self.rank_of = {w.processor: k for k, w in enumerate(plan.workers)}
        shape = (layout.vectors, layout.words, layout.lanes)
        self.mail = layout.array(worker.memory, "mail", shape)

    def run(self) -> np.ndarray:
        """All blocks; nanoseconds from the begin of this rank, whose clock others need not share."""
        begun = time.perf_counter_ns()
        steps = self.layout.workers[self.worker.number].steps
        times = np.zeros(self.layout.moments(self.worker.number), np.int64)
        for block in range(self.layout.blocks):
            sent = []
            for k, (kind, number) in enumerate(steps):
                times[2 + 2 * k] = time.perf_counter_ns() - begun
                if kind == "compute":
                    self.worker.compute(number, block)
                elif kind == "send":
                    m = self.messages[number]
                    content = np.ascontiguousarray(self.mail[:, m.offset : m.offset + len(m.content)])
                    sent.append((content, self.world.comm.Isend(content, self.rank_of[m.receiver], number)))
                else:
                    self._receive(number)
                times[3 + 2 * k] = time.perf_counter_ns() - begun
            for _, request in sent:
                self.world.wait(request, _RUN, "the receipt of a message")
        times[1] = time.perf_counter_ns() - begun
        return times

    def _receive(self, number: int) -> None:
        m = self.messages[number]
        source = self.rank_of[m.sender]
        content = np.empty((self.layout.vectors, len(m.content), self.layout.lanes))
        request = self.world.comm.Irecv(content, source, number)
        self.world.wait(request, _RUN, f"a message of {self.names[source]}")
        self.mail[:, m.offset : m.offset + len(m.content)] = content
