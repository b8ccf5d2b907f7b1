# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The four redundancies of the Newton-Euler mass matrix, taken away one by one.

ON-EB is a full pass of inverse dynamics for each joint. Fijany removes from it what vanishes at rest under
one unit acceleration, then the mass centres, then the frames of the links (VN-EB), and last, by a recursion
over composite bodies, that every column sums the same links again (VCR-B). ON-EB, VN-EB and VCR-B are
algorithms of the library; the two forms between are written out here for turning joints, and counted as they
run on symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from ....program.graph import Graph
from ....spatial import cross, dot, matvec, unpack
from ...scheduling.tasks import operations_of
from ..operations import SIZES, cost_at
from ..quantities import fitted, quantity
from ..verdicts import Claim


@dataclass(frozen=True)
class Joints:
    """A chain of turning joints, (n, …) arrays; frame i+1 moves with joint i, whose axis is z of frame i."""

    rotation: Any  # (n, 3, 3) from frame i+1 to frame i
    axis: Any  # (n, 3) of the joint, in frame i+1
    p: Any  # (n, 3) from the origin of frame i to that of frame i+1, in frame i+1
    r: Any  # (n, 3) from the origin of frame i+1 to the mass centre, in it
    m: Any  # (n,)
    inertia: Any  # (n, 6) about the mass centre
    h: Any  # (n, 3) first moment about the origin of frame i, in frame i+1
    k: Any  # (n, 6) second moment


def without_vanishing(joints: Joints) -> np.ndarray:
    """The mass matrix (n, n) by columns: at rest, without gravity, from the accelerated joint outward."""
    n = len(joints.m)
    matrix = np.zeros((n, n), dtype=object)
    for j in range(n):
        wd, pdd, forces, moments = joints.axis[j], 0.0, [], []
        for i in range(j, n):
            if i > j:
                wd, pdd = matvec(joints.rotation[i].T, wd), matvec(joints.rotation[i].T, pdd)
            pdd = pdd + cross(wd, joints.p[i])
            forces.append((cross(wd, joints.r[i]) + pdd) * joints.m[i])
            moments.append(matvec(unpack(joints.inertia[i]), wd))
        f = moment = None
        for i in range(n - 1, j - 1, -1):
            own, about = forces[i - j], joints.p[i] + joints.r[i]
            if f is None:
                f, moment = own, moments[i - j] + cross(about, own)
            else:
                beyond, turned = matvec(joints.rotation[i + 1], f), matvec(joints.rotation[i + 1], moment)
                moment = turned + moments[i - j] + cross(about, own) + cross(joints.p[i], beyond)
                f = beyond + own
            matrix[i, j] = matrix[j, i] = dot(joints.axis[i], moment)
    return matrix


def without_mass_centres(joints: Joints) -> np.ndarray:
    """The same with first and second moments about the joints, in the frames of the links."""
    n = len(joints.m)
    matrix = np.zeros((n, n), dtype=object)
    for j in range(n):
        wd, v, forces, moments = joints.axis[j], None, [], []
        for i in range(j, n):
            if i > j:
                before = cross(wd, joints.p[i - 1]) if v is None else v + cross(wd, joints.p[i - 1])
                wd, v = matvec(joints.rotation[i].T, wd), matvec(joints.rotation[i].T, before)
            force, moment = cross(wd, joints.h[i]), matvec(unpack(joints.k[i]), wd)
            forces.append(force if v is None else force + v * joints.m[i])
            moments.append(moment if v is None else moment + cross(joints.h[i], v))
        f = moment = None
        for i in range(n - 1, j - 1, -1):
            if f is None:
                f, moment = forces[i - j], moments[i - j]
            else:
                beyond = matvec(joints.rotation[i + 1], f)
                turned = matvec(joints.rotation[i + 1], moment)
                moment = moments[i - j] + turned + cross(joints.p[i], beyond)
                f = forces[i - j] + beyond
            matrix[i, j] = matrix[j, i] = dot(joints.axis[i], moment)
    return matrix


FORMS: dict[str, Callable[[Joints], np.ndarray]] = {
    "without what vanishes": without_vanishing,
    "without mass centres": without_mass_centres,
}


def symbolic(n: int) -> Joints:
    """A chain of which nothing is known."""
    graph = Graph()

    def symbols(name: str, *shape: int) -> np.ndarray:
        made = np.empty(int(np.prod(shape)), dtype=object)
        made[:] = [graph.input(name, k) for k in range(made.size)]
        return made.reshape(shape)

    sizes = {"axis": (n, 3), "p": (n, 3), "r": (n, 3), "m": (n,), "inertia": (n, 6), "h": (n, 3), "k": (n, 6)}
    known = {name: symbols(name, *size) for name, size in sizes.items()}
    return Joints(np.array([_rotation(*x) for x in symbols("sincos", n, 5)]), **known)


def _rotation(ct: Any, st: Any, ca: Any, sa: Any, zero: Any) -> np.ndarray:
    """A_i with its four products, and a symbol where it has a zero."""
    return np.array([[ct, -(st * ca), st * sa], [st, ct * ca, -(ct * sa)], [zero, sa, ca]])


@cache
def _written_out(form: str, n: int) -> int:
    return operations_of(FORMS[form](symbolic(n))[np.tril_indices(n)]).total


def _of_library(algorithm: str, n: int) -> int:
    return cost_at("mass_matrix", algorithm, n).total


@quantity
def redundancies() -> Claim:
    """operations of phalanx.cost for ON-EB, VN-EB and VCR-B, of the forms between as they run on symbols"""
    counted: dict[str, Callable[[int], int]] = {
        "ON-EB": partial(_of_library, "newton_euler_original"),
        **{form: partial(_written_out, form) for form in FORMS},
        "in one frame (VN-EB)": partial(_of_library, "newton_euler_variant"),
        "by composite bodies (VCR-B)": partial(_of_library, "composite_variant"),
    }
    counts = {name: {n: count(n) for n in SIZES} for name, count in counted.items()}
    figures = [f"{name} {fitted(values)}, {values[6]} at n = 6" for name, values in counts.items()]
    falls = all(b[6] < a[6] for a, b in pairwise(counts.values()))
    return Claim(falls, "; ".join(figures))
