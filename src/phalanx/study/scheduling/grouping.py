# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Scalars gathered into vector operations or equations so that no two tasks wait for each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence, Set
from typing import NamedTuple

from ...program.ops import ADD, MUL, SUB

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

    Any other operation is a coordinate by itself. Sums of products and other things stay apart,
    because what comes late may enter last.
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
