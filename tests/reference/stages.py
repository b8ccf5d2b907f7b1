# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Stages of loops over bodies, built from templates of a few lines and run by the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from phalanx.program.builder import template
from phalanx.program.graph import Graph
from phalanx.program.interpret import interpret
from phalanx.program.ir import Program
from phalanx.program.passes.fuse import fuse
from phalanx.program.rolled import leaves as L
from phalanx.program.rolled.program import RolledProgram
from phalanx.program.rolled.stages.bodies import Stage, StageLayout

TREE = np.array([-1, 0, 1, 1, 0, -1, 5, 5, 7, 3, 4])
CHAIN = np.arange(-1, 10)


def code(write: Callable[[Callable[[L.Leaf], Any]], Mapping[L.Leaf, Any]]) -> Program:
    """A template: `write(leaf)` maps targets to results, made from `leaf(source)`."""
    made = write(Graph().leaf)
    return fuse(template(list(made.values()), list(made)))


def own(name: str, width: int = 1, offset: int = 0) -> L.State:
    """A scalar of each body in an input or output."""
    return L.State(name, L.OWN, width, offset)


def layout(
    parents: np.ndarray | None,
    inputs: Mapping[str, tuple[int, ...]],
    outputs: Mapping[str, tuple[int, ...]],
    *,
    table: Sequence[np.ndarray] = (),
    **more: Any,
) -> StageLayout:
    """A layout of as many bodies as the output has entries; `table` has the columns of parameters."""
    n = next(iter(outputs.values()))[0]
    columns = np.stack(table, axis=1) if len(table) else np.zeros((n, 0))
    numbers = {k: k for k in range(columns.shape[1])}
    given: dict[str, Any] = {"maps": {}, "slots": 0, "commons": 0, **more}
    return StageLayout(inputs, outputs, n, parents, columns, numbers, **given)


def program(laid: StageLayout, *stages: Stage, lanes: int = 2, items: int = 0, alone: int = 0) -> Program:
    """The program of some stages; for a work-group of `items`, or one state in `alone` lanes, if any."""
    rolled = RolledProgram(laid, list(stages))
    if alone:
        made = rolled.alone(alone)
        assert made is not None
        return made
    return rolled.grouped(items) if items else rolled.built(lanes)


def computed(made: Program, **inputs: Any) -> Any:
    """The output of a program, of several a dictionary."""
    found = interpret(made, inputs, order=lambda counted: tuple(counted)[::-1])
    return next(iter(found.values())) if len(found) == 1 else found


def related(parents: np.ndarray) -> np.ndarray:
    """(n, n) whether column j is body i itself or one of its ancestors."""
    made = np.zeros((len(parents), len(parents)), dtype=bool)
    for i in range(len(parents)):
        j = i
        while j >= 0:
            made[i, j] = True
            j = int(parents[j])
    return made
