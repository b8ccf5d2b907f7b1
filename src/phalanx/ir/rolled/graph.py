# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Scalars of one body that stands for all: what they depend on tells where they can be computed.

A node is *local* (parameters and inputs of the body itself), belongs to a *phase* (a loop
over all bodies: even ones from the root to the tips, odd ones back), or is *common* (one
value per state, computed before the loop of its phase).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops import ADD, COS, DIV, INPUT, MUL, NEG, SIN, SUB
from ..scalar import Graph, Node

LOCAL = -1
CHOOSE = "choose"  # the second operand where the first is not zero, else the third

_FOLDED: dict[str, Any] = {
    ADD: np.add,
    SUB: np.subtract,
    MUL: np.multiply,
    DIV: np.divide,
    SIN: np.sin,
    COS: np.cos,
    CHOOSE: lambda mask, a, b: np.where(mask != 0.0, a, b),
}


class LoopGraph(Graph):
    """A graph that can choose between two values by a parameter."""

    def choose(self, mask: Any, a: Any, b: Any) -> Any:
        """a where the mask is not zero, else b."""
        if type(mask) is not Node:
            return a if mask else b
        known = [x.number if type(x) is Node else ("constant", float(x)) for x in (a, b)]
        return a if known[0] == known[1] else self._make(CHOOSE, (mask, a, b), (CHOOSE, mask.number, *known))


class BodyGraph(LoopGraph):
    """A graph whose parameters are columns over all bodies; what depends on them alone is one, too."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.columns: list[np.ndarray] = []
        self._column_of: dict[bytes, int] = {}
        self._phase: list[int] = []
        self._common: list[bool] = []

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
        return self.leaf("param", self._column_of[key])

    def params(self, array: np.ndarray) -> np.ndarray:
        """Columns (n, …) as an array (1, …) of entries at the current body."""
        flat = array.reshape(self.n, -1)
        made = np.empty(flat.shape[1], dtype=object)
        made[:] = [self.param(flat[:, k]) for k in range(flat.shape[1])]
        return made.reshape((1, *array.shape[1:]))

    def placed(self, *what: Any, phase: int, common: bool = False) -> Node:
        """A leaf that is ready in a phase."""
        node = self.leaf(*what)
        self._phase[node.number] = phase
        self._common[node.number] = common
        return node

    def phase(self, x: Any) -> int:
        """The first phase in which x is known."""
        return self._phase[x.number] if type(x) is Node else LOCAL

    def common(self, x: Any) -> bool:
        """Whether x is the same for all bodies of a state."""
        return self._common[x.number] if type(x) is Node else True

    def is_param(self, x: Any) -> bool:
        """Whether x is an entry of a column."""
        return type(x) is Node and x.op is INPUT and x.args[0] == "param"

    def column(self, x: Any) -> np.ndarray:
        """The values over all bodies of a parameter or number."""
        return self.columns[x.args[1]] if type(x) is Node else np.full(self.n, float(x))

    def _make(self, op: str, args: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
        if op in _FOLDED and all(self.is_param(a) for a in args if type(a) is Node):
            with np.errstate(all="ignore"):
                return self.param(_FOLDED[op](*(self.column(a) for a in args)))
        node = super()._make(op, args, key)
        if node.number == len(self._phase):
            operands = [a for a in args if type(a) is Node]
            self._phase.append(max((self.phase(a) for a in operands), default=LOCAL))
            self._common.append(bool(operands) and all(self.common(a) for a in operands))
        return node


def copied(graph: LoopGraph, node: Node, args: list[Any]) -> Any:
    """The operation of a node on operands of another graph."""
    if node.op is ADD:
        return args[0] + args[1]
    if node.op is SUB:
        return args[0] - args[1]
    if node.op is MUL:
        return args[0] * args[1]
    if node.op is DIV:
        return args[0] / args[1]
    if node.op is CHOOSE:
        return graph.choose(*args)
    assert node.op is NEG, node
    return graph.neg(args[0])
