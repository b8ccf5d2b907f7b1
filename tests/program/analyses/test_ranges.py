# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Value ranges hold every value that the interpreter finds, and are not much wider."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.program.analyses.ranges import Ranges, ranges
from phalanx.program.builder import Builder
from phalanx.program.interpret import Interpretation
from phalanx.program.intervals import EVERYTHING, Interval
from phalanx.program.ir import Program, Value
from reference.loops import collatz_like, kepler, smoothing

pytest.importorskip("llvmlite", reason="llvmlite is not installed")


def single(build: Callable[..., Any], **bounds: tuple[float, float]) -> Interval:
    """The range of one formula."""
    b = Builder(dict.fromkeys(bounds, ()), {"y": ()})
    b.store(b.outputs["y"], 0, build(b, *(b.load(b.inputs[name], 0) for name in bounds)))
    found = ranges(b.finished(), bounds)
    return Interval(float(found.low["y"]), float(found.high["y"]))


def value(op: str) -> Callable[..., Any]:
    return lambda b, *args: b.value(op, *args)


@pytest.mark.parametrize(
    ("build", "bounds", "low", "high"),
    [
        (value("add"), {"a": (-1, 2), "b": (3, 4)}, 2, 6),
        (value("sub"), {"a": (-1, 2), "b": (3, 4)}, -5, -1),
        (value("mul"), {"a": (-1, 2), "b": (-3, 4)}, -6, 8),
        (lambda b, x: b.mul(x, x), {"x": (-2, 3)}, 0, 9),
        (lambda b, x: b.mul(x, x), {"x": (2, 3)}, 4, 9),
        (lambda b, x: b.multiply_add(x, x, 1.0), {"x": (-2, 1)}, 1, 5),
        (lambda b, x: b.value("fnma", x, x, 1.0), {"x": (-2, 1)}, -3, 1),
        (value("div"), {"a": (1, 2), "b": (4, 8)}, 0.125, 0.5),
        (value("div"), {"a": (-1, 2), "b": (-8, -4)}, -0.5, 0.25),
        (value("div"), {"a": (1, 2), "b": (-1, 1)}, -np.inf, np.inf),
        (value("div"), {"a": (1, 2), "b": (4, np.inf)}, -0.5, 0.5),
        (value("sin"), {"a": (0, 3)}, 0, 1),
        (value("sin"), {"a": (-0.1, 0.1)}, math.sin(-0.1), math.sin(0.1)),
        (value("sin"), {"a": (2, 5)}, -1, math.sin(2)),
        (value("sin"), {"a": (-100, 100)}, -1, 1),
        (value("cos"), {"a": (0.5, 1)}, math.cos(1), math.cos(0.5)),
        (value("cos"), {"a": (3, 3.5)}, -1, math.cos(3.5)),
        (value("cos"), {"a": (-7, -6)}, math.cos(-7), 1),
        (value("exp"), {"a": (0, 1)}, 1, math.e),
        (value("tanh"), {"a": (-1, 20)}, math.tanh(-1), 1),
        (value("log"), {"a": (1, 4)}, 0, math.log(4)),
        (value("sqrt"), {"a": (0, 4)}, 0, 2),
        (value("abs"), {"a": (-3, 2)}, 0, 3),
        (value("min"), {"a": (-3, 2), "b": (0, 1)}, -3, 1),
        (value("max"), {"a": (-3, 2), "b": (0, 1)}, 0, 2),
        (value("less"), {"a": (-3, -2), "b": (0, 1)}, 1, 1),
        (value("less"), {"a": (2, 3), "b": (0, 1)}, 0, 0),
        (value("less"), {"a": (-3, 3), "b": (0, 1)}, 0, 1),
        (value("choose"), {"m": (1, 1), "a": (0, 1), "b": (5, 6)}, 0, 1),
        (value("choose"), {"m": (0, 1), "a": (0, 1), "b": (5, 6)}, 0, 6),
        (value("arctan2"), {"y": (-1, 1), "x": (1, 2)}, -math.pi / 4, math.pi / 4),
        (value("neg"), {"a": (-3, 2)}, -2, 3),
        (value("floor"), {"a": (-2.5, 1.5)}, -3, 1),
        (value("fms"), {"a": (1, 2), "b": (3, 4), "c": (5, 6)}, -3, 3),
    ],
)
def test_ranges_of_operations(build: Any, bounds: Any, low: float, high: float) -> None:
    found = single(build, **bounds)
    assert found.low <= low
    assert found.high >= high
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("op", ["fma", "fms", "fnma", "add", "sub"])
def test_rotations_keep_the_norm(op: str) -> None:
    def build(b: Builder, a: Any, x: Any, y: Any) -> Any:
        sine, cosine = b.value("sin", a), b.value("cos", a)
        other = b.mul(y, cosine)
        return b.value(op, sine, x, other) if op.startswith("f") else b.value(op, b.mul(x, sine), other)

    found = single(build, a=(-9, 9), x=(-3, 3), y=(-4, 4))
    assert 5 <= found.high < 5 + 1e-12
    assert -5 >= found.low > -5 - 1e-12


def test_squares_of_sine_and_cosine_add_up_to_one() -> None:
    def build(b: Builder, a: Any) -> Any:
        sine, cosine = b.value("sin", a), b.value("cos", a)
        return b.multiply_add(sine, sine, b.mul(cosine, cosine))

    found = single(build, a=(-9, 9))
    assert 1 - 1e-13 < found.low <= 1 <= found.high < 1 + 1e-13


class _Watching(Interpretation):
    """A program under way, each value of which must be in its range."""

    found: Ranges
    seen: dict[Any, float]

    def value(self, s: Value) -> None:
        super().value(s)
        inside = self.found.values[s]
        for x in np.atleast_1d(self.values[s]):
            assert inside.low <= x <= inside.high, (s, x, inside)
            self.seen[s] = max(self.seen.get(s, 0.0), abs(x))


def sampled(made: Program, bounds: dict[str, Any], count: int) -> tuple[Ranges, dict[Any, float]]:
    """Ranges, and the largest values of sampled states, all of which are inside."""
    found = ranges(made, bounds)
    rng, seen = np.random.default_rng(0), dict[Any, float]()
    for k in range(count):
        run = _Watching(made, np.dtype(float), {})
        run.found, run.seen = found, seen
        for buffer in made.inputs:
            low, high = (np.broadcast_to(np.ravel(x), buffer.size) for x in bounds[buffer.name])
            corner = rng.choice([low, high], axis=0) if k % 2 else rng.uniform(low, high)
            run.memory[buffer][:] = corner
        run.body(made.body)
        for buffer in made.outputs:
            values = run.memory[buffer].reshape(made.shapes[buffer.name])
            assert (found.low[buffer.name] <= values).all()
            assert (values <= found.high[buffer.name]).all()
    return found, seen


@pytest.mark.parametrize("name", ["ur5", "panda", "two_link"])
def test_ranges_of_arms_are_sound_and_useful(name: str) -> None:
    arm = px.load(name)
    made = arm.kernel("inverse_dynamics").program()
    n = arm.nv
    bounds = {"q": (-np.full(n, np.pi), np.full(n, np.pi)), "qd": (-2.0, 2.0), "qdd": (-5.0, 5.0)}
    found, seen = sampled(made, bounds, 200)
    assert all(np.isfinite(x.magnitude) for x in found.values.values())
    # Bits that a fixed-point format has too many, at the median of all values.
    extra = [math.log2(found.values[s].magnitude / largest) for s, largest in seen.items() if largest > 1e-9]
    assert np.median(extra) < 3
    assert max(extra) < 10


def test_narrow_bounds_give_narrow_ranges() -> None:
    arm = px.load("ur5")
    made = arm.kernel("gravity_forces").program()
    q = arm.random_state(rng=3)[0]
    found = ranges(made, {"q": (q - 1e-9, q + 1e-9)})
    wanted = arm.gravity_forces(q)
    (name,) = found.low
    assert (found.low[name] <= wanted).all()
    assert (wanted <= found.high[name]).all()
    np.testing.assert_allclose(found.low[name], found.high[name], atol=1e-6)


def test_loops_over_bodies_have_ranges() -> None:
    arm = px.chain(40, seed=1)
    made = arm.kernel("center_of_mass").program()
    found = ranges(made, {"q": (-0.1, 0.1)})
    wanted = arm.center_of_mass(np.zeros(40))
    (name,) = found.low
    assert (found.low[name] <= wanted).all()
    assert (wanted <= found.high[name]).all()


def test_loops_that_end_on_data_may_end_after_any_iteration() -> None:
    made = collatz_like()
    found, _ = sampled(made, {"x": (1.0, 9.0), "goal": (2.0, 8.0)}, 40)
    assert found.low["steps"] <= 2.0
    assert found.high["steps"] <= 20 * 8.0  # by then the condition surely holds, long before the limit
    narrow = ranges(kepler(limit=3), {"M": (0.4, 0.400001), "e": (0.1, 0.100001)})
    assert 0.4 < narrow.low["E"] < narrow.high["E"] < 0.5


def test_parallel_loops_and_memory_without_values() -> None:
    sampled(smoothing(), {"x": (-1.0, 1.0)}, 20)
    b = Builder({}, {"y": ()})
    b.store(b.outputs["y"], 0, b.value("neg", b.load(b.buffer("memory", 1), 0)))
    found = ranges(b.finished(), {})
    assert Interval(float(found.low["y"]), float(found.high["y"])) == EVERYTHING


def test_missing_and_wrong_bounds_are_named() -> None:
    with pytest.raises(ValueError, match="no bounds for e"):
        ranges(kepler(), {"M": (0, 1)})
    with pytest.raises(ValueError, match="a bound of M is NaN or below"):
        ranges(kepler(), {"M": (1, 0), "e": (0, 1)})
