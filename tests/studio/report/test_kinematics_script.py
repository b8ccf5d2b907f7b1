# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Poses and gravity forces by the script of the page, run by Node.js, against the library's own."""

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.joints import joint_types
from reference.page_script import NODE, by_script

pytestmark = pytest.mark.skipif(NODE is None, reason="Node.js is not installed")

MIMIC = """<robot name="coupled"><link name="base"/>
<link name="a"><inertial><mass value="2"/><origin xyz="0.1 0.2 0"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><mass value="1"/><origin xyz="0.3 0 0.1"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
  <origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="k" type="revolute"><parent link="a"/><child link="b"/><axis xyz="1 1 0"/>
  <origin xyz="0.5 0 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
  <mimic joint="j" multiplier="-0.7" offset="0.3"/></joint>
</robot>"""


def robots() -> list[px.Robot]:
    kinds = [kind for kind in joint_types() if kind not in ("fixed", "floating")]
    made = [px.load("puma560"), px.load("stanford"), px.tree(8, seed=3, joints=kinds), px.load(MIMIC)]
    return [*made, px.tree(5, seed=1, joints=["revolute", "spherical"]).with_floating_base()]


@pytest.mark.parametrize("robot", robots(), ids=lambda r: r.name)
def test_the_script_moves_links_and_weighs_them_as_the_library_does(robot: px.Robot) -> None:
    q = robot.random_state(4, rng=0)[0]
    poses, forces = by_script(robot, q)
    np.testing.assert_allclose(poses, robot.forward_kinematics(q)[..., :3, :], atol=1e-12)
    np.testing.assert_allclose(forces, robot.gravity_forces(q), atol=1e-9)
