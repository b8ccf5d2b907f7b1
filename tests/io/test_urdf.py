# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""URDF files become descriptions; bad ones one clear error."""

from __future__ import annotations

import math
import re
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError, PhalanxWarning
from phalanx.io.angles import rotation_rpy
from phalanx.io.urdf import TYPES, read_urdf
from phalanx.io.xml import Element, UnfitError
from phalanx.robot.checks import check_numbers
from phalanx.robot.description import Description, Joint, Loop, Mimic, ordered
from phalanx.robot.joints import joint_types

LINKS = '<link name="a"/><link name="b"/>'
ENDS = '<parent link="a"/><child link="b"/>'


def robot(body: str) -> Description:
    return read_urdf(f'<robot name="r">\n{body}\n</robot>', source="arm.urdf")


def one_joint(inside: str = "", kind: str = "revolute") -> Joint:
    return robot(f'{LINKS}<joint name="j" type="{kind}">{ENDS}{inside}</joint>').joints[0]


def one_link(inertial: str) -> Description:
    return robot(f'<link name="a">\n<inertial>{inertial}</inertial></link>')


# ------------------------------------------------------------------- what is read


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


def test_everything_else_is_left_alone() -> None:
    d = robot(
        '<material name="red"><color rgba="nan x"/></material>'
        '<transmission name="t"><joint name="j"/></transmission>'
        '<link name="a"><visual><origin xyz="${x}"/><geometry><mesh filename="package://no/where.dae"/></geometry>'
        '</visual><collision><xacro:box/></collision></link><gazebo reference="a"><joint name="q"/></gazebo>'
        '<xacro:property name="unused" value="1"/>'
    )
    assert [link.name for link in d.links] == ["a"]
    assert d.joints == ()


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


# ------------------------------------------------------------------- what is refused


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


# ------------------------------------------------------------------- real and long files


def test_published_urdfs_have_the_joints_and_the_mass_that_pinocchio_finds(example_urdf: Path) -> None:
    pin = pytest.importorskip("pinocchio", reason="the oracle of this test")
    try:
        # A free root, because Pinocchio drops the mass of a root that is fixed.
        model = pin.buildModelFromUrdf(str(example_urdf), pin.JointModelFreeFlyer())
    except ValueError:
        model = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhalanxWarning)
        if model is None:
            with pytest.raises(PhalanxError, match=example_urdf.name):
                ordered(read_urdf(example_urdf.read_bytes(), source=example_urdf.name))
            return
        d = read_urdf(example_urdf.read_bytes(), source=example_urdf.name)
    _, joints = ordered(d)
    check_numbers(d)
    assert {j.name for j in joints if j.type != "fixed"} == set(list(model.names)[2:])
    total = sum(body.mass for body in model.inertias)
    assert sum(link.mass for link in d.links) == pytest.approx(total, rel=1e-12)


def test_the_quick_parser_gives_the_same_robots_as_the_one_with_lines(example_urdf: Path) -> None:
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", PhalanxWarning)
        try:
            quick = read_urdf(example_urdf.read_bytes(), source="f")
        except PhalanxError as error:
            quick = error
        patch.setattr("phalanx.io.urdf.children_quickly", unfit)
        if isinstance(quick, PhalanxError):
            with pytest.raises(PhalanxError, match=re.escape(str(quick))):
                read_urdf(example_urdf.read_bytes(), source="f")
            return
        assert read_urdf(example_urdf.read_bytes(), source="f") == quick


def unfit(_: object) -> Iterator[Element]:
    """No children: everything is left to the parser with lines."""
    yield from ()
    raise UnfitError


def long_chain(n: int, joint: str = "") -> str:
    """A chain of n links; `joint` is formatted with the number of the joint and of the one before."""
    link = (
        '<link name="l{0}"><inertial><origin xyz="0.1 0 0" rpy="0 0 0.1"/><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
    )
    whole = (
        '<joint name="j{0}" type="revolute"><parent link="l{1}"/><child link="l{0}"/>'
        '<origin xyz="0 0 0.1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>'
        f'<limit lower="-1" upper="1" effort="1" velocity="1"/>{joint}</joint>'
    )
    moved = "".join(link.format(i) + whole.format(i, i - 1) for i in range(1, n))
    return f'<robot name="r"><link name="l0"/>{moved}</robot>'


MIMIC = '<mimic joint="j{1}" multiplier="1.0001"/>'


def test_a_chain_of_ten_thousand_links_reads_in_seconds() -> None:
    text = long_chain(10_000)
    start = time.process_time()
    d = read_urdf(text, source="long.urdf")
    assert time.process_time() - start < 3.0  # measured 0.3 s
    assert (len(d.links), len(d.joints)) == (10_000, 9_999)


@pytest.mark.parametrize("joint", ["", MIMIC], ids=["plain", "chain of mimics"])
def test_the_work_of_loading_grows_with_the_number_of_links(joint: str) -> None:
    def calls(n: int) -> int:
        """Calls of functions while a chain loads: the same on every machine."""
        text = long_chain(n, joint).replace('<mimic joint="j0" multiplier="1.0001"/>', "")
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            robot = px.load(text)
        finally:
            sys.setprofile(None)
        assert robot.nv == (1 if joint else n - 1)
        return count

    calls(10)
    small, large = calls(200), calls(800)
    assert large < 4.2 * small


def test_a_long_chain_of_mimics_loads_in_seconds_and_multiplies() -> None:
    n = 3000
    text = long_chain(n, MIMIC).replace('<mimic joint="j0" multiplier="1.0001"/>', "")
    start = time.process_time()
    robot = px.load(text)
    assert time.process_time() - start < 10.0  # measured 0.2 s; in cubic time it was a minute
    assert robot.mimics[f"j{n - 1}"].joint == "j1"
    assert robot.mimics[f"j{n - 1}"].multiplier == pytest.approx(1.0001 ** (n - 2), rel=1e-12)


# ------------------------------------------------------------------- loops

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
    assert (
        '2 loops ("closure", "older") and 1 coupling ("gears"). The loops are kept as robot.loops.' in told[0]
    )
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


def other_ends(loop: Loop) -> tuple[str, str, str, str]:
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
