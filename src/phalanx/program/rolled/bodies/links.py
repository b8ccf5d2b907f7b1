# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The links of one body that stands for all: what the last body of a joint has from those before it.

Where all joints have one body, a link is a body. Where some have several, values of links are computed
for their last bodies only: what bodies know is gathered along the joint, what links know spread again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....algorithms.banded.symmetric import inverse
from ....algorithms.links import Links, Shape, bases, from_seats, inverse_transform, rotors
from ....robot.model import Model, identity_transform
from ....spatial import Array, Transform, dense, dot
from ...scalar import Node
from .. import leaves as L
from ..graph import LOCAL
from ..stages.bodies import CARRIER, END, LINKS
from ..sweeps.places import chosen, rebuilt, scalars


@dataclass(frozen=True, eq=False)
class BodyLinks(Links):
    """The link of one body. T, in the frame of its seat, is that of the body's own axis."""

    order: Any
    bodies: Transform  # from the body before
    seat: Transform  # from the frame in which the axes of the joint do not move
    T: Array  # (1, 6)
    first: Any  # one for the first body of a joint
    rotor: Array  # (1,) one for a body with a rotor
    unknown: Array  # (1, w) one for the unknown that is the acceleration of its rotor

    @property
    def count(self) -> int:
        return 1

    @property
    def limbs(self) -> Any:
        return self.order.limbs()

    def along(self, c: Array) -> Array:
        joined = self.order.scan_joints(lambda before, own: own + self.bodies @ before, c, self.first)
        return gathered(self.order, joined)

    def at(self, b: Array) -> Array:
        return gathered(self.order, b)

    def driven(self, tau: Array) -> Array:
        wrench = self.order.scan_joints(lambda before, own: own + before, self.T * tau[..., None], self.first)
        return from_seats(self.seat, gathered(self.order, wrench)[..., None])[..., 0]

    def accelerations(self, rho: Array, y: Array) -> Array:
        qdd = dot(self.T, spread(self.order, inverse_transform(self.seat) @ rho))
        if y.shape[-1] < 6:
            return qdd
        return qdd * (1.0 - self.rotor) + dot(self.unknown, spread(self.order, y)) * self.rotor


def body_links(model: Any, X: Transform) -> BodyLinks:
    """The links of one body that stands for all, with the transform X from the body before."""
    graph, order = model.source.graph, model.source.order
    W, T, unused, G, at_seat, first, unknown = model.derived(_per_body)
    seat = chosen(graph, at_seat.ravel()[0], _lifted(identity_transform(model)), X)
    whole = order.scan_joints(lambda before, own: own @ before, X, first.ravel()[0])
    return BodyLinks(
        dense(gathered(order, whole)),
        from_seats(seat, W),
        G,
        inverse(G),
        unused,
        order,
        X,
        seat,
        T,
        first.ravel()[0],
        model.derived(rotors),
        unknown,
    )


def link_maps(model: Model) -> dict[str, np.ndarray]:
    """The last bodies of joints, and from each body to its joint's and to the one on which its joint sits.

    Bodies after the last link, which fill up a segment, count to that link.
    """
    before = model.links[:-1]
    link, first = np.searchsorted(before, np.arange(model.n)), np.append(0, before + 1)
    return {LINKS: model.links, END: model.links[link], CARRIER: model.parents[first[link]]}


def link_map(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """The link of each body (one past the last for bodies without), and 1 for bodies with a link."""
    where = np.full(model.n, len(model.links))
    where[model.links] = np.arange(len(model.links))
    return where, (where < len(model.links)).astype(float)


def _per_body(model: Model) -> tuple[np.ndarray, ...]:
    """What is constant of links, for each of their bodies."""
    shape = Shape(model)
    (link, slot), size = shape.place, shape.size
    W, T, unused = bases(model)
    G = dense(model.inertia[shape.last])
    unknown = np.arange(W.shape[-1]) == (6 - size[link] + slot)[:, None]
    at_seat = (size == 1) | _as_before(model, shape.last)
    return W[link], T[link, :, slot], unused[link], G[link], at_seat[link], slot == 0, unknown


def _as_before(model: Model, bodies: np.ndarray) -> np.ndarray:
    """Whether bodies only are one more axis of the one before, in the same frame: their seat is their own."""
    still = np.zeros(model.n, dtype=bool)
    for g in model.groups:
        still[g.bodies] = g.motion.nq == 0
    E, r = model.rest.E - np.eye(3), model.rest.r
    same: np.ndarray = still & ~E.any(axis=(-1, -2)) & ~r.any(axis=-1)
    return same[bodies]


def _lifted(X: Transform) -> Transform:
    return X.map(lambda array, rank: array[None])


def gathered(order: Any, f: Any) -> Any:
    """Values of bodies as links have them, those of their last bodies."""
    return _moved(order, f, L.BODY, linked=True)


def spread(order: Any, f: Any) -> Any:
    """Values of links as the bodies of their joints have them."""
    return _moved(order, f, L.LINK, linked=False)


def _moved(order: Any, f: Any, whose: str, *, linked: bool) -> Any:
    graph = order.graph

    def one(x: Any) -> Any:
        if type(x) is not Node or graph.common(x) or graph.phase(x) == LOCAL:
            return x
        phase = graph.phase(x) if linked else graph.phase(x) + 1
        return graph.placed(L.Elsewhere(x.number, whose), phase=phase, linked=linked)

    return f if order.links is None else rebuilt(f, [one(x) for x in scalars(f)])
