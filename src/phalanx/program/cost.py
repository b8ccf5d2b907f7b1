# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Operations of a scalar program, the critical path through it, and how many can go at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, prod
from textwrap import wrap
from typing import Any

import numpy as np

from ..errors import PhalanxError, shown
from ..robot.robot import Robot
from .ops import INPUT, NEG, OPS
from .rewrite import fusions
from .scalar import Node
from .trace import TracedProgram

REAL = 8  # bytes of a number
_FLOW = "_flow"
_WIDTH = "_width"
_WRITTEN_OUT = "_written_out"
_UNIT = (1.0, 1.0, 1.0, 0.0)


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
        """Inputs, outputs and parameters: what has to move at least."""
        return self.inputs + self.outputs + self.parameters


@dataclass(frozen=True, repr=False)
class Cost(Count):
    """Operations of a program, by quantity and by link, along its critical path and over time.

    If it is `looped`, all of it is about loops over bodies: how often they carry out each operation, and
    which of these wait for which. `written_out` is the cost of the same equations without any loop: another
    program, in which runs of links may be joined in trees. `form` tells in which form a kernel is compiled,
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

    @cached_property
    def width(self) -> tuple[int, ...]:
        """Operations that start at each step, as early as they can."""
        if self.looped:
            return tuple(getattr(self, _WIDTH, ()))
        flow = getattr(self, _FLOW, None)
        return () if flow is None else flow.width()

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
        """Operations along the path that takes longest if they take these times each."""
        times = {
            "multiplication": multiplication,
            "addition": addition,
            "division": division,
            "trigonometric": trigonometric,
        }
        for name, time in times.items():
            if isinstance(time, bool) or not isinstance(time, int | float) or not 0.0 <= time < inf:
                raise PhalanxError(f"span_with: {name}={shown(time)}, expected a time of zero or more.")
        if tuple(times.values()) == _UNIT and self.has_path:
            return self.span
        flow = getattr(self, _FLOW, None)
        if flow is None:
            raise PhalanxError(
                f"span_with: {self.total:,} operations in loops over bodies, whose path is known at unit "
                "times only; ask written_out, the cost of the same equations without loops."
            )
        return flow.longest(tuple(times.values()))

    @property
    def written_out(self) -> Cost:
        """The cost of the same equations without loops: this one, unless it is `looped`.

        It is made when it is first asked for, which takes seconds for a hundred thousand operations; more
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

    def with_path(self, span: Count, width: Sequence[int]) -> Cost:
        """This cost of loops with its critical path, and how many operations start at each step."""
        found = self._with(span=span)
        object.__setattr__(found, _WIDTH, tuple(width))
        return found

    def with_written_out(self, made: Callable[[], Cost]) -> Cost:
        """This cost of loops with a function that finds that of the same equations without loops."""
        object.__setattr__(self, _WRITTEN_OUT, made)
        return self

    def _with(self, **changed: Any) -> Cost:
        """This cost with other fields; what is no field stays."""
        found = replace(self, **changed)
        for name in (_FLOW, _WIDTH, _WRITTEN_OUT):
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

    def with_flow(self, flow: Flow) -> Cost:
        """This cost with the paths of a flow."""
        # No field, so that it is neither told nor compared; and it must not keep the program alive.
        object.__setattr__(self, _FLOW, replace(flow, nodes=[]))
        return self


@dataclass(frozen=True)
class Flow:
    """Who needs whose result: the operations of a program and their operands, by place."""

    nodes: list[Node]
    counts: list[tuple[int, int, int, int]]
    operands: list[tuple[int, ...]]

    def longest(self, weights: tuple[float, ...] = _UNIT) -> Count:
        """The counts along the critical path; of equally long ones that with most multiplications."""
        length: list[float] = []
        products: list[int] = []
        before: list[int] = []
        for count, operands in zip(self.counts, self.operands, strict=True):
            last = max(operands, key=lambda k: (length[k], products[k]), default=-1)
            weight = sum(w * c for w, c in zip(weights, count, strict=True))
            length.append(weight + (length[last] if last >= 0 else 0.0))
            products.append(count[0] + (products[last] if last >= 0 else 0))
            before.append(last)
        at = max(range(len(length)), key=lambda k: (length[k], products[k]), default=-1)
        path = Count()
        while at >= 0:
            path += Count(*self.counts[at])
            at = before[at]
        return path

    def width(self) -> tuple[int, ...]:
        """How many operations start at each step if each starts as early as it can and takes one step."""
        finish: list[int] = []
        started: list[int] = []
        for count, operands in zip(self.counts, self.operands, strict=True):
            start = max((finish[k] for k in operands), default=0)
            works = sum(count[:3])
            if works:
                started += [0] * (start + 1 - len(started))
                started[start] += works
            finish.append(start + bool(works))
        return tuple(started)


def cost_of(
    program: TracedProgram,
    *,
    free: Collection[str] = (),
    fused: bool = False,
    form: str = "",
    customise: str = "full",
    convention: str = "program",
) -> Cost:
    """The cost of a program: every live node once, but no `free` quantity.

    With `fused` it is that of the kernel's instructions: a product that several sums swallow is
    multiplied in each of them.
    """
    flow = flow_of_kernel(program, free) if fused else flow_of(program.nodes, free)
    total = [0, 0, 0, 0]
    quantities: dict[str, list[int]] = {}
    links: dict[int, list[int]] = {}
    for node, count in zip(flow.nodes, flow.counts, strict=True):
        if any(count):
            own = quantities.setdefault(node.quantity, [0, 0, 0, 0])
            of_link = links.setdefault(node.link, [0, 0, 0, 0])
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
        span=flow.longest(),
        by_quantity={name: Count(*sums) for name, sums in quantities.items()},
        by_link={link: Count(*links[link]) for link in sorted(links)},
        bytes=_bytes(program),
        customise=customise,
        convention=convention,
        form=form,
    )
    return cost.with_flow(flow)


def flow_of_kernel(program: TracedProgram, free: Collection[str] = ()) -> Flow:
    """The operations of a program as its kernel carries them out, with multiply-adds."""
    return flow_of(program.nodes, free, fusions(program))


def flow_of(nodes: Iterable[Node], free: Collection[str] = (), fused: Mapping[int, Node] = {}) -> Flow:
    """The operations of nodes, operands first; a `free` quantity takes neither work nor time.

    `fused` holds the products that sums swallow: each sum then has one of its own.
    """
    place: dict[int, int] = {}
    flow = Flow([], [], [])
    swallowed = {product.number for product in fused.values()}

    def put(node: Node) -> int:
        """The place of a new operation."""
        flow.nodes.append(node)
        flow.counts.append((0, 0, 0, 0) if node.quantity in free else _COUNTS[node.op])
        flow.operands.append(tuple(place[a.number] for a in node.args if type(a) is Node))
        return len(flow.nodes) - 1

    for node in nodes:
        if node.number in swallowed:
            continue
        if node.number in fused:
            product = fused[node.number]
            place[product.number] = put(product)
        place[node.number] = put(node)
    return flow


_COUNTS = {
    name: (op.multiplications, op.additions, op.divisions, op.trigonometric) for name, op in OPS.items()
}


def _bytes(program: TracedProgram) -> Bytes:
    """What a program moves: parameters are its symbols that are no inputs, and its different constants."""
    symbols, constants, uses, made = 0, set(), 0, 0
    for node in program.nodes:
        if node.op == INPUT:
            symbols += node.args[0] not in program.inputs
            continue
        made += node.op != NEG
        for a in node.args:
            if type(a) is not Node:
                constants.add(a)
            elif a.op not in (INPUT, NEG):
                uses += 1
    return Bytes(
        inputs=REAL * sum(prod(shape) for shape in program.inputs.values()),
        outputs=REAL * len(program.results),
        parameters=REAL * (symbols + len(constants)),
        intermediate=REAL * (made + uses),
    )
