# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The builder of straight-line code: operations are hash-consed, folded, and signs pulled outward.

Constants are plain floats, so that arithmetic between them folds by itself. Operators on the scalars of a
graph call it, so that equations written for numbers are recorded as they run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from math import prod
from typing import Any

import numpy as np

from ..reproducible import cos_sin
from ..robot.joints import rescale
from .ir import UNIFORM, Buffer, Load, Scalar, Value
from .ops import (
    ABS,
    ADD,
    ARCTAN2,
    COS,
    DIV,
    EXP,
    FLOOR,
    INPUT,
    LESS,
    LOG,
    MAX,
    MIN,
    MUL,
    NEG,
    OPS,
    RESCALE,
    SELECT,
    SIN,
    SQRT,
    SUB,
    TANH,
)


class Graph:
    """Straight-line code under construction: equal operations on equal operands are made once."""

    def __init__(self) -> None:
        self.nodes: list[Scalar] = []
        self.buffers: dict[str, Buffer] = {}  # inputs by name
        self.body_index = -1  # the body that is being computed; -1: that of the operands
        self.quantity = ""
        self.wanted: frozenset[str] = frozenset()  # variables of the algorithm whose values are recorded
        self.kept: dict[str, Any] = {}
        self.meanings: dict[Load, Any] = {}  # of symbols in general equations: numbers, or expressions
        self.prepared: dict[Any, Any] = {}  # functions of the algorithm that announce their quantities
        self.definite: set[tuple[Any, ...]] = set()  # keys of symmetric, positive definite matrices
        self._known: dict[tuple[Any, ...], Any] = {}

    def keep(self, name: str, value: Any) -> None:
        """Record the value of a variable if it is wanted."""
        if name in self.wanted:
            self.kept[name] = value

    def input(self, name: str, index: int) -> Load:
        """The scalar number `index` of an input array."""
        buffer = self.buffers.get(name)
        if buffer is None:
            kind = "uniform" if name == UNIFORM else "input"
            buffer = self.buffers[name] = Buffer(name, 0, kind, given=True)
        if index >= buffer.size:
            buffer.size = index + 1
        return self.leaf(buffer, index)

    def leaf(self, address: Any, index: int = 0) -> Load:
        """A scalar that is loaded from a buffer, or from a symbolic address."""
        key = (INPUT, address, index)
        found = self._known.get(key)
        return self._recorded(Load(address, index), key, self.body_index) if found is None else found

    def add(self, a: Any, b: Any) -> Any:
        if not isinstance(a, Scalar):
            a, b = b, a
        if not isinstance(b, Scalar):
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
        if not isinstance(b, Scalar):
            return self.add(a, -b.item() if type(b) is np.ndarray else -b)
        if not isinstance(a, Scalar):
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
        if not isinstance(a, Scalar):
            a, b = b, a
        if not isinstance(b, Scalar):
            return self.mul(a, b.item()) if type(b) is np.ndarray else self._scaled(a, float(b))
        minus = False
        if a.op is NEG:
            a, minus = a.args[0], True
        if b.op is NEG:
            b, minus = b.args[0], not minus
        if a.number > b.number:
            a, b = b, a
        # A quotient by a was recorded after a: only b can be one.
        product = _cancelled(a, b) or self._make(MUL, (a, b), (MUL, a.number, b.number))
        return self.neg(product) if minus else product

    def _scaled(self, a: Scalar, factor: float) -> Any:
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
        if not isinstance(b, Scalar):
            return self.mul(a, 1.0 / float(b))
        if isinstance(a, Scalar) and a.op is NEG:
            return self.neg(self.div(a.args[0], b))
        if b.op is NEG:
            return self.neg(self.div(a, b.args[0]))
        if not isinstance(a, Scalar):
            return 0.0 if a == 0.0 else self._make(DIV, (float(a), b), (DIV, -1, b.number, float(a)))
        return self._make(DIV, (a, b), (DIV, a.number, b.number))

    def quotient(self, a: Any, b: Any) -> Any:
        """a / b, rounded once, as users' functions divide.

        `div`, by which robots' equations divide, multiplies by the reciprocal of a constant: there constants
        are numbers of the robot, and products join sums as multiply-adds.
        """
        if isinstance(b, Scalar) or not isinstance(a, Scalar) or abs(math.frexp(float(b))[0]) == 0.5:
            return self.div(a, b)
        if a.op is NEG:
            return self.neg(self.quotient(a.args[0], b))
        if b < 0.0:
            return self.neg(self.quotient(a, -b))
        return self.operation(DIV, a, b)

    def neg(self, a: Any) -> Any:
        if not isinstance(a, Scalar):
            return -float(a)
        return a.args[0] if a.op is NEG else self._make(NEG, (a,), (NEG, a.number))

    def sin(self, a: Any) -> Any:
        if not isinstance(a, Scalar):
            return cos_sin(float(a))[1]
        return self.neg(self.sin(a.args[0])) if a.op is NEG else self._make(SIN, (a,), (SIN, a.number))

    def cos(self, a: Any) -> Any:
        if not isinstance(a, Scalar):
            return cos_sin(float(a))[0]
        a = a.args[0] if a.op is NEG else a
        return self._make(COS, (a,), (COS, a.number))

    def tanh(self, a: Any) -> Any:
        if not isinstance(a, Scalar):
            return self.operation(TANH, a)
        return self.neg(self.tanh(a.args[0])) if a.op is NEG else self._make(TANH, (a,), (TANH, a.number))

    def sqrt(self, a: Any) -> Any:
        return self.operation(SQRT, a)

    def exp(self, a: Any) -> Any:
        return self.operation(EXP, a)

    def log(self, a: Any) -> Any:
        return self.operation(LOG, a)

    def floor(self, a: Any) -> Any:
        return a if isinstance(a, Scalar) and a.op is FLOOR else self.operation(FLOOR, a)

    def arctan2(self, a: Any, b: Any) -> Any:
        """The angle of the point (b, a)."""
        if isinstance(a, Scalar) and a.op is NEG:
            return self.neg(self.arctan2(a.args[0], b))
        return self.operation(ARCTAN2, a, b)

    def less(self, a: Any, b: Any) -> Any:
        """One where a < b, else zero."""
        if not isinstance(a, Scalar) and not isinstance(b, Scalar):
            return 1.0 if float(a) < float(b) else 0.0
        return 0.0 if a is b else self.operation(LESS, a, b)

    def choose(self, mask: Any, a: Any, b: Any) -> Any:
        """a where the mask is not zero, else b."""
        if not isinstance(mask, Scalar):
            return a if mask else b
        a, b = (x if isinstance(x, Scalar) else float(x) for x in (a, b))
        return a if _key(a) == _key(b) else self.operation(SELECT, mask, a, b)

    def abs(self, a: Any) -> Any:
        if not isinstance(a, Scalar):
            return abs(float(a))
        a = a.args[0] if a.op is NEG else a
        return a if a.op is ABS else self._make(ABS, (a,), (ABS, a.number))

    def minimum(self, a: Any, b: Any) -> Any:
        return self._extreme(MIN, a, b)

    def maximum(self, a: Any, b: Any) -> Any:
        return self._extreme(MAX, a, b)

    def _extreme(self, op: str, a: Any, b: Any) -> Any:
        if not isinstance(a, Scalar):
            a, b = b, a
        if not isinstance(a, Scalar):
            return self.operation(op, a, b)
        if not isinstance(b, Scalar) and abs(float(b)) == math.inf:  # an infinite limit is none
            return a if (float(b) > 0.0) == (op is MIN) else float(b)
        return a if a is b else self.operation(op, a, b if isinstance(b, Scalar) else float(b) + 0.0)

    def operation(self, op: str, *args: Any) -> Any:
        """An operation on scalars and numbers, folded if all are numbers."""
        args = tuple(a if isinstance(a, Scalar) else float(a) for a in args)
        if any(isinstance(a, Scalar) for a in args):
            return self._make(op, args, (op, *map(_key, args)))
        with np.errstate(all="ignore"):
            return float(OPS[op].numpy(*map(np.float64, args)))

    def rescale(self, a: Any) -> Any:
        if not isinstance(a, Scalar):
            return float(rescale(np.asarray(a, dtype=float)))
        return self._make(RESCALE, (a,), (RESCALE, a.number))

    def _make(self, op: str, args: tuple[Any, ...], key: tuple[Any, ...]) -> Any:
        found = self._known.get(key)
        if found is not None:
            return found
        body = self.body_index
        if body < 0:
            for a in args:
                if isinstance(a, Scalar) and a.body_index > body:
                    body = a.body_index
        return self._recorded(Value(op, args), key, body)

    def _recorded(self, scalar: Any, key: tuple[Any, ...], body: int) -> Any:
        scalar.graph = self
        scalar.number = len(self.nodes)
        scalar.quantity = self.quantity
        scalar.body_index = body
        self.nodes.append(scalar)
        self._known[key] = scalar
        return scalar


def _key(x: Any) -> Any:
    return x.number if isinstance(x, Scalar) else ("constant", float(x))


def _cancelled(a: Scalar, b: Scalar) -> Any:
    """x if b is x / a or x (1 / a), else None: projecting a joint out leaves exact zeros."""
    if b.op is DIV and b.args[1] is a:
        return b.args[0]
    if b.op is MUL:
        for inverse, x in (b.args, b.args[::-1]):
            if isinstance(inverse, Scalar) and inverse.op is DIV and inverse.args == (1.0, a):
                return x
    return None


def live(outputs: Iterable[Any], behind: Callable[[Scalar], Iterable[Any]] | None = None) -> list[Scalar]:
    """The nodes that the outputs need, operands first; `behind` replaces `args` as what a node needs."""
    wanted: set[int] = set()
    stack = [x for x in outputs if isinstance(x, Scalar)]
    graph = stack[0].graph if stack else None
    while stack:
        node = stack.pop()
        if node.number not in wanted:
            wanted.add(node.number)
            stack.extend(a for a in (behind(node) if behind else node.args) if isinstance(a, Scalar))
    return [graph.nodes[k] for k in sorted(wanted)] if graph else []


def symbols(graph: Graph, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Fresh inputs of a graph."""
    made = np.empty(prod(shape), dtype=object)
    made[:] = [graph.input(name, k) for k in range(prod(shape))]
    return made.reshape(shape)


def substituted(outputs: Iterable[Any], values: Mapping[int, Any]) -> list[Any]:
    """Outputs with other scalars or numbers for some leaves, given by their numbers."""
    outputs = list(outputs)
    made: dict[int, Any] = dict(values)
    for node in live(outputs):
        if node.number in made or not any(isinstance(a, Scalar) and a.number in made for a in node.args):
            continue
        args = [made.get(a.number, a) if isinstance(a, Scalar) else a for a in node.args]
        folds = not any(isinstance(a, Scalar) for a in args)
        if folds or OPS[node.op].is_lowered:
            made[node.number] = node.graph.operation(node.op, *args)
        else:
            record = Graph.quotient if node.op is DIV else OPS[node.op].record
            made[node.number] = record(node.graph, *args)
    return [made.get(x.number, x) if isinstance(x, Scalar) else x for x in outputs]


# ------------------------------------------------------------------- counts without simplification


class GeneralGraph(Graph):
    """Straight-line code of equations as they are written, for counts: nothing folded, nothing shared.

    A sum with a literal 0 and a product with a literal 0 or 1 are no operations. With `shared`, equal
    operations on equal operands are recorded once, as a person reuses partial results.
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
        return self._plain(NEG, a) if isinstance(a, Scalar) else -a

    def sin(self, a: Scalar) -> Any:
        return self._plain(SIN, a)

    def cos(self, a: Scalar) -> Any:
        return self._plain(COS, a)

    def _plain(self, op: str, *args: Any) -> Scalar:
        key = (
            tuple(a.number if isinstance(a, Scalar) else (a,) for a in args)
            if self.shared
            else len(self.nodes)
        )
        return self._make(op, args, (op, key))


def _item(x: Any) -> Any:
    """The scalar in an array without axes, as indexing an object array by an ellipsis leaves it."""
    return x.item() if type(x) is np.ndarray else x


def _is(x: Any, literal: float) -> bool:
    return not isinstance(x, Scalar) and bool(x == literal)
