# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The articulated-body recursion of Featherstone's Table 7.1 on dense mpmath matrices, link by link."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np

import phalanx as px


def skew(v: Any) -> Any:
    """The matrix of the vector product with v."""
    return mp.matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def blocks(a: Any, b: Any, c: Any, d: Any) -> Any:
    """[[a, b], [c, d]] of 3x3 matrices."""
    whole = mp.zeros(6)
    for row, column, part in ((0, 0, a), (0, 3, b), (3, 0, c), (3, 3, d)):
        for i in range(3):
            for j in range(3):
                whole[row + i, column + j] = part[i, j]
    return whole


def crossing(V: Any) -> Any:
    """The matrix of the bracket of twists."""
    w, v = skew(V[:3]), skew(V[3:])
    return blocks(w, mp.zeros(3), v, w)


def accelerations(
    robot: px.Robot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, digits: int = 50
) -> list[Any]:
    """Accelerations (n,) of a chain of revolute joints."""
    with mp.workdps(digits):
        model = robot.model
        links, V = [], mp.zeros(6, 1)
        for i in range(model.n):
            angle = mp.mpf(float(q[i])) + mp.mpf(float(model.offset[i]))
            c, s = mp.cos(angle), mp.sin(angle)
            E = mp.matrix([[c, s, 0], [-s, c, 0], [0, 0, 1]]) * mp.matrix(model.rest.E[i].tolist())
            X = blocks(E, mp.zeros(3), -E * skew(mp.matrix(model.rest.r[i].tolist())), E)
            S = mp.matrix([0, 0, 1, 0, 0, 0])
            V = X * V + S * mp.mpf(float(qd[i]))
            xx, xy, xz, yy, yz, zz = model.inertia.moment[i].tolist()
            h, m = skew(mp.matrix(model.inertia.h[i].tolist())), mp.mpf(float(model.inertia.m[i]))
            G = blocks(mp.matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), h, -h, m * mp.eye(3))
            links.append((X, S, crossing(V) * S * mp.mpf(float(qd[i])), G, -crossing(V).T * (G * V)))
        above, Ga, pa = [], mp.zeros(6), mp.zeros(6, 1)
        for i in range(model.n - 1, -1, -1):
            X, S, c, G, b = links[i]
            Ga, pa = Ga + G, pa + b
            U = Ga * S
            D = (S.T * U)[0] + mp.mpf(float(model.armature[i]))
            u = mp.mpf(float(tau[i])) - (S.T * pa)[0]
            above.append((X, S, c, U, D, u))
            Gp = Ga - U * U.T / D
            Ga, pa = X.T * Gp * X, X.T * (pa + Gp * c + U * (u / D))
        result, Vd = [], mp.matrix([0, 0, 0, *(-g for g in model.gravity.tolist())])
        for X, S, c, U, D, u in reversed(above):
            Vd = X * Vd + c
            qdd = (u - (U.T * Vd)[0]) / D
            Vd = Vd + S * qdd
            result.append(qdd)
        return result
