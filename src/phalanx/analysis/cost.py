# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Operations of a scalar program, and the longest path through it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..ir.ops import OPS
from ..ir.scalar import Node
from ..ir.trace import Program


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
class Cost(Count):
    """Operations of a program, by quantity and by body, and along its longest path."""

    span: Count = field(default_factory=Count)
    by_quantity: Mapping[str, Count] = field(default_factory=dict)
    by_link: Mapping[int, Count] = field(default_factory=dict)


def cost_of(program: Program) -> Cost:
    """The cost of a program: every live node once."""
    total = Count()
    quantities: dict[str, Count] = {}
    links: dict[int, Count] = {}
    for node in program.nodes:
        one = _count(node)
        total += one
        if one.total or one.trigonometric:
            quantities[node.quantity] = quantities.get(node.quantity, Count()) + one
            links[node.link] = links.get(node.link, Count()) + one
    return Cost(*total._all(), span(program.nodes), quantities, dict(sorted(links.items())))


def span(nodes: Iterable[Node]) -> Count:
    """Operations along the path with the most of them, each weighing one; operands first in `nodes`."""
    best: dict[int, Count] = {}
    longest = Count()
    for node in nodes:
        before = max((best[a.number] for a in node.args if type(a) is Node), key=_length, default=Count())
        best[node.number] = here = before + _count(node)
        longest = max(longest, here, key=_length)
    return longest


def _length(count: Count) -> int:
    return count.total + count.trigonometric


def _count(node: Node) -> Count:
    op = OPS[node.op]
    return Count(op.multiplications, op.additions, op.divisions, op.trigonometric)
