# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots read from MJCF move as they do in MuJoCo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import convert
from phalanx.backends.base import installed
from reference.engines import Mujoco, hold

mujoco = pytest.importorskip("mujoco", reason="the oracle of these tests")

INERTIAL = '<inertial pos="0.1 -0.2 0.3" mass="1.5" fullinertia="0.3 0.25 0.2 0.02 -0.03 0.01"/>'
POSE = 'pos="0.3 -0.1 0.4" euler="20 -35 50"'
AXIS = 'axis="0.3 -0.5 0.8"'
ANCHOR = 'pos="0.2 0.1 -0.15"'


def body(joints: str, inside: str = "") -> str:
    return f"<body {POSE}>{joints}{INERTIAL}{inside}</body>"


HINGE = f"<joint {AXIS} {ANCHOR}/>"
MODELS = {
    "hinge": body(HINGE, body(HINGE)),
    "slide": body(f'<joint type="slide" {AXIS} {ANCHOR}/>', body(HINGE)),
    "ball": body(f'<joint type="ball" {ANCHOR}/>', body('<joint type="ball"/>')),
    "free": body("<freejoint/>", body(HINGE) + body('<joint type="ball"/>')),
    "free without a name below": body("<freejoint/>") + body("<freejoint/>", body(HINGE)),
    "armature": body(f'<joint {AXIS} armature="0.7"/>', body('<joint type="ball" armature="0.2"/>')),
    "several joints of a body": body(
        f'<joint {AXIS} {ANCHOR}/><joint type="slide" axis="1 2 0"/><joint axis="0 1 1" pos="0 0.3 0"/>',
        body(f'<joint type="slide" {AXIS}/><joint type="ball" {ANCHOR}/>'),
    ),
    "reference positions": body(
        f'<joint {AXIS} {ANCHOR} ref="40"/><joint type="slide" axis="0 1 2" ref="-0.6"/>',
        body(f'<joint type="slide" {AXIS} {ANCHOR} ref="0.3"/><joint axis="1 0 0" pos="0 0.1 0" ref="-70"/>'),
    ),
    "bodies without joints": body(HINGE, body("", body("", body(HINGE)) + body(HINGE))) + body(""),
}


MODELS["everything"] = body(
    "<freejoint/>",
    MODELS["several joints of a body"] + MODELS["armature"] + MODELS["reference positions"],
)


@pytest.fixture(params=MODELS, name="pair")
def pair_(request: pytest.FixtureRequest) -> tuple[px.Robot, Any]:
    return load(MODELS[request.param])


def load(world: str, rest: str = "", *, constraint: str = "disable") -> tuple[px.Robot, Any]:
    # Contacts and limits are no part of the comparison; gravity points off the axes.
    flags = f'<flag contact="disable" constraint="{constraint}"/>'
    option = f'<option gravity="1 -2 -9">{flags}</option>'
    text = f'<mujoco>{option}<compiler balanceinertia="true"/><worldbody>{world}</worldbody>{rest}</mujoco>'
    return px.load(text), mujoco.MjModel.from_xml_string(text)


def state(robot: px.Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return robot.random_state(rng=seed)


def moved(robot: px.Robot, model: Any, q: Any, qd: Any = None) -> Any:
    """MuJoCo's data at the robot's state."""
    data = mujoco.MjData(model)
    data.qpos[:] = convert.to_mujoco(robot, model, q)
    if qd is not None:
        data.qvel[:] = convert.to_mujoco(robot, model, q, qd)[1]
    mujoco.mj_forward(model, data)
    return data


def close(got: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(got, expected, atol=1e-11 * max(1.0, np.abs(expected).max()), rtol=0)


def test_sizes_and_masses_agree(pair: tuple[px.Robot, Any]) -> None:
    robot, model = pair
    assert (robot.nq, robot.nv) == (model.nq, model.nv)
    welded = sum(model.body_mass[i] for i in range(model.nbody) if model.body_weldid[i] == 0)
    assert robot.total_mass == pytest.approx(model.body_mass.sum() - welded)
    close(robot.gravity, np.array([1.0, -2.0, -9.0]))


def test_bodies_stand_as_the_file_has_them_at_the_reference_positions(pair: tuple[px.Robot, Any]) -> None:
    robot, model = pair
    q = convert.from_mujoco(robot, model, model.qpos0)
    close(robot.center_of_mass(q), subtree_centre(model, moved(robot, model, q)))


def subtree_centre(model: Any, data: Any) -> np.ndarray:
    """Mass centre of what moves."""
    moving = model.body_weldid > 0
    return np.average(data.xipos[moving], axis=0, weights=model.body_mass[moving])


# XLA compiles long: the one model that has every kind of joint.
CASES = [(m, b) for b in installed() for m in (["everything"] if b == "jax" else MODELS)]


@pytest.mark.parametrize(("name", "backend"), CASES)
def test_every_function_agrees_on_every_backend(name: str, backend: str) -> None:
    hold(Mujoco(*load(MODELS[name])), backend)


@pytest.mark.filterwarnings("ignore:.*left out.*1 actuator:phalanx.PhalanxWarning")
def test_geared_rotors_enter_the_mass_matrix() -> None:
    actuator = '<actuator><motor joint="j" gear="3" armature="0.5"/></actuator>'
    try:
        robot, model = load(body(f'<joint name="j" {AXIS}/>', body(HINGE)), actuator)
    except px.PhalanxError as error:
        pytest.skip(f"this MuJoCo knows no rotor inertia: {error}")
    q, _, _ = state(robot)
    expected = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, moved(robot, model, q), expected)
    close(robot.mass_matrix(q), expected)
    assert robot.armature.tolist() == [4.5, 0.0]


def test_coupled_joints_move_as_the_equality_asks() -> None:
    inside = body(f'<joint name="j" {AXIS} ref="25"/>')
    equality = '<equality><joint joint1="j" joint2="i" polycoef="0.2 -1.5 0 0 0"/></equality>'
    robot, model = load(body(f'<joint name="i" {AXIS} ref="10"/>', inside), equality, constraint="enable")
    assert (robot.nv, model.nv) == (1, 2)
    data = mujoco.MjData(model)
    i, j = model.qpos0
    data.qpos[:] = (0.4, j + 0.2 - 1.5 * (0.4 - i))
    mujoco.mj_forward(model, data)
    close(robot.center_of_mass([0.4]), subtree_centre(model, data))


@pytest.mark.parametrize("flag", ["equality", "constraint"])
def test_joints_move_by_themselves_where_the_model_disables_its_equalities(flag: str) -> None:
    world = body('<joint name="i"/>', body('<joint name="j"/>'))
    equality = '<equality><joint joint1="j" joint2="i"/><connect body1="b" anchor="0 0 0"/></equality>'
    option = f'<option><flag {flag}="disable"/></option>'
    text = f"<mujoco>{option}<worldbody>{world}</worldbody>{equality}</mujoco>"
    text = text.replace("<body ", '<body name="b" ', 1)
    robot, model = px.load(text), mujoco.MjModel.from_xml_string(text)
    assert robot.nv == model.nv == 2
    assert robot.loops == ()
    data = moved(robot, model, [0.3, -0.4], [1.0, 2.0])
    assert data.nefc == 0
    close(robot.forward_dynamics([0.3, -0.4], [1.0, 2.0], [0.0, 0.0]), data.qacc)


SITE = '<site name="{}" pos="0.1 0.05 -0.2" euler="15 -25 35"/>'
RELPOSE = 'relpose="0.1 -0.2 0.3 0.5 0.1 -0.7 0.3"'
LOOPS = {
    "connect": '<connect body1="a" body2="b" anchor="0.1 0.2 0.3"/>',
    "connect to the world": '<connect body1="a" anchor="0.1 0.2 0.3"/>',
    "connect of sites": '<connect site1="sa" site2="sb"/>',
    "weld": '<weld body1="a" body2="b"/>',
    "weld at an anchor": '<weld body1="a" body2="b" anchor="0.3 -0.1 0.2"/>',
    "weld with a pose": f'<weld body1="b" body2="a" {RELPOSE}/>',
    "weld with a pose at an anchor": f'<weld body1="b" body2="a" anchor="1 2 3" {RELPOSE}/>',
    "weld of sites": '<weld site1="sb" site2="sa"/>',
}


@pytest.mark.parametrize("kind", LOOPS)
@pytest.mark.filterwarnings("ignore:.*left out.*1 loop:phalanx.PhalanxWarning")
def test_loops_are_open_by_what_mujoco_has_to_correct(kind: str) -> None:
    world = body("<freejoint/>", SITE.format("sa")).replace("<body ", '<body name="a" ', 1)
    world += body(HINGE, SITE.format("sb")).replace("<body ", '<body name="b" ', 1)
    robot, model = load(world, f"<equality>{LOOPS[kind]}</equality>", constraint="enable")
    (loop,) = robot.loops
    q, _, _ = state(robot)
    data = moved(robot, model, q)
    first = robot.frame_pose(q, loop.predecessor) @ loop.predecessor_pose.matrix
    second = robot.frame_pose(q, loop.successor) @ loop.successor_pose.matrix
    close(first[:3, 3] - second[:3, 3], data.efc_pos[:3])
    assert np.abs(data.efc_pos[:3]).max() > 0.1
    assert loop.type == ("fixed" if "weld" in kind else "spherical")
    if loop.type == "fixed":  # MuJoCo takes the imaginary part of the quaternion between the two
        half = (np.trace(second[:3, :3].T @ first[:3, :3]) - 1.0) / 2.0
        expected = np.sqrt((1.0 - half) / 2.0)
        close(np.linalg.norm(data.efc_pos[3:6]), expected)


def test_sites_are_frames_that_stand_and_move_as_in_mujoco() -> None:
    world = SITE.format("w") + body(
        "<freejoint/>", SITE.format("s") + body(HINGE, body("", SITE.format("t")))
    )
    robot, model = load(world)
    q, qd, _ = state(robot)
    data = moved(robot, model, q, qd)
    assert robot.frame_names[-3:] == ("w", "s", "t")
    velocity = np.empty(6)
    for name in ("w", "s", "t"):
        pose, site = robot.frame_pose(q, name), data.site(name)
        close(pose[:3, :3], site.xmat.reshape(3, 3))
        close(pose[:3, 3], site.xpos)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_SITE, site.id, velocity, 0)
        close(robot.jacobian(q, name) @ qd, velocity)
    welded = robot.fix({robot.joint_names[-1]: q[-1]})
    close(welded.frame_pose(q[:-1], "t"), robot.frame_pose(q, "t"))


def test_a_payload_hangs_where_the_site_is() -> None:
    world = body(HINGE, body(HINGE, SITE.format("tool")))
    payload = f'<body pos="0.1 0.05 -0.2" euler="15 -25 35">{INERTIAL}</body>'
    robot, _ = load(world)
    loaded, model = load(world.replace(SITE.format("tool"), payload))
    mass = 1.5
    inertia = ((0.3, 0.02, -0.03), (0.02, 0.25, 0.01), (-0.03, 0.01, 0.2))
    carrying = robot.with_payload("tool", mass, (0.1, -0.2, 0.3), inertia)
    assert "tool_payload" in carrying.frame_names
    q, qd, qdd = state(robot)
    close(carrying.inverse_dynamics(q, qd, qdd), loaded.inverse_dynamics(q, qd, qdd))
    expected = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, moved(loaded, model, q), expected)
    close(carrying.mass_matrix(q), expected)


@pytest.mark.filterwarnings("ignore:.*left out.*2 loops:phalanx.PhalanxWarning")
def test_a_robot_tells_how_many_joints_follow_and_how_many_loops_are_open() -> None:
    world = body('<joint name="i"/>', body('<joint name="j"/>', body('<joint name="k"/>')))
    world = world.replace("<body ", '<body name="b" ', 1)
    one, other = '<joint joint1="j" joint2="i"/>', '<joint joint1="k" joint2="i" polycoef="0 2 0 0 0"/>'

    def told(equalities: str) -> str:
        return repr(load(world, f"<equality>{equalities}</equality>", constraint="enable")[0])

    assert told(one).endswith("nq = 2, nv = 2, 1 joint follows another>")
    connect = '<connect body1="b" anchor="0 0 0"/>'
    text = told(one + other + connect * 2)
    assert text.endswith("nq = 1, nv = 1, 2 joints follow others, 2 constraints>")


PACKAGED = Path(mujoco.__file__).parent / "testdata" / "model.xml"


@pytest.mark.skipif(not PACKAGED.exists(), reason="this mujoco comes without models")
def test_a_model_of_the_package_moves_as_in_mujoco() -> None:
    with pytest.warns(px.PhalanxWarning, match=r"left out"):
        robot = px.load(PACKAGED)
    model = mujoco.MjModel.from_xml_path(str(PACKAGED))
    q, qd, _ = state(robot)
    data = moved(robot, model, q, qd)
    for site in range(model.nsite):
        name = model.site(site).name
        if name in robot.frame_names and name not in robot.link_names:
            close(robot.frame_pose(q, name)[:3, 3], data.site_xpos[site])
    zero = np.zeros(robot.nv)
    bias = robot.inverse_dynamics(q, qd, convert.from_mujoco(robot, model, data.qpos, data.qvel, zero)[2])
    close(convert.tau_to_mujoco(robot, model, q, bias), data.qfrc_bias)
    assert [loop.name for loop in robot.loops] == ["weld0"]


def test_springs_pull_as_mujoco_has_them() -> None:
    spring = 'stiffness="3" springref="40"'
    slide = '<joint type="slide" axis="0 1 2" ref="0.2" stiffness="5" springref="-0.3"/>'
    world = body(
        f'<joint {AXIS} ref="10" {spring}/>', body(slide, body('<joint type="ball" stiffness="2"/>'))
    )
    robot, model = load(world)
    assert robot.stiffness.tolist() == [3.0, 5.0, 2.0, 2.0, 2.0]
    close(convert.to_mujoco(robot, model, robot.spring_reference), model.qpos_spring)
    q, qd, _ = state(robot)
    data = moved(robot, model, q, qd)
    pull = -robot.stiffness * robot.difference(robot.spring_reference, q)
    close(convert.tau_to_mujoco(robot, model, q, pull), data.qfrc_passive)
    qdd = robot.forward_dynamics(q, qd, pull)
    close(convert.to_mujoco(robot, model, q, qd, qdd)[2], data.qacc)
