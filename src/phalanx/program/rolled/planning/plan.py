# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From the scalars of one body to loops: which value is computed in which loop, and what is kept between.

Loops are planned from the last to the first, since each tells what the earlier ones must keep.
What depends on a body's parameters and inputs alone is computed again wherever it is needed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ....errors import PhalanxError
from ...ops import COS, SIN
from ...rewrite import Code
from ...scalar import Graph, Node
from .. import leaves as L
from ..graph import LOCAL, BodyGraph
from ..stages.ancestor_loops import MatricesOut, SolvedOut
from ..stages.bodies import END
from ..stages.columns import Columns
from ..stages.factor import Factor, InverseOut, Solve
from ..stages.levels import EliminationLevels, LevelStep
from ..stages.loops import BodyLoop, Once
from ..stages.matrices import AncestorPairs, MatrixOut
from ..sweeps.elimination import Change, Elimination
from ..sweeps.matrices import AncestorLoop, LoopedEntries, Matrix, Solved, Walks
from ..sweeps.order import Rolled
from .columns import ColumnPlan
from .loops import Leaf, LoopPlan, Wanted


class Plan(LoopPlan):
    """Stages under construction."""

    def __init__(self, graph: BodyGraph, order: Rolled) -> None:
        super().__init__(graph, order)
        self.commons: dict[Any, int] = {}
        self.turns: dict[int, list[Node]] = defaultdict(list)  # by the number of their angle
        self.in_once: dict[int, Wanted] = defaultdict(list)
        self.matrices: dict[int, list[Any]] = defaultdict(list)
        self.eliminations: set[int] = set()  # those that are needed

    # ------------------------------------------------------------------ what is wanted

    def output(self, value: Any, target: L.Leaf) -> None:
        """Want a value per body, or one per state, in the output."""
        stages = self.in_once if isinstance(target, L.Global) else self.in_loop
        stages[max(self.graph.phase(value), 0)].append((value, target))

    def slot(self, x: Node, before: int) -> int:
        if x.op in (SIN, COS):
            return self.turned(x)
        leaf = x.leaf
        if isinstance(leaf, L.Gathered) and leaf.whose in (L.BODY, L.OWN):
            return self.slot(self.graph.nodes[leaf.node], before)
        if isinstance(leaf, L.Variable | L.EliminationResult):
            self.eliminations.add(leaf.elimination)
            x = x if isinstance(leaf, L.Variable) else self.graph.nodes[leaf.variable]
        elif not isinstance(leaf, L.SolutionLeaf):
            return super().slot(x, before)
        return self.slots.setdefault(x.number, len(self.slots))

    def common(self, x: Node) -> int:
        """The number of a value per state."""
        if x.number not in self.commons:
            self.commons[x.number] = len(self.commons)
            self.in_once[max(self.graph.phase(x), 0)].append((x, L.Global(L.COMMONS, self.commons[x.number])))
        return self.commons[x.number]

    def total(self, number: int) -> int:
        """The number of a sum over all bodies."""
        if ("total", number) not in self.commons:
            self.commons["total", number] = len(self.commons)
            value, phase = self.order.totals[number]
            self.in_loop[phase].append((value, L.Total(self.commons["total", number])))
        return self.commons["total", number]

    def turned(self, turn: Node) -> int:
        """The slot of a sine or cosine, which is taken before all loops."""
        x = turn.args[0]
        if self.graph.phase(x) != LOCAL:
            raise PhalanxError(
                "rolled code: the angle of a joint depends on other bodies; use the NumPy backend."
            )
        if turn.number not in self.slots:
            self.turns[x.number].append(turn)
        return self.slots.setdefault(turn.number, len(self.slots))

    # ------------------------------------------------------------------ stages

    def stages(self) -> list[Any]:
        """All stages in the order in which they run."""
        last = max([*self.in_loop, *self.in_link_loop, *self.in_once, *self.matrices, 0])
        last = max([last, *(E.phase for E in self.order.eliminations)])
        last = max([last, *(p + 1 for _, p in self.order.totals)])
        made: list[Any] = []
        for phase in range(last, -1, -1):
            if self.in_link_loop[phase]:
                made.append(self._loop(phase, linked=True))
            if self.in_loop[phase]:
                made.append(self._loop(phase))
            made += reversed(self.matrices[phase])
            self._solves(phase, made)
            for E in self.order.eliminations[::-1]:
                if E.phase == phase and E.number in self.eliminations:
                    made.append(self._elimination(E))
            if self.in_once[phase]:
                made.append(self._once(phase))
        if (angles := self.angle_loop()) is not None:
            made.append(angles)
        return made[::-1]

    def angle_loop(self) -> BodyLoop | None:
        """The loop that comes first and takes the angles of all joints."""
        wanted: Wanted = []
        for turns in self.turns.values():
            sine, cosine = (
                next((self.slots[x.number] for x in turns if x.op is op), None) for op in (SIN, COS)
            )
            wanted.append((turns[0].args[0], L.Angle(sine, cosine, turns[0].quantity)))
        return BodyLoop(*self.code(wanted, self._leaf_in_loop(0, wanted, {}))) if wanted else None

    def _once(self, phase: int) -> Once:
        def leaf(fresh: Graph, x: Node) -> Any:
            if isinstance(x.leaf, L.Total):
                return fresh.leaf(L.Global(L.COMMONS, self.total(x.leaf.number)))
            if isinstance(x.leaf, L.Pick):
                value, body = self.order.picks[x.leaf.number]
                return fresh.leaf(L.SpillSlot(self.slot(value, 1), body))
            return None if x.leaf is None else fresh.leaf(x.leaf)

        return Once(*self.code(self.in_once[phase], leaf))

    def _given(self, fresh: Graph, x: Node, phase: int, leaf: Leaf) -> Any:
        if x.op in (SIN, COS):
            return fresh.leaf(L.SpillSlot(self.turned(x)))
        if isinstance(x.leaf, L.Gathered) and x.leaf.whose != L.BODY:
            whose = END if x.leaf.whose == L.LINK else x.leaf.whose
            return fresh.leaf(L.SpillSlot(self.slot(self.graph.nodes[x.leaf.node], phase), whose))
        return fresh.leaf(x.leaf) if isinstance(x.leaf, L.Param | L.State) else None

    def _leaf_outside(self, before: int) -> Leaf:
        """What steps and walks take from loops over bodies that ran before a phase."""

        def leaf(fresh: Graph, x: Node) -> Any:
            if self.graph.common(x):
                return fresh.leaf(L.Global(L.COMMONS, self.common(x)))
            if isinstance(x.leaf, L.Gathered):
                return fresh.leaf(L.SpillSlot(self.slot(self.graph.nodes[x.leaf.node], before), x.leaf.whose))
            return None if x.leaf is None else fresh.leaf(x.leaf)

        return leaf

    # ------------------------------------------------------------------ rows that go level by level

    def _elimination(self, E: Elimination) -> EliminationLevels:
        """The loops of an elimination; what it starts from is kept by earlier loops."""
        steps, last = self._steps(E, E.steps), self._steps(E, E.last)
        for variable, value in E.initial:
            phase = self.graph.phase(value) if not self.graph.common(value) else LOCAL
            phase = E.phase - 1 if phase == LOCAL else phase
            self.wanted_in(phase, E.linked).append((value, L.SpillSlot(self.slot(variable, E.phase))))
        return EliminationLevels(self._steps(E, E.before), self._steps(E, E.start), steps, last, E.outward)

    def _steps(self, E: Elimination, changes: list[Change]) -> list[LevelStep]:
        return [self._step(E, change) for change in changes]

    def _step(self, E: Elimination, change: Change) -> LevelStep:
        changed: Wanted = [
            (value, L.SpillSlot(self.slot(variable, E.phase), operand))
            for value, variable, operand in change.values
        ]
        return LevelStep(
            change.rows, change.offsets, *self.code(changed, self._leaf_outside(E.phase)), change.carrier
        )

    # ------------------------------------------------------------------ matrices

    def matrix_output(self, matrix: Matrix) -> None:
        """Want a matrix in the output."""
        self.matrices[matrix.walk.phase].append(MatrixOut(self.pairs(matrix)))

    def matrices_output(self, matrices: list[Matrix], names: list[str]) -> None:
        """Want several matrices that the same walks fill in outputs of some names."""
        walks = matrices[0].walk
        added = {name: self._diagonal(matrix)[0] for name, matrix in zip(names, matrices, strict=True)}
        self.matrices[walks.phase].append(MatricesOut(*self._walks(matrices), added))

    def solved_output(self, solved: list[Solved], names: list[str]) -> None:
        """Want -M^-1 A for several matrices A that the same walks fill, and M^-1, which has the last name."""
        assert all(each.negative and each.matrix is solved[0].matrix for each in solved)
        assert any(matrix is solved[0].matrix for matrix, _ in self.order.solves)  # which factors it
        matrices = [each.columns for each in solved]
        stage = SolvedOut(*self._walks(matrices), names[:-1])
        self.matrices[matrices[0].walk.phase] += [stage, InverseOut(names[-1])]

    def _walks(self, matrices: list[Matrix]) -> tuple[list[Any], Code]:
        """What the walks start with that fill some matrices, and the code of a step."""
        walks = matrices[0].walk
        assert isinstance(walks, Walks)
        assert all(matrix.walk is walks for matrix in matrices)
        every = len(walks.entries) // 2
        return self._walk(walks, [x for matrix in matrices for x in walks.entries[matrix.number :: every]])

    def inverse_output(self, matrix: Matrix) -> None:
        """Want the inverse of a matrix in the output."""
        self.matrices[matrix.walk.phase] += [Factor(self.pairs(matrix)), InverseOut()]

    def _solves(self, phase: int, made: list[Any]) -> None:
        """The solutions that are ready in a phase."""
        for number, (matrix, value) in enumerate(self.order.solves):
            node = self.graph.leaf(L.SolutionLeaf(number))
            if self.graph.phase(node) == phase and node.number in self.slots:
                slot = self.slots[node.number]
                made.append(Solve(self._kept(value, phase), slot))
                made.append(Factor(self.pairs(matrix)))

    def _kept(self, value: Any, before: int) -> Any:
        return self.slot(value, before) if type(value) is Node else value

    def pairs(self, matrix: Matrix) -> AncestorPairs | Columns:
        walk = matrix.walk
        if isinstance(walk, LoopedEntries):
            inner = ColumnPlan(self, walk.phase)
            return inner.planned([(walk.entry, L.EntryLeaf())], walk.shape, *self._diagonal(matrix))
        assert isinstance(walk, AncestorLoop)
        return AncestorPairs(*self._diagonal(matrix), *self._walk(walk, [walk.entry]), walk.runs)

    def _walk(self, walk: AncestorLoop | Walks, entries: list[Any]) -> tuple[list[Any], Code]:
        """What a walk starts with, and the code of a step: what is carried on, then entries."""
        start = [self._kept(x, walk.phase) for x in walk.start]
        wanted: Wanted = [(x, L.Walked(k)) for k, x in enumerate(walk.carried)]
        wanted += [(x, L.EntryLeaf()) for x in entries]
        return start, self.code(wanted, self._leaf_outside(walk.phase))[0]

    def _diagonal(self, matrix: Matrix) -> tuple[Any, Any]:
        """What is added on the diagonal, and what stands there before."""
        before = matrix.walk.phase
        added = self._kept(matrix.diagonal, before)
        return added, None if matrix.instead is None else self._kept(matrix.instead, before)
