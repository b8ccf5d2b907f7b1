# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The expression graph of one symbolic body: the operands of a scalar determine which loop can compute it.

A node is *local* (parameters and inputs of the body itself), belongs to a *phase* (a loop
over all bodies: even ones from the root to the tips, odd ones back), or is *common* (uniform: one
value per state, computed before the loop of its phase).

A *paired* node is a value of two bodies, the row and the column of a matrix entry. Loops over pairs are
nested in a loop over columns (or rows), and have phases of their own. What a pair reads of the
body of its row, or of its column, is a leaf.

Where joints have several bodies, a *linked* node is a value of the last body of a joint (its link). It is
computed for such bodies only, in loops of their own after those over all bodies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..graph import Graph
from ..ir import Load, Scalar
from ..ops import NEG, OPS
from . import leaves as L

LOCAL = -1


class _Kind(NamedTuple):
    """The loop that can compute a node: its phase, and whether it is uniform, per pair, or per link."""

    phase: int
    common: bool
    paired: bool
    linked: bool


class BodyGraph(Graph):
    """An expression graph whose parameters are columns over all bodies; functions of them fold to such."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n
        self.columns: list[np.ndarray] = []
        self._column_of: dict[bytes, int] = {}
        self._kinds: list[_Kind] = []  # of nodes, by their numbers
        self.gathered_phase = LOCAL  # the last phase over bodies whose values pairs read

    def param(self, column: np.ndarray) -> Any:
        """The entry of a column (n,) at the current body: a number if all entries are equal."""
        column = np.ascontiguousarray(column, dtype=np.float64)
        # Zeros of both signs become +0.0.
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
        """A number per body: 1 at one body, 0 at all others."""
        return self.param((np.arange(self.n) == body).astype(float))

    def table(self, columns: Iterable[int]) -> np.ndarray:
        """Columns of the table of parameters side by side (n, …)."""
        chosen = [self.columns[k] for k in columns]
        return np.stack(chosen, axis=1) if chosen else np.zeros((self.n, 0))

    def placed(
        self, what: L.Leaf, *, phase: int, common: bool = False, paired: bool = False, linked: bool = False
    ) -> Load:
        """Return a leaf whose value is known from a phase on."""
        node = self.leaf(what)
        self._kinds[node.number] = _Kind(phase, common, paired, linked)
        return node

    def elsewhere(self, x: Any, map: str = L.OWN) -> Any:
        """Gather x, in the phase after its own, from the body to which a map sends the current one."""
        return (
            self.placed(L.Gathered(x.number, map), phase=max(self.phase(x), 0) + 1)
            if isinstance(x, Scalar)
            else x
        )

    def linked(self, x: Any) -> bool:
        """Whether x is computed for the last bodies of joints only."""
        return isinstance(x, Scalar) and self._kinds[x.number].linked

    def paired(self, x: Any) -> bool:
        """Whether x belongs to a pair of bodies."""
        return isinstance(x, Scalar) and self._kinds[x.number].paired

    def of_pair(self, x: Any, side: str) -> Any:
        """Gather x from the body of a pair's "row" or "column"; x itself if it is per pair or uniform."""
        if self.paired(x) or self.common(x):
            return x
        if self.is_param(x):
            return self.placed(L.Param(x.leaf.column, side), phase=LOCAL, paired=True)
        self.gathered_phase = max(self.gathered_phase, self.phase(x))
        return self.placed(L.Gathered(x.number, side), phase=LOCAL, paired=True)

    def phase(self, x: Any) -> int:
        """The first phase in which x is known."""
        return self._kinds[x.number].phase if isinstance(x, Scalar) else LOCAL

    def common(self, x: Any) -> bool:
        """Whether x is the same for all bodies of a state."""
        return self._kinds[x.number].common if isinstance(x, Scalar) else True

    def is_param(self, x: Any) -> bool:
        """Whether x is an entry of a column."""
        return isinstance(x, Scalar) and isinstance(x.leaf, L.Param) and x.leaf.whose == L.OWN

    def column(self, x: Any) -> np.ndarray:
        """The values over all bodies of a parameter or number."""
        return self.columns[x.leaf.column] if isinstance(x, Scalar) else np.full(self.n, float(x))

    def _make(self, op: str, args: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
        if op is not NEG and all(self.is_param(a) for a in args if isinstance(a, Scalar)):
            with np.errstate(all="ignore"):
                return self.param(OPS[op].numpy(*(self.column(a) for a in args)))
        if any(self.paired(a) for a in args):
            # In an operation on pairs, an operand per body is that of the row's body.
            args = tuple(self.of_pair(a, L.ROW) if isinstance(a, Scalar) else a for a in args)
            key = (op, *(a.number if isinstance(a, Scalar) else ("constant", a) for a in args))
        return super()._make(op, args, key)

    def _recorded(self, scalar: Any, key: tuple[Any, ...], body: int) -> Any:
        operands = [a for a in scalar.args if isinstance(a, Scalar)]
        paired = any(self.paired(a) for a in operands)
        if paired:
            commons = [self.phase(a) - 1 for a in operands if not self.paired(a)]
            self.gathered_phase = max(self.gathered_phase, *commons, LOCAL)
            operands = [a for a in operands if self.paired(a)]
        phase = max((self.phase(a) for a in operands), default=LOCAL)
        common = bool(operands) and all(self.common(a) for a in operands)
        self._kinds.append(_Kind(phase, common, paired, any(self.linked(a) for a in operands)))
        return super()._recorded(scalar, key, body)


def copied(graph: Graph, node: Scalar, args: list[Any]) -> Any:
    """Record the operation of a node in a graph, on operands of that graph."""
    return OPS[node.op].record(graph, *args)
