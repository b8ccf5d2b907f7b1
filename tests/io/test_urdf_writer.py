# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots written as URDF: read back by Pinocchio and by Phalanx they are the same robots."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from phalanx.reproducible import roll_pitch_yaw, rotation_rpy
from phalanx.robot.joints import joint_types
from reference.sampling import agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

TOLERANCE = 1e-12
SAME_COORDINATES = tuple(kind for kind in joint_types() if kind not in ("fixed", "spherical"))


def quietly(robot: px.Robot) -> str:
    """The URDF text; what it cannot hold is tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return robot.to_urdf()


def pinocchio_model(text: str, *, floating: bool = False, mimic: bool = True) -> Any:
    return pin.buildModelFromXML(text, *([pin.JointModelFreeFlyer()] if floating else []), mimic)


def pinocchio_agrees(robot: px.Robot, text: str) -> None:
    """Torques, mass matrix and the poses of all frames at random states."""
    floating = robot.description.floating_base
    model = pinocchio_model(text, floating=floating, mimic=robot.is_coupled)
    model.gravity.linear = robot.gravity.copy()
    model.armature = convert.tau_to_pinocchio(robot, model, robot.neutral(), robot.armature)
    data = model.createData()
    q, qd, qdd = robot.random_state(5, rng=3)
    pq, pv, pa = convert.to_pinocchio(robot, model, q, qd, qdd)
    tau = convert.tau_to_pinocchio(robot, model, q, robot.inverse_dynamics(q, qd, qdd))
    agree(tau, [pin.rnea(model, data, *state).copy() for state in zip(pq, pv, pa, strict=True)], TOLERANCE)
    poses = robot.frame_poses(q[:2], robot.frame_names)
    for k in range(2):
        pin.framesForwardKinematics(model, data, pq[k])
        for name, own in zip(robot.frame_names, poses[k], strict=True):
            agree(own, data.oMf[model.getFrameId(name, pin.FrameType.BODY)].homogeneous, TOLERANCE)


def phalanx_agrees(robot: px.Robot, text: str, **options: Any) -> px.Robot:
    """The robot read back, after the same comparison."""
    back = px.load(text, gravity=robot.gravity, floating_base=robot.description.floating_base, **options)
    assert (back.name, back.nq, back.nv) == (robot.name, robot.nq, robot.nv)
    assert set(robot.frame_names) <= set(back.frame_names)
    q, qd, qdd = robot.random_state(5, rng=4)
    back = back.replace(armature=robot.armature)
    agree(back.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), TOLERANCE)
    agree(back.mass_matrix(q), robot.mass_matrix(q), TOLERANCE)
    names = robot.frame_names
    agree(back.frame_poses(q, names), robot.frame_poses(q, names), TOLERANCE)
    for name, kind in zip(robot.joint_names, robot.joint_types, strict=True):
        if kind in ("planar", "floating"):
            continue  # URDF knows limits and damping of a single axis only
        for slices, keys in ((robot.q_slices, ("lower", "upper")), (robot.v_slices, ("velocity", "effort"))):
            for key in keys:
                found, wanted = (getattr(r.limits, key)[slices[name]] for r in (back, robot))
                np.testing.assert_array_equal(found, wanted, err_msg=f"{key} of {name}")
        for key in ("damping", "friction"):
            found, wanted = (getattr(r, key)[robot.v_slices[name]] for r in (back, robot))
            np.testing.assert_array_equal(found, wanted, err_msg=f"{key} of {name}")
    return back


@pytest.mark.parametrize("name", px.robots())
@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_built_in_robots_come_back_from_pinocchio_and_from_phalanx(name: str, floating: bool) -> None:
    robot = px.load(name, floating_base=floating)
    text = quietly(robot)
    pinocchio_agrees(robot, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)  # published inertias that no body has
        phalanx_agrees(robot, text)


def test_example_robots_come_back_from_pinocchio_and_from_phalanx(example_urdf: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        try:
            robot = px.load(example_urdf, mimic="independent")
        except px.PhalanxError:
            return  # refused for what it is, as Pinocchio refuses it
        text = robot.to_urdf()
        pinocchio_agrees(robot, text)
        phalanx_agrees(robot, text)


@pytest.mark.parametrize("seed", range(6))
def test_trees_of_all_joints_with_equal_coordinates_come_back_from_phalanx(seed: int) -> None:
    robot = px.tree(12, seed=seed, joints=SAME_COORDINATES)
    phalanx_agrees(robot, quietly(robot))


@pytest.mark.parametrize("seed", range(3))
def test_urdf_joints_and_screws_come_back_from_pinocchio(seed: int) -> None:
    robot = px.tree(10, seed=seed, joints=("revolute", "prismatic", "planar", "floating"))
    pinocchio_agrees(robot, quietly(robot))
    screws = px.tree(6, seed=seed, joints=("helical", "revolute"))
    read = px.load(quietly(screws))
    pinocchio_agrees(read, quietly(read))


@pytest.mark.parametrize("seed", range(3))
def test_a_spherical_joint_becomes_three_angles_of_the_same_robot(seed: int) -> None:
    robot = px.tree(5, seed=seed, joints=("spherical",))
    with pytest.warns(px.PhalanxWarning, match=r"the quaternions of .* \(three angles instead\)"):
        text = robot.to_urdf()
    back = px.load(text)
    angles = np.random.default_rng(seed).uniform(-1.4, 1.4, (4, back.nv))
    q = np.empty((4, robot.nq))
    for joint in robot.joint_names:
        z, y, x = (back.q_slices[joint + axis].start for axis in ("_z", "_y", "_x"))
        for k in range(4):
            turn = np.reshape(rotation_rpy(angles[k, x], angles[k, y], angles[k, z]), (3, 3))
            q[k, robot.q_slices[joint]] = pin.Quaternion(turn).coeffs()
    for name in robot.frame_names:
        agree(back.frame_pose(angles, name), robot.frame_pose(q, name), TOLERANCE)
    agree(back.potential_energy(angles), robot.potential_energy(q), TOLERANCE)
    model = pinocchio_model(text)
    state = convert.to_pinocchio(back, model, angles, 0 * angles, 0 * angles)
    found = [pin.rnea(model, model.createData(), *each).copy() for each in zip(*state, strict=True)]
    agree(convert.tau_to_pinocchio(back, model, angles, back.gravity_forces(angles)), found, TOLERANCE)


COUPLED = """<robot name="hand">
<link name="palm"/><link name="a">{0}</link><link name="b">{0}</link><link name="c">{0}</link>
<joint name="ja" type="revolute"><parent link="palm"/><child link="a"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.1" friction="0.2"/></joint>
<joint name="jb" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="2" effort="3" velocity="4"/><mimic joint="ja" multiplier="0.7" offset="0.1"/></joint>
<joint name="jc" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 0 1" rpy="1 2 3"/>
<limit lower="0" upper="1" effort="3" velocity="4"/><mimic joint="jb" multiplier="-0.3"/></joint>
</robot>""".format(
    '<inertial><origin xyz="0.1 0 0.2"/><mass value="1"/>'
    '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
)


def test_mimic_joints_stay_coupled_and_chains_of_them_are_resolved() -> None:
    robot = px.load(COUPLED)
    text = robot.to_urdf()
    back = phalanx_agrees(robot, text)
    assert dict(back.mimics) == dict(robot.mimics)
    # Pinocchio refuses a mimic of a mimic; what is written names the driver itself.
    model = pinocchio_model(text)
    data = model.createData()
    q, qd, qdd = robot.random_state(rng=1)
    agree(robot.inverse_dynamics(q, qd, qdd), pin.rnea(model, data, q, qd, qdd), TOLERANCE)
    assert "<mimic" not in px.load(COUPLED, mimic="independent").to_urdf()


def test_limits_that_are_none_are_written_as_numbers_and_read_as_none() -> None:
    builder = px.RobotBuilder("arm")
    for name in "abcd":
        builder.add_link(name, mass=1.0, inertia=(1, 1, 1))
    builder.add_joint("free", "revolute", "a", "b", axis=(0, 3, 4))
    builder.add_joint("half", "prismatic", "b", "c", lower=-1.0, upper=np.inf, effort=2.0)
    builder.add_joint("round", "continuous", "c", "d", velocity=5.0, damping=0.3)
    robot = builder.build()
    text = robot.to_urdf()
    assert "inf" not in text
    back = phalanx_agrees(robot, text)
    assert back.joint_types == robot.joint_types
    model = pinocchio_model(text)
    assert model.nv == 3
    assert model.lowerPositionLimit[1] == -1.0


def test_one_warning_tells_what_urdf_cannot_hold() -> None:
    robot = px.load("panda", floating_base=True, gravity=(0, 0, -1.6)).replace(armature=0.1)
    with pytest.warns(px.PhalanxWarning) as caught:
        robot.to_urdf()
    assert len(caught) == 1
    text = str(caught[0].message)
    for part in ("armature", "gravity (0.0, 0.0, -1.6)", "floating_base=True", 'robot.save("….json")'):
        assert part in text


def test_frames_that_are_no_links_become_links_and_springs_are_told() -> None:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    builder.add_link("tip", mass=1.0, inertia=(1, 1, 1))
    builder.add_joint("hinge", "revolute", "base", "tip", after=(0.0, 1.0, 0.0), stiffness=2.0)
    tool = np.array([[0.0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    builder.add_frame("tool", "tip", tool)
    robot = builder.build()
    with pytest.warns(px.PhalanxWarning, match="left out: springs"):
        text = robot.to_urdf()
    pinocchio_agrees(robot, text)
    assert "tool" in px.load(text).frame_names


def test_names_are_escaped_kept_apart_or_refused() -> None:
    def one(link: str, joint: str) -> px.Robot:
        builder = px.RobotBuilder("<r & s>")
        for name in ("base", "tip_axis", link):
            builder.add_link(name, mass=1.0, inertia=(1, 1, 1))
        builder.add_joint(joint, "revolute", "base", link, after=(1.0, 0.0, 0.0))
        builder.add_joint("weld", "fixed", link, "tip_axis")
        return builder.build()

    for link, joint in (('a "quoted" <link>\n\t', "j'"), ("tip", "tip_frame")):
        robot = one(link, joint)
        back = px.load(robot.to_urdf())
        assert set(robot.frame_names) < set(back.frame_names)
        assert back.joint_names == robot.joint_names
        assert back.name == "<r & s>"
    with pytest.raises(
        px.PhalanxError, match=r"the link name 'a\\x01' holds '\\x01', which XML cannot write"
    ):
        one("a\x01", "j").to_urdf()
    with pytest.raises(px.PhalanxError, match="a joint has an empty name"):
        one("a", "").to_urdf()


@pytest.mark.parametrize("pitch", [0.0, 0.3, np.pi / 2, np.pi / 2 - 1e-9, -np.pi / 2 + 1e-7, 1.5, -np.pi / 2])
def test_roll_pitch_yaw_give_the_same_rotation_near_right_angles_too(pitch: float) -> None:
    for roll, yaw in np.random.default_rng(0).uniform(-3, 3, (50, 2)):
        turn = np.reshape(rotation_rpy(roll, pitch, yaw), (3, 3))
        back = np.reshape(rotation_rpy(*roll_pitch_yaw(turn)), (3, 3))
        np.testing.assert_allclose(back, turn, atol=3e-15)
