# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Impulses of contacts, joint limits and dry friction in a step: Coulomb's law, solved without relaxation.

With impulses p and velocities v = G p + b of the rows of all contacts and joints:

    contact   0 <= p_n, 0 <= v_n, p_n v_n = 0; |p_t| <= mu p_n, and p_t = -mu p_n v_t / |v_t| where it slides
    limits    low <= v <= high; p > 0 where v = low, p < 0 where v = high
    friction  |p| <= most, and p = -most sign(v) where it moves

An iteration is a sweep of Gauss-Seidel over contacts, each solved in three dimensions, and then a step of
Newton's method for the modes that it has found (separate, stick, slide), kept where it leaves less. Newton's
matrix is that of Alart and Curnier, "A mixed formulation for frictional contact problems prone to Newton like
solution methods", 1991. Redundant contacts have a matrix that is singular but for a small diagonal, with
which steps are proximal: velocities are exact nevertheless.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..algorithms.banded.semidefinite import PartlyEliminated
from ..program.graph import Graph
from ..program.ir import Scalar

ITERATIONS = 60  # at most
# Of velocities, times the sum of those without impulses; in double precision and in single.
TOLERANCES = 1e-13, 1e-5
SOFTER = 1e8, 10.0  # times the tolerance, where iterations gain little
SWEEPS = 3  # contacts beyond two for which an iteration sweeps once more
PROXIMAL = 1e-8, 1e-4  # of the mean diagonal entry of a block
TINY = 1e-36
_UNKNOWN = 1e300  # a residual before the first iteration


@dataclass(frozen=True)
class Layout:
    """How many contacts there are (three rows each: normal, two tangents), limits and frictions (a row)."""

    contacts: int
    limits: int = 0
    frictions: int = 0
    single: bool = False  # whether numbers have single precision

    @property
    def proximal(self) -> float:
        """The part of the mean diagonal entry of a block that is added to its diagonal."""
        return PROXIMAL[self.single]

    @property
    def tolerance(self) -> float:
        """The residual at a solution, of the sum of velocities without impulses."""
        return TOLERANCES[self.single]

    @property
    def rows(self) -> int:
        return 3 * self.contacts + self.limits + self.frictions


@dataclass(frozen=True)
class ImpulseProblem:
    """The numbers of a problem, on one graph: G (m, m), friction (contacts,), limits and frictions."""

    layout: Layout
    G: np.ndarray
    friction: np.ndarray
    low: np.ndarray
    high: np.ndarray
    most: np.ndarray  # impulses of dry friction

    def packed(self) -> np.ndarray:
        """All of them in one row."""
        m = self.layout.rows
        return np.concatenate(
            [self.G[np.triu_indices(m)], self.friction, self.low, self.high, self.most]
        ).astype(object)

    @classmethod
    def unpacked(cls, layout: Layout, flat: np.ndarray) -> ImpulseProblem:
        """A problem from one row."""
        m = layout.rows
        G, upper = np.empty((m, m), dtype=object), np.triu_indices(m)  # noqa: N806
        sizes = [len(upper[0]), layout.contacts, layout.limits, layout.limits, layout.frictions]
        parts = np.split(flat, np.cumsum(sizes)[:-1])
        G[upper] = parts[0]
        G.T[upper] = parts[0]
        return cls(layout, G, *parts[1:])


class ImpulseLaw:
    """Coulomb's law and its like as equations, and their derivatives."""

    def __init__(self, graph: Graph, problem: ImpulseProblem, proximal: float) -> None:
        self.graph, self.problem = graph, problem
        layout, G = problem.layout, problem.G  # noqa: N806
        self.blocks = [slice(3 * i, 3 * i + 3) for i in range(layout.contacts)]
        self.limits = range(3 * layout.contacts, 3 * layout.contacts + layout.limits)
        self.frictions = range(3 * layout.contacts + layout.limits, layout.rows)
        self.proximal = np.zeros(layout.rows, dtype=object)
        self.scale = np.zeros(layout.rows, dtype=object)  # impulse by velocity
        for block in self.blocks:
            n, a, b = (G[k, k] for k in range(block.start, block.stop))
            small = (n + a + b) * (proximal / 3.0)
            self.proximal[block] = small
            across = 1.0 / (a + b + small + TINY)
            self.scale[block] = 1.0 / (n + small + TINY), across, across
        for k in (*self.limits, *self.frictions):
            self.proximal[k] = G[k, k] * proximal
            self.scale[k] = 1.0 / (G[k, k] + TINY)

    # ------------------------------------------------------------------- one block

    def _length(self, x: Any, y: Any) -> Any:
        return self.graph.sqrt(self.graph.maximum(x * x + y * y, TINY))

    def swept(self, p: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Impulses and velocities after a sweep over all blocks, each with the others held."""
        p, v = p.copy(), v.copy()
        G = self.problem.G  # noqa: N806
        for i, block in enumerate(self.blocks):
            new = self._contact(i, p[block], v[block])
            change = new - p[block]
            p[block] = new
            v = v + G[:, block] @ change
        for k in (*self.limits, *self.frictions):
            change = self._joint(k, p[k], v[k]) - p[k]
            p[k] = p[k] + change
            v = v + G[:, k] * change
        return p, v

    def _contact(self, i: int, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The impulse of one contact, by the velocities that the others cause."""
        g, block, mu = self.graph, self.blocks[i], self.problem.friction[i]
        own = self.problem.G[block, block]
        c = v - own @ p
        sticking = -_solved(own + np.diag(self.proximal[block]), c)
        across = sticking[1] * sticking[1] + sticking[2] * sticking[2]
        cone = mu * g.maximum(sticking[0], 0.0)
        sticks = 1.0 - g.less(cone * cone, across)
        sticks = g.choose(g.less(0.0, sticking[0]), sticks, 0.0)
        # What slides does so against its last direction, turned towards the velocity that follows.
        towards = p[1:] - v[1:] * self.scale[block][1]
        direction = towards * (1.0 / self._length(*towards))
        resisting = own[0, 0] + mu * (own[0, 1:] @ direction)
        resisting = g.choose(g.less(1e-3 * own[0, 0], resisting), resisting, own[0, 0] + TINY)
        push = g.maximum(-c[0] / resisting, 0.0)
        there = c[1:] + (own[1:, 0] + own[1:, 1:] @ (direction * mu)) * push
        towards = direction * (mu * push) - there * self.scale[block][1]
        direction = towards * (1.0 / self._length(*towards))
        sliding = np.array([push, *(direction * (mu * push))], dtype=object)
        touches = g.less(c[0], 0.0)
        made = np.empty(3, dtype=object)
        made[:] = [
            g.choose(touches, g.choose(sticks, a, b), 0.0) for a, b in zip(sticking, sliding, strict=True)
        ]
        return made

    def _joint(self, k: int, p: Any, v: Any) -> Any:
        """The impulse of a limit or of dry friction, by the velocity that all others cause."""
        g, s, scale = self.graph, self.problem, self.scale[k]
        c = v - s.G[k, k] * p
        if k in self.limits:
            j = k - self.limits.start
            up, down = (s.low[j] - c) * scale, (s.high[j] - c) * scale
            return g.maximum(up, 0.0) + g.minimum(down, 0.0)
        most = s.most[k - self.frictions.start]
        return g.minimum(g.maximum(-(c * scale), -most), most)

    # ------------------------------------------------------------------- all of them

    def residual(self, p: np.ndarray, v: np.ndarray) -> Any:
        """By how much velocities violate the law, at most: zero at a solution."""
        g, s, made = self.graph, self.problem, []
        for i, block in enumerate(self.blocks):
            (pn, pa, pb), (vn, va, vb) = p[block], v[block]
            normal, across = self.scale[block][:2]
            made.append(g.abs(pn - g.maximum(pn - normal * vn, 0.0)) * (s.G[block.start, block.start]))
            x, y = pa - across * va, pb - across * vb
            inside = g.minimum(s.friction[i] * g.maximum(pn, 0.0) / self._length(x, y), 1.0)
            widths = s.G[block.start + 1, block.start + 1] + s.G[block.start + 2, block.start + 2]
            made.append((g.abs(pa - x * inside) + g.abs(pb - y * inside)) * widths)
        for k in self.limits:
            j = k - self.limits.start
            ahead = v[k] - s.G[k, k] * p[k]
            made.append(g.abs(v[k] - g.minimum(g.maximum(ahead, s.low[j]), s.high[j])))
        for k in self.frictions:
            most, ahead = s.most[k - self.frictions.start], p[k] - self.scale[k] * v[k]
            made.append(g.abs(p[k] - g.minimum(g.maximum(ahead, -most), most)) * s.G[k, k])
        return reduce(g.maximum, made)

    def equations(self, p: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F (m,) that is zero at the solution in the modes that p and v are in, and its derivative by p."""
        g, s, m = self.graph, self.problem, self.problem.layout.rows
        F, K = np.zeros(m, dtype=object), np.zeros((m, m), dtype=object)  # noqa: N806
        choose = g.choose

        def row(k: int, holds: Any, value: Any, other: Any, free: dict[int, Any]) -> None:
            """v_k = value where it holds, else other = 0 whose derivatives by p are `free`."""
            F[k] = choose(holds, value, other)
            for j in range(m):
                entry = s.G[k, j] + (self.proximal[k] if j == k else 0.0)
                K[k, j] = choose(holds, entry, free.get(j, 0.0))

        for i, block in enumerate(self.blocks):
            (pn, pa, pb), (vn, va, vb), mu = p[block], v[block], s.friction[i]
            n, a, b = range(block.start, block.stop)
            normal, across = self.scale[n], self.scale[a]
            widths = s.G[a, a] + s.G[b, b] + self.proximal[a]
            touches = g.less(0.0, pn - normal * vn)
            heights = s.G[n, n] + self.proximal[n]
            row(n, touches, vn, pn * heights, {n: heights})
            x, y = pa - across * va, pb - across * vb
            length = self._length(x, y)
            radius = mu * g.maximum(pn, 0.0)
            slides = g.less(radius, length)
            x, y = x / length, y / length
            kappa = g.minimum(radius / length, 1.0)
            for k, own, other, pk, vk in ((a, x, y, pa, va), (b, y, x, pb, vb)):
                # Sliding: p_t - mu p_n d, whose direction d turns with p_t - v_t * across.
                along, beside = 1.0 - own * own, -(own * other)
                last = b if k == a else a
                F[k] = choose(touches, choose(slides, (pk - radius * own) * widths, vk), pk * widths)
                for j in range(m):
                    sticking = s.G[k, j] + (self.proximal[k] if j == k else 0.0)
                    entry = kappa * (along * s.G[k, j] + beside * s.G[last, j])
                    if j == k:
                        entry = entry + (1.0 - kappa * along) * widths
                    elif j == last:
                        entry = entry - kappa * beside * widths
                    elif j == n:
                        entry = entry - mu * own * widths
                    K[k, j] = choose(touches, choose(slides, entry, sticking), widths if j == k else 0.0)
        for k in self.limits:
            j, ahead = k - self.limits.start, v[k] - s.G[k, k] * p[k]
            low, high = g.less(ahead, s.low[j]), g.less(s.high[j], ahead)
            bound = choose(low, s.low[j], s.high[j])
            diagonal = s.G[k, k] + self.proximal[k]
            row(k, g.maximum(low, high), v[k] - bound, p[k] * diagonal, {k: diagonal})
        for k in self.frictions:
            most, ahead = s.most[k - self.frictions.start], p[k] - self.scale[k] * v[k]
            bound = g.minimum(g.maximum(ahead, -most), most)
            diagonal = s.G[k, k] + self.proximal[k]
            holds = 1.0 - g.less(most, g.abs(ahead))
            row(k, holds, v[k], (p[k] - bound) * diagonal, {k: diagonal})
        return F, K


def iteration(graph: Graph, layout: Layout, state: np.ndarray, read: np.ndarray) -> tuple[list[Any], Any]:
    """The next [p, v, residual] and whether it is the last; what is read is a problem and the tolerance."""
    m = layout.rows
    problem = ImpulseProblem.unpacked(layout, read[:-1])
    law, tolerance = ImpulseLaw(graph, problem, layout.proximal), read[-1]
    p, v = state[:m], state[m : 2 * m]
    for _ in range(1 + max(0, layout.contacts - 2) // SWEEPS):
        p, v = law.swept(p, v)
    size = law.residual(p, v)
    F, K = law.equations(p, v)  # noqa: N806
    step = eliminated(K, -F)
    better_p = p + step
    better_v = v + problem.G @ step
    better_size = law.residual(better_p, better_v)
    better = graph.less(better_size, graph.minimum(size, state[-1]))
    pairs = [*zip(better_p, p, strict=True), *zip(better_v, v, strict=True), (better_size, size)]
    made = [graph.choose(better, new, old) for new, old in pairs]
    # Also where it gets better slowly: then contacts contradict each other by next to nothing.
    slow = graph.less(0.25 * state[-1], made[-1])
    softer = tolerance * SOFTER[layout.single]
    tolerance = graph.choose(slow, softer, tolerance)
    return made, 1.0 - graph.less(tolerance, made[-1])


def starts(graph: Graph, problem: ImpulseProblem, b: np.ndarray) -> list[Any]:
    """The state before the first iteration: all that approaches sticks, with the least impulses.

    Where contacts are redundant, these share loads evenly, which often solves the law at once.
    """
    law, m = ImpulseLaw(graph, problem, problem.layout.proximal), problem.layout.rows
    near: list[Any] = [0.0] * m
    for block in law.blocks:
        near[block] = [graph.less(b[block.start], 0.0)] * 3
    K = np.empty((m, m), dtype=object)  # noqa: N806
    for i in range(m):
        for j in range(m):
            K[i, j] = graph.choose(near[i], graph.choose(near[j], problem.G[i, j], 0.0), 0.0)
        own = problem.G[i, i] + law.proximal[i]
        K[i, i] = graph.choose(near[i], own, own + TINY)
    wanted = [graph.choose(near[i], -b[i], 0.0) for i in range(m)]
    p = symmetric_solution(K, wanted)
    return [*p, *(b + problem.G @ p), _UNKNOWN]


def symmetric_solution(K: np.ndarray, b: list[Any]) -> np.ndarray:  # noqa: N803
    """The solution of K x = b, K symmetric and positive definite."""
    whole = PartlyEliminated(K, [-x for x in b], len(b), 0.0)
    made = np.empty(len(b), dtype=object)
    made[:] = whole.completed([])
    return made


def eliminated(K: np.ndarray, b: np.ndarray) -> np.ndarray:  # noqa: N803
    """The solution of K x = b by elimination without pivoting, of scalars."""
    n, a, x = len(b), K.copy(), list(b)
    inverse = [0.0] * n
    for i in range(n):
        inverse[i] = 1.0 / a[i, i]
        for j in range(i + 1, n):
            scaled = a[j, i] * inverse[i]
            for k in range(i + 1, n):
                a[j, k] = a[j, k] - scaled * a[i, k]
            x[j] = x[j] - scaled * x[i]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - a[i, k] * x[k]
        x[i] = x[i] * inverse[i]
    made = np.empty(n, dtype=object)
    made[:] = x
    return made


def inverted(K: np.ndarray, least: float) -> np.ndarray:  # noqa: N803
    """The inverse of a matrix of scalars; rows whose pivot is below `least` of their entry count as zero."""
    n = len(K)
    a = np.concatenate([K, np.eye(n).astype(object)], axis=1)
    own = [K[i, i] for i in range(n)]
    for i in range(n):
        pivot: Any = 0.0
        if isinstance(a[i, i], Scalar):
            graph = a[i, i].graph
            large = graph.less(least * graph.abs(own[i]), graph.abs(a[i, i]))
            pivot = graph.choose(large, 1.0 / a[i, i], 0.0)
        elif abs(a[i, i]) > least * abs(own[i]):
            pivot = 1.0 / a[i, i]
        a[i] = a[i] * pivot
        for j in range(n):
            if j != i:
                a[j] = a[j] - a[i] * a[j, i]
    return a[:, n:]


def _solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:  # noqa: N803
    """The solution of a symmetric system of three rows, by its adjugate."""
    (a, d, e), (_, f, g), (_, _, h) = A
    x, y, z = f * h - g * g, e * g - d * h, d * g - e * f
    scale = 1.0 / (a * x + d * y + e * z)
    u, w, t = a * h - e * e, d * e - a * g, a * f - d * d
    made = np.empty(3, dtype=object)
    made[:] = [
        (x * b[0] + y * b[1] + z * b[2]) * scale,
        (y * b[0] + u * b[1] + w * b[2]) * scale,
        (z * b[0] + w * b[1] + t * b[2]) * scale,
    ]
    return made
