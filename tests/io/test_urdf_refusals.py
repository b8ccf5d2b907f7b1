# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Bad URDF files meet one clear error with file and line."""

from __future__ import annotations

import pytest

from phalanx.errors import PhalanxError, PhalanxWarning
from phalanx.io.urdf import read_urdf
from phalanx.robot.checks import check_numbers
from phalanx.robot.description import ordered
from reference.urdf_texts import ENDS, LINKS, one_joint, one_link, robot


@pytest.mark.parametrize(
    ("inertial", "message"),
    [
        ('<mass value="heavy"/>', r'link "a": <mass> has value="heavy"; expected a finite number\.'),
        ('<mass value="nan"/>', r'link "a": <mass> has value="nan"; expected a finite number\.'),
        ('<mass value="inf"/>', r'link "a": <mass> has value="inf"; expected a finite number\.'),
        ('<mass value="1_0"/>', r'link "a": <mass> has value="1_0"; expected a finite number\.'),
        ('<mass value="1,5"/>', r'link "a": <mass> has value="1,5"; expected a finite number\.'),
        ('<mass value=""/>', r'link "a": <mass> has value=""; expected a finite number\.'),
        ("<mass/>", r'link "a": <mass> has no "value"; expected a number\. Add it\.'),
        ('<inertia ixx="1"/>', r'link "a" has an <inertial> without <mass>; expected one\. Add it\.'),
        (
            '<mass value="1"/><inertia ixx="x"/>',
            r'link "a": <inertia> has ixx="x"; expected a finite number\.',
        ),
        (
            '<mass value="1"/><origin xyz="0 0"/>',
            r'link "a": <origin> has xyz="0 0"; expected three finite numbers\.',
        ),
        ('<mass value="${m}"/>', r'has value="\$\{m\}"; expected a finite number\. Run xacro first'),
        (
            "<xacro:inertia_of_a_box/>",
            r"<xacro:inertia_of_a_box> is an unprocessed xacro instruction\. Run xacro",
        ),
    ],
)
def test_bad_inertials_are_refused(inertial: str, message: str) -> None:
    with pytest.raises(PhalanxError, match=r"^arm\.urdf:3: .*" + message):
        one_link(inertial)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<axis xyz="0 0 up"/>', r'joint "j": <axis> has xyz="0 0 up"; expected three finite numbers\.'),
        ('<axis xyz="0 0 nan"/>', r'joint "j": <axis> has xyz="0 0 nan"; expected three finite numbers\.'),
        (
            '<origin rpy="0 0 inf"/>',
            r'joint "j": <origin> has rpy="0 0 inf"; expected three finite numbers\.',
        ),
        ('<limit lower="low"/>', r'joint "j": <limit> has lower="low"; expected a number\.'),
        (
            '<limit lower="1" upper="-2"/>',
            r'joint "j" has the lower limit 1 above its upper limit -2; expected lower <= upper\. Swap them',
        ),
        ('<limit lower="1"/>', r'joint "j" has the lower limit 1 above its upper limit 0'),
        ('<limit effort="nan"/>', r'joint "j": <limit> has effort="nan"; expected a number\.'),
        ('<dynamics damping="inf"/>', r'joint "j": <dynamics> has damping="inf"; expected a finite number\.'),
        ("<mimic/>", r'joint "j": <mimic> has no "joint" attribute; expected a name\. Add it\.'),
        ('<mimic joint="j"/>', r'joint "j" mimics itself; expected another joint\.'),
        ('<mimic joint="k" offset="o"/>', r'joint "j": <mimic> has offset="o"; expected a finite number\.'),
    ],
)
def test_bad_joints_are_refused(inside: str, message: str) -> None:
    with pytest.raises(PhalanxError, match=r"^arm\.urdf:2: " + message):
        one_joint(inside)


def test_unknown_joint_types_are_refused_with_the_known_ones() -> None:
    supported = "fixed, revolute, continuous, prismatic, planar, floating"
    with pytest.raises(
        PhalanxError, match=rf'^arm\.urdf:2: joint "j" has type "wobbly"; supported: {supported}\.$'
    ):
        one_joint(kind="wobbly")
    with pytest.raises(PhalanxError, match="Write it as three revolute joints in a row"):
        one_joint(kind="spherical")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("<link/>", r'link has no "name" attribute; expected a name\. Add it\.'),
        ('<link name=""/>', r'link has an empty "name" attribute; expected a name\.'),
        (f'{LINKS}<joint type="fixed">{ENDS}</joint>', r'joint has no "name" attribute'),
        (f'{LINKS}<joint name="j">{ENDS}</joint>', r'joint "j": <joint> has no "type" attribute'),
        (
            '<joint name="j" type="fixed"><child link="b"/></joint>',
            r'joint "j" has no <parent>; expected <parent link',
        ),
        (
            '<joint name="j" type="fixed"><parent link="b"/></joint>',
            r'joint "j" has no <child>; expected <child link',
        ),
        ('<joint name="j" type="fixed"><parent/></joint>', r'joint "j": <parent> has no "link" attribute'),
        ('<link name="${prefix}a"/>', r'name "\$\{prefix\}a" is an unprocessed xacro name\. Run xacro first'),
        (
            '<xacro:include filename="x"/>',
            r"<xacro:include> is an unprocessed xacro instruction\. Run xacro first",
        ),
    ],
)
def test_incomplete_elements_are_refused(body: str, message: str) -> None:
    with pytest.raises(PhalanxError, match=r"^arm\.urdf:2: " + message):
        robot(body)


def test_other_roots_are_refused() -> None:
    with pytest.raises(
        PhalanxError, match=r"^f:1: the root element is <sdf>; expected <robot> of a URDF file\."
    ):
        read_urdf("<sdf/>", source="f")


def test_entity_bombs_are_refused() -> None:
    bomb = '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>'
    with pytest.raises(PhalanxError, match=r"^f:1: the file declares a document type or an entity"):
        read_urdf(bomb, source="f")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "the robot has no links"),
        (LINKS, "2 root links"),
        ('<link name="a"/><link name="a"/>', 'two links are named "a"'),
        (f'<link name="b"/><joint name="j" type="fixed">{ENDS}</joint>', 'unknown parent link "a"'),
        (
            f'{LINKS}<joint name="j" type="fixed">{ENDS}</joint>'
            '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint>',
            "form a cycle",
        ),
    ],
)
def test_what_is_no_tree_is_left_to_the_description_to_refuse(body: str, message: str) -> None:
    with pytest.raises(PhalanxError, match=rf"^arm\.urdf: .*{message}"):
        ordered(robot(body))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('<link name="a"><inertial><mass value="-1"/></inertial></link>', "negative mass -1 kg"),
        (
            f'{LINKS}<joint name="j" type="revolute">{ENDS}<axis xyz="0 0 0"/></joint>',
            r"has the axis \(0, 0, 0\)",
        ),
    ],
)
def test_what_no_robot_has_is_left_to_the_description_to_refuse(body: str, message: str) -> None:
    with pytest.raises(PhalanxError, match=rf"^arm\.urdf: .*{message}"):
        check_numbers(robot(body))


def test_zero_axes_of_fixed_joints_do_not_matter() -> None:
    check_numbers(robot(f'{LINKS}<joint name="j" type="fixed">{ENDS}<axis xyz="0 0 0"/></joint>'))


def test_mimics_of_unknown_joints_are_left_independent_with_a_warning_or_refused() -> None:
    joint = f'<joint name="j" type="revolute">{ENDS}<mimic joint="driver"/></joint>'
    text = f'<robot name="r">{LINKS}{joint}</robot>'
    with pytest.warns(PhalanxWarning, match=r'^f: joints mimic unknown joints \("j of driver"\); .* Correct'):
        assert read_urdf(text, source="f").joints[0].mimic is None
    with pytest.raises(
        PhalanxError, match=r'^f:1: joint "j" mimics the unknown joint "driver"; joints: "j"\.'
    ):
        read_urdf(text, source="f", strict=True)
