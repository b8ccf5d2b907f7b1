# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inertia lent to links for as long as they are joined, so that nothing is divided by nearly nothing."""

from __future__ import annotations

from ..robot.model import Model
from ..spatial import Array, Articulated, Tensor, namespace
from ..sweeps.rows import after, before
from ..sweeps.verbs import children, parent, paths

_NEAR = 0.1  # how fast the size of further links loses influence on what a link is lent


def shifted_inertia(model: Model) -> Articulated:
    """A ball for each body but the last, as large as its neighbours on the side where they are smaller.

    Lending too little leaves a light link between heavy ones to divide by nearly nothing, too much
    drowns a link's own inertia: a mean over all links lost eight digits on a light tail. The base
    counts as a mean link.
    """
    sizes = []
    for x in _sizes(model):
        mean = x.sum() / model.n
        inner_side = _faded(x[..., None], mean, inward=True)[..., 0] + x
        outer_side = _faded(x[..., None], mean, inward=False)[..., 0]
        sizes.append(inner_side * outer_side / (inner_side + outer_side))
    return _balls(model, *sizes)


def shifted_inertia_on_tree(model: Model) -> Articulated:
    """A ball for each body but the tips, as large as what hangs on it, or a tenth of that.

    The tenth where what carries the body is much lighter: all of it would drown light links in the middle
    of a chain; only as much as the lighter side has (`shifted_inertia`) leaves heavy tips on light
    branches to divide by nearly nothing, for six digits. Each step away counts a tenth; the base counts
    as a mean link.
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
    """Inertias that are the same in all directions."""
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
