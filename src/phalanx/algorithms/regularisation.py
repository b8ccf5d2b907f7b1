# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Regularisation that cancels exactly: inertia shifted to links while they are joined."""

from __future__ import annotations

from ..robot.model import Model
from ..spatial import Array, Articulated, Tensor, namespace
from ..sweeps.heavy_paths import after, before
from ..sweeps.verbs import children, parent, paths

_NEAR = 0.1  # how fast the size of further links loses influence on the shifted inertia


def shifted_inertia(model: Model) -> Articulated:
    """The inertia of a ball for each body but the last, as large as its neighbours on the lighter side.

    Shifting too little leaves a light link between heavy ones to divide by nearly nothing, too much
    drowns a link's own inertia: a mean over all links lost eight digits on a light tail. The base
    counts as a mean link.
    """
    return _shifted(model)


def shifted_inertia_of_part(model: Model) -> Articulated:
    """As `shifted_inertia`; if the chain goes on, its last body too, with links of mean mass beyond it."""
    return _shifted(model, beyond=1.0)


def _shifted(model: Model, beyond: float = 0.0) -> Articulated:
    sizes = []
    for x in _sizes(model):
        mean = x.sum() / model.n
        inner_side = _faded(x[..., None], mean, inward=True)[..., 0] + x
        outer_side = _faded(x[..., None], mean, inward=False)[..., 0]
        outer_side[-1] += beyond * mean
        sizes.append(inner_side * outer_side / (inner_side + outer_side))
    return _balls(model, *sizes)


def shifted_inertia_on_tree(model: Model) -> Articulated:
    """The inertia of a ball for each body but the tips: that of its subtree, or a tenth of it.

    The tenth where its parent is much lighter: all of it would drown light links in the middle of a
    chain; only as much as the lighter side has (`shifted_inertia`) leaves heavy tips on light branches
    to divide by nearly nothing, for six digits. Each step away counts a tenth; the base counts as a mean
    link.
    """
    far = paths(Tensor(model.rest.E[..., :1, :1] * 0.0 + _NEAR))
    sizes = []
    for x in _sizes(model):
        mean = x.sum(axis=-1, keepdims=True) / model.n
        x = x[..., None]
        inner_side = parent(far @ (x + parent(x * 0.0, root=mean * _NEAR)), root=mean) + x
        outer_side = children(far.T @ x)
        part = (inner_side + _NEAR * outer_side) / (inner_side + outer_side)
        sizes.append((part * outer_side)[..., 0])
    return _balls(model, *sizes)


def _sizes(model: Model) -> tuple[Array, Array]:
    """The mass of each body and its mean moment of inertia."""
    moment = model.inertia.moment
    return model.inertia.m, (moment[..., 0] + moment[..., 3] + moment[..., 5]) / 3.0


def _balls(model: Model, mass: Array, turn: Array) -> Articulated:
    """Isotropic inertias: those of balls."""
    zero = mass * 0.0
    stack = namespace(zero).stack
    return Articulated(
        stack([turn, zero, zero, turn, zero, turn], axis=-1),
        model.rest.E * 0.0,
        stack([mass, zero, zero, mass, zero, mass], axis=-1),
    )


def _faded(x: Array, base: Array, *, inward: bool) -> Array:
    """Sums of the values before (inward) or after each body, each step away counting a tenth."""
    total = before(x, first=base) if inward else after(x)
    for step in (1, 2, 4, 8):
        total = total + (before(total, step=step) if inward else after(total, step=step)) * _NEAR**step
    return total
