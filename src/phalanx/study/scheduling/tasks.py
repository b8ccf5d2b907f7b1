# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Task graphs: a scalar program cut into operations, vector operations or equations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...errors import PhalanxError, installing, is_one_of, shown
from ...program.analyses.cost import Count, cost_of, flow_of
from ...program.analyses.critical_path import Chains, Flow
from ...program.builder import straight
from ...program.graph import Graph
from ...program.ir import Load, Program, Scalar, Store, Value
from ...program.ops import ADD, INPUT, MUL, SUB
from ...program.passes.fuse import fusions
from ..machines import Times

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
class TaskCode:
    """What the tasks of a graph compute: scalars of one trace, by task; sizes of inputs and outputs.

    `results` has the scalar (or number) of each entry of each output, `meanings` what the symbols of
    general equations stand for.
    """

    inputs: Mapping[str, int]
    outputs: Mapping[str, int]
    values: Sequence[Sequence[Scalar]]
    results: Mapping[tuple[str, int], Any]
    shapes: Mapping[str, tuple[int, ...]]
    meanings: Mapping[Scalar, Any] = field(default_factory=dict)


class TaskTrace:
    """Tasks that are recorded one by one: none of them shares or simplifies what belongs to another.

    What needs inputs only, such as sines, is recorded once for all.
    """

    def __init__(self, graph: Graph | None = None) -> None:
        self.graph = graph or Graph()
        self.values: list[list[Scalar]] = []
        self._made: dict[Scalar, Scalar] = {}  # the results of tasks by the symbols that stand for them
        self._common: dict[Scalar, Scalar] = {}  # copies of what needs inputs only

    def inputs(self, name: str, count: int) -> np.ndarray:
        """The entries of an input."""
        return np.array([self.graph.input(name, k) for k in range(count)], dtype=object)

    def task(self, results: Any) -> np.ndarray:
        """Symbols for the results of the next task, computed from inputs and symbols of other tasks."""
        array = np.asarray(results, dtype=object)
        own: dict[Scalar, Scalar] = {}
        found: list[Any] = []
        made: list[Scalar] = []
        for k, x in enumerate(array.ravel().tolist()):
            if not isinstance(x, Scalar):
                found.append(float(x))
                continue
            if isinstance(x, Load):  # what another task computes, or an input
                value = Value(ADD, (self._copied(x, own), 0.0))
            else:
                value = Value(x.op, tuple(self._copied(a, own) for a in x.args), x.quantity)
            symbol = self.graph.leaf(("task", len(self.values)), k)
            self._made[symbol] = value
            made.append(value)
            found.append(symbol)
        self.values.append(made)
        return np.array(found, dtype=object).reshape(array.shape)

    def result(self, x: Any) -> Any:
        """An expression of inputs and symbols, as its task computes it."""
        return self._copied(x, {}) if isinstance(x, Scalar) else float(x)

    def _copied(self, x: Any, own: dict[Scalar, Scalar]) -> Any:
        if not isinstance(x, Scalar):
            return x
        if isinstance(x, Load):
            return self._made.get(x, x)
        for known in (self._common, own):
            if x in known:
                return known[x]
        made = Value(x.op, tuple(self._copied(a, own) for a in x.args), x.quantity)
        operands = [a for a in x.args if isinstance(a, Scalar)]
        is_common = all(a in self._common or (isinstance(a, Load) and a not in self._made) for a in operands)
        (self._common if is_common else own)[x] = made
        return made


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Tasks in an order in which each comes after those it needs."""

    tasks: tuple[Task, ...]
    title: str = ""
    granularity: str = "scalar"
    links: tuple[str, ...] = ()  # names, for what is shown
    input_words: int = 0
    algorithm: str = ""  # whose equations these are
    code: Callable[[], TaskCode] | None = field(default=None, repr=False)  # None if only counted

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
    """The package networkx, or an error that says how to get it."""
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
    program: Program,
    granularity: str = "scalar",
    *,
    free: Collection[str] = (),
    fused: bool = False,
    title: str = "",
    links: Iterable[str] = (),
    algorithm: str = "",
    code: Callable[[], TaskCode] | None = None,
) -> TaskGraph:
    """The tasks of a program; what is charged, `free` or `fused` is as in `cost_of`."""
    require_granularity(granularity)
    flow, sources, groups = _grouped(program, granularity, free, fused=fused)
    index = {x: k for k, x in enumerate(flow.nodes)}
    results = {
        a
        for k in (index[x] for x in program.results if isinstance(x, Scalar))
        for a in ([k] if sources[k].is_charged else sources[k].operations)
    }
    return TaskGraph(
        tuple(_tasks(groups, flow, sources, results, granularity)),
        title,
        granularity,
        tuple(links),
        sum(x.op is INPUT and x.buffer in program.inputs for x in program.values),
        algorithm,
        code,
    )


def _grouped(
    program: Program, granularity: str, free: Collection[str], *, fused: bool
) -> tuple[Flow, list[_Sources], list[list[Operation]]]:
    """The operations of a program, what each needs, and those of each task."""
    flow = flow_of(program.values, free, fusions(program) if fused else {})
    sources = _sources(flow)
    charged = [
        Operation(k, x.op, x.quantity, x.body_index)
        for k, x in enumerate(flow.nodes)
        if sources[k].is_charged
    ]
    operands = {x.number: sources[x.number].operations for x in charged}
    return flow, sources, grouped(charged, operands, granularity)


def task_code_of(
    program: Program, granularity: str, *, free: Collection[str] = (), fused: bool = False
) -> TaskCode:
    """The computations of the tasks of `task_graph_of`."""
    flow, _, groups = _grouped(program, granularity, free, fused=fused)
    stores = [s for s in program.body if type(s) is Store]
    return TaskCode(
        {b.name: b.size for b in program.inputs},
        {b.name: b.size for b in program.outputs},
        [[flow.nodes[x.number] for x in group] for group in groups],
        {(s.buffer.name, k): s.value for s in stores for k in [s.index] if isinstance(k, int)},
        program.shapes,
        program.meanings,
    )


def operations_of(results: Any) -> Count:
    """The operations in an array of scalars that were computed from symbols."""
    made = np.asarray(results, dtype=object)
    cost = cost_of(straight({}, {"result": made.shape}, made.ravel().tolist()))
    return Count(cost.multiplications, cost.additions, cost.divisions, cost.trigonometric)


class _Sources(NamedTuple):
    """The charged operations that an operation depends on, and whether it also reads inputs."""

    operations: tuple[int, ...]
    reads_input: bool
    is_charged: bool


def _sources(flow: Flow) -> list[_Sources]:
    """The charged operations behind each operation; free ones pass on those of their operands."""
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
    coordinates = products - sums  # each sum takes two terms and leaves one
    if coordinates == 1:
        return "dot"
    return "VC" if products <= 2 * coordinates else "MV"


def _longest(group: list[Operation], flow: Flow, sources: list[_Sources]) -> Count:
    """Operations on the critical path inside a task."""
    run, chain = Chains((1.0, 1.0, 1.0, 1.0)), dict[int, int]()
    for x in group:
        operands = (chain[a] for a in sources[x.number].operations if a in chain)
        chain[x.number] = run.rule(flow.counts[x.number])(*operands)
    return Count(*run.longest)


_COORDINATES = 3  # of a vector; also the products that make one coordinate of a matrix-vector product

Operands = Mapping[int, Sequence[int]]


class Operation(NamedTuple):
    """An operation of a program by its number, and the quantity and link it was made for."""

    number: int
    op: str
    quantity: str
    link: int


def grouped(nodes: Sequence[Operation], operands: Operands, granularity: str) -> list[list[Operation]]:
    """The nodes of each task, tasks and nodes in an order in which each comes after what it needs."""
    pieces = components(nodes, operands) if granularity == "vector" else [[x] for x in nodes]
    if granularity == "scalar":
        return pieces
    gather = _Gathering(pieces, operands, _COORDINATES if granularity == "vector" else None)
    for k, piece in enumerate(pieces):
        root = piece[-1]
        key: tuple[Hashable, ...] = (root.quantity, root.link)
        if granularity == "vector":
            key += (ADD if root.op is SUB else root.op, sum(x.op is MUL for x in piece))
        gather.put(k, key)
    return gather.groups()


def components(nodes: Sequence[Operation], operands: Operands) -> list[list[Operation]]:
    """Scalars as coordinates of vectors: sums of up to three products that nothing else reads.

    Any other operation is a coordinate by itself. Sums of products and of other terms stay apart,
    because a late operand may enter last.
    """
    uses = Counter(a for x in nodes for a in operands[x.number])
    made: dict[int, list[Operation]] = {}
    for x in nodes:
        parts = [made[a] for a in operands[x.number]]
        products = sum(y.op is MUL for part in parts for y in part)
        if (
            x.op in (ADD, SUB)
            and len(parts) == 2
            and products <= _COORDINATES
            and all(
                uses[part[-1].number] == 1
                and any(y.op is MUL for y in part)
                and (part[-1].quantity, part[-1].link) == (x.quantity, x.link)
                for part in parts
            )
        ):
            made[x.number] = [*parts[0], *parts[1], x]
            for part in parts:
                del made[part[-1].number]
        else:
            made[x.number] = [x]
    return [made[x.number] for x in nodes if x.number in made]


class _Gathering:
    """Tasks that take in pieces of one kind unless two tasks would then wait for each other."""

    def __init__(self, pieces: list[list[Operation]], operands: Operands, most: int | None) -> None:
        self.pieces, self.operands, self.most = pieces, operands, most
        self.piece_of = {x.number: k for k, piece in enumerate(pieces) for x in piece}
        self.task_of: dict[int, int] = {}
        self.members: list[list[int]] = []
        self.above: list[int] = []  # tasks that each task needs, directly or not, as bits
        self.direct: list[set[int]] = []  # tasks whose results each task reads
        self.open: dict[Hashable, list[int]] = {}

    def put(self, piece: int, key: Hashable) -> None:
        """Add a piece to the first task of its kind that can take it, or open a new one."""
        before = {
            self.task_of[self.piece_of[a]]
            for x in self.pieces[piece]
            for a in self.operands[x.number]
            if self.piece_of[a] != piece
        }
        candidates = self.open.setdefault(key, [])
        fitting = [t for t in candidates if self._fits(t, before)]
        task = max(fitting, key=lambda t: (alike(self.direct[t], before), -t), default=None)
        if task is None:
            task = len(self.members)
            self.members.append([])
            self.above.append(0)
            self.direct.append(set())
            candidates.append(task)
            if self.most is None:
                del candidates[:-1]
        self.members[task].append(piece)
        self.direct[task] |= before
        self.task_of[piece] = task
        if self.most is not None and len(self.members[task]) == self.most:
            candidates.remove(task)
        self._needs(task, before - {task})

    def _fits(self, task: int, before: set[int]) -> bool:
        """Whether a piece that needs these tasks can join one.

        Coordinates of a vector stand side by side and read, in part at least, the same vectors.
        """
        if self.most is not None and (task in before or not alike(self.direct[task], before)):
            return False
        return not any(self.above[t] >> task & 1 for t in before if t != task)

    def _needs(self, task: int, before: set[int]) -> None:
        new = 0
        for t in before:
            new |= self.above[t] | 1 << t
        new &= ~self.above[task]
        if new:
            self.above[task] |= new
            for t, bits in enumerate(self.above):
                if bits >> task & 1:
                    self.above[t] = bits | new

    def groups(self) -> list[list[Operation]]:
        """The nodes of each task."""
        order = sorted(range(len(self.members)), key=lambda t: (self.above[t].bit_count(), t))
        return [
            sorted((x for k in self.members[t] for x in self.pieces[k]), key=lambda x: x.number)
            for t in order
        ]


def alike(a: Set[Hashable], b: Set[Hashable]) -> float:
    """How much two sets have in common: 0 nothing, 1 all."""
    return len(a & b) / len(a | b) if a or b else 1.0
