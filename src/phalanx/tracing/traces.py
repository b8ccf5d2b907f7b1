# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Functions as scalars of one graph, and their derivatives as more scalars of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ..program.builder import straight
from ..program.graph import Graph, symbols
from ..program.ir import UNIFORM, Program
from ..program.passes.differentiate import adjoints, tangents
from ..program.passes.fuse import fuse
from ..program.passes.order import sincos_first
from ..robot.configurations import tangent_map
from ..robot.robot import Robot
from .result_structure import RESULT, Structure

Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Trace:
    """A function on recording scalars: its inputs, and its results as scalars of the same graph."""

    robot: Robot
    name: str
    symbols: Mapping[str, np.ndarray]
    configurations: frozenset[str]  # inputs that are coordinates: their derivatives are in the tangent space
    results: Mapping[str, np.ndarray]
    structure: Structure
    keywords: frozenset[str] = frozenset()  # inputs that are given by name only
    moving: frozenset[str] = frozenset()  # results that are coordinates: their derivatives are rates, too

    @property
    def inputs(self) -> dict[str, Shape]:
        """The shapes of the inputs by name."""
        return {name: array.shape for name, array in self.symbols.items()}

    @property
    def outputs(self) -> dict[str, Shape]:
        """The shapes of the results by name."""
        return {name: array.shape for name, array in self.results.items()}

    @cached_property
    def graph(self) -> Graph:
        """The graph of all scalars."""
        return next(x.graph for a in self.symbols.values() for x in a.ravel().tolist())

    def program(self, *, joined: bool = False) -> Program:
        """The straight-line code, with multiply-adds; all results in one output if they are `joined`.

        Inputs and results without entries have no buffers.
        """
        inputs = {buffer_name(name): shape for name, shape in self.inputs.items() if prod(shape)}
        names = unique([*self.inputs, *self.results])[len(self.inputs) :]
        outputs = {name: a for name, a in zip(names, self.results.values(), strict=True) if a.size}
        flat = [x for array in outputs.values() for x in array.ravel().tolist()]
        shapes = {name: array.shape for name, array in outputs.items()}
        if joined:
            shapes = {"results": (len(flat),)}
        return sincos_first(fuse(straight(inputs, shapes, flat)))

    # ------------------------------------------------------------- derivatives

    def tangent_shape(self, name: str) -> Shape:
        """The shape of a tangent of an input."""
        return (self.robot.nv,) if name in self.configurations else self.symbols[name].shape

    def cotangent_shape(self, name: str) -> Shape:
        """The shape of a cotangent of a result, and of its derivative along a tangent."""
        return (self.robot.nv,) if name in self.moving else self.results[name].shape

    def jvp(self, wrt: Sequence[str]) -> Trace:
        """The derivative of the results along tangents of some inputs."""
        rates = self._tangents(wrt)
        return replace(
            self,
            name=f"{self.name}.jvp",
            symbols={**self.symbols, **{self._tangent_name(n): a for n, a in rates.items()}},
            results={name: self._rates(name, a) for name, a in self._along(self.results, rates).items()},
            keywords=frozenset(),
            moving=frozenset(),
        )

    def vjp(self, of: Sequence[str], wrt: Sequence[str]) -> Trace:
        """The derivatives with respect to some inputs of some results, each times a cotangent."""
        weights = self._cotangents(of)
        return replace(
            self,
            name=f"{self.name}.vjp",
            symbols={**self.symbols, **weights},
            results=self._against(dict(zip(of, weights.values(), strict=True)), wrt),
            structure=_tuple_of(wrt),
            keywords=frozenset(),
            moving=frozenset(),
        )

    def hvp(self, of: Sequence[str], wrt: Sequence[str], along: Sequence[str] | None = None) -> Trace:
        """The derivative of the vjp along tangents of some inputs, by default of the same."""
        weights, rates = self._cotangents(of), self._tangents(wrt if along is None else along)
        slopes = self._against(dict(zip(of, weights.values(), strict=True)), wrt)
        return replace(
            self,
            name=f"{self.name}.hvp",
            symbols={**self.symbols, **weights, **{self._tangent_name(n): a for n, a in rates.items()}},
            results=self._along(slopes, rates),
            structure=_tuple_of(wrt),
            keywords=frozenset(),
            moving=frozenset(),
        )

    def jacobian(self, of: str, wrt: str) -> Trace:
        """The derivative of one result with respect to one input: its axes, then those of a tangent."""
        made = {RESULT: self.matrix(of, wrt)}
        return replace(
            self, name=f"{self.name}.jacobian", results=made, structure=Structure(), moving=frozenset()
        )

    def jacobians(self, wrt: Sequence[str]) -> Trace:
        """The derivatives of all results with respect to some inputs, result by result."""
        made = {f"{of}.{name}": self.matrix(of, name) for of in self.results for name in wrt}
        return replace(self, name=f"{self.name}.jacobians", results=made, structure=_tuple_of(list(made)))

    def matrix(self, of: str, wrt: str) -> np.ndarray:
        """The scalars of the derivative of one result with respect to one input."""
        result, shape = self.results[of], self.tangent_shape(wrt)
        flat, size, own = result.ravel().tolist(), prod(shape), self.cotangent_shape(of)
        made = np.zeros((prod(own), size), dtype=object)
        if len(flat) <= size and of not in self.moving:
            for k, x in enumerate(flat):
                made[k] = self._slope(adjoints([x], [1.0]), wrt).ravel()
        else:
            for k, unit in enumerate(np.eye(size)):
                change = tangents(flat, self._seeds({wrt: unit.astype(object).reshape(shape)}))
                made[:, k] = self._rates(of, _filled(result.shape, iter(change))).ravel()
        return made.reshape((*own, *shape))

    def _tangent_name(self, name: str) -> str:
        plain = f"d{name}"
        return plain if plain not in self.symbols else f"tangent_{name}"

    def _tangents(self, wrt: Sequence[str]) -> dict[str, np.ndarray]:
        """Fresh symbols for the tangents of some inputs."""
        return {
            name: symbols(self.graph, buffer_name(self._tangent_name(name)), self.tangent_shape(name))
            for name in wrt
        }

    def _cotangents(self, of: Sequence[str]) -> dict[str, np.ndarray]:
        """Fresh symbols for the cotangents of some results, by names of their own."""
        made = {}
        for name in of:
            label = "cotangent" if name == RESULT and len(self.results) == 1 else f"cotangent_{name}"
            made[label] = symbols(self.graph, label, self.cotangent_shape(name))
        return made

    def _seeds(self, rates: Mapping[str, np.ndarray]) -> dict[int, Any]:
        """The tangents of the scalars of inputs, by their numbers."""
        seeds: dict[int, Any] = {}
        for name, rate in rates.items():
            if name in self.configurations:
                rate = tangent_map(self.robot._coordinates, "coordinate_rates", self.symbols[name], rate)
            flat = zip(self.symbols[name].ravel().tolist(), rate.ravel().tolist(), strict=True)
            seeds |= {x.number: r for x, r in flat}
        return seeds

    def _along(
        self, results: Mapping[str, np.ndarray], rates: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        flat = [x for array in results.values() for x in array.ravel().tolist()]
        made = iter(tangents(flat, self._seeds(rates)))
        return {name: _filled(array.shape, made) for name, array in results.items()}

    def _against(self, weights: Mapping[str, np.ndarray], wrt: Sequence[str]) -> dict[str, np.ndarray]:
        flat = [x for name in weights for x in self.results[name].ravel().tolist()]
        along = [self._coordinate_slopes(name, a) for name, a in weights.items()]
        slopes = adjoints(flat, [w for a in along for w in a.ravel().tolist()])
        return {name: self._slope(slopes, name) for name in wrt}

    def _rates(self, name: str, change: np.ndarray) -> np.ndarray:
        """The change of a result, as rates if it is coordinates."""
        if name not in self.moving:
            return change
        return tangent_map(self.robot._coordinates, "rates_of", self.results[name], change)

    def _coordinate_slopes(self, name: str, weight: np.ndarray) -> np.ndarray:
        """The cotangent of a result by its entries, from that along rates if it is coordinates."""
        if name not in self.moving:
            return weight
        return tangent_map(self.robot._coordinates, "coordinate_slopes", self.results[name], weight)

    def _slope(self, slopes: Mapping[int, Any], name: str) -> np.ndarray:
        """The derivatives with respect to an input, from those with respect to its scalars."""
        own = self.symbols[name]
        made = _filled(own.shape, iter([slopes.get(x.number, 0.0) for x in own.ravel().tolist()]))
        if name not in self.configurations:
            return made
        return tangent_map(self.robot._coordinates, "along_rates", own, made)


def _filled(shape: Shape, scalars: Any) -> np.ndarray:
    made = np.empty(prod(shape), dtype=object)
    for k in range(made.size):
        made[k] = next(scalars)
    return made.reshape(shape)


def _tuple_of(names: Sequence[str]) -> Structure:
    """A tuple of arrays."""
    return Structure(tuple(names), tuple(names), tuple(Structure() for _ in names))


def buffer_name(name: str) -> str:
    """The name of an input's buffer; one name is that of runtime constants."""
    return f"{name}_" if name == UNIFORM else name


def unique(names: Iterable[str]) -> list[str]:
    """The names, with numbers appended where one repeats, so that all differ."""
    made: list[str] = []
    for name in names:
        other, k = name, 1
        while other in made:
            other, k = f"{name}_{k}", k + 1
        made.append(other)
    return made
