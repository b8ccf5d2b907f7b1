# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Random task graphs and machines to place them on."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import phalanx as px
from phalanx.program.analyses.cost import Count
from phalanx.study.machines import Machine
from phalanx.study.scheduling.tasks import Task, TaskGraph


def task(work: int, *before: int, words: int = 1, **more: Any) -> Task:
    """A task of so many additions after some others."""
    count = Count(0, work)
    return Task(more.pop("quantity", "x"), more.pop("link", 0), "VA", count, count, before, words, **more)


@st.composite
def task_graphs(draw: Any, most: int = 24) -> TaskGraph:
    """Tasks of no or some work, each after any of those before it; some read inputs, some are results."""
    tasks = []
    for k in range(draw(st.integers(0, most))):
        before = draw(st.sets(st.integers(0, k - 1), max_size=4)) if k else set()
        tasks.append(
            task(
                draw(st.integers(0, 5)),
                *sorted(before),
                words=draw(st.integers(1, 4)),
                quantity=draw(st.sampled_from("abc")),
                link=draw(st.integers(-1, 2)),
                reads_input=not before or draw(st.booleans()),
                is_result=draw(st.booleans()),
            )
        )
    return TaskGraph(tuple(tasks), "random tasks", "scalar", ("one", "two", "three"), 7)


times = st.sampled_from((0.0, 0.5, 1.0, 3.0))


@st.composite
def machines(draw: Any) -> Machine:
    """Machines of every kind that take any task graph."""
    kind = draw(st.sampled_from(("pram", "transputers", "systolic", "array")))
    if kind == "pram":
        return px.machines.pram(draw(st.integers(1, 9)), addition=draw(times))
    if kind == "transputers":
        return px.machines.transputers(
            draw(st.integers(2, 4)), assignment="list", start_up=draw(times), per_word=draw(times)
        )
    if kind == "systolic":
        return px.machines.systolic(nodes=draw(st.sampled_from(("per link", "one"))))
    return px.machines.processor_array(
        draw(st.sampled_from(("n", "n(n+1)/2"))),
        network=draw(st.sampled_from(("nearest", "shuffle-exchange"))),
        assignment="list",
        start_up=draw(times),
        per_word=draw(times),
    )
