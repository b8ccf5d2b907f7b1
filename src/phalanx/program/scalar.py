# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Scalars that record what is done to them: hash-consed, folded, signs pulled outward.

Constants are plain floats, so that arithmetic between them folds by itself. A node knows
the body it was made for and the quantity it belongs to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..robot.joints import rescale
from ..spatial import cos_sin
from .ops import (
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


class Node:
    """One scalar of a program."""

    __slots__ = ("args", "graph", "link", "number", "op", "quantity")

    def __init__(self, graph: Graph, number: int, op: str, args: tuple[Any, ...], link: int) -> None:
        self.graph = graph
        self.number = number
        self.op = op
        self.args = args
        self.link = link
        self.quantity = graph.quantity

    def __add__(self, other: Any) -> Any:
        return self.graph.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self.graph.sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.graph.sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return self.graph.mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self.graph.div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.graph.div(other, self)

    def __neg__(self) -> Any:
        return self.graph.neg(self)

    def sin(self) -> Any:
        return self.graph.sin(self)

    def cos(self) -> Any:
        return self.graph.cos(self)

    def __abs__(self) -> Any:
        return self.graph.abs(self)

    def sqrt(self) -> Any:
        return self.graph.sqrt(self)

    def exp(self) -> Any:
        return self.graph.exp(self)

    def log(self) -> Any:
        return self.graph.log(self)

    def tanh(self) -> Any:
        return self.graph.tanh(self)

    def arctan2(self, other: Any) -> Any:
        return self.graph.arctan2(self, other)

    def minimum(self, other: Any) -> Any:
        return self.graph.minimum(self, other)

    def maximum(self, other: Any) -> Any:
        return self.graph.maximum(self, other)

    def less(self, other: Any) -> Any:
        return self.graph.less(self, other)

    def choose(self, a: Any, b: Any) -> Any:
        return self.graph.choose(self, a, b)

    def rescale(self) -> Any:
        return self.graph.rescale(self)

    @property
    def leaf(self) -> Any:
        """Where it comes from, None if it is computed."""
        return self.args[0] if self.op is INPUT else None

    def __repr__(self) -> str:
        told = ", ".join(f"%{a.number}" if isinstance(a, Node) else repr(a) for a in self.args)
        return f"%{self.number} = {self.op}({told})"


class Graph:
    """A program under construction: equal operations on equal operands are made once."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.link = -1  # the body that is being computed; -1: as the operands
        self.quantity = ""
        self.wanted: frozenset[str] = frozenset()  # variables of the text whose values are kept
        self.kept: dict[str, Any] = {}
        self.prepared: dict[Any, Any] = {}  # functions of the text that announce what they compute
        self._known: dict[tuple[Any, ...], Node] = {}

    def keep(self, name: str, value: Any) -> None:
        """Remember the value of a variable if it is wanted."""
        if name in self.wanted:
            self.kept[name] = value

    def input(self, name: str, index: int) -> Node:
        """The scalar number `index` of an input array."""
        return self._make(INPUT, (name, index), (INPUT, name, index))

    def leaf(self, *what: Any) -> Node:
        """A scalar that comes from elsewhere; `what` tells an interpreter from where."""
        return self._make(INPUT, what, (INPUT, *what))

    def add(self, a: Any, b: Any) -> Any:
        if type(a) is not Node:
            a, b = b, a
        if type(b) is not Node:
            if type(b) is np.ndarray:
                return self.add(a, b.item())
            if b == 0.0:
                return a
            return self._make(ADD, (a, float(b)), (ADD, a.number, -1, float(b)))
        if b.op is NEG:
            return self.sub(a, b.args[0])
        if a.op is NEG:
            return self.sub(b, a.args[0])
        if a.number > b.number:
            a, b = b, a
        return self._make(ADD, (a, b), (ADD, a.number, b.number))

    def sub(self, a: Any, b: Any) -> Any:
        if type(b) is not Node:
            return self.add(a, -b.item() if type(b) is np.ndarray else -b)
        if type(a) is not Node:
            if type(a) is np.ndarray:
                return self.sub(a.item(), b)
            if a == 0.0:
                return self.neg(b)
            if b.op is NEG:
                return self.add(b.args[0], a)
            return self._make(SUB, (float(a), b), (SUB, -1, b.number, float(a)))
        if b.op is NEG:
            return self.add(a, b.args[0])
        if a.op is NEG:
            return self.neg(self.add(a.args[0], b))
        if a is b:
            return 0.0
        if a.number > b.number:
            # One of a - b and b - a serves both.
            return self.neg(self._make(SUB, (b, a), (SUB, b.number, a.number)))
        return self._make(SUB, (a, b), (SUB, a.number, b.number))

    def mul(self, a: Any, b: Any) -> Any:
        if type(a) is not Node:
            a, b = b, a
        if type(b) is not Node:
            return self.mul(a, b.item()) if type(b) is np.ndarray else self._scaled(a, float(b))
        minus = False
        if a.op is NEG:
            a, minus = a.args[0], True
        if b.op is NEG:
            b, minus = b.args[0], not minus
        if a.number > b.number:
            a, b = b, a
        # What was divided by a comes later than a.
        product = _cancelled(a, b) or self._make(MUL, (a, b), (MUL, a.number, b.number))
        return self.neg(product) if minus else product

    def _scaled(self, a: Node, factor: float) -> Any:
        if factor == 0.0:
            return 0.0
        if a.op is NEG:
            a, factor = a.args[0], -factor
        if a.op is MUL and type(a.args[1]) is float:
            a, factor = a.args[0], factor * a.args[1]
        if factor == 1.0:
            return a
        if factor < 0.0:
            return self.neg(self._scaled(a, -factor))
        return self._make(MUL, (a, factor), (MUL, a.number, -1, factor))

    def div(self, a: Any, b: Any) -> Any:
        if type(b) is np.ndarray or type(a) is np.ndarray:
            # An array without axes, as indexing an object array by an ellipsis leaves it.
            return self.div(*(x.item() if type(x) is np.ndarray else x for x in (a, b)))
        if type(b) is not Node:
            return self.mul(a, 1.0 / float(b))
        if type(a) is Node and a.op is NEG:
            return self.neg(self.div(a.args[0], b))
        if b.op is NEG:
            return self.neg(self.div(a, b.args[0]))
        if type(a) is not Node:
            return 0.0 if a == 0.0 else self._make(DIV, (float(a), b), (DIV, -1, b.number, float(a)))
        return self._make(DIV, (a, b), (DIV, a.number, b.number))

    def neg(self, a: Any) -> Any:
        if type(a) is not Node:
            return -float(a)
        return a.args[0] if a.op is NEG else self._make(NEG, (a,), (NEG, a.number))

    def sin(self, a: Any) -> Any:
        if type(a) is not Node:
            return cos_sin(float(a))[1]
        return self.neg(self.sin(a.args[0])) if a.op is NEG else self._make(SIN, (a,), (SIN, a.number))

    def cos(self, a: Any) -> Any:
        if type(a) is not Node:
            return cos_sin(float(a))[0]
        a = a.args[0] if a.op is NEG else a
        return self._make(COS, (a,), (COS, a.number))

    def tanh(self, a: Any) -> Any:
        if type(a) is not Node:
            return _number(np.tanh, a)
        return self.neg(self.tanh(a.args[0])) if a.op is NEG else self._make(TANH, (a,), (TANH, a.number))

    def sqrt(self, a: Any) -> Any:
        return self._make(SQRT, (a,), (SQRT, a.number)) if type(a) is Node else _number(np.sqrt, a)

    def exp(self, a: Any) -> Any:
        return self._make(EXP, (a,), (EXP, a.number)) if type(a) is Node else _number(np.exp, a)

    def log(self, a: Any) -> Any:
        return self._make(LOG, (a,), (LOG, a.number)) if type(a) is Node else _number(np.log, a)

    def arctan2(self, a: Any, b: Any) -> Any:
        """The angle of the point (b, a)."""
        if type(a) is Node and a.op is NEG:
            return self.neg(self.arctan2(a.args[0], b))
        return self._on(ARCTAN2, a, b) if Node in (type(a), type(b)) else _number(np.arctan2, a, b)

    def less(self, a: Any, b: Any) -> Any:
        """One where a < b, else zero."""
        if type(a) is not Node and type(b) is not Node:
            return 1.0 if float(a) < float(b) else 0.0
        return 0.0 if a is b else self._on(LESS, a, b)

    def choose(self, mask: Any, a: Any, b: Any) -> Any:
        """a where the mask is not zero, else b."""
        if type(mask) is not Node:
            return a if mask else b
        a, b = (x if type(x) is Node else float(x) for x in (a, b))
        return a if _key(a) == _key(b) else self._on(SELECT, mask, a, b)

    def abs(self, a: Any) -> Any:
        if type(a) is not Node:
            return abs(float(a))
        a = a.args[0] if a.op is NEG else a
        return a if a.op is ABS else self._make(ABS, (a,), (ABS, a.number))

    def minimum(self, a: Any, b: Any) -> Any:
        return self._extreme(MIN, np.minimum, a, b)

    def maximum(self, a: Any, b: Any) -> Any:
        return self._extreme(MAX, np.maximum, a, b)

    def _extreme(self, op: str, rule: Callable[..., Any], a: Any, b: Any) -> Any:
        if type(a) is not Node:
            a, b = b, a
        if type(a) is not Node:
            return _number(rule, a, b)
        if type(b) is not Node and abs(float(b)) == math.inf:  # as a limit that there is not
            return a if (float(b) > 0.0) == (op is MIN) else float(b)
        return a if a is b else self._on(op, a, b if type(b) is Node else float(b) + 0.0)

    def _on(self, op: str, *args: Any) -> Any:
        """An operation on nodes and numbers."""
        args = tuple(a if type(a) is Node else float(a) for a in args)
        return self._make(op, args, (op, *map(_key, args)))

    def rescale(self, a: Any) -> Any:
        if type(a) is not Node:
            return float(rescale(np.asarray(a, dtype=float)))
        return self._make(RESCALE, (a,), (RESCALE, a.number))

    def _make(self, op: str, args: tuple[Any, ...], key: tuple[Any, ...]) -> Node:
        node = self._known.get(key)
        if node is None:
            link = self.link
            if link < 0:
                link = max((a.link for a in args if type(a) is Node), default=-1)
            node = Node(self, len(self.nodes), op, args, link)
            self.nodes.append(node)
            self._known[key] = node
        return node


def _key(x: Any) -> Any:
    return x.number if type(x) is Node else ("constant", float(x))


def _number(rule: Callable[..., Any], *args: Any) -> float:
    """A function of constants."""
    with np.errstate(all="ignore"):
        return float(rule(*map(float, args)))


def _cancelled(a: Node, b: Node) -> Any:
    """x where b is x / a written in any way, else None: projecting a joint out leaves exact zeros."""
    if b.op is DIV and b.args[1] is a:
        return b.args[0]
    if b.op is MUL:
        for inverse, x in (b.args, b.args[::-1]):
            if type(inverse) is Node and inverse.op is DIV and inverse.args == (1.0, a):
                return x
    return None


def live(outputs: Iterable[Any], behind: Callable[[Node], Iterable[Any]] | None = None) -> list[Node]:
    """The nodes that the outputs need, operands first; `behind` tells operands other than all."""
    wanted: set[int] = set()
    stack = [x for x in outputs if type(x) is Node]
    graph = stack[0].graph if stack else None
    while stack:
        node = stack.pop()
        if node.number not in wanted:
            wanted.add(node.number)
            stack.extend(a for a in (behind(node) if behind else node.args) if type(a) is Node)
    return [graph.nodes[k] for k in sorted(wanted)] if graph else []
