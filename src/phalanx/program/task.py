# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a program shall compute: an algorithm for one robot, and the shapes of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..algorithms import FUNCTIONS, Algorithm, Function
from ..robot.assembly import Coordinates
from ..robot.frames import AnyFrame, placement_of
from ..robot.model import Model
from ..robot.robot import Robot

_MATRIX = ("v", "v")


def refusal_of_loops(algorithm: Algorithm, model: Model) -> str:
    """The reason why an algorithm has no loops over the bodies of a robot; empty if it has."""
    if model.coupling is not None and algorithm.topology == "chain":
        return "mimic joints follow other joints"
    if not algorithm.symmetric and (model.coupling is not None or model.armature[model.twists[:, 3:]].any()):
        return "its matrices are of bodies, not of joints that follow others or turn their own rotors"
    if algorithm.side_by_side:
        return "it takes all degrees of freedom at once"
    sizes = FUNCTIONS[algorithm.function].outputs.values()
    if any(size != _MATRIX and sum(not n.isdigit() for n in size) > 1 for size in sizes):
        return "it has more results than loops fill"
    is_matrix = _MATRIX in sizes
    if algorithm.derivative and (is_matrix or algorithm.assembles or algorithm.bodies == "definite"):
        return "there are no loops for the derivatives of a matrix"
    if algorithm.splits == SEGMENTS:
        return "it does not visit one body after another"
    return ""


SEGMENTS = "segments"  # the option that cuts a chain
RUN = 16  # bodies from which on ancestors are joined in runs: the lanes of the widest registers


def cuts(model: Model) -> bool:
    """Whether a model can be cut into segments: a chain with joints, none of which mimics another."""
    return model.n > 0 and model.is_chain and model.coupling is None


@dataclass(frozen=True)
class TraceTask:
    """An algorithm on a model, with the shapes of its inputs, of its outputs and of optional inputs."""

    algorithm: Algorithm
    model: Model
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]
    optional: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)  # further arguments of the algorithm
    coordinates: tuple[Coordinates, ...] = ()  # of the joints, for derivatives
    segments: int | None = None  # of a chain, in which its sweeps run
    is_part: bool = False  # of a chain whose other parts neighbours have

    @property
    def function(self) -> Function:
        return self.algorithm.served

    @property
    def primal(self) -> Function:
        """The function that the algorithm itself computes; `function` may be a derivative of it."""
        return FUNCTIONS[self.algorithm.function]

    @property
    def output(self) -> tuple[int, ...]:
        """The shape of its only output."""
        (shape,) = self.outputs.values()
        return shape

    @property
    def has_uniforms(self) -> bool:
        """Whether its program reads runtime constants, the same for all states of a call."""
        return any(isinstance(value, AnyFrame) for value in self.arguments.values())

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all inputs, in order."""
        return {**self.inputs, **self.optional}


@dataclass(frozen=True)
class Call:
    """One function of one robot by one algorithm, for a frame if the function has one."""

    robot: Robot
    algorithm: Algorithm
    frame: str | None = None
    options: tuple[tuple[str, Any], ...] = field(default=())

    @property
    def function(self) -> Function:
        return self.algorithm.served

    @property
    def segments(self) -> int | None:
        """The number of segments in which sweeps run; None if uncut, or if the algorithm cuts itself."""
        a, robot = self.algorithm, self.robot
        of_links = any("l" in size for size in self.function.outputs.values())
        if a.splits == SEGMENTS or a.derivative or not cuts(robot.model):
            return None
        if (of_links and robot.n_links < robot.model.n) or self._has_halving_of_several:
            return None
        count = dict(self.options).get(SEGMENTS, 1)
        return count if count > 1 else None

    @property
    def is_matrix(self) -> bool:
        """Whether the result is a matrix over degrees of freedom."""
        return _MATRIX in self.function.outputs.values()

    @property
    def _has_halving_of_several(self) -> bool:
        """Whether the algorithm halves a chain of links some of which have several bodies."""
        model = self.robot.model
        return self.algorithm.bodies == "definite" and len(model.links) < model.n

    @property
    def uncut(self) -> str:
        """Why the option `segments` has no effect, as a sentence; empty if it has one or is absent."""
        a, robot = self.algorithm, self.robot
        if SEGMENTS not in dict(self.options) or self.segments is not None or a.splits == SEGMENTS:
            return ""
        if a.derivative:
            return "derivatives run in no segments"
        if cuts(robot.model) and self._has_halving_of_several:
            return "one segment: some joint has several axes"
        return "one segment: " + (
            f"more of a chain of {robot.nv} degrees of freedom save no time, or cost digits"
            if cuts(robot.model)
            else "the robot is no chain that moves by itself"
        )

    def sizes(self, symbols: tuple[str, ...]) -> tuple[int, ...]:
        """Symbolic sizes of an input or output as numbers."""
        links = self.robot.n_links
        known = {"q": self.robot.nq, "v": self.robot.nv, "l": links, "10l": 10 * links}
        return tuple(known[s] if s in known else int(s) for s in symbols)

    def input_sizes(self, optional: Sequence[str] = ()) -> dict[str, tuple[int, ...]]:
        """The sizes of all inputs by name, with some of the optional ones."""
        f = self.function
        chosen = {**f.inputs, **{name: f.optional[name] for name in optional}}
        return {name: self.sizes(symbols) for name, symbols in chosen.items()}

    def shapes(self, optional: Sequence[str] = ()) -> tuple[tuple[int, ...], ...]:
        """The shapes of all inputs, then of all outputs."""
        return (*self.input_sizes(optional).values(), *self.output_sizes().values())

    def output_sizes(self) -> dict[str, tuple[int, ...]]:
        """The sizes of all outputs by name."""
        return {name: self.sizes(symbols) for name, symbols in self.function.outputs.items()}

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of the equations that the call itself fixes."""
        more: dict[str, Any] = dict(self.options)
        if self.algorithm.splits != SEGMENTS:
            more.pop(SEGMENTS, None)
        if self.algorithm.valued:
            more["value"] = True
        if self.frame is not None:
            more["frame"] = placement_of(self.robot, self.frame)
        return more

    def model(self, optional: Sequence[str] = (), *, regrouped: bool) -> Model:
        """The robot's model; in straight-line code of the dynamics alone with its inertias regrouped.

        Regrouped inertias have neither mass centres, as in DH frames, nor inverses. Along a
        thousand links regrouping moves masses down the whole chain, which costs a digit and more; loops
        gain little.
        """
        model, a = self.robot.model, self.algorithm
        as_given = a.frames == "dh" or a.bodies != "any"
        if not self.function.motion or "inertias" in optional or as_given or not regrouped:
            return model
        found: Model = self.robot._memoized("regrouped", model.regrouped)
        return found

    def task(
        self, optional: Sequence[str] = (), model: Model | None = None, frame: AnyFrame | None = None
    ) -> TraceTask:
        """The task of tracing a program with some of the optional inputs, by default on the robot's model.

        With `frame` the program reads its frame from runtime constants.
        """
        f = self.function
        arguments = self.arguments() if frame is None else self.arguments() | {"frame": frame}
        return TraceTask(
            self.algorithm,
            self.robot.model if model is None else model,
            {name: self.sizes(symbols) for name, symbols in f.inputs.items()},
            self.output_sizes(),
            {name: self.sizes(f.optional[name]) for name in optional},
            arguments,
            self.robot._coordinates if self.algorithm.derivative else (),
            self.segments,
        )
