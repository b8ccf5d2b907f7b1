# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From an algorithm and a robot to a scalar program: the equations run on recording scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..robot.configurations import tangent_map
from ..robot.dh.chain import DHChain
from ..robot.frames import AnyFrame, Placement, uniform_count
from ..robot.model import Model
from ..spatial import Array, Inertia, transpose
from ..sweeps.orders.sequential import Sequential
from ..sweeps.verbs import ordering
from .bookkeeping import Bookkeeping, wrappers
from .builder import straight
from .graph import GeneralGraph, Graph
from .ir import UNIFORM, Program
from .passes.differentiate import adjoints, tangents
from .quantities import announcing
from .task import TraceTask

_BOOK = Bookkeeping()
_ENDLESS = 1 << 62  # scalars


class TooLongError(Exception):
    """A program under construction has more scalars than are allowed."""


class BodyByBody(Sequential):
    """A sequential order of single bodies, each noted in the graph for attribution."""

    def __init__(
        self,
        graph: Graph,
        parents: np.ndarray,
        pattern: np.ndarray,
        bodies: np.ndarray | None = None,
        most: int = _ENDLESS,
    ) -> None:
        super().__init__(parents, pattern)
        self.graph, self.most = graph, most
        self.bodies = np.arange(self.n) if bodies is None else bodies  # of each index

    def among(self, parents: np.ndarray, bodies: np.ndarray) -> BodyByBody:
        return BodyByBody(self.graph, parents, parents, self.bodies[bodies], self.most)

    @cached_property
    def outward(self) -> list[np.ndarray]:
        return [np.array([i]) for i in range(self.n)]

    @cached_property
    def inward(self) -> list[list[np.ndarray]]:
        return [[np.array([i])] for i in range(self.n - 1, -1, -1)]

    @cached_property
    def rows(self) -> list[np.ndarray]:
        return [np.array([i]) for i in range(self.n)]

    def invert(self, factor: Array, ones: Array) -> Array:
        """Compute each entry once, from those of ancestors (Takahashi, Fagan, Chin 1973): L M^-1 = D^-1 L^-T.

        Beyond the diagonal the right side has no entries in column k, and those before are known by symmetry.
        """
        n = len(self.pattern)
        inverse = factor * 0.0
        for k in range(n):
            self.visit(np.array([k]))
            for i in range(k, n):
                total = factor[..., i, i] if i == k else 0.0
                for a in self._ancestors[i].tolist():
                    total = total - factor[..., i, a] * inverse[..., a, k]
                inverse[..., i, k] = inverse[..., k, i] = total
        self.leave()
        return inverse

    def solve(self, factor: Array, inverse: Array, columns: Array) -> Array:
        """Solve by the factor where branches make it sparser than the inverse, which is full."""
        if np.array_equal(self.pattern, np.arange(-1, len(self.pattern) - 1)):
            return inverse @ columns
        return transpose(self.substitute(factor[..., None, :, :], transpose(columns)))

    def abreast(self, bodies: np.ndarray) -> list[np.ndarray]:
        return [bodies[i : i + 1] for i in range(len(bodies))]

    def visit(self, bodies: np.ndarray) -> None:
        # Checked here, not where scalars are made: NumPy would go on with the other scalars of an array.
        self.require_few()
        self.graph.body_index = int(self.bodies[bodies[0]])

    def leave(self) -> None:
        self.graph.body_index = -1

    def require_few(self) -> None:
        """Raise if there are more scalars than allowed."""
        if len(self.graph.nodes) > self.most:
            raise TooLongError


def trace(
    task: TraceTask,
    customise: str = "full",
    book: Bookkeeping = _BOOK,
    *,
    quantities: bool = True,
    most: int = _ENDLESS,
) -> Program:
    """The straight-line code of an algorithm for one robot; with `quantities` each value knows its own.

    `customise` states what the robot contributes: "full" its numbers, "semi" only which of them are
    zero by structure (joint axes, products of inertia of symmetric links), "none" nothing: every
    parameter is a symbol, nothing is folded or shared. `book` holds the assumptions of a count.
    With more scalars than `most` it raises `TooLongError`.
    """
    graph = GeneralGraph(shared=book.shared) if customise == "none" else Graph()
    f, model, outputs = task.function, task.model, task.outputs
    if any(0 in shape for shape in outputs.values()):  # of a robot without joints
        return straight(task.shapes, outputs, [])
    owners = {"q": _bodies_of_coordinates(model), "v": _bodies_of_rates(model), "l": model.links.tolist()}
    symbols = {
        name: _symbols(graph, name, shape, owners.get("".join({**f.inputs, **f.optional}[name][:1])))
        for name, shape in task.shapes.items()
    }
    if customise != "full" and "external" in symbols:
        symbols["external"][~_tips(model)] = 0.0
    constants = dict(task.arguments)
    if "frame" in constants:
        constants["frame"] = _frame(graph, constants["frame"])
    order = BodyByBody(graph, model.parents, model.pattern, most=most)
    algorithm = task.algorithm
    if quantities:
        around = wrappers(graph, book, customise, model)
        algorithm = replace(algorithm, run=announcing(algorithm.run, graph, f.symbol, around))
    graph.wanted = book.results
    graph.quantity = "external"  # of what is computed before the algorithm
    known = parameters(graph, model, customise, book)
    try:
        with ordering(order):
            optional = {name: symbols[name] for name in task.optional}
            known, more = algorithm.in_frames(known, optional | constants)
            graph.quantity = "tau"  # of rotors, outside of the algorithm
            base = task.primal.inputs
            result = algorithm.with_rotors(known, [symbols[name] for name in base], more)
    except (ZeroDivisionError, OverflowError):  # Python's numbers raise where NumPy's become infinite
        raise PhalanxError(
            f'{f.name}: algorithm "{task.algorithm.name}" divides by zero, because numbers of the '
            'robot differ too much in size; check masses, mass centres and lengths, or use backend="numpy".'
        ) from None
    if book.results:
        graph.kept[f.symbol] = np.asarray(result, dtype=object)
        if missing := sorted(book.results - set(graph.kept)):
            raise PhalanxError(
                f"cost: this convention ends a count with {', '.join(missing)}, which algorithm "
                f'"{task.algorithm.name}" does not compute; use convention="program".'
            )
        result = np.concatenate([np.ravel(graph.kept[name]) for name in sorted(book.results)])
        outputs = {f.symbol: result.shape}
    each = (result,) if len(task.primal.outputs) == 1 else result
    if task.algorithm.derivative:
        each = derivatives(task, symbols, np.asarray(result, dtype=object))
    order.require_few()
    results = [
        node
        for made, shape in zip(each, outputs.values(), strict=True)
        for node in np.broadcast_to(np.asarray(made, dtype=object), shape).ravel().tolist()
    ]
    uniforms = uniform_count(model) if task.has_uniforms else 0
    made_of = straight(task.shapes, outputs, results, uniforms)
    return replace(made_of, bodies=model.n, meanings=graph.meanings)


def derivatives(task: TraceTask, symbols: Mapping[str, np.ndarray], result: np.ndarray) -> list[Any]:
    """The results of a task for a derivative, from the scalars that its algorithm computes."""
    f, mode = task.primal, task.algorithm.derivative
    flat = result.ravel().tolist()
    made = [result]
    if mode != "jvp":
        slopes = adjoints(flat, symbols["cotangent"].ravel().tolist())
        made = []
        for name in f.inputs:
            slope = _objects([slopes.get(x.number, 0.0) for x in symbols[name].tolist()])
            if name == "q":
                slope = tangent_map(task.coordinates, "along_rates", symbols["q"], slope)
            made.append(slope)
    if mode == "vjp":
        return made
    seeds: dict[int, Any] = {}
    for name in f.inputs:
        rate = symbols[f"d{name}"]
        if name == "q":
            rate = tangent_map(task.coordinates, "coordinate_rates", symbols["q"], rate)
        seeds |= {x.number: r for x, r in zip(symbols[name].tolist(), rate.tolist(), strict=True)}
    return [_objects(tangents(each.ravel().tolist(), seeds)).reshape(each.shape) for each in made]


def _objects(values: list[Any]) -> np.ndarray:
    """An object array with one scalar in each entry."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def parameters(graph: Graph, model: Model, customise: str, book: Bookkeeping = _BOOK) -> Model:
    """The model that the equations see: numbers, or symbols instead of them."""
    if customise == "full":
        return model.cast(lambda array: array.astype(object))
    count = iter(range(1 << 62))

    def symbol(array: np.ndarray) -> np.ndarray:
        flat = np.empty(array.size, dtype=object)
        flat[:] = [graph.input("parameter", next(count)) for _ in range(array.size)]
        graph.meanings |= dict(zip(flat.tolist(), array.ravel().tolist(), strict=True))
        return flat.reshape(array.shape)

    general = model.cast(symbol)
    without_rotors = "armature" in book.absent or (customise == "semi" and not model.armature.any())
    armature = _nothing(general.armature) if without_rotors else general.armature

    def chain() -> DHChain:
        return replace(_chain(model.dh, model.dh.cast(symbol), customise, book), armature=armature)

    general = replace(general, armature=armature, dh_of=chain, shift_of=lambda: None)
    if customise == "none":
        return general
    moment = _structured(model.inertia.moment, general.inertia.moment)
    inertia: Inertia = replace(general.inertia, moment=moment)
    return replace(general, axis=model.axis.astype(object), inertia=inertia)


def _chain(numbers: DHChain, general: DHChain, customise: str, book: Bookkeeping) -> DHChain:
    """A symbolic chain; what a convention leaves out is zero, and so is what customisation knows."""
    zero: dict[str, Any] = {
        name: _nothing(getattr(general, name)) for name in book.absent & {"theta", "w", "s"}
    }
    links = general.links
    if book.turned_tool:
        rotation = links.E.copy()
        if customise == "semi":
            rotation[..., 0, 2] = 0.0  # as in every rotation between DH frames
        links = replace(links, E=rotation, r=_nothing(links.r))
    inertias = _structured(numbers.J, general.J) if customise == "semi" else general.J
    return replace(general, J=inertias, links=links, **zero)


def _structured(numbers: np.ndarray, symbols: np.ndarray) -> np.ndarray:
    """Packed symbolic inertias whose products are zero if they are so on every link."""
    if numbers[:, [1, 2, 4]].any():
        return symbols
    diagonal = symbols.copy()
    diagonal[:, [1, 2, 4]] = 0.0
    return diagonal


def _nothing(like: np.ndarray) -> np.ndarray:
    return np.zeros(like.shape).astype(object)


def _frame(graph: Graph, frame: Placement | AnyFrame) -> Placement:
    """The frame as recording scalars; a kernel reads its own from runtime constants."""
    if isinstance(frame, AnyFrame):
        return frame.placement(lambda k: graph.input(UNIFORM, k))
    return frame.map(lambda array: array.astype(object))


def _tips(model: Model) -> np.ndarray:
    """For each link, whether it is a tip: no other link is attached to it."""
    return ~np.isin(model.links, model.parents)


def _symbols(graph: Graph, name: str, shape: tuple[int, ...], owners: Sequence[int] | None) -> np.ndarray:
    """The scalars of an input; those along its first axis belong to these bodies."""
    size = int(np.prod(shape))
    flat = np.empty(size, dtype=object)
    for k in range(size):
        graph.body_index = -1 if owners is None else int(owners[k * shape[0] // size])
        flat[k] = graph.input(name, k)
    graph.body_index = -1
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
