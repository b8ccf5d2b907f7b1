# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of selections in loops over bodies are those of straight-line code, also at kinks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS
from phalanx.algorithms.registry import algorithm
from phalanx.dispatch import resolve
from phalanx.program.interpret import program_on_arrays
from phalanx.program.trace import trace
from phalanx.robot.model import Model, joint_kinematics
from phalanx.spatial import Array
from phalanx.sweeps.verbs import accumulate
from phalanx.tracing.elementwise import absolute, chosen, less, log, maximum, minimum

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.program.rolled import roll
from reference.rolling import kernel


@pytest.fixture(name="kinked", autouse=True)
def kinked_() -> Iterator[None]:
    @algorithm("inverse_dynamics", source="this test: selections between what sweeps add up")
    def kinked(
        model: Model, q: Array, qd: Array, qdd: Array, *, external: Array = 0.0,
        base_velocity: Array = None, base_acceleration: Array = 0.0,
    ) -> Array:  # fmt: skip
        X, S, _ = joint_kinematics(model, q)
        steep = chosen(less(0.0, qd), log(qd) * q, minimum(q, qdd))  # log is infinitely steep at the kink
        force = absolute(steep - qdd) + maximum(q, qd) * qdd
        return S.T @ accumulate(X, S @ force)

    yield
    del ALGORITHMS["inverse_dynamics"]["kinked"]


def states(n: int) -> dict[str, np.ndarray]:
    """At kinks, beside them by the least there is, and anywhere."""
    rng = np.random.default_rng(n)
    q, qd, qdd = rng.normal(size=(3, 6, n))
    qd[0], q[1], q[2], qdd[3] = 0.0, qdd[1], qd[2], q[3]
    qd[3] = -np.abs(qd[3])  # the lesser of equal ones, and a difference of zero
    qd[4], qd[5] = np.nextafter(0.0, 1.0), np.nextafter(0.0, -1.0)
    return {"q": q, "qd": qd, "qdd": qdd}


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
@pytest.mark.parametrize("n", [10, 100, 1000])
def test_loops_differentiate_selections_as_straight_line_code_does(n: int, mode: str) -> None:
    call = resolve(px.chain(n, seed=3), "inverse_dynamics", "kinked")
    task = replace(call, algorithm=replace(call.algorithm, derivative=mode)).task()
    given = states(n)
    rng = np.random.default_rng(1)
    given |= {name: rng.normal(size=(6, *shape)) for name, shape in task.shapes.items() if name not in given}
    arrays = [given[name] for name in task.shapes]
    found = kernel(roll(task))(*arrays)
    with np.errstate(all="ignore"):
        wanted = program_on_arrays(trace(task), dict(zip(task.shapes, arrays, strict=True)))
    several = [found] if isinstance(found, np.ndarray) else found
    for mine, theirs in zip(several, [wanted] if isinstance(wanted, np.ndarray) else wanted, strict=True):
        finite = np.isfinite(theirs)
        assert finite[:4].all()
        np.testing.assert_array_equal(np.isfinite(mine), finite)
        scale = np.abs(theirs[finite]).max()
        np.testing.assert_allclose(mine[finite], theirs[finite], rtol=1e-9, atol=1e-12 * scale)
