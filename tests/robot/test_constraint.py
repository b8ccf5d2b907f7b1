# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Constraints as part of a robot: by hand, in files, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.constraint import axis, coupling, point, tendon, weld
from reference.constrained import four_bar

EVERY = (
    point("bar1", offset=(0.1, 0.0, 0.0), at=(0.2, 0.0, 0.3)),
    weld("tip", "bar0", pose=np.eye(4)),
    axis("bar2", "ground", axis=(0.0, 1.0, 0.0), at=(0.0, 0.1, 0.0)),
    coupling("hinge1", "hinge0", (0.0, -1.0, 0.5), offset=0.1),
    tendon({"hinge0": 1.0, "hinge1": -2.0}, {"hinge2": 1.0}),
)


def test_robots_have_them_and_copies_keep_them(tmp_path: Path) -> None:
    robot = four_bar("").with_constraint(*EVERY)
    assert robot.constraints == EVERY
    assert [c.rows for c in EVERY] == [3, 6, 5, 1, 1]
    assert [c.kind for c in EVERY] == ["point", "weld", "axis", "coupling", "tendon"]
    robot.save(tmp_path / "robot.json")
    for copy in (
        px.load(tmp_path / "robot.json"),
        pickle.loads(pickle.dumps(robot)),
        robot.replace(name="x"),
    ):
        assert copy.constraints == EVERY
    assert "5 constraints" in repr(robot)
    assert robot != four_bar("")


def test_loops_are_constraints() -> None:
    b = px.RobotBuilder("loop")
    for name, parent in (("a", "base"), ("b", "a")):
        if parent == "base":
            b.add_link("base")
        b.add_link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.add_joint(f"to_{name}", "revolute", parent, name)
    b.add_loop("pin", "revolute", "b", "base", axis=(1.0, 0.0, 0.0))
    b.add_loop("ball", "spherical", "b", "base")
    b.add_loop("glue", "fixed", "b", "base")
    b.add_loop("slide", "prismatic", "b", "base")
    robot = b.build()
    assert [(c.name, c.kind, c.first, c.second) for c in robot.constraints] == [
        ("pin", "axis", "b", "base"),
        ("ball", "point", "b", "base"),
        ("glue", "weld", "b", "base"),
    ]
    assert np.allclose(np.reshape(robot.constraints[0].first_pose.rotation, (3, 3))[:, 2], (1.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: point("nowhere"), r"has no frame 'nowhere'; frames:"),
        (lambda: point("tip", "bar22"), r'has no frame .bar22.; did you mean "bar2"'),
        (lambda: point("tip", "bar2"), r'both fixed to link "bar2" of robot "four-bar"'),
        (lambda: weld("ground"), r"both fixed to the world"),
        (lambda: coupling("hinge8"), r'constraint "hinge8 held": robot "four-bar" has no joint .hinge8.'),
        (lambda: coupling("hinge1", "hinge0", ()), r"polynomial is .*, expected 1 to 12 finite coefficients"),
        (lambda: weld("tip", pose=np.ones((4, 4))), r"constraint.weld: pose is no rotation and translation"),
        (lambda: weld("tip", pose=1.0), r"constraint.weld: pose is 1.0, expected a 4x4 matrix"),
        (lambda: axis("tip", axis=(0.0, 0.0, 0.0)), r"constraint.axis: axis is .*, expected a direction"),
        (lambda: point(3), r"constraint.point: first is 3, expected a name"),
        (lambda: tendon({"hinge0": "x"}), r"constraint.tendon: lengths: hinge0: got 'x', expected a number"),
        (lambda: "tip", r"got 'tip', expected what px.constraint.point"),
    ],
)
def test_what_a_robot_cannot_hold_is_refused(made: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        four_bar("").with_constraint(made())


def test_names_are_unique() -> None:
    robot = four_bar("").with_constraint(point("tip"))
    with pytest.raises(
        px.PhalanxError, match=r'has a constraint "point tip world" already; pass another name='
    ):
        robot.with_constraint(point("tip"))
