# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots with loops, by hand and of MuJoCo's format."""

from __future__ import annotations

from typing import Any

import numpy as np

import phalanx as px

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")


def four_bar(closure: str = "axis", base: float = 0.6) -> px.Robot:
    """A flat four-bar in space: three hinges about y from the ground at 0, the fourth `base` m beside it.

    Closed by "axis" it has three redundant rows, by "slot" (two equations of the plane) none.
    """
    b = px.RobotBuilder("four-bar")
    b.add_link("ground")
    lengths = (0.3, 0.5, 0.4)
    parent, at = "ground", (0.0, 0.0, 0.0)
    for k, length in enumerate(lengths):
        b.add_link(
            f"bar{k}",
            mass=1.0 + k,
            com=(length / 2, 0.01, 0.02),
            inertia=(0.003, 0.02 + 0.01 * k, 0.02 + 0.01 * k),
        )
        b.add_joint(f"hinge{k}", "revolute", parent, f"bar{k}", axis=(0.0, 1.0, 0.0), origin=at)
        parent, at = f"bar{k}", (length, 0.0, 0.0)
    b.add_frame("tip", parent, at)
    robot = b.build()
    kinds = {
        "axis": px.constraint.axis("tip", axis=(0.0, 1.0, 0.0), at=(base, 0.0, 0.0), name="pin"),
        "point": px.constraint.point("tip", at=(base, 0.0, 0.0), name="pin"),
    }
    return robot.with_constraint(kinds[closure]) if closure else robot


def ring(n: int, closure: str = "weld", seed: int = 0) -> px.Robot:
    """A chain closed to a ring: its last link stays where it is at some configuration."""
    chain = px.chain(n, seed=seed)
    q = chain.random_state(rng=seed)[0]
    tip = chain.link_names[-1]
    pose = chain.frame_pose(q, tip)
    if closure == "weld":
        return chain.with_constraint(px.constraint.weld(tip, at=pose))
    return chain.with_constraint(px.constraint.point(tip, at=pose[:3, 3]))


def loop_state(robot: px.Robot, seed: int = 0, start: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """A configuration on the loops near a given or random one, and rates along them."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        closed = robot.close_loops(robot.random_state(rng=rng)[0] if start is None else start)
        if closed.converged:
            break
    assert closed.converged
    J = robot.constraint_jacobian(closed.q)
    free = rng.normal(size=robot.nv)
    return closed.q, free - np.linalg.pinv(J, rcond=1e-9) @ (J @ free)
