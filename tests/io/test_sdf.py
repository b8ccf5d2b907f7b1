# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""SDF models against the same robots written as URDF and read by Pinocchio."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.io.sdf import read_sdf
from reference.sampling import agree

pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

MOMENTS = {"ixx": 0.3, "ixy": 0.01, "ixz": 0.02, "iyy": 0.4, "iyz": -0.03, "izz": 0.5}
URDF_BODY = (
    '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 -0.5 0.6"/><mass value="1.5"/>'
    f"<inertia {' '.join(f'{k}={chr(34)}{v}{chr(34)}' for k, v in MOMENTS.items())}/></inertial>"
)
SDF_BODY = (
    "<inertial><pose>0.1 0.2 0.3 0.4 -0.5 0.6</pose><mass>1.5</mass>"
    f"<inertia>{''.join(f'<{k}>{v}</{k}>' for k, v in MOMENTS.items())}</inertia></inertial>"
)
LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/><dynamics damping="0.1" friction="0.2"/>'
SDF_LIMIT = (
    "<limit><lower>-1</lower><upper>2</upper><effort>3</effort><velocity>4</velocity></limit>"
    "<dynamics><damping>0.1</damping><friction>0.2</friction></dynamics>"
)
URDF = f"""<robot name="arm"><link name="base"/><link name="a">{URDF_BODY}</link>
<link name="b">{URDF_BODY}</link><link name="c">{URDF_BODY}</link><link name="d">{URDF_BODY}</link>
<joint name="ja" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>
<axis xyz="0 1 0"/>{LIMIT}</joint>
<joint name="jb" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="1 0 0" rpy="0 0 1"/>
<axis xyz="1 0 0"/>{LIMIT}</joint>
<joint name="jc" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0 2 0" rpy="0 1 0"/>
<axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>
<joint name="jd" type="fixed"><parent link="c"/><child link="d"/><origin xyz="0 0 1" rpy="1 0 0"/></joint>
</robot>"""

# The same with poses in every way that SDF has: relative to the model, to links, frames and joints.
SDF = f"""<?xml version="1.0"?>
<sdf version="1.9"><model name="arm">
<link name="base"><inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial>
</link>
<link name="a"><pose>0 0 1 0.1 0.2 0.3</pose>{SDF_BODY}</link>
<link name="b"><pose relative_to="mount"/>{SDF_BODY}</link>
<link name="c"><pose relative_to="jc"/>{SDF_BODY}</link>
<link name="d"><pose relative_to="c" degrees="true">0 0 1 {math.degrees(1)} 0 0</pose>{SDF_BODY}</link>
<frame name="mount" attached_to="a">
<pose rotation_format="quat_xyzw">1 0 0 0 0 {math.sin(0.5)} {math.cos(0.5)}</pose></frame>
<joint name="ja" type="revolute"><parent>base</parent><child>a</child>
<axis><xyz>0 1 0</xyz>{SDF_LIMIT}</axis></joint>
<joint name="jb" type="prismatic"><parent>mount</parent><child>b</child>
<axis><xyz expressed_in="a">{math.cos(1)} {math.sin(1)} 0</xyz>{SDF_LIMIT}</axis></joint>
<joint name="jc" type="continuous"><pose relative_to="b">0 2 0 0 1 0</pose>
<parent>b</parent><child>c</child></joint>
<joint name="jd" type="fixed"><parent>c</parent><child>d</child></joint>
</model></sdf>"""


def test_poses_in_all_frames_give_the_robot_that_pinocchio_reads_from_urdf() -> None:
    robot, model = px.load(SDF), pin.buildModelFromXML(URDF)
    assert (robot.name, robot.joint_names) == ("arm", ("ja", "jb", "jc"))
    assert robot.joint_types == ("revolute", "prismatic", "continuous")
    data = model.createData()
    q, qd, qdd = robot.random_state(5, rng=0)
    tau = robot.inverse_dynamics(q, qd, qdd)
    agree(tau, [pin.rnea(model, data, *state).copy() for state in zip(q, qd, qdd, strict=True)], 1e-12)
    pin.framesForwardKinematics(model, data, q[0])
    for name in ("a", "b", "c", "d"):
        found = data.oMf[model.getFrameId(name, pin.FrameType.BODY)].homogeneous
        agree(robot.frame_pose(q[0], name), found, 1e-12)
    assert "mount" in robot.frame_names
    same = px.load(URDF)
    for key in ("lower", "upper", "velocity", "effort"):
        assert getattr(robot.limits, key)[:2].tolist() == getattr(same.limits, key)[:2].tolist()
    assert robot.limits.upper[2] == np.inf
    np.testing.assert_array_equal(robot.damping, [0.1, 0.1, 0.0])
    np.testing.assert_array_equal(robot.friction, [0.2, 0.2, 0.0])


def one(kind: str, inside: str, *, links: str = "", model: str = "", version: str = "1.9") -> px.Robot:
    return px.load(
        f'<sdf version="{version}"><model name="m">{model}<link name="a"/><link name="b">'
        f'<pose>0 0 1 0 0 0</pose></link>{links}<joint name="j" type="{kind}"><parent>a</parent>'
        f"<child>b</child>{inside}</joint></model></sdf>"
    )


def test_links_without_inertial_have_the_masses_that_sdf_gives_them() -> None:
    robot = one("revolute", "")
    assert robot.total_mass == 1.0
    np.testing.assert_array_equal(robot.mass_matrix([0.3]), [[1.0]])


def test_balls_universal_joints_and_screws_are_known() -> None:
    assert one("ball", "").joint_types == ("spherical",)
    universal = one("universal", "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>")
    expected = pin.rpy.rpyToMatrix(0.4, 0, 0) @ pin.rpy.rpyToMatrix(0, 0.7, 0)
    agree(universal.frame_pose([0.4, 0.7], "b")[:3, :3], expected, 1e-15)
    axis = "<axis><xyz>0 0 1</xyz></axis>"
    per_turn = one("screw", f"<screw_thread_pitch>0.5</screw_thread_pitch>{axis}")
    agree(per_turn.frame_pose([2 * math.pi], "b")[:3, 3], [0.0, 0.0, 1.5], 1e-15)
    older = one("screw", f"<thread_pitch>{-4 * math.pi}</thread_pitch>{axis}")  # radians per metre
    agree(older.frame_pose([2 * math.pi], "b")[:3, 3], [0.0, 0.0, 1.5], 1e-15)


def test_a_joint_to_the_world_makes_the_world_the_base() -> None:
    text = (
        '<sdf version="1.9"><world name="w"><gravity>0 0 -3.7</gravity><model name="m">'
        '<pose>1 2 3 0 0 1</pose><link name="a"><pose>0 0 1 0 1 0</pose></link><joint name="weld" type="{}">'
        "<parent>world</parent><child>a</child></joint></model></world></sdf>"
    )
    robot = px.load(text.format("fixed"))
    assert robot.gravity.tolist() == [0.0, 0.0, -3.7]
    agree(robot.frame_pose(robot.neutral(), "a")[:3, 3], [1.0, 2.0, 4.0], 1e-15)
    assert px.load(text.format("revolute")).nv == 1


def test_gravity_is_turned_into_the_frame_of_the_base() -> None:
    tilted = one("revolute", "<axis><xyz>0 1 0</xyz></axis>", model=f"<pose>0 0 0 {math.pi / 2} 0 0</pose>")
    agree(tilted.gravity, [0.0, -9.81, 0.0], 1e-15)


def test_mimic_joints_follow_with_multiplier_offset_and_reference() -> None:
    mimic = (
        '<mimic joint="j"><multiplier>2</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'
    )
    links = (
        '<link name="c"/><joint name="k" type="revolute"><parent>b</parent><child>c</child><axis>'
        f"<xyz>0 0 1</xyz>{mimic}</axis></joint>"
    )
    robot = one("revolute", "<axis><xyz>0 0 1</xyz></axis>", links=links)
    assert robot.nv == 1
    agree(list(robot.mimics["k"][1:]), [2.0, 0.3], 1e-15)


@pytest.mark.parametrize(
    ("version", "expected"), [("1.4", [0, 0, 1]), ("1.6", [0, -1, 0]), ("1.9", [0, -1, 0])]
)
def test_old_versions_give_axes_in_the_frame_of_the_model(version: str, expected: list[float]) -> None:
    inside = f"<pose>0 0 0 {math.pi / 2} 0 0</pose><axis><xyz>0 0 1</xyz></axis>"
    robot = one("prismatic", inside, version=version)
    agree(robot.frame_pose([1.0], "b")[:3, 3], np.array([0.0, 0.0, 1.0]) + expected, 1e-15)
    inside = inside.replace("</axis>", "<use_parent_model_frame>true</use_parent_model_frame></axis>")
    robot = one("prismatic", inside, version=version)
    agree(robot.frame_pose([1.0], "b")[:3, 3], [0.0, 0.0, 2.0], 1e-15)


def model(inside: str) -> str:
    return f'<sdf version="1.9">\n<model name="m">{inside}</model></sdf>'


LINKS = '<link name="a"/><link name="b"/>'
JOINT = '<joint name="j" type="revolute"><parent>a</parent><child>b</child>{}</joint>'
MISTAKES: list[tuple[str, str]] = [
    ("<sdf/>", "<text>:1: got 0 models; expected <sdf> with one <model>"),
    ('<sdf><model name="a"/><model name="b"/></sdf>', "<text>:1: got 2 models"),
    (model(""), "<text>: the robot has no links"),
    (
        model("<include><uri>x</uri></include>"),
        "<text>:2: <include> inside a model is not supported; flatten it first",
    ),
    (model('<link name="a"/><link name="a"/>'), '<text>:2: <link> has the name "a"; expected a unique name'),
    (model("<link/>"), '<text>:2: <link> has the name ""; expected a unique name'),
    (
        model(LINKS + JOINT.replace("revolute", "gearbox")),
        'joint "j" has type "gearbox"; supported: fixed, revolute',
    ),
    (model(LINKS + JOINT.replace(">b<", ">c<")), '<text>:2: joint "j" has the child "c"; links: "a", "b"'),
    (model(LINKS + JOINT.replace("<parent>a</parent>", "")), '<text>:2: joint "j" has the parent "";'),
    (
        model(LINKS + JOINT.format("<axis><xyz>0 0</xyz></axis>")),
        '<text>:2: joint "j": <xyz> is "0 0"; expected 3 fin',
    ),
    (model(LINKS + JOINT.format("<axis><xyz>0 0 0</xyz></axis>")), "has the axis (0, 0, 0)"),
    (model(LINKS + JOINT.format('<pose relative_to="q"/>')), '<text>: unknown frame "q";'),
    (
        model(LINKS + '<frame name="f" attached_to="q"/>' + JOINT),
        '<text>: unknown frame "q"; frames: "a", "b"',
    ),
    (
        model(LINKS + JOINT.replace("revolute", "screw").format("<thread_pitch>0</thread_pitch>")),
        '<text>:2: joint "j": <thread_pitch> is 0; expected radians per metre',
    ),
    (
        model(
            '<link name="a"><pose relative_to="b"/></link><link name="b"><pose relative_to="a"/></link>'
            + JOINT
        ),
        'the poses of "a", "b" refer to each other',
    ),
    (
        model(LINKS + '<frame name="f" attached_to="g"/><frame name="g" attached_to="f"/>' + JOINT),
        'the frames "f", "g" are attached to each other',
    ),
    (
        model('<link name="a"><inertial><mass>x</mass></inertial></link>'),
        'link "a": <mass> is "x"; expected a finite',
    ),
    (model('<link name="a"><inertial><mass>-1</mass></inertial></link>'), "negative mass"),
    (
        model(LINKS + JOINT.format("<axis>\n<limit><lower>2</lower><upper>1</upper></limit></axis>")),
        '<text>:3: joint "j" has the lower limit 2 above its upper limit 1; expected lower <= upper. Swap',
    ),
    (
        model(LINKS + JOINT.format('<axis><mimic joint="x"/></axis>')),
        'joint "j" mimics the unknown joint "x"',
    ),
    (
        model('<link name="a"><pose>0 0 0 0 0</pose></link><link name="b"/>' + JOINT),
        'a: <pose> is "0 0 0 0 0"; expec',
    ),
    (
        model(
            '<link name="a"><pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose></link><link name="b"/>'
            + JOINT
        ),
        "the quaternion of <pose> is zero",
    ),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES, ids=[m[:40] for _, m in MISTAKES])
def test_mistakes_give_one_clear_line(text: str, message: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        px.load(text)
    assert message in str(caught.value)


def test_plugins_sensors_and_links_without_gravity_are_counted_in_one_warning() -> None:
    links = '<link name="a"><sensor name="s"/><gravity>false</gravity></link><link name="b"><visual/></link>'
    with pytest.warns(px.PhalanxWarning) as caught:
        robot = px.load(model(links + JOINT.format('<sensor name="t"/>') + '<plugin name="p"/>'))
    assert robot.left_out == ("1 plugin", "2 sensors", "1 link without gravity")
    assert len(caught) == 1
    assert str(caught[0].message).startswith("<text>: left out, ")
    assert "; ".join(robot.left_out) in str(caught[0].message)


def test_versions_beyond_reason_are_no_trouble() -> None:
    assert px.load(f'<sdf version="{"9" * 5000}.x"><model name="m"><link name="a"/></model></sdf>').nv == 0


def test_long_chains_of_frames_are_no_recursion() -> None:
    n = 5000
    links = "".join(
        f'<link name="l{i}"><pose relative_to="l{i + 1}">1 0 0 0 0 0</pose></link>' for i in range(n)
    )
    frames = "".join(f'<frame name="f{i}" attached_to="f{i + 1}"/>' for i in range(n))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent>l{i + 1}</parent><child>l{i}</child></joint>'
        for i in range(n)
    )
    text = model(f'{links}<link name="l{n}"/>{frames}<frame name="f{n}" attached_to="l0"/>{joints}')
    d: Any = read_sdf(text, source="chain.sdf")
    assert d.frames[0].link == "l0"
    assert d.joints[0].after.translation == (0.0, 0.0, 0.0)
    assert d.joints[0].origin.translation == (1.0, 0.0, 0.0)
