# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.inverse_kinematics`: the arguments of a call, checked, and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, prod
from typing import Any, NamedTuple

import numpy as np

from ..arrays import common_batch, empty_result, memory_for, real_array, require_shape
from ..backends.base import available_threads, positive, require_few_axes
from ..backends.native import availability, refill
from ..constraints.clearances import function_of as distances_of
from ..errors import PhalanxError, nearest, shown
from ..program.interpret import interpret
from ..program.passes.nonfinite import spread
from ..program.trace import TooLongError
from ..robot.collision import Pair
from ..robot.robot import Robot
from ..tracing.distances import pairs_of
from ..typing import Array
from .iteration import (
    BOX,
    CLEARANCE,
    COUNT,
    ERROR,
    FACTS,
    RIGID,
    SETTINGS,
    SLACK,
    SOLVED,
    START,
    TARGETS,
    TRIES,
    Iteration,
    Problem,
    Q,
    inside,
    program,
    sequence,
    windows,
)
from .target import AXIS, MASS_CENTER, PARTS, POINT, POSE, SHAPES, FrameTarget

WHERE = "inverse_kinematics"
_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
# The smallest tolerance: what the arithmetic of a kinematics pass keeps, with two digits to spare.
_LEAST = {_DOUBLE: 1e-13, _SINGLE: 1e-5}
_RIGID = 1e-4  # by which the rotation of a pose may differ from one
_NUMBERS = 4096  # first points of the sequence of starts
_MOST = 1 << 24  # tries, and iterations of one
_DISTINCT = 1e-3  # rad or m between solutions that count as two
_POSES = 256  # in which pairs that are never apart show
_CHUNK = 1 << 16  # starts of `all` at once


class Solutions(NamedTuple):
    """The result of `robot.inverse_kinematics`."""

    q: Array  # (…, nq): where not converged, the nearest found
    converged: Array  # (…): whether all errors are within the tolerance
    error: Array  # (…, k): rotation vectors [rad] and distances [m] that are left, target by target
    iterations: Array  # (…), of all tries
    all: Array | None = None  # (…, m, nq): every distinct solution found, then NaN


@dataclass(frozen=True)
class Numbers:
    """The arrays of a call: targets side by side (…, n), and all else by name."""

    problem: Problem
    targets: list[np.ndarray]
    dtype: np.dtype
    batches: dict[str, tuple[int, ...]]


def inverse_kinematics(
    robot: Robot,
    targets: Any,
    q0: Any = None,
    *,
    tolerance: Any = 1e-6,
    seeds: Any = 32,
    rng: Any = 0,
    limits: Any = True,
    rest: Any = None,
    weights: Any = None,
    position_only: Any = False,
    iterations: Any = 100,
    threads: Any = None,
    cost: Any = None,
    all: Any = False,
    collisions: Any = None,
    clearance: Any = 0.0,
    box: Any = None,
) -> Solutions:
    """`Robot.inverse_kinematics`, as `robot/api.py` declares it; `box` (…, 2, nq) are more limits."""
    for name, value in (("limits", limits), ("position_only", position_only), ("all", all)):
        require_flag(name, value)
    for name, value in (("seeds", seeds), ("iterations", iterations)):
        _require_count(name, value)
    numbers = read(robot, targets, weights, position_only=position_only, limits=limits)
    if rest is not None and cost is not None:
        raise PhalanxError(
            f"{WHERE}: got both rest and cost, expected one; add robot.difference(rest, q) to the cost."
        )
    if cost is not None and not callable(cost):
        raise PhalanxError(f"{WHERE}: cost is {shown(cost)}, expected a function such as cost(q, robot).")
    more = {"q0": q0, "rest": rest, BOX: box}
    given = {
        name: _array(robot, name, value, (2, robot.nq) if name == BOX else (robot.nq,))
        for name, value in more.items()
        if value is not None
    }
    problem = Problem(
        robot,
        numbers.problem.targets,
        numbers.problem.weights,
        limits,
        rest is not None,
        cost,
        box is not None,
        _pairs(robot, collisions, clearance),
    )
    every = [*numbers.targets, *given.values()]
    dtype = _SINGLE if every and {a.dtype for a in every} == {_SINGLE} else _DOUBLE
    if not (isinstance(tolerance, (int, float, np.number)) and not isinstance(tolerance, bool)):
        raise PhalanxError(f"{WHERE}: tolerance is {shown(tolerance)}, expected a number such as 1e-6.")
    if not (_LEAST[dtype] <= float(tolerance) < np.pi):
        raise PhalanxError(
            f"{WHERE}: tolerance is {tolerance:g}, expected at least {_LEAST[dtype]:g} (rad and m), which "
            f"{dtype} holds, and less than a half turn; "
            + ("pass tolerance=1e-4, or float64 targets." if dtype == _SINGLE else "1e-6 suits most arms.")
        )
    batches = dict(numbers.batches)
    for name, array in given.items():
        batches[name] = array.shape[: array.ndim - (2 if name == BOX else 1)]
    require_few_axes(WHERE, batches)
    batch = common_batch(batches, WHERE, f' for robot "{robot.name}"')
    count = available_threads() if threads is None else positive(threads, f"{WHERE}: threads")
    first = _first(rng)
    with memory_for(WHERE, "take the targets in several batches"):
        code = compiled(replace(problem, pairs=()), dtype)
        settings = np.array([float(tolerance), seeds, iterations, first], dtype)
        inputs = {TARGETS: joined(numbers.targets, problem, batch, dtype), SETTINGS: settings}
        inputs |= {name: a.astype(dtype, copy=False) for name, a in given.items() if name != "q0"}
        start = given.get("q0")
        if start is None:
            start = starts(problem, np.array(float(first)))
        made = _run(
            code, {START: start.astype(dtype, copy=False), **inputs}, batch, seeds * iterations, count
        )
        _require_rigid(robot, numbers, made.facts[..., RIGID])
        if problem.pairs:
            inputs[CLEARANCE] = np.array([float(clearance)], dtype)
            made = _kept_apart(problem, inputs, batch, made, seeds * iterations, count)
            code = compiled(problem, dtype) if all else code
        found = None
        if all:
            found = _every(code, inputs, batch, made, (seeds, iterations, first), count)
    return Solutions(made.q, made.facts[..., SOLVED] > 0.5, made.error, _whole(made.facts[..., COUNT]), found)


def read(
    robot: Robot,
    targets: Any,
    weights: Any = None,
    *,
    position_only: bool = False,
    limits: bool = True,
    where: str = WHERE,
) -> Numbers:
    """The problem that targets state, and their numbers."""
    if robot.nv == 0:
        raise PhalanxError(f'{where}: robot "{robot.name}" has no joint that moves.')
    if not isinstance(targets, Mapping) or not targets:
        raise PhalanxError(
            f"{where}: targets are {shown(targets)}, expected a dict such as "
            f'{{"{robot.frame_names[-1]}": pose}}.'
        )
    rows: list[tuple[str, FrameTarget]] = []
    arrays: list[np.ndarray] = []
    batches: dict[str, tuple[int, ...]] = {}
    for name, value in targets.items():
        if name != MASS_CENTER or name in robot.frames:
            robot.frame(name)
        for each in _several(value):
            kind, array = _target(robot, name, each, position_only, where)
            if (name, kind.key) in ((n, k.key) for n, k in rows):
                raise PhalanxError(
                    f'{where}: "{name}" has two targets of the kind {kind.kind}; pass one of them.'
                )
            core = len(SHAPES[kind.kind])
            rows.append((name, kind))
            arrays.append(array)
            batches[f'target of "{name}"' + f" ({kind.kind})" * (len(_several(value)) > 1)] = array.shape[
                : array.ndim - core
            ]
    dtype = _SINGLE if {a.dtype for a in arrays} == {_SINGLE} else _DOUBLE
    problem = Problem(robot, tuple(rows), _weights(rows, weights), limits)
    return Numbers(problem, arrays, dtype, batches)


def compiled(problem: Problem, dtype: np.dtype) -> Code:
    """The code of a problem, made at its first call."""
    key = (WHERE, problem.key, dtype)
    return problem.robot._memoized(key, lambda: Code(problem, dtype))


class Code:
    """A problem's program, compiled, or interpreted where there is no compiler."""

    def __init__(self, problem: Problem, dtype: np.dtype) -> None:
        self.problem, self.dtype = problem, dtype
        robot = problem.robot
        try:
            self.program = program(problem, dtype)
            self.moves = Iteration(problem, dtype).moves
        except TooLongError:
            raise PhalanxError(
                f'{WHERE}: robot "{robot.name}" ({robot.model.n} bodies) is too long for one kernel; weld '
                "joints that need not move with robot.fix."
            ) from None
        if not self.moves.any():
            names = ", ".join(f'"{name}"' for name, _ in problem.targets)
            raise PhalanxError(f'{WHERE}: no joint of robot "{robot.name}" moves {names}.')
        self.batch: Any = None
        if availability.refusal():
            availability.warn_of_numpy()
        else:
            self.batch = refill.compiled(self.program, WHERE, dtype)

    def __call__(self, inputs: Mapping[str, np.ndarray], limit: int, threads: int) -> dict[str, np.ndarray]:
        """The outputs for inputs with one batch axis, or none where all states share them."""
        count = max(len(a) for name, a in inputs.items() if a.ndim > len(self.program.shapes[name]))
        shapes = {b.name: self.program.shapes[b.name] for b in (*self.program.inputs, *self.program.outputs)}
        # If allocation fails, outputs stay NaN.
        outs = {b.name: empty_result((count, *shapes[b.name]), self.dtype) for b in self.program.outputs}
        for a in outs.values():
            a.fill(np.nan)
        if count and self.batch is not None:
            given = [np.ascontiguousarray(inputs[b.name]) for b in self.program.inputs]
            cores = [len(shape) for shape in shapes.values()]
            self.batch.code.fill([*given, *outs.values()], cores, (limit,), threads)
        elif count:
            tainted = spread(self.program)
            for k in range(count):
                one = {n: a[k] if a.ndim > len(shapes[n]) else a for n, a in inputs.items()}
                for name, value in interpret(tainted, one, self.dtype, sizes=(limit,)).items():
                    outs[name][k] = value
        return outs


class SolverOutputs(NamedTuple):
    """The outputs of a run in the shape of a batch."""

    q: np.ndarray
    error: np.ndarray
    facts: np.ndarray


def _run(
    code: Code, inputs: Mapping[str, np.ndarray], batch: tuple[int, ...], limit: int, threads: int
) -> SolverOutputs:
    """Run on any batch; inputs without batch axes are shared by all states."""
    shapes, flat = code.program.shapes, {}
    for name, array in inputs.items():
        core = shapes[name]
        if array.ndim > len(core):
            array = np.broadcast_to(array, (*batch, *core)).reshape(prod(batch), *core)
        flat[name] = array
    if not any(a.ndim > len(shapes[name]) for name, a in flat.items()):
        flat[TARGETS] = np.broadcast_to(flat[TARGETS], (prod(batch), *flat[TARGETS].shape))
    made = code(flat, limit, threads)
    return SolverOutputs(*(made[name].reshape((*batch, *shapes[name])) for name in (Q, ERROR, FACTS)))


def starts(problem: Problem, number: np.ndarray) -> np.ndarray:
    """Points (…, nq) of the sequence of starts, by their numbers (…), inside the limits."""
    robot = problem.robot
    lower, upper = windows(robot)
    x = number[..., None] * sequence(robot.nq)
    q = lower + (upper - lower) * (x - np.floor(x))
    moves = compiled(problem, _DOUBLE).moves if problem.robot.nq else np.zeros(0, dtype=bool)
    still = np.where(moves, q, robot.neutral())
    bottom, top = inside(problem.bounds(), _DOUBLE)
    return np.clip(robot.normalize(still), bottom, top)


def _kept_apart(
    problem: Problem,
    inputs: Mapping[str, np.ndarray],
    batch: tuple[int, ...],
    made: SolverOutputs,
    limit: int,
    threads: int,
) -> SolverOutputs:
    """Solutions whose pairs of bodies keep their distance: those that do not are solved again, from there.

    Most solutions of most robots do, and an iteration without the pairs takes a fraction of the time.
    """
    q, error, facts = (a.reshape(prod(batch), a.shape[-1]).copy() for a in made)
    at = np.flatnonzero(facts[:, SOLVED] > 0.5)
    least = distances_of(problem.robot, problem.pairs)(q[at], threads=threads).min(axis=-1)
    at = at[~(least > inputs[CLEARANCE] + SLACK[q.dtype])]
    if len(at):
        code = compiled(problem, q.dtype)
        shapes, own = code.program.shapes, {}
        for name, a in inputs.items():
            core = shapes[name]
            own[name] = a if a.ndim == len(core) else np.broadcast_to(a, (*batch, *core))
            if a.ndim > len(core):
                own[name] = own[name].reshape(prod(batch), *core)[at]
        outs = code({**own, START: q[at]}, limit, threads)
        outs[FACTS][:, COUNT] += facts[at, COUNT]
        q[at], error[at], facts[at] = outs[Q], outs[ERROR], outs[FACTS]
    return SolverOutputs(*(a.reshape((*batch, a.shape[-1])) for a in (q, error, facts)))


# ------------------------------------------------------------------- every solution


def _every(
    code: Code,
    inputs: Mapping[str, np.ndarray],
    batch: tuple[int, ...],
    found: SolverOutputs,
    how: tuple[int, int, int],
    threads: int,
) -> np.ndarray:
    """Distinct solutions (…, m, nq): that of the call first, then those from each start alone."""
    seeds, iterations, first = how
    problem, n = code.problem, code.problem.robot.nq
    points = starts(problem, first + np.arange(float(seeds))).astype(code.dtype)
    count = prod(batch)
    flat = {
        name: np.broadcast_to(a, (*batch, *code.program.shapes[name])).reshape(
            count, *code.program.shapes[name]
        )
        for name, a in inputs.items()
        if name != SETTINGS
    }
    settings = inputs[SETTINGS].copy()
    settings[TRIES] = 1
    rows = max(1, _CHUNK // seeds)
    kept: list[np.ndarray] = []
    for begin in range(0, count, rows):
        part = {name: a[begin : begin + rows] for name, a in flat.items()}
        size = len(part[TARGETS])
        spread_out = {name: np.repeat(a, seeds, axis=0) for name, a in part.items()}
        spread_out |= {START: np.tile(points, (size, 1)), SETTINGS: settings}
        outs = code(spread_out, iterations, threads)
        made = SolverOutputs(*(outs[name].reshape(size, seeds, -1) for name in (Q, ERROR, FACTS)))
        own = found.q.reshape(count, 1, n)[begin : begin + rows]
        own_facts = found.facts.reshape(count, 1, -1)[begin : begin + rows]
        q = np.concatenate([own, made.q], axis=1)
        facts = np.concatenate([own_facts, made.facts], axis=1)
        kept.append(_distinct(problem.robot, q, facts[..., SOLVED] > 0.5))
    most = max((a.shape[1] for a in kept), default=0)
    whole = np.full((count, most, n), np.nan, code.dtype)
    begin = 0
    for a in kept:
        whole[begin : begin + len(a), : a.shape[1]] = a
        begin += len(a)
    return whole.reshape((*batch, most, n))


def _distinct(robot: Robot, q: np.ndarray, solved: np.ndarray) -> np.ndarray:
    """The solved rows (count, k, nq) that differ from all before, moved to the front, then NaN.

    Those that differ by whole turns of joints count as one.
    """
    count, k, n = q.shape
    made = np.full((count, k, n), np.nan, q.dtype)
    filled = np.zeros(count, dtype=int)
    rows, turns = np.arange(count), _turns(robot)
    for j in range(k):
        fresh = solved[:, j].copy()
        for i in range(int(filled.max(initial=0))):
            away = robot.difference(made[:, i], q[:, j])
            away[:, turns] -= 2 * np.pi * np.round(away[:, turns] / (2 * np.pi))
            away = np.abs(away).max(axis=-1)
            fresh &= ~(away < _DISTINCT)  # to what is not there, NaN, it is never near
        made[rows[fresh], filled[fresh]] = q[fresh, j]
        filled += fresh
    return made[:, : int(filled.max(initial=0))]


def _turns(robot: Robot) -> np.ndarray:
    """Whether each degree of freedom (nv,) is an angle of its own."""
    made = np.zeros(robot.nv, dtype=bool)
    for c in robot._coordinates:
        if c.kind.quaternion is None:
            width = len(c.kind.units)
            made[c.v] = [c.kind.units[k % width] == "rad" for k in range(c.v.stop - c.v.start)]
    return made


# ------------------------------------------------------------------- arguments


def _several(value: Any) -> Sequence[Any]:
    is_several = isinstance(value, (list, tuple)) and value and all(isinstance(x, FrameTarget) for x in value)
    return value if is_several else (value,)


def _target(
    robot: Robot, name: str, value: Any, position_only: bool, place: str
) -> tuple[FrameTarget, np.ndarray]:
    """A target and its numbers; plain arrays are poses or positions, by their shapes."""
    where = f'{place}: target of "{name}"'
    raw = value.value if isinstance(value, FrameTarget) else value
    array = real_array(raw, where, robot.name)
    if isinstance(value, FrameTarget):
        kind = FrameTarget(value.kind, None, value.at, value.axis)
        require_shape(array.shape, SHAPES[kind.kind], where, f' for robot "{robot.name}"')
        if kind.kind == AXIS and (array == 0.0).all(axis=-1).any():
            raise PhalanxError(
                f'{where} has a direction (0, 0, 0), expected one with a length, for robot "{robot.name}".'
            )
    elif array.shape[-2:] == (4, 4):
        kind = FrameTarget(POSE)
    elif array.shape[-1:] == (3,):
        kind = FrameTarget(POINT)
    else:
        raise PhalanxError(
            f"{where} has shape {array.shape}, expected poses (…, 4, 4) or positions (…, 3); px.target has "
            "axes and points to look at."
        )
    if name == MASS_CENTER and name not in robot.frames:
        if kind.kind != POINT or any(kind.at):
            raise PhalanxError(f"{where} is no position (…, 3); the mass centre has no orientation.")
        return FrameTarget(MASS_CENTER), array
    if kind.kind == POSE and position_only:
        return FrameTarget(POINT), np.ascontiguousarray(array[..., :3, 3])
    return kind, array


def _weights(rows: list[tuple[str, FrameTarget]], weights: Any) -> tuple[tuple[float, float], ...]:
    """Weights of turns and of distances for each target."""
    if weights is None:
        return ((1.0, 1.0),) * len(rows)
    names = [name for name, _ in rows]
    if not isinstance(weights, Mapping):
        raise PhalanxError(
            f"{WHERE}: weights are {shown(weights)}, expected a dict such as "
            f'{{"{names[0]}": (0.1, 1.0)}}: of turns and of distances.'
        )
    for name in weights:
        if name not in names:
            raise PhalanxError(f"{WHERE}: weights name {shown(name)};{nearest(name, names, what='targets')}")
    made = []
    for name in names:
        value = weights.get(name, 1.0)
        both = (value, value) if isinstance(value, (int, float, np.number)) else value
        try:
            turn, distance = map(float, both)
        except (TypeError, ValueError):
            turn = distance = np.nan
        if not (isfinite(turn) and isfinite(distance) and min(turn, distance) >= 0.0 < max(turn, distance)):
            raise PhalanxError(
                f'{WHERE}: the weight of "{name}" is {shown(value)}, expected a positive number, or two, of '
                "turns and of distances, not both zero."
            )
        made.append((turn, distance))
    used = [w[at] for w, (_, kind) in zip(made, rows, strict=True) for _, at in PARTS[kind.kind]]
    if not any(used):
        raise PhalanxError(f"{WHERE}: all weights of what is asked for are zero.")
    return tuple(made)


def _pairs(robot: Robot, collisions: Any, clearance: Any) -> tuple[Pair, ...]:
    """The pairs of bodies that shall keep a distance."""
    is_number = isinstance(clearance, (int, float, np.number)) and not isinstance(clearance, bool)
    if not is_number or not 0.0 <= clearance < np.inf:
        raise PhalanxError(
            f"{WHERE}: clearance is {shown(clearance)}, expected metres, not below zero, such as 0.01."
        )
    if collisions is None or collisions is False:
        if clearance:
            raise PhalanxError(
                f"{WHERE}: got clearance={clearance:g} without collisions; pass pairs of bodies, or "
                "collisions=True for capsules around all visuals."
            )
        return ()
    if collisions is True:
        return robot._memoized("pairs of visuals that may be apart", lambda: _of_visuals(robot))
    return pairs_of(robot, collisions)


def _of_visuals(robot: Robot) -> tuple[Pair, ...]:
    """Pairs of the capsules around visuals, without those that overlap wherever the robot is."""
    pairs = pairs_of(robot, None)
    q = robot.random_state((_POSES,), np.random.default_rng(0))[0]
    apart = (distances_of(robot, pairs)(q) > 0.0).any(axis=0)
    made = tuple(pair for pair, is_apart in zip(pairs, apart, strict=True) if is_apart)
    if not made:
        raise PhalanxError(
            f'{WHERE}: capsules around the visuals of robot "{robot.name}" overlap wherever it is; pass '
            "pairs of shapes as collisions."
        )
    return made


def _array(robot: Robot, name: str, value: Any, core: tuple[int, ...]) -> np.ndarray:
    array = real_array(value, f"{WHERE}: {name}", robot.name)
    require_shape(array.shape, core, f"{WHERE}: {name}", f' for robot "{robot.name}"')
    return array


def joined(arrays: list[np.ndarray], problem: Problem, batch: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The numbers of all targets side by side (…, n)."""
    if len(arrays) == 1:
        core = SHAPES[problem.targets[0][1].kind]
        a = arrays[0]
        return a.reshape(*a.shape[: a.ndim - len(core)], prod(core)).astype(dtype, copy=False)
    made = np.empty((*batch, sum(problem.numbers)), dtype)
    first = 0
    for (_, kind), a in zip(problem.targets, arrays, strict=True):
        core = SHAPES[kind.kind]
        size = prod(core)
        made[..., first : first + size] = a.reshape(*a.shape[: a.ndim - len(core)], size)
        first += size
    return made


def _require_rigid(robot: Robot, numbers: Numbers, away: np.ndarray) -> None:
    """Raise if a pose is no rigid motion; NaN is not, and flags its state."""
    if not (away > _RIGID).any():
        return
    for (name, kind), array in zip(numbers.problem.targets, numbers.targets, strict=True):
        if kind.kind != POSE:
            continue
        R = array[..., :3, :3].astype(float)  # noqa: N806
        off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(axis=(-1, -2))
        off = np.maximum(off, np.abs(array[..., 3, :] - np.eye(4)[3]).max(axis=-1))
        off = np.maximum(off, np.abs(np.linalg.det(R) - 1.0))
        if (off > _RIGID).any():
            at = tuple(int(k) for k in np.unravel_index(int(np.nanargmax(off)), off.shape))
            which = f" at index {at if len(at) > 1 else at[0]}" if at else ""
            raise PhalanxError(
                f'{WHERE}: the target of "{name}"{which} is no rigid motion (its rotation is off by '
                f'{off[at]:.2g}) for robot "{robot.name}"; expected '
                "[[R, p], [0, 1]] with R @ R.T = 1 and det R = 1."
            )


def _first(rng: Any) -> int:
    if (
        isinstance(rng, bool)
        or not isinstance(rng, (int, np.integer, np.random.Generator))
        or (not isinstance(rng, np.random.Generator) and rng < 0)
    ):
        raise PhalanxError(
            f"{WHERE}: rng is {shown(rng)}, expected a seed such as 0 or a numpy.random.Generator."
        )
    return int(np.random.default_rng(rng).integers(_NUMBERS))


def require_flag(name: str, value: Any, where: str = WHERE) -> None:
    """Raise unless an option is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise PhalanxError(f"{where}: {name} is {shown(value)}, expected True or False.")


def _require_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 < value <= _MOST:
        raise PhalanxError(f"{WHERE}: {name} is {shown(value)}, expected an integer from 1 to {_MOST}.")


def _whole(count: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(count), count, 0).astype(np.int64)
