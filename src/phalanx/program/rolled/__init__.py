# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled programs: an algorithm run once on one body that stands for all, as loops over bodies.

The size of a rolled program does not depend on the number of bodies; their parameters stand
in a table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...algorithms import ALGORITHMS
from ...errors import PhalanxError
from ...robot.frames import uniform_count
from ...sweeps.verbs import ordering
from ..quantities import announcing
from ..task import TraceTask, refusal_of_loops
from . import leaves as L
from .bodies.body import REST, BodyModel, body_arguments, body_model, moving_rest, other_motions
from .bodies.derivatives import Residual, buffer_names, derived
from .graph import BodyGraph
from .leaves import OWN
from .planning.loops import Wanted
from .planning.plan import Plan
from .program import RolledProgram
from .stages.bodies import DOF, StageLayout
from .stages.loops import BodyLoop
from .sweeps.matrices import InverseRows, Matrix, Solved, Walks
from .sweeps.order import Rolled

__all__ = ["RolledProgram", "roll"]


def roll(task: TraceTask) -> RolledProgram:
    """The loops of an algorithm for one robot, its parameters in a table."""
    algorithm, model, function = task.algorithm, task.model, task.function
    if reason := refusal_of_loops(algorithm, model):
        raise PhalanxError(
            f'{algorithm.function}: algorithm "{algorithm.name}" has no loops over bodies for this robot: '
            f'{reason}; the NumPy backend serves it: backend="numpy".'
        )
    graph = BodyGraph(model.n)
    chain = model.is_chain
    several = algorithm.bodies == "definite" and len(model.links) < model.n
    order = Rolled(graph, chain, model=model, ends=model.links if several else None)
    body = body_model(graph, model, order)
    body, given, more = body_arguments(body, task)
    text = replace(algorithm, run=announcing(algorithm.run, graph, task.text.symbol))
    with ordering(order):
        result = text.with_rotors(body, given, more)
    plan = Plan(graph, order)
    parts = result if isinstance(result, tuple) else (result,)
    values = [x for part in parts for x in np.asarray(part, dtype=object).ravel().tolist()]
    names = buffer_names(function)
    if algorithm.valued:
        plan.output(values.pop(), L.State(names[-1], OWN, 1, 0))
    if isinstance(values[0], Solved):
        plan.solved_output(values[:-1], names[:3])
    elif isinstance(values[0], Matrix) and isinstance(values[0].walk, Walks):
        plan.matrices_output(values, names[: len(values)])
    elif not _want_matrix(plan, values, *task.text.outputs.values()):
        wanted = _placed(body, values, *task.text.outputs.values())
        if algorithm.derivative:
            wanted = derived(body, order, wanted, task, _residual(body, order, given, more, task))
        for value, target in wanted:
            plan.output(value, target)
    planned = plan.stages()
    rest = _rest_stages(plan, body)
    layout = StageLayout(
        task.shapes,
        dict(zip(names, task.outputs.values(), strict=True)),
        model.n,
        None if chain else model.parents,
        graph.table(plan.columns),
        plan.columns,
        body.source.maps,
        len(plan.slots),
        len(plan.commons),
        body.source.joints,
        order.heavy_path_rows,
        uniform_count(model) if task.has_uniforms else 0,
    )
    return RolledProgram(layout, [*rest, *planned], order.reordered)


def _residual(
    body: BodyModel, order: Rolled, given: list[Any], more: dict[str, Any], task: TraceTask
) -> Residual | None:
    """What a function solves for its last input, if it does, as a function of its result."""
    if not task.text.solves or body.source.joints is not None:
        return None
    text = next(iter(ALGORITHMS[task.text.solves].values()))
    quantity = order.graph.quantity

    def forces(values: list[Any]) -> Any:
        result = np.array(values, dtype=object)
        with ordering(order):
            (force,) = text.with_rotors(body, [*given[:-1], result], more).ravel().tolist()
        order.graph.quantity = quantity
        return force

    return forces


def _want_matrix(plan: Plan, values: list[Any], sizes: tuple[str, ...]) -> bool:
    """Want the result of an algorithm if it is a matrix over bodies; whether it is one."""
    if sizes == ("v", "v") and not isinstance(values[0], (Matrix, InverseRows)):
        entry = plan.graph.of_pair(values[0], L.ROW)  # of a row where no link has mass
        values = plan.order.matrix_of(entry).ravel().tolist()
    if isinstance(values[0], Matrix):
        plan.matrix_output(values[0])
    elif isinstance(values[0], InverseRows):
        plan.inverse_output(values[0].matrix)
    return isinstance(values[0], Matrix | InverseRows)


def _placed(body: BodyModel, values: list[Any], sizes: tuple[str, ...]) -> Wanted:
    """The values of one body, or of a state, and where they go, as the sizes of a function say."""
    joints, n = body.source.joints, body.source.model.n
    if sizes[:1] == ("l",):
        return [(x, L.State(L.OUT, "link out", len(values), k)) for k, x in enumerate(values)]
    if sizes[-1:] == ("v",) and joints is not None:
        return [(x, L.Added(L.OUT, DOF, 1, k * joints.count)) for k, x in enumerate(values)]
    if sizes[-1:] == ("v",):
        return [(x, L.State(L.OUT, OWN, 1, k * n)) for k, x in enumerate(values)]
    return [(x, L.Global(L.OUT, k)) for k, x in enumerate(values)]


def _rest_stages(plan: Plan, body: BodyModel) -> list[BodyLoop]:
    """The loops that place bodies that are not one-degree-of-freedom screws; they run before all others."""
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
        wanted: Wanted = [(x, L.State(REST, OWN, 12, j)) for j, x in enumerate(values)]
        code, targets = plan.code(wanted, lambda fresh, x: None if x.leaf is None else fresh.leaf(x.leaf))
        if len(source.maps[name]):
            made.append(BodyLoop(code, targets, bodies=name))
    return made
