# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The cost of programs and kernels: operations, their critical path, and how many can run in parallel."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from textwrap import wrap
from typing import Any

import numpy as np

from ...errors import PhalanxError, shown
from ...robot.robot import Robot
from ..ir import Program, Scalar, Value
from ..lowering import form_of, looped, operations_in_loops, traced, unrolls
from ..ops import COS, INPUT, NEG, OPS, SIN
from ..passes.fuse import fusions
from ..task import Call
from .count import BlockCount, is_partial, runs
from .critical_path import UNIT, Chains, Flow, Times, chains_of

REAL = 8  # bytes of a number
# Attributes of a cost that are no fields, so that they are neither printed nor compared.
_WIDTH = "_width"
_PATHS = "_paths"
_WRITTEN_OUT = "_written_out"


@dataclass(frozen=True)
class Count:
    """Numbers of operations; a multiply-add is one of each."""

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    trigonometric: int = 0

    @property
    def total(self) -> int:
        """Multiplications, additions and divisions."""
        return self.multiplications + self.additions + self.divisions

    def __add__(self, other: Count) -> Count:
        return Count(*(a + b for a, b in zip(self._all(), other._all(), strict=True)))

    def _all(self) -> tuple[int, int, int, int]:
        return self.multiplications, self.additions, self.divisions, self.trigonometric


@dataclass(frozen=True)
class Bytes:
    """What one state moves, in bytes of float64.

    `inputs` and `outputs` as the caller passes them, `parameters` the different constants of the
    robot that the program reads; `intermediate`: every partial result written once and read wherever
    it is used, which registers and caches save in part.
    """

    inputs: int = 0
    outputs: int = 0
    parameters: int = 0
    intermediate: int = 0

    @property
    def total(self) -> int:
        """The bytes of inputs, outputs and parameters, the least memory traffic."""
        return self.inputs + self.outputs + self.parameters


@dataclass(frozen=True, repr=False)
class Cost(Count):
    """Operations of a program, by quantity and by link, along its critical path and over time.

    If it is `looped`, all of it is about loops over bodies: how often they execute each operation, and
    which of these wait for which. `written_out` is the cost of the same equations without any loop: another
    program, in which runs of links may be joined in trees. `form` states in which form a kernel is compiled,
    and the counts that decided it.
    """

    span: Count = field(default_factory=Count)
    by_quantity: Mapping[str, Count] = field(default_factory=dict)
    by_link: Mapping[Any, Count] = field(default_factory=dict)
    bytes: Bytes = field(default_factory=Bytes)
    customise: str = "full"
    convention: str = "program"
    looped: bool = False
    form: str = ""

    @property
    def has_path(self) -> bool:
        """Whether `span` and `width` are known.

        They are not of more than five million operations in loops, nor of matrices with columns in lanes.
        """
        return not self.looped or bool(self.span.total)

    @property
    def width(self) -> tuple[int, ...]:
        """The number of operations that start at each step if each starts as early as it can."""
        return tuple(getattr(self, _WIDTH, ()))

    @property
    def max_width(self) -> int:
        """The most operations that start at one step."""
        return max(self.width, default=0)

    def span_with(
        self,
        *,
        multiplication: float = 1.0,
        addition: float = 1.0,
        division: float = 1.0,
        trigonometric: float = 0.0,
    ) -> Count:
        """The operations on the critical path if each kind takes the given time.

        Of equally long paths, that with most multiplications, then divisions, then sines and cosines.
        """
        times = {
            "multiplication": multiplication,
            "addition": addition,
            "division": division,
            "trigonometric": trigonometric,
        }
        for name, time in times.items():
            if isinstance(time, bool) or not isinstance(time, int | float) or not 0.0 <= time < inf:
                raise PhalanxError(f"span_with: {name}={shown(time)}, expected a time of zero or more.")
        given, paths = tuple(times.values()), getattr(self, _PATHS, None)
        if given == UNIT and self.has_path:
            return self.span
        if paths is None:
            raise PhalanxError(
                f"span_with: {self.total:,} operations in loops over bodies, too many of them, or columns in "
                "lanes; ask written_out, the cost of the same equations without loops."
            )
        return Count(*paths(given).longest)

    @property
    def written_out(self) -> Cost:
        """The cost of the same equations without loops: this one, unless it is `looped`.

        It is computed on first access, which takes seconds for a hundred thousand operations; more
        than a million raise a `PhalanxError`.
        """
        if not self.looped:
            return self
        made = getattr(self, _WRITTEN_OUT)
        if callable(made):
            made = made()
            object.__setattr__(self, _WRITTEN_OUT, made)
        found: Cost = made
        return found

    def named(self, robot: Robot) -> Cost:
        """The same cost by the names of links instead of bodies; what belongs to none is the world's."""
        names: dict[str, Count] = {}
        for body, count in self.by_link.items():
            link = int(np.searchsorted(robot.model.links, body))
            name = robot.link_names[link] if body >= 0 else "world"
            names[name] = names.get(name, Count()) + count
        return self._with(by_link=names)

    def with_path(self, run: Chains, paths: Callable[[Times], Chains]) -> Cost:
        """This cost with its critical path, and how many operations start at each step.

        `paths` finds paths for other times of operations; it keeps no scalar of the program alive.
        """
        found = self._with(span=Count(*run.longest))
        object.__setattr__(found, _WIDTH, run.width)
        object.__setattr__(found, _PATHS, paths)
        return found

    def with_written_out(self, made: Callable[[], Cost]) -> Cost:
        """This cost of loops with a function that finds that of the same equations without loops."""
        object.__setattr__(self, _WRITTEN_OUT, made)
        return self

    def _with(self, **changed: Any) -> Cost:
        """A copy of this cost with some fields replaced; its other attributes are copied, too."""
        found = replace(self, **changed)
        for name in (_WIDTH, _PATHS, _WRITTEN_OUT):
            if hasattr(self, name):
                object.__setattr__(found, name, getattr(self, name))
        return found

    def __repr__(self) -> str:
        path = f"critical path {self.span.total:,}" if self.has_path else "in loops"
        return (
            f"<Cost {self.total:,}: {self.multiplications:,} multiplications, {self.additions:,} additions, "
            f"{path}>"
        )

    def __str__(self) -> str:
        b = self.bytes
        path = (
            f"{self.span.total:,} operations; at most {self.max_width:,} at once"
            if self.has_path
            else "not known: too many operations in loops, or columns in lanes"
        )
        most = sorted(self.by_quantity.items(), key=lambda item: -item[1].total)[:4]
        largest = ", ".join(f"{name} {count.total:,}" for name, count in most if count.total)
        return "\n".join(
            (
                f"operations    {self.total:,} for one state; {self.trigonometric:,} sines and cosines",
                f"              {self.multiplications:,} *, {self.additions:,} +, {self.divisions:,} /",
                f"critical path {path}",
                f"most in       {largest or 'nothing'}",
                f"bytes         {b.inputs:,} in, {b.outputs:,} out, {b.parameters:,} of parameters",
                f"counted as    customise {self.customise!r}, convention {self.convention!r}",
                *(wrap(f"compiled      {self.form}", 80, subsequent_indent=" " * 14) if self.form else ()),
            )
        )


def cost_of(
    program: Program,
    *,
    free: Collection[str] = (),
    fused: bool = False,
    form: str = "",
    customise: str = "full",
    convention: str = "program",
) -> Cost:
    """The cost of a program: every live node once, but no `free` quantity.

    With `fused` it is that of the kernel's instructions: a product that is fused into several sums is
    multiplied in each of them.
    """
    flow = flow_of(program.values, free, fusions(program) if fused else {})
    total = [0, 0, 0, 0]
    quantities: dict[str, list[int]] = {}
    links: dict[int, list[int]] = {}
    for node, count in zip(flow.nodes, flow.counts, strict=True):
        if any(count):
            own = quantities.setdefault(node.quantity, [0, 0, 0, 0])
            of_link = links.setdefault(node.body_index, [0, 0, 0, 0])
            for k, c in enumerate(count):
                total[k] += c
                own[k] += c
                of_link[k] += c
    multiplications, additions, divisions, trigonometric = total
    cost = Cost(
        multiplications,
        additions,
        divisions,
        trigonometric,
        by_quantity={name: Count(*sums) for name, sums in quantities.items()},
        by_link={link: Count(*links[link]) for link in sorted(links)},
        bytes=_bytes(program),
        customise=customise,
        convention=convention,
        form=form,
    )
    return cost.with_path(flow.chains(), replace(flow, nodes=[]).chains)


def flow_of(nodes: Iterable[Any], free: Collection[str] = (), fused: Mapping[Any, Any] = {}) -> Flow:
    """The dependence graph of nodes, operands first; a `free` quantity takes neither work nor time.

    `fused` maps sums to the products fused into them: each sum then has a product of its own.
    """
    index: dict[Any, int] = {}
    flow = Flow([], [], [])
    products = set(fused.values())

    def put(node: Any) -> int:
        """Append an operation and return its index."""
        flow.nodes.append(node)
        is_free = node.op is INPUT or node.quantity in free
        flow.counts.append(_NOTHING if is_free else OPS[node.op].counts)
        flow.operands.append(tuple(index[a] for a in node.args if isinstance(a, Scalar)))
        return len(flow.nodes) - 1

    for node in nodes:
        if node in products:
            continue
        if node in fused:
            product = fused[node]
            index[product] = put(product)
        index[node] = put(node)
    return flow


_NOTHING = (0, 0, 0, 0)


def _bytes(program: Program) -> Bytes:
    """The bytes that straight-line code moves; parameters are symbols that are no inputs, and constants."""
    symbols, constants, uses, made = 0, set(), 0, 0
    for node in program.values:
        if node.op is INPUT:
            symbols += node.buffer not in program.inputs
            continue
        made += node.op != NEG
        for a in node.args:
            if not isinstance(a, Scalar):
                constants.add(a)
            elif a.op not in (INPUT, NEG):
                uses += 1
    return Bytes(
        inputs=REAL * sum(buffer.size for buffer in program.inputs),
        outputs=REAL * len(program.results),
        parameters=REAL * (symbols + len(constants)),
        intermediate=REAL * (made + uses),
    )


# ------------------------------------------------------------------- programs with loops


def cost_of_loops(program: Program, result: str, form: str = "") -> Cost:
    """The cost of a program with loops; operations without a quantity belong to `result`."""
    quantities: dict[str, np.ndarray] = {}
    links = np.zeros((0, 4), dtype=np.int64)
    constants: set[float] = set()
    intermediate = 0
    for run in runs(program):
        times = int(run.times.sum())
        each = np.zeros(4, dtype=np.int64)
        for name, count in _counts(run):
            quantities.setdefault(name or result, np.zeros(4, dtype=np.int64))[:] += times * np.array(count)
            each += count
        links = np.zeros((len(run.times), 4), dtype=np.int64) if not len(links) else links
        links += run.times[:, None] * each
        constants |= {a for s in run.values for a in s.args if type(a) is float}
        intermediate += times * _partial_results(run.values)
    moved = Bytes(
        inputs=REAL * sum(buffer.size for buffer in program.inputs),
        outputs=REAL * sum(buffer.size for buffer in program.outputs),
        parameters=REAL * (program.parameters + len(constants)),
        intermediate=REAL * intermediate,
    )
    bodies = [*range(len(links) - 1), -1]
    total = [int(x) for x in links.sum(axis=0)]
    return Cost(
        multiplications=total[0],
        additions=total[1],
        divisions=total[2],
        trigonometric=total[3],
        by_quantity={name: _count(sums) for name, sums in quantities.items() if sums.any()},
        by_link={b: _count(sums) for b, sums in zip(bodies, links, strict=True) if sums.any()},
        bytes=moved,
        looped=True,
        form=form,
    )


def _count(numbers: np.ndarray) -> Count:
    return Count(*(int(x) for x in numbers))


def _counts(run: BlockCount) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    """The counts of one run of a block by quantity; product and sum of a multiply-add may belong to two."""
    for s in run.values:
        op = OPS[s.op]
        if s.op is NEG:
            continue
        if op.multiplications and op.additions:
            yield s.of_product, (op.multiplications, 0, 0, 0)
            yield s.quantity, (0, op.additions, 0, 0)
        else:
            yield s.quantity, (op.multiplications, op.additions, op.divisions, op.trigonometric)


def _partial_results(values: list[Value]) -> int:
    """The number of partial results that a block computes, plus its reads of partial results."""
    own = set(values)
    made = [s for s in values if s.op not in (NEG, SIN, COS)]
    read = (a for s in values if s.op not in (SIN, COS) for a in s.args if not isinstance(a, float))
    return len(made) + sum(a.op is not NEG if a in own else is_partial(a) for a in read)


# ------------------------------------------------------------------- kernels

LONGEST = 1_000_000  # operations: about a minute of unrolling
_TRACED = 5_000_000  # operations in loops whose critical path is found in some seconds
_QUICK = 20_000  # operations in loops that are counted in a moment


def kernel_cost(call: Call) -> Cost:
    """The cost of the kernel of a call, every instruction as often as it is executed.

    Critical path and width of loops are those of the operations that the loops execute, in their order.
    """
    loops, form = looped(call, ()), str(form_of(call))
    if loops is None:
        return cost_of(traced(call, ()), fused=True, form=form).named(call.robot)
    program = loops.built()
    found = cost_of_loops(program, call.function.symbol, form=form)
    if found.total <= _TRACED:
        run = _chains(loops, program)
        if sum(run.width) == found.total:
            found = found.with_path(run, partial(_chains_with, call))
    return found.with_written_out(partial(_written_out, call)).named(call.robot)


def _chains_with(call: Call, times: Times) -> Chains:
    """The chains of operations in the loops of a call, at given times of operations."""
    loops = looped(call, ())
    assert loops is not None, "only loops have a path of loops"
    return _chains(loops, loops.built(), times)


def _chains(loops: Any, program: Program, times: Times = UNIT) -> Chains:
    # Segments in lanes have the dependences of the program with one lane; columns in lanes have others.
    return chains_of(program if program.lanes == 1 else loops.built(1), times)


def _written_out(call: Call) -> Cost:
    """The cost of the equations of a call as straight-line code."""
    require_short(call)
    return cost_of(traced(call, ()), fused=True).named(call.robot)


def is_countable(call: Call) -> bool:
    """Whether counting a call, its critical path included, takes no longer than a second or two."""
    return unrolls(call) or operations_in_loops(call) <= _QUICK


def require_short(call: Call) -> None:
    """Raise if the equations of a call are too long to unroll: every operation is an object."""
    if (expected := operations_in_loops(call)) > LONGEST:
        raise PhalanxError(
            f'cost: the program of algorithm "{call.algorithm.name}" for robot "{call.robot.name}" '
            f"({call.robot.model.n} bodies) has about {expected:,} operations, more than {LONGEST:,}; "
            "count a shorter chain, or ask px.closed_form for a formula in n."
        )
