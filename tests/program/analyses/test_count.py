# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Counts of loops that end on data are ranges; of parallel loops they are those of serial ones."""

from __future__ import annotations

import numpy as np
import pytest

from phalanx.program.analyses.count import operation_range, operations
from phalanx.program.analyses.critical_path import chains_of
from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret
from phalanx.program.ir import Program, Until, plus
from reference.loops import collatz_like, kepler, smoothing


def test_a_loop_that_ends_on_data_counts_as_a_range() -> None:
    one, fixed = operations(kepler(limit=1)), operations(kepler(iterations=1))
    assert one == fixed + 2  # the condition
    found = operation_range(kepler(limit=50))
    assert (found.least, found.most, found.mean) == (one, 50 * one, None)


def test_the_mean_of_a_measured_run_counts_in_between() -> None:
    made = collatz_like()
    seen: dict[Until, list[int]] = {}
    for goal in (0.9, 1.6, 3.0):
        interpret(made, {"x": [1.0, 2.0, 3.0], "goal": goal}, iterations=seen)
    mean = {s: float(np.mean(counts)) for s, counts in seen.items()}
    found = operation_range(made, mean)
    assert found.mean is not None
    assert found.least < found.mean < found.most
    share = (found.mean - found.least) / (found.most - found.least)
    assert share == pytest.approx((next(iter(mean.values())) - 1) / 39)
    assert operation_range(made, 40).mean == found.most


def test_loops_that_depend_on_the_iteration_count_each_of_them() -> None:
    b = Builder({}, {})
    memory = b.buffer("memory", 8)
    with b.until(limit=4) as loop:
        with b.loop(plus(loop.index, 1)) as inner:
            b.store(memory, inner.index, b.add(1.0, 2.0))
        loop.stop(0.0)
    assert operations(b.finished()) == 1 + 2 + 3 + 4
    assert operations(b.finished(), lambda s: 2) == 1 + 2


def test_parallel_loops_count_as_serial_ones() -> None:
    made = smoothing(10, rounds=1)
    products, sums = 9 + 10 * 3 + 10, 9
    sines = 9
    assert operations(made) == products + sines
    run = chains_of(made)
    (multiplications, additions, _, trigonometric), started = run.longest, run.width
    assert (multiplications, additions, trigonometric) == (3 + 1, 0, 0)
    assert sum(started) == products + sums


def test_the_critical_path_waits_for_decisions() -> None:
    def made(limit: int) -> Program:
        b = Builder({"x": ()}, {"y": ()})
        x = b.load(b.inputs["x"], 0)
        with b.until(limit) as loop:
            y = loop.carry(x)
            loop.feed(y, b.add(y, x))
            loop.stop(b.value("less", b.mul(b.mul(y, y), y), 1.0))
        b.store(b.outputs["y"], 0, y)
        return b.finished()

    assert sum(chains_of(made(1)).longest) == 2
    assert sum(chains_of(made(5)).longest) == 10
    assert sum(chains_of(made(5), iterations=3).longest) == 6
