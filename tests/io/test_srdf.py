# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Configurations of SRDF files against Pinocchio's, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.examples import example

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


def srdf_of(states: str, rest: str = "") -> str:
    return f'<robot name="r">{rest}{states}</robot>'


def state(name: str, group: str = "all", **values: Any) -> str:
    joints = "".join(f'<joint name="{joint}" value="{value}"/>' for joint, value in values.items())
    return f'<group_state name="{name}" group="{group}">{joints}</group_state>'


@pytest.mark.filterwarnings("ignore::phalanx.PhalanxWarning")
@pytest.mark.parametrize(
    ("name", "floating"),
    [
        ("solo12.urdf", True), ("hyq_no_sensors.urdf", True), ("talos_reduced.urdf", True),
        ("a1.urdf", True), ("panda.urdf", False), ("z1.urdf", False),
    ],
)  # fmt: skip
def test_configurations_are_those_of_pinocchio(name: str, floating: bool) -> None:
    pin = pytest.importorskip("pinocchio")
    robot = example(name, floating_base=floating)
    if robot is None:
        pytest.skip("example-robot-data is not installed")
    urdf = Path(robot.description.source)
    files = [f for f in (urdf.parents[1] / "srdf").glob("*.srdf") if f.stem not in ("b1", "romeo")]
    free = (pin.JointModelFreeFlyer(),) if floating else ()
    model = pin.buildModelFromUrdf(str(urdf), *free)
    pin.loadReferenceConfigurations(model, str(files[0]), False)
    found = px.load(urdf, floating_base=floating, srdf=files[0])
    assert found.configurations.keys() == {x.key() for x in model.referenceConfigurations} != set()
    for state_name, q in found.configurations.items():
        theirs = px.convert.from_pinocchio(found, model, model.referenceConfigurations[state_name])
        np.testing.assert_allclose(found.normalize(q), theirs, atol=1e-12)
    assert found.configurations.keys() == robot.with_srdf(files[0]).configurations.keys()
    assert pickle.loads(pickle.dumps(found)).configurations.keys() == found.configurations.keys()


def test_states_of_groups_are_one_and_the_rest_is_zero(tmp_path: Path) -> None:
    states = state("home", "a", shoulder=0.5) + state("home", "b", elbow=-0.5) + state("up", shoulder=1)
    base = state("float", root_joint="1 2 3 0 0 0 1", elbow=0.25)
    robot = px.load("two_link", srdf=srdf_of(states.replace("shoulder", "joint1").replace("elbow", "joint2")))
    assert {name: q.tolist() for name, q in robot.configurations.items()} == {
        "home": [0.5, -0.5],
        "up": [1, 0],
    }
    assert not robot.left_out
    (tmp_path / "s.srdf").write_text(srdf_of(base.replace("elbow", "joint2")))
    again = robot.with_srdf(tmp_path / "s.srdf").with_floating_base()
    assert again.configurations["float"].tolist() == [1, 2, 3, 0, 0, 0, 1, 0, 0.25]
    assert list(again.configurations) == ["home", "up", "float"]
    again.save(tmp_path / "r.json")
    assert px.load(tmp_path / "r.json") == again
    assert again.with_configuration("up", {"joint2": 2.0}).configurations["up"][7:].tolist() == [0, 2]
    with pytest.raises(ValueError, match="read-only"):
        again.configurations["up"][0] = 1.0
    with pytest.warns(px.PhalanxWarning, match='the configurations "home", "up", "float"'):
        again.to_urdf()


def test_what_is_no_state_is_counted_in_one_warning() -> None:
    pair = '<disable_collisions link1="a" link2="b" reason="Never"/>'
    rest = f'<group name="g"/>{pair}{pair}<end_effector name="e"/><virtual_joint name="v" type="floating"/>'
    with pytest.warns(
        px.PhalanxWarning, match="^<srdf>: left out, for only <group_state>s are read: 1 SRDF group"
    ):
        robot = px.load("two_link", srdf=srdf_of(state("s", v="0 0 1 0 0 0 1"), rest))
    assert robot.left_out == ("1 SRDF group", "2 pairs without collision checks", "1 end effector")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (srdf_of(state("s", joint3=1)), r'<srdf>:1: .*robot "two_link" has no joint "joint3"; did you mean'),
        (
            srdf_of(state("s", joint1="1 2")),
            r'joint "joint1" \(.*\) has the value "1 2"; expected 1 finite number',
        ),
        (srdf_of(state("s", joint1="up")), r'has the value "up"'),
        (srdf_of(state("s", root_joint="0 0 1")), r'"root_joint" \(floating\) has the value .* expected 7'),
        (srdf_of(state("s", joint1=1) + state("s", joint1=2)), r'"joint1" is at \[1.0\] and at \[2.0\]'),
        (srdf_of(state("", joint1=1)), "a <group_state> has no name"),
        ("<robot><link name='a'/></robot>", "it is URDF, not SRDF"),
        ("<sdf/>", "the root element is <sdf>"),
        ("no/such.srdf", 'with_srdf: cannot read "no/such.srdf": no such file'),
        (3, "with_srdf: got 3, expected a path"),
    ],
)
def test_what_does_not_fit_is_refused(source: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.load("two_link").with_srdf(source)


def test_followers_have_to_be_where_their_drivers_take_them() -> None:
    robot = example("panda.urdf")
    if robot is None:
        pytest.skip("example-robot-data is not installed")
    driver, follower = "panda_finger_joint1", "panda_finger_joint2"
    fitting = srdf_of(state("s", **{driver: 0.01, follower: 0.01}))
    assert robot.with_srdf(fitting).configurations["s"][-1] == 0.01
    with pytest.raises(
        px.PhalanxError, match=rf'"{follower}" is at 0.02, but follows "{driver}", .* to 0.01'
    ):
        robot.with_srdf(srdf_of(state("s", **{driver: 0.01, follower: 0.02})))
