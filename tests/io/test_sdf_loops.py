# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Graphs of SDF whose joints close loops: a tree, and constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.constrained import loop_state

BAR = """<link name="{name}"><pose>{pose}</pose><inertial><pose>0.15 0 0.01 0 0 0</pose><mass>{mass}</mass>
<inertia><ixx>0.003</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></inertial></link>"""
JOINT = """<joint name="{name}" type="{kind}"><parent>{parent}</parent>
<child>{child}</child><pose>{pose}</pose>
<axis><xyz>0 1 0</xyz></axis></joint>"""


def four_bar(kind: str = "revolute", turned: bool = False) -> str:
    """A square of bars of 0.3 m beside the world; the last joint holds the end of the last bar."""
    links = [("a", "0 0 0 0 -1.5707963267948966 0", 1), ("b", "0 0 0.3 0 0 0", 2)]
    links += [("c", "0.3 0 0.3 0 1.5707963267948966 0", 3)]
    joints = [("ja", "revolute", "world", "a", ""), ("jb", "revolute", "a", "b", "")]
    joints += [("jc", "revolute", "b", "c", "")]
    end = (
        ("end", kind, "c", "a", "0 0 -0.3 0 0.2 0")
        if turned
        else ("end", kind, "world", "c", "0.3 0 0 0 0.2 0")
    )
    joints.append(end)
    text = "".join(BAR.format(name=n, pose=p, mass=m) for n, p, m in links)
    text += "".join(JOINT.format(name=n, kind=k, parent=p, child=c, pose=at) for n, k, p, c, at in joints)
    return f'<sdf version="1.9"><model name="square">{text}</model></sdf>'


@pytest.mark.parametrize(("kind", "rows"), [("revolute", 5), ("ball", 3), ("fixed", 6)])
def test_a_joint_that_closes_a_loop_is_a_constraint(kind: str, rows: int) -> None:
    with pytest.warns(px.PhalanxWarning, match='1 loop .*"end: world to c".*kept as robot.constraints'):
        robot = px.load(four_bar(kind))
    assert robot.joint_names == ("ja", "jb", "jc")
    (constraint,) = robot.constraints
    assert constraint.rows == rows
    assert np.abs(robot.constraint_error(robot.neutral())).max() < 1e-12


@pytest.mark.filterwarnings("ignore:.*loop:phalanx.PhalanxWarning")
def test_the_loop_moves_as_one_that_is_closed_by_hand() -> None:
    robot = px.load(four_bar())
    tree = px.load(four_bar().split('<joint name="end"')[0] + "</model></sdf>")
    end = px.constraint.point("c", at=(0.3, 0.0, 0.0), offset=(0.3, 0.0, 0.0))
    by_hand = tree.with_constraint(end)
    q, qd = loop_state(by_hand, start=np.array([0.2, -0.2, 0.2]))
    assert np.abs(robot.constraint_error(q)).max() < 1e-9
    tau = np.array([1.0, -2.0, 0.5])
    own, other = (r.constrained_dynamics(q, qd, tau).qdd for r in (robot, by_hand))
    assert np.allclose(own, other, atol=1e-8)
    assert np.abs(own).max() > 1.0


def test_a_link_that_carries_the_parent_of_a_joint_closes_a_loop(recwarn: Any) -> None:
    robot = px.load(four_bar(turned=True))
    assert [(x.predecessor, x.successor) for x in robot.loops] == [("c", "a")]
    assert any("1 loop" in str(w.message) for w in recwarn)


@pytest.mark.filterwarnings("ignore:.*loop:phalanx.PhalanxWarning")
def test_loops_survive_saving(tmp_path: Any) -> None:
    robot = px.load(four_bar())
    robot.save(tmp_path / "square.json")
    assert px.load(tmp_path / "square.json").constraints == robot.constraints
