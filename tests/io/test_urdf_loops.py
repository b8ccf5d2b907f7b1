# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops of URDF+: read, told, written again; bad ones refused."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError, PhalanxWarning
from phalanx.reproducible import rotation_rpy
from phalanx.robot.description import LoopClosure

FOUR_BAR = """<robot name="bars">
<link name="ground"/><link name="a"/><link name="b"/>
<link name="c"><inertial><mass value="1"/></inertial></link>
<joint name="ja" type="revolute"><parent link="ground"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="jb" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/></joint>
<joint name="jc" type="revolute"><parent link="ground"/><child link="c"/><origin xyz="1 0 0"/></joint>
<loop name="closure" type="continuous">
  <predecessor link="b"><origin xyz="1 0 0" rpy="0.1 0.2 0.3"/></predecessor>
  <successor link="c"><origin xyz="0 0 1"/></successor><axis xyz="0 1 0"/></loop>
<loop name="older" type="fixed"><predecessor link="a"/><predecessor_origin xyz="0 1 0"/>
  <successor link="c"/></loop>
<coupling name="gears"><predecessor link="a"/><successor link="c"/><ratio value="2"/></coupling>
</robot>"""


def test_loops_of_urdf_plus_are_kept_and_told() -> None:
    with pytest.warns(PhalanxWarning) as caught:
        loaded = px.load(FOUR_BAR)
    told = [str(warning.message) for warning in caught if "loop" in str(warning.message)]
    assert len(told) == 1
    loops = '2 loops ("closure: b to c", "older: a to c"); 1 coupling ("gears").'
    assert f"{loops} The loops are kept as robot.constraints, which" in told[0]
    assert loaded.left_out == ('1 coupling ("gears")',)
    closure, older = loaded.loops
    assert (closure.type, closure.predecessor, closure.successor) == ("continuous", "b", "c")
    assert closure.predecessor_pose.rotation == rotation_rpy(0.1, 0.2, 0.3)
    assert (closure.predecessor_pose.translation, closure.axis) == ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    assert closure.successor_pose.translation == (0.0, 0.0, 1.0)
    assert older.predecessor_pose.translation == (0.0, 1.0, 0.0)
    assert loaded.nv == 3
    with pytest.warns(PhalanxWarning, match="2 loops"):
        again = px.load(loaded.to_urdf())
    for one, other in zip(again.loops, loaded.loops, strict=True):
        assert (one.name, one.type, one.predecessor, one.successor) == other_ends(other)
        np.testing.assert_allclose(one.predecessor_pose.matrix, other.predecessor_pose.matrix, atol=1e-15)
        np.testing.assert_allclose(one.successor_pose.matrix, other.successor_pose.matrix, atol=1e-15)


def other_ends(loop: LoopClosure) -> tuple[str, str, str, str]:
    return loop.name, loop.type, loop.predecessor, loop.successor


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<successor link="c"/>', "", r'loop "older" has no <successor>; expected <successor link='),
        ('type="fixed"', "", r'loop "older": <loop> has no "type" attribute'),
        ('type="fixed"', 'type="wobbly"', r'joint "older" has the type "wobbly"'),
        ('<predecessor link="a"/>', '<predecessor link="x"/>', r'predecessor is the unknown link "x"'),
    ],
)
@pytest.mark.filterwarnings("ignore::phalanx.PhalanxWarning")
def test_bad_loops_are_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(PhalanxError, match=message):
        px.load(FOUR_BAR.replace(old, new, 1))
