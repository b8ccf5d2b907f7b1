# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The factored six-dimensional algebra against dense 6x6 matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.spatial.transform import Rotation

from phalanx import spatial
from phalanx.spatial import Articulated, Displacement, DisplacementOperator, Inertia, Projector, Transform
from reference.dynamics import ad, adjoint, pose, skew
from reference.sampling import agree, seeds


def transform(rng: np.random.Generator) -> tuple[Transform, np.ndarray]:
    """A random transform X_b_a, factored and dense."""
    R, r = Rotation.from_quat(rng.standard_normal(4)).as_matrix(), rng.standard_normal(3)
    return Transform(R.T, r), adjoint(np.linalg.inv(pose(R, r)))


def inertia(rng: np.random.Generator) -> tuple[Inertia, np.ndarray]:
    """A random inertia, factored and dense."""
    m, h = rng.uniform(1.0, 2.0), rng.standard_normal(3)
    moment = rng.standard_normal((3, 3))
    moment = moment + moment.T
    dense = np.block([[moment, skew(h)], [skew(h).T, m * np.eye(3)]])
    return Inertia(np.array(m), h, pack(moment)), dense


def articulated(rng: np.random.Generator) -> tuple[Articulated, np.ndarray]:
    """A random articulated inertia, factored and dense."""
    A = rng.standard_normal((6, 6))
    A = A + A.T
    return Articulated(pack(A[:3, :3]), A[:3, 3:], pack(A[3:, 3:])), A


def pack(A: np.ndarray) -> np.ndarray:
    return A[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]


def dense(G: Inertia | Articulated) -> np.ndarray:
    """The 6x6 matrix of an operator, column by column."""
    return np.stack([G @ e for e in np.eye(6)], axis=1)


@given(seeds)
def test_a_transform_moves_twists_and_its_transpose_wrenches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, full = transform(rng)
    V = rng.standard_normal(6)
    agree(X @ V, full @ V, 1e-13)
    agree(X.T @ V, full.T @ V, 1e-13)


@given(seeds)
def test_transforms_compose(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (X, first), (Y, second) = transform(rng), transform(rng)
    V = rng.standard_normal(6)
    agree((X @ Y) @ V, first @ second @ V, 1e-13)


@given(seeds)
def test_inertias_act_and_move(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, full = transform(rng)
    for G, matrix in (inertia(rng), articulated(rng)):
        agree(dense(G), matrix, 1e-14)
        agree(dense(X.T @ G), full.T @ matrix @ full, 1e-12)


@given(seeds)
def test_sums_are_sums_of_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for make in (inertia, articulated):
        (G, first), (H, second) = make(rng), make(rng)
        agree(dense(G + H), first + second, 1e-14)


@given(seeds)
def test_an_inertia_keeps_its_matrix_in_articulated_form(seed: int) -> None:
    G, matrix = inertia(np.random.default_rng(seed))
    agree(dense(G.articulated()), matrix, 1e-15)


@given(seeds)
def test_a_joint_is_eliminated_by_a_rank_one_change(seed: int) -> None:
    rng = np.random.default_rng(seed)
    G, matrix = articulated(rng)
    U = rng.standard_normal(6)
    agree(dense(G.minus_outer(0.3 * U, U)), matrix - 0.3 * np.outer(U, U), 1e-13)


@given(seeds)
def test_a_projector_takes_away_what_the_joint_absorbs(seed: int) -> None:
    S, psi, V = np.random.default_rng(seed).standard_normal((3, 6))
    agree(Projector(S, psi) @ V, (np.eye(6) - np.outer(S, psi)) @ V, 1e-14)


@given(seeds)
def test_brackets_are_those_of_the_group(seed: int) -> None:
    V, W, F = np.random.default_rng(seed).standard_normal((3, 6))
    agree(spatial.motion_cross(V, W), ad(V) @ W, 1e-14)
    agree(spatial.force_cross(V, F), -ad(V).T @ F, 1e-14)
    agree(spatial.motion_cross(V, V), np.zeros(6), 1e-15)
    agree(W @ spatial.force_cross(V, F), -(spatial.motion_cross(V, W) @ F), 1e-12)


@given(seeds)
def test_vectors_are_multiplied_along_the_last_axis(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, 4, 5, 3))
    agree(spatial.cross(a, b), np.cross(a, b), 1e-15)
    agree(spatial.dot(a, b), np.sum(a * b, axis=-1), 1e-15)
    assert spatial.inner(a, b).shape == (4, 5, 1)


def test_bodies_and_batches_lie_before_the_components() -> None:
    rng = np.random.default_rng(0)
    E = Rotation.random(30, random_state=1).as_matrix().reshape(5, 6, 3, 3)
    X = Transform(E, rng.standard_normal((5, 6, 3)))
    V = rng.standard_normal((5, 6, 6))
    one = X[[2, 4]]
    assert one.E.shape == (5, 2, 3, 3)
    agree((X @ V)[:, [2, 4]], one @ V[:, [2, 4]], 1e-15)
    agree((X @ V)[3, 2], Transform(E[3, 2], X.r[3, 2]) @ V[3, 2], 1e-15)


def test_the_module_of_an_array_is_found_and_its_absence_told() -> None:
    assert spatial.namespace(1.0, np.zeros(1)) is np
    with pytest.raises(TypeError, match="no array among the operands"):
        spatial.namespace(1.0, "x")


@given(seeds)
def test_rotated_turns_packed_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    U, A = Rotation.from_quat(rng.standard_normal(4)).as_matrix(), rng.standard_normal((3, 3))
    agree(spatial.rotated(U, pack(A + A.T)), pack(U @ (A + A.T) @ U.T), 1e-13)


@given(seeds)
def test_parallel_axis_is_the_inertia_of_a_unit_mass(seed: int) -> None:
    d = np.random.default_rng(seed).standard_normal(3)
    agree(spatial.parallel_axis(d), pack(-skew(d) @ skew(d)), 1e-14)


@given(seeds)
def test_articulated_inertias_come_from_symmetric_matrices(seed: int) -> None:
    _, A = articulated(np.random.default_rng(seed))
    agree(dense(Articulated.of(A)), A, 1e-14)


def displaced(rng: np.random.Generator) -> tuple[Displacement, np.ndarray]:
    """A random displacement, factored and as a pose of what was moved in what was there before."""
    turn = Rotation.from_rotvec(rng.standard_normal(3))
    quaternion, d = turn.as_quat(), rng.standard_normal(3)
    return Displacement(quaternion[:3], quaternion[3:], d), pose(turn.as_matrix(), d)


@given(seeds)
def test_displacements_are_carried_from_parents_to_bodies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (parent, P), (own, Q) = displaced(rng), displaced(rng)
    X, _ = transform(rng)
    before = pose(X.E.T, X.r)  # of the body in its parent
    found = DisplacementOperator(X.E, X.r, own.a, own.w, own.d) @ parent
    wanted = np.linalg.inv(before) @ P @ before @ Q
    agree(found.d, wanted[:3, 3], 1e-13)
    for x in np.eye(3):
        agree(x + found.change(x), wanted[:3, :3] @ x, 1e-13)


@given(seeds)
def test_momenta_of_displacements_are_those_of_particles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    moved, T = displaced(rng)
    m, x = rng.uniform(0.5, 1.0, 5), rng.standard_normal((5, 3))
    moments = sum(mass * (p @ p * np.eye(3) - np.outer(p, p)) for mass, p in zip(m, x, strict=True))
    G = Inertia(np.array(m.sum()), m @ x, pack(moments))
    dx = x @ T[:3, :3].T + T[:3, 3] - x
    F = moved.momentum(G)
    agree(F, np.r_[np.cross(x, m[:, None] * dx).sum(0), m @ dx], 1e-12)
    # The same wrench, seen from the frame after.
    agree(moved.after(F), adjoint(T).T @ F, 1e-12)


def test_momenta_of_small_displacements_keep_their_digits() -> None:
    G, dense_inertia = inertia(np.random.default_rng(1))
    V = np.array([0.3, -0.2, 0.5, 0.1, 0.7, -0.4])
    for h in (1e-6, 1e-9, 1e-12):
        moved = Displacement(0.5 * h * V[:3], np.ones(1), h * V[3:])
        agree(moved.momentum(G) / h, dense_inertia @ V, 1e-15 + 10.0 * h)
