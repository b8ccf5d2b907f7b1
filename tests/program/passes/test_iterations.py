# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Lanes of one state as parallel iterations, and serial statements as single ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret
from phalanx.program.ir import IntExpr, ParallelFor, Program
from phalanx.program.lowering import looped
from phalanx.program.passes.iterations import in_single_iterations, lanes_as_iterations
from phalanx.program.verify import verify

STATE = ("q", "qd", "tau")


def backwards(iterations: range) -> tuple[int, ...]:
    return tuple(iterations)[::-1]


@pytest.mark.parametrize(
    ("function", "algorithm", "segments"),
    [
        ("forward_dynamics", "partition", 6),  # segments of two lengths
        ("inverse_dynamics", "scan", 5),
    ],
)
def test_iterations_mean_what_lanes_do(function: str, algorithm: str, segments: int) -> None:
    robot = px.chain(27)
    call = resolve(robot, function, (algorithm, {"segments": segments}))
    loops: Any = looped(call, ())
    lanes = loops.built(segments, lockstep=False)
    iterations = in_single_iterations(lanes_as_iterations(lanes))
    verify(iterations)
    assert iterations.lanes == 1
    assert {s.end for s in iterations.body if isinstance(s, ParallelFor)} == {1, segments}
    given = dict(zip(call.function.inputs, robot.random_state(rng=0), strict=True))
    wanted = interpret(lanes, given)["out"]
    np.testing.assert_array_equal(interpret(iterations, given, order=backwards)["out"], wanted)


def test_lanes_that_read_each_other_have_no_iterations() -> None:
    def of(index: Any, *, inner: bool = False) -> Program:
        b = Builder({"x": (4,)}, {"out": (4,)}, 4)
        kept = b.buffer("kept", 1)
        with b.part(4):
            if inner:
                with b.loop(2), b.part(4):
                    b.store(kept, 0, 1.0)
            b.store(b.outputs["out"], 0, b.load(kept, index))
        return b.finished()

    with pytest.raises(px.PhalanxError, match="a segment accesses another one"):
        lanes_as_iterations(of(IntExpr("lanes", (3, 2, 1, 0))))
    with pytest.raises(px.PhalanxError, match="a SimdRegion inside of a SIMD region"):
        lanes_as_iterations(of(0, inner=True))


def test_only_runs_that_nobody_needs_later_are_single_iterations() -> None:
    b = Builder({"x": (3,)}, {"out": (3,)})
    kept = b.buffer("kept", 3)
    b.store(kept, 0, b.load(b.inputs["x"], 0))  # closed
    with b.parallel(3) as k:
        b.store(kept, k, b.load(b.inputs["x"], k))
    needed = b.load(kept, 1)  # read by the next parallel loop
    with b.parallel(3) as k:
        b.store(b.outputs["out"], k, b.add(needed, b.load(kept, k)))
    made = in_single_iterations(b.finished())
    verify(made)
    assert [getattr(s, "end", None) for s in made.body] == [1, 3, None, 3]
    np.testing.assert_array_equal(interpret(made, {"x": [1.0, 2.0, 3.0]})["out"], [3.0, 4.0, 5.0])
