# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""URDF files become descriptions: what is read, and what is left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from phalanx.errors import PhalanxError, PhalanxWarning
from phalanx.io.urdf import TYPES, read_urdf
from phalanx.reproducible import rotation_rpy
from phalanx.robot.checks import check_numbers
from phalanx.robot.description import Mimic, ordered
from phalanx.robot.joints import joint_types
from reference.urdf_texts import ENDS, LINKS, one_joint, one_link, robot


def test_links_and_joints_come_in_file_order() -> None:
    d = robot(
        '<joint name="y" type="fixed"><parent link="b"/><child link="c"/></joint>'
        f'<link name="c"/>{LINKS}<joint name="x" type="continuous">{ENDS}</joint>'
    )
    assert (d.name, d.source, d.gravity) == ("r", "arm.urdf", (0.0, 0.0, -9.81))
    assert [link.name for link in d.links] == ["c", "a", "b"]
    assert [(j.name, j.type, j.parent, j.child) for j in d.joints] == [
        ("y", "fixed", "b", "c"),
        ("x", "continuous", "a", "b"),
    ]


def test_text_and_bytes_read_the_same() -> None:
    text = f'<robot name="r">{LINKS}<joint name="j" type="planar">{ENDS}</joint></robot>'
    assert read_urdf(text, source="f") == read_urdf(text.encode(), source="f")


def test_urdf_types_are_phalanx_types() -> None:
    assert set(TYPES) <= set(joint_types())
    for kind in TYPES:
        assert one_joint(kind=kind).type == kind


def test_the_default_axis_is_x_and_axes_keep_their_length() -> None:
    assert one_joint().axis == (1.0, 0.0, 0.0)
    assert one_joint('<axis xyz="0 -2 0"/>').axis == (0.0, -2.0, 0.0)
    assert one_joint('<axis xyz="0 0 0"/>', "fixed").axis == (1.0, 0.0, 0.0)


def test_roll_pitch_yaw_turn_about_fixed_axes_in_that_order() -> None:
    r, p, y = 0.3, -0.7, 1.9
    rx = np.array([[1, 0, 0], [0, math.cos(r), -math.sin(r)], [0, math.sin(r), math.cos(r)]])
    ry = np.array([[math.cos(p), 0, math.sin(p)], [0, 1, 0], [-math.sin(p), 0, math.cos(p)]])
    rz = np.array([[math.cos(y), -math.sin(y), 0], [math.sin(y), math.cos(y), 0], [0, 0, 1]])
    joint = one_joint(f'<origin xyz="1 2 3" rpy="{r} {p} {y}"/>')
    np.testing.assert_allclose(joint.origin.matrix[:3, :3], rz @ ry @ rx, atol=1e-15)
    assert joint.origin.translation == (1.0, 2.0, 3.0)


@pytest.mark.parametrize("quarters", range(-9, 10))
@pytest.mark.parametrize("noise", [0.0, 4e-15, -4e-15])
def test_right_angles_give_exact_zeros_and_ones(quarters: int, noise: float) -> None:
    angle = quarters * math.pi / 2 + noise
    for rpy in ((angle, 0, 0), (0, angle, 0), (0, 0, angle), (angle, angle, angle)):
        rotation = rotation_rpy(*rpy)
        assert {abs(x) for x in rotation} == {0.0, 1.0}
        assert all(math.copysign(1.0, x) == 1.0 for x in rotation if x == 0)


@pytest.mark.parametrize("angle", ["1.5708", "1.57079632679", "1e-13"])
def test_angles_farther_from_right_angles_are_taken_as_written(angle: str) -> None:
    cosine, minus_sine = one_joint(f'<origin rpy="{angle} 0 0"/>').origin.rotation[4:6]
    assert (cosine, minus_sine) == (math.cos(float(angle)), -math.sin(float(angle)))


def test_inertia_is_turned_into_link_axes_about_the_mass_centre() -> None:
    rpy = (0.4, 0.5, -0.6)
    d = one_link(
        f'<origin xyz="0.1 0.2 0.3" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/><mass value="2.5"/>'
        '<inertia ixx="1" ixy="0.1" ixz="0.2" iyy="1.5" iyz="-0.3" izz="2"/>'
    )
    turn = np.reshape(rotation_rpy(*rpy), (3, 3))
    expected = turn @ np.array([[1, 0.1, 0.2], [0.1, 1.5, -0.3], [0.2, -0.3, 2]]) @ turn.T
    link = d.links[0]
    assert (link.mass, link.com) == (2.5, (0.1, 0.2, 0.3))
    np.testing.assert_allclose(link.inertia, expected[np.triu_indices(3)], atol=1e-15)


def test_links_without_inertial_are_massless_and_without_inertia_points() -> None:
    assert robot('<link name="a"/>').links[0].mass == 0.0
    link = one_link('<mass value="2"/>').links[0]
    assert (link.mass, link.inertia) == (2.0, (0.0,) * 6)


def test_entries_missing_from_inertia_are_zero() -> None:
    link = one_link('<mass value="2"/><inertia ixx="1" iyy="2" izz="3"/>').links[0]
    assert link.inertia == (1.0, 0.0, 0.0, 2.0, 0.0, 3.0)


def test_limits_damping_and_friction_are_read() -> None:
    joint = one_joint(
        '<limit lower="-1" upper="2" velocity="3" effort="inf"/><dynamics damping="0.5" friction="0.25"/>'
    )
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == ((-1.0,), (2.0,), (3.0,), (math.inf,))
    assert (joint.damping, joint.friction, joint.armature) == ((0.5,), (0.25,), ())


def test_absent_limits_stay_empty_but_follow_the_standard_inside_a_limit() -> None:
    joint = one_joint()
    assert (joint.lower, joint.upper, joint.velocity, joint.effort) == ((), (), (), ())
    joint = one_joint('<limit effort="1" velocity="2"/>')
    assert (joint.lower, joint.upper) == ((0.0,), (0.0,))


def test_continuous_joints_are_unlimited() -> None:
    joint = one_joint('<limit lower="-1" upper="1" velocity="3" effort="4"/>', "continuous")
    assert (joint.lower, joint.upper, joint.velocity) == ((-math.inf,), (math.inf,), (3.0,))


@pytest.mark.parametrize("kind", ["planar", "floating", "fixed"])
def test_scalar_limits_of_joints_without_one_coordinate_are_left_out(kind: str) -> None:
    d = robot(
        f'{LINKS}<joint name="j" type="{kind}">{ENDS}'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    )
    assert d.joints[0].lower == d.joints[0].effort == ()
    check_numbers(d)


def test_mimics_are_read_with_their_defaults() -> None:
    body = (
        f'{LINKS}<link name="c"/><joint name="j" type="revolute">{ENDS}</joint>'
        '<joint name="k" type="revolute"><parent link="b"/><child link="c"/><mimic joint="j"%s/></joint>'
    )
    assert robot(body % "").joints[1].mimic == Mimic("j", 1.0, 0.0)
    assert robot(body % ' multiplier="-2" offset="0.5"').joints[1].mimic == Mimic("j", -2.0, 0.5)


def test_what_is_no_link_or_joint_is_counted_in_one_warning_and_pictures_are_not() -> None:
    drive = '<transmission name="t"><joint name="j"/></transmission>'
    body = (
        '<material name="red"><color rgba="nan x"/></material><mujoco><compiler meshdir="m"/></mujoco>'
        f'{drive}{drive}<ros2_control name="r" type="system"/><custom/><custom/><sensor name="s"/>'
        '<link name="a"><visual><origin xyz="${x}"/><geometry><mesh filename="package://no/where.dae"/></geometry>'
        "</visual><collision><box/></collision></link>"
        '<gazebo reference="a"><material>Red</material><mu1>1</mu1><turnGravityOff>true</turnGravityOff>'
        '</gazebo><gazebo><joint name="q"/><plugin name="p"/><sensor name="u"/>'
        "<turnGravityOff>false</turnGravityOff></gazebo>"
    )
    expected = (
        "2 transmissions", "1 ros2_control system", "2 <custom>", "2 sensors",
        "1 link without gravity in Gazebo", '1 Gazebo joint ("q")', "1 Gazebo plugin",
    )  # fmt: skip
    declared = '<robot name="r" xmlns:xacro="x"><xacro:property name="unused" value="1"/>'
    for text in (f'<robot name="r">{body}</robot>', f"{declared}{body}</robot>"):  # both parsers
        with pytest.warns(PhalanxWarning) as caught:
            d = read_urdf(text, source="arm.urdf")
        assert d.left_out == expected
        assert [str(w.message) for w in caught] == [
            "arm.urdf: left out, for they are not part of a tree of rigid bodies: "
            f"{'; '.join(expected)}. Remove them from the file if they do not matter."
        ]
        assert [link.name for link in d.links] == ["a"]
        assert d.joints == ()


def test_soft_limits_of_joints_are_named() -> None:
    with pytest.warns(PhalanxWarning, match=r": 1 safety controller\. Remove"):
        one_joint('<safety_controller k_velocity="1" soft_lower_limit="-1"/>')


LEFTOVER = (
    "<xacro:gazebo_plugin/>",
    '<xacro:include filename="x"/>',
    '<link name="c"><xacro:box_visual/></link><joint name="w" type="fixed"><xacro:transmission/>'
    '<parent link="b"/><child link="c"/></joint>',
)


@pytest.mark.parametrize("body", LEFTOVER)
def test_what_xacro_left_over_is_ignored_with_a_warning(body: str) -> None:
    whole = f'{LINKS}<joint name="j" type="fixed">{ENDS}</joint>\n{body}'
    with pytest.warns(
        PhalanxWarning, match=r"^arm\.urdf: xacro has left elements over.*: <xacro:\w+> in line 3"
    ):
        d = robot(whole)
    assert len(ordered(d)[1]) == len(d.joints)
    with pytest.raises(PhalanxError, match=r"^arm\.urdf:3: <xacro:\w+> is an unprocessed xacro instruction"):
        read_urdf(f'<robot name="r">\n{whole}\n</robot>', source="arm.urdf", strict=True)


@pytest.mark.parametrize(
    "body",
    [
        '<xacro:include filename="x"/><xacro:arm/>',
        '<xacro:macro name="arm"><link name="x"/></xacro:macro><xacro:arm/>',
        '<xacro:if value="1"><link name="x"/></xacro:if>',
        '<link name="c"><inertial><mass value="1"/><xacro:box m="1"/></inertial></link>',
    ],
)
def test_a_file_that_was_never_expanded_is_refused(body: str) -> None:
    with pytest.raises(PhalanxError, match=r"^arm\.urdf:2: <xacro:\w+> is an unprocessed .* Run xacro first"):
        robot(LINKS + body)


def test_a_file_of_macros_alone_says_so() -> None:
    with pytest.raises(
        PhalanxError, match=r'^arm\.urdf:1: the file only defines xacro macros \("arm", "leg"\)'
    ):
        robot('<xacro:macro name="arm"/><xacro:macro name="leg"><link name="x"/></xacro:macro>')
