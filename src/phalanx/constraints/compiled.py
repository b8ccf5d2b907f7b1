# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""From constraints of a robot and a function to compiled code: the equations on recording scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.constrained import dense, derivatives, inverse
from ..algorithms.constrained.closures import (
    PlacedClosure,
    PlacedEquation,
    Seen,
    constraint_rows,
    equation_error,
)
from ..dispatch import resolve
from ..errors import PhalanxError, listing, shown
from ..program.graph import Graph, symbols
from ..program.trace import TooLongError
from ..robot.constrained import (
    CONSTRAINED,
    ConstrainedDynamics,
    ConstrainedDynamicsDerivatives,
    ConstrainedInverseDynamics,
    ImpulseDynamics,
)
from ..robot.description import Constraint
from ..robot.frames import Placement, placement_of
from ..robot.robot import Robot
from ..sweeps.verbs import ordering
from ..tracing.arrays import Traced
from ..tracing.equations import MOST, Equations
from ..tracing.function import OwnFunction
from ..tracing.math import log3
from ..tracing.result_structure import RESULT, Structure
from ..tracing.traces import Shape, Trace
from .looped import LoopTrace, looped

RESULTS: dict[str, Any] = {
    "constrained_dynamics": ConstrainedDynamics,
    "constrained_dynamics_derivatives": ConstrainedDynamicsDerivatives,
    "impulse_dynamics": ImpulseDynamics,
    "constrained_inverse_dynamics": ConstrainedInverseDynamics,
}
_ROWS = {"point": (3, 4, 5), "weld": (0, 1, 2, 3, 4, 5), "axis": (0, 1, 3, 4, 5)}


@dataclass(frozen=True)
class Specification:
    """A function of a robot under some constraints: what a compiled function is made of."""

    function: str
    constraints: tuple[Constraint, ...]
    optional: tuple[str, ...] = ()
    chosen: tuple[str, ...] | None = None  # joints: actuated ones, or those that move
    algorithm: str = "dense"  # of constrained_dynamics: or "articulated"

    @property
    def rows(self) -> int:
        return sum(c.rows for c in self.constraints)


def compiled(robot: Robot, specification: Specification) -> OwnFunction:
    """The function of a robot that a specification names; made once."""
    return robot._memoized(specification, lambda: _made(robot, specification))


def _made(robot: Robot, spec: Specification) -> OwnFunction:
    f = "close_loops" if spec.function == "closing_step" else spec.function
    if not spec.rows:
        raise PhalanxError(
            f'{f}: robot "{robot.name}" has no constraints and the call no contacts; pass contacts=, or add '
            "some by robot.with_constraint(px.constraint.point(…))."
        )
    return OwnFunction(_bounded(robot, spec), (compiled, robot, spec))


def _bounded(robot: Robot, spec: Specification) -> Trace:
    """The trace of a function, or an error if it is too long."""
    try:
        return _traced(robot, spec)
    except TooLongError:
        f = "close_loops" if spec.function == "closing_step" else spec.function
        raise PhalanxError(
            f'{f}: robot "{robot.name}" has {robot.nv} degrees of freedom and the call {spec.rows} rows of '
            f"constraints, more than {MOST:,} operations; fix joints, or take fewer constraints."
        ) from None


def _traced(robot: Robot, spec: Specification) -> Trace:
    required = CONSTRAINED.get(spec.function, (("q",), ()))[0]
    sizes = {
        "q": (robot.nq,),
        "qd": (robot.nv,),
        "qdd": (robot.nv,),
        "tau": (robot.nv,),
        "external": (robot.n_links, 6),
        "inertias": (robot.n_links, 10),
        "damping": (),
        "restitution": (),
    }
    if spec.algorithm == "articulated":
        return _in_loops(robot, spec, {name: sizes[name] for name in (*required, *spec.optional)})
    graph = Graph()
    given = {name: symbols(graph, name, sizes[name]) for name in (*required, *spec.optional)}
    own = {"inertias": given["inertias"]} if "inertias" in given else None
    equations = Equations(robot, graph, own)
    call = resolve(robot, "inverse_dynamics" if spec.function in _KINEMATIC else "forward_dynamics")
    model = equations.model(call, tuple(name for name in spec.optional if name in call.function.optional))
    more: dict[str, Any] = {name: given[name] for name in ("external", "inertias") if name in given}
    for name in ("damping", "restitution"):
        if name in given:
            more[name] = given[name][()]
    with ordering(equations._order):
        model, more = call.algorithm.in_frames(model, more)
        placed = placements(robot, spec.constraints)
        made = _EQUATIONS[spec.function](robot, spec, model, [given[n] for n in required], placed, more)
        equations._order.require_few()
    arrays = made if isinstance(made, tuple) else (made,)
    arrays = tuple(np.asarray(a, dtype=object) for a in arrays)
    names, structure = _structure(spec, len(arrays))
    results = dict(zip(names, arrays, strict=True))
    keywords = frozenset(spec.optional)
    return Trace(robot, spec.function, given, frozenset({"q"}), results, structure, keywords)


class Closing(NamedTuple):
    """What keeps loops closed: J (m, nv) of errors (m,), and their parts.

    Of each: its rows, whether they are a turn, and one plus the cosine of a hinge's angle.
    """

    jacobian: np.ndarray
    error: np.ndarray
    parts: list[tuple[slice, bool, Any]]


def _structure(spec: Specification, count: int) -> tuple[tuple[str, ...], Structure]:
    """The names of the results of a function, and what users get of them."""
    result = RESULTS.get(spec.function)
    if result is None and count == 1:
        return (RESULT,), Structure()
    names: tuple[str, ...] = result._fields if result else tuple(map(str, range(count)))
    make = result._make if result else tuple
    return names, Structure(names, tuple(range(len(names))), tuple(Structure() for _ in names), make)


def _in_loops(robot: Robot, spec: Specification, sizes: Mapping[str, Shape]) -> LoopTrace:
    """Constrained dynamics as loops over bodies."""
    names, structure = _structure(spec, 2)
    results: dict[str, Shape] = dict(zip(names, ((robot.nv,), (spec.rows,)), strict=True))
    program = looped(robot, placements(robot, spec.constraints)[0], sizes, spec.optional, results)
    keywords = frozenset(spec.optional)
    return LoopTrace.of(
        robot,
        spec.function,
        program,
        sizes,
        results,
        structure=structure,
        keywords=keywords,
        written=lambda: _bounded(robot, replace(spec, algorithm="dense")),
    )


Placed = tuple[list[PlacedClosure], list[PlacedEquation]]


def placements(robot: Robot, constraints: Sequence[Constraint]) -> Placed:
    """Constraints on the bodies of a robot: closures in their order, then equations."""
    closures = [_closure(robot, c) for c in constraints if c.kind in _ROWS]
    return closures, [_equation(robot, c) for c in constraints if c.kind not in _ROWS]


def in_order(constraints: Sequence[Constraint]) -> tuple[Constraint, ...]:
    """Closures, then equations, each in their order: that of the rows."""
    return (*(c for c in constraints if c.kind in _ROWS), *(c for c in constraints if c.kind not in _ROWS))


def _closure(robot: Robot, c: Constraint) -> PlacedClosure:
    first, second = placed_frame(robot, c.first, c.first_pose), placed_frame(robot, c.second, c.second_pose)
    return PlacedClosure(first, second, c.kind == "point", _ROWS[c.kind])


def placed_frame(robot: Robot, frame: str, pose: Any) -> Placement:
    """A pose on a frame, or on the world if that has no name, on the bodies of a robot."""
    n = robot.model.n
    if frame:
        found = placement_of(robot, frame)
    else:
        found = Placement.of(np.zeros(n), np.ones((1, 1)), np.zeros((n, 1)), np.eye(3), np.zeros(3))
    rotation, translation = np.reshape(pose.rotation, (3, 3)), np.array(pose.translation)
    to, away = rotation.T @ found.X.E, found.X.r + found.X.E.T @ translation
    placed = Placement.of(found.at, found.world, found.moves, to, away)
    return placed.map(lambda array: array.astype(object))


def _equation(robot: Robot, c: Constraint) -> PlacedEquation:
    q = np.zeros(robot.nv, dtype=int)
    for joint in robot.joint_names:
        where = robot.q_slices[joint]
        if where.stop - where.start == 1:
            q[robot.v_slices[joint]] = where.start
    own, offset = _factors(robot, c.joints, c.factors)
    driver, driver_offset = _factors(robot, c.drivers, c.driver_factors)
    return PlacedEquation(own, driver, q, offset + c.offset, driver_offset + c.driver_offset, c.polynomial)


def _factors(robot: Robot, joints: Sequence[str], factors: Sequence[float]) -> tuple[np.ndarray, float]:
    """The factor of each degree of freedom, and what followers add by their offsets."""
    made, offset = np.zeros(robot.nv), 0.0
    for joint, factor in zip(joints, factors, strict=True):
        mimic = robot.mimics.get(joint)
        made[robot.v_slices[joint]] += factor * (mimic.multiplier if mimic else 1.0)
        offset += factor * mimic.offset if mimic else 0.0
    return made.astype(object), offset


def closing(equations: Equations, constraints: Sequence[Constraint], q: np.ndarray) -> Closing:
    """The constraints of a robot on the scalars q of a graph: rows, errors, and which rows are turns."""
    robot = equations.robot
    call = resolve(robot, "inverse_dynamics")
    placed = placements(robot, constraints)
    with equations.ordered:
        model, _ = call.algorithm.in_frames(equations.model(call), {})
        seen = _at_rest(robot, model, q)
        rows = constraint_rows(seen, *placed)[0]
        error = errors(seen, placed)
        # A hinge whose axis points the other way has no error either.
        cosines = [1.0 + seen.error(c)[0][2, 2] if len(c.rows) == 5 else None for c in placed[0]]
    parts: list[tuple[slice, bool, Any]] = []
    first = 0
    for c, cosine in zip(constraints, [*cosines, *[None] * len(placed[1])], strict=True):
        turns = sum(k < 3 for k in _ROWS.get(c.kind, ()))
        for size, is_turn in ((turns, True), (c.rows - turns, False)):
            if size:
                parts.append((slice(first, first + size), is_turn, cosine if is_turn else None))
            first += size
    return Closing(rows, error, parts)


# ------------------------------------------------------------------- functions


def _dynamics(run: Callable[..., Any]) -> Callable[..., Any]:
    def made(
        robot: Robot,
        spec: Specification,
        model: Any,
        inputs: list[Any],
        placed: Placed,
        more: Mapping[str, Any],
    ) -> Any:
        return run(model, *inputs, closures=placed[0], equations=placed[1], **more)

    return made


def _inverse(
    robot: Robot, spec: Specification, model: Any, inputs: list[Any], placed: Placed, more: Mapping[str, Any]
) -> Any:
    moved = selected(robot, spec.chosen or ())
    return inverse.constrained_inverse_dynamics(
        model, *inputs, closures=placed[0], equations=placed[1], actuated=moved, **more
    )


def selected(robot: Robot, joints: Sequence[str]) -> np.ndarray:
    """A vector (nv,): one at the degrees of freedom of `joints`, else zero."""
    made = np.zeros(robot.nv)
    for joint in joints:
        made[robot.v_slices[joint]] = 1.0
    return made


def _rows(
    robot: Robot, spec: Specification, model: Any, inputs: list[Any], placed: Placed, more: Mapping[str, Any]
) -> Any:
    seen = _at_rest(robot, model, inputs[0])
    return constraint_rows(seen, *placed)[0]


def _bias(
    robot: Robot, spec: Specification, model: Any, inputs: list[Any], placed: Placed, more: Mapping[str, Any]
) -> Any:
    q, qd = inputs
    return constraint_rows(Seen(model, q, qd, qd * 0.0), *placed)[1]


def _error(
    robot: Robot, spec: Specification, model: Any, inputs: list[Any], placed: Placed, more: Mapping[str, Any]
) -> Any:
    return errors(_at_rest(robot, model, inputs[0]), placed)


def errors(seen: Seen, placed: Placed) -> np.ndarray:
    """By how much constraints are violated (m,), closures first."""
    parts: list[Any] = []
    for c in placed[0]:
        turned, away = seen.error(c)
        if not c.is_point:
            if len(c.rows) == 6:
                parts += log3(Traced(turned)).scalars.tolist()
            else:
                parts += [turned[2, 1], -turned[2, 0]]
        parts += away.tolist()
    parts += [equation_error(seen, e) for e in placed[1]]
    made = np.empty(len(parts), dtype=object)
    made[:] = parts
    return made


def _step(
    robot: Robot, spec: Specification, model: Any, inputs: list[Any], placed: Placed, more: Mapping[str, Any]
) -> Any:
    """(dq, error): the least step that closes loops to first order, with the joints that may move."""
    rows = _rows(robot, spec, model, inputs, placed, more)
    error = _error(robot, spec, model, inputs, placed, more)
    return dense.least_step(rows, error, selected(robot, spec.chosen or ())), error


def _at_rest(robot: Robot, model: Any, q: np.ndarray) -> Seen:
    still = np.full(robot.nv, 0.0, dtype=object)
    return Seen(model, q, still, still)


_EQUATIONS: dict[str, Callable[..., Any]] = {
    "constrained_dynamics": _dynamics(dense.constrained_dynamics),
    "constrained_dynamics_derivatives": _dynamics(derivatives.constrained_dynamics_derivatives),
    "impulse_dynamics": _dynamics(dense.impulse_dynamics),
    "constrained_inverse_dynamics": _inverse,
    "constraint_error": _error,
    "constraint_jacobian": _rows,
    "constraint_bias": _bias,
    "closing_step": _step,
}
_KINEMATIC = ("constraint_error", "constraint_jacobian", "constraint_bias", "closing_step")


def contacts_of(robot: Robot, contacts: Any, where: str) -> tuple[Constraint, ...]:
    """Contacts of a call as constraints, checked."""
    from ..robot.constraint import check, point

    if isinstance(contacts, (str, Constraint)) or not hasattr(contacts, "__iter__"):
        raise PhalanxError(
            f'{where}: contacts is {shown(contacts)}, expected several such as ("lf_foot", "rf_foot").'
        )
    made = []
    for each in contacts:
        if not isinstance(each, (str, Constraint)):
            raise PhalanxError(
                f"{where}: contacts has {shown(each)}, expected names of frames, or what px.constraint makes."
            )
        c = point(each) if isinstance(each, str) else each
        if isinstance(each, str) and each in robot.frames and robot.frames[each].link < 0:
            moving = [name for name, frame in robot.frames.items() if frame.link >= 0]
            raise PhalanxError(
                f'{where}: contact "{each}" is on a link of the world of robot "{robot.name}", which does '
                f"not move; frames that do: {listing(moving)}."
            )
        check(robot, c, where)
        made.append(c)
    if len(set(made)) < len(made):
        twice = next(c.name for k, c in enumerate(made) if c in made[:k])
        raise PhalanxError(f'{where}: contact "{twice}" is given twice; name each once.')
    return tuple(made)
