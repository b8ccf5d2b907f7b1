# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The sweeps over a tree of bodies; the order in which they run comes from the caller.

An algorithm calls these functions and nothing else loops over bodies. `ordering(...)` sets
the order (one of `sweeps/orders/`) for the algorithm that runs inside it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import accumulate as running_sums
from typing import Any, ClassVar

import numpy as np

from ..errors import PhalanxError
from ..robot.model import Model, diagonal
from ..spatial import Array, Field, namespace
from .heavy_paths import ArrayLinks
from .links import LinkSweeps


class Order(ABC):
    """An order of visiting bodies: the implementation of each sweep.

    With `by_halves`, algorithms that can do so compute sums and products over links as balanced trees.
    """

    by_halves: ClassVar[bool] = False

    @abstractmethod
    def propagate(self, X: Any, c: Any, root: Any, through: Any, plus: Any) -> Any: ...

    @abstractmethod
    def accumulate(self, X: Any, c: Any) -> Any: ...

    @abstractmethod
    def fold(self, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]) -> Any: ...

    @abstractmethod
    def pairs(
        self,
        start: Array,
        carry: Callable[..., Array],
        emit: Callable[..., Array],
        along: tuple[Any, ...],
        both: bool = False,
    ) -> Array: ...

    def pairs_in_runs(
        self, start: Array, carry: Callable[..., Array], emit: Callable[..., Array], along: tuple[Any, ...]
    ) -> Array:
        return self.pairs(start, carry, emit, along)

    @abstractmethod
    def scan(self, join: Callable[[Any, Any], Any], elements: Any, root: Any, reverse: bool) -> Any: ...

    @abstractmethod
    def paths(self, X: Any) -> Any: ...

    def contract(self, join: Callable[..., Any], elements: Any, load: Any, loaded: Any) -> Any:
        raise PhalanxError(
            "contract: joins runs of single links, which this order cannot serve; use the NumPy backend, or "
            'algorithm "auto".'
        )

    @abstractmethod
    def relay(
        self, levels: Any, state: tuple[Any, ...], join: Callable[..., Any], along: Any, links: Any
    ) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def parent(self, x: Array, root: Any) -> Array: ...

    @abstractmethod
    def children(self, x: Any, tip: Any) -> Any: ...

    @abstractmethod
    def pick(self, x: Any, body: int) -> Any: ...

    def marked(self, x: Any, at: Array) -> Any:
        raise PhalanxError("marked: this order has no single bodies; use the NumPy backend.")

    @abstractmethod
    def total(self, values: Array) -> Array: ...

    def unit(self, ones: Array) -> Array:
        return diagonal(ones)

    @abstractmethod
    def eliminate(self, M: Array) -> Array: ...

    @abstractmethod
    def substitute(self, factor: Array, b: Array) -> Array: ...

    def substitute_inward(self, factor: Array, b: Array) -> Array:
        raise PhalanxError(f"substitute_inward: {type(self).__name__} has no halves of `substitute`.")

    def substitute_outward(self, factor: Array, y: Array) -> Array:
        raise PhalanxError(f"substitute_outward: {type(self).__name__} has no halves of `substitute`.")

    def invert(self, factor: Array, ones: Array) -> Array:
        return self.substitute(factor[..., None, :, :], diagonal(ones))

    def solve(self, factor: Array, inverse: Array, columns: Array) -> Array:
        return inverse @ columns

    def links(self, model: Model) -> LinkSweeps:
        """The sweeps over the links of a model."""
        return ArrayLinks.of(model)

    def triangle(self) -> Any:
        """The symbolic pair of links in a loop over pairs; None in orders on arrays."""
        return None

    def fold_from(
        self, tips: Any, step: Callable[..., Any], state: tuple[Any, ...], local: tuple[Any, ...]
    ) -> Any:
        raise PhalanxError("fold: only segments take what arrives at their tips; leave `tips` out.")

    def segments(self, count: int | None, ends: Any) -> Segments:
        raise PhalanxError(f"segments: {type(self).__name__} does not cut a chain; use the sequential order.")


class Segments(ABC):
    """A chain cut into segments, whose links are swept side by side and which themselves form a chain.

    `inside()` sweeps the links of every segment, `along()` the segments. Inside, the root is a value for
    each segment: that of the link before its first one.
    """

    links: Order
    chain: Order
    count: int

    def inside(self) -> AbstractContextManager[None]:
        """Sweeps over the links of all segments, side by side."""
        return ordering(self.links)

    def along(self) -> AbstractContextManager[None]:
        """Sweeps over the segments."""
        return ordering(self.chain)

    @abstractmethod
    def first(self, x: Any) -> Any:
        """A field over segments: x at the first link of each."""

    @abstractmethod
    def last(self, x: Any) -> Any:
        """A field over segments: x at the last link of each."""

    @abstractmethod
    def spread(self, x: Any) -> Any:
        """A field over links: the value of the segment that each belongs to."""

    def at_base(self, x: Any) -> Any:
        """The value that a field over segments has at the first of them."""
        return self.chain.pick(x, 0)

    def at_tip(self, x: Any) -> Any:
        """The value that a field over segments has at the last of them."""
        return self.chain.pick(x, self.count - 1)


class Neighbours(ABC):
    """The parts before and beyond one part of a chain, which other processes have."""

    @abstractmethod
    def exchange(self, sent: tuple[Any, ...], like: tuple[Any, ...]) -> tuple[Any, ...]:
        """Send some values of this part to the others; return what follows from theirs, shaped as `like`."""


_order: ContextVar[Order] = ContextVar("order")


def current() -> Order | None:
    """The order in which sweeps run now; None outside of `ordering`."""
    return _order.get(None)


@contextmanager
def ordering(order: Order) -> Iterator[None]:
    """Run the sweeps inside in this order."""
    token = _order.set(order)
    try:
        yield
    finally:
        _order.reset(token)


def propagate(X: Any, c: Any = None, *, root: Any = None, through: Any = None, plus: Any = None) -> Any:
    """x_i = X_i x_parent + c_i from the root to the tips; x_world = root.

    With `through` and `plus`: x_i = through_i (X_i x_parent + c_i) + plus_i.
    """
    return _order.get().propagate(X, c, root, through, plus)


def accumulate(X: Any, c: Any) -> Any:
    """y_i = c_i + sum over children j of X_j^T y_j, from the tips to the root."""
    return _order.get().accumulate(X, c)


def fold(step: Callable[..., Any], state: tuple[Any, ...], *local: Any, tips: Any = None) -> tuple[Any, ...]:
    """The results of `step` at each body, from the tips to the root.

    `step(state_i, *local_i)` returns (what body i adds to its parent's state, its results). Inside
    segments, `tips` is added to the state of each one's last link; along them, to that of the last one.
    """
    order = _order.get()
    results: tuple[Any, ...] = (
        order.fold(step, state, local) if tips is None else order.fold_from(tips, step, state, local)
    )
    return results


def pairs(
    start: Array,
    *,
    carry: Callable[..., Array],
    emit: Callable[..., Array],
    along: tuple[Any, ...],
    runs: bool = False,
) -> Array:
    """The symmetric matrix (…, n, n) emitted while each body's `start` is carried along its ancestors.

    `carry(x, *along_j)` takes x from body j to its parent; `emit(x, *along_j)` is the entry at j. Both are
    linear in x. With `runs`, an order may join several ancestors and take x past all of them at once.
    """
    order = _order.get()
    return (order.pairs_in_runs if runs else order.pairs)(start, carry, emit, along)


def ancestor_pairs(
    start: Any,
    *,
    carry: Callable[..., Any],
    emit: Callable[..., tuple[Any, Any]],
    along: tuple[Any, ...],
) -> Array:
    """The matrices (…, n, n, k) emitted while each body's fields `start` are carried along its ancestors.

    As `pairs`, where `emit` returns two vectors (…, k): the entries in the row of the body that x comes from,
    and those in its column.
    """
    parts = Packed.of(start)

    def entries(x: Array, *here: Any) -> Array:
        row, column = emit(parts.unpacked(x), *here)
        return namespace(row, column).stack([row, column], axis=-2)

    return _order.get().pairs(
        parts.packed(start),
        lambda x, *here: parts.packed(carry(parts.unpacked(x), *here)),
        entries,
        along,
        both=True,
    )


@dataclass(frozen=True)
class Packed:
    """The layout of a field's arrays, or of several vectors, in one vector per body."""

    kind: Any
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, field: Field) -> Packed:
        """The layout of a field of vectors."""
        return cls(type(field), tuple(array.shape[-1] for array, _ in field.arrays()))

    def packed(self, field: Field) -> Array:
        """The arrays of a field, concatenated."""
        arrays = [array for array, _ in field.arrays()]
        xp = namespace(*arrays)
        # Arrays that depend on no state, such as inertias of tips, have no batch axes.
        batch = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
        return xp.concatenate([xp.broadcast_to(a, (*batch, a.shape[-1])) for a in arrays], axis=-1)

    def unpacked(self, x: Array) -> Any:
        """The field of a packed vector."""
        ends = list(running_sums(self.sizes))
        return self.kind(*(x[..., end - size : end] for size, end in zip(self.sizes, ends, strict=True)))


def scan(join: Callable[[Any, Any], Any], elements: Any, *, root: Any = None, reverse: bool = False) -> Any:
    """For each body of a chain, its element joined with those of all bodies before it (`reverse`: after it).

    `join(left, right)` is associative and joins neighbouring runs of bodies, many pairs at once;
    `root` is one more element before the first body (`reverse`: after the last).
    """
    return _order.get().scan(join, elements, root, reverse)


def contract(
    join: Callable[[Any, Any], Any], elements: Any, *, load: Callable[..., Any], loaded: Callable[..., Any]
) -> Any:
    """The load of each body: the sum of what its branches pass to it, by contraction of the tree.

    An element is a map from the load of a body to what the body passes to its parent; the map of zeros passes
    nothing. `join(A, B)` applies B first, `loaded(B, y)` is B that also passes y, and `load(A)` is what A
    passes without a load.
    """
    return _order.get().contract(join, elements, load, loaded)


def paths(X: Any) -> Any:
    """The operator L whose blocks X_i_j lead to each body i from itself and from every ancestor j.

    `L @ c` is what `propagate(X, c)` gives and `L.T @ c` what `accumulate(X, c)` gives, both by
    pointer jumping: as many steps as the logarithm of the depth.
    """
    return _order.get().paths(X)


def relay(
    levels: Sequence[Sequence[tuple[int, int]]],
    state: tuple[Any, ...],
    join: Callable[..., tuple[Any, ...]],
    *,
    along: Callable[[int, Any], tuple[Any, ...]] | None = None,
    links: Any = None,
) -> list[tuple[Any, ...]]:
    """The state before the first level and after each one, for the schedule of a paper.

    A level is a list of (target, source); the elements of a state are links, or pairs of them.
    `join(state at the targets, state at the sources, *along(level, targets))` is the new state at
    the targets; all of a level read before any writes. `links[k]` is the link of element k. Levels of
    type `triangle.JoinLevels` join associatively, so that an order may also scan. Those of
    type `triangle.Sums` each add a term to a state that begins with zeros.
    """
    return _order.get().relay(levels, state, join, along, links)


def parent(x: Array, *, root: Any = None) -> Array:
    """The value of x at each body's parent; `root` at the world."""
    return _order.get().parent(x, root)


def children(x: Any, *, tip: Any = None) -> Any:
    """The sum of x over each body's children; `tip` (default zero) where there are none."""
    return _order.get().children(x, tip)


def pick(x: Any, body: int) -> Any:
    """The value of x at one body."""
    return _order.get().pick(x, body)


def marked(x: Any, at: Array) -> Any:
    """The value of an operator x at the body where `at` (n,) is one; zero if it is zero everywhere."""
    return _order.get().marked(x, at)


def total(values: Array) -> Array:
    """Sum of values (…, n) over the bodies, in their order."""
    return _order.get().total(values)


def unit(ones: Array) -> Array:
    """The unit matrix (n, n) from a one for each body: the right sides of n problems."""
    return _order.get().unit(ones)


def eliminate(M: Array) -> Array:
    """The factor of M = L^T D L, from the tips to the root along ancestors only.

    A unit lower triangular L and the inverse of D share the result; entries between bodies
    on different branches are zero and stay zero.
    """
    return _order.get().eliminate(M)


def substitute(factor: Array, b: Array) -> Array:
    """x (…, nv) with M x = b, from the factor of M."""
    return _order.get().substitute(factor, b)


def substitute_inward(factor: Array, b: Array) -> Array:
    """y (…, nv) with L^T y = b, from the factor of M: the first half of `substitute`, tips to root."""
    return _order.get().substitute_inward(factor, b)


def substitute_outward(factor: Array, y: Array) -> Array:
    """x (…, nv) with L x = y, from the factor of M: root to tips; `substitute` divides by D between."""
    return _order.get().substitute_outward(factor, y)


def invert(factor: Array, ones: Array) -> Array:
    """The inverse (…, nv, nv) of M, from its factor and a one for each degree of freedom."""
    return _order.get().invert(factor, ones)


def solve(factor: Array, inverse: Array, columns: Array) -> Array:
    """X (…, nv, k) with M X = columns, from the factor of M or from its inverse, whichever takes less."""
    return _order.get().solve(factor, inverse, columns)


def segments(count: int | None, ends: Any) -> Segments:
    """The chain cut into `count` segments of nearly equal length (fewer if it has fewer links).

    It is cut only after the bodies `ends`, the last ones of links: a joint with several axes stays whole.
    Without a count it is cut into as many segments as usually save time.
    """
    return _order.get().segments(count, ends)


def bodies_of(field: Any) -> Iterator[tuple[Array, int]]:
    """The arrays of a field (an operator, or plain vectors per body) with their component axes."""
    if isinstance(field, Field):
        yield from field.arrays()
    else:
        yield field, 1
