# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Contraction of trees: the rounds, and the sweep that follows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.spatial import Field, matvec
from phalanx.sweeps import verbs as sweeps
from phalanx.sweeps.orders.hops import contraction_steps
from phalanx.sweeps.orders.sequential import Sequential
from reference.sampling import agree, seeds

parents_of_trees = st.integers(1, 40).flatmap(
    lambda n: st.tuples(*(st.integers(-1, i - 1) for i in range(n))).map(lambda p: np.array(p, dtype=np.intp))
)


def shapes(n: int) -> dict[str, np.ndarray]:
    """Trees that contract in different ways."""
    index, rng = np.arange(n), np.random.default_rng(0)
    return {
        "chain": index - 1,
        "star": np.minimum(index - 1, 0),
        "binary": (index - 1) // 2,
        "caterpillar": np.where(index % 2 == 1, index - 1, index - 2).clip(-1),
        "broom": np.where(index < n // 2, index - 1, n // 2 - 1),
        "random": np.array([-1, *(rng.integers(0, i) for i in range(1, n))]),
        "long limbs": np.array([-1, *(max(0, i - rng.integers(1, 9)) for i in range(1, n))]),
    }


@pytest.mark.parametrize("shape", shapes(2))
def test_the_rounds_are_a_logarithm_of_the_bodies(shape: str) -> None:
    for n in (2, 10, 100, 1000, 5000):
        assert len(contraction_steps(shapes(n)[shape])) <= np.ceil(np.log2(n))


@given(parents_of_trees)
def test_every_body_is_joined_or_folded_once_unless_it_stands_on_the_world(parents: np.ndarray) -> None:
    rounds = contraction_steps(parents)
    gone = [top for r in rounds for top in (*r.joins[:, 2].tolist(), *r.folds[:, 0].tolist())]
    assert sorted(gone) == np.flatnonzero(parents >= 0).tolist()
    for r in rounds:
        tops = [*r.joins[:, 0].tolist(), *r.joins[:, 2].tolist(), *r.folds[:, 0].tolist()]
        assert len(set(tops)) == len(tops), "a run takes part in a round once"
        assert len(tops), "a round does something"


@dataclass(frozen=True)
class Affine(Field):
    """y -> A y + c."""

    A: Any
    c: Any
    ranks: ClassVar[tuple[int, ...]] = (2, 1)


@dataclass(frozen=True)
class Value(Field):
    """y."""

    y: Any
    ranks: ClassVar[tuple[int, ...]] = (1,)


def contracted(order: Any, elements: Affine) -> Any:
    with sweeps.ordering(order):
        return sweeps.contract(
            lambda A, B: Affine(A.A @ B.A, matvec(A.A, B.c) + A.c),
            elements,
            load=lambda A: Value(A.c),
            loaded=lambda A, y: Affine(A.A, A.c + y.y),
        ).y


@given(parents_of_trees, seeds)
def test_what_hangs_on_each_body_is_what_recursion_finds(parents: np.ndarray, seed: int) -> None:
    rng, n = np.random.default_rng(seed), len(parents)
    A, c = rng.standard_normal((2, n, 3, 3)), rng.standard_normal((2, n, 3))
    hung = np.zeros((2, n, 3))
    for i in range(n - 1, -1, -1):
        if parents[i] >= 0:
            hung[:, parents[i]] += matvec(A[:, i], hung[:, i]) + c[:, i]
    found = contracted(Sequential(parents), Affine(A, c))
    agree(found, hung, 1e-12)


@pytest.mark.parametrize("shape", shapes(2))
@pytest.mark.parametrize("n", [1, 2, 9, 60])
def test_loops_of_xla_find_the_same(shape: str, n: int) -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from phalanx.backends.jax.arrays import array
    from phalanx.backends.jax.doubling import JaxDoubling
    from phalanx.backends.jax.pytrees import register

    register(Affine)
    register(Value)
    rng, parents = np.random.default_rng(n), shapes(n)[shape]
    elements = Affine(0.4 * rng.standard_normal((n, 3, 3)), rng.standard_normal((n, 3)))
    with jax.enable_x64(True):
        found = contracted(JaxDoubling(parents), elements.map(lambda a, _: array(a)))
        agree(np.asarray(found.value), contracted(Sequential(parents), elements), 1e-13)
