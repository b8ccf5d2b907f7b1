# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Parts of one chain joined along it: what each part receives, from what all parts have sent.

`partition` sends how a part moves as a whole (Y and twists at its last body), then how it yields as a whole
(P, r, Phi^T, K, d of forward dynamics) or what it needs (its wrench of inverse dynamics). Here messages hold
numbers in the frame of a part's last link, which is the base of the next part.
"""

from __future__ import annotations

import numpy as np

from ...robot.model import Model
from ...spatial import Transform, dense, motion_cross
from ..regularisation import shifted_inertia_of_part

_POSE = 12  # numbers of a transform
_RESPONSE = np.cumsum((36, 6, 36, 36))


def last_frame(model: Model) -> Transform:
    """The transform from the last body of a part to the frame of its link."""
    return model.link_frame[len(model.links) - 1]


def last_shift(model: Model) -> np.ndarray:
    """The inertia (6, 6) by which the tip of a part is shifted, in the frame of its last link."""
    X = dense(last_frame(model).inverse())
    return X.T @ dense(model.derived(shifted_inertia_of_part)[model.n - 1]) @ X


# ------------------------------------------------------------------- motions


def motion_sent(tip: Transform, sent: np.ndarray) -> np.ndarray:
    """The message of a part: Y and twists at its last body, moved to the frame of its last link."""
    Y = tip @ _transform(sent)
    return np.concatenate([Y.E.ravel(), Y.r, *(tip @ V for V in sent[_POSE:].reshape(-1, 6))])


def base_frame(every: np.ndarray, part: int) -> Transform:
    """The transform from the base of the chain to that of a part."""
    X = Transform(np.eye(3), np.zeros(3))
    for sent in every[:part]:
        X = _transform(sent) @ X
    return X


def twist_before(every: np.ndarray, part: int) -> np.ndarray:
    """The twist of the link before a part."""
    V = np.zeros(6)
    for sent in every[:part]:
        V = _transform(sent) @ V + sent[_POSE:]
    return V


def motion_before(every: np.ndarray, part: int, gravity: np.ndarray) -> np.ndarray:
    """The twist and the acceleration of the link before a part; gravity is one of the base, upwards."""
    V, Vd = np.zeros(6), np.concatenate([np.zeros(3), -gravity])
    for sent in every[:part]:
        Y, (U, Ud) = _transform(sent), sent[_POSE:].reshape(2, 6)
        V = Y @ V + U
        Vd = Y @ Vd + Ud + motion_cross(V, U)
    return np.concatenate([V, Vd])


def _transform(sent: np.ndarray) -> Transform:
    return Transform(sent[:9].reshape(3, 3), sent[9:_POSE])


# ------------------------------------------------------------------- wrenches


def wrench_beyond(motions: np.ndarray, every: np.ndarray, part: int, tip: Transform) -> np.ndarray:
    """The wrench that the last body of a part passes on, from the wrenches at the bases of all parts."""
    F = np.zeros(6)
    for k in reversed(range(part + 1, len(every))):
        F = _transform(motions[k]).T @ F + every[k]
    return tip.T @ F


def response_sent(tip: Transform, sent: np.ndarray) -> np.ndarray:
    """The message of a part: the responses of base and tip to wrenches, those of the tip in the last link."""
    P, r, rows, K, d = np.split(sent, _RESPONSE)
    X = dense(tip)
    return np.concatenate(
        [P, r, (X @ rows.reshape(6, 6)).ravel(), (X @ K.reshape(6, 6) @ X.T).ravel(), X @ d]
    )


def response_around(
    every: np.ndarray, shifts: np.ndarray, part: int, tip: Transform, gravity: np.ndarray
) -> np.ndarray:
    """P and r of all that lies beyond a part, at its last body, and the acceleration of the link before it.

    The equations are those by which `partition` joins its segments; a shifted inertia is subtracted again.
    """
    P, r = np.zeros((6, 6)), np.zeros(6)
    beyond, steps = (P, r), []
    for k in reversed(range(len(every))):
        if k == part:
            beyond = P, r
        Pk, rk, rows, K, d = np.split(every[k], _RESPONSE)
        rows, K, Q = rows.reshape(6, 6), K.reshape(6, 6), P - shifts[k]
        G = np.linalg.inv(np.eye(6) - K @ Q)
        steps.append((G @ rows, G @ (d + K @ r)))
        QG = Q @ G
        r = rk + rows.T @ (G.T @ r + QG @ d)
        P = Pk.reshape(6, 6) + rows.T @ (0.5 * (QG + QG.T)) @ rows
    a = np.concatenate([np.zeros(3), -gravity])
    for A, e in steps[::-1][:part]:
        a = A @ a + e
    X = dense(tip)
    return np.concatenate([(X.T @ beyond[0] @ X).ravel(), X.T @ beyond[1], a])
