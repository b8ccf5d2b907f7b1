# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Exact derivatives of a step, in the tangent space: along tangents, and of its result times cotangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..program.differentiate import adjoints, tangents
from ..robot.robot import Robot
from .equations import symbols
from .integrators import Next
from .rollout import Repeated, Reversed, whole_of
from .step import Step


def along(step: Step, after: Next) -> Repeated:
    """A step together with its derivative along tangents of state, controls and parameters."""
    s, graph = step.settings, step.graph
    dq, dqd = symbols(graph, "dq", (s.nv,)), symbols(graph, "dqd", (s.nv,))
    seeds = _numbered(step.q, step.rates(step.q, dq)) | _numbered(step.qd, dqd)
    seeds |= _numbered(step.u, symbols(graph, "du", (s.controls,)))
    flat = symbols(graph, "parameters", (s.packed,))
    seeds |= _numbered(flat, symbols(graph, "dparameters", (s.packed,)))
    nq = len(step.q)
    moved = _objects(tangents([*after.q.tolist(), *after.qd.tolist()], seeds))
    change = _by_joint(s.robot, "rates_of", after.q, moved[:nq], "q", "v")
    state = {"q": after.q, "qd": after.qd, "dq": change, "dqd": moved[nq:]}
    return Repeated(
        dt=s.dt,
        state=state,
        held={"u": s.controls, "du": s.controls} if s.controls else {},
        fixed=whole_of(parameters=s.packed, dparameters=s.packed),
        records={name: symbols(graph, name, (s.nv,)) for name in ("dq", "dqd")},
    )


def against(step: Step, after: Next) -> Reversed:
    """The adjoint of a step: from cotangents of the state behind it to those of what it starts from."""
    s, graph = step.settings, step.graph
    lq, lqd = symbols(graph, "lq", (s.nv,)), symbols(graph, "lqd", (s.nv,))
    weights = [*_by_joint(s.robot, "coordinate_slopes", after.q, lq, "v", "q").tolist(), *lqd.tolist()]
    found = adjoints([*after.q.tolist(), *after.qd.tolist()], weights)
    slope: Callable[[np.ndarray], np.ndarray] = lambda leaves: _objects(  # noqa: E731
        [found.get(x.number, 0.0) for x in leaves.tolist()]
    )
    flat = symbols(graph, "parameters", (s.packed,))
    return Reversed(
        dt=s.dt,
        state={
            "lq": _by_joint(s.robot, "along_rates", step.q, slope(step.q), "q", "v"),
            "lqd": slope(step.qd),
        },
        held={"u": s.controls} if s.controls else {},
        fixed=whole_of(parameters=s.packed),
        laid={"q": s.robot.nq, "qd": s.nv},
        summed={"lparameters": slope(flat)} if s.packed else {},
        rows={"lu": slope(step.u)} if s.controls else {},
    )


def _numbered(leaves: np.ndarray, rates: np.ndarray) -> dict[int, Any]:
    return {x.number: r for x, r in zip(leaves.tolist(), rates.tolist(), strict=True)}


def _by_joint(robot: Robot, method: str, q: np.ndarray, values: np.ndarray, of: str, to: str) -> np.ndarray:
    """Values of coordinates ("q") or rates ("v") as those of the other, joint by joint."""
    made = np.zeros(robot.nq if to == "q" else robot.nv, dtype=object)
    for c in robot._coordinates:
        convert = getattr(c.kind, method)
        made[getattr(c, to)] = convert(q[None, c.q], values[None, getattr(c, of)])[0]
    return made


def _objects(values: list[Any]) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
