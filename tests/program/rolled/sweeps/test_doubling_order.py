# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Sweeps of a chain by recursive doubling: a logarithm of levels, each in any order."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.program.ir import For, ParallelFor, statements
from phalanx.program.rolled import roll
from reference.rolled_equations import SWEPT, loops_and_straight, task


@pytest.mark.parametrize("name", SWEPT)
@pytest.mark.parametrize("n", [2, 9])
def test_doubling_computes_what_going_from_body_to_body_does(n: int, name: str) -> None:
    found, wanted = loops_and_straight(px.chain(n, seed=n, prismatic=0.3), name, items=4)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11 * np.abs(wanted).max())


def test_serial_loops_of_linear_sweeps_run_once_a_level() -> None:
    program = roll(task(px.chain(9), "accumulated"), doubling=True).grouped(4)
    serial = [s for s in statements(program.body) if isinstance(s, For)]
    assert {s.end for s in serial} == {4}  # distances 1, 2, 4, 8
    assert all(any(isinstance(x, ParallelFor) for x in statements(s.body)) for s in serial)
