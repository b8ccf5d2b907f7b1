# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Derivatives of the results of the symbolic body, as a task requests them: jvp, vjp or second order.

The map from rates to the derivatives of coordinates and transforms is stated once, in `_Moves`. Its transpose
converts derivatives by coordinates to derivatives along rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ....spatial import angular, cross, linear, matvec, transpose
from ...passes.differentiate import adjoints
from ...task import TraceTask
from .. import leaves as L
from ..differentiate import LoopDerivatives
from ..planning import Wanted
from ..stages.bodies import DOF, JOINT
from ..sweeps.order import Rolled
from .body import REST, BodyModel, link_map, other_bodies

# From the accelerations of a body to its forces: inverse dynamics.
Residual = Callable[[list[Any]], Any]


def buffer_names(outputs: Iterable[str]) -> list[str]:
    """Return the names of the buffers that stage some outputs."""
    labels = list(outputs)
    return [L.OUT] if len(labels) == 1 else [f"{L.OUT} {label}" for label in labels]


def derived(
    body: BodyModel, order: Rolled, results: Wanted, task: TraceTask, residual: Residual | None
) -> Wanted:
    """Return the derivatives of results that a task requests, each with its target."""
    loops, mode = LoopDerivatives(order), task.algorithm.derivative
    moves, inputs = _Moves(body), list(task.primal.inputs)
    if mode != "jvp":
        weighted = [(x, _weight(body, target)) for x, target in results]
        if residual is None:
            slopes = loops.adjoints(weighted, by=lambda leaf: _is_of(leaf, inputs))
        else:
            # The mass matrix M is symmetric: the adjoint of forces is M^-1 times the cotangent.
            slopes = loops.adjoints(weighted, by=lambda leaf: _is_of(leaf, inputs[-1:]))
            (solution,) = slopes.values()
            equation = [(residual([order.graph.elsewhere(x) for x, _ in results]), -solution)]
            slopes |= loops.adjoints(equation, by=lambda leaf: _is_of(leaf, inputs[:-1]))
        names = dict(zip(inputs, buffer_names(task.outputs), strict=True))
        results = moves.along_rates(slopes, names)
    if mode == "vjp":
        return results
    made = loops.tangents([x for x, _ in results], lambda leaf: moves.rate_of(leaf, task))
    return [(x, target) for x, (_, target) in zip(made, results, strict=True)]


def _is_of(leaf: L.Leaf, inputs: list[str]) -> bool:
    """Whether a leaf belongs to one of some inputs, or depends on the coordinates among them."""
    return isinstance(leaf, L.State) and (leaf.name in inputs or (leaf.name == REST and "q" in inputs))


def _weight(body: BodyModel, target: L.Leaf) -> Any:
    """Return the entry of the cotangent that belongs to a result."""
    graph = body.source.graph
    if isinstance(target, L.Global):
        return graph.placed(L.Global("cotangent", target.index), phase=-1, common=True)
    assert isinstance(target, L.State)
    if target.map != "link out":
        return graph.leaf(L.State("cotangent", target.map, target.width, target.offset))
    _, has_link = link_map(body.source.model)
    return body.source.state("cotangent", "link", target.width, target.offset) * graph.param(has_link)


class _Moves:
    """Derivatives along rates of the leaves that depend on coordinates."""

    def __init__(self, body: BodyModel) -> None:
        self.body, self.source = body, body.source
        self._rest: list[Any] = []

    def rate_of(self, leaf: L.Leaf, task: TraceTask) -> Any:
        """Return the tangent of a leaf from the tangent inputs of a task; None if it is constant."""
        name = leaf.name if isinstance(leaf, L.State | L.Global) else ""
        if isinstance(leaf, L.State) and name in ("q", REST):
            return self._along("dq", leaf)
        if isinstance(leaf, L.State) and name in task.primal.inputs:
            return self.source.graph.leaf(L.State(f"d{name}", leaf.map, leaf.width, leaf.offset))
        return None

    def _along(self, name: str, leaf: L.State) -> Any:
        """Return the rate of a coordinate, or of a scalar of a transform that depends on coordinates."""
        if leaf.name == "q":
            return self.source.state(name, JOINT if self.source.joints is None else DOF, 1, 0)
        if not self._rest:
            self._rest = self._rest_rates(name)
        return self._rest[leaf.offset]

    def _rest_rates(self, name: str) -> list[Any]:
        """Return the rates of the rotation and translation of joints that are not one-DoF screws."""
        rate = np.array([self.source.state(name, JOINT, 1, 0)], dtype=object)
        moves = self.source.graph.param(other_bodies(self.source.model))
        twist = self.body.axes().across(rate) * moves
        X = self.body.rest
        rotated = -transpose(cross(angular(twist)[..., None, :], transpose(X.E)))
        moved = matvec(transpose(X.E), linear(twist))
        return [*rotated.ravel().tolist(), *moved.ravel().tolist()]

    def along_rates(self, slopes: dict[L.Leaf, Any], names: dict[str, str]) -> Wanted:
        """Return the derivatives by inputs, those by coordinates along rates, each with its target."""
        wanted: Wanted = []
        moving = [leaf for leaf in slopes if isinstance(leaf, L.State) and leaf.name in ("q", REST)]
        by_rate = adjoints([self._along("dq", leaf) for leaf in moving], [slopes[leaf] for leaf in moving])
        leaves = {self.source.graph.nodes[k].leaf: slope for k, slope in by_rate.items()}
        slopes = {leaf: slope for leaf, slope in slopes.items() if leaf not in moving}
        slopes |= {leaf: x for leaf, x in leaves.items() if isinstance(leaf, L.State) and leaf.name == "dq"}
        for name, buffer in names.items():
            source = "dq" if name == "q" else name
            own = [leaf for leaf in slopes if isinstance(leaf, L.State) and leaf.name == source]
            alone = len(own) == 1 and own[0].map == L.OWN
            kind = L.State if alone else L.Added
            wanted += [(slopes[leaf], kind(buffer, leaf.map, leaf.width, leaf.offset)) for leaf in own]
        return wanted
