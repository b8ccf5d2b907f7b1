# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions of one robot on the scalars of one graph, for whatever a step of a simulation computes.

Equal operations on equal operands are made once in a graph, so that the kinematics a control law asks for
are those of the dynamics.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS, Function
from ..backends.base import Call
from ..backends.native.lowering import model_of
from ..dispatch import resolve
from ..errors import PhalanxError, nearest
from ..program.ops import INPUT, NEG
from ..program.scalar import Graph, Node
from ..program.trace import BodyByBody, TooLongError, parameters
from ..robot.functions import Functions
from ..robot.joints import unit_quaternion
from ..robot.robot import Robot
from ..sweeps.verbs import ordering
from .traced import Traced, scalars_of, traced

MOST, _LEAST = 250_000, 400  # scalars of a step: a minute of compiling; and those of a body, about
_OF_MODEL = ("gravity", "armature")  # parameters that the model holds


class Equations:
    """The functions of a robot, each as more nodes of a graph; `own` replaces numbers of the robot."""

    def __init__(self, robot: Robot, graph: Graph, own: Mapping[str, np.ndarray] | None = None) -> None:
        self.robot, self.graph = robot, graph
        if robot.model.n * _LEAST > MOST:
            raise TooLongError
        self.own = {name: value for name, value in (own or {}).items() if name in (*_OF_MODEL, "inertias")}
        self._order = BodyByBody(graph, robot.model.parents, robot.model.pattern, most=MOST)
        self._models: dict[int, Any] = {}

    def __call__(self, function: str, *inputs: np.ndarray, frame: str | None = None, **more: Any) -> Any:
        """The results of a function for object arrays of scalars: an array, or a tuple of several."""
        f = FUNCTIONS[function]
        choices = {name: more.pop(name) for name in f.choices if name in more}
        return self.run(resolve(self.robot, function, "auto", frame, choices), inputs, more)

    def run(self, call: Call, inputs: Sequence[np.ndarray], optional: Mapping[str, np.ndarray]) -> Any:
        """The results of a call, by the text of its algorithm."""
        optional = dict(optional)
        if "inertias" in self.own and "inertias" in call.function.optional:
            optional.setdefault("inertias", self.own["inertias"])
        model = self.model(call, tuple(optional))
        known = call.arguments()
        if "frame" in known:
            known["frame"] = known["frame"].map(lambda array: array.astype(object))
        text = call.algorithm
        with ordering(self._order):
            model, more = text.in_frames(model, optional | known)
            made = text.with_rotors(model, list(inputs), more)
        shapes = call.output_sizes().values()
        each = (made,) if len(shapes) == 1 else made
        arrays = [
            np.broadcast_to(np.asarray(a, dtype=object), shape) for a, shape in zip(each, shapes, strict=True)
        ]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def model(self, call: Call, optional: tuple[str, ...] = ()) -> Any:
        """The robot's model as the equations of a call see it, in numbers and scalars."""
        plain = model_of(call, optional, regrouped=True)
        if id(plain) not in self._models:
            made = parameters(self.graph, plain, "full")
            own: dict[str, Any] = {name: self.own[name] for name in _OF_MODEL if name in self.own}
            made = replace(made, **own) if own else made
            self._models[id(plain)] = plain, made
        return self._models[id(plain)][1]

    @property
    def ordered(self) -> Any:
        """The order in which sweeps over the bodies run."""
        return ordering(self._order)


class TracedRobot:
    """What a law is given for `robot`: its facts, and its functions on traced values."""

    _equations: Equations
    _told: set[int]  # scalars that functions of the robot have given

    def __init__(self, equations: Equations) -> None:
        object.__setattr__(self, "_equations", equations)
        object.__setattr__(self, "_told", set())

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"robots are immutable; {name!r} cannot be set in a law")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        robot = self._equations.robot
        name = _ALIASES.get(name, name)
        if name in FUNCTIONS:
            return lambda *args, **more: self._call(FUNCTIONS[name], args, more)
        own = self._equations.own.get("inertias" if name == "inertial_parameters" else name)
        if own is not None:
            return Traced(own)
        if not hasattr(robot, name):
            known = nearest(name, [*FUNCTIONS, *(n for n in dir(robot) if not n.startswith("_"))])
            raise PhalanxError(f'a law asks robot "{robot.name}" for {name!r};{known}')
        return getattr(robot, name)

    def integrate(self, q: Any, dq: Any) -> Traced:
        """Coordinates (nq,) reached from `q` with the constant rates `dq` (nv,) for unit time."""
        return self._joint_by_joint("integrate", q=(q, "q"), dq=(dq, "v"), to="q")

    def difference(self, q0: Any, q1: Any) -> Traced:
        """The rates dq (nv,) with integrate(q0, dq) equal to q1."""
        return self._joint_by_joint("difference", q0=(q0, "q"), q1=(q1, "q"), to="v")

    def normalize(self, q: Any) -> Traced:
        """Coordinates (nq,) as `q`, with every quaternion at unit length."""
        robot = self._equations.robot
        made = scalars_of(q, (robot.nq,), "normalize: q").copy()
        for c in robot._coordinates:
            if (at := c.kind.quaternion) is not None:
                place = slice(c.q.start + at.start, c.q.start + at.stop)
                made[place] = unit_quaternion(made[None, place])[0]
        return Traced(made)

    def _joint_by_joint(self, name: str, *, to: str, **given: tuple[Any, str]) -> Traced:
        """What each joint type makes of its part of arrays, which have coordinates or rates."""
        robot = self._equations.robot
        sizes = {"q": robot.nq, "v": robot.nv}
        arrays = [
            (scalars_of(value, (sizes[kind],), f"{name}: {label}"), kind)
            for label, (value, kind) in given.items()
        ]
        made = np.empty(sizes[to], dtype=object)
        for c in robot._coordinates:
            parts = (array[None, getattr(c, kind)] for array, kind in arrays)
            made[getattr(c, to)] = getattr(c.kind, name)(*parts)[0]
        return Traced(made)

    def _call(self, f: Function, args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        robot = self._equations.robot
        try:
            given = _signature(f).bind(*args, **more)
        except TypeError as error:
            raise PhalanxError(f"{f.name}, asked for in a law: {error}.") from None
        values = {name: value for name, value in given.arguments.items() if value is not None}
        for name in ("out", "backend", "threads", "algorithm", "value"):
            if name in values:
                raise PhalanxError(f"{f.name}, asked for in a law, takes no {name}; leave it out.")
        frame = values.pop("frame", None)
        choices = {name: values.pop(name) for name in f.choices if name in values}
        call = resolve(robot, f.name, "auto", frame, choices)
        if isinstance(values.get("external"), Mapping):
            values["external"] = self._wrenches(values["external"])
        sizes = {**f.inputs, **f.optional}
        arrays = {
            name: scalars_of(value, call.sizes(sizes[name]), f"{f.name}: {name}")
            for name, value in values.items()
        }
        made = self._equations.run(
            call, [arrays[name] for name in f.inputs], {n: a for n, a in arrays.items() if n in f.optional}
        )
        for array in made if isinstance(made, tuple) else (made,):
            self._told.update(n for x in array.ravel().tolist() if type(x) is Node for n in _numbers(x))
        if isinstance(made, tuple):
            return f.packed([Traced(a) for a in made])
        return Traced(made)

    def _wrenches(self, given: Mapping[str, Any]) -> Any:
        """Wrenches on links or frames by name as those on all links."""
        return self._equations.robot._wrenches(given, lambda value, where: scalars_of(value, (6,), where))


def _numbers(x: Node) -> tuple[int, ...]:
    """The number of a result, and of what it is the negative of: sums take that, with its sign turned."""
    return (x.number, x.args[0].number) if x.op is NEG and x.args[0].op is not INPUT else (x.number,)


_ALIASES = {"rnea": "inverse_dynamics", "crba": "mass_matrix", "aba": "forward_dynamics"}


def _signature(f: Function) -> inspect.Signature:
    """The parameters of the method of `Robot`, without `self`."""
    known = inspect.signature(getattr(Functions, f.name))
    return known.replace(parameters=list(known.parameters.values())[1:])


def symbols(graph: Graph, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Fresh inputs of a graph."""
    return traced(graph, name, shape).scalars
