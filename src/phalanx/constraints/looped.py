# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Constrained dynamics as loops over bodies: code whose size does not depend on the number of links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..algorithms.constrained.articulated import constrained_articulated
from ..algorithms.constrained.closures import PlacedClosure
from ..algorithms.registry import Algorithm
from ..errors import PhalanxError
from ..program.ir import Program
from ..program.rolled import roll
from ..program.task import TraceTask, refusal_of_loops
from ..robot.description import Constraint
from ..robot.frames import Placement
from ..robot.robot import Robot
from ..tracing.traces import Shape, Trace

# Where "auto" takes loops (benchmarks/constraints.py): rings from twelve links on, no quadruped or humanoid.
# These are wide: straight-line code has their zeros folded.
_FEWEST, _MANY = 12, 100  # bodies: below these never, from those on always
_RATIO = 1.5  # of the sum of squared depths, the work of a dense factor, to n m^2, that of articulated bodies
_ROWS = 48  # of constraints: their wrenches are carried from body to body, in registers as far as these go
_FUNCTION = "forward_dynamics"


def refusal(robot: Robot, constraints: Sequence[Constraint]) -> str:
    """Why articulated bodies do not cover a robot with some constraints; empty if they do."""
    for c in constraints:
        if c.kind in ("coupling", "tendon"):
            return f'constraint "{c.name}" is an equation between coordinates'
    if robot.is_coupled:
        return "mimic joints follow other joints"
    if (rows := sum(c.rows for c in constraints)) > _ROWS:
        return f"there are {rows} rows of constraints, more than {_ROWS}"
    return refusal_of_loops(_ALGORITHM, robot.model)


def is_looped(robot: Robot, constraints: Sequence[Constraint], algorithm: Any) -> bool:
    """Whether a choice of an algorithm means articulated bodies; raise if they do not cover the robot."""
    if algorithm == "dense":
        return False
    reason = refusal(robot, constraints)
    if algorithm == "auto":
        return not reason and _is_deep(robot, constraints)
    if algorithm != "articulated":
        raise PhalanxError(
            f'constrained_dynamics: algorithm is {algorithm!r}, expected "auto", "dense" or "articulated".'
        )
    if reason:
        raise PhalanxError(
            f'constrained_dynamics: algorithm "articulated" does not cover robot "{robot.name}": {reason}; '
            'use algorithm "dense".'
        )
    return True


def _is_deep(robot: Robot, constraints: Sequence[Constraint]) -> bool:
    """Whether articulated bodies take less time than dense factors, by counts."""
    n, rows = robot.model.n, sum(c.rows for c in constraints)
    if not _FEWEST <= n < _MANY:
        return n >= _MANY
    depth = 1.0 + robot.model.depth
    return 2.0 * float(depth.max()) > n and float(depth @ depth) > _RATIO * n * rows * rows


def looped(
    robot: Robot,
    closures: Sequence[PlacedClosure],
    sizes: Mapping[str, Shape],
    optional: tuple[str, ...],
    results: Mapping[str, Shape],
) -> Program:
    """The program of constrained dynamics in loops over the bodies of a robot."""
    inputs = {name: size for name, size in sizes.items() if name not in optional}
    more = {name: sizes[name] for name in optional}
    return roll(TraceTask(_ALGORITHM, robot.model, inputs, results, more, {"closures": closures})).built()


def _on_one_body(
    model: Any, q: Any, qd: Any, tau: Any, *, closures: Sequence[PlacedClosure], **more: Any
) -> tuple[Any, Any]:
    """`constrained_articulated` on the symbolic body, which sees its own part of where frames are."""
    if "damping" in more:
        more["damping"] = more["damping"][()]
    seen = [replace(c, a=_seen(model, c.a), b=_seen(model, c.b)) for c in closures]
    return constrained_articulated(model, q, qd, tau, closures=seen, **more)


def _seen(model: Any, frame: Placement) -> Placement:
    at, moves = (model.source.graph.params(a.astype(float)) for a in (frame.at, frame.moves))
    return replace(frame, at=at, moves=moves)


_ALGORITHM = Algorithm("articulated", _FUNCTION, _on_one_body, "Popov, Vereshchagin, Zenkevich 1978")


@dataclass(frozen=True, eq=False)
class LoopTrace(Trace):
    """A function whose program is loops; `written` is its straight-line code, for derivatives."""

    loops: Program | None = None
    written: Callable[[], Trace] | None = None

    @classmethod
    def of(
        cls,
        robot: Robot,
        name: str,
        loops: Program,
        sizes: Mapping[str, Shape],
        results: Mapping[str, Shape],
        **more: Any,
    ) -> LoopTrace:
        """The function of a program; arrays without numbers have the shapes of its inputs and results."""
        symbols = {n: np.empty(shape, dtype=object) for n, shape in sizes.items()}
        made = {n: np.empty(shape, dtype=object) for n, shape in results.items()}
        return cls(robot, name, symbols, frozenset({"q"}), made, loops=loops, **more)

    def program(self, *, joined: bool = False) -> Program:
        """The loops; there are few results, so that none are joined."""
        assert self.loops is not None
        return self.loops

    @cached_property
    def _dense(self) -> Trace:
        assert self.written is not None
        return self.written()

    def jvp(self, wrt: Sequence[str]) -> Trace:
        return self._dense.jvp(wrt)

    def vjp(self, of: Sequence[str], wrt: Sequence[str]) -> Trace:
        return self._dense.vjp(of, wrt)

    def hvp(self, of: Sequence[str], wrt: Sequence[str], along: Sequence[str] | None = None) -> Trace:
        return self._dense.hvp(of, wrt, along)

    def jacobian(self, of: str, wrt: str) -> Trace:
        return self._dense.jacobian(of, wrt)

    def jacobians(self, wrt: Sequence[str]) -> Trace:
        return self._dense.jacobians(wrt)
