# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The checker finds every kind of violation, each in a schedule that was valid before."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import phalanx as px
from phalanx.study.machines import Machine
from phalanx.study.schedule import place
from phalanx.study.scheduling.placement import LinkMessage, PlacedMessage, Schedule
from phalanx.study.scheduling.tasks import TaskGraph
from phalanx.study.scheduling.validity import require_valid, violations
from reference.task_graphs import machines, task, task_graphs

M = px.machines
GRAPH = TaskGraph(
    (
        task(3, reads_input=True, words=3),
        task(4, 0, words=2, reads_input=True),
        task(4, 0, words=2, reads_input=True),
        task(2, 1, 2, is_result=True),
    ),
    title="four tasks",
    input_words=5,
)


def on_pram() -> Schedule:
    return require_valid(place(GRAPH, M.pram(2)))


def on_transputers() -> Schedule:
    """Two workers; the result of task 0 and one of the next two travel."""
    s = require_valid(place(GRAPH, M.transputers(3, assignment="list", start_up=0.25, per_word=0.25)))
    assert len({t.processor for t in s.tasks}) == 2
    return s


def with_task(s: Schedule, number: int, **changes: float) -> Schedule:
    return replace(s, tasks=tuple(replace(t, **changes) if t.task == number else t for t in s.tasks))


def with_messages(keep: Callable[[PlacedMessage], bool]) -> Schedule:
    s = on_transputers()
    return replace(s, messages=tuple(filter(keep, s.messages)))


def with_message(s: Schedule, change: Callable[[PlacedMessage], PlacedMessage]) -> Schedule:
    """The first message of a task's result changed."""
    k = next(k for k, m in enumerate(s.messages) if m.task >= 0)
    return replace(s, messages=(*s.messages[:k], change(s.messages[k]), *s.messages[k + 1 :]))


def moved(m: PlacedMessage, by: float) -> PlacedMessage:
    hops = tuple(replace(h, start=h.start + by, end=h.end + by) for h in m.hops)
    return replace(m, start=m.start + by, arrival=m.arrival + by, hops=hops)


BROKEN: dict[str, tuple[Callable[[], Schedule], str]] = {
    "a task is missing": (
        lambda: replace(on_pram(), tasks=on_pram().tasks[:-1]),
        r"task 3 \(x\[0\]\) is placed 0 times",
    ),
    "a task is done twice": (
        lambda: replace(on_pram(), tasks=(*on_pram().tasks, on_pram().tasks[0])),
        r"task 0 .* is placed 2 times",
    ),
    "a task does not exist": (lambda: with_task(on_pram(), 3, task=9), "task 9 does not exist"),
    "a processor does not exist": (
        lambda: with_task(on_pram(), 0, processor=7),
        "on processor 7, which does not exist",
    ),
    "a task starts before time": (
        lambda: with_task(on_pram(), 0, start=-1.0, end=2.0),
        "starts at -1, before time 0",
    ),
    "a task takes too little time": (lambda: with_task(on_pram(), 3, end=8.0), "takes 1 instead of 2"),
    "a processor does two things at once": (
        lambda: with_task(on_pram(), 2, processor=next(t.processor for t in on_pram().tasks if t.task == 1)),
        "processor P. does tasks 1 and 2 at once",
    ),
    "a task starts before what it needs ends": (
        lambda: with_task(on_pram(), 1, start=2.0, end=6.0),
        r"task 1 .* starts at 2, before task 0 .* ends at 3",
    ),
    "a memory gets messages": (
        lambda: replace(on_pram(), messages=(PlacedMessage(0, 0, 1, 3.0, 3.0, 3, "x", ()),)),
        "needs a network, and the machine has none",
    ),
    "no message brings a result": (
        lambda: with_messages(lambda m: m.task < 0),
        "no message brings task 0",
    ),
    "a task does not wait for its message": (
        lambda: with_message(on_transputers(), lambda m: moved(m, 0.5)),
        r"before task 0 .* arrives",
    ),
    "a message leaves before its content is there": (
        lambda: with_message(on_transputers(), lambda m: moved(m, -2.0)),
        "before its content is there",
    ),
    "a message is sent by someone else": (
        lambda: with_message(
            on_transputers(), lambda m: replace(m, sender=0, hops=(replace(m.hops[0], sender=0),))
        ),
        "sent by a processor that does not have it",
    ),
    "a message is too short": (
        lambda: with_message(on_transputers(), lambda m: replace(m, words=1)),
        "carries 1 numbers of 3",
    ),
    "a message is too fast": (
        lambda: with_message(
            on_transputers(),
            lambda m: replace(m, start=m.arrival, hops=(replace(m.hops[0], start=m.arrival),)),
        ),
        "takes 0 instead of 1",
    ),
    "a message takes no link": (
        lambda: with_message(on_transputers(), lambda m: replace(m, hops=())),
        "arrives before its last link has carried it there",
    ),
    "a message takes a link that does not exist": (
        lambda: with_message(
            on_transputers(),
            lambda m: replace(m, hops=(LinkMessage(m.sender, m.sender, m.start, m.start + 1.0), *m.hops)),
        ),
        "takes a link that does not exist",
    ),
    "a message goes on before it has arrived": (
        lambda: with_message(
            on_transputers(),
            lambda m: replace(m, hops=(replace(m.hops[0], start=m.start - 1.0),)),
        ),
        "goes on before it has arrived",
    ),
    "a message arrives before its link has carried it": (
        lambda: with_message(on_transputers(), lambda m: replace(m, arrival=m.start)),
        "arrives before its last link",
    ),
    "a link carries two messages at once": (
        lambda: replace(on_transputers(), messages=on_transputers().messages * 2),
        "carries messages inputs and inputs at once",
    ),
    "inputs come from someone who has none": (
        lambda: replace(
            on_transputers(),
            messages=tuple(replace(m, words=1) if m.task < 0 else m for m in on_transputers().messages),
        ),
        "is not the inputs as their holder has them",
    ),
    "nobody sends the inputs": (
        lambda: with_messages(lambda m: m.task >= 0),
        "before the inputs are there",
    ),
    "a result does not come home": (
        lambda: with_messages(lambda m: m.task != 3),
        r"result x\[0\] is not sent to P0",
    ),
    "it is faster than the critical path": (
        lambda: replace(
            on_pram(), tasks=tuple(replace(t, start=t.start / 2, end=t.end / 2) for t in on_pram().tasks)
        ),
        r"the makespan 4\.5 is less than the span, 9",
    ),
    "it is faster than all processors together": (
        lambda: replace(place(TaskGraph((task(2),) * 4), M.pram(2)), processors=("P0",)),
        "the makespan 4 is less than work over processors, 8",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_kind_of_violation_is_found(name: str) -> None:
    make, message = BROKEN[name]
    found = violations(make())
    assert any(re.search(message, v) for v in found), found
    with pytest.raises(px.PhalanxError, match="schedule on "):
        require_valid(make())


@given(task_graphs(), machines(), st.data())
def test_a_task_that_starts_earlier_or_elsewhere_is_noticed_if_anybody_minds(
    graph: TaskGraph, machine: Machine, data: st.DataObject
) -> None:
    s = place(graph, machine)
    waiting = [t for t in s.tasks if t.start > 0.0 and t.end > t.start]
    assume(waiting)
    t = data.draw(st.sampled_from(waiting))
    early = replace(t, start=t.start - 0.5, end=t.end - 0.5)
    broken = replace(s, tasks=tuple(early if x is t else x for x in s.tasks))
    # List schedules leave no gap before a task but for a message, or for the task before on its processor.
    busy = any(x is not t and x.processor == t.processor and x.start < early.end and early.start < x.end
               for x in s.tasks)  # fmt: skip
    ready = [x.end for x in s.tasks if x.task in graph.tasks[t.task].before] if s.network is None else []
    if busy or any(end > early.start for end in ready):
        assert violations(broken)
