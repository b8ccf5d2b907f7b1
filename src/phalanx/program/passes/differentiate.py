# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Automatic differentiation of straight-line code: forward mode (`tangents`), reverse mode (`adjoints`).

Both add nodes to the same graph, which folds and shares them as any others, so that derivatives of
derivatives need nothing else.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from .. import ops
from ..graph import live
from ..ir import Scalar
from ..ops import INPUT, OPS

# Operations whose results are piecewise constant, and loads.
CONSTANT = {INPUT} | {name for name, op in OPS.items() if op.derivative == ops.CONSTANT}


def tangents(results: Sequence[Any], seeds: Mapping[int, Any], still: Container[int] = ()) -> list[Any]:
    """The tangent of each result; `seeds` are the tangents of leaves by their numbers.

    Nodes whose numbers are in `still` count as constants.
    """
    rate: dict[int, Any] = dict(seeds)
    for node in moving(results):
        if node.op in CONSTANT or node.number in still:
            continue
        total = rate_of(node, rate)
        if isinstance(total, Scalar) or total != 0.0:
            rate[node.number] = total
    return [rate.get(x.number, 0.0) if isinstance(x, Scalar) else 0.0 for x in results]


def adjoints(results: Sequence[Any], weights: Sequence[Any]) -> dict[int, Any]:
    """The adjoint of each leaf by its number: the derivative of the weighted sum of all results."""
    nodes = moving(results)
    total: dict[int, Adjoint] = {}
    for x, weight in zip(results, weights, strict=True):
        if isinstance(x, Scalar):
            total[x.number] = total.get(x.number, NO_ADJOINT).plus(Adjoint(weight))
    for node in reversed(nodes):
        mine = total.get(node.number, NO_ADJOINT)
        if node.op in CONSTANT or mine.is_zero:
            continue
        for a, share in shares_of(node, mine):
            total[a.number] = total.get(a.number, NO_ADJOINT).plus(share)
    leaves = [node.number for node in nodes if node.op is INPUT and node.number in total]
    return {number: total[number].value for number in leaves}


# ------------------------------------------------------------------- one operation

# Tangents and adjoints of a selection are selected, too: a product with a mask would be NaN where the slope
# of the other operand is infinite, as that of log in where(x > 0, log(x), x). The tangent of an operand is
# selected behind its product with that slope; so is its adjoint, which therefore knows where it is selected.


class Adjoint(NamedTuple):
    """A derivative by a value: `amount` where all masks of `guard` hold, else zero.

    A mask holds where it is not zero, or where it is.
    """

    amount: Any
    guard: tuple[tuple[Scalar, bool], ...] = ()

    @property
    def is_zero(self) -> bool:
        return not isinstance(self.amount, Scalar) and self.amount == 0.0

    @property
    def value(self) -> Any:
        """The derivative as one scalar."""
        return _selected(self.amount, self.guard)

    def times(self, slope: Any) -> Adjoint:
        return Adjoint(self.amount * slope, self.guard)

    def where(self, mask: Any, holds: bool) -> Adjoint:
        """The same where a mask is not zero, or where it is; zero elsewhere."""
        if not isinstance(mask, Scalar):
            return self if bool(mask) is holds else NO_ADJOINT
        if (mask, not holds) in self.guard:
            return NO_ADJOINT
        return self if (mask, holds) in self.guard else Adjoint(self.amount, (*self.guard, (mask, holds)))

    def plus(self, other: Adjoint) -> Adjoint:
        """The sum of two adjoints, with the masks that both share and one of the remaining ones."""
        if self.guard == other.guard:
            return Adjoint(self.amount + other.amount, self.guard)
        if self.is_zero or other.is_zero:
            return other if self.is_zero else self
        both = zip(self.guard, other.guard, strict=False)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
        common, mine, theirs = self.guard[:shared], self.guard[shared:], other.guard[shared:]
        amount = _selected(self.amount, mine) + _selected(other.amount, theirs)
        if not mine or not theirs:
            return Adjoint(amount, common)
        if len(mine) == len(theirs) == 1 and mine[0][0] is theirs[0][0]:
            mask, holds = mine[0]
            either = (self.amount, other.amount) if holds else (other.amount, self.amount)
            return Adjoint(mask.graph.choose(mask, *either), common)
        mask = mine[0][0].graph.choose(_selected(1.0, mine), 1.0, _selected(1.0, theirs))
        return Adjoint(amount, (*common, (mask, True)))


NO_ADJOINT = Adjoint(0.0)


def _selected(amount: Any, guard: tuple[tuple[Scalar, bool], ...]) -> Any:
    for mask, holds in reversed(guard):
        amount = mask.graph.choose(mask, *((amount, 0.0) if holds else (0.0, amount)))
    return amount


def rate_of(node: Scalar, rate: Mapping[int, Any]) -> Any:
    """The tangent of an operation, from those of its operands by their numbers; zero if none has one."""
    if OPS[node.op].selects:
        if not any(isinstance(x, Scalar) and x.number in rate for x in node.args):
            return 0.0
        mask, *values = _derivative(node)
        return node.graph.choose(
            mask, *(rate.get(x.number, 0.0) if isinstance(x, Scalar) else 0.0 for x in values)
        )
    total: Any = 0.0
    for a, partial in zip(node.args, _derivative(node), strict=True):
        if isinstance(a, Scalar) and (own := rate.get(a.number)) is not None:
            total = total + own * partial
    return total


def shares_of(node: Scalar, mine: Adjoint) -> list[tuple[Scalar, Adjoint]]:
    """The operands of an operation that are no constants, each with its share of the adjoint `mine`."""
    if not OPS[node.op].selects:
        both = zip(node.args, _derivative(node), strict=True)
        return [(a, mine.times(partial)) for a, partial in both if isinstance(a, Scalar)]
    mask, a, b = _derivative(node)
    shares = ((a, mine.where(mask, True)), (b, mine.where(mask, False)))
    return [(x, share) for x, share in shares if isinstance(x, Scalar)]


def _derivative(node: Scalar) -> Any:
    rule = OPS[node.op].derivative
    assert callable(rule), node.op
    return rule(node, *node.args)


def moving(results: Sequence[Any]) -> list[Scalar]:
    """The nodes on which results depend other than through piecewise constant operations, operands first."""
    return live(results, lambda node: () if node.op in CONSTANT else node.args)
