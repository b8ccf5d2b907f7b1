# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The model and the inputs of the symbolic body on which a rolled program traces its algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from math import prod
from typing import Any

import numpy as np

from ....errors import PhalanxError
from ....robot.dh.chain import DHChain, link_wrenches_dh
from ....robot.frames import AnyFrame, Placement
from ....robot.joints import Helix
from ....robot.model import Group, Model
from ....spatial import Array, Field, Inertia, Transform, dot, motion_cross, namespace
from ....sweeps.orders.sequential import Sequential
from ....sweeps.verbs import ordering
from ...ir import UNIFORM, Scalar
from ...task import TraceTask
from .. import leaves as L
from ..body_graph import LOCAL, BodyGraph
from ..leaves import OWN
from ..stages.bodies import CARRIER, DOF, END, JOINT, LINKS
from ..sweeps.indexing import Mask


@dataclass(frozen=True, eq=False)
class CoupledJoints:
    """The degrees of freedom of a robot with mimic joints, body by body.

    The first body that a degree of freedom moves stores its values; contributions of other bodies are
    summed at the end.
    """

    count: int
    dof: np.ndarray  # (n,) that moves each body
    ratio: np.ndarray  # (n,) rate of the body over that of its degree of freedom
    first: np.ndarray  # (n,) bool: whether it is the first body of its degree of freedom

    @property
    def place(self) -> np.ndarray:
        """The degree of freedom of each body that is the first it moves; one past the last for others."""
        return np.where(self.first, self.dof, self.count)

    @property
    def first_body(self) -> np.ndarray:
        """The first body of each degree of freedom."""
        bodies = np.flatnonzero(self.first)
        order: np.ndarray = bodies[np.argsort(self.dof[bodies])]
        return order


def joints_of(model: Model) -> CoupledJoints | None:
    """Return the degrees of freedom of a robot with mimic joints; None for other robots."""
    if model.coupling is None:
        return None
    A = np.asarray(model.coupling.A, dtype=float)
    dof = np.argmax(A != 0.0, axis=1)
    first = np.zeros(model.n, dtype=bool)
    first[[int(np.flatnonzero(column)[0]) for column in A.T]] = True
    return CoupledJoints(model.nv, dof, A[np.arange(model.n), dof], first)


# ------------------------------------------------------------------- body


REST = "rest"  # the pseudo input that holds the transforms of bodies that are not screws


@dataclass(frozen=True, eq=False)
class BodySource:
    """The sources of the symbolic body: its graph, its robot, and the maps from bodies to their inputs."""

    graph: BodyGraph
    model: Model
    maps: dict[str, np.ndarray]
    order: Any = None
    joints: CoupledJoints | None = None  # of robots with mimic joints

    def state(self, name: str, map: str, width: int, offset: int) -> Scalar:
        """Return the leaf of scalar number map[body] * width + offset of an input."""
        return self.graph.leaf(L.State(name, self.known(map), width, offset))

    def known(self, map: str) -> str:
        """Return the name of a map; that of the identity if the map is the identity."""
        return OWN if np.array_equal(self.maps[map], np.arange(self.model.n)) else map

    @property
    def ratio(self) -> Any:
        """The rate of a body over that of the joint it follows."""
        return 1.0 if self.joints is None else self.graph.param(self.joints.ratio)

    def body_rates(self, rate: Array) -> Array:
        """Return the rates of bodies from those of joints; rates of joints are inputs."""
        if self.joints is None:
            return rate
        return np.array([self.moved(x, DOF) * self.ratio for x in rate.ravel().tolist()], dtype=object)

    def moved(self, x: Any, map: str) -> Any:
        """Gather x from the body to which a map leads: from an input, or from a slot of an earlier loop."""
        if isinstance(x, Scalar) and isinstance(x.leaf, L.State) and x.leaf.map in (OWN, JOINT):
            return self.state(x.leaf.name, map, x.leaf.width, x.leaf.offset)
        return self.graph.elsewhere(x, self.known(map))


@dataclass(frozen=True, eq=False)
class BodyModel(Model):
    """The model of the symbolic body."""

    source: Any = None
    screw: Any = None  # (1, 6) along which it moves; zero where the transform of a body is an input

    def moving_axes(self, group: Group) -> Array:
        return self.screw

    def axes(self) -> BodyAxes:
        return BodyAxes(self.axis, self.source)

    def derived(self, constants: Callable[[Model], Any]) -> Any:
        model, graph = self.source.model, self.source.graph
        with ordering(Sequential(model.parents, model.pattern)):
            whole = constants(model)
        if isinstance(whole, Field):
            return whole.map(lambda array, _: graph.params(array))
        return tuple(Mask.of(graph, x) if x.dtype == bool else graph.params(x) for x in whole)

    def body_rates(self, rate: Array) -> Array:
        return self.source.body_rates(rate)

    def rotor_forces(self, qd: Array) -> Array | None:
        factors, rates = rotor_products(self.source.model)
        if not factors.any():
            return None
        own, maps, param = qd.ravel()[0], self.source.maps, self.source.graph.param
        total: Any = 0.0
        for k in range(2):
            pair = []
            for j in range(2):
                maps[f"rotor{k}{j}"] = self.of_rates(rates[k, j])
                pair.append(self.source.moved(own, f"rotor{k}{j}"))
            total = total + pair[0] * pair[1] * param(factors[k])
        return np.array([total], dtype=object)

    def rotor_slopes(self, qd: Array) -> Array:
        return 0.0  # robots with nonzero slopes are refused: they have no loops

    rotor_matrix = rotor_slopes

    def of_rates(self, rates: np.ndarray) -> np.ndarray:
        """Return the indices of the rates of some bodies among those of the robot."""
        joints = self.source.joints
        return rates if joints is None else joints.dof[rates]

    def joint_columns(self, columns: Array) -> Array:
        return columns * self.source.ratio

    def joint_matrix(self, M: Array) -> Array:
        entry = M.ravel()[0]
        made: Array = self.source.order.matrix_of(entry) if self.source.graph.paired(entry) else M
        return made


class BodyAxes:
    """The joint axes as an operator on the rates of one body, or of its joint's bodies."""

    def __init__(self, axis: Array, source: BodySource) -> None:
        self.axis = axis
        self.source = source

    def __matmul__(self, rate: Array) -> Array:
        if self.alone:
            return self.axis * self.source.body_rates(rate)[..., None]
        return self._twist(rate, "twist", slice(None))

    @property
    def T(self) -> BodyAxes:
        return _TransposedBodyAxes(self.axis, self.source)

    def across(self, rate: Array) -> Array:
        """Return the twist across each joint for all of its bodies, not only for the last one."""
        return self @ rate if self.alone else self._twist(rate, "across", self.source.model.carrier)

    def turning(self, rate: Array) -> Array:
        """Return the rate of the axes of a joint under its own twist, V_J x S; zero if all have one axis."""
        return 0.0 if self.alone else motion_cross(self.across(rate), self.axis)

    @property
    def first(self) -> Array:
        """(1, 1): one at the first body of every joint, zero at those that share its twist."""
        return self.source.graph.params(self.source.model.axes().first)

    @property
    def alone(self) -> bool:
        """Whether every joint has one body."""
        model = self.source.model
        return np.array_equal(model.carrier, np.arange(model.n))

    def _twist(self, rate: Array, name: str, rows: Any) -> Array:
        """Return the twist of a body, or of the body that `rows` gives for it."""
        # Of the bodies of one joint at most one moves along each component.
        factor, owner = twist_owners(self.source.model)
        joints = self.source.joints
        if joints is not None:
            factor, owner = factor * joints.ratio[owner], joints.dof[owner]
        made = np.empty((1, 6), dtype=object)
        for k in range(6):
            self.source.maps[f"{name}{k}"] = owner[rows, k]
            moved = self.source.moved(rate.ravel()[0], f"{name}{k}")
            made[0, k] = moved * self.source.graph.param(factor[rows, k])
        return made


class _TransposedBodyAxes(BodyAxes):
    def __matmul__(self, F: Array) -> Array:
        return dot(self.axis, F) * self.source.ratio


def twist_owners(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return factor and body (n, 6): each component of a joint's twist is factor * rate of that body."""
    factor = np.zeros((model.n, 6))
    owner = np.tile(np.arange(model.n)[:, None], 6)
    axis, last = np.asarray(model.axis, dtype=float), model.carrier
    body, component = np.nonzero(axis)
    index = last[body], component
    if len(np.unique(index[0] * 6 + index[1])) < len(body):
        raise PhalanxError("rolled code: two axes of one joint share a component; use the NumPy backend.")
    factor[index] = axis[body, component]
    owner[index] = body
    return factor, owner


def rotor_products(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return `Model.rotor_forces` as two products of rates per body: factors (2, n), bodies (2, 2, n)."""
    factors, bodies = np.zeros((2, model.n)), np.tile(np.arange(model.n), (2, 2, 1))
    first = np.arange(model.n) if model.coupling is None else np.argmax(model.coupling.A != 0.0, axis=0)
    for at, a in zip(first[model.twists], model.armature[model.twists[:, 3:]], strict=True):
        w, v = at[:3], at[3:]
        for k, (after, last) in enumerate(((1, 2), (2, 0), (0, 1))):
            factors[0, w[k]], bodies[0, :, w[k]] = a[last] - a[after], (v[after], v[last])
            factors[:, v[k]] = a[last], -a[after]
            bodies[0, :, v[k]], bodies[1, :, v[k]] = (w[after], v[last]), (w[last], v[after])
    return factors, bodies


def body_model(graph: BodyGraph, model: Model, order: Any = None) -> BodyModel:
    """Return the symbolic body of `model`: its parameters are columns over all bodies."""
    coordinate = np.zeros(model.n, dtype=np.intp)
    for g in model.groups:
        if g.motion.nq:
            coordinate[g.bodies] = g.coordinates[:, 0]
    where, has_link = link_map(model)
    link = np.where(has_link > 0.0, where, 0)
    joints, armature = joints_of(model), model.armature
    maps = {
        OWN: np.arange(model.n),
        "q": coordinate,
        "link": link,
        "link out": where,
        JOINT: np.arange(model.n),
        **link_maps(model),
    }
    if joints is not None and model.coupling is not None:
        maps |= {"q": np.argmax(model.coupling.Q[coordinate] != 0.0, axis=1), JOINT: joints.place}
        maps[DOF] = joints.dof
        armature = np.where(joints.first, armature[joints.dof], 0.0)
    source = BodySource(graph, model, maps, order, joints)
    screw = np.zeros((model.n, 6))
    screw[:, [2, 5]] = model.rates
    frames = model.link_frame.map(lambda array, _: array[link])
    rest = model.rest.map(lambda array, _: graph.params(array))
    if other_motions(model):
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
        axis=graph.params(model.axis),
        carrier=np.zeros(1, dtype=np.intp),
        inertia=model.inertia.map(lambda array, _: graph.params(array)),
        armature=graph.params(armature),
        gravity=model.gravity.astype(object),
        links=np.zeros(1, dtype=np.intp),
        link_frame=frames.map(lambda array, _: graph.params(array)),
        dh_of=lambda: body_chain(graph, model.dh),
        shift_of=lambda: model.inertia_shift and model.inertia_shift.map(lambda a, _: graph.params(a)),
        source=source,
        screw=graph.params(screw),
    )


def link_maps(model: Model) -> dict[str, np.ndarray]:
    """Return the list of links (last bodies of joints), and maps from a body to its link and to the carrier.

    The carrier is the parent of its joint. Bodies after the last link, which pad a segment, map to that link.
    """
    before = model.links[:-1]
    link, first = np.searchsorted(before, np.arange(model.n)), np.append(0, before + 1)
    return {LINKS: model.links, END: model.links[link], CARRIER: model.parents[first[link]]}


def link_map(model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Return the link of each body (one past the last if it has none), and 1.0 for bodies with a link."""
    where = np.full(model.n, len(model.links))
    where[model.links] = np.arange(len(model.links))
    return where, (where < len(model.links)).astype(float)


def body_arguments(body: BodyModel, task: TraceTask) -> tuple[BodyModel, list[Array], dict[str, Any]]:
    """Return the arguments of an algorithm: the body, the inputs in order, the optional ones by name."""
    f = task.primal
    names = [*f.inputs, *task.optional]
    shapes = {name: task.shapes[name] for name in names}
    symbols = body_inputs(body.source, shapes, {**f.inputs, **f.optional})
    more: dict[str, Any] = {name: symbols[name] for name in task.optional}
    if "inertias" in more:
        body = _with_inertias(body, more.pop("inertias"))
    if "external" in more:
        given = more["external"]
        in_dh = task.algorithm.frames == "dh"
        more["external"] = link_wrenches_dh(body.dh, given) if in_dh else body_wrenches(body, given)
    more |= task.arguments
    if "frame" in more:
        more["frame"] = _frame(body.source, more["frame"])
    return body, [symbols[name] for name in f.inputs], more


def _with_inertias(body: BodyModel, parameters: Array) -> BodyModel:
    """Return the body with the given inertia of its link; zero if it has no link."""
    _, has_link = link_map(body.source.model)
    mask = body.source.graph.param(has_link)
    G = body.link_frame.T @ Inertia(parameters[..., 0], parameters[..., 1:4], parameters[..., 4:])
    return replace(body, inertia=G.map(lambda array, _: array * mask))


def _frame(source: BodySource, frame: Placement | AnyFrame) -> Placement:
    """Return a frame for the symbolic body; an `AnyFrame` is read from uniforms of the call."""
    graph = source.graph
    if isinstance(frame, AnyFrame):
        return frame.placement_of_one(
            lambda k: graph.leaf(L.State(UNIFORM, OWN, 1, k)),
            lambda k: graph.placed(L.Global(UNIFORM, k), phase=LOCAL, common=True),
        )
    whole = frame.map(lambda array: array.astype(object))
    return replace(whole, at=graph.params(frame.at), moves=graph.params(frame.moves))


def body_inputs(
    source: BodySource, shapes: Mapping[str, tuple[int, ...]], symbols: Mapping[str, tuple[str, ...]]
) -> dict[str, np.ndarray]:
    """Return the inputs of the symbolic body: its coordinates, rates, wrenches on its link; all of others.

    Those without symbols are the same for all bodies.
    """
    made = {}
    for name in shapes:
        size, inner = symbols.get(name, ("",))[0], shapes[name][1:]
        width = prod(inner)
        if size == "q":
            values = [_coordinate(source, name)]
        elif size == "v":
            values = [source.state(name, JOINT, 1, 0)]
        elif size == "l":
            values = [source.state(name, "link", width, k) for k in range(width)]
        else:
            inner, width = shapes[name], prod(shapes[name])
            values = [source.graph.placed(L.Global(name, k), phase=LOCAL, common=True) for k in range(width)]
        flat = np.empty(len(values), dtype=object)
        flat[:] = values
        made[name] = flat.reshape((1, *inner) if size in ("q", "v", "l") else inner)
    return made


def _coordinate(source: BodySource, name: str) -> Any:
    """Return the first coordinate of a body, computed from that of the joint which it mimics, if any."""
    model, first = source.model, np.zeros(source.model.n, dtype=np.intp)
    own = source.state(name, "q", 1, 0)
    if model.coupling is None:
        return own
    for g in model.groups:
        if g.motion.nq:
            first[g.bodies] = g.coordinates[:, 0]
    ratio = model.coupling.Q[first, source.maps["q"]]
    return own * source.graph.param(ratio) + source.graph.param(model.coupling.offset[first])


def body_wrenches(model: BodyModel, wrench: Array) -> Array:
    """Return wrenches on bodies, in body frames, from those on links, in link frames."""
    _, has_link = link_map(model.source.model)
    return (model.link_frame.T @ wrench) * model.source.graph.params(has_link[:, None])


def other_motions(model: Model) -> list[Group]:
    """The groups of bodies whose motion is not a one-degree-of-freedom screw."""
    return [g for g in model.groups if g.motion.nq and not g.motion.is_screw]


def other_bodies(model: Model) -> np.ndarray:
    """Return 1.0 for each body of `other_motions`, 0.0 for others (n,)."""
    found = np.zeros(model.n)
    for g in other_motions(model):
        found[g.bodies] = 1.0
    return found


def moving_rest(source: BodySource, group: Group) -> Any:
    """Return the twelve scalars of the joint transform of a body of a group, at its coordinates."""
    model = source.model
    q = np.empty((1, group.motion.nq), dtype=object)
    q[0, :] = [source.state("q", "q", 1, k) for k in range(group.motion.nq)]
    rest = model.rest.map(lambda array, _: source.graph.params(array))
    X = group.motion.transform(q, rest, source.graph.params(model.offset), source.graph.params(model.axis))
    return [*X.E.ravel().tolist(), *X.r.ravel().tolist()]


# ------------------------------------------------------------------- chain


@dataclass(frozen=True, eq=False)
class BodyChain(DHChain):
    """The chain of the symbolic link; `n` is the number of all links, `whole` the chain of all."""

    graph: Any = None
    whole: Any = None

    def before(self, name: str, first: float) -> Array:
        made: Array = self.graph.params(self.whole.before(name, first))
        return made

    @property
    def is_last(self) -> Any:
        return Mask.of(self.graph, self.whole.is_last)

    def divisor(self, M: Array) -> Array:
        """Return M with 1 where all links from here to the last have no mass, which is known beforehand."""
        beyond = np.cumsum(self.whole.m[::-1])[::-1]
        if beyond.all():
            return M
        empty = Mask.of(self.graph, beyond == 0.0)[:, None]
        made: Array = namespace(M).where(empty, 1.0, M)
        return made


def body_chain(graph: BodyGraph, chain: DHChain) -> BodyChain:
    """Return the chain of the symbolic link, whose parameters are columns over all links."""
    whole = ("base", "tool", "gravity")  # the same for all links
    made: dict[str, Any] = {"n": chain.n, "graph": graph, "whole": chain}
    for f in fields(chain):
        value = getattr(chain, f.name)
        if f.name in whole:
            made[f.name] = _plain(value) if f.name == "gravity" else value.map(lambda a, _: _plain(a))
        elif f.name in ("turns", "slipped"):
            made[f.name] = Mask.of(graph, value)
        elif f.name == "links":
            made[f.name] = value.map(lambda a, _: graph.params(a))
        elif f.name != "n":
            made[f.name] = graph.params(value)
    return BodyChain(**made)


def _plain(array: np.ndarray) -> np.ndarray:
    return array.astype(object)
