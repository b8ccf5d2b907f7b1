# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""A systolic machine at work: sets of inputs enter at a steady interval, results leave at the other end.

A processor takes its operands from first-in first-out buffers, one for each result or input that it needs,
and its own result goes into those of its successors. What a buffer holds is all that a processor sees: a set
that overtakes another, or a buffer that is empty, is an error. Lathrop 1985, section 7 and Figs. 2 to 4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import PhalanxError, shown
from ...program.ir import Load, Scalar
from ...program.ops import OPS
from ..plotting import require_drawable
from .tasks import TaskCode

if TYPE_CHECKING:
    from .list_scheduler import SystolicSchedule

_INPUTS = -1  # the source of buffers that hold inputs
KINDS = ("input", "intermediate", "internode", "turn-around")


@dataclass(frozen=True)
class BufferUse:
    """A buffer in front of a processor: which result it holds, and the most sets that waited in it at once.

    `kind` says what it is for: "input", "intermediate" (of the same link and direction), "internode" (of a
    neighbour) or "turn-around" (from the outward to the inward recursion). `words` are numbers of a set.
    """

    source: str
    target: str
    kind: str
    sets: int
    words: int


@dataclass(frozen=True, eq=False)
class SystolicRun:
    """What left a systolic machine and when, and what its buffers held.

    `results` has one array for each output, a row for each set. `left` are the times at which each set was
    complete, `entered` those at which it came in.
    """

    schedule: SystolicSchedule
    interval: float
    results: dict[str, np.ndarray]
    entered: tuple[float, ...]
    left: tuple[float, ...]
    buffers: tuple[BufferUse, ...]
    ready: dict[str, float] = field(repr=False)

    @property
    def result(self) -> np.ndarray:
        """The only output."""
        (found,) = self.results.values()
        return found

    @property
    def latency(self) -> float:
        """The time from the inputs of a set to its results."""
        return self.left[0] - self.entered[0]

    @cached_property
    def words(self) -> dict[str, int]:
        """Numbers that buffers of each kind have to hold, beside the registers of the processors."""
        found = dict.fromkeys(KINDS, 0)
        for b in self.buffers:
            found[b.kind] += b.sets * b.words
        return found

    def plot(self, path: Any) -> Path:
        """Draw the first sets on their way through the machine, and its buffers (.png, .svg, .pdf)."""
        from ..charts.sets import draw_sets

        file = require_drawable(path)
        draw_sets(self, file)
        return file


def simulate(schedule: SystolicSchedule, inputs: Sequence[Any], interval: float | None = None) -> SystolicRun:
    """`SystolicSchedule.simulate`."""
    if schedule.graph.code is None:
        raise PhalanxError(
            f"simulate: the tasks of {schedule.graph.title or 'this schedule'} are counted, not computed."
        )
    code = schedule.graph.code()
    sets, batch = _sets(code, inputs)
    every = schedule.interval if interval is None else _interval(interval)
    if len(sets) > 1 and (busy := schedule.conflicts(every)):
        raise PhalanxError(
            f"simulate: at an interval of {every:g} processor {schedule.processors[busy[0]]!r} would be "
            f"needed twice at a time; the shortest interval is {schedule.interval:g}."
        )
    return _Machine(schedule, code, every).run(sets, batch)


def _interval(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < 1e12:
        raise PhalanxError(f"simulate: interval is {shown(value)}, expected a time above 0.")
    return float(value)


def _sets(code: TaskCode, inputs: Sequence[Any]) -> tuple[list[dict[str, np.ndarray]], tuple[int, ...]]:
    """The inputs of each set, and the shape of the batch."""
    names = list(code.inputs)
    if len(inputs) > len(names) or not inputs:
        raise PhalanxError(f"simulate: got {len(inputs)} arrays, expected {', '.join(names)}.")
    # What general equations have besides (a moving base, a wrench at the tip) is at rest unless given.
    given = [*inputs, *(np.zeros(code.shapes[name]) for name in names[len(inputs) :])]
    try:
        arrays = [np.asarray(x, dtype=np.float64) for x in given]
        batch = np.broadcast_shapes(
            *(x.shape[: x.ndim - len(code.shapes[n])] for x, n in zip(arrays, names, strict=True))
        )
        rows = [
            np.broadcast_to(x, (*batch, *code.shapes[n])).reshape(-1, code.inputs[n])
            for x, n in zip(arrays, names, strict=True)
        ]
    except (ValueError, TypeError):
        wanted = ", ".join(f"{n} (…, {', '.join(map(str, code.shapes[n]))})" for n in names[: len(inputs)])
        raise PhalanxError(f"simulate: the arrays do not have the shapes {wanted}.") from None
    count = len(rows[0])
    return [{n: x[k] for n, x in zip(names, rows, strict=True)} for k in range(count)], batch


class _Machine:
    """Processors and buffers, and the operations of each task."""

    def __init__(self, schedule: SystolicSchedule, code: TaskCode, interval: float) -> None:
        self.schedule, self.code, self.interval = schedule, code, interval
        self.placed = {t.task: t for t in schedule.tasks}
        self.owner: dict[Scalar, int] = {}
        for task, values in enumerate(code.values):
            for value in values if task in self.placed else ():
                self.owner.setdefault(value, task)
        # The results of other tasks that each task reads, by task, and its inputs.
        self.reads = {task: self._reads(code.values[task], task) for task in self.placed}
        self.buffers: dict[tuple[int, int], deque[tuple[int, dict[Scalar, float]]]] = {
            (source, task): deque() for task, sources in self.reads.items() for source in sources
        }
        self.most = dict.fromkeys(self.buffers, 0)
        self.readers: dict[int, list[int]] = {}
        for source, task in self.buffers:
            self.readers.setdefault(source, []).append(task)

    def _reads(self, values: Sequence[Scalar], task: int) -> dict[int, list[Scalar]]:
        """The scalars that a task reads, by producing task; `_INPUTS` stands for the inputs."""
        found: dict[int, dict[Scalar, None]] = {}
        own, seen, stack = set(values), set(), [a for x in values for a in self._operands(x)]
        while stack:
            x = stack.pop()
            if x in own or x in seen:
                continue
            seen.add(x)
            source = self.owner.get(x)
            if source is not None and source != task:
                found.setdefault(source, {})[x] = None
            elif isinstance(x, Load) and x not in self.code.meanings:
                found.setdefault(_INPUTS, {})[x] = None
            else:
                stack += self._operands(x)
        return {source: list(values) for source, values in found.items()}

    def _operands(self, x: Any) -> list[Scalar]:
        args = [self.code.meanings[x]] if x in self.code.meanings else getattr(x, "args", ())
        return [a for a in args if isinstance(a, Scalar)]

    def run(self, sets: Sequence[dict[str, np.ndarray]], batch: tuple[int, ...]) -> SystolicRun:
        """All sets, event by event: at equal times results are handed on before the next tasks begin."""
        events: list[tuple[float, int, int, int]] = []  # time, enter/end/start, set, task
        for number in range(len(sets)):
            heappush(events, (number * self.interval, 0, number, _INPUTS))
            for t in self.schedule.tasks:
                heappush(events, (number * self.interval + t.start, 2, number, t.task))
        pending: dict[tuple[int, int], dict[Scalar, float]] = {}
        outputs: list[dict[Scalar, float]] = [{} for _ in sets]
        left = [0.0] * len(sets)
        wanted = self._wanted()
        while events:
            now, kind, number, task = heappop(events)
            if kind == 0:
                self._enter(number, sets[number])
            elif kind == 2:
                pending[number, task] = self._compute(number, task)
                heappush(events, (now + self.schedule.durations[task], 1, number, task))
            else:
                made = pending.pop((number, task))
                for reader in self.readers.get(task, ()):
                    self.buffers[task, reader].append((number, made))
                outputs[number] |= {x: v for x, v in made.items() if x in wanted}
                left[number] = max(left[number], now)
            if not events or events[0][0] > now:
                for key, buffer in self.buffers.items():
                    self.most[key] = max(self.most[key], len(buffer))
        return SystolicRun(
            self.schedule,
            self.interval,
            self._results(sets, outputs, batch),
            tuple(number * self.interval for number in range(len(sets))),
            tuple(left),
            tuple(self._uses()),
            {t.name: t.end for t in self.schedule.tasks},
        )

    def _enter(self, number: int, inputs: dict[str, np.ndarray]) -> None:
        for task in self.readers.get(_INPUTS, ()):
            leaves: list[Any] = self.reads[task][_INPUTS]
            values = {x: float(inputs[x.buffer.name][x.index]) for x in leaves}
            self.buffers[_INPUTS, task].append((number, values))

    def _compute(self, number: int, task: int) -> dict[Scalar, float]:
        """The results of a task from what its buffers hand out for this set."""
        known: dict[Scalar, float] = {}
        for source, values in self.reads[task].items():
            buffer = self.buffers[source, task]
            if not buffer or buffer[0][0] != number:
                held = f"set {buffer[0][0]}" if buffer else "nothing"
                what = "its inputs" if source == _INPUTS else self.placed[source].name
                raise PhalanxError(
                    f"simulate: {self.placed[task].name} needs set {number} of {what}, its buffer has {held}."
                )
            entry = buffer.popleft()[1]
            known |= {x: entry[x] for x in values}
        return {x: self._value(x, known) for x in self.code.values[task]}

    def _value(self, x: Any, known: dict[Scalar, float]) -> float:
        if not isinstance(x, Scalar):
            return float(x)
        if x not in known:
            if x in self.code.meanings:
                known[x] = self._value(self.code.meanings[x], known)
            else:
                known[x] = float(OPS[x.op].numpy(*(self._value(a, known) for a in x.args)))
        return known[x]

    def _wanted(self) -> set[Scalar]:
        """The results of tasks that outputs are made of."""
        found, stack = set(), [x for x in self.code.results.values() if isinstance(x, Scalar)]
        while stack:
            x = stack.pop()
            if x in self.owner:
                found.add(x)
            else:
                stack += self._operands(x)
        return found

    def _results(
        self,
        sets: Sequence[dict[str, np.ndarray]],
        outputs: Sequence[dict[Scalar, float]],
        batch: tuple[int, ...],
    ) -> dict[str, np.ndarray]:
        made = {name: np.zeros((len(sets), size)) for name, size in self.code.outputs.items()}
        leaves = [x for x in self._leaves() if x not in self.code.meanings]
        for number, (inputs, known) in enumerate(zip(sets, outputs, strict=True)):
            values = known | {x: float(inputs[x.buffer.name][x.index]) for x in leaves}
            for (name, k), x in self.code.results.items():
                made[name][number, k] = self._value(x, values)
        return {name: x.reshape(*batch, *self.code.shapes[name]) for name, x in made.items()}

    def _leaves(self) -> Iterator[Any]:
        """Inputs that results need without a task in between."""
        stack = [x for x in self.code.results.values() if isinstance(x, Scalar)]
        while stack:
            x = stack.pop()
            if isinstance(x, Load):
                yield x
            if x not in self.owner:
                stack += self._operands(x)

    def _uses(self) -> Iterator[BufferUse]:
        inward = self._inward()
        for (source, task), most in self.most.items():
            target, words = self.placed[task], len(self.reads[task][source])
            if source == _INPUTS:
                yield BufferUse("inputs", target.name, "input", most, words)
                continue
            t = self.placed[source]
            kind = "intermediate" if t.link == target.link else "internode"
            kind = "turn-around" if inward[task] and not inward[source] else kind
            yield BufferUse(t.name, target.name, kind, most, words)

    def _inward(self) -> dict[int, bool]:
        """Whether a task belongs to the inward recursion: it needs, directly or not, one of a later link."""
        found: dict[int, bool] = {}
        tasks = self.schedule.graph.tasks
        for task in sorted(self.placed):
            before = [a for a in self.reads[task] if a != _INPUTS]
            found[task] = any(found[a] or tasks[a].link > tasks[task].link >= 0 for a in before)
        return found
