# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Memory traffic is what the interpreter loads and stores."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import phalanx as px
from phalanx.program.analyses.traffic import traffic
from phalanx.program.interpret import Interpretation
from phalanx.program.ir import Load, Program, Store
from reference.loops import kepler, smoothing

pytest.importorskip("llvmlite", reason="llvmlite is not installed")


class _Counting(Interpretation):
    """A program under way that counts numbers loaded and stored."""

    moved: Counter[tuple[str, object]]

    def load(self, s: Load) -> None:
        super().load(s)
        self.moved["loaded", s.buffer] += self.width

    def store(self, s: Store) -> None:
        super().store(s)
        self.moved["stored", s.buffer] += self.width


def counted(made: Program) -> Counter[tuple[str, object]]:
    run = _Counting(made, np.dtype(float), {})
    run.moved = Counter()
    for buffer in made.inputs:
        run.memory[buffer][:] = 0.3
    with np.errstate(all="ignore"):
        run.body(made.body)
    return run.moved


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "forward_dynamics"])
@pytest.mark.parametrize("robot", ["ur5", "chain of 40", "tree of 30"])
def test_traffic_is_what_the_interpreter_moves(robot: str, function: str) -> None:
    arm = {"chain of 40": px.chain(40, seed=1), "tree of 30": px.tree(30, seed=2)}.get(robot)
    made = (arm or px.load(robot)).kernel(function).program()
    moved = counted(made)
    found = traffic(made)
    assert found
    for each in found:
        if each.buffer.kind not in ("constant", "uniform"):
            assert each.loaded == 8 * moved["loaded", each.buffer]
        assert each.stored == 8 * moved["stored", each.buffer]
    assert sum(x.stored for x in found) == 8 * sum(n for (verb, _), n in moved.items() if verb == "stored")


def test_parallel_loops_and_limits_of_loops() -> None:
    made = smoothing(10, rounds=1)
    moved = counted(made)
    rows = {each.name: each for each in traffic(made, itemsize=4)}
    assert rows["input x"].loaded == 4 * 10
    assert rows["output y"].stored == 4 * 10
    assert rows["table scale"].loaded == 4 * 10
    assert sum(x.loaded for x in rows.values()) == 4 * sum(n for (v, _), n in moved.items() if v == "loaded")
    assert {each.name: (each.loaded, each.stored) for each in traffic(kepler())} == {
        "input M": (8, 0),
        "input e": (8, 0),
        "output E": (0, 8),
    }
