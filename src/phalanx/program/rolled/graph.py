# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Scalars of one body that stands for all: what they depend on tells where they can be computed.

A node is *local* (parameters and inputs of the body itself), belongs to a *phase* (a loop
over all bodies: even ones from the root to the tips, odd ones back), or is *common* (one
value per state, computed before the loop of its phase).

Besides bodies there are *pairs* of them, rows and columns of a matrix. Loops over pairs stand
inside a loop over columns (or rows), and have phases of their own. What a pair has from the
body of its row, or of its column, is a leaf.

And there are *links*, where joints have several bodies: a node that is *linked* is a value of the last
body of a joint and is computed for such bodies only, in loops of their own after those over all bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ...errors import PhalanxError
from ..form.interpret import RULES
from ..ops import (
    ABS,
    ADD,
    ARCTAN2,
    COS,
    DIV,
    EXP,
    INPUT,
    LESS,
    LOG,
    MAX,
    MIN,
    MUL,
    NEG,
    RESCALE,
    SELECT,
    SIN,
    SQRT,
    SUB,
    TANH,
)
from ..scalar import Graph, Node
from . import leaves as L

LOCAL = -1

# Of parameters, as they are recorded.
_FOLDED = {ADD, SUB, MUL, DIV, SIN, COS, ABS, MIN, MAX, RESCALE, LESS, SELECT, SQRT, EXP, TANH, LOG, ARCTAN2}


class _Kind(NamedTuple):
    """Where a node can be computed."""

    phase: int
    common: bool
    paired: bool
    linked: bool


class BodyGraph(Graph):
    """A graph whose parameters are columns over all bodies; what depends on them alone is one, too."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.columns: list[np.ndarray] = []
        self._column_of: dict[bytes, int] = {}
        self._kinds: list[_Kind] = []  # of nodes, by their numbers
        self.lent = LOCAL  # the last phase of bodies from which pairs have anything

    def param(self, column: np.ndarray) -> Any:
        """The entry of a column (n,) at the current body: a number if all entries are equal."""
        column = np.ascontiguousarray(column, dtype=np.float64)
        # Signed zeros are as good as zeros.
        if (column == column[0]).all():
            return float(column[0]) + 0.0
        key = column.tobytes()
        if key not in self._column_of:
            self._column_of[key] = len(self.columns)
            self.columns.append(column)
        return self.leaf(L.Param(self._column_of[key]))

    def params(self, array: np.ndarray) -> np.ndarray:
        """Columns (n, …) as an array (1, …) of entries at the current body."""
        flat = array.reshape(self.n, -1)
        made = np.empty(flat.shape[1], dtype=object)
        made[:] = [self.param(flat[:, k]) for k in range(flat.shape[1])]
        return made.reshape((1, *array.shape[1:]))

    def at_body(self, body: int) -> Any:
        """One at a body, zero at all others."""
        return self.param((np.arange(self.n) == body).astype(float))

    def table(self, columns: Iterable[int]) -> np.ndarray:
        """Some of the columns side by side (n, …)."""
        chosen = [self.columns[k] for k in columns]
        return np.stack(chosen, axis=1) if chosen else np.zeros((self.n, 0))

    def placed(
        self, what: L.Leaf, *, phase: int, common: bool = False, paired: bool = False, linked: bool = False
    ) -> Node:
        """A leaf that is ready in a phase."""
        node = self.leaf(what)
        self._kinds[node.number] = _Kind(phase, common, paired, linked)
        return node

    def elsewhere(self, x: Any, map: str = L.OWN) -> Any:
        """The value of x in later phases at the body that a map leads to; nothing else is known of it."""
        return (
            self.placed(L.Gathered(x.number, map), phase=max(self.phase(x), 0) + 1) if type(x) is Node else x
        )

    def linked(self, x: Any) -> bool:
        """Whether x is computed for the last bodies of joints only."""
        return type(x) is Node and self._kinds[x.number].linked

    def paired(self, x: Any) -> bool:
        """Whether x belongs to a pair of bodies."""
        return type(x) is Node and self._kinds[x.number].paired

    def of_pair(self, x: Any, side: str) -> Any:
        """The value that a pair has from the body of its "row" or "column"."""
        if self.paired(x) or self.common(x):
            return x
        if self.is_param(x):
            return self.placed(L.Param(x.leaf.column, side), phase=LOCAL, paired=True)
        self.lent = max(self.lent, self.phase(x))
        return self.placed(L.Gathered(x.number, side), phase=LOCAL, paired=True)

    def phase(self, x: Any) -> int:
        """The first phase in which x is known."""
        return self._kinds[x.number].phase if type(x) is Node else LOCAL

    def common(self, x: Any) -> bool:
        """Whether x is the same for all bodies of a state."""
        return self._kinds[x.number].common if type(x) is Node else True

    def is_param(self, x: Any) -> bool:
        """Whether x is an entry of a column."""
        return type(x) is Node and isinstance(x.leaf, L.Param) and x.leaf.whose == L.OWN

    def column(self, x: Any) -> np.ndarray:
        """The values over all bodies of a parameter or number."""
        return self.columns[x.leaf.column] if type(x) is Node else np.full(self.n, float(x))

    def _make(self, op: str, args: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
        if op in _FOLDED and all(self.is_param(a) for a in args if type(a) is Node):
            with np.errstate(all="ignore"):
                return self.param(RULES[op](*(self.column(a) for a in args)))
        if op is not INPUT and any(self.paired(a) for a in args):
            # Inside a pair, a body without further ado is that of the row.
            args = tuple(self.of_pair(a, L.ROW) if type(a) is Node else a for a in args)
            key = (op, *(a.number if type(a) is Node else ("constant", a) for a in args))
        node = super()._make(op, args, key)
        if node.number == len(self._kinds):
            operands = [a for a in args if type(a) is Node]
            paired = any(self.paired(a) for a in operands)
            if paired:
                commons = [self.phase(a) - 1 for a in operands if not self.paired(a)]
                self.lent = max(self.lent, *commons, LOCAL)
                operands = [a for a in operands if self.paired(a)]
            phase = max((self.phase(a) for a in operands), default=LOCAL)
            common = bool(operands) and all(self.common(a) for a in operands)
            self._kinds.append(_Kind(phase, common, paired, any(self.linked(a) for a in operands)))
        return node


COPIED: dict[str, Callable[..., Any]] = {
    ADD: lambda graph, a, b: a + b,
    SUB: lambda graph, a, b: a - b,
    MUL: lambda graph, a, b: a * b,
    DIV: lambda graph, a, b: a / b,
    NEG: Graph.neg,
    SIN: Graph.sin,
    COS: Graph.cos,
    ABS: Graph.abs,
    MAX: Graph.maximum,
    RESCALE: Graph.rescale,
    SELECT: Graph.choose,
    MIN: Graph.minimum,
    LESS: Graph.less,
    SQRT: Graph.sqrt,
    EXP: Graph.exp,
    TANH: Graph.tanh,
    LOG: Graph.log,
    ARCTAN2: Graph.arctan2,
}


def copied(graph: Graph, node: Node, args: list[Any]) -> Any:
    """The operation of a node on operands of another graph."""
    rule = COPIED.get(node.op)
    if rule is None:
        raise PhalanxError(f"loops over bodies: no rule for the operation {node.op}; use the NumPy backend.")
    return rule(graph, *args)
