# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One link that stands for those of all segments: its model, its axes, and how it is placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ....robot.dh.chain import DHChain
from ....robot.model import Group, Model
from ....spatial import Array, Field, Inertia, Transform
from .. import leaves as L
from ..bodies.body import REST, BodyAxes, BodyModel, body_model, moving_rest, other_motions
from ..planning import Plan, Wanted
from ..stages.loops import BodyLoop
from ..sweeps.indexing import Mask
from ..sweeps.order import Rolled


@dataclass(frozen=True, eq=False)
class SegmentLink(BodyModel):
    """The model of one symbolic link, which represents the links of all segments."""

    original: Any = None
    rows: Any = None  # the body whose constants each row shares
    fills: Any = None  # whether a row fills a segment up

    def axes(self) -> SegmentAxes:
        return SegmentAxes(self.axis, self.source, self.rows)

    def of_rates(self, rates: np.ndarray) -> np.ndarray:
        of_rows: np.ndarray = self.rows[rates]
        return of_rows

    def derived(self, constants: Callable[[Model], Any]) -> Any:
        whole, graph = constants(self.original), self.source.graph
        if isinstance(whole, Field):
            return whole.map(lambda array, _: graph.params(array[self.rows]))
        return tuple(
            Mask.of(graph, x[self.rows]) if x.dtype == bool else graph.params(x[self.rows]) for x in whole
        )


class SegmentAxes(BodyAxes):
    """The joint axes of a link; its rates are entries of the rates of the whole chain."""

    def __init__(self, axis: Array, source: Any, rows: np.ndarray) -> None:
        super().__init__(axis, source)
        self.rows = rows

    def __matmul__(self, rate: Array) -> Array:
        twist = super().__matmul__(rate)
        maps = self.source.maps
        maps |= {name: self.rows[map] for name, map in maps.items() if name.startswith("twist")}
        return twist


def segment_link(order: Rolled, model: Model, bodies: np.ndarray) -> SegmentLink:
    """The model of one link, swept in an order, for the `bodies` (segments, longest), -1 to fill up."""
    rows, fills = np.maximum.accumulate(bodies, axis=1).ravel(), bodies.ravel() < 0
    base = body_model(order.graph, filled_up(model, rows, fills), order)
    known = {f.name: getattr(base, f.name) for f in fields(base)}
    return SegmentLink(**known, original=model, rows=rows, fills=fills)


def filled_up(model: Model, rows: np.ndarray, fills: np.ndarray) -> Model:
    """The model with a body for every row; padding bodies coincide with the body before them."""

    def masked(array: Array, value: Any) -> Array:
        array = array[rows].copy()
        array[fills] = value
        return array

    n = len(rows)
    where = [np.flatnonzero(np.isin(rows, g.bodies)) for g in model.groups]
    groups = tuple(
        Group(g.motion, at, g.coordinates[np.searchsorted(g.bodies, rows[at])])
        for g, at in zip(model.groups, where, strict=True)
        if len(at)
    )
    real = np.flatnonzero(~fills)
    return replace(
        model,
        n=n,
        nv=n,
        parents=np.arange(-1, n - 1),
        groups=groups,
        rest=Transform(masked(model.rest.E, np.eye(3)), masked(model.rest.r, 0.0)),
        offset=masked(model.offset, 0.0),
        axis=model.axis[rows],
        carrier=np.arange(n) + masked(model.carrier - np.arange(model.n), 0),  # no joint is cut
        inertia=Inertia(*(masked(array, 0.0) for array, _ in model.inertia.arrays())),
        armature=masked(model.armature, np.inf),
        links=real[np.searchsorted(rows[real], model.links)],
        twists=real[np.searchsorted(rows[real], model.twists)],
        dh_of=lambda: filled_up_chain(model.dh, rows, fills),
        shift_of=lambda: model.inertia_shift and model.inertia_shift.map(lambda a, _: masked(a, 0.0)),
    )


def filled_up_chain(chain: DHChain, rows: np.ndarray, fills: np.ndarray) -> DHChain:
    """The Denavit-Hartenberg chain with a link for every row; padding links have zero angles and lengths."""
    ones = {"ca": 1.0, "ct": 1.0, "turns": True, "armature": np.inf}
    made: dict[str, Any] = {"n": len(rows)}
    for f in fields(chain):
        value = getattr(chain, f.name)
        if f.name == "links":
            made[f.name] = value.map(lambda array, _: array[rows])
        elif f.name not in ("n", "base", "tool", "gravity"):
            made[f.name] = value[rows].copy()
            made[f.name][fills] = ones.get(f.name, 0)
    return replace(chain, **made)


def placing(plan: Plan, link: SegmentLink) -> list[BodyLoop]:
    """The loops that compute transforms of links: the constant ones, then joints other than screws."""
    source = link.source
    groups = other_motions(source.model)
    if not groups:
        return []
    rest = source.model.rest.map(lambda array, _: source.graph.params(array))
    made = [_placed(plan, [*rest.E.ravel().tolist(), *rest.r.ravel().tolist()])]
    for k, g in enumerate(groups):
        source.maps[f"group{k}"] = g.bodies[~link.fills[g.bodies]]
        made.append(replace(_placed(plan, moving_rest(source, g)), bodies=f"group{k}"))
    return made


def _placed(plan: Plan, values: list[Any]) -> BodyLoop:
    wanted: Wanted = [(x, L.State(REST, L.OWN, 12, k)) for k, x in enumerate(values)]
    return BodyLoop(plan.code(wanted, lambda fresh, x: None if x.leaf is None else fresh.leaf(x.leaf)))
