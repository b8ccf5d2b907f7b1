# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of exported functions as CasADi takes them: entry by entry, and where they are zero.

Derivatives by the quaternion of a floating base are those by its four entries: what is known along rates goes
through the map from coordinates to rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ..dispatch import resolve
from ..program.graph import live, symbols
from ..program.ir import Scalar
from ..program.passes.differentiate import adjoints, tangents
from ..program.task import Call
from ..program.trace import TooLongError
from ..robot.configurations import tangent_map
from ..robot.robot import Robot
from ..simulation.linearization import is_analytic, matrices
from ..simulation.step import Settings, Step
from ..tracing.equations import traced_call_of
from ..tracing.result_structure import Structure
from ..tracing.traces import Trace

# Statements of a Jacobian in one piece, and of a product with second derivatives: C compilers take
# about half a minute for them. No script measures it.
_MOST_JACOBIAN, _MOST_HESSIAN = 30_000, 60_000
_ANALYTIC = ("inverse_dynamics", "forward_dynamics")


@dataclass(frozen=True)
class Pattern:
    """Where a matrix may differ from zero: rows and columns of its entries, column by column."""

    shape: tuple[int, int]
    entries: tuple[tuple[int, int], ...]

    @property
    def is_dense(self) -> bool:
        return len(self.entries) == prod(self.shape)

    @staticmethod
    def of(mask: np.ndarray) -> Pattern:
        columns, rows = np.nonzero(mask.T)
        shape = (int(mask.shape[0]), int(mask.shape[1]))
        return Pattern(shape, tuple(zip(rows.tolist(), columns.tolist(), strict=True)))

    def compressed(self) -> list[int]:
        """The numbers by which CasADi knows it: sizes, where columns start, rows."""
        rows, columns = self.shape
        if self.is_dense:
            return [rows, columns, 1]
        starts = np.searchsorted([c for _, c in self.entries], np.arange(columns + 1))
        return [rows, columns, *map(int, starts), *(r for r, _ in self.entries)]


def matrix_size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns; of more axes the last ones are columns."""
    return (shape[0] if shape else 1), prod(shape[1:])


def columnwise(shape: tuple[int, ...]) -> np.ndarray:
    """The row-major offsets of an array's entries in column-major order."""
    rows, columns = matrix_size(shape)
    return np.arange(rows * columns).reshape(rows, columns).T.ravel()


@dataclass(frozen=True)
class Differentiable:
    """A function of real numbers, with all that CasADi may ask of it."""

    trace: Trace  # all derivatives are by the entries of arrays
    analytic: Trace | None = None  # of the same arguments: blocks "of.wrt" along rates, by name

    @cached_property
    def inputs(self) -> list[str]:
        return [name for name, shape in self.trace.inputs.items() if prod(shape)]

    @cached_property
    def outputs(self) -> list[str]:
        return [name for name, shape in self.trace.outputs.items() if prod(shape)]

    @cached_property
    def jacobian(self) -> tuple[Trace, dict[tuple[str, str], Pattern]] | None:
        """The blocks that differ from zero, each a row of entries in CasADi's order; None if too long.

        Their patterns are by the names of a result and an argument.
        """
        trace, blocks = self._blocks() or (None, {})
        if trace is None:
            return None
        results: dict[str, np.ndarray] = {}
        patterns = {}
        for (of, wrt), block in blocks.items():
            block = block[np.ix_(columnwise(self.trace.outputs[of]), columnwise(self.trace.inputs[wrt]))]
            patterns[of, wrt] = found = Pattern.of(_is_nonzero(block))
            if found.entries:
                results[f"{of}.{wrt}"] = np.array([block[at] for at in found.entries], dtype=object)
        made = replace(trace, results=results, structure=Structure())
        return (made, patterns) if _length(results) <= _MOST_JACOBIAN else None

    def _blocks(self) -> tuple[Trace, dict[tuple[str, str], np.ndarray]] | None:
        """The matrices of all derivatives, rows and columns as in memory."""
        if self.analytic is not None:
            t = self.analytic
            return t, {(of, wrt): t.results[f"{of}.{wrt}"] for of in self.outputs for wrt in self.inputs}
        t = self.trace
        rows = [x for name in self.outputs for x in t.results[name].ravel().tolist()]
        columns = [x for name in self.inputs for x in t.symbols[name].ravel().tolist()]
        if len(live(rows)) * min(len(rows), len(columns)) > 3 * _MOST_JACOBIAN:
            return None
        whole = np.zeros((len(rows), len(columns)), dtype=object)
        if len(rows) < len(columns):
            for k, x in enumerate(rows):
                slopes = adjoints([x], [1.0])
                whole[k] = [slopes.get(c.number, 0.0) for c in columns]
        else:
            for k, c in enumerate(columns):
                whole[:, k] = tangents(rows, {c.number: 1.0})
        made, first = {}, 0
        for of in self.outputs:
            end, start = first + prod(t.outputs[of]), 0
            for wrt in self.inputs:
                stop = start + prod(t.inputs[wrt])
                made[of, wrt] = whole[first:end, start:stop]
                start = stop
            first = end
        return t, made

    @cached_property
    def jvp(self) -> tuple[Trace, np.ndarray]:
        """The derivative along tangents of all arguments, and which result depends on which tangent."""
        made = self.trace.jvp(self.inputs)
        made = replace(made, results={n: made.results[n] for n in self.outputs})
        return made, _dependencies(made, list(made.symbols)[-len(self.inputs) :])

    @cached_property
    def vjp(self) -> Trace:
        """Derivatives of results times cotangents."""
        return self.trace.vjp(self.outputs, self.inputs)

    @cached_property
    def hvp(self) -> tuple[Trace, np.ndarray] | None:
        """The derivative of `vjp` along tangents, and where it may differ from zero; None if too long."""
        if _length(self.vjp.results) > _MOST_HESSIAN // 2:
            return None
        made = self.trace.hvp(self.outputs, self.inputs)
        if _length(made.results) > _MOST_HESSIAN:
            return None
        mask = _dependencies(made, list(made.symbols)[-len(self.inputs) :])
        return made, mask | mask.T


def _is_nonzero(block: np.ndarray) -> np.ndarray:
    flat = [isinstance(x, Scalar) or x != 0.0 for x in block.ravel().tolist()]
    return np.array(flat, dtype=bool).reshape(block.shape)


def _length(results: dict[str, np.ndarray] | Any) -> int:
    return len(live([x for array in results.values() for x in array.ravel().tolist()]))


def _dependencies(trace: Trace, names: Sequence[str]) -> np.ndarray:
    """Which entry of the results, one after another, depends on which entry of some inputs."""
    leaves = [x for name in names for x in trace.symbols[name].ravel().tolist()]
    flat = [x for array in trace.results.values() for x in array.ravel().tolist()]
    reached = {x.number: 1 << k for k, x in enumerate(leaves)}
    for node in live(flat):
        for a in node.args:
            if isinstance(a, Scalar) and (more := reached.get(a.number)):
                reached[node.number] = reached.get(node.number, 0) | more
    rows = [reached.get(x.number, 0) if isinstance(x, Scalar) else 0 for x in flat]
    return np.array([[bool(row >> k & 1) for k in range(len(leaves))] for row in rows], dtype=bool).reshape(
        len(rows), len(leaves)
    )


# ------------------------------------------------------------------- of what is exported


def of_trace(trace: Trace) -> Differentiable:
    """The differentiable form of a user's traced function."""
    return Differentiable(_by_entries(trace))


def of_call(call: Call, optional: Sequence[str]) -> Differentiable:
    """A function of a robot; inverse and forward dynamics by their analytic derivatives."""
    trace, equations = traced_call_of(call, optional)
    analytic, f = None, call.function.name
    if f in _ANALYTIC and not optional:
        derivatives = equations.run(
            resolve(call.robot, f"{f}_derivatives", "auto"), list(trace.symbols.values()), {}
        )
        (result,) = trace.results
        blocks = {
            f"{result}.{name}": _along_coordinates(call.robot, trace.symbols["q"], block)
            if name == "q"
            else block
            for name, block in zip(trace.symbols, derivatives, strict=True)
        }
        analytic = replace(trace, results=blocks)
    return Differentiable(_by_entries(trace), analytic)


def of_step(settings: Settings, trace: Trace) -> Differentiable:
    """A step of a simulation, by the matrices of the linearised step where there are any."""
    plain = _by_entries(trace)
    after = [x for array in trace.results.values() for x in array.ravel().tolist()]
    used = {node.number for node in live(after)}
    others = [
        x for n, array in trace.symbols.items() if n not in ("q", "qd", "u") for x in array.ravel().tolist()
    ]
    if any(x.number in used for x in others):
        return Differentiable(plain)
    if not is_analytic(settings):
        return Differentiable(plain)
    try:
        return Differentiable(plain, _step_blocks(settings, trace))
    except TooLongError:
        return Differentiable(plain)


def _step_blocks(settings: Settings, trace: Trace) -> Trace:
    """The blocks of a step's derivative by coordinates, from those along rates."""
    step, robot, nv = Step(settings), settings.robot, settings.nv
    known, (q1, _) = matrices(step)
    both = np.concatenate([known["A"], known["B"]], axis=1)
    columns = {"q": slice(nv), "qd": slice(nv, 2 * nv), "u": slice(2 * nv, None)}
    results = {}
    for of, rows in zip(trace.results, (slice(nv), slice(nv, 2 * nv)), strict=True):
        for wrt, shape in trace.inputs.items():
            block = np.zeros((nv, prod(shape)), dtype=object)
            if wrt in columns:
                block = both[rows, columns[wrt]]
            if wrt == "q":
                block = _along_coordinates(robot, step.q, block)
            results[f"{of}.{wrt}"] = _of_coordinates(robot, q1, block) if rows.start is None else block
    own = {"q": step.q, "qd": step.qd, "u": step.u, "time": step.time}
    given = {
        name: own[name] if name in own else symbols(step.graph, name, shape)
        for name, shape in trace.inputs.items()
    }
    return replace(trace, symbols=given, results=results)


def _along_coordinates(robot: Robot, q: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Derivatives (n, nq) by coordinates of those (n, nv) along rates."""
    made = np.zeros((block.shape[0], robot.nq), dtype=object)
    for k, along in enumerate(block):
        made[k] = tangent_map(robot._coordinates, "coordinate_slopes", q, along)
    return made


def _of_coordinates(robot: Robot, q: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Derivatives (nq, n) of coordinates from those (nv, n) of rates."""
    made = np.zeros((robot.nq, block.shape[1]), dtype=object)
    for k in range(block.shape[1]):
        made[:, k] = tangent_map(robot._coordinates, "coordinate_rates", q, block[:, k])
    return made


def _by_entries(trace: Trace) -> Trace:
    return replace(trace, configurations=frozenset(), moving=frozenset())
