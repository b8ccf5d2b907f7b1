# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled programs: an algorithm run once on one body that stands for all, as loops over bodies.

The size of a rolled program does not depend on the number of bodies; their parameters stand
in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...algorithms import FUNCTIONS, Algorithm
from ...dh import link_wrenches_dh
from ...errors import PhalanxError
from ...model import Model
from ...sweeps import ordering
from .body import (
    DOF,
    JOINT,
    OWN,
    BodyModel,
    body_inputs,
    body_model,
    body_wrenches,
    moving_rest,
    other_motions,
)
from .graph import CHOOSE, BodyGraph
from .joints import Joints
from .loop_plan import Wanted
from .matrices import Matrix, Solution
from .order import Rolled
from .plan import Plan
from .program import (
    Columns,
    Factor,
    InverseOut,
    Levels,
    Loop,
    MatrixOut,
    Once,
    Pairs,
    RolledProgram,
    Solve,
    Step,
)

__all__ = [
    "CHOOSE",
    "DOF",
    "JOINT",
    "OWN",
    "Columns",
    "Factor",
    "InverseOut",
    "Joints",
    "Levels",
    "Loop",
    "MatrixOut",
    "Once",
    "Pairs",
    "RolledProgram",
    "Solve",
    "Step",
    "refusal",
    "roll",
]


def roll(
    algorithm: Algorithm,
    model: Model,
    inputs: Mapping[str, tuple[int, ...]],
    optional: Mapping[str, tuple[int, ...]],
    output: tuple[int, ...],
    arguments: Mapping[str, Any],
) -> RolledProgram:
    """The loops of an algorithm for one robot, its parameters in a table."""
    if reason := refusal(algorithm, model):
        raise PhalanxError(
            f'{algorithm.function}: algorithm "{algorithm.name}" has no loops over bodies for this robot: '
            f'{reason}; the NumPy backend serves it: backend="numpy".'
        )
    graph = BodyGraph(model.n)
    chain = _is_chain(model)
    order = Rolled(graph, chain)
    body = body_model(graph, model, order)
    function = FUNCTIONS[algorithm.function]
    symbols = body_inputs(body.source, {**inputs, **optional}, {**function.inputs, **function.optional})
    more: dict[str, Any] = {name: symbols[name] for name in optional}
    if "external" in more:
        in_dh = algorithm.frames == "dh"
        given = more["external"]
        more["external"] = link_wrenches_dh(body.dh, given) if in_dh else body_wrenches(body, given)
    for name, value in arguments.items():
        more[name] = value.map(lambda array, _: array.astype(object)) if hasattr(value, "map") else value
    with ordering(order):
        result = algorithm.run(body, *(symbols[name] for name in inputs), **more)
    plan = Plan(graph, order)
    _want_output(plan, body, np.asarray(result, dtype=object), function.output)
    stages = plan.stages()
    rest = _rest_stages(plan, body)
    columns = _columns(rest + stages)
    table = np.stack([graph.columns[k] for k in columns], axis=1) if columns else np.zeros((model.n, 0))
    outward = [number for number, out in plan.carried.items() if out]
    inward = [number for number, out in plan.carried.items() if not out]
    return RolledProgram(
        {**inputs, **optional},
        output,
        model.n,
        None if chain else model.parents,
        table,
        columns,
        body.source.maps,
        rest + stages,
        len(plan.slots),
        len(plan.commons),
        len(plan.angles),
        {number: place for place, number in enumerate(outward)},
        {number: place for place, number in enumerate(inward)},
        bool(rest),
        body.source.joints,
    )


_PARAMETERS = ("param", "param row", "param column", "param third")


def refusal(algorithm: Algorithm, model: Model) -> str:
    """Why an algorithm has no loops over the bodies of a robot, empty if it has."""
    if model.coupling is not None and algorithm.topology == "chain":
        return "mimic joints follow other joints"
    if not algorithm.loops:
        return "it does not visit one body after another"
    if algorithm.loops == "chain" and not _is_chain(model):
        return "it branches"
    if algorithm.bodies == "definite" and len(model.links) < model.n:
        return "it takes the bodies of a joint with several axes together"
    if algorithm.frames == "dh" and not model.inertia.m[-1] > 0.0:
        return "its last link has no mass, and no mass centre"
    return ""


def _is_chain(model: Model) -> bool:
    return bool(np.array_equal(model.parents, np.arange(-1, model.n - 1)))


def _columns(stages: list[Any]) -> dict[int, int]:
    """The columns of parameters that some stage reads, with their places in the table."""
    found: dict[int, int] = {}
    for stage in stages:
        for code in stage.codes():
            for i in code.instructions:
                if i.op == "input" and i.args[0] in _PARAMETERS:
                    found.setdefault(i.args[1], len(found))
    return found


def _want_output(plan: Plan, body: BodyModel, result: np.ndarray, sizes: tuple[str, ...]) -> None:
    """Want the result of an algorithm, laid out as the sizes of its function say."""
    values = result.ravel().tolist()
    if plan.graph.paired(values[0]):
        values = plan.order.matrix_of(values[0]).ravel().tolist()
    if isinstance(values[0], Matrix):
        return plan.matrix_output(values[0])
    if isinstance(values[0], Solution):
        return plan.inverse_output(values[0].matrix)
    for k, value in enumerate(values):
        if sizes[:1] == ("l",):
            plan.output(value, ("out", "link out", len(values), k))
        elif sizes[-1:] == ("v",) and body.source.joints is not None:
            plan.output(value, ("add", DOF, 1, k * body.source.joints.count))
        elif sizes[-1:] == ("v",):
            plan.output(value, ("out", OWN, 1, k * body.source.model.n))
        else:
            plan.common_output(value, k)
    return None


def _rest_stages(plan: Plan, body: BodyModel) -> list[Loop]:
    """The loops that place bodies whose motion is no helix; they run before all others."""
    source = body.source
    groups = other_motions(source.model)
    if not groups:
        return []
    made = []
    others = np.concatenate([g.bodies for g in groups])
    source.maps["helices"] = np.setdiff1d(np.arange(source.model.n), others)
    rest = source.model.rest.map(lambda array, _: source.graph.params(array))
    still = [*rest.E.ravel().tolist(), *rest.r.ravel().tolist()]
    for k, (name, values) in enumerate(
        [("helices", still), *((f"group{k}", moving_rest(source, g)) for k, g in enumerate(groups))]
    ):
        if k:
            source.maps[name] = groups[k - 1].bodies
        wanted: Wanted = [(x, ("rest", j)) for j, x in enumerate(values)]
        code, targets = plan.code(wanted, lambda fresh, x: fresh.leaf(*x.args) if x.op == "input" else None)
        if len(source.maps[name]):
            made.append(Loop(code, targets, bodies=name))
    return made
