# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Recording scalars of a program by the letter, as counts in the literature take it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ops import ADD, COS, DIV, MUL, NEG, SIN, SUB
from .scalar import Graph, Node


class GeneralGraph(Graph):
    """A program as a person would carry it out by the letter: nothing folded, nothing shared.

    A literal 0 or 1 in a text is no operation: nobody adds nothing or multiplies by one. With
    `shared`, equal operations on equal operands are made once, as a person keeps partial results.
    """

    def __init__(self, *, shared: bool = False) -> None:
        super().__init__()
        self.shared = shared

    def add(self, a: Any, b: Any) -> Any:
        a, b = _item(a), _item(b)
        if _is(b, 0.0):
            return a
        return b if _is(a, 0.0) else self._plain(ADD, a, b)

    def sub(self, a: Any, b: Any) -> Any:
        a, b = _item(a), _item(b)
        if _is(b, 0.0):
            return a
        return self.neg(b) if _is(a, 0.0) else self._plain(SUB, a, b)

    def mul(self, a: Any, b: Any) -> Any:
        a, b = _item(a), _item(b)
        for x, other in ((a, b), (b, a)):
            if _is(x, 0.0):
                return 0.0
            if _is(x, 1.0):
                return other
            if _is(x, -1.0):
                return self.neg(other)
        return self._plain(MUL, a, b)

    def div(self, a: Any, b: Any) -> Any:
        a, b = _item(a), _item(b)
        if _is(a, 0.0):
            return 0.0
        return a if _is(b, 1.0) else self._plain(DIV, a, b)

    def neg(self, a: Any) -> Any:
        a = _item(a)
        return self._plain(NEG, a) if type(a) is Node else -a

    def sin(self, a: Node) -> Any:
        return self._plain(SIN, a)

    def cos(self, a: Node) -> Any:
        return self._plain(COS, a)

    def _plain(self, op: str, *args: Any) -> Node:
        key = tuple(a.number if type(a) is Node else (a,) for a in args) if self.shared else len(self.nodes)
        return self._make(op, args, (op, key))


def _item(x: Any) -> Any:
    """The scalar in an array without axes, as indexing an object array by an ellipsis leaves it."""
    return x.item() if type(x) is np.ndarray else x


def _is(x: Any, literal: float) -> bool:
    return type(x) is not Node and bool(x == literal)
