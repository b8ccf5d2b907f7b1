# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inputs of robots against MuJoCo's actuators and the formulas of transmissions."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.examples import example

INF = math.inf


def urdf_of(rest: str, kind: str = "revolute") -> str:
    joints = "".join(
        f'<link name="l{k}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
        f'<joint name="j{k}" type="{kind}"><parent link="{f"l{k - 1}" if k else "base"}"/>'
        f'<child link="l{k}"/>'
        '<origin xyz="0.1 0.2 0.3"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="20" velocity="3"/></joint>'
        for k in range(3)
    )
    return f'<robot name="r" xmlns:drake="http://drake.mit.edu"><link name="base"/>{joints}{rest}</robot>'


def drive(joint: str, inside: str = "", name: str = "m", kind: str = "SimpleTransmission") -> str:
    return (
        f'<transmission name="t_{joint}"><type>transmission_interface/{kind}</type>'
        f'<joint name="{joint}"/><actuator name="{name}">{inside}</actuator></transmission>'
    )


def reduction(value: Any) -> str:
    return f"<mechanicalReduction>{value}</mechanicalReduction>"


def test_where_nothing_is_stated_every_joint_has_an_input_and_no_floating_base() -> None:
    robot = px.load("two_link", floating_base=True)
    inputs = robot.actuated
    assert (inputs.nu, inputs.is_stated, inputs.names) == (2, False, robot.joint_names)
    np.testing.assert_array_equal(inputs.matrix, np.eye(8)[:, 6:])
    np.testing.assert_array_equal(inputs.upper, robot.limits.effort[6:])
    mixed = px.tree(3, 0.0, joints=("spherical", "floating", "universal"), seed=3)
    turning = [
        mixed.v_slices[j]
        for j, t in zip(mixed.joint_names, mixed.joint_types, strict=True)
        if t != "floating"
    ]
    assert mixed.actuated.nu == sum(s.stop - s.start for s in turning)
    with pytest.raises(ValueError, match="read-only"):
        inputs.matrix[0, 0] = 1.0


def test_gears_and_rotors_of_transmissions_are_read(tmp_path: Path) -> None:
    rotor = '<drake:rotor_inertia value="1e-4"/>'
    text = urdf_of(drive("j0", reduction(50) + rotor) + drive("j2", reduction(-3), name="n"))
    robot = px.load(text, floating_base=True)
    inputs = robot.actuated
    assert (inputs.names, inputs.joints, inputs.is_stated) == (("m", "n"), (("j0",), ("j2",)), True)
    np.testing.assert_array_equal(inputs.selection, np.eye(9)[:, [6, 8]])
    np.testing.assert_array_equal(inputs.matrix, np.eye(9)[:, [6, 8]] * [50, -3])
    assert inputs.gear.tolist() == [50, -3]
    assert inputs.upper.tolist() == [20 / 50, 20 / 3]
    assert inputs.lower.tolist() == [-20 / 50, -20 / 3]
    assert robot.armature.tolist() == [0.0] * 6 + [50 * 50 * 1e-4, 0.0, 0.0]
    assert robot.left_out == ()
    plain = px.load(urdf_of(""), floating_base=True)
    M = robot.mass_matrix(robot.neutral()) - plain.mass_matrix(plain.neutral())
    np.testing.assert_allclose(M, np.diag(robot.armature), atol=1e-14)
    with pytest.warns(
        px.PhalanxWarning, match="left out: the floating base .load with floating_base=True.. r"
    ):
        text = robot.to_urdf(tmp_path / "again.urdf")
    again = px.load(text, floating_base=True)
    assert again.description.actuators == robot.description.actuators
    assert again == robot
    robot.save(tmp_path / "again.json")
    assert px.load(tmp_path / "again.json") == robot


def test_repeated_names_and_interfaces_are_one_motor_each() -> None:
    text = drive("j0") + drive("j0", name="again") + drive("j1") + drive("j1", reduction(2))
    robot = px.load(urdf_of(text))
    assert robot.actuated.names == ("m", "j1", "j1_")
    assert robot.actuated.upper.tolist() == [20.0, INF, INF]  # two motors share what the joint can bear


def test_a_differential_is_that_of_ros_control() -> None:
    role = "<role>{}</role>" + reduction("{}")
    rest = (
        '<transmission name="d"><type>transmission_interface/DifferentialTransmission</type>'
        f'<actuator name="b">{role.format("actuator2", 7)}</actuator>'
        f'<actuator name="a">{role.format("actuator1", 5)}</actuator>'
        f'<joint name="j0">{role.format("joint1", 2)}</joint>'
        f'<joint name="j1">{role.format("joint2", 3)}</joint>'
        "</transmission>"
    )
    robot = px.load(urdf_of(rest))
    assert robot.actuated.names == ("a", "b")
    u = np.array([0.3, 0.4])
    expected = [2 * (5 * u[0] + 7 * u[1]), 3 * (5 * u[0] - 7 * u[1]), 0.0]
    np.testing.assert_allclose(robot.actuated.matrix @ u, expected, rtol=1e-15)
    with pytest.warns(px.PhalanxWarning, match='left out: the actuators "a", "b"'):
        robot.to_urdf()


def test_other_transmissions_are_left_out_by_name() -> None:
    rest = drive("j0") + drive("j1", kind="FourBarLinkageTransmission") + drive("nothing") + drive("j2")
    with pytest.warns(px.PhalanxWarning, match="left out, .*: 2 transmissions"):
        robot = px.load(urdf_of(rest))
    assert robot.left_out == ("2 transmissions",)
    assert robot.actuated.joints == (("j0",), ("j2",))


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        (reduction("fast"), '<mechanicalReduction> is "fast"; expected a finite number that is not 0'),
        (reduction(0), '<mechanicalReduction> is "0"; expected a finite number that is not 0'),
        ('<drake:rotor_inertia value="-1"/>', '<drake:rotor_inertia> is "-1"; expected a finite number >= 0'),
        (reduction(3) + '<drake:gear_ratio value="4"/>', "expected one gear"),
    ],
)
def test_numbers_of_transmissions_that_are_none_are_refused(inside: str, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=rf'^<text>:1: transmission "t_j0": .*{message}'):
        px.load(urdf_of(drive("j0", inside)))


MJCF = (
    '<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1" mass="1"/>'
    '<body name="b"><joint name="j"/><geom size="0.1" mass="1" pos="0.2 0 0"/>'
    '<body name="c"><joint name="k" axis="0 1 0" armature="0.2"/><joint name="l" axis="1 0 0"/>'
    '<geom size="0.1" mass="1" pos="0 0.1 0.1"/><body name="d"><joint name="ball" type="ball"/>'
    '<geom size="0.1" mass="1" pos="0 0.1 0.1"/></body></body></body></body></worldbody>'
    '<tendon><fixed name="t"><joint joint="k" coef="0.5"/><joint joint="l" coef="-2"/></fixed></tendon>'
    '<actuator><motor name="m" joint="j" gear="30" ctrlrange="-2 3" ctrllimited="true"/>'
    '<motor name="pull" tendon="t" gear="4" forcerange="0 7" forcelimited="true"/>'
    '<motor name="twist" joint="ball" gear="1 2 -3"/>{}</actuator></mujoco>'
)


@pytest.mark.filterwarnings("ignore::phalanx.PhalanxWarning")
def test_inputs_are_those_of_mujocos_actuators() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = MJCF.format("")
    robot, model = px.load(text), mujoco.MjModel.from_xml_string(text)
    inputs = robot.actuated
    assert inputs.names == ("m", "pull", "twist")
    assert (inputs.lower[:2].tolist(), inputs.upper[:2].tolist()) == ([-2.0, 0.0], [3.0, 7.0])
    data = mujoco.MjData(model)
    q, qd, _ = robot.random_state(rng=1)
    data.qpos, data.qvel = px.convert.to_mujoco(robot, model, q, qd)
    data.ctrl[:] = u = np.array([1.5, 6.0, 0.7])
    mujoco.mj_forward(model, data)
    expected = px.convert.tau_from_mujoco(robot, model, q, data.qfrc_actuator)
    np.testing.assert_allclose(inputs.matrix @ u, expected, atol=1e-13)
    again = px.load(robot.description)
    assert again.actuated.names == inputs.names


def test_servos_and_actuators_elsewhere_are_named_as_left_out() -> None:
    pytest.importorskip("mujoco")
    more = '<position name="servo" joint="j" kp="9"/><motor name="free" body="a"/>'.replace(
        '<motor name="free" body="a"/>', '<adhesion name="glue" body="a" ctrlrange="0 1"/>'
    )
    with pytest.warns(px.PhalanxWarning, match=r'1 actuator \("glue"\); 1 gain of a servo'):
        robot = px.load(MJCF.format(more))
    assert robot.actuated.names == ("m", "pull", "twist", "servo")


def test_talos_has_an_input_for_each_joint_whose_transmission_is_read() -> None:
    robot = example("talos_reduced.urdf", floating_base=True)
    if robot is None:
        pytest.skip("example-robot-data is not installed")
    inputs = robot.actuated
    idle = [j for j in robot.joint_names if not inputs.matrix[robot.v_slices[j]].any()]
    assert idle == ["head_1_joint", "head_2_joint"]  # behind a HalfDifferentialTransmission
    assert "1 transmission" in robot.left_out
    assert np.linalg.matrix_rank(inputs.matrix) == inputs.nu == len(robot.joint_names) - len(idle)
    assert not inputs.matrix[:6].any()


# ------------------------------------------------------------------- by hand


def test_actuators_by_hand_replace_those_of_the_file() -> None:
    robot = px.load(urdf_of(drive("j0", reduction(50)))).with_actuation(
        {
            "j1": 100.0,
            "j2": {"gear": -2.0, "rotor_inertia": 0.1, "lower": -1, "upper": 2},
            "t": {"joints": {"j0": 0.5, "j1": -0.5}},
        }
    )
    inputs = robot.actuated
    assert inputs.names == ("j1", "j2", "t")
    np.testing.assert_array_equal(inputs.matrix, [[0, 0, 0.5], [100, 0, -0.5], [0, -2, 0]])
    assert (inputs.lower.tolist(), inputs.upper.tolist()) == ([-INF, -1, -INF], [INF, 2, INF])
    assert robot.armature.tolist() == [0, 0, 0.4]
    assert robot.replace(actuated=["j2", "j0"]).actuated.names == ("j2", "j0")
    assert robot.with_actuation(()).actuated.matrix.shape == (3, 0)
    same = robot.with_actuation(robot.description.actuators)
    assert same == robot
    ball = px.tree(2, 0.0, joints=("spherical",), seed=1).with_actuation(["joint1"]).actuated
    assert ball.names == ("joint1 turn x", "joint1 turn y", "joint1 turn z")
    np.testing.assert_array_equal(ball.matrix, np.eye(6)[:, :3])


def test_an_input_at_a_follower_acts_on_its_driver() -> None:
    builder = px.RobotBuilder()
    for name in "abc":
        builder.add_link(name, mass=1.0, inertia=(1, 1, 1))
    builder.add_joint("drive", "revolute", "a", "b")
    builder.add_joint("follow", "revolute", "b", "c", mimic=("drive", -2.0))
    robot = builder.build().with_actuation({"follow": 3.0})
    assert robot.actuated.matrix.tolist() == [[-6.0]]
    assert builder.build().actuated.names == ("drive",)


REFUSED: dict[str, tuple[Callable[[px.Robot], object], str]] = {
    "unknown": (lambda r: r.with_actuation(["j9"]), r"there is no moving joint 'j9'; joints: \"j0\""),
    "unknown in a mapping": (lambda r: r.with_actuation({"J0": 1.0}), r'did you mean "j0"'),
    "option": (
        lambda r: r.with_actuation({"j0": {"geer": 1.0}}),
        r'unknown entry .geer.; did you mean "gear"',
    ),
    "text": (lambda r: r.with_actuation("j0"), "got 'j0'; expected joints, a mapping"),
    "number": (lambda r: r.with_actuation(3), "got 3; expected joints"),
    "zero": (lambda r: r.with_actuation({"j0": 0.0}), "gear 0, .*a gear that is not 0"),
    "NaN": (lambda r: r.with_actuation({"j0": np.nan}), "gear nan"),
    "twice": (lambda r: r.with_actuation(["j0", "j0"]), 'two actuators are named "j0"'),
    "bounds": (lambda r: r.with_actuation({"j0": {"lower": 2, "upper": 1}}), "expected lower <= upper"),
    "rotor": (lambda r: r.with_actuation({"j0": {"rotor_inertia": -1.0}}), "inertia >= 0"),
    "rotor of a tendon": (
        lambda r: r.with_actuation({"t": {"joints": {"j0": 1, "j1": 1}, "rotor_inertia": 1.0}}),
        r"is not at one joint of one axis; .*replace\(armature=",
    ),
    "arms": (lambda r: r.with_actuation({"t": {"joints": {"j0": (1, 2)}}}), "expected 1 number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_actuators_without_sense_are_refused(case: str) -> None:
    edit, message = REFUSED[case]
    with pytest.raises(px.PhalanxError, match=message):
        edit(px.load(urdf_of("")))
