# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Batches of loops that end on data: refilled lanes give the bits of a state alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.backends.native import refill
from phalanx.program.builder import Builder
from phalanx.program.interpret import interpret
from phalanx.program.ir import plus
from phalanx.program.passes.nonfinite import spread
from reference.loops import collatz_like, kepler


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHALANX_VERIFY", "1")


def anomalies(count: int, dtype: Any = np.float64) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.uniform(-9, 9, count).astype(dtype), rng.uniform(0, 0.97, count).astype(dtype)


FORMS: list[dict[str, Any]] = [{"refill": False}, *({"registers": n} for n in (0, 1, 2, 4))]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("form", FORMS)
def test_bits_do_not_depend_on_the_batch(form: Any, dtype: Any) -> None:
    made = kepler(tolerance=1e-14 if dtype == "float64" else 1e-6)
    solve = refill.compiled(made, "kepler", dtype, **form)
    assert solve.refilled == form.get("refill", True)
    mean, eccentricity = anomalies(203, dtype)
    found = solve(mean, eccentricity)
    size = 1e-13 if dtype == "float64" else 1e-5
    assert np.abs(found - eccentricity * np.sin(found) - mean).max() < size
    alone = np.array([solve(m, e) for m, e in zip(mean, eccentricity, strict=True)])
    np.testing.assert_array_equal(found, alone)
    order = np.random.default_rng(2).permutation(len(mean))
    np.testing.assert_array_equal(solve(mean[order], eccentricity[order]), found[order])
    for count in (0, 1, 2, 7, 8, 9, 33, 64, 65, 130):
        np.testing.assert_array_equal(solve(mean[:count], eccentricity[:count]), found[:count])
    np.testing.assert_array_equal(solve(mean[::-3], eccentricity[::-3]), found[::-3])
    assert solve(mean[:8, None], eccentricity[:4]).shape == (8, 4)


def test_refilled_lanes_and_lockstep_agree_in_bits() -> None:
    mean, eccentricity = anomalies(5000)
    found = [refill.compiled(kepler(), "kepler", **form)(mean, eccentricity) for form in FORMS]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_bits_do_not_depend_on_threads(threads: int) -> None:
    solve = refill.compiled(kepler(), "kepler")
    mean, eccentricity = anomalies(100_003)
    wanted = solve(mean, eccentricity)
    for _ in range(3):  # the first calls measure
        np.testing.assert_array_equal(solve(mean, eccentricity, threads=threads), wanted)


@pytest.mark.parametrize("form", FORMS)
def test_loops_and_memory_inside(form: Any) -> None:
    made = collatz_like()
    run = refill.compiled(made, "loops", **form)
    rng = np.random.default_rng(4)
    x, goal = rng.uniform(1, 9, (50, 3)), rng.uniform(1.6, 9, 50)
    y, steps = run(x, goal)
    for k in range(50):
        wanted = interpret(made, {"x": x[k], "goal": goal[k]})
        np.testing.assert_allclose(y[k], wanted["y"], rtol=1e-14)
        assert steps[k] == wanted["steps"]


@pytest.mark.parametrize("form", FORMS)
def test_numbers_that_are_not_finite_stay_with_their_state(form: Any) -> None:
    solve = refill.compiled(kepler(), "kepler", **form)
    mean, eccentricity = anomalies(70)
    wanted = solve(mean, eccentricity)
    mean[[3, 40]], eccentricity[50] = (np.nan, np.inf), np.nan
    found = solve(mean, eccentricity)
    bad = [3, 40, 50]
    assert np.isnan(found[bad]).all()
    np.testing.assert_array_equal(np.delete(found, bad), np.delete(wanted, bad))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_limit_ends_every_state(limit: int) -> None:
    mean, eccentricity = anomalies(100)
    wanted = refill.compiled(kepler(iterations=limit), "fixed")(mean, eccentricity)
    for form in FORMS:
        found = refill.compiled(kepler(limit=limit, tolerance=0.0), "limited", **form)(mean, eccentricity)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("form", FORMS)
def test_states_that_the_limit_ends_are_flagged(form: Any) -> None:
    mean, eccentricity = anomalies(300)
    mean[[3, 40]], eccentricity[50] = (np.nan, np.inf), np.nan
    made = kepler(limit=6, flagged=True)
    found, converged = refill.compiled(made, "flagged", **form)(mean, eccentricity)
    wanted = [interpret(spread(made), {"M": m, "e": e}) for m, e in zip(mean, eccentricity, strict=True)]
    np.testing.assert_array_equal(converged, [x["converged"] for x in wanted])
    assert np.isnan(converged[[3, 40, 50]]).all()
    done = converged == 1.0
    assert 30 < done.sum() < 290
    assert (converged == 0.0).sum() > 5
    assert np.abs(found - eccentricity * np.sin(found) - mean)[done].max() < 1e-13
    unflagged = refill.compiled(kepler(limit=6), "kepler", **form)(mean, eccentricity)
    np.testing.assert_array_equal(found, unflagged)


def test_large_angles_take_the_slow_path_alone() -> None:
    mean, eccentricity = anomalies(64)
    solve = refill.compiled(kepler(), "kepler")
    wanted = solve(mean, eccentricity)
    mean[5] = 3e6
    found = solve(mean, eccentricity)
    np.testing.assert_array_equal(np.delete(found, 5), np.delete(wanted, 5))
    assert abs(found[5] - eccentricity[5] * np.sin(found[5]) - mean[5]) < 1e-9


def test_inputs_may_be_read_inside_at_indices_of_loops() -> None:
    b = Builder({"table": (6,), "goal": ()}, {"y": (2,)})
    goal = b.load(b.inputs["goal"], 0)
    with b.until(limit=25) as loop:
        y, steps = loop.carry(0.0), loop.carry(0.0)
        with b.loop(5) as inner:
            total = inner.carry(y)
            inner.feed(total, b.add(total, b.load(b.inputs["table"], plus(inner.index, 1))))
        loop.feed(y, total)
        loop.feed(steps, b.add(steps, 1.0))
        loop.stop(b.value("less", goal, total))
    b.store(b.outputs["y"], 0, y)
    b.store(b.outputs["y"], 1, steps)
    made = b.finished()
    rng = np.random.default_rng(6)
    table, goal_of = rng.random((90, 6)), rng.uniform(1, 40, 90)
    for form in FORMS:
        found = refill.compiled(made, "sums", **form)(table, goal_of)
        for k in range(0, 90, 7):
            wanted = interpret(made, {"table": table[k], "goal": goal_of[k]})["y"]
            np.testing.assert_array_equal(found[k], wanted)


def test_memory_beyond_the_stack() -> None:
    b = Builder({"x": ()}, {"y": ()})
    memory = b.buffer("memory", 2000)
    start = b.load(b.inputs["x"], 0)
    with b.until(limit=9) as loop:
        x = loop.carry(start)
        with b.loop(2000) as inner:
            b.store(memory, inner.index, x)
        loop.feed(x, b.mul(b.load(memory, 1999), 2.0))
        loop.stop(b.value("less", 10.0, x))
    b.store(b.outputs["y"], 0, x)
    x_of = np.arange(1.0, 30.0)
    wanted = [interpret(b.finished(), {"x": each})["y"] for each in x_of]
    for form in FORMS:
        np.testing.assert_array_equal(refill.compiled(b.finished(), "memory", **form)(x_of), wanted)


def test_the_code_is_kept_on_disk_and_names_shapes() -> None:
    refill.compiled(kepler(), "kepler")
    assert refill.compiled(kepler(), "kepler").code.cached
    with pytest.raises(ValueError, match=r"loops: x has shape \(2,\)"):
        refill.compiled(collatz_like(), "loops")(np.zeros(2), 1.0)
