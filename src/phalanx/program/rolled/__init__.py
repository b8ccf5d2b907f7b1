# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled programs: an algorithm run once on one symbolic body, as loops over all bodies.

The size of a rolled program does not depend on the number of bodies; their parameters are rows of a table.
The stages of lowering, from an algorithm to its loops:

1. `bodies/`: the model of the symbolic body; its parameters and inputs are the leaves of a graph
   (`leaves`);
2. `sweeps/`: which values are loop-carried: from body to body, from pair to pair, from row to row;
3. `body_graph`: the phase of each scalar: loops alternate between outward (even phases) and inward (odd
   phases);
4. `differentiate`: derivatives of loops as more loops, along a direction or in reverse order;
5. `planning`: from the last loop to the first, which values earlier loops must store;
6. `stages/`: each stage builds its statements of the `program`: passes over bodies, matrices from loops
   along ancestors or over columns, sparse factors and their solutions, eliminations at distances 1, 2, 4,
   ….

`segments/` adds a second level of loops: over the links of a segment, one segment in each SIMD lane, and
over the segments.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ...algorithms import default_algorithm
from ...errors import PhalanxError
from ...robot.frames import uniform_count
from ...sweeps.verbs import ordering
from ..quantities import announcing
from ..task import TraceTask, refusal_of_loops
from . import leaves as L
from .bodies.body import REST, BodyModel, body_arguments, body_model, moving_rest, other_motions
from .bodies.derivatives import Residual, buffer_names, derived
from .body_graph import BodyGraph
from .leaves import OWN
from .planning import Plan, Wanted
from .program import RolledProgram
from .stages.bodies import DOF, StageLayout
from .stages.loops import BodyLoop
from .sweeps.doubling_order import Doubling
from .sweeps.matrices import InverseRows, Matrix, Solved, Walks
from .sweeps.order import Rolled

__all__ = ["RolledProgram", "roll"]


def roll(task: TraceTask, *, doubling: bool = False) -> RolledProgram:
    """Return the rolled program of a task: its algorithm traced once on a symbolic body, planned as loops.

    With `doubling`, linear and associative sweeps along a chain join runs of 1, 2, 4, … bodies.
    """
    algorithm, model = task.algorithm, task.model
    if reason := refusal_of_loops(algorithm, model):
        raise PhalanxError(
            f'{algorithm.function}: algorithm "{algorithm.name}" has no loops over bodies for this robot: '
            f'{reason}; the NumPy backend serves it: backend="numpy".'
        )
    graph = BodyGraph(model.n)
    chain = model.is_chain
    several = algorithm.bodies == "definite" and len(model.links) < model.n
    order = (Doubling if doubling else Rolled)(
        graph, chain, model=model, ends=model.links if several else None
    )
    body = body_model(graph, model, order)
    body, given, more = body_arguments(body, task)
    announced = replace(algorithm, run=announcing(algorithm.run, graph, task.primal.symbol))
    with ordering(order):
        result = announced.with_rotors(body, given, more)
    plan = Plan(graph, order)
    plan.in_runs = task.segments is not None
    parts = result if isinstance(result, tuple) else (result,)
    values = [x for part in parts for x in np.asarray(part, dtype=object).ravel().tolist()]
    names = buffer_names(task.outputs)
    if algorithm.valued:
        plan.output(values.pop(), L.State(names[-1], OWN, 1, 0))
    if isinstance(values[0], Solved):
        plan.solved_output(values[:-1], names[:3])
    elif isinstance(values[0], Matrix) and isinstance(values[0].walk, Walks):
        plan.matrices_output(values, names[: len(values)])
    elif len(parts) > 1:
        sizes: tuple[str, ...]
        for part, name, shape in zip(parts, names, task.outputs.values(), strict=True):
            flat = np.asarray(part, dtype=object).ravel().tolist()
            axes = ("v",) if len(flat) < prod(shape) or shape == (1,) == task.inputs["qd"] else ("",)
            for value, target in _placed(body, flat, axes, name):
                plan.output(value, target)
    elif not _want_matrix(plan, values, *task.primal.outputs.values()):
        (sizes,) = task.primal.outputs.values()
        wanted = _placed(body, values, sizes)
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
    """Return the inverse function, from the result of a function to its last input, or None."""
    if not task.primal.solves or body.source.joints is not None:
        return None
    inverse = default_algorithm(task.primal.solves)
    quantity = order.graph.quantity

    def forces(values: list[Any]) -> Any:
        result = np.array(values, dtype=object)
        with ordering(order):
            (force,) = inverse.with_rotors(body, [*given[:-1], result], more).ravel().tolist()
        order.graph.quantity = quantity
        return force

    return forces


def _want_matrix(plan: Plan, values: list[Any], sizes: tuple[str, ...]) -> bool:
    """Plan the output of a result that is a matrix over bodies; return whether it is one."""
    if sizes == ("v", "v") and not isinstance(values[0], (Matrix, InverseRows)):
        entry = plan.graph.of_pair(values[0], L.ROW)  # of a row where no link has mass
        values = plan.order.matrix_of(entry).ravel().tolist()
    if isinstance(values[0], Matrix):
        plan.matrix_output(values[0])
    elif isinstance(values[0], InverseRows):
        plan.inverse_output(values[0].matrix)
    return isinstance(values[0], Matrix | InverseRows)


def _placed(body: BodyModel, values: list[Any], sizes: tuple[str, ...], out: str = L.OUT) -> Wanted:
    """Pair each result of a body, or of a state, with its address in an output."""
    joints, n = body.source.joints, body.source.model.n
    if sizes[:1] == ("l",):
        return [(x, L.State(out, "link out", len(values), k)) for k, x in enumerate(values)]
    if sizes[-1:] == ("v",) and joints is not None:
        return [(x, L.Added(out, DOF, 1, k * joints.count)) for k, x in enumerate(values)]
    if sizes[-1:] == ("v",):
        return [(x, L.State(out, OWN, 1, k * n)) for k, x in enumerate(values)]
    return [(x, L.Global(out, k)) for k, x in enumerate(values)]


def _rest_stages(plan: Plan, body: BodyModel) -> list[BodyLoop]:
    """Return the loops that store joint transforms in `REST` if some are not one-degree-of-freedom screws."""
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
        code = plan.code(wanted, lambda fresh, x: None if x.leaf is None else fresh.leaf(x.leaf))
        if len(source.maps[name]):
            made.append(BodyLoop(code, bodies=name))
    return made
