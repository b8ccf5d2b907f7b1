# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a program shall compute: an algorithm for one robot, and the sizes of what goes in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..algorithms import FUNCTIONS, Algorithm, Function
from ..robot.assembly import Coordinates
from ..robot.frames import AnyFrame
from ..robot.model import Model

UNIFORM = "told"  # the pseudo input that holds what is told with a call, for all states alike


_MATRIX = ("v", "v")


def refusal_of_loops(algorithm: Algorithm, model: Model) -> str:
    """Why an algorithm has no loops over the bodies of a robot, empty if it has."""
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
    if algorithm.splits == "segments":
        return "it does not visit one body after another"
    return ""


RUN = 16  # bodies from which ancestors are taken in runs: the lanes of the widest registers


def cuts(model: Model) -> bool:
    """Whether a model can be cut into segments: a chain that moves, of which no joint follows another."""
    return model.n > 0 and model.is_chain and model.coupling is None


@dataclass(frozen=True)
class TraceTask:
    """An algorithm on a model, with the shapes of its inputs, of its outputs and of optional inputs."""

    algorithm: Algorithm
    model: Model
    inputs: Mapping[str, tuple[int, ...]]
    outputs: Mapping[str, tuple[int, ...]]
    optional: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)  # what else its text is told
    coordinates: tuple[Coordinates, ...] = ()  # of the joints, for derivatives

    @property
    def function(self) -> Function:
        return self.algorithm.served

    @property
    def text(self) -> Function:
        """What the text of its algorithm computes, of which the function may be a derivative."""
        return FUNCTIONS[self.algorithm.function]

    @property
    def output(self) -> tuple[int, ...]:
        """The shape of its only output."""
        (shape,) = self.outputs.values()
        return shape

    @property
    def has_uniforms(self) -> bool:
        """Whether its program reads numbers that are told with a call, for all states alike."""
        return any(isinstance(value, AnyFrame) for value in self.arguments.values())

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of all inputs, in order."""
        return {**self.inputs, **self.optional}
