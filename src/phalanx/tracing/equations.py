# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions of one robot on the scalars of one graph, for steps of simulations and users' functions.

Equal operations on equal operands are made once in a graph, so that the kinematics of a control law
are those of the dynamics.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..algorithms import ALIASES, FUNCTIONS, Function
from ..dispatch import resolve, with_value
from ..errors import PhalanxError, nearest
from ..products import derivative_of
from ..program.graph import Graph, substituted, symbols
from ..program.ir import Scalar
from ..program.ops import INPUT, NEG
from ..program.task import Call
from ..program.trace import BodyByBody, TooLongError, parameters
from ..robot.configurations import joint_by_joint
from ..robot.functions import Functions
from ..robot.robot import Robot
from ..sweeps.verbs import ordering
from .arrays import Traced, scalars_of
from .distances import distances, pairs_of
from .linear_algebra import matrix_key
from .result_structure import RESULT, Structure
from .traces import Trace

MOST, _LEAST = 250_000, 400  # scalars of a step: a minute of compiling; and those of a body, about
_OF_MODEL = ("gravity", "armature")  # parameters that the model holds
OF_ROBOT = (*_OF_MODEL, "inertias")  # arguments that replace numbers of the robot


_DEFINITE = ("mass_matrix", "mass_matrix_inverse", "operational_space_inertia")


class Equations:
    """The functions of a robot, each as more nodes of a graph; `own` replaces numbers of the robot."""

    def __init__(self, robot: Robot, graph: Graph, own: Mapping[str, np.ndarray] | None = None) -> None:
        self.robot, self.graph = robot, graph
        if robot.model.n * _LEAST > MOST:
            raise TooLongError
        self.own = {name: value for name, value in (own or {}).items() if name in OF_ROBOT}
        self._order = BodyByBody(graph, robot.model.parents, robot.model.pattern, most=MOST)
        self._models: dict[int, Any] = {}

    def __call__(self, function: str, *inputs: np.ndarray, frame: str | None = None, **more: Any) -> Any:
        """The results of a function for object arrays of scalars: an array, or a tuple of several."""
        f = FUNCTIONS[function]
        choices = {name: more.pop(name) for name in f.choices if name in more}
        return self.run(resolve(self.robot, function, "auto", frame, choices), inputs, more)

    def run(self, call: Call, inputs: Sequence[np.ndarray], optional: Mapping[str, np.ndarray]) -> Any:
        """The results of a call, traced by its algorithm."""
        optional = dict(optional)
        if "inertias" in self.own and "inertias" in call.function.optional:
            optional.setdefault("inertias", self.own["inertias"])
        model = self.model(call, tuple(optional))
        known = call.arguments()
        if "frame" in known:
            known["frame"] = known["frame"].map(lambda array: array.astype(object))
        algorithm = call.algorithm
        with ordering(self._order):
            model, more = algorithm.in_frames(model, optional | known)
            made = algorithm.with_rotors(model, list(inputs), more)
        shapes = call.output_sizes().values()
        each = (made,) if len(shapes) == 1 else made
        arrays = [
            np.broadcast_to(np.asarray(a, dtype=object), shape) for a, shape in zip(each, shapes, strict=True)
        ]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)

    def model(self, call: Call, optional: tuple[str, ...] = ()) -> Any:
        """The robot's model as the equations of a call see it, in numbers and scalars."""
        plain = call.model(optional, regrouped=True)
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
    """What a traced function is given for `robot`: its facts, and its functions on traced values."""

    _equations: Equations
    _results: set[int]  # numbers of the nodes that functions of the robot returned

    def __init__(self, equations: Equations) -> None:
        object.__setattr__(self, "_equations", equations)
        object.__setattr__(self, "_results", set())

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"robots are immutable; {name!r} cannot be set in a traced function")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        robot = self._equations.robot
        name = ALIASES.get(name, name)
        if name in FUNCTIONS:
            return lambda *args, **more: self._call(FUNCTIONS[name], args, more)
        own = self._equations.own.get("inertias" if name == "inertial_parameters" else name)
        if own is not None:
            return Traced(own)
        if not hasattr(robot, name):
            known = nearest(name, [*FUNCTIONS, *(n for n in dir(robot) if not n.startswith("_"))])
            raise PhalanxError(f'a traced function asks robot "{robot.name}" for {name!r};{known}')
        return getattr(robot, name)

    def integrate(self, q: Any, dq: Any) -> Traced:
        """Coordinates (nq,) reached from `q` with the constant rates `dq` (nv,) for unit time."""
        return self._joint_by_joint("integrate", q=(q, "q"), dq=(dq, "v"), to="q")

    def difference(self, q0: Any, q1: Any) -> Traced:
        """The rates dq (nv,) with integrate(q0, dq) equal to q1."""
        return self._joint_by_joint("difference", q0=(q0, "q"), q1=(q1, "q"), to="v")

    def normalize(self, q: Any) -> Traced:
        """Coordinates (nq,) as `q`, with every quaternion at unit length."""
        return self._joint_by_joint("normalize", q=(q, "q"), to="q")

    def distances(self, q: Any, pairs: Any = None) -> Any:
        """Signed distances (k,) of pairs of shapes, as `Robot.distances` takes them."""
        return distances(self, q, pairs_of(self._equations.robot, pairs))

    def _joint_by_joint(self, name: str, *, to: str, **given: tuple[Any, str]) -> Traced:
        """What a method of each joint type returns, from arrays of coordinates or rates."""
        robot = self._equations.robot
        sizes = {"q": robot.nq, "v": robot.nv}
        arrays = [
            (scalars_of(value, (sizes[kind],), f"{name}: {label}"), kind)
            for label, (value, kind) in given.items()
        ]
        made = np.empty(sizes[to], dtype=object)
        return Traced(joint_by_joint(robot._coordinates, name, made, to, *arrays))

    def _call(self, f: Function, args: tuple[Any, ...], more: dict[str, Any]) -> Any:
        robot = self._equations.robot
        try:
            given = _signature(f).bind(*args, **more)
        except TypeError as error:
            raise PhalanxError(f"{f.name}, asked for in a traced function: {error}.") from None
        values = {name: value for name, value in given.arguments.items() if value is not None}
        value = bool(values.pop("value", False))
        for name in ("out", "backend", "threads", "algorithm"):
            if name in values:
                raise PhalanxError(
                    f"{f.name}, asked for in a traced function, takes no {name}; leave it out."
                )
        frame = values.pop("frame", None)
        if isinstance(frame, (list, tuple)):
            if not frame:
                raise PhalanxError(f"{f.name}: frame is empty, expected a name, or several.")
            made = [self._call(f, (), {**values, "frame": name}) for name in frame]
            return Traced(np.stack([each.scalars for each in made]))
        choices = {name: values.pop(name) for name in f.choices if name in values}
        call = with_value(resolve(robot, f.name, "auto", frame, choices), value)
        f = call.function
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
        if f.name in _DEFINITE:
            self._equations.graph.definite.add(matrix_key(made))
        for array in made if isinstance(made, tuple) else (made,):
            self._results.update(
                n for x in array.ravel().tolist() if isinstance(x, Scalar) for n in _numbers(x)
            )
        if isinstance(made, tuple):
            return f.packed([Traced(a) for a in made])
        return Traced(made)

    def jvp(self, function: str, primals: Any, tangents: Any, **how: Any) -> Traced:
        """The derivative of a function's result along tangents of its inputs, as `Robot.jvp`."""
        trace, into = self._trace("jvp", function, primals, how)
        along = trace.jvp(tuple(trace.symbols))
        values = self._group(function, "tangents", tangents, trace)
        return self._substituted(along, into, list(values.values()))

    def vjp(self, function: str, primals: Any, cotangent: Any, **how: Any) -> tuple[Traced, ...]:
        """The derivatives of a function's result times a cotangent with respect to its inputs."""
        trace, into = self._trace("vjp", function, primals, how)
        weight = scalars_of(cotangent, trace.outputs[RESULT], f"{function}: cotangent")
        made: tuple[Traced, ...] = self._substituted(
            trace.vjp((RESULT,), tuple(trace.symbols)), into, [weight]
        )
        return made

    def hvp(
        self, function: str, primals: Any, cotangent: Any, tangents: Any, **how: Any
    ) -> tuple[Traced, ...]:
        """The derivative of the vjp along tangents of the inputs."""
        trace, into = self._trace("hvp", function, primals, how)
        weight = scalars_of(cotangent, trace.outputs[RESULT], f"{function}: cotangent")
        values = self._group(function, "tangents", tangents, trace)
        made: tuple[Traced, ...] = self._substituted(
            trace.hvp((RESULT,), tuple(trace.symbols)), into, [weight, *values.values()]
        )
        return made

    def _trace(
        self, mode: str, function: str, primals: Any, how: dict[str, Any]
    ) -> tuple[Trace, list[np.ndarray]]:
        """A function on fresh symbols, and what its inputs stand for.

        Fresh ones, since what is passed may be results of each other, which derivatives would follow.
        """
        equations, frame, reference = self._equations, how.pop("frame", None), how.pop("reference", None)
        call = derivative_of(equations.robot, mode, function, "auto", frame, reference)
        f = FUNCTIONS[call.algorithm.function]
        plain = replace(call, algorithm=replace(call.algorithm, derivative=""))
        optional = {name: value for name, value in how.items() if value is not None}
        for name in optional:
            if name not in f.optional:
                raise PhalanxError(f"{function} takes no {name} in a traced function; leave it out.")
        if isinstance(optional.get("external"), Mapping):
            optional["external"] = self._wrenches(optional["external"])
        known = {
            name: scalars_of(value, plain.sizes(f.optional[name]), f"{function}: {name}")
            for name, value in optional.items()
        }
        graph = equations.graph
        fresh = {name: symbols(graph, f"primal {name}", plain.sizes(size)) for name, size in f.inputs.items()}
        made = np.asarray(equations.run(plain, list(fresh.values()), known), dtype=object)
        trace = Trace(equations.robot, function, fresh, frozenset({"q"}), {RESULT: made}, Structure())
        return trace, list(self._group(function, "primals", primals, trace, primal=True).values())

    def _group(
        self, function: str, label: str, group: Any, trace: Trace, *, primal: bool = False
    ) -> dict[str, np.ndarray]:
        """Primals or tangents of a function by the names of its inputs."""
        if not isinstance(group, (tuple, list)) or len(group) != len(trace.symbols):
            got = f"{len(group)} arrays" if isinstance(group, (tuple, list)) else type(group).__name__
            raise PhalanxError(
                f"{function}: {label} are {got}, expected a tuple of {len(trace.symbols)}: "
                f"{', '.join(trace.symbols)}."
            )
        shapes = {name: a.shape if primal else trace.tangent_shape(name) for name, a in trace.symbols.items()}
        return {
            name: scalars_of(value, shapes[name], f"{function}: {label}, {name}")
            for name, value in zip(trace.symbols, group, strict=True)
        }

    def _substituted(self, derivative: Trace, primals: list[np.ndarray], more: list[np.ndarray]) -> Any:
        """The results of a derivative at what its symbols stand for."""
        values = zip(derivative.symbols.values(), [*primals, *more], strict=True)
        known = {
            x.number: y
            for old, new in values
            for x, y in zip(old.ravel().tolist(), new.ravel().tolist(), strict=True)
        }
        flat = [x for array in derivative.results.values() for x in array.ravel().tolist()]
        made = iter(substituted(flat, known))
        arrays = []
        for array in derivative.results.values():
            new = np.empty(array.size, dtype=object)
            new[:] = [next(made) for _ in range(array.size)]
            arrays.append(Traced(new.reshape(array.shape)))
        return derivative.structure.packed(arrays)

    def _wrenches(self, given: Mapping[str, Any]) -> Any:
        """Wrenches on links or frames by name as those on all links."""
        return self._equations.robot._wrenches(given, lambda value, where: scalars_of(value, (6,), where))


def traced_call_of(call: Call, optional: Sequence[str] = ()) -> tuple[Trace, Equations]:
    """A function of a robot, or a derivative of one, on symbols of its inputs, and what adds to its graph."""
    mode, graph = call.algorithm.derivative, Graph()
    plain = replace(call, algorithm=replace(call.algorithm, derivative="")) if mode else call
    equations = Equations(call.robot, graph)
    sizes = {**plain.function.inputs, **{name: call.function.optional[name] for name in optional}}
    known = {name: symbols(graph, name, plain.sizes(size)) for name, size in sizes.items()}
    given = {name: known.pop(name) for name in plain.function.inputs}
    made = equations.run(plain, list(given.values()), known)
    arrays = made if isinstance(made, tuple) else (made,)
    results = {
        name: np.asarray(a, dtype=object) for name, a in zip(plain.output_sizes(), arrays, strict=True)
    }
    trace = Trace(call.robot, call.function.name, given, frozenset({"q"}), results, Structure())
    if mode:
        groups = [tuple(given)] if mode == "jvp" else [tuple(results), tuple(given)]
        trace = getattr(trace, mode)(*groups)
    return replace(trace, symbols={**trace.symbols, **known}), equations


def _numbers(x: Scalar) -> tuple[int, ...]:
    """The node numbers of a result: its own and, of a negative, its operand's, which sums subtract."""
    return (x.number, x.args[0].number) if x.op is NEG and x.args[0].op is not INPUT else (x.number,)


def _signature(f: Function) -> inspect.Signature:
    """The parameters of the method of `Robot`, without `self`."""
    known = inspect.signature(getattr(Functions, f.name))
    return known.replace(parameters=list(known.parameters.values())[1:])
