# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Task graphs: a scalar program cut into operations, vector operations or equations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...errors import PhalanxError, installing, is_one_of, shown
from ...program.cost import Count, Flow, cost_of, flow_of
from ...program.ops import ADD, INPUT, MUL, SUB
from ...program.rewrite import fusions
from ...program.scalar import Node
from ...program.trace import TracedProgram
from ..machines import Times
from .grouping import Operation, grouped

GRANULARITIES = ("scalar", "vector", "equation")


@dataclass(frozen=True)
class Task:
    """Operations that one processor does in one go, and the quantity and link they belong to.

    `before` are the tasks it needs, `words` how many real numbers it hands on. `path` is what remains
    of `work` when the coordinates of a vector are computed at once. `kind` is an operation, or for
    vectors VA (sum), SV (scaling), VC (cross product) or MV (product with a matrix).
    """

    quantity: str
    link: int
    kind: str
    work: Count
    path: Count
    before: tuple[int, ...]
    words: int
    reads_input: bool = False
    is_result: bool = False

    @property
    def name(self) -> str:
        """Quantity and link, as papers write it."""
        return f"{self.quantity}[{self.link}]" if self.link >= 0 else self.quantity


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Tasks in an order in which each comes after those it needs."""

    tasks: tuple[Task, ...]
    title: str = ""
    granularity: str = "scalar"
    links: tuple[str, ...] = ()  # names, for what is shown
    input_words: int = 0
    algorithm: str = ""  # whose equations these are

    def __len__(self) -> int:
        return len(self.tasks)

    @cached_property
    def after(self) -> tuple[tuple[int, ...], ...]:
        """The tasks that need each task."""
        following: list[list[int]] = [[] for _ in self.tasks]
        for k, task in enumerate(self.tasks):
            for a in task.before:
                following[a].append(k)
        return tuple(map(tuple, following))

    def durations(self, times: Times, at_once: bool = False) -> list[float]:
        """The time of each task; with the coordinates of vectors computed at once or one by one."""
        return [times.of(t.path if at_once else t.work) for t in self.tasks]

    def networkx(self) -> Any:
        """The graph for networkx: nodes are numbers of tasks, with the fields of the tasks as attributes."""
        networkx = require_networkx()
        graph = networkx.DiGraph(title=self.title, granularity=self.granularity)
        for k, t in enumerate(self.tasks):
            graph.add_node(k, name=t.name, quantity=t.quantity, link=t.link, kind=t.kind, work=t.work.total)
            graph.add_edges_from((a, k, {"words": self.tasks[a].words}) for a in t.before)
        return graph


def require_networkx() -> Any:
    """The package networkx, or an error that tells how to get it."""
    try:
        import networkx
    except ImportError:
        raise PhalanxError(
            f"networkx is not installed, and graphs go through it; {installing('explain')}."
        ) from None
    return networkx


def require_granularity(value: object) -> None:
    """Raise unless a value says what a task is."""
    if not is_one_of(value, GRANULARITIES):
        raise PhalanxError(
            f"granularity is {shown(value)}, expected one of {', '.join(map(repr, GRANULARITIES))}."
        )


def task_graph_of(
    program: TracedProgram,
    granularity: str = "scalar",
    *,
    free: Collection[str] = (),
    fused: bool = False,
    title: str = "",
    links: Iterable[str] = (),
    algorithm: str = "",
) -> TaskGraph:
    """The tasks of a program; what is charged, `free` or `fused` is as in `cost_of`."""
    require_granularity(granularity)
    flow = flow_of(program.nodes, free, fusions(program) if fused else {})
    sources = _sources(flow)
    charged = [
        Operation(k, x.op, x.quantity, x.link) for k, x in enumerate(flow.nodes) if sources[k].is_charged
    ]
    groups = grouped(charged, {x.number: sources[x.number].operations for x in charged}, granularity)
    place = {x.number: k for k, x in enumerate(flow.nodes)}
    results = {
        a
        for k in (place[x.number] for x in program.results if type(x) is Node)
        for a in ([k] if sources[k].is_charged else sources[k].operations)
    }
    return TaskGraph(
        tuple(_tasks(groups, flow, sources, results, granularity)),
        title,
        granularity,
        tuple(links),
        sum(x.op is INPUT and x.args[0] in program.inputs for x in program.nodes),
        algorithm,
    )


def operations_of(results: Any) -> Count:
    """The operations in an array of scalars that were computed from symbols."""
    made = np.asarray(results, dtype=object)
    cost = cost_of(TracedProgram({}, {"result": made.shape}, made.ravel().tolist()))
    return Count(cost.multiplications, cost.additions, cost.divisions, cost.trigonometric)


class _Sources(NamedTuple):
    """The charged operations whose results an operation needs, and whether it reads inputs besides."""

    operations: tuple[int, ...]
    reads_input: bool
    is_charged: bool


def _sources(flow: Flow) -> list[_Sources]:
    """What each operation needs; those that are not charged only pass on what they need."""
    found: list[_Sources] = []
    for x, count, operands in zip(flow.nodes, flow.counts, flow.operands, strict=True):
        needed: dict[int, None] = {}
        reads_input = x.op is INPUT
        for a in operands:
            needed |= dict.fromkeys([a] if found[a].is_charged else found[a].operations)
            reads_input |= not found[a].is_charged and found[a].reads_input
        found.append(_Sources(tuple(needed), reads_input, any(count)))
    return found


def _tasks(
    groups: list[list[Operation]], flow: Flow, sources: list[_Sources], results: set[int], granularity: str
) -> Iterator[Task]:
    task_of = {x.number: k for k, group in enumerate(groups) for x in group}
    handed_on = set(results)
    for number, task in task_of.items():
        handed_on.update(a for a in sources[number].operations if task_of[a] != task)
    for k, group in enumerate(groups):
        inside = {x.number for x in group}
        before = {task_of[a] for number in inside for a in sources[number].operations} - {k}
        yield Task(
            group[-1].quantity,
            group[-1].link,
            _kind(group, granularity),
            sum((Count(*flow.counts[number]) for number in inside), Count()),
            _longest(group, flow, sources),
            tuple(sorted(before)),
            len(handed_on & inside),
            any(sources[number].reads_input for number in inside),
            bool(inside & results),
        )


def _kind(group: list[Operation], granularity: str) -> str:
    """The operation of a task of one, else the vector operation that its coordinates carry out."""
    ops = {x.op for x in group}
    if len(group) == 1:
        return group[0].op
    if granularity == "equation":
        return "equation"
    if not ops <= {MUL, ADD, SUB}:
        return "/".join(sorted(ops))
    products = sum(x.op is MUL for x in group)
    sums = len(group) - products
    if not products or not sums:
        return "SV" if products else "VA"
    coordinates = products - sums  # each sum takes two things and leaves one
    if coordinates == 1:
        return "dot"
    return "VC" if products <= 2 * coordinates else "MV"


def _longest(group: list[Operation], flow: Flow, sources: list[_Sources]) -> Count:
    """Operations on the critical path inside a task."""
    best: dict[int, Count] = {}
    for x in group:
        before = (best[a] for a in sources[x.number].operations if a in best)
        best[x.number] = max(before, key=_length, default=Count()) + Count(*flow.counts[x.number])
    return max(best.values(), key=_length)


def _length(count: Count) -> int:
    return count.total + count.trigonometric
