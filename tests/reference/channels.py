# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Zomaya and Morris's processors as threads that exchange messages over channels."""

from __future__ import annotations

import queue
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from phalanx.algorithms import find, require_covered
from phalanx.errors import PhalanxError
from phalanx.robot.dh.chain import DHChain, axes, first_axis, offsets, rotations
from phalanx.robot.model import Model, identity_transform
from phalanx.robot.robot import Robot
from phalanx.spatial import Array, unpack
from phalanx.study.machines import one_of
from phalanx.study.scheduling.worker_programs import (
    JOINTS,
    MASTER,
    PROCESSORS,
    PROGRAMS,
    Compute,
    Message,
    Par,
    Receive,
    Send,
    TransputerProgram,
    Value,
    inputs_of,
    message,
)

_PATIENCE = 60.0  # seconds after which a missing message is an error


@dataclass(frozen=True)
class TransputerTask:
    """One computation: on which processor, in which phase, from which values."""

    processor: str
    phase: int
    equation: str
    inputs: tuple[Value, ...]
    output: Value
    run: Callable[..., Array]


def tasks(n: int, program: str = "repaired") -> list[TransputerTask]:
    """All computations for n joints, processor by processor in the order of their programs."""
    return [
        TransputerTask(name, phase, line.equation, inputs_of(line, i), (line.output, i), line.run)
        for name, own in PROGRAMS[program].of.items()
        for phase, i, line in own.lines(n)
        if isinstance(line, Compute)
    ]


def prepared(model: Model, q: Array, qd: Array, qdd: Array) -> dict[Value, Array]:
    """What a worker knows before phase 1: geometry, inertias, joint rates, and both ends of the chain."""
    chain: DHChain = model.dh
    z0, one, zero = first_axis(chain), identity_transform(model).E, identity_transform(model).r
    fields = {
        "A": rotations(chain, q),
        "p": offsets(chain, q),
        "Az": axes(chain),
        "zqd": z0 * qd[..., None],
        "zqdd": z0 * qdd[..., None],
        "s": chain.s,
        "m": chain.m[:, None],
        "J": unpack(chain.J),
    }
    known: dict[Value, Array] = {}
    for name, field in fields.items():
        rank = 2 if name in ("A", "J") else 1
        for i in range(chain.n):
            known[name, i + 1] = field[(..., i) + (slice(None),) * rank]
    base = {("w", 0): zero, ("wd", 0): zero, ("vd", 0): -chain.gravity}
    tip = {("A", chain.n + 1): one, ("f", chain.n + 1): zero, ("n", chain.n + 1): zero}
    return known | base | tip


class Channel:
    """One direction of a link; who sends waits until the message has been taken, unless it is `buffered`."""

    def __init__(self, sender: str, receiver: str, *, buffered: bool = False) -> None:
        self.name = f"{sender} to {receiver}"
        self.buffered = buffered
        self._messages: queue.SimpleQueue[tuple[Value, Any]] = queue.SimpleQueue()
        self._taken: queue.SimpleQueue[None] = queue.SimpleQueue()

    def offer(self, what: Value, content: Any) -> None:
        """Put a message on the channel."""
        self._messages.put((what, content))

    def wait(self) -> None:
        """Return when the message has been taken, or is in the buffer."""
        if not self.buffered:
            self._get(self._taken)

    def take(self, what: Value) -> Any:
        """The message, which has to be the expected one."""
        found, content = self._get(self._messages)
        if found != what:
            raise PhalanxError(f"channel {self.name}: got {found}, expected {what}.")
        self._taken.put(None)
        return content

    def _get(self, source: queue.SimpleQueue[Any]) -> Any:
        try:
            return source.get(timeout=_PATIENCE)
        except queue.Empty:
            raise PhalanxError(f"channel {self.name}: nothing came within {_PATIENCE:.0f} s.") from None


class Processor:
    """Runs its program on values of its own; all others come as messages."""

    def __init__(
        self, name: str, program: TransputerProgram, robot: Robot, channels: dict[tuple[str, str], Channel]
    ) -> None:
        self.name = name
        self.program = program
        self.model = robot.model
        self.channels = channels
        self.values: dict[Value, Any] = {}
        self.sent: Counter[Message] = Counter()

    def run(self) -> Processor:
        """The processor after its program."""
        for _, i, line in self.program.lines(self.model.n):
            if isinstance(line, Compute):
                self.values[line.output, i] = line.run(*(self.values[x] for x in inputs_of(line, i)))
            else:
                self._exchange(line.exchanges if isinstance(line, Par) else (line,), i)
        return self

    def _exchange(self, exchanges: tuple[Send | Receive, ...], i: int) -> None:
        """Send and receive at the same time, as unbuffered channels demand of a PAR."""
        sends = [x for x in exchanges if isinstance(x, Send)]
        for send in sends:
            self.sent[message(self.name, send, self.model.n)] += 1
            self.channels[self.name, send.receiver].offer((send.content, i), self.values[send.content, i])
        for x in exchanges:
            if isinstance(x, Receive):
                value = self.channels[x.sender, self.name].take((x.content, i))
                self.values |= (
                    prepared(self.model, *value) if x.content == JOINTS else {(x.content, i): value}
                )
        for send in sends:
            self.channels[self.name, send.receiver].wait()


def run_on_threads(
    robot: Robot, q: Any, qd: Any, qdd: Any, *, program: str = "repaired"
) -> tuple[np.ndarray, Counter[Message]]:
    """Joint forces (…, n) from a master and three workers on threads of their own, and their messages.

    `program` is one of those of `phalanx.machines.transputers`: "repaired", "delayed" or "ahead".
    """
    chosen = PROGRAMS[one_of(program, tuple(PROGRAMS), "run_on_threads: program")]
    require_covered(robot, find("inverse_dynamics", "zomaya_morris"))
    state = tuple(np.asarray(x, dtype=float) for x in (q, qd, qdd))
    if any(x.shape[-1:] != (robot.nv,) for x in state):
        shapes = ", ".join(str(x.shape) for x in state)
        raise PhalanxError(
            f"run_on_threads: q, qd, qdd have shapes {shapes}, expected (…, {robot.nv}) "
            f'for robot "{robot.name}".'
        )
    state = tuple(np.broadcast_arrays(*state))
    links = [(a, b) for a in PROCESSORS for b in PROCESSORS if a != b]
    channels = {(a, b): Channel(a, b, buffered=chosen.buffered) for a, b in links}
    processors = [Processor(name, chosen.of[name], robot, channels) for name in PROCESSORS]
    master = processors[PROCESSORS.index(MASTER)]
    master.values[JOINTS, 0] = state
    with ThreadPoolExecutor(len(processors)) as threads:
        for running in [threads.submit(p.run) for p in processors]:
            running.result()
    tau = np.concatenate([master.values["tau", i + 1] for i in range(robot.nv)], axis=-1)
    return tau + robot.armature * state[2], sum((p.sent for p in processors), Counter())
