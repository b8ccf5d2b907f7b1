# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops over bodies: what passes from body to body, sums over all of them, and uniforms between loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.program.ir import For, ParallelFor, statements
from phalanx.program.rolled import leaves as L
from phalanx.program.rolled.stages.bodies import LINKS
from phalanx.program.rolled.stages.loops import BodyLoop, Once
from phalanx.program.text import text
from reference.stages import CHAIN, TREE, code, computed, layout, own, program, related

X = np.random.default_rng(0).standard_normal(11)
ONE_EACH = ({"x": (11,)}, {"out": (11,)})


def running_sum(leaf: Any) -> dict[L.Leaf, Any]:
    total = leaf(L.CarriedLeaf(0)) + leaf(own("x"))
    return {L.CarriedLeaf(0): total, own("out"): total}


@pytest.mark.parametrize("items", [0, 4])
@pytest.mark.parametrize("parents", [None, TREE], ids=["chain", "tree"])
def test_outward_a_body_continues_from_its_parent(parents: np.ndarray | None, items: int) -> None:
    loop = BodyLoop(code(running_sum), roots={0: 2.0})
    found = computed(program(layout(parents, *ONE_EACH), loop, items=items), x=X)
    np.testing.assert_allclose(found, 2.0 + related(CHAIN if parents is None else parents) @ X, rtol=1e-14)


@pytest.mark.parametrize("items", [0, 4])
@pytest.mark.parametrize("parents", [None, TREE], ids=["chain", "tree"])
def test_inward_a_body_receives_the_sum_of_its_children(parents: np.ndarray | None, items: int) -> None:
    loop = BodyLoop(code(running_sum), outward=False, roots={0: 0.0})
    found = computed(program(layout(parents, *ONE_EACH), loop, items=items), x=X)
    np.testing.assert_allclose(found, related(CHAIN if parents is None else parents).T @ X, rtol=1e-13)


@pytest.mark.parametrize("items", [0, 4])
def test_a_total_is_uniform_for_the_next_loop(items: int) -> None:
    summed = BodyLoop(code(lambda leaf: {L.Total(0): leaf(own("x")) * leaf(own("x"))}))
    root = Once(code(lambda leaf: {L.Total(1): leaf(L.Total(0)).sqrt()}))
    unit = BodyLoop(code(lambda leaf: {own("out"): leaf(own("x")) / leaf(L.Total(1))}))
    made = program(layout(None, *ONE_EACH, commons=2), summed, root, unit, items=items)
    np.testing.assert_allclose(computed(made, x=X), X / np.linalg.norm(X), rtol=1e-14)


def test_sines_and_cosines_are_stored_where_later_loops_read_them() -> None:
    angle = BodyLoop(code(lambda leaf: {L.Angle(0, 1, "E"): leaf(own("x")) * 2.0}))
    product = BodyLoop(code(lambda leaf: {own("out"): leaf(L.SpillSlot(0)) * leaf(L.SpillSlot(1))}))
    made = program(layout(None, *ONE_EACH, slots=2), angle, product)
    np.testing.assert_allclose(computed(made, x=X), np.sin(2.0 * X) * np.cos(2.0 * X), rtol=1e-14)


def test_a_loop_over_listed_bodies_visits_these_alone() -> None:
    listed = np.array([1, 4, 7])
    loop = BodyLoop(code(lambda leaf: {own("out"): -leaf(own("x"))}), bodies=LINKS)
    clear = BodyLoop(code(lambda leaf: {own("out"): 0.0}))
    found = computed(program(layout(None, *ONE_EACH, maps={LINKS: listed}), clear, loop), x=X)
    np.testing.assert_array_equal(found, np.where(np.isin(np.arange(11), listed), -X, 0.0))


def test_iterations_without_a_carried_value_are_parallel_in_a_group() -> None:
    doubled = BodyLoop(code(lambda leaf: {own("out"): leaf(own("x")) * 2.0}))
    summed = BodyLoop(code(running_sum), roots={0: 0.0})
    kinds = {
        name: {type(s) for s in statements(program(layout(None, *ONE_EACH), loop, items=4).body)}
        for name, loop in {"doubled": doubled, "summed": summed}.items()
    }
    assert For not in kinds["doubled"]
    assert ParallelFor in kinds["doubled"]
    assert For in kinds["summed"]


GOLDEN = """\
program bodies=3
input x[3]
output out[3]
scratch x_[3] given named 'x'
scratch slots[0]
scratch commons[0]
scratch out_[19] named 'out'

x0 = x[0]
x_[0] = x0
x1 = x[1]
x_[1] = x1
x2 = x[2]
x_[2] = x2
for i in range(0, 3):
  carry c0 = 0.0
  body i:
    x_0 = x_[i]
    x3 = c0 + x_0
    out_[i] = x3
  next c0 = x3
out_0 = out_[0]
out[0] = out_0
out_1 = out_[1]
out[1] = out_1
out_2 = out_[2]
out[2] = out_2
"""


def test_the_text_of_a_running_sum() -> None:
    laid = layout(None, {"x": (3,)}, {"out": (3,)})
    assert text(program(laid, BodyLoop(code(running_sum), roots={0: 0.0}), lanes=1)) == GOLDEN
