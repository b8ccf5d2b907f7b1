# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Small programs with loops that end on data, and with parallel ones."""

from __future__ import annotations

import numpy as np

from phalanx.program.builder import Builder
from phalanx.program.ir import IntExpr, Program, int_expr, plus, times


def kepler(
    *, limit: int = 50, tolerance: float = 1e-14, iterations: int = 0, flagged: bool = False
) -> Program:
    """Kepler's equation E - e sin E = M by Newton's iteration, or so many iterations of it.

    `flagged` programs also say which states have converged.
    """
    b = Builder({"M": (), "e": ()}, {"E": (), "converged": ()} if flagged else {"E": ()})
    mean, eccentricity = b.load(b.inputs["M"], 0), b.load(b.inputs["e"], 0)
    with b.loop(iterations) if iterations else b.until(limit) as loop:
        anomaly = loop.carry(mean)
        sine, cosine = (b.value(op, anomaly) for op in ("sin", "cos"))
        residual = b.value("sub", b.value("fnma", eccentricity, sine, anomaly), mean)
        step = b.value("div", residual, b.value("fnma", eccentricity, cosine, 1.0))
        loop.feed(anomaly, b.value("sub", anomaly, step))
        if not iterations:
            loop.stop(b.value("less", b.value("abs", step), tolerance))
        converged = loop.ended() if flagged else 1.0
    b.store(b.outputs["E"], 0, anomaly)
    if flagged:
        b.store(b.outputs["converged"], 0, converged)
    return b.finished()


def collatz_like() -> Program:
    """A loop with a loop, scratch memory and a counter of iterations inside, and with two outputs."""
    b = Builder({"x": (3,), "goal": ()}, {"y": (3,), "steps": ()})
    memory = b.buffer("memory", 3)
    goal, starts = b.load(b.inputs["goal"], 0), [b.load(b.inputs["x"], k) for k in range(3)]
    with b.until(limit=40) as loop:
        steps, values = loop.carry(0.0), [loop.carry(x) for x in starts]
        for k, x in enumerate(values):
            b.store(memory, k, b.multiply_add(x, 0.75, 0.125))
        with b.loop(3) as inner:
            total = inner.carry(0.0)
            inner.feed(total, b.add(total, b.load(memory, inner.index)))
        for k, x in enumerate(values):
            loop.feed(x, b.load(memory, k))
        loop.feed(steps, b.add(steps, 1.0))
        loop.stop(b.value("less", total, goal))
    for k, x in enumerate(values):
        b.store(b.outputs["y"], k, x)
    b.store(b.outputs["steps"], 0, b.mul(steps, b.load(b.inputs["goal"], 0)))
    return b.finished()


def smoothing(count: int = 37, *, rounds: int = 3) -> Program:
    """Elements mixed with neighbours at distances 1, 2, 4: parallel loops, with a gather at the end."""
    b = Builder({"x": (count,)}, {"y": (count,), "z": (count,)})
    front, back = b.buffer("front", count), b.buffer("back", count)
    with b.parallel(count) as i:
        b.store(front, i, b.load(b.inputs["x"], i))
    for k in range(rounds):
        distance = 1 << k
        with b.parallel(count - distance) as i:
            mixed = b.multiply_add(b.load(front, plus(i, distance)), 0.5, b.load(front, i))
            b.store(back, i, b.value("sin", mixed))
        with b.parallel(count, first=count - distance) as i:
            b.store(back, i, b.load(front, i))
        front, back = back, front
    order = np.random.default_rng(3).permutation(count)
    with b.parallel(count) as i:
        value = b.load(front, b.entry("order", order, i))
        scale = b.load(b.table("scale", np.linspace(0.5, 2.0, 2 * count)), times(i, 2))
        with b.loop(3) as inner:
            power = inner.carry(1.0)
            inner.feed(power, b.mul(power, scale))
        b.store(b.outputs["y"], i, b.choice(IntExpr("lt", (i, 5)), value, power))
        b.store(b.outputs["z"], int_expr("sub", count - 1, i), b.mul(value, power))
    return b.finished()
