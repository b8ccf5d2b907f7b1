# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a loop over bodies cannot do is refused while it is recorded, with the backend that can."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import Algorithm, find
from phalanx.program.interpret import interpret
from phalanx.program.rolled import roll
from phalanx.program.rolled.bodies.body import twist_owners
from phalanx.program.rolled.segments.roll import roll_segments
from phalanx.program.task import TraceTask
from phalanx.robot.model import Model, joint_kinematics
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import (
    eliminate,
    fold,
    ordering,
    parent,
    pick,
    propagate,
    relay,
    segments,
    substitute,
    unit,
)
from reference.rolling import kernel
from reference.sampling import agree

CHAIN = px.chain(9)
BALLS = px.tree(3, 0.0, seed=1, joints=("spherical",))


def task(run: Any, robot: px.Robot = CHAIN, **more: Any) -> TraceTask:
    """What an algorithm of a test would have to compute: a number for each degree of freedom."""
    made = Algorithm("probe", "bias_forces", run, source="", **more)
    return TraceTask(made, robot.model, {"q": (robot.nq,), "qd": (robot.nv,)}, {"tau": (robot.nv,)})


def levels_of_single_links(model: Model, q: Any, qd: Any) -> Any:
    ((x,), *_) = relay([[(1, 0)]], (model.bodies(qd),), lambda x, y: (x + y,))
    return x


def several_right_hand_sides(model: Model, q: Any, qd: Any) -> Any:
    L = eliminate(find("mass_matrix", "crba").run(model, q))
    return substitute(L[..., None, :, :], 2.0 * unit(np.ones(model.nv)))


def angles_of_other_bodies(model: Model, q: Any, qd: Any) -> Any:
    return np.sin(parent(model.bodies(qd)))[..., 0]


def scaled_rates(model: Model, q: Any, qd: Any) -> Any:
    _, S, _ = joint_kinematics(model, q)
    return S.T @ (S @ (qd * qd))


@pytest.mark.parametrize(
    ("run", "robot", "message"),
    [
        (
            levels_of_single_links,
            CHAIN,
            "relay: its levels name single links, which a loop over",
        ),
        (several_right_hand_sides, CHAIN, "substitute: rolled code solves for vectors and for the identity"),
        (
            angles_of_other_bodies,
            CHAIN,
            "the angle of a joint depends on other bodies; use the NumPy",
        ),
    ],
)
def test_what_a_loop_over_bodies_cannot_do_is_refused(run: Any, robot: px.Robot, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        roll(task(run, robot))


def test_rates_that_are_computed_move_joints_with_several_axes() -> None:
    q, qd, _ = BALLS.random_state(5, rng=0)
    agree(kernel(roll(task(scaled_rates, BALLS)))(q, qd), scaled_rates(BALLS.model, q, qd), 1e-15)


def test_axes_of_one_joint_along_one_component_are_refused() -> None:
    twice = SimpleNamespace(n=2, axis=np.eye(6)[[2, 2]], carrier=np.array([1, 1]))
    with pytest.raises(px.PhalanxError, match="two axes of one joint share a component"):
        twist_owners(twice)


def sum_that_is_not_linear(model: Model, q: Any, qd: Any) -> Any:
    (x,) = fold(lambda state: ((state[0] * state[0],), state), (model.bodies(qd),))
    return x[..., 0]


def value_inside(model: Model, q: Any, qd: Any) -> Any:
    X, S, _ = joint_kinematics(model, q)
    return S.T @ (X.T @ (propagate(X, S @ qd) + pick(model.bodies(qd), 1)))


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (sum_that_is_not_linear, "only linear and associative sweeps run in segments"),
        (value_inside, "only the last link of a segment has a value of its own"),
    ],
)
def test_what_segments_cannot_do_is_refused(run: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        roll_segments(task(run, splits="segments"))


def value_at_the_other_end(model: Model, q: Any, qd: Any) -> Any:
    """What the loop that ends at last links knows of first ones takes another loop."""
    X, S, _ = joint_kinematics(model, q)
    parts = segments(2, model.links)
    with parts.inside():
        V = propagate(X, S @ qd)
    return S.T @ parts.spread(parts.first(V))


def test_values_at_both_ends_of_segments() -> None:
    q, qd, _ = CHAIN.random_state(rng=0)
    found = interpret(
        roll_segments(replace(task(value_at_the_other_end, splits="segments"), segments=2)).built(),
        {"q": q, "qd": qd},
    )
    with ordering(Sequential(CHAIN.model.parents)):
        agree(found["out"], value_at_the_other_end(CHAIN.model, q, qd), 1e-14)
