# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The matrices of a linearised step, from analytic derivatives of the dynamics in one pass.

An Euler step, semi-implicit or implicit, has accelerations with

    ID(q, qd, qdd) + e * qdd = tau,

where e is what stiff forces add to the mass matrix. So dqdd = (M + diag(e))^-1 (dtau - de * qdd - dID): the
derivatives of inverse dynamics and one factor. What tau and e change by is differentiated as it was traced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..algorithms.derivatives.idsva import idsva, recursion
from ..algorithms.inertia.crba import crba
from ..program.graph import live, substituted, symbols
from ..program.ir import Scalar
from ..program.passes.differentiate import tangents
from ..program.trace import TooLongError
from ..sweeps.verbs import eliminate, invert, solve, substitute
from ..tracing.function import OwnFunction
from ..tracing.result_structure import Structure
from ..tracing.traces import Trace
from .step import Settings, Step

INTEGRATORS = ("implicit", "euler")
_MOST = 150_000  # scalars that compile in about half a minute; no script measures it


def is_analytic(settings: Settings) -> bool:
    """Whether a step has accelerations by joint forces alone: no wrenches on links."""
    return settings.integrator in INTEGRATORS and not settings.forces and not settings.is_held


def linearization(settings: Settings) -> OwnFunction:
    """The function that returns A (2 nv, 2 nv) and B (2 nv, k); `TooLongError` if it is too long.

    Its arguments are q, qd, time, and u and parameters if there are any.
    """
    step = Step(settings)
    results, _ = matrices(step)
    given = {"q": step.q, "qd": step.qd, "time": step.time}
    given |= {"u": step.u} if settings.controls else {}
    if settings.packed:
        given["parameters"] = symbols(step.graph, "parameters", (settings.packed,))
    structure = Structure(("A", "B"), ("A", "B"), (Structure(), Structure()))
    trace = Trace(settings.robot, "linearize", given, frozenset({"q"}), results, structure)
    return OwnFunction(trace, (linearization, settings))


def matrices(step: Step) -> tuple[dict[str, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """A (2 nv, 2 nv) and B (2 nv, k) of a step by name, and the state after it, q and qd."""
    nv = step.settings.nv
    by_q, by_qd, by_u, qdd = _accelerations(step)
    change = np.concatenate([by_q, by_qd, by_u], axis=1)
    state = {"q": slice(nv), "qd": slice(nv, 2 * nv)}
    rows = []
    for of in state:
        row = _moved(step, qdd, of, "qdd") @ change
        for wrt, columns in state.items():
            row[:, columns] = row[:, columns] + _moved(step, qdd, of, wrt)
        rows.append(row)
    both = np.concatenate(rows)
    results = {"A": both[:, : 2 * nv], "B": both[:, 2 * nv :]}
    if len(live(both.ravel().tolist())) > _MOST:
        raise TooLongError
    return results, step.advanced(step.q, step.qd, qdd, step.h)


def _accelerations(step: Step) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The derivatives of the accelerations by q, qd and u, and the accelerations."""
    s, q, qd, h, model = step.settings, step.q, step.qd, step.h, step.model
    forces = step.forces(step.time, q, qd, implicit=s.stiff)
    tau, diagonal = forces.tau, np.zeros(s.nv, dtype=object)
    if s.stiff:
        tau = tau - h * forces.stiffness * qd
        diagonal = h * forces.damping + h * h * forces.stiffness
    rotors = model.rotor_forces(qd)
    stiff = replace(model, armature=model.armature + diagonal)
    with step.equations.ordered:
        L = eliminate(crba(stiff, q))  # noqa: N806
        _, S, *_, F = recursion(model, q, qd, qd * 0.0, 0.0)  # noqa: N806
        qdd = np.asarray(substitute(L, (tau if rotors is None else tau - rotors) - S.T @ F), dtype=object)
        dq, dqd, _ = idsva(model, q, qd, qdd)
        by_q, by_qd, by_u = _slopes(step, tau, diagonal, qdd)
        inverse = invert(L, stiff.armature * 0.0 + 1.0)
        made = [
            np.asarray(x, dtype=object)
            for x in (solve(L, inverse, by_q - dq), solve(L, inverse, by_qd - dqd))
        ]
        is_plain = s.control is None and np.array_equal(by_u, np.eye(s.nv))
        made.append(np.asarray(inverse if is_plain else solve(L, inverse, by_u), dtype=object))
    return made[0], made[1], made[2], qdd


def _slopes(
    step: Step, tau: np.ndarray, diagonal: np.ndarray, qdd: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The derivatives of tau - diagonal * qdd by q, qd and u, where qdd stays as it is.

    On fresh symbols for qdd: a product with it may have been simplified to one with what it is made of.
    """
    nv, held = step.settings.nv, symbols(step.graph, "primal qdd", qdd.shape)
    results = (tau - diagonal * held).tolist()
    rows = []
    for unit in np.eye(nv).astype(object):
        rate = step.rates(step.q, unit)
        rows.append({x.number: r for x, r in zip(step.q.tolist(), rate.tolist(), strict=True)})
    rows += [{x.number: 1.0} for x in (*step.qd.tolist(), *step.u.tolist())]
    made = np.zeros((nv, len(rows)), dtype=object)
    for k, seeds in enumerate(rows):
        made[:, k] = tangents(results, {n: r for n, r in seeds.items() if _is_moving(r)})
    made = _replaced(made, {"qdd": held}, {"qdd": qdd})
    return made[:, :nv], made[:, nv : 2 * nv], made[:, 2 * nv :]


def _is_moving(rate: Any) -> bool:
    return isinstance(rate, Scalar) or rate != 0.0


def _moved(step: Step, qdd: np.ndarray, of: str, wrt: str) -> np.ndarray:
    """The derivative (nv, nv) of q or qd after a step by those before it or by the accelerations.

    On fresh symbols, since accelerations depend on the state, too.
    """
    robot, graph = step.robot, step.graph
    actual = {"q": step.q, "qd": step.qd, "qdd": qdd}
    fresh = {name: symbols(graph, f"primal {name}", a.shape) for name, a in actual.items()}
    after = step.advanced(fresh["q"], fresh["qd"], fresh["qdd"], step.h)
    results = dict(zip(("q", "qd"), after, strict=True))
    configurations = frozenset({"q"})
    trace = Trace(robot, "step", fresh, configurations, results, Structure(), moving=configurations)
    return _replaced(trace.matrix(of, wrt), fresh, actual)


def _replaced(matrix: np.ndarray, old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> np.ndarray:
    """A matrix of scalars with others for some symbols, by name."""
    known = {x.number: y for name in old for x, y in zip(old[name].tolist(), new[name].tolist(), strict=True)}
    made = np.empty(matrix.size, dtype=object)
    made[:] = substituted(matrix.ravel().tolist(), known)
    return made.reshape(matrix.shape)
