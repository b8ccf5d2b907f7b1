# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Interval arithmetic: the interval of each row of the table holds what NumPy computes inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.program.intervals import EVERYTHING, Interval, div, floor, mul, square
from phalanx.program.ops import OPS, TAINT

ENDS = np.array([-50.0, -3.0, -1.0, -0.4, 0.0, 0.3, 1.0, 2.5, 7.0, 1e3])


def boxes(rng: np.random.Generator, arity: int, count: int = 60) -> list[tuple[Interval, ...]]:
    """Operands in intervals of all sizes, single numbers and those with zero at an end among them."""
    ends = np.sort(rng.choice(ENDS, (count, arity, 2)), axis=-1)
    return [tuple(Interval(*each) for each in box) for box in ends.tolist()]


@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_the_interval_of_an_operation_holds_its_values(op: Any) -> None:
    rng = np.random.default_rng(len(op.name))
    for box in boxes(rng, op.arity):
        if op.name == TAINT:  # whose second operand is +0 or NaN
            box = (box[0], Interval(0.0, 0.0))
        found = op.interval(*box)
        inside = [np.r_[x.low, x.high, rng.uniform(x.low, x.high, 40)] for x in box]
        every = (
            [x.ravel() for x in np.meshgrid(*inside)]
            if op.arity < 3
            else [rng.permutation(x) for x in inside]
        )
        with np.errstate(all="ignore"):
            values = op.numpy(*every)
        values = values[~np.isnan(values)]  # of logarithms of negative numbers
        assert (found.low <= values).all()
        assert (values <= found.high).all()


def test_intervals_are_as_narrow_as_they_can_be() -> None:
    assert square(Interval(-2.0, 1.0)).low == 0.0
    assert mul(Interval(-2.0, 3.0), Interval(0.0, 0.0)).magnitude < 1e-300
    assert div(Interval(1.0, 2.0), Interval(-1.0, 1.0)) == EVERYTHING
    assert floor(Interval(-0.5, 1.5)) == Interval(-1.0, 1.0)
    assert Interval(0.0, 1.0).joined(Interval(3.0, 4.0)) == Interval(0.0, 4.0)
