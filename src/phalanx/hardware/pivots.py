# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Ranges of the values by which a system with the mass matrix is solved, and how far errors in them go.

Intervals cannot bound pivots away from zero. Three facts of mechanics can, for all states at once:

- After the joints beyond k are eliminated, what is left of the mass matrix M is that of the robot whose
  joints beyond k are free to move: positive definite, at most M itself; about its own axis a link keeps at
  least the inertia of its own body, and an entry (i, j) is at most the geometric mean of (i, i) and (j, j).
- The kinetic energy is at least that of some neighbouring bodies, with joints between them and free in space.
  Hence the diagonal of the inverse of M is at most b² of `compliances`, and an entry (i, j) at most b_i b_j.
- An error in an entry of what is left of M, or of a force, acts as one in M or in the forces itself: it
  changes the accelerations by a product of entries of the inverse and accelerations.

Which values of a program these are is recognised at random states: by their numbers, and by the derivatives
of the results with respect to them, which have to be those that the third fact says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..program import ops
from ..program.intervals import Interval
from ..program.ir import Load, Program, Store, Value
from ..program.ops import OPS

_DIGITS = 1e-9  # relative: values that agree so far at all random states are the same function
_WIDER = 1 / 8  # by which ranges of rounded values may exceed those of exact ones
_CLOSE = 1 / 64  # relative: how far rounding may change the mass matrix and the accelerations
_ANGLES = 1024  # of a joint, at which the inertia behind it is computed
_SLACK = 1.06  # for derivatives at rounded values: (64 / 63)² for a matrix that is so close, and what is left


@dataclass(frozen=True)
class KnownValues:
    """Ranges, margins and slopes of single values of a program, derived from the physics.

    `ranges` are those of exact values; rounded ones are up to an eighth wider, which `margins` have to show
    where they are given: bounds on the errors of values. `slopes` bound derivatives: of the second value with
    respect to the first.
    """

    ranges: dict[Any, Interval] = field(default_factory=dict)
    margins: dict[Any, float] = field(default_factory=dict)
    slopes: dict[Any, dict[Any, float]] = field(default_factory=dict)

    def widened(self) -> dict[Any, Interval]:
        """The ranges of rounded values."""
        made = {}
        for s, x in self.ranges.items():
            more = self.margins.get(s, _WIDER * (x.low if x.low > 0 else x.magnitude))
            made[s] = Interval(x.low - more, x.high + more)
        return made


@dataclass(frozen=True)
class MassMatrixBounds:
    """Bounds for all states: `least` and `most` (nv,) of pivots and of the diagonal of the mass matrix, `b`
    (nv,) of the root of the diagonal of its inverse, `force` (nv,) of the forces that accelerate.
    """

    least: np.ndarray
    most: np.ndarray
    b: np.ndarray | None = None
    force: np.ndarray | None = None


def factor_values(
    program: Program, states: Mapping[str, np.ndarray], matrices: np.ndarray, bounds: MassMatrixBounds
) -> KnownValues:
    """Ranges of the values in a program that factors a mass matrix.

    `matrices` (states, nv, nv) are the mass matrices at random states.
    """
    run = _Numbers(program, states)
    schur: dict[Any, set[tuple[int, int, int]]] = {}  # entries and signs, by value
    stage: dict[Any, int] = {}  # the joints from here on are eliminated
    ratios: dict[Any, Interval] = {}
    left, nv = matrices.copy(), matrices.shape[1]
    remains = {nv: left.copy()}
    least, most = bounds.least, bounds.most
    for k in range(nv - 1, -1, -1):
        for i in range(k + 1):
            for j in range(i + 1):
                for sign in (1, -1) if i != j else (1,):
                    for s in run.equal(sign * left[:, i, j]):
                        schur.setdefault(s, set()).add((i, j, sign))
                        stage.setdefault(s, k + 1)
        if k:
            row = left[:, k, :k].copy()
            found = row / left[:, k, k][:, None]
            for i in range(k):  # (k, i) is at most the geometric mean of (k, k), which is left, and (i, i)
                size = float(np.sqrt(most[i] / least[k]))
                for sign in (1, -1):
                    for s in run.equal(sign * found[:, i]):
                        ratios.setdefault(s, Interval(-size, size))
            left[:, :k, :k] -= row[:, :, None] * found[:, None, :]
            remains[k] = left[:, :k, :k].copy()
    known = KnownValues()
    for s, entries in schur.items():
        sizes = [(float(least[i]), float(most[i])) if i == j else None for i, j, _ in entries]
        i, j, _ = min(entries)
        size = float(np.sqrt(most[i] * most[j]))
        diagonal = next((x for x in sizes if x is not None), None)
        known.ranges[s] = Interval(*diagonal) if diagonal else Interval(-size, size)
        known.margins[s] = _WIDER * (known.ranges[s].low if diagonal else size)
    for s, interval in ratios.items():
        if s not in known.ranges:
            known.ranges[s] = interval
            if bounds.b is None:
                known.margins[s] = _WIDER * interval.magnitude
    if bounds.b is not None and bounds.force is not None and np.isfinite(bounds.b).all():
        _Solution(run, matrices, bounds, schur, stage, remains).add_to(known)
    return known


def unit_squares(
    program: Program, states: Mapping[str, np.ndarray], squares: Sequence[np.ndarray]
) -> KnownValues:
    """Ranges of the squares of quaternions of unit length, whose numbers at some states are `squares`."""
    run, known = _Numbers(program, states), KnownValues()
    for square in squares:
        for s in run.equal(square):
            known.ranges[s], known.margins[s] = Interval(1.0, 1.0), _WIDER
    return known


class _Solution:
    """The values by which accelerations are found, and derivatives with respect to them."""

    def __init__(
        self,
        run: _Numbers,
        matrices: np.ndarray,
        bounds: MassMatrixBounds,
        schur: dict[Any, set[tuple[int, int, int]]],
        stage: dict[Any, int],
        remains: dict[int, np.ndarray],
    ) -> None:
        self.run, self.matrices, self.schur, self.stage, self.remains = run, matrices, schur, stage, remains
        self.bounds, self.nv = bounds, matrices.shape[1]
        assert bounds.b is not None
        assert bounds.force is not None
        self.b, self.force = bounds.b, bounds.force

    def add_to(self, known: KnownValues) -> None:
        run, b, nv = self.run, self.b, self.nv
        results = [s for s in run.results if isinstance(s, Value)]
        if len(results) != nv:
            return
        qdd = np.stack([run.of[s] for s in results], axis=1)
        force = np.einsum("sij,sj->si", self.matrices, qdd)
        energy = float(b @ self.force)  # the root of twice the energy of accelerations, at most
        inverse = np.linalg.inv(self.matrices)
        limit = _CLOSE / (nv**2 * np.outer(b, b))  # of errors in the mass matrix
        for s, entries in self.schur.items():
            known.margins[s] = min(known.margins[s], *(float(limit[i, j]) for i, j, _ in entries))
        for j, s in enumerate(results):
            size = float(b[j]) * energy
            known.ranges[s] = Interval(-size, size)
            known.margins[s] = _CLOSE * size
        targets = [*results, *(s for s in self.schur if s not in results)]
        slopes = run.derivatives(targets)
        self._matrix_entries(known, targets, slopes, results, qdd, inverse, energy)
        self._forces(known, slopes, results, force, inverse)
        self._accelerations(known, slopes, results, force)

    # ------------------------------------------------------------------- entries of the matrix

    def _matrix_entries(
        self,
        known: KnownValues,
        targets: list[Any],
        slopes: Any,
        results: list[Any],
        qdd: Any,
        inverse: Any,
        energy: float,
    ) -> None:
        b, nv = self.b, self.nv
        for s, entries in self.schur.items():
            exact = np.zeros((nv, len(qdd)))
            size = np.zeros(nv)
            for i, j, sign in entries:
                exact -= sign * (inverse[:, :, i] * qdd[:, j, None]).T
                size += b * b[i] * b[j] * energy
                if i != j:
                    exact -= sign * (inverse[:, :, j] * qdd[:, i, None]).T
                    size += b * b[i] * b[j] * energy
            if _agree(slopes[self.run.index[s], :nv], exact):
                known.slopes.setdefault(s, {}).update(zip(results, (_SLACK * size).tolist(), strict=True))
            for k, target in enumerate(targets[nv:], start=nv):
                self._on_entries(known, s, entries, target, slopes[self.run.index[s], k])

    def _on_entries(self, known: KnownValues, s: Any, entries: Any, target: Any, found: np.ndarray) -> None:
        """Adds slopes: of a later Schur complement's entry with respect to an earlier one's."""
        early, late = self.stage[s], self.stage[target]
        if s is target or late >= early:
            return
        a, c, sign = min(self.schur[target])
        whole = self.remains[early]
        eliminated = np.arange(late, early)
        block = whole[:, eliminated[:, None], eliminated]
        exact, size = np.zeros(len(whole)), 0.0

        def factor(row: int, column: int) -> tuple[np.ndarray, float]:
            if column < late:
                return np.full(len(whole), float(row == column)), float(row == column)
            solved = np.linalg.solve(block, whole[:, eliminated, row][:, :, None])[:, :, 0]
            return -solved[:, column - late], float(np.sqrt(self.bounds.most[row]) * self.b[column])

        for i, j, other in entries:
            for x, y in {(i, j), (j, i)}:
                first, second = factor(a, x), factor(c, y)
                exact += sign * other * first[0] * second[0]
                size += first[1] * second[1]
        if _agree(found, exact):
            known.slopes.setdefault(s, {})[target] = _SLACK * size

    # ------------------------------------------------------------------- forces and accelerations

    def _forces(self, known: KnownValues, slopes: Any, results: list[Any], force: Any, inverse: Any) -> None:
        """Adds the ranges of the right-hand side (forces) during the elimination of joints."""
        b, nv = self.b, self.nv
        left = force.copy()
        roles: dict[Any, set[tuple[int, int]]] = {}
        for k in range(nv - 1, -1, -1):
            for i in range(k + 1):
                beyond = float(b[k + 1 :] @ self.force[k + 1 :])
                size = float(self.force[i] + np.sqrt(self.bounds.most[i]) * beyond)
                for sign in (1, -1):
                    for s in self.run.equal(sign * left[:, i]):
                        roles.setdefault(s, set()).add((i, sign))
                        known.ranges.setdefault(s, Interval(-size, size))
            matrix = self.remains[k + 1]
            left[:, :k] -= matrix[:, k, :k] / matrix[:, k, k][:, None] * left[:, k, None]
        for s, found in roles.items():
            exact = sum(sign * inverse[:, :, i].T for i, sign in found)
            size = sum(b * b[i] for i, _ in found)
            if _agree(slopes[self.run.index[s], :nv], exact):
                known.slopes.setdefault(s, {}).update(zip(results, (_SLACK * size).tolist(), strict=True))

    def _accelerations(self, known: KnownValues, slopes: Any, results: list[Any], force: Any) -> None:
        """Adds the ranges of the accelerations during and after back substitution."""
        b, nv, most, least = self.b, self.nv, self.bounds.most, self.bounds.least
        lower = np.zeros_like(self.matrices)
        pivots = np.zeros(force.shape)
        for k in range(nv):
            matrix = self.remains[k + 1]
            pivots[:, k] = matrix[:, k, k]
            lower[:, k, : k + 1] = matrix[:, k] / matrix[:, k, k][:, None]
        first = np.linalg.solve(np.swapaxes(lower, 1, 2), force[:, :, None])[:, :, 0] / pivots
        back = np.linalg.inv(lower)
        for k in range(nv):
            energy = float(b[k:] @ self.force[k:])
            size = energy / float(np.sqrt(least[k]))
            for sign in (1, -1):
                for s in self.run.equal(sign * first[:, k]):
                    known.ranges.setdefault(s, Interval(-size, size))
                    self._behind(known, slopes, results, s, sign * back[:, :, k].T, np.sqrt(most[k]) * b)
            exact, bound = back[:, :, k].T, np.sqrt(most[k]) * b
            bound = np.where(np.arange(nv) == k, 1.0 / _SLACK, np.where(np.arange(nv) < k, 0.0, bound))
            self._behind(known, slopes, results, results[k], exact, bound)

    def _behind(
        self, known: KnownValues, slopes: Any, results: list[Any], s: Any, exact: Any, size: Any
    ) -> None:
        if _agree(slopes[self.run.index[s], : self.nv], exact):
            known.slopes.setdefault(s, {}).update(zip(results, (_SLACK * size).tolist(), strict=True))


def compliances(
    inertias: np.ndarray, axes: np.ndarray, transforms: np.ndarray, parents: np.ndarray, armature: np.ndarray
) -> np.ndarray:
    """(nv,) bounds on the roots of the diagonal of the inverse of the mass matrix, for all states.

    They are inverses of inertias: of the body that a joint carries, as what is left of its energy if the
    joint moves at unit rate and the inner body moves as is best for it. The world does not move; a body that
    it carries moves along its own joint, at the worst of all angles between the two; of any other body, what
    a wrench along the axis measures counts, which is the same at all angles. Of the bodies further out, one
    child of the outer body counts, at the worst of all its angles. `inertias` (nv, 6, 6), `axes` (nv, 6),
    `transforms` (nv, 6, 6) from the parents, at any state. Infinite where a body has no inertia about some
    axis.
    """
    made = np.full(len(axes), np.inf)
    solid = [np.linalg.cond(inertia) <= 1e10 for inertia in inertias]
    for k, s in enumerate(axes):
        p = int(parents[k])
        if not (solid[k] and (p < 0 or solid[p])):
            continue
        least = 0.0
        for c in (None, *np.flatnonzero((np.asarray(parents) == k) & solid)):
            outer, slack = inertias[k][None], 1.0
            if c is not None and not axes[c][3:].any():
                carried, slack = _carried(inertias[c], axes[c], float(armature[c]))
                outer = outer + transforms[c].T @ carried @ transforms[c]
            if p < 0:
                found = float((outer @ s @ s).min())
            elif parents[p] < 0 and not s[3:].any():
                own = float(axes[p] @ inertias[p] @ axes[p] + armature[p])
                found = _on_hinge(outer, s, transforms[k] @ axes[p], own)
            else:
                mobility = np.linalg.inv(inertias[p])
                if parents[p] < 0:
                    own = axes[p] @ inertias[p] @ axes[p] + armature[p]
                    mobility = np.outer(axes[p], axes[p]) / own
                found = _along(outer, s, transforms[k] @ mobility @ transforms[k].T)
            least = max(least, found / slack)
        if least + armature[k] > 0.0:
            made[k] = (1 + 1e-9) / np.sqrt(least + armature[k])
    return made


def _along(outer: np.ndarray, s: np.ndarray, mobility: np.ndarray) -> float:
    """The least inertia along a screw `s` between bodies of inertias `outer` and an inner one of which only a
    wrench along the axis is known, at any angle between them; 0 if it is no screw about its own axis.
    """
    size = np.linalg.norm(s[:3]) or np.linalg.norm(s[3:])
    u = (s[:3] if s[:3].any() else s[3:]) / size
    along = np.array([s[:3] @ u, s[3:] @ u])
    if not np.allclose(s, np.concatenate([along[0] * u, along[1] * u]), rtol=0, atol=1e-12):
        return 0.0
    wrench = np.zeros((6, 2))
    wrench[:3, 0], wrench[3:, 1] = u, u
    both = wrench.T @ (np.linalg.inv(outer) + mobility) @ wrench
    return float((np.linalg.inv(both) @ along @ along).min())


def _on_hinge(outer: np.ndarray, s: np.ndarray, hinge: np.ndarray, own: float) -> float:
    """The least inertia along a revolute joint `s` between bodies of inertias `outer` and an inner one that
    moves along `hinge` only, where it has the inertia `own`: at the worst of all angles.
    """
    turned, cross = _rotations(s)
    hinges = turned @ hinge
    coupling = outer @ s @ hinges.T  # (outer, angles)
    squares = outer.reshape(-1, 36) @ (hinges[:, :, None] * hinges[:, None, :]).reshape(-1, 36).T
    least = ((outer @ s @ s)[:, None] - coupling**2 / (own + squares)).min(axis=1)
    return float((least / np.exp(_turning_rate(outer, cross) * np.pi / _ANGLES)).min())


def _rotations(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(angles, 6, 6) rotations of twists by `_ANGLES` angles about an axis, and their rate (6, 6)."""
    x, y, z = axis[:3] / np.linalg.norm(axis[:3])
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angles = np.arange(_ANGLES) * (2 * np.pi / _ANGLES)
    turned = np.zeros((_ANGLES, 6, 6))
    rotation = np.eye(3) + np.sin(angles)[:, None, None] * cross
    turned[:, :3, :3] = rotation + (1 - np.cos(angles))[:, None, None] * (cross @ cross)
    turned[:, 3:, 3:] = turned[:, :3, :3]
    return turned, np.kron(np.eye(2), cross)


def _turning_rate(inertias: np.ndarray, cross: np.ndarray) -> Any:
    """(…) ρ such that turning a twist V by δ changes the energy V·GV by at most a factor of exp(ρ |δ|): the
    largest eigenvalue, in magnitude, of the rate at which it changes, relative to G (…, 6, 6).
    """
    rate = inertias @ cross
    rate = rate + np.swapaxes(rate, -1, -2)
    root = np.linalg.inv(np.linalg.cholesky(inertias))
    return np.abs(np.linalg.eigvalsh(root @ rate @ np.swapaxes(root, -1, -2))).max(axis=-1)


def _carried(inertia: np.ndarray, axis: np.ndarray, armature: float) -> tuple[np.ndarray, float]:
    """(angles, 6, 6) inertia of a body behind its free revolute joint, and how many times smaller than at the
    nearest of these angles any energy with it can be.
    """
    turned, cross = _rotations(axis)
    momentum = inertia @ axis
    free = inertia - np.outer(momentum, momentum) / (axis @ momentum + armature)
    slack = float(np.exp(_turning_rate(inertia, cross) * np.pi / _ANGLES))
    return np.swapaxes(turned, 1, 2) @ free @ turned, slack


# ------------------------------------------------------------------- numbers at random states


class _Numbers:
    """A straight-line program at random states: values, and derivatives with respect to all of them."""

    def __init__(self, program: Program, states: Mapping[str, np.ndarray]) -> None:
        count = len(next(iter(states.values())))
        self.of: dict[Any, np.ndarray] = {}
        self.results: list[Any] = []
        for s in program.body:
            if isinstance(s, Load):
                at: Any = s.index
                self.of[s] = states[s.buffer.name].reshape(count, -1)[:, at]
            elif isinstance(s, Value):
                self.of[s] = np.asarray(OPS[s.op].numpy(*map(self._number, s.args)), dtype=float) + np.zeros(
                    count
                )
            elif isinstance(s, Store):
                self.results.append(s.value)
        self.nodes = list(self.of)
        self.index = {s: k for k, s in enumerate(self.nodes)}
        self.values = [s for s in self.nodes if isinstance(s, Value)]
        self.table = np.array([self.of[s] for s in self.values]).reshape(len(self.values), count)

    def _number(self, x: Any) -> Any:
        return x if isinstance(x, float) else self.of[x]

    def equal(self, wanted: np.ndarray) -> list[Any]:
        """The operations with these values."""
        size = np.abs(wanted).max()
        if size < _DIGITS:
            return []
        close = np.abs(self.table - wanted).max(axis=1) <= _DIGITS * size
        return [self.values[k] for k in np.flatnonzero(close)]

    def derivatives(self, targets: list[Any]) -> np.ndarray:
        """(nodes, targets, states): derivatives of targets with respect to all values."""
        made = np.zeros((len(self.nodes), len(targets), self.table.shape[1]))
        for k, s in enumerate(targets):
            made[self.index[s], k] += 1.0
        for k in range(len(self.nodes) - 1, -1, -1):
            s = self.nodes[k]
            if isinstance(s, Value):
                for a, d in zip(s.args, _partials(s, [self._number(a) for a in s.args]), strict=True):
                    if not isinstance(a, float):
                        made[self.index[a]] += d * made[k]
        return made


def _partials(s: Value, x: list[Any]) -> tuple[Any, ...]:
    if s.op in (ops.ADD, ops.SUB):
        return 1.0, 1.0 if s.op == ops.ADD else -1.0
    if s.op == ops.MUL:
        return x[1], x[0]
    if s.op == ops.DIV:
        return 1 / x[1], -x[0] / x[1] ** 2
    if s.op == ops.SQRT:
        return (0.5 / np.sqrt(x[0]),)
    if s.op in (ops.SIN, ops.COS):
        return (np.cos(x[0]) if s.op == ops.SIN else -np.sin(x[0]),)
    return (-1.0 if s.op == ops.NEG else np.nan,) * len(x)


def _agree(found: np.ndarray, exact: np.ndarray) -> bool:
    size = np.abs(exact).max(initial=0.0)
    return bool(np.abs(found - exact).max(initial=0.0) <= 1e-7 * size)
