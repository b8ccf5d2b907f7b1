# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""MJCF models become descriptions; bad ones one clear error."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

import phalanx as px
from phalanx.errors import PhalanxError, PhalanxWarning
from phalanx.io.mjcf import read_mjcf
from phalanx.io.mjcf.tree import _joint
from phalanx.robot.checks import check_numbers
from phalanx.robot.description import IDENTITY, Description, Mimic, ordered

BOX = '<geom type="box" size="0.1 0.2 0.3" mass="1.5"/>'


@pytest.fixture(autouse=True)
def _needs_mujoco(request: pytest.FixtureRequest) -> None:
    if "without_mujoco" not in request.fixturenames:
        pytest.importorskip("mujoco", reason="MJCF is read through it")


@pytest.fixture
def without_mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)


def read(world: str, rest: str = "") -> Description:
    text = f'<mujoco model="m"><worldbody>{world}</worldbody>{rest}</mujoco>'
    d = read_mjcf(text, source="m.xml")
    ordered(d)
    check_numbers(d)
    return d


def two_hinges(rest: str, first: str = "", second: str = "") -> Description:
    return read(
        f'<body name="a"><joint name="i" {first}/>{BOX}'
        f'<body name="b"><joint name="j" {second}/>{BOX}</body></body>',
        rest,
    )


# ------------------------------------------------------------------- what is read


def test_bodies_become_links_below_the_world() -> None:
    d = read(
        f'<body name="a"><freejoint name="f"/>{BOX}<body name="b"><joint name="h"/>{BOX}</body>'
        f'<body name="c"><joint name="s" type="slide"/>{BOX}<body name="e">{BOX}</body></body></body>'
        f'<body name="g"><joint name="l" type="ball"/>{BOX}</body>'
    )
    assert d.name == "m"
    assert [link.name for link in d.links] == ["world", "a", "b", "c", "e", "g"]
    assert [(j.name, j.type, j.parent, j.child) for j in d.joints] == [
        ("f", "floating", "world", "a"),
        ("h", "continuous", "a", "b"),
        ("s", "prismatic", "a", "c"),
        ("e_fixed", "fixed", "c", "e"),
        ("l", "spherical", "world", "g"),
    ]


def test_nameless_bodies_and_joints_get_unique_names() -> None:
    d = read(
        f'<body><joint/>{BOX}</body><body name="body1"><joint axis="1 0 0"/><joint axis="0 1 0"/>{BOX}</body>'
        f'<body><joint name="body3_joint"/>{BOX}'
        f'<body name="body3_fixed">{BOX}</body><body>{BOX}</body></body>'
    )
    assert [link.name for link in d.links] == [
        "world", "body1_", "body1_after_body1_joint1", "body1", "body3", "body3_fixed", "body5"
    ]  # fmt: skip
    names = [j.name for j in d.joints]
    assert names == [
        "body1__joint", "body1_joint1", "body1_joint2", "body3_joint", "body3_fixed_fixed", "body5_fixed"
    ]  # fmt: skip


def test_mass_centre_and_inertia_are_in_body_axes() -> None:
    half = math.radians(30) / 2
    d = read(
        '<body name="a"><joint/><inertial pos="0.1 0.2 0.3" mass="2" diaginertia="1 2 2.5" '
        f'quat="{math.cos(half)} 0 0 {math.sin(half)}"/></body>'
    )
    c, s = math.cos(2 * half), math.sin(2 * half)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    expected = turn @ np.diag([1, 2, 2.5]) @ turn.T
    link = d.link("a")
    assert (link.mass, link.com) == (2.0, (0.1, 0.2, 0.3))
    np.testing.assert_allclose(link.inertia, expected[np.triu_indices(3)], atol=1e-15)


def test_several_joints_of_a_body_are_joined_by_massless_links() -> None:
    d = read(f'<body name="a" pos="1 2 3"><joint name="x" type="slide"/><joint name="y"/>{BOX}</body>')
    x, y = d.joints
    assert (x.parent, x.child, y.parent, y.child) == ("world", "a_after_x", "a_after_x", "a")
    assert d.link("a_after_x").mass == 0.0
    assert x.origin.translation == (1.0, 2.0, 3.0)
    assert y.origin.translation == (0.0, 0.0, 0.0)


def test_the_anchor_goes_before_and_after_the_motion() -> None:
    joint = read(f'<body pos="1 2 3"><joint pos="0.1 0.2 0.3" axis="0 2 0"/>{BOX}</body>').joints[0]
    assert joint.origin.translation == pytest.approx((1.1, 2.2, 3.3))
    assert joint.after.translation == (-0.1, -0.2, -0.3)
    assert joint.axis == (0.0, 1.0, 0.0)


def test_the_reference_position_is_undone_after_the_motion() -> None:
    d = two_hinges("", 'ref="90" axis="0 0 1"', 'type="slide" ref="0.5" axis="0 1 0"')
    np.testing.assert_allclose(
        d.joints[0].after.matrix[:3, :3], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-15
    )
    assert d.joints[1].after.translation == (0.0, -0.5, 0.0)


def test_a_free_joint_is_the_pose_in_the_world() -> None:
    joint = read(f'<body pos="1 2 3" euler="10 20 30"><freejoint/>{BOX}</body>').joints[0]
    np.testing.assert_array_equal(joint.origin.matrix, np.eye(4))
    np.testing.assert_array_equal(joint.after.matrix, np.eye(4))


def test_limits_and_losses_are_read() -> None:
    losses = 'damping="0.1" frictionloss="0.2" armature="0.3"'
    d = two_hinges("", f'range="-90 45" actuatorfrcrange="-3 2" {losses}', 'type="slide" range="-0.1 0.2"')
    i, j = d.joints
    assert i.type == "revolute"
    assert (i.lower[0], i.upper[0]) == pytest.approx((-math.pi / 2, math.pi / 4))
    assert (i.damping, i.friction, i.armature, i.effort) == ((0.1,), (0.2,), (0.3,), (3.0,))
    assert (j.lower, j.upper, j.damping, j.effort) == ((-0.1,), (0.2,), (), ())


def test_joints_without_a_range_are_unlimited() -> None:
    i, j = two_hinges("", second='type="slide"').joints
    assert (i.type, i.lower, i.upper) == ("continuous", (-math.inf,), (math.inf,))
    assert (j.type, j.lower, j.upper) == ("prismatic", (), ())


def test_losses_of_joints_with_several_rates_are_read_per_rate() -> None:
    ball = f'<body><joint type="ball" damping="0.5"/>{BOX}</body>'
    free = f'<body><joint type="free" armature="2"/>{BOX}</body>'
    d = read(ball + free)
    assert d.joints[0].damping == (0.5,) * 3
    assert d.joints[1].armature == (2.0,) * 6


def test_gravity_is_the_models() -> None:
    assert two_hinges('<option gravity="1 2 3"/>').gravity == (1.0, 2.0, 3.0)
    assert two_hinges('<option><flag gravity="disable"/></option>').gravity == (0.0, 0.0, 0.0)


def test_linear_joint_equalities_become_mimics_about_the_reference_positions() -> None:
    text = '<equality><joint joint1="j" joint2="i" polycoef="0.1 -2 0 0 0"/></equality>'
    degrees = 180 / math.pi
    i, j = two_hinges(text, f'ref="{0.3 * degrees}"', f'ref="{0.7 * degrees}"').joints
    assert i.mimic is None
    # j - 0.7 = 0.1 - 2 (i - 0.3)
    assert j.mimic == Mimic("i", -2.0, pytest.approx(0.7 + 0.1 + 2 * 0.3))


def test_inactive_equalities_do_not_matter() -> None:
    text = (
        '<equality><joint joint1="j" joint2="i" active="false"/><weld body1="a" active="false"/></equality>'
    )
    assert all(j.mimic is None for j in two_hinges(text).joints)


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (
            '<equality><connect body1="b" anchor="0 0 0"/><weld name="w" body1="a" body2="b"/></equality>',
            r'2 loops \("connect0: b to world", "w: a to b"\)\. The loops are kept as robot\.constraints,',
        ),
        ('<equality><joint joint1="i"/></equality>', r'1 constraint \("joint0"\)'),
        (
            '<equality><joint joint1="i" joint2="j" polycoef="0 1 1 0 0"/></equality>',
            r'1 constraint \("joint0"\)\. The constraints are kept as robot\.constraints, which',
        ),
        (
            '<equality><joint joint1="i" joint2="j"/><joint name="x" joint1="j" joint2="i"/></equality>',
            r'1 constraint \("x"\)',
        ),
        (
            "<tendon>" + '<fixed><joint joint="i" coef="1"/></fixed>' * 7 + "</tendon>",
            r'7 tendons \("tendon0", "tendon1", "tendon2", "tendon3", "tendon4" and 2 more\)',
        ),
        ('<option density="1.2"/>', "fluid forces"),
        (
            '<actuator><motor joint="i"/><position joint="j"/></actuator><keyframe><key/><key/></keyframe>'
            '<sensor><jointpos joint="i"/></sensor>',
            r"rigid bodies: 1 gain of a servo \(their inputs .* are forces\); 2 keyframes; 1 sensor\.",
        ),
        (
            '<actuator><motor joint="i"/><adhesion body="b" ctrlrange="0 1" name="x"/></actuator>',
            r'1 actuator \("x"\)\.',
        ),
    ],
)
def test_what_is_no_tree_of_rigid_bodies_is_left_out_with_a_warning(rest: str, message: str) -> None:
    with pytest.warns(PhalanxWarning, match=rf"^m\.xml: left out, for they are not part .*{message}.*Remove"):
        two_hinges(rest)


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ('type="ball" range="0 30"', r'1 limit of a ball joint \("i"\)'),
    ],
)
def test_what_is_left_out_of_a_joint_is_named(joint: str, message: str) -> None:
    with pytest.warns(PhalanxWarning, match=message):
        two_hinges("", joint)


def test_bodies_that_are_moved_by_hand_are_named() -> None:
    with pytest.warns(PhalanxWarning, match=r'1 mocap body, held still \("target"\)\.'):
        read(f'<body name="target" mocap="true">{BOX}</body>')


def test_a_reversed_range_is_refused_where_mujoco_takes_it_for_none() -> None:
    import mujoco

    text = f'<mujoco><worldbody><body><joint name="j" range="-10 20"/>{BOX}</body></worldbody></mujoco>'
    model = mujoco.MjModel.from_xml_string(text)
    model.jnt_range[0] = 1.0, -1.0
    with pytest.raises(
        PhalanxError, match=r'^MjModel: joint "j" has the lower limit 1 above its upper limit -1'
    ):
        px.load(model)
    reversed_text = text.replace("<body>", "\n<body>").replace("-10 20", "20 -10")
    with pytest.raises(
        PhalanxError, match=r'^<text>:2: joint "j" has range="20 -10"; expected lower <= upper'
    ):
        px.load(reversed_text)
    with pytest.raises(PhalanxError, match=r'^MjSpec: joint "j" has the lower limit'):
        px.load(mujoco.MjSpec.from_string(reversed_text))
    switched_off = reversed_text.replace("range=", 'limited="false" range=')
    for source in (switched_off, mujoco.MjSpec.from_string(switched_off)):
        assert px.load(source).limits.upper[0] == math.inf


def test_what_the_model_switches_off_is_not_left_out() -> None:
    import mujoco

    flag = "spring" if hasattr(mujoco.mjtDisableBit, "mjDSBL_SPRING") else "passive"
    two_hinges(f'<option><flag {flag}="disable"/></option>', 'stiffness="3"')


def test_unequal_linear_armature_of_a_free_joint_is_refused() -> None:
    import mujoco

    # No file can say so, but a compiled model can be changed.
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body><joint type="free" armature="2"/>{BOX}</body></worldbody></mujoco>'
    )
    assert _joint(model, "root", 0, "world", "body1", IDENTITY).armature == (2.0,) * 6
    model.dof_armature[1] = 3.0
    with pytest.raises(
        PhalanxError, match=r'joint "root" \(free\) has unequal armature along its linear axes'
    ):
        _joint(model, "root", 0, "world", "body1", IDENTITY)


def test_includes_are_found_beside_a_path(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(
        f'<mujoco><worldbody><body name="a"><joint/>{BOX}</body></worldbody></mujoco>'
    )
    (tmp_path / "all.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    d = read_mjcf(tmp_path / "all.xml", source="all.xml")
    assert [link.name for link in d.links] == ["world", "a"]
    with pytest.raises(
        PhalanxError,
        match=r'^t:1: <include> names the file "part\.xml"; a text or file object reads no other',
    ):
        read_mjcf('<mujoco><include file="part.xml"/></mujoco>', source="t")


def test_a_site_with_the_name_of_a_body_gets_an_ending() -> None:
    d = read(
        f'<site name="a_site"/><body name="a"><joint name="j"/>{BOX}<site name="a" pos="1 2 3"/><site/>'
        '<site name="j"/><site name="world"/></body>'
    )
    assert [(f.name, f.link) for f in d.frames] == [
        ("a_site", "world"), ("a_site_", "a"), ("j", "a"), ("world_site", "a")
    ]  # fmt: skip
    assert d.frames[1].pose.translation == (1.0, 2.0, 3.0)


def test_text_and_bytes_read_the_same() -> None:
    text = f"\n<mujoco><worldbody><body><joint/>{BOX}</body></worldbody></mujoco>"
    assert read_mjcf(text, source="f") == read_mjcf(text.encode(), source="f")


# ------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", r"^m\.xml:1: not well-formed XML"),
        ("<mujoco><worldbody>", r"^m\.xml: MuJoCo refuses the model: "),
        ("<mujoco><worldbody><wobbly/></worldbody></mujoco>", r"^m\.xml: MuJoCo refuses the model: .*wobbly"),
        (b"<mujoco>\xff</mujoco>", r"^m\.xml"),
        ("<robot/>", r"^m\.xml: the root element is <robot>; expected <mujoco>"),
        (
            '<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>',
            r"^m\.xml:1: the file declares a document type or an entity",
        ),
        (
            "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>",
            r"^m\.xml: MuJoCo refuses the model: mass and inertia of moving bodies must be larger",
        ),
        (
            f'<mujoco><worldbody><body><joint axis="0 0 0"/>{BOX}</body></worldbody></mujoco>',
            r"^m\.xml: MuJoCo refuses the model: .*axis",
        ),
        (
            f'<mujoco><worldbody><body pos="0 x 0"><joint/>{BOX}</body></worldbody></mujoco>',
            r"^m\.xml: MuJoCo refuses the model: .*pos",
        ),
    ],
)
def test_bad_models_are_refused_in_one_line(text: str | bytes, message: str) -> None:
    with pytest.raises(PhalanxError, match=message) as caught:
        read_mjcf(text, source="m.xml")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named() -> None:
    with pytest.raises(PhalanxError, match=r"^no\.xml: MuJoCo refuses the model: .*no\.xml"):
        read_mjcf(Path("no.xml"), source="no.xml")


@pytest.mark.usefixtures("without_mujoco")
def test_without_the_package_the_remedy_is_named() -> None:
    with pytest.raises(
        PhalanxError, match=r'^m\.xml: .*needs the package mujoco.*pip install "\.\[mjcf\]" in a clone'
    ):
        read_mjcf("<mujoco/>", source="m.xml")


def test_a_model_with_a_free_joint_gets_no_floating_base() -> None:
    table = f'<body name="table">{BOX}</body>'
    world = f'{table}<body name="dog"><freejoint name="root"/>{BOX}</body>'
    text = f"<mujoco><worldbody>{world}</worldbody></mujoco>"
    assert px.load(text).nv == 6
    with pytest.raises(
        PhalanxError,
        match=r'^<text>: the robot floats already: joint "root" lets link "dog" move freely in the',
    ):
        px.load(text, floating_base=True)
    with pytest.raises(PhalanxError, match=r"Leave out floating_base=True or with_floating_base\(\)\.$"):
        px.load(text).with_floating_base()


@pytest.mark.parametrize("suffix", [".xml", ".mjcf", ".XML", ""])
def test_the_suffix_of_a_file_does_not_matter(suffix: str, tmp_path: Path) -> None:
    part = f"<mujoco><worldbody><body name='part'><joint/>{BOX}</body></worldbody></mujoco>"
    (tmp_path / "part.xml").write_text(part)
    model = tmp_path / f"model{suffix}"
    model.write_text(
        f"<mujoco model='m'><include file='part.xml'/><worldbody><body>{BOX}</body></worldbody></mujoco>"
    )
    robot = px.load(model)
    assert robot.name == "m"
    assert robot.link_names == ("part",)


def test_a_long_word_inside_a_tag_is_looked_at_once() -> None:
    with pytest.raises(PhalanxError):  # minutes, if it were tried from each of its letters
        px.load(f"<mujoco><worldbody {'x' * 300_000}/></mujoco>")
