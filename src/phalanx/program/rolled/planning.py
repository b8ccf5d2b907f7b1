# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Plans the loops over bodies, and over pairs of bodies, that compute given scalars.

Loops are planned from the last to the first: each determines which values earlier ones must spill.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from ...errors import PhalanxError
from ..builder import template
from ..graph import Graph, live
from ..ir import Load, Program, Scalar
from ..ops import COS, INPUT, NEG, SELECT, SIN
from ..passes.fuse import fuse
from ..passes.order import nearest_first
from . import leaves as L
from .body_graph import LOCAL, BodyGraph, copied
from .stages.ancestor_loops import MatricesOut, SolvedOut
from .stages.bodies import END, LINKS
from .stages.columns import Columns
from .stages.factor import Factor, InverseOut, Solve
from .stages.levels import EliminationLevels, LevelStep
from .stages.loops import BodyLoop, Once
from .stages.matrices import AncestorPairs, MatrixOut
from .sweeps.elimination import Change, Elimination
from .sweeps.matrices import AncestorLoop, LoopedEntries, Matrix, Solved, Walks
from .sweeps.order import Rolled

Wanted = list[tuple[Any, L.Leaf]]  # values, each with its target
Leaf = Callable[[Graph, Scalar], Any]  # a node as a leaf of another graph; None if it is computed there


class LoopPlan(ABC):
    """Loops under construction: what plans of loops over bodies and over pairs have in common."""

    def __init__(self, graph: BodyGraph, order: Rolled) -> None:
        self.graph = graph
        self.order = order
        self.slots: dict[int, int] = {}
        self.saved: dict[int, int] = {}  # slot to the first loop that fills it
        self.in_loop: dict[int, Wanted] = defaultdict(list)
        self.in_link_loop: dict[int, Wanted] = defaultdict(list)  # after the loop over all bodies
        self.columns: dict[int, int] = {}  # of parameters that are read, to their columns in the table
        self.carried: set[int] = set()  # live carries

    @abstractmethod
    def common(self, x: Scalar) -> int:
        """Return the index of a uniform (a value per state) in its buffer; plan its computation."""

    @abstractmethod
    def _given(self, fresh: Graph, x: Scalar, phase: int, leaf: Leaf) -> Any:
        """Return the leaf of x if a loop reads it from tables or from slots of other loops, else None.

        `leaf` is the function that finds all leaves of the loop.
        """

    def slot(self, x: Scalar, before: int) -> int:
        """Return the spill slot of a value; its own phase fills it, or, if it is local, phase before - 1."""
        slot = self.slots.setdefault(x.number, len(self.slots))
        phase, linked = self.graph.phase(x), self.graph.linked(x)
        if phase == LOCAL:  # bodies recompute it; only rows read the slot
            phase, linked = before - 1, self.order.ends is not None
        if self.saved.get(slot, phase + 1) > phase:
            self.saved[slot] = phase
            self.wanted_in(phase, linked).append((x, L.SpillSlot(slot)))
        return slot

    def wanted_in(self, phase: int, linked: bool) -> Wanted:
        """Return the values to compute in the loop of a phase over all bodies, or over links (`linked`)."""
        return self.in_link_loop[phase] if linked else self.in_loop[phase]

    def _loop(self, phase: int, *, linked: bool = False) -> BodyLoop:
        wanted = self.wanted_in(phase, linked)
        roots: dict[int, Any] = {}
        code = self.code(wanted, self._leaf_in_loop(phase, wanted, roots))
        return BodyLoop(code, phase % 2 == 0, roots, LINKS if linked else None)

    def _leaf_in_loop(self, phase: int, wanted: Wanted, roots: dict[int, Any]) -> Leaf:
        """Return the function that finds the leaves of the loop of a phase; it may append to `wanted`."""

        def leaf(fresh: Graph, x: Scalar) -> Any:
            if self.graph.common(x):
                return fresh.leaf(L.Global(L.COMMONS, self.common(x)))
            if (given := self._given(fresh, x, phase, leaf)) is not None:
                return given
            if isinstance(x.leaf, L.CarriedLeaf) and self.graph.phase(x) == phase:
                self._want_carry(x.leaf.number, wanted, roots)
                return fresh.leaf(x.leaf)
            if x.op is INPUT or (LOCAL < self.graph.phase(x) < phase and x.op is not NEG):
                return fresh.leaf(L.SpillSlot(self.slot(x, phase)))
            return None

        return leaf

    def _want_carry(self, number: int, wanted: Wanted, roots: dict[int, Any]) -> None:
        if number in self.carried:
            return
        carry = self.order.carries[number]
        self.carried.add(number)
        wanted.append((carry.source, L.CarriedLeaf(number)))
        root = carry.root
        roots[number] = L.Global(L.COMMONS, self.common(root)) if isinstance(root, Scalar) else root

    def code(self, wanted: Wanted, leaf: Leaf) -> Program:
        """Return the template that computes the values of `wanted`, which `leaf` may extend meanwhile."""
        fresh = Graph()
        taken: dict[int, Any] = {}
        needed: dict[int, Scalar] = {}
        done = 0
        while done < len(wanted):
            stack = [wanted[done][0]]
            while stack:
                x = stack.pop()
                if not isinstance(x, Scalar) or x.number in taken or x.number in needed:
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
            args = [taken[a.number] if isinstance(a, Scalar) else a for a in node.args]
            fresh.quantity = node.quantity
            taken[number] = copied(fresh, node, args)
        results = [taken[x.number] if isinstance(x, Scalar) else float(x) for x, _ in wanted]
        made = nearest_first(fuse(template(results, [target for _, target in wanted])))
        for s in made.body:
            if type(s) is Load and isinstance(s.buffer, L.Param):
                self.columns.setdefault(s.buffer.column, len(self.columns))
        return made


# ------------------------------------------------------------------- columns


class ColumnPlan(LoopPlan):
    """Loops over pairs of bodies, the entries of a matrix such as the mass matrix, column by column."""

    def __init__(self, bodies: LoopPlan, before: int) -> None:
        super().__init__(bodies.graph, bodies.order)
        self.bodies = bodies
        self.columns = bodies.columns
        self.before = before
        self.sums: list[Program] = []
        self.kept: dict[int, int] = {}

    def planned(self, wanted: Wanted, shape: str, diagonal: Any = 0.0, instead: Any = None) -> Columns:
        """Return the loops that compute the values of `wanted`, in the order in which they run."""
        for value, target in wanted:
            self.in_loop[max(self.graph.phase(value), 0)].append((value, target))
        last = max(self.in_loop)
        loops = [self._loop(phase) for phase in range(last, -1, -1) if self.in_loop[phase]][::-1]
        stored = None
        if self.kept:
            values: Wanted = [(self.graph.nodes[x], L.StoredPair(k)) for x, k in self.kept.items()]
            stored = ColumnPlan(self.bodies, self.before).planned(values, shape)
        return Columns(diagonal, instead, loops, len(self.slots), shape, tuple(self.sums), stored)

    def common(self, x: Scalar) -> int:
        return self.bodies.common(x)

    def _given(self, fresh: Graph, x: Scalar, phase: int, leaf: Leaf) -> Any:
        found = x.leaf
        if isinstance(found, L.Gathered) and found.whose == L.DIAGONAL:
            return fresh.leaf(L.SpillSlot(self.slot(self.graph.nodes[found.node], phase), L.DIAGONAL))
        if isinstance(found, L.Gathered):
            slot = self.bodies.slot(self.graph.nodes[found.node], self.before)
            return fresh.leaf(L.SpillSlot(slot, found.whose))
        if isinstance(found, L.Param | L.Delta | L.SoFar):
            return fresh.leaf(found)
        if isinstance(found, L.PairThird):
            return fresh.leaf(L.StoredPair(self.kept.setdefault(found.node, len(self.kept)), found.side))
        if isinstance(found, L.Sum):
            self.sums.append(self.code([(self.order.sums[found.number], L.EntryLeaf())], leaf))
            return fresh.leaf(L.Sum(len(self.sums) - 1))
        return None


# ------------------------------------------------------------------- plan


class Plan(LoopPlan):
    """The stages of a rolled program under construction."""

    def __init__(self, graph: BodyGraph, order: Rolled) -> None:
        super().__init__(graph, order)
        self.commons: dict[Any, int] = {}
        self.turns: dict[int, list[Scalar]] = defaultdict(list)  # sin, cos by number of the angle
        self.in_once: dict[int, Wanted] = defaultdict(list)
        self.matrices: dict[int, list[Any]] = defaultdict(list)
        self.eliminations: set[int] = set()  # those that are needed
        self.in_runs = False  # whether matrices over pairs are those of one state, several ancestors at once

    # ------------------------------------------------------------------ requested values

    def output(self, value: Any, target: L.Leaf) -> None:
        """Plan to write a value per body, or per state, to the output."""
        stages = self.in_once if isinstance(target, L.Global) else self.in_loop
        stages[max(self.graph.phase(value), 0)].append((value, target))

    def slot(self, x: Scalar, before: int) -> int:
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

    def common(self, x: Scalar) -> int:
        """Return the index of a uniform (a value per state) in its buffer; plan its computation."""
        if x.number not in self.commons:
            self.commons[x.number] = len(self.commons)
            self.in_once[max(self.graph.phase(x), 0)].append((x, L.Global(L.COMMONS, self.commons[x.number])))
        return self.commons[x.number]

    def total(self, number: int) -> int:
        """Return the index of a sum over all bodies in the buffer of uniforms; plan its computation."""
        if ("total", number) not in self.commons:
            self.commons["total", number] = len(self.commons)
            value, phase = self.order.totals[number]
            self.in_loop[phase].append((value, L.Total(self.commons["total", number])))
        return self.commons["total", number]

    def turned(self, turn: Scalar) -> int:
        """Return the spill slot of a sine or cosine, computed in a loop before all others."""
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
        """Return the first loop, which stores the sines and cosines of all joint angles; None without any."""
        wanted: Wanted = []
        for nodes in self.turns.values():
            sine, cosine = (
                next((self.slots[x.number] for x in nodes if x.op is op), None) for op in (SIN, COS)
            )
            wanted.append((nodes[0].args[0], L.Angle(sine, cosine, nodes[0].quantity)))
        return BodyLoop(self.code(wanted, self._leaf_in_loop(0, wanted, {}))) if wanted else None

    def _once(self, phase: int) -> Once:
        def leaf(fresh: Graph, x: Scalar) -> Any:
            if isinstance(x.leaf, L.Total):
                return fresh.leaf(L.Global(L.COMMONS, self.total(x.leaf.number)))
            if isinstance(x.leaf, L.Pick):
                value, body = self.order.picks[x.leaf.number]
                return fresh.leaf(L.SpillSlot(self.slot(value, 1), body))
            return None if x.leaf is None else fresh.leaf(x.leaf)

        return Once(self.code(self.in_once[phase], leaf))

    def _given(self, fresh: Graph, x: Scalar, phase: int, leaf: Leaf) -> Any:
        if x.op in (SIN, COS):
            return fresh.leaf(L.SpillSlot(self.turned(x)))
        if isinstance(x.leaf, L.Gathered) and x.leaf.whose != L.BODY:
            whose = END if x.leaf.whose == L.LINK else x.leaf.whose
            return fresh.leaf(L.SpillSlot(self.slot(self.graph.nodes[x.leaf.node], phase), whose))
        return fresh.leaf(x.leaf) if isinstance(x.leaf, L.Param | L.State) else None

    def _leaf_outside(self, before: int) -> Leaf:
        """Return the function that finds what elimination steps and ancestor loops read of earlier loops."""

        def leaf(fresh: Graph, x: Scalar) -> Any:
            if self.graph.common(x):
                return fresh.leaf(L.Global(L.COMMONS, self.common(x)))
            if isinstance(x.leaf, L.Gathered):
                return fresh.leaf(L.SpillSlot(self.slot(self.graph.nodes[x.leaf.node], before), x.leaf.whose))
            return None if x.leaf is None else fresh.leaf(x.leaf)

        return leaf

    # ------------------------------------------------------------------ eliminations level by level

    def _elimination(self, E: Elimination) -> EliminationLevels:
        """Return the loops of an elimination; plan earlier loops to store its initial values."""
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
            change.rows, change.offsets, self.code(changed, self._leaf_outside(E.phase)), change.carrier
        )

    # ------------------------------------------------------------------ matrices

    def matrix_output(self, matrix: Matrix) -> None:
        """Plan the stage that writes a matrix to the output."""
        self.matrices[matrix.walk.phase].append(MatrixOut(self.pairs(matrix)))

    def matrices_output(self, matrices: list[Matrix], names: list[str]) -> None:
        """Plan the stage that writes several matrices, filled by the same loops, to outputs by name."""
        phase = matrices[0].walk.phase
        added = {name: self._diagonal(matrix)[0] for name, matrix in zip(names, matrices, strict=True)}
        self.matrices[phase].append(MatricesOut(*self._walks(matrices), added))

    def solved_output(self, solved: list[Solved], names: list[str]) -> None:
        """Plan the stage that writes -M^-1 A for several matrices A, and M^-1, which has the last name."""
        assert all(each.negative and each.matrix is solved[0].matrix for each in solved)
        assert any(matrix is solved[0].matrix for matrix, _ in self.order.solves)  # which factors it
        matrices = [each.columns for each in solved]
        stage = SolvedOut(*self._walks(matrices), names[:-1])
        self.matrices[matrices[0].walk.phase] += [stage, InverseOut(names[-1])]

    def _walks(self, matrices: list[Matrix]) -> tuple[list[Any], Program]:
        """Return the initial values of the ancestor loops that fill some matrices, and the code of a step."""
        loop = matrices[0].walk
        assert isinstance(loop, Walks)
        assert all(matrix.walk is loop for matrix in matrices)
        every = len(loop.entries) // 2
        return self._walk(loop, [x for matrix in matrices for x in loop.entries[matrix.number :: every]])

    def inverse_output(self, matrix: Matrix) -> None:
        """Plan the stages that factor a matrix and write its inverse to the output."""
        self.matrices[matrix.walk.phase] += [Factor(self.pairs(matrix)), InverseOut()]

    def _solves(self, phase: int, made: list[Any]) -> None:
        """Append the stages of the linear systems whose solutions are known in a phase."""
        for number, (matrix, value) in enumerate(self.order.solves):
            node = self.graph.leaf(L.SolutionLeaf(number))
            if self.graph.phase(node) == phase and node.number in self.slots:
                slot = self.slots[node.number]
                made.append(Solve(self._kept(value, phase), slot))
                made.append(Factor(self.pairs(matrix)))

    def _kept(self, value: Any, before: int) -> Any:
        return self.slot(value, before) if isinstance(value, Scalar) else value

    def pairs(self, matrix: Matrix) -> AncestorPairs | Columns:
        loop = matrix.walk
        if isinstance(loop, LoopedEntries) and self.in_runs:
            return AncestorPairs(*self._diagonal(matrix), *self._as_walk(loop), runs=True)
        if isinstance(loop, LoopedEntries):
            inner = ColumnPlan(self, loop.phase)
            return inner.planned([(loop.entry, L.EntryLeaf())], loop.shape, *self._diagonal(matrix))
        assert isinstance(loop, AncestorLoop)
        return AncestorPairs(*self._diagonal(matrix), *self._walk(loop, [loop.entry]), loop.runs)

    def _walk(self, loop: AncestorLoop | Walks, entries: list[Any]) -> tuple[list[Any], Program]:
        """Return the initial values of an ancestor loop, and the code of a step: carried values, entries."""
        start = [self._kept(x, loop.phase) for x in loop.start]
        wanted: Wanted = [(x, L.Walked(k)) for k, x in enumerate(loop.carried)]
        wanted += [(x, L.EntryLeaf()) for x in entries]
        return start, self.code(wanted, self._leaf_outside(loop.phase))

    def _as_walk(self, loop: LoopedEntries) -> tuple[list[Any], Program]:
        """As `_walk`, of entries that loops over pairs compute row by row, along the ancestors of the row.

        A pair selects what its row begins with, or joins what arrives from the pair before it: along
        ancestors, what leaves a body is joined with the values of the next one.
        """
        graph, carries = self.graph, self.order.carries
        found = [x.leaf.number for x in live([loop.entry]) if isinstance(x.leaf, L.CarriedLeaf)]
        walked = {number: k for k, number in enumerate(found)}
        here = {carries[number].source.number: k for number, k in walked.items()}
        for number in found:  # what is carried on may depend on more
            for x in live([carries[number].source]):
                if isinstance(x.leaf, L.CarriedLeaf) and x.leaf.number not in walked:
                    walked[x.leaf.number] = len(walked)
                    here[carries[x.leaf.number].source.number] = walked[x.leaf.number]
                    found.append(x.leaf.number)
        choices = [carries[number].source for number in walked]
        if loop.shape != "rows" or not all(_begins(x) for x in choices):
            raise PhalanxError("segments: these pairs do not go along ancestors; leave `batch` out.")

        def leaf(whose: str, known: dict[int, int]) -> Leaf:
            def one(fresh: Graph, x: Scalar) -> Any:
                if x.number in known:
                    return fresh.leaf(L.Walked(known[x.number]))
                if graph.common(x):
                    return fresh.leaf(L.Global(L.COMMONS, self.common(x)))
                if isinstance(x.leaf, L.Param | L.Gathered) and x.leaf.whose != L.COLUMN:
                    raise PhalanxError("segments: a pair needs its row on the way; leave `batch` out.")
                if isinstance(x.leaf, L.Gathered):
                    return fresh.leaf(L.SpillSlot(self.slot(graph.nodes[x.leaf.node], loop.phase), whose))
                return fresh.leaf(L.Param(x.leaf.column, whose)) if isinstance(x.leaf, L.Param) else None

            return one

        start = [self._kept(self._of_row(x.args[1]), loop.phase) for x in choices]
        arrives = {graph.leaf(L.CarriedLeaf(number)).number: k for number, k in walked.items()}
        carried: Wanted = [(x.args[2], L.Walked(k)) for k, x in enumerate(choices)]
        first = self.code(carried, leaf(L.NEXT, arrives))
        last = self.code([(loop.entry, L.EntryLeaf())], leaf(L.THERE, here))
        return start, Program((), (), (*first.values, *last.values, *first.stores, *last.stores))

    def _of_row(self, x: Any) -> Any:
        """The scalar of a body that a pair reads as that of its row."""
        if not isinstance(x, Scalar):
            return x
        leaf = x.leaf
        return (
            self.graph.leaf(L.Param(leaf.column))
            if isinstance(leaf, L.Param)
            else self.graph.nodes[leaf.node]
        )

    def _diagonal(self, matrix: Matrix) -> tuple[Any, Any]:
        """Return what is added to the diagonal of a matrix, and what replaces it before that, or None."""
        before = matrix.walk.phase
        added = self._kept(matrix.diagonal, before)
        return added, None if matrix.instead is None else self._kept(matrix.instead, before)


def _begins(x: Any) -> bool:
    """Whether x is a value of the row of a pair on the diagonal, else another one."""
    if not isinstance(x, Scalar) or x.op is not SELECT or not isinstance(x.args[0].leaf, L.Delta):
        return False
    start = x.args[1]
    return not isinstance(start, Scalar) or getattr(start.leaf, "whose", None) == L.ROW
