# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`robot.distances`: the compiled function of the distances of some pairs."""

from __future__ import annotations

from typing import Any

from ..errors import PhalanxError, nearest
from ..robot.collision import Pair
from ..robot.robot import Robot
from ..tracing.distances import distances, pairs_of
from ..tracing.function import OwnFunction
from ..tracing.tracer import traced


def call(robot: Robot, q: Any, given: Any, out: Any, threads: int | None) -> Any:
    """`Robot.distances`, as `robot/constrained.py` declares it."""
    return function_of(robot, given)(q, out=out, threads=threads)


def function(robot: Robot, options: dict[str, Any]) -> OwnFunction:
    """`robot.function("distances", pairs=…)`: the compiled function itself."""
    for name in options:
        if name != "pairs":
            raise PhalanxError(f"distances: got {name!r};{nearest(name, ('pairs',), what='options')}")
    return function_of(robot, options.get("pairs"))


def function_of(robot: Robot, given: Any) -> OwnFunction:
    """The compiled distances (k,) of some pairs; made once."""
    key: Any = ("distances", given)
    try:
        found = robot._memo.get(key)
    except TypeError:  # lists
        key, found = None, None
    if found is None:
        found = _compiled(robot, pairs_of(robot, given))
        if key is not None:
            robot._memo[key] = found
    made: OwnFunction = found
    return made


def _compiled(robot: Robot, named: tuple[Pair, ...]) -> OwnFunction:
    def made() -> OwnFunction:
        trace = traced(robot, _Distances(named), {})
        return OwnFunction(trace, (_compiled, robot, named))

    function: OwnFunction = robot._memoized(("compiled distances", named), made)
    return function


class _Distances:
    """The function that is traced, with the name that messages have."""

    __name__ = "distances"

    def __init__(self, pairs: tuple[Pair, ...]) -> None:
        self._pairs = pairs

    def __call__(self, q: Any, robot: Any) -> Any:
        return distances(robot, q, self._pairs)
