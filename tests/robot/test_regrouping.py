# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inertias regrouped for kernels: fewer numbers, the same dynamics, no digits cancelled."""

from __future__ import annotations

import pytest

import phalanx as px
from reference.sampling import agree

pytest.importorskip("llvmlite", reason="llvmlite is not installed")


def arm(place: tuple[float, float, float], which: int) -> px.Robot:
    """Three turns about z, y and x, of which one link has its mass centre elsewhere."""
    builder = px.RobotBuilder("arm")
    builder.add_link("link0")
    for k, axis in enumerate(((0, 0, 1), (0, 1, 0), (1, 0, 0)), 1):
        com = place if k == which else (0.1, 0.05, 0.2)
        builder.add_link(f"link{k}", mass=1.0 + k, com=com, inertia=(0.1, 0.12, 0.15))
        builder.add_joint(
            f"joint{k}", "revolute", f"link{k - 1}", f"link{k}", origin=(0.1, 0.2, 0.3), axis=axis
        )
    return builder.build()


@pytest.mark.filterwarnings("ignore:.*that no robot has:phalanx.PhalanxWarning")
@pytest.mark.parametrize("far", [1.0, 1e4, 1e8, 1e12])
@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("which", [1, 2, 3])
def test_kernels_agree_with_the_reference_wherever_the_mass_is(which: int, axis: int, far: float) -> None:
    place = [0.0, 0.0, 0.0]
    place[axis] = far
    robot = arm((place[0], place[1], place[2]), which)
    q, qd, qdd = robot.random_state(20, rng=1)
    for function, inputs in (("inverse_dynamics", (q, qd, qdd)), ("mass_matrix", (q,))):
        wanted = getattr(robot, function)(*inputs, backend="numpy")
        found = getattr(robot, function)(*inputs, backend="native")
        for k in range(3):  # each joint in its own measure: one may carry far more than another
            agree(found[:, k], wanted[:, k], 1e-9)


def test_regrouping_leaves_out_bodies_whose_digits_would_cancel() -> None:
    with pytest.warns(px.PhalanxWarning, match="that no robot has"):
        robot = arm((0.0, 1e8, 0.0), 2)
    m = robot.model.regrouped().inertia.m
    assert m.tolist() == [0.0, 3.0, 4.0]  # the first link's went into the world
    assert arm((0.0, 1.0, 0.0), 2).model.regrouped().inertia.m.tolist() == [0.0, 0.0, 0.0]
