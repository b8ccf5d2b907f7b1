# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Operations of the mass-matrix algorithms on a general chain, counted as the digests of the papers count.

Every constant of the chain is a symbol, joints turn, what does not depend on q is formed off line
(but composite masses are not), sines and cosines are given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS
from phalanx.algorithms.inertia import (
    composite_original,
    composite_variant,
    frames,
    newton_euler_variant,
    processor_array,
    recursive_doubling,
)
from phalanx.algorithms.inverse import luh_walker_paul
from phalanx.ir.scalar import Graph, Node, live
from phalanx.model import Model
from phalanx.orders.sequential import Sequential
from phalanx.sweeps import ordering

Leaves = Callable[[tuple[int, ...]], np.ndarray]


class Counted:
    """A scalar that remembers its operation; nothing is folded or shared, but a sum with nothing is none."""

    def __init__(self, op: str = "", *args: Any) -> None:
        self.op, self.args = op, args

    def __add__(self, other: Any) -> Any:
        return self if _is_nothing(other) else Counted("add", self, other)

    __radd__ = __add__
    __sub__ = __add__

    def __rsub__(self, other: Any) -> Any:
        return Counted("neg", self) if _is_nothing(other) else Counted("add", self, other)

    def __mul__(self, other: Any) -> Any:
        return Counted("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return Counted("div", self, other)

    __rtruediv__ = __truediv__

    def __neg__(self) -> Any:
        return Counted("neg", self)

    def sin(self) -> Any:
        return Counted()

    cos = sin


def _is_nothing(x: Any) -> bool:
    return not isinstance(x, Counted) and x == 0.0


def operations(name: str, n: int, **options: Any) -> tuple[int, int, int]:
    """Multiplications, additions and divisions with every 0 and 1 of the geometry charged."""
    count: Counter[str] = Counter()
    seen: set[int] = set()
    stack = _mass_matrix(name, n, lambda shape: _filled(shape, Counted), options).ravel().tolist()
    while stack:
        x = stack.pop()
        if isinstance(x, Counted) and id(x) not in seen:
            seen.add(id(x))
            count[x.op] += 1
            stack.extend(x.args)
    return count["mul"], count["add"], count["div"]


def depth(name: str, n: int, **options: Any) -> int:
    """Operations on the longest path, those with 0 and 1 left out."""
    graph = Graph()

    def leaf() -> Any:
        return graph.leaf("constant", len(graph.nodes))

    results = _mass_matrix(name, n, lambda shape: _filled(shape, leaf), options).ravel().tolist()
    depths: dict[int, int] = {}
    for x in live(results):
        before = max((depths[a.number] for a in x.args if isinstance(a, Node)), default=0)
        depths[x.number] = before + (x.op not in ("input", "neg", "sin", "cos"))
    return max(depths[x.number] for x in results if isinstance(x, Node))


def _mass_matrix(name: str, n: int, leaves: Leaves, options: Any) -> np.ndarray:
    with ordering(Sequential(np.arange(-1, n - 1))), _formed_off_line(leaves):
        M: np.ndarray = ALGORITHMS["mass_matrix"][name].run(_general(n, leaves), leaves((n,)), **options)
    return M


def _general(n: int, leaves: Leaves) -> Model:
    """A model whose chain has symbols for constants; p + s counts as one of them."""
    model = px.chain(n).model
    chain = model.dh
    arrays = {f.name: getattr(chain, f.name) for f in fields(chain)}
    symbols = {
        k: leaves(x.shape) for k, x in arrays.items() if isinstance(x, np.ndarray) and x.dtype == float
    }
    none = {k: np.zeros(symbols[k].shape).astype(object) for k in ("armature", "w", "theta", "s")}
    return replace(model, dh_of=lambda: replace(chain, **(symbols | none)))


@contextmanager
def _formed_off_line(leaves: Leaves) -> Iterator[None]:
    def vectors(chain: Any, q: Any) -> Any:
        return leaves((chain.n, 3))

    def inertias(chain: Any, *_: Any) -> Any:
        return leaves((chain.n, 3)), leaves((chain.n, 6))

    with pytest.MonkeyPatch.context() as patch:
        for module in (frames, luh_walker_paul, processor_array):
            patch.setattr(module, "offsets", vectors)
        for module in (composite_original, composite_variant, recursive_doubling):
            patch.setattr(module, "proximal_offsets", vectors)
        for module in (newton_euler_variant, processor_array):
            patch.setattr(module, "moments", inertias)
        patch.setattr(composite_original, "proximal_inertias", inertias)
        patch.setattr(composite_variant, "proximal_moments", inertias)
        yield


def _filled(shape: tuple[int, ...], make: Callable[[], Any]) -> np.ndarray:
    array = np.empty(shape, dtype=object)
    array.ravel()[:] = [make() for _ in range(array.size)]
    return array


def quadratic(values: Iterable[int]) -> float:
    """The coefficient of n^2 of a polynomial from its values at n = 4, 6 and 8."""
    first, second, third = values
    return (third - 2 * second + first) / 8
