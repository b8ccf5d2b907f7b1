# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Coordinates of joints in other libraries: rules by the joint's type here and its size there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .quaternions import transpose_quaternion
from .types import joint_type

Array = np.ndarray[Any, np.dtype[Any]]


class Rule(NamedTuple):
    """How one joint's coordinates map: q there and back, the basis B(q), and Bd qd."""

    to: Callable[[Array], Array]
    back: Callable[[Array], Array]
    basis: Callable[[Array], Array] | None = None  # None = identity
    drift: Callable[[Array, Array], Array] | None = None  # None = B is constant


def _same(q: Array) -> Array:
    return q


def _plane_rotation(angle: Array) -> Array:
    """Plane rotation matrices (…, 2, 2)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)


def _angle_to(q: Array) -> Array:
    return np.concatenate([np.cos(q), np.sin(q)], -1)


def _angle_back(p: Array) -> Array:
    return np.arctan2(p[..., 1:], p[..., :1])


def _planar_to(q: Array) -> Array:
    return np.concatenate([q[..., :2], _angle_to(q[..., 2:])], -1)


def _planar_back(p: Array) -> Array:
    return np.concatenate([p[..., :2], _angle_back(p[..., 2:])], -1)


def _planar_basis(q: Array) -> Array:
    basis = np.zeros((*q.shape[:-1], 3, 3), q.dtype)
    basis[..., :2, :2] = _plane_rotation(-q[..., 2])
    basis[..., 2, 2] = 1.0
    return basis


def _planar_drift(q: Array, qd: Array) -> Array:
    velocity = (_plane_rotation(-q[..., 2]) @ qd[..., :2, None])[..., 0]
    spin = qd[..., 2]
    return np.stack([spin * velocity[..., 1], -spin * velocity[..., 0], np.zeros_like(spin)], -1)


def _scalar_first(q: Array) -> Array:
    return np.concatenate([q[..., :-4], q[..., -1:], q[..., -4:-1]], -1)


def _scalar_last(p: Array) -> Array:
    return np.concatenate([p[..., :-4], p[..., -3:], p[..., -4:-3]], -1)


def _swapped(q: Array) -> Array:
    basis = np.zeros((6, 6), q.dtype)
    basis[:3, 3:] = basis[3:, :3] = np.eye(3)
    return basis


def _world_linear(q: Array) -> Array:
    basis = np.zeros((*q.shape[:-1], 6, 6), q.dtype)
    basis[..., :3, 3:] = transpose_quaternion(q[..., 3:]).swapaxes(-1, -2)
    basis[..., 3:, :3] = np.eye(3)
    return basis


def _world_linear_drift(q: Array, qd: Array) -> Array:
    angular, linear = qd[..., :3], qd[..., 3:]
    rotation = transpose_quaternion(q[..., 3:]).swapaxes(-1, -2)
    drift = (rotation @ np.cross(angular, linear)[..., None])[..., 0]
    return np.concatenate([drift, np.zeros_like(drift)], -1)


_SAME = Rule(_same, _same)
_COSINE_SINE = Rule(_angle_to, _angle_back)
# By the joint's type here and the number of its coordinates there. One coordinate is the same everywhere.
PINOCCHIO = {
    ("revolute", 2): _COSINE_SINE,
    ("continuous", 2): _COSINE_SINE,
    ("universal", 2): _SAME,
    ("spherical", 4): _SAME,
    ("planar", 4): Rule(_planar_to, _planar_back, _planar_basis, _planar_drift),
    ("floating", 7): Rule(_same, _same, _swapped),
}
MUJOCO = {
    ("spherical", 4): Rule(_scalar_first, _scalar_last),
    ("floating", 7): Rule(_scalar_first, _scalar_last, _world_linear, _world_linear_drift),
}


def find_rule(rules: dict[tuple[str, int], Rule], kind: str, size: int) -> Rule | None:
    """The rule of a joint type if the other engine's joint has `size` coordinates; None if joints differ."""
    return _SAME if size == joint_type(kind).nq == 1 else rules.get((kind, size))
