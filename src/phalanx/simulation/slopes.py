# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Slopes of forces for implicit steps: derivatives of cheap terms, costly subexpressions taken for constants.

A slope decides over stability, not over accuracy, so that it may leave out what would cost more than a step
gains: a neural network beside a damper leaves the damper's slope whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..program.graph import live
from ..program.ir import Scalar
from ..program.ops import ADD, MUL, NEG, SUB
from ..program.passes.differentiate import CONSTANT, tangents
from ..spatial import cross
from .loads import FrameLoad

CHEAP = 96  # scalars that one slope may add to a step
_RULE = 3  # scalars of the derivative of an operation, about
_SUMS = (ADD, SUB, NEG)


class Slopes:
    """Slopes -d result / d variable of a function's results, each by one variable; never negative."""

    def __init__(self, results: list[Any], constant: Container[int] = ()) -> None:
        self._nodes = live(results, lambda node: () if self._is_constant(node, constant) else node.args)
        self._constant = constant

    @staticmethod
    def _is_constant(node: Scalar, constant: Container[int]) -> bool:
        return node.op in CONSTANT or node.number in constant

    def __call__(self, result: Any, variable: Any) -> Any:
        """The slope -d result / d variable, no less than zero, or a number where it does not depend on it."""
        if not isinstance(result, Scalar) or not isinstance(variable, Scalar):
            return 0.0
        costs = self._costs(variable)
        if result.number not in costs:
            return 0.0
        left_out = _Choice(costs).left_out(result)
        if result.number in left_out:
            return 0.0
        constant = _Either(self._constant, left_out) if left_out else self._constant
        (slope,) = tangents([result], {variable.number: 1.0}, constant)
        return result.graph.maximum(-slope, 0.0)

    def moves(self, results: Iterable[Any], variable: Any) -> bool:
        """Whether one of some results depends on a variable other than through functions of the robot."""
        if not isinstance(variable, Scalar) or variable.number in self._constant:
            return False
        costs = self._costs(variable)
        return any(isinstance(x, Scalar) and x.number in costs for x in results)

    def _costs(self, variable: Scalar) -> dict[int, int]:
        """The cost of the derivative of each node that depends on a variable, with all below it."""
        costs = {variable.number: 0}
        for node in self._nodes:
            if node.number in costs or self._is_constant(node, self._constant):
                continue
            moving = [costs[a.number] for a in node.args if isinstance(a, Scalar) and a.number in costs]
            if moving:
                costs[node.number] = min(sum(moving) + _own_cost(node, len(moving)), 10 * CHEAP)
        return costs


def _own_cost(node: Scalar, moving: int) -> int:
    """Scalars in the derivative of an operation, `moving` of whose operands depend on the variable."""
    if node.op in _SUMS:
        return moving - 1
    if node.op is MUL and any(not isinstance(a, Scalar) for a in node.args):
        return 1
    return _RULE


@dataclass(frozen=True)
class _Either:
    """The union of two collections, for membership tests."""

    one: Container[int]
    other: Container[int]

    def __contains__(self, number: object) -> bool:
        return number in self.one or number in self.other


@dataclass
class _Choice:
    """Which nodes are taken for constants, so that the rest is cheap."""

    costs: dict[int, int]
    chosen: set[int] = field(default_factory=set)

    def left_out(self, result: Scalar) -> set[int]:
        """The costly subexpressions of a result."""
        self._spend(result, CHEAP)
        return self.chosen

    def _spend(self, node: Scalar, budget: int) -> None:
        """Choose below a node so that its derivative is within a budget."""
        while True:
            if self.costs[node.number] <= budget:
                return
            if budget <= 0:
                self.chosen.add(node.number)
                return
            if node.op in _SUMS:
                self._spend_on_sum(node, budget)
                return
            moving = [a for a in node.args if isinstance(a, Scalar) and a.number in self.costs]
            budget = (budget - _RULE) // len(moving)
            for a in moving[1:]:
                self._spend(a, budget)
            node = moving[0]

    def _spend_on_sum(self, node: Scalar, budget: int) -> None:
        """Keep the cheapest terms of a sum; those of about the same cost, as units of a network, together."""
        classes: dict[int, list[Scalar]] = defaultdict(list)
        for term in self._terms(node):
            classes[self.costs[term.number].bit_length()].append(term)
        for _, terms in sorted(classes.items()):
            cost = sum(self.costs[term.number] + 1 for term in terms)
            if cost <= budget:
                budget -= cost
            elif len(terms) == 1:
                self._spend(terms[0], budget)
                budget = 0
            else:
                self.chosen.update(term.number for term in terms)
                budget = 0

    def _terms(self, node: Scalar) -> list[Scalar]:
        """The terms of nested sums that depend on the variable."""
        found: dict[int, Scalar] = {}
        stack = [node]
        while stack:
            one = stack.pop()
            if one.number not in found:
                found[one.number] = one
                if one.op in _SUMS:
                    stack.extend(a for a in one.args if isinstance(a, Scalar) and a.number in self.costs)
        return [one for one in found.values() if one.op not in _SUMS]


# ------------------------------------------------------------------------ of users' wrenches

# Implicit steps take wrenches that users write as they are at the end of the step. Of a wrench on a frame the
# diagonal of its slopes is used: how each component, along the axes of the base, falls with the same
# component of the frame's velocity and position, and how its joint force falls with that joint's own
# coordinate and rate. What lies beside the diagonal stays explicit.


ORIGIN = (0.0, 0.0, 0.0)


def yielding(load: FrameLoad, q: Any, qd: Any, robot: Any, h: float) -> FrameLoad:
    """The load with the diagonals of its wrench's damping and stiffness; unchanged if they are zero."""
    frame = load.frame
    if robot.frames[frame].link < 0:  # of the world
        return load
    pose, velocity = (x.scalars for x in (robot.frame_pose(q, frame), robot.frame_velocity(q, qd, frame)))
    rotation = pose[:3, :3]
    wrench = np.concatenate([rotation @ load.wrench[:3], rotation @ load.wrench[3:]])
    slope = Slopes(wrench.tolist(), robot._results)
    damping = [_slope(slope, wrench[k], velocity[k]) for k in range(6)]
    stiffness = [0.0, 0.0, 0.0, *(_slope(slope, wrench[3 + k], pose[k, 3]) for k in range(3))]
    size = [h * d + h * h * k for d, k in zip(damping, stiffness, strict=True)]
    if all(not isinstance(x, Scalar) and x == 0.0 for x in size):
        return load
    spin, v = velocity[:3], velocity[3:]
    swept = cross(spin, v)  # the part of its acceleration that no rate of the frame's twist explains
    axes = np.eye(3, dtype=object)
    pull = [-(h * stiffness[3 + k] * v[k] + size[3 + k] * swept[k]) for k in range(3)]
    return replace(
        load,
        forces=((ORIGIN, np.array(pull, dtype=object)),),
        along=tuple((size[3 + k], ((ORIGIN, axes[k]),)) for k in range(3)),
        turning=tuple((size[k], axes[k]) for k in range(3)),
    )


def _slope(slope: Slopes, result: Any, variable: Any) -> Any:
    """The slope -d result / d variable of a variable that may be the negative of a node."""
    if isinstance(variable, Scalar) and variable.op is NEG:
        return slope(-result, variable.args[0])
    return slope(result, variable)


def in_joints(load: FrameLoad, q: Any, qd: Any, coordinates: Any, robot: Any) -> list[np.ndarray]:
    """Stiffness and damping of a wrench in each joint, by the joint's own coordinate and rate, (nv,) both."""
    nv = len(qd.scalars)
    slope = Slopes(load.wrench.tolist(), robot._results)
    made = [np.zeros(nv, dtype=object), np.zeros(nv, dtype=object)]
    for own, values, at in zip(made, (q, qd), (coordinates, range(nv)), strict=True):
        moving = [
            (i, values.scalars[k])
            for i, k in enumerate(at)
            if k is not None and slope.moves(load.wrench.tolist(), values.scalars[k])
        ]
        if not moving:
            continue
        jacobian = robot.jacobian(q, load.frame).scalars
        rotation = robot.frame_pose(q, load.frame).scalars[:3, :3]
        wrench = np.concatenate([rotation @ load.wrench[:3], rotation @ load.wrench[3:]])
        forces = {i: sum(jacobian[:, i] * wrench) for i, _ in moving}
        in_joint = Slopes(list(forces.values()), robot._results)
        for i, variable in moving:
            own[i] = in_joint(forces[i], variable)
    return made
