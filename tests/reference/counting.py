# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Operations of algorithms, counted on scalars that remember: nothing of the library's own counting is used.

`operations` and `depth` count the mass-matrix algorithms on a general chain as the digests of the
papers do: every constant of the chain is a symbol, joints turn, what does not depend on q is formed
off line (but composite masses are not), sines and cosines are given. `general_count` counts any
algorithm on any robot with all its constants as symbols and nothing off line.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FUNCTIONS
from phalanx.algorithms.inertia import (
    composite_original,
    composite_variant,
    frames,
    newton_euler_variant,
    processor_array,
    recursive_doubling,
)
from phalanx.algorithms.inverse import luh_walker_paul
from phalanx.robot.model import Model
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering

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

    def __abs__(self) -> Any:
        return type(self)()

    def maximum(self, other: Any) -> Any:
        return type(self)()

    def rescale(self) -> Any:
        return type(self)()


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


class Pruned(Counted):
    """A scalar without the operations that a 0 or a 1 makes superfluous."""

    def __add__(self, other: Any) -> Any:
        return self if _is_number(other, 0.0) else Pruned("add", self, other)

    __radd__ = __add__
    __sub__ = __add__

    def __rsub__(self, other: Any) -> Any:
        return Pruned("neg", self) if _is_number(other, 0.0) else Pruned("add", self, other)

    def __mul__(self, other: Any) -> Any:
        if _is_number(other, 0.0):
            return 0.0
        if _is_number(other, 1.0):
            return self
        return Pruned("neg", self) if _is_number(other, -1.0) else Pruned("mul", self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return self if _is_number(other, 1.0) else Pruned("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return 0.0 if _is_number(other, 0.0) else Pruned("div", other, self)

    def __neg__(self) -> Any:
        return Pruned("neg", self)

    def sin(self) -> Any:
        return Pruned("sin", self)

    def cos(self) -> Any:
        return Pruned("cos", self)


def _is_number(x: Any, value: float) -> bool:
    return not isinstance(x, Counted) and bool(x == value)


def depth(name: str, n: int, **options: Any) -> int:
    """Operations on the critical path, those with 0 and 1 left out."""
    results = _mass_matrix(name, n, lambda shape: _filled(shape, Pruned), options).ravel().tolist()
    depths: dict[int, int] = {}
    for x in _operands_first(results):
        before = max((depths[id(a)] for a in x.args if isinstance(a, Counted)), default=0)
        depths[id(x)] = before + (x.op in ("add", "mul", "div"))
    return max(depths[id(x)] for x in results if isinstance(x, Counted))


def general_count(robot: px.Robot, function: str, name: str, **options: Any) -> Counter[str]:
    """How often each operation occurs in the general equations of an algorithm, by "mul", "add", "div", …

    Parameters, inputs, base motion and the wrenches on the tips are symbols, so are z0, the zero of A and
    the bases of wrenches at joints. A literal 0 or 1 in a text makes no operation.
    """
    f, model = FUNCTIONS[function], robot.model
    sizes = {"q": robot.nq, "v": robot.nv, "l": robot.n_links}
    inputs = {
        k: symbols(tuple(sizes.get(s) or int(s) for s in shape))
        for k, shape in {**f.inputs, **f.optional}.items()
        if k != "inertias"  # symbols of the model already
    }
    if "external" in inputs:
        carries = {robot.parents[k] for k in range(robot.n_links)}
        inputs["external"][sorted(carries - {-1})] = 0.0
    required = [inputs.pop(k) for k in f.inputs]
    with ordering(Sequential(model.parents, model.pattern)), _general_texts(model):
        result = ALGORITHMS[function][name](
            model.cast(lambda a: symbols(a.shape)), *required, **inputs, **options
        )
    return Counter(x.op for x in _operands_first(np.ravel(result).tolist()) if x.op)


def symbols(shape: tuple[int, ...]) -> np.ndarray:
    """An array of scalars of which nothing is known."""
    return _filled(shape, Pruned)


@contextmanager
def _general_texts(model: Model) -> Iterator[None]:
    """Algorithm texts that get symbols where the library hands them zeros and ones of its own."""

    def general(function: Any) -> Any:
        def run(*args: Any) -> np.ndarray:
            return _without_numbers(function(*args))

        return run

    def chosen(links_of: Any) -> Any:
        def run(symbolic: Model, X: Any) -> Any:
            known = {k: getattr(model, k).astype(object) for k in ("axis", "armature")}
            rest = model.rest.map(lambda a, _: a.astype(object))
            links = links_of(replace(symbolic, rest=rest, **known), X)
            return replace(links, W=_without_numbers(links.W), T=_without_numbers(links.T))

        return run

    made = dict.fromkeys(("rotations", "proximal_rotations", "axes", "first_axis"), general)
    with pytest.MonkeyPatch.context() as patch:
        for module in [m for name, m in sys.modules.items() if name.startswith("phalanx.algorithms.")]:
            for name, change in {**made, "links_of": chosen}.items():
                if hasattr(module, name):
                    patch.setattr(module, name, change(getattr(module, name)))
        yield


def _without_numbers(array: np.ndarray) -> np.ndarray:
    flat = np.empty(array.size, dtype=object)
    flat[:] = [x if isinstance(x, Counted) else Pruned() for x in array.ravel().tolist()]
    return flat.reshape(array.shape)


def _operands_first(results: list[Any]) -> list[Counted]:
    """All scalars that results need, each after its operands."""
    done: dict[int, Counted] = {}
    stack = [(x, False) for x in results if isinstance(x, Counted)]
    while stack:
        x, ready = stack.pop()
        if ready:
            done[id(x)] = x
        elif id(x) not in done:
            stack.append((x, True))
            stack.extend((a, False) for a in x.args if isinstance(a, Counted) and id(a) not in done)
    return list(done.values())


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
