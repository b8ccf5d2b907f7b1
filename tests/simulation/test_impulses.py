# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Impulses of random problems obey Coulomb's law, as it is written in textbooks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from phalanx.backends.native import refill
from phalanx.program.builder import Builder
from phalanx.program.graph import Graph, symbols
from phalanx.program.interpret import interpret
from phalanx.simulation.impulses import ITERATIONS, ImpulseProblem, Layout, inverted, iteration, starts
from phalanx.simulation.inner import emit, inner_loop

LAYOUT = Layout(contacts=2, limits=1, frictions=1)
M = LAYOUT.rows
UPPER = np.triu_indices(M)
SIZES = {"G": len(UPPER[0]), "mu": 2, "low": 1, "high": 1, "most": 1, "b": M, "tolerance": 1}


def program() -> Any:
    """Impulses and residuals of a problem, from its numbers and the velocities without impulses."""
    b = Builder({name: (n,) for name, n in SIZES.items()}, {"p": (M,), "residual": ()})
    graph = Graph()
    given = {name: symbols(graph, name, (n,)) for name, n in SIZES.items()}
    flat = np.concatenate([given[name] for name in ("G", "mu", "low", "high", "most")])
    first = inner_loop(
        "first", [0.0] * (2 * M + 1), [*flat, *given["b"]], 0,
        lambda graph, state, read: (
            starts(graph, ImpulseProblem.unpacked(LAYOUT, read[:-M]), read[-M:]), None
        ),
    )  # fmt: skip
    loop = inner_loop(
        "impulses", [0.0] * (2 * M + 1), [*flat, given["tolerance"][0]], ITERATIONS,
        lambda graph, state, read: iteration(graph, LAYOUT, state, read),
    )  # fmt: skip
    known = {name: [b.load(b.inputs[name], k) for k in range(n)] for name, n in SIZES.items()}
    values = [x for name in ("G", "mu", "low", "high", "most") for x in known[name]]
    begin = emit(b, first, [0.0] * (2 * M + 1), [*values, *known["b"]])
    end = emit(b, loop, begin, [*values, *known["tolerance"]])
    for k in range(M):
        b.store(b.outputs["p"], k, end[k])
    b.store(b.outputs["residual"], 0, end[-1])
    return b.finished()


@pytest.fixture(scope="module", name="problems")
def problems_() -> dict[str, np.ndarray]:
    rng, count = np.random.default_rng(0), 3000
    J = rng.normal(size=(count, M, 12))
    G = J @ np.swapaxes(J, -1, -2)
    b = rng.normal(size=(count, M))
    return {
        "G": G[:, *UPPER],
        "mu": rng.uniform(0.0, 0.8, (count, 2)),
        "low": -rng.uniform(0.0, 1.0, (count, 1)),
        "high": rng.uniform(0.0, 1.0, (count, 1)),
        "most": rng.uniform(0.0, 0.1, (count, 1)),
        "b": b,
        "tolerance": 1e-13 * np.abs(b).sum(axis=-1, keepdims=True),
        "matrix": G,
    }


def test_impulses_obey_the_law(problems: dict[str, np.ndarray]) -> None:
    solve = refill.compiled(program(), "impulses")
    p, residual = solve(*(problems[name] for name in SIZES))
    done = residual.ravel() < 1e-10
    assert done.mean() > 0.999
    v = (problems["matrix"] @ p[..., None])[..., 0] + problems["b"]
    p, v = p[done], v[done]
    modes = np.zeros(3)
    for i in range(2):
        (pn, pt), (vn, vt) = ((x[:, 3 * i], x[:, 3 * i + 1 : 3 * i + 3]) for x in (p, v))
        cone = problems["mu"][done, i] * pn
        assert pn.min() >= -1e-12
        assert vn.min() > -1e-9
        assert np.abs(pn * vn).max() < 1e-9
        size, speed = np.linalg.norm(pt, axis=-1), np.linalg.norm(vt, axis=-1)
        assert (size <= cone + 1e-9).all()
        slides = (speed > 1e-6) & (pn > 1e-6)
        against = -cone[slides, None] * vt[slides] / speed[slides, None]
        np.testing.assert_allclose(pt[slides], against, atol=1e-6)
        modes += [(pn < 1e-12).sum(), slides.sum(), ((pn > 1e-6) & (speed < 1e-9)).sum()]
    assert (modes > 100).all()
    low, high, most = (problems[name][done, 0] for name in ("low", "high", "most"))
    assert ((v[:, 6] > low - 1e-9) & (v[:, 6] < high + 1e-9)).all()
    assert (np.abs(v[:, 6] - low)[p[:, 6] > 1e-9] < 1e-9).all()
    assert (np.abs(v[:, 6] - high)[p[:, 6] < -1e-9] < 1e-9).all()
    assert (np.abs(p[:, 7]) <= most + 1e-12).all()
    moves = np.abs(v[:, 7]) > 1e-8
    np.testing.assert_allclose(p[moves, 7], -most[moves] * np.sign(v[moves, 7]), atol=1e-9)


def test_compiled_loops_compute_what_the_program_means(problems: dict[str, np.ndarray]) -> None:
    made = program()
    p, _ = refill.compiled(made, "impulses")(*(problems[name][:40] for name in SIZES))
    for k in range(0, 40, 7):
        meant = interpret(made, {name: problems[name][k] for name in SIZES})
        np.testing.assert_allclose(p[k], meant["p"], atol=1e-13)  # multiply-adds are rounded once


def test_inverses_leave_out_rows_that_depend_on_others() -> None:
    graph, rows = Graph(), np.array([[2.0, 1.0], [0.5, 3.0], [2.5, 4.0]])
    K = rows @ np.array([[1.0, 0.2], [0.1, 1.5]]) @ rows.T
    X = inverted(symbols(graph, "K", (3, 3)), 1e-9)
    b = Builder({"K": (3, 3)}, {"X": (3, 3)})
    loop = inner_loop("x", [0.0] * 9, symbols(graph, "K", (9,)).tolist(), 0, lambda g, state, read: (
        inverted(read.reshape(3, 3), 1e-9).ravel().tolist(), None))  # fmt: skip
    for k, x in enumerate(emit(b, loop, [0.0] * 9, [b.load(b.inputs["K"], k) for k in range(9)])):
        b.store(b.outputs["X"], k, x)
    found = interpret(b.finished(), {"K": K})["X"].reshape(3, 3)
    assert X.shape == (3, 3)
    np.testing.assert_array_equal(found[2], 0.0)
    np.testing.assert_allclose(found[:2, :2], np.linalg.inv(K[:2, :2]))
