# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What loops that end on data and parallel loops mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret
from phalanx.program.ir import Until
from phalanx.program.verify import verify
from reference.loops import collatz_like, kepler, smoothing


def test_a_loop_ends_when_its_condition_holds() -> None:
    seen: dict[Until, list[int]] = {}
    made = verify(kepler())
    for mean, eccentricity in ((0.3, 0.1), (1.0, 0.7), (3.0, 0.9)):
        found = interpret(made, {"M": mean, "e": eccentricity}, iterations=seen)["E"]
        assert abs(found - eccentricity * np.sin(found) - mean) < 1e-15
    (counts,) = seen.values()
    assert len(counts) == 3
    assert 1 < min(counts) < max(counts) < 10


def test_a_loop_ends_at_its_limit() -> None:
    seen: dict[Until, list[int]] = {}
    found = interpret(kepler(limit=2), {"M": 1.0, "e": 0.7}, iterations=seen)["E"]
    assert seen.popitem()[1] == [2]
    assert found == interpret(kepler(iterations=2), {"M": 1.0, "e": 0.7})["E"]


def test_the_last_iteration_yields() -> None:
    b = Builder({"x": ()}, {"y": ()})
    x = b.load(b.inputs["x"], 0)
    with b.until(limit=9) as loop:
        y = loop.carry(x)
        loop.feed(y, b.mul(y, 2.0))
        loop.stop(b.value("less", 3.0, y))
    b.store(b.outputs["y"], 0, y)
    assert interpret(verify(b.finished()), {"x": 1.0})["y"] == 8.0
    assert interpret(b.finished(), {"x": 5.0})["y"] == 10.0


def test_a_condition_that_is_missing_is_an_error() -> None:
    b = Builder({}, {})
    with pytest.raises(TypeError, match="call `stop`"), b.until(limit=3):
        pass


def test_lanes_that_are_done_keep_values_and_memory() -> None:
    def made(lanes: int, starts: Sequence[float]) -> np.ndarray:
        b = Builder({"x": (lanes,)}, {"y": (2 * lanes,)}, lanes=lanes)
        memory = b.buffer("memory", 1)
        with b.part(lanes):
            start = b.load(b.inputs["x"], 0)
            with b.until(limit=20) as loop:
                x = loop.carry(start)
                b.store(memory, 0, b.add(x, 100.0))
                loop.feed(x, b.mul(x, 0.5))
                loop.stop(b.value("less", x, 1.0))
            b.store(b.outputs["y"], 0, x)
            b.store(b.outputs["y"], lanes, b.load(memory, 0))
        return interpret(verify(b.finished()), {"x": starts})["y"]

    starts = [0.5, 3.0, 40.0, 7.0]
    alone = np.array([made(1, [x]) for x in starts]).T.ravel()
    np.testing.assert_array_equal(made(4, starts), alone)


def test_loops_inside_of_loops_that_end_on_data() -> None:
    x = np.array([1.0, 2.0, 5.0])
    found = interpret(verify(collatz_like()), {"x": x, "goal": 2.0})
    steps = 0
    while True:
        x, steps = x * 0.75 + 0.125, steps + 1
        if x.sum() < 2.0:
            break
    np.testing.assert_allclose(found["y"], x)
    assert found["steps"] == 2.0 * steps


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_parallel_iterations_run_in_any_order(seed: int | None) -> None:
    made = verify(smoothing())
    x = np.random.default_rng(5).standard_normal(37)
    wanted = interpret(made, {"x": x})

    def order(iterations: Sequence[int]) -> Sequence[int]:
        if seed is None:
            return iterations[::-1]
        return [int(k) for k in np.random.default_rng(seed).permutation(iterations)]

    found = interpret(made, {"x": x}, order=order)
    for name in ("y", "z"):
        np.testing.assert_array_equal(found[name], wanted[name])
