# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From the scalars of one body to loops: which value is computed in which loop, and what is kept between.

Loops are planned from the last to the first, since each tells what the earlier ones must keep.
What depends on a body's parameters and inputs alone is computed again wherever it is needed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ...errors import PhalanxError
from ..ops import COS, INPUT, NEG, SIN
from ..rewrite import Code, instructions
from ..scalar import Graph, Node
from ..trace import Program
from .graph import LOCAL, BodyGraph, LoopGraph, copied
from .order import Matrix, Rolled, Walk
from .program import Factor, InverseOut, Loop, MatrixOut, Once, Pairs, Solve

Wanted = list[tuple[Any, tuple[Any, ...]]]


class Plan:
    """Stages under construction."""

    def __init__(self, graph: BodyGraph, order: Rolled) -> None:
        self.graph = graph
        self.order = order
        self.slots: dict[int, int] = {}
        self.saved: dict[int, int] = {}  # slot to the first loop that fills it
        self.commons: dict[Any, int] = {}
        self.angles: dict[int, int] = {}
        self.in_loop: dict[int, Wanted] = defaultdict(list)
        self.in_once: dict[int, Wanted] = defaultdict(list)
        self.matrices: dict[int, list[Any]] = defaultdict(list)
        self.angle_nodes: list[Node] = []
        self.carried: dict[int, bool] = {}  # live carries: whether outward

    # ------------------------------------------------------------------ what is wanted

    def output(self, value: Any, target: tuple[Any, ...]) -> None:
        """Want a value per body in the output."""
        self.in_loop[max(self.graph.phase(value), 0)].append((value, target))

    def common_output(self, value: Any, position: int) -> None:
        """Want a value per state in the output."""
        self.in_once[max(self.graph.phase(value), 0)].append((value, ("out", position)))

    def slot(self, x: Node, before: int) -> int:
        """The slot that keeps a value per body for what runs before the loop of a later phase."""
        slot = self.slots.setdefault(x.number, len(self.slots))
        if x.op is INPUT and x.args[0] == "solution":
            return slot
        phase = self.graph.phase(x)
        phase = before - 1 if phase == LOCAL else phase
        if self.saved.get(slot, phase + 1) > phase:
            self.saved[slot] = phase
            self.in_loop[phase].append((x, ("save", slot)))
        return slot

    def common(self, x: Node) -> int:
        """The number of a value per state."""
        if x.number not in self.commons:
            self.commons[x.number] = len(self.commons)
            self.in_once[max(self.graph.phase(x), 0)].append((x, ("common", self.commons[x.number])))
        return self.commons[x.number]

    def total(self, number: int) -> int:
        """The number of a sum over all bodies."""
        if ("total", number) not in self.commons:
            self.commons["total", number] = len(self.commons)
            value, phase = self.order.totals[number]
            self.in_loop[phase].append((value, ("total", self.commons["total", number])))
        return self.commons["total", number]

    def angle(self, x: Node) -> int:
        """The number of an angle whose sine and cosine are taken before all loops."""
        if self.graph.phase(x) != LOCAL:
            raise PhalanxError(
                "rolled code: the angle of a joint depends on other bodies; use the NumPy backend."
            )
        if x.number not in self.angles:
            self.angles[x.number] = len(self.angles)
            self.angle_nodes.append(x)
        return self.angles[x.number]

    # ------------------------------------------------------------------ stages

    def stages(self) -> list[Any]:
        """All stages in the order in which they run."""
        last = max([*self.in_loop, *self.in_once, *self.matrices, 0])
        last = max([last, *(p + 1 for _, p in self.order.totals)])
        made: list[Any] = []
        for phase in range(last, -1, -1):
            if self.in_loop[phase]:
                made.append(self._loop(phase))
            made += reversed(self.matrices[phase])
            self._solves(phase, made)
            if self.in_once[phase]:
                made.append(self._once(phase))
        if self.angle_nodes:
            wanted: Wanted = [(x, ("angle", k)) for k, x in enumerate(self.angle_nodes)]
            code, targets = self.code(wanted, self._leaf_in_loop(0, wanted, {}))
            made.append(Loop(code, targets))
        return made[::-1]

    def _loop(self, phase: int) -> Loop:
        wanted = self.in_loop[phase]
        roots: dict[int, Any] = {}
        code, targets = self.code(wanted, self._leaf_in_loop(phase, wanted, roots))
        return Loop(code, targets, phase % 2 == 0, roots)

    def _once(self, phase: int) -> Once:
        def leaf(fresh: Graph, x: Node) -> Any:
            if x.op is not INPUT:
                return None
            if x.args[0] == "total":
                return fresh.leaf("common", self.total(x.args[1]))
            if x.args[0] == "pick":
                value, body = self.order.picks[x.args[1]]
                return fresh.leaf("at", self.slot(value, 1), body)
            return fresh.leaf(*x.args)

        return Once(*self.code(self.in_once[phase], leaf))

    def _leaf_in_loop(
        self, phase: int, wanted: Wanted, roots: dict[int, Any]
    ) -> Callable[[Graph, Node], Any]:
        """What the loop of a phase takes from elsewhere; it may want more on the way."""

        def leaf(fresh: Graph, x: Node) -> Any:
            if self.graph.common(x):
                return fresh.leaf("common", self.common(x))
            if x.op in (SIN, COS):
                return fresh.leaf("sine" if x.op is SIN else "cosine", self.angle(x.args[0]))
            if x.op is INPUT and x.args[0] in ("param", "state"):
                return fresh.leaf(*x.args)
            if x.op is INPUT and x.args[0] == "carry" and self.graph.phase(x) == phase:
                self._want_carry(x.args[1], wanted, roots)
                return fresh.leaf(*x.args)
            if x.op is INPUT or (LOCAL < self.graph.phase(x) < phase and x.op is not NEG):
                return fresh.leaf("load", self.slot(x, phase))
            return None

        return leaf

    def _want_carry(self, number: int, wanted: Wanted, roots: dict[int, Any]) -> None:
        if number in self.carried:
            return
        carry = self.order.carries[number]
        self.carried[number] = carry.outward
        wanted.append((carry.source, ("carry", number)))
        root = carry.root
        roots[number] = ("common", self.common(root)) if type(root) is Node else root

    def code(self, wanted: Wanted, leaf: Callable[[Graph, Node], Any]) -> tuple[Code, list[tuple[Any, ...]]]:
        """The instructions for what is wanted, and where each result goes."""
        fresh = LoopGraph()
        taken: dict[int, Any] = {}
        needed: dict[int, Node] = {}
        done = 0
        while done < len(wanted):
            stack = [wanted[done][0]]
            while stack:
                x = stack.pop()
                if type(x) is not Node or x.number in taken or x.number in needed:
                    continue
                found = leaf(fresh, x)
                if found is None:
                    needed[x.number] = x
                    stack += x.args
                else:
                    taken[x.number] = found
            done += 1
        for number in sorted(needed):
            node = needed[number]
            args = [taken[a.number] if type(a) is Node else a for a in node.args]
            taken[number] = copied(fresh, node, args)
        results = [taken[x.number] if type(x) is Node else float(x) for x, _ in wanted]
        return instructions(Program({}, (), results)), [target for _, target in wanted]

    # ------------------------------------------------------------------ matrices

    def matrix_output(self, matrix: Matrix) -> None:
        """Want a matrix in the output."""
        self.matrices[matrix.walk.phase].append(MatrixOut(self.pairs(matrix)))

    def inverse_output(self, matrix: Matrix) -> None:
        """Want the inverse of a matrix in the output."""
        self.matrices[matrix.walk.phase] += [Factor(self.pairs(matrix)), InverseOut()]

    def _solves(self, phase: int, made: list[Any]) -> None:
        """The solutions that are ready in a phase."""
        for number, (matrix, value) in enumerate(self.order.solves):
            node = self.graph.leaf("solution", number)
            if self.graph.phase(node) == phase and node.number in self.slots:
                slot = self.slots[node.number]
                made.append(Solve(self._kept(value, phase), slot))
                made.append(Factor(self.pairs(matrix)))

    def _kept(self, value: Any, before: int) -> Any:
        return self.slot(value, before) if type(value) is Node else value

    def pairs(self, matrix: Matrix) -> Pairs:
        walk: Walk = matrix.walk
        start = [self._kept(x, walk.phase) for x in walk.start]

        def leaf(fresh: Graph, x: Node) -> Any:
            if self.graph.common(x):
                return fresh.leaf("common", self.common(x))
            if x.op is not INPUT:
                return None
            if x.args[0] == "there":
                return fresh.leaf("load", self.slot(self.graph.nodes[x.args[1]], walk.phase))
            return fresh.leaf("param", x.args[1]) if x.args[0] == "param there" else fresh.leaf(*x.args)

        wanted: Wanted = [(x, ("walk", k)) for k, x in enumerate(walk.carried)]
        wanted.append((walk.entry, ("entry",)))
        code, _ = self.code(wanted, leaf)
        return Pairs(start, code, self._kept(matrix.diagonal, walk.phase))
