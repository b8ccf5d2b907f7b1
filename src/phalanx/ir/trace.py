# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From an algorithm and a robot to a scalar program: the equations run on recording scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms import FUNCTIONS, Algorithm
from ..model import Model
from ..orders.sequential import Sequential
from ..spatial import Inertia
from ..sweeps import ordering
from .quantities import announcing
from .scalar import GeneralGraph, Graph, Node, live


@dataclass(frozen=True)
class Program:
    """A scalar program: inputs with their shapes, outputs as nodes or constants."""

    inputs: Mapping[str, tuple[int, ...]]
    output: tuple[int, ...]
    results: list[Any]  # row-major

    @cached_property
    def nodes(self) -> list[Node]:
        """The live nodes, operands first."""
        return live(self.results)


class BodyByBody(Sequential):
    """One body after another, each noted in the graph."""

    def __init__(self, graph: Graph, parents: np.ndarray, pattern: np.ndarray) -> None:
        super().__init__(parents, pattern)
        self.graph = graph

    @cached_property
    def outward(self) -> list[np.ndarray]:
        return [np.array([i]) for i in range(self.n)]

    @cached_property
    def inward(self) -> list[list[np.ndarray]]:
        return [[np.array([i])] for i in range(self.n - 1, -1, -1)]

    @cached_property
    def rows(self) -> list[np.ndarray]:
        return [np.array([i]) for i in range(self.n)]

    def abreast(self, bodies: np.ndarray) -> list[np.ndarray]:
        return [bodies[i : i + 1] for i in range(len(bodies))]

    def visit(self, bodies: np.ndarray) -> None:
        self.graph.link = int(bodies[0])

    def leave(self) -> None:
        self.graph.link = -1


def trace(
    algorithm: Algorithm,
    model: Model,
    inputs: Mapping[str, tuple[int, ...]],
    optional: Mapping[str, tuple[int, ...]],
    output: tuple[int, ...],
    arguments: Mapping[str, Any],
    customise: str = "full",
) -> Program:
    """The program of an algorithm for one robot.

    `customise` tells what the robot contributes: "full" its numbers, "semi" only which of them are
    zero by structure (joint axes, products of inertia of symmetric links), "none" nothing: every
    parameter is a symbol, nothing is folded or shared.
    """
    graph = GeneralGraph() if customise == "none" else Graph()
    f = FUNCTIONS[algorithm.function]
    owners = {"q": _bodies_of_coordinates(model), "v": _bodies_of_rates(model), "l": model.links.tolist()}
    symbols = {
        name: _symbols(graph, name, shape, owners.get({**f.inputs, **f.optional}[name][0]))
        for name, shape in {**inputs, **optional}.items()
    }
    constants = {
        k: v.map(lambda array, _: array.astype(object)) if hasattr(v, "map") else v
        for k, v in arguments.items()
    }
    order = BodyByBody(graph, model.parents, model.pattern)
    text = replace(algorithm, run=announcing(algorithm.run, graph, FUNCTIONS[algorithm.function].symbol))
    with ordering(order):
        result = text(
            parameters(graph, model, customise),
            *(symbols[name] for name in inputs),
            **{name: symbols[name] for name in optional},
            **constants,
        )
    results = np.broadcast_to(np.asarray(result, dtype=object), output).ravel().tolist()
    return Program({**inputs, **optional}, output, results)


def parameters(graph: Graph, model: Model, customise: str) -> Model:
    """The model as the equations shall see it: numbers, or symbols in their place."""
    if customise == "full":
        return model.cast(lambda array: array.astype(object))
    count = iter(range(1 << 62))

    def symbol(array: np.ndarray) -> np.ndarray:
        flat = np.empty(array.size, dtype=object)
        flat[:] = [graph.leaf("parameter", next(count)) for _ in range(array.size)]
        return flat.reshape(array.shape)

    general = model.cast(symbol)
    if customise == "none":
        return general
    return replace(general, axis=model.axis.astype(object), inertia=_structured(model, general))


def _structured(model: Model, general: Model) -> Inertia:
    """Symbolic inertias whose products are zero if they are so on every link."""
    moment = general.inertia.moment
    if not model.inertia.moment[:, [1, 2, 4]].any():
        moment = moment.copy()
        moment[:, [1, 2, 4]] = 0.0
    return replace(general.inertia, moment=moment)


def _symbols(graph: Graph, name: str, shape: tuple[int, ...], owners: Sequence[int] | None) -> np.ndarray:
    """The scalars of an input; those along its first axis belong to these bodies."""
    size = int(np.prod(shape))
    flat = np.empty(size, dtype=object)
    for k in range(size):
        graph.link = -1 if owners is None else int(owners[k * shape[0] // size])
        flat[k] = graph.input(name, k)
    graph.link = -1
    return flat.reshape(shape)


def _bodies_of_coordinates(model: Model) -> list[int]:
    """The body that each coordinate moves; of several mimic joints the first."""
    count = model.nq if model.coupling is None else len(model.coupling.offset)
    bodies = np.full(count, -1)
    for group in model.groups:
        bodies[group.coordinates] = group.bodies[:, None]
    if model.coupling is not None:
        bodies = bodies[np.argmax(model.coupling.Q != 0.0, axis=0)]
    return [int(b) for b in bodies]


def _bodies_of_rates(model: Model) -> list[int]:
    """The body that each degree of freedom moves; of several mimic joints the first."""
    if model.coupling is None:
        return list(range(model.nv))
    return [int(b) for b in np.argmax(model.coupling.A != 0.0, axis=0)]
