# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The three factorisations of the band-sparsity paper, multiplied out and compared with the mass matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ....io.generators import chain
from ....robot.model import joint_kinematics
from ..quantities import quantity
from ..verdicts import Claim

_LINKS = 9
_ROUNDING = 1e-10


@quantity
def factorisation(name: str) -> Claim:
    """relative difference from the library's mass matrix, or its inverse, for a random chain"""
    made, wanted = {"M": _of_m, "square": _square, "schur": _schur}[name](), _links().mass_matrix
    if name != "M":
        wanted = np.linalg.inv(wanted)
    error = float(np.abs(made - wanted).max() / np.abs(wanted).max())
    return Claim(error < _ROUNDING, f"relative difference {error:.0e}")


@dataclass(frozen=True)
class _Links:
    """Transforms from the link before, inertias (n, 6, 6 each) and axes (n, 6) of a chain in some state."""

    transforms: np.ndarray
    inertias: np.ndarray
    axes: np.ndarray
    mass_matrix: np.ndarray


@cache
def _links() -> _Links:
    robot = chain(_LINKS)
    q = robot.random_state(rng=0)[0]
    transform, subspace, _ = joint_kinematics(robot.model, q)
    units = np.broadcast_to(np.eye(6)[:, None, :], (6, _LINKS, 6))  # the k-th unit twist for every link
    return _Links(
        np.moveaxis(transform @ units, 0, -1),
        np.moveaxis(robot.model.inertia @ units, 0, -1),
        np.asarray(subspace @ np.ones(_LINKS)),
        np.asarray(robot.mass_matrix(q) - np.diag(robot.armature)),
    )


def _bands() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gamma (blocks left of the diagonal), S and J of all links."""
    links, size = _links(), 6 * _LINKS
    gamma, s, j = np.zeros((size, size)), np.zeros((size, _LINKS)), np.zeros((size, size))
    for i in range(_LINKS):
        here = slice(6 * i, 6 * i + 6)
        s[here, i], j[here, here] = links.axes[i], links.inertias[i]
        if i:
            gamma[here, 6 * i - 6 : 6 * i] = links.transforms[i]
    return gamma, s, j


def _of_m() -> np.ndarray:
    gamma, s, j = _bands()
    columns = np.linalg.solve(np.eye(len(gamma)) - gamma, s)
    return np.asarray(columns.T @ j @ columns)


def _square() -> np.ndarray:
    """(I - S'Y Pi)' (S' Jh S)^-1 (I - S'Y Pi) with articulated inertias Jh."""
    links, size = _links(), 6 * _LINKS
    _, s, _ = _bands()
    pi, xi, d = np.zeros((size, _LINKS)), np.zeros((size, size)), np.zeros(_LINKS)
    articulated = links.inertias[-1]
    for k in range(_LINKS - 1, -1, -1):
        axis, step = links.axes[k], links.transforms[k]
        d[k] = axis @ articulated @ axis
        psi = articulated @ axis / d[k]
        if k:
            before = slice(6 * k - 6, 6 * k)
            free = np.eye(6) - np.outer(axis, psi)
            pi[before, k] = step.T @ psi
            xi[6 * k : 6 * k + 6, before] = free @ step
            articulated = links.inertias[k - 1] + step.T @ articulated @ free @ step
    factor = np.eye(_LINKS) - s.T @ np.linalg.solve(np.eye(size) - xi.T, pi)
    return np.asarray(factor.T @ np.diag(1.0 / d) @ factor)


def _schur() -> np.ndarray:
    """C - B' A^-1 B with H = (I - Gamma) J^-1 (I - Gamma)' seen along and across the joints."""
    gamma, s, j = _bands()
    band = np.eye(len(gamma)) - gamma
    h = band @ np.linalg.solve(j, band.T)
    along = s @ np.linalg.inv(s.T @ s)
    across = np.linalg.svd(s.T)[2][_LINKS:].T  # a basis of the motions that no joint allows
    a, b, c = across.T @ h @ across, across.T @ h @ along, along.T @ h @ along
    return np.asarray(c - b.T @ np.linalg.solve(a, b))
