# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops inside a step: straight-line code that is repeated until data say so, between two parts of the step.

A step is one graph of scalars. What a loop starts from and reads are scalars of that graph; what it leaves
behind are symbols of it, constants for derivatives. Its body is a graph of its own, compiled once, whatever
the number of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..program.builder import Builder, Inlined, template
from ..program.graph import Graph, symbols
from ..program.ir import Program, Real, Scalar
from ..program.passes.fuse import fuse
from ..program.passes.order import with_sincos_first

_STATE, _READ = "state", "read"


@dataclass(frozen=True)
class InnerLoop:
    """A loop of a step: its results are the symbols `name` of the step's graph.

    `limit` iterations at most; with none, its body runs once and the results are what it yields.
    """

    name: str
    starts: tuple[Any, ...]  # scalars of the step's graph, or numbers
    read: tuple[Any, ...]  # scalars of the step's graph that an iteration reads
    limit: int
    code: Program  # the next state, and with a limit whether this was the last iteration

    @property
    def operands(self) -> tuple[Any, ...]:
        """What must be known before it runs."""
        return (*self.starts, *self.read)


Body = Callable[[Graph, np.ndarray, np.ndarray], tuple[Sequence[Any], Any]]


def inner_loop(name: str, starts: Sequence[Any], read: Sequence[Any], limit: int, body: Body) -> InnerLoop:
    """The loop whose `body(graph, state, read)` returns the next state and whether it ends, on symbols.

    Numbers among what it reads are numbers in its body, so that zeros cost nothing.
    """
    graph = Graph()
    state = symbols(graph, _STATE, (len(starts),))
    moving = [x for x in read if isinstance(x, Scalar)]
    own = iter(symbols(graph, _READ, (len(moving),)).tolist())
    given = np.empty(len(read), dtype=object)
    given[:] = [next(own) if isinstance(x, Scalar) else float(x) for x in read]
    results, stop = body(graph, state, given)
    flat = [*results, *([stop] if limit else [])]
    code = fuse(template(flat, [None] * len(flat)))
    return InnerLoop(name, tuple(starts), tuple(moving), limit, code)


def emit(b: Builder, loop: InnerLoop, starts: Sequence[Real], read: Sequence[Real]) -> list[Real]:
    """Append a loop to a builder; return its results."""
    if not loop.limit:
        return _body(b, loop, {_STATE: starts, _READ: read})
    with b.until(loop.limit) as open_loop:
        state = [open_loop.carry(x) for x in starts]
        *following, stop = _body(b, loop, {_STATE: state, _READ: read})
        for carried, value in zip(state, following, strict=True):
            open_loop.feed(carried, value)
        open_loop.stop(stop)
    return list(state)


def _body(b: Builder, loop: InnerLoop, known: Mapping[str, Any]) -> list[Real]:
    inlined = Inlined(b, lambda s: known[s.buffer.name][s.index])
    for s in with_sincos_first(loop.code.values):
        inlined.append(s)
    return [inlined(x) for x in loop.code.results]
