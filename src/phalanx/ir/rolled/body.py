# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One body that stands for all bodies of a robot: its model, with a leaf for each parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn

import numpy as np

from ...errors import PhalanxError
from ...joints import Helix
from ...model import Group, Model
from ...spatial import Array, Transform, dot
from ..scalar import Node
from .graph import LOCAL, BodyGraph

REST = "rest"  # the pseudo input that holds the transforms of bodies whose motion is no helix
OWN = "own"  # the map from a body to itself


@dataclass(frozen=True, eq=False)
class Source:
    """What the symbolic body is made of: the graph, the robot, and where bodies find their inputs."""

    graph: BodyGraph
    model: Model
    maps: dict[str, np.ndarray]

    def state(self, name: str, map: str, width: int, offset: int) -> Node:
        """The scalar number map[body] * width + offset of an input."""
        return self.graph.leaf("state", name, self.known(map), width, offset)

    def known(self, map: str) -> str:
        """The name of a map; that of the identity if it is one."""
        return OWN if np.array_equal(self.maps[map], np.arange(self.model.n)) else map

    def moved(self, x: Any, map: str) -> Any:
        """x, an input or a number, as another body has it."""
        if type(x) is Node and x.args[0] == "state" and x.args[2] == OWN:
            return self.state(x.args[1], map, *x.args[3:])
        if type(x) is Node:
            raise PhalanxError(
                "rolled code: the rates of joints with several axes must be inputs; use the NumPy backend."
            )
        return x


@dataclass(frozen=True, eq=False)
class BodyModel(Model):
    """The model of one body that stands for all."""

    source: Any = None

    def axes(self) -> BodyAxes:
        return BodyAxes(self.axis, self.source)

    def moves(self, body: int) -> Array:
        full = self.source.model.moves(body)
        made: Array = self.source.graph.params(np.asarray(full, dtype=float))
        return made


class BodyAxes:
    """The joint axes as an operator on the rates of one body, or of its joint's bodies."""

    def __init__(self, axis: Array, source: Source) -> None:
        self.axis = axis
        self.source = source

    def __matmul__(self, rate: Array) -> Array:
        model, graph = self.source.model, self.source.graph
        if np.array_equal(model.carrier, np.arange(model.n)):
            return self.axis * rate[..., None]
        # Of the bodies of one joint at most one moves along each component.
        factor, owner = twist_owners(model)
        made = np.empty((1, 6), dtype=object)
        for k in range(6):
            self.source.maps[f"twist{k}"] = owner[:, k]
            moved = self.source.moved(rate.ravel()[0], f"twist{k}")
            made[0, k] = moved * graph.param(factor[:, k])
        return made

    @property
    def T(self) -> BodyAxes:
        return _TransposedBodyAxes(self.axis, self.source)


class _TransposedBodyAxes(BodyAxes):
    def __matmul__(self, F: Array) -> Array:
        return dot(self.axis, F)


def twist_owners(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """For each body and component of its joint's twist (n, 6): the factor and the body whose rate it is."""
    factor = np.zeros((model.n, 6))
    owner = np.tile(np.arange(model.n)[:, None], 6)
    axis, last = np.asarray(model.axis, dtype=float), model.carrier
    body, component = np.nonzero(axis)
    place = last[body], component
    if len(np.unique(place[0] * 6 + place[1])) < len(body):
        raise PhalanxError("rolled code: two axes of one joint share a component; use the NumPy backend.")
    factor[place] = axis[body, component]
    owner[place] = body
    return factor, owner


def link_map(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """The link of each body (one past the last for bodies without), and 1 for bodies with a link."""
    where = np.full(model.n, len(model.links))
    where[model.links] = np.arange(len(model.links))
    return where, (where < len(model.links)).astype(float)


def rates(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Turn and slide of each body per unit of its coordinate (n, 2), and which are no helix (n,)."""
    both = np.zeros((model.n, 2))
    other = np.zeros(model.n, dtype=bool)
    for g in model.groups:
        if g.motion.rates is None:
            other[g.bodies] = True
        else:
            both[g.bodies] = g.motion.rates
            both[g.bodies, 1] += model.pitch[g.bodies]
    return both, other


def body_model(graph: BodyGraph, model: Model) -> BodyModel:
    """The model of one body that stands for all bodies of `model`."""
    if model.coupling is not None:
        raise PhalanxError("rolled code: mimic joints are not covered; use the NumPy backend.")
    coordinate = np.zeros(model.n, dtype=np.intp)
    for g in model.groups:
        if g.motion.nq:
            coordinate[g.bodies] = g.coordinates[:, 0]
    where, has_link = link_map(model)
    link = np.where(has_link > 0.0, where, 0)
    maps = {OWN: np.arange(model.n), "q": coordinate, "link": link, "link out": where}
    source = Source(graph, model, maps)
    helix, other = rates(model)
    frames = model.link_frame.map(lambda array, _: array[link])
    rest = model.rest.map(lambda array, _: graph.params(array))
    if other.any():
        values = np.empty(12, dtype=object)
        values[:] = [source.state(REST, OWN, 12, k) for k in range(12)]
        rest = Transform(values[:9].reshape(1, 3, 3), values[9:].reshape(1, 3))
    group = Group(Helix, np.zeros(1, dtype=np.intp), np.zeros((1, 1), dtype=np.intp))
    return BodyModel(
        n=1,
        nq=1,
        nv=1,
        parents=np.array([-1]),
        groups=(group,),
        rest=rest,
        offset=graph.params(model.offset),
        pitch=graph.params(helix),
        axis=graph.params(model.axis),
        carrier=np.zeros(1, dtype=np.intp),
        inertia=model.inertia.map(lambda array, _: graph.params(array)),
        armature=graph.params(model.armature),
        gravity=model.gravity.astype(object),
        links=np.zeros(1, dtype=np.intp),
        link_frame=frames.map(lambda array, _: graph.params(array)),
        dh_of=_refuse_dh,
        source=source,
    )


def _refuse_dh() -> NoReturn:
    raise PhalanxError(
        "rolled code: a loop over bodies knows no Denavit-Hartenberg frames; use the NumPy backend, "
        "or an algorithm in the frames of the bodies."
    )


def body_inputs(
    source: Source, shapes: Mapping[str, tuple[int, ...]], symbols: Mapping[str, tuple[str, ...]]
) -> dict[str, np.ndarray]:
    """The inputs as one body sees them: coordinates, rates, wrenches on its link, or the whole of others."""
    made = {}
    for name in shapes:
        size, inner = symbols[name][0], shapes[name][1:]
        width = prod(inner)
        if size == "q":
            values = [source.state(name, "q", 1, 0)]
        elif size == "v":
            values = [source.state(name, OWN, 1, 0)]
        elif size == "l":
            values = [source.state(name, "link", width, k) for k in range(width)]
        else:
            inner, width = shapes[name], prod(shapes[name])
            values = [source.graph.placed("global", name, k, phase=LOCAL, common=True) for k in range(width)]
        flat = np.empty(len(values), dtype=object)
        flat[:] = values
        made[name] = flat.reshape((1, *inner) if size in ("q", "v", "l") else inner)
    return made


def body_wrenches(model: BodyModel, wrench: Array) -> Array:
    """Wrenches given in link frames on the body that carries the link, in its frame."""
    _, has_link = link_map(model.source.model)
    return (model.link_frame.T @ wrench) * model.source.graph.params(has_link[:, None])


def other_motions(model: Model) -> list[Group]:
    """The groups of bodies whose motion is no helix."""
    return [g for g in model.groups if g.motion.rates is None]


def moving_rest(source: Source, group: Group) -> Any:
    """The transforms of one body of a group at its coordinates, as twelve scalars."""
    model = source.model
    q = np.empty((1, group.motion.nq), dtype=object)
    q[0, :] = [source.state("q", "q", 1, k) for k in range(group.motion.nq)]
    rest = model.rest.map(lambda array, _: source.graph.params(array))
    X = group.motion.transform(q, rest, source.graph.params(model.offset), source.graph.params(model.pitch))
    return [*X.E.ravel().tolist(), *X.r.ravel().tolist()]
