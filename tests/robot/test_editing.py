# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Edited robots against Pinocchio's on the same edited URDF, and edits against each other."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from phalanx.robot.joints import joint_type, joint_types, pose_of, quaternion_of
from reference.examples import example
from reference.sampling import MOVING_TYPES, agree, seeds, trees

pin = pytest.importorskip("pinocchio")
pytestmark = [
    pytest.mark.usefixtures("auto_is_numpy"),
    pytest.mark.filterwarnings("ignore::phalanx.PhalanxWarning"),
]

POSE = pin.SE3(pin.rpy.rpyToMatrix(0.3, -0.4, 0.5), np.array([0.1, -0.2, 0.05]))
OTHER = pin.SE3(pin.rpy.rpyToMatrix(-0.7, 0.2, 1.1), np.array([-0.4, 0.3, 0.2]))


def file_of(name: str) -> str:
    robot = example(name)
    if robot is None:
        pytest.skip("example-robot-data is not installed")
    return robot.description.source


def xml_of(name: str) -> Any:
    """The URDF of a robot without its meshes."""
    root = ET.parse(file_of(name)).getroot()
    for link in root.findall("link"):
        for part in (*link.findall("visual"), *link.findall("collision")):
            link.remove(part)
    return root


def add_joint(
    root: Any, name: str, kind: str, parent: str, child: str, pose: Any = None, axis: str = ""
) -> Any:
    joint = ET.SubElement(root, "joint", name=name, type=kind)
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    if pose is not None:
        rpy = " ".join(map(repr, pin.rpy.matrixToRpy(pose.rotation).tolist()))
        ET.SubElement(joint, "origin", xyz=" ".join(map(repr, pose.translation.tolist())), rpy=rpy)
    if axis:
        ET.SubElement(joint, "axis", xyz=axis)
        ET.SubElement(joint, "limit", lower="-9", upper="9", effort="1e3", velocity="1e3")
    return joint


def renamed(root: Any, prefix: str) -> Any:
    for element in root.iter():
        for tag, key in (("link", "name"), ("joint", "name"), ("parent", "link"), ("child", "link")):
            if element.tag == tag and key in element.attrib:
                element.set(key, prefix + element.attrib[key])
        if element.tag == "mimic":
            element.set("joint", prefix + element.attrib["joint"])
    return root


def without(root: Any, link: str) -> Any:
    """The tree below a link taken out of an XML text."""
    joints = {j.find("child").attrib["link"]: j for j in root.findall("joint")}

    def carried(name: str) -> bool:
        while name != link:
            if name not in joints:
                return False
            name = joints[name].find("parent").attrib["link"]
        return True

    gone = {x.attrib["name"] for x in root.findall("link") if carried(x.attrib["name"])}
    for element in (*root.findall("link"), *root.findall("joint")):
        name = element.attrib["name"] if element.tag == "link" else element.find("child").attrib["link"]
        if name in gone:
            root.remove(element)
    return root


def turned_round(root: Any, link: str) -> Any:
    """The XML with another root: joints on the way lead to massless links that carry the old parents."""
    above = {j.find("child").attrib["link"]: j for j in root.findall("joint")}
    while link in above:
        joint = above[link]
        parent, name = joint.find("parent").attrib["link"], joint.attrib["name"]
        origin, axis = joint.find("origin"), joint.find("axis")
        numbers = [list(map(float, origin.attrib.get(key, "0 0 0").split())) for key in ("xyz", "rpy")]
        pose = pin.SE3(pin.rpy.rpyToMatrix(*numbers[1]), np.array(numbers[0]))
        root.remove(joint)
        ET.SubElement(root, "link", name=f"{name}_middle")
        direction = "1 0 0" if axis is None else axis.attrib["xyz"]
        back = " ".join(repr(-float(x)) for x in direction.split())
        kind = joint.attrib["type"]
        add_joint(root, name, kind, link, f"{name}_middle", axis="" if kind == "fixed" else back)
        add_joint(root, f"{name}_back", "fixed", f"{name}_middle", parent, pose.inverse())
        link = parent
    return root


def agrees_with_pinocchio(robot: px.Robot, root: Any) -> None:
    """Raise unless dynamics and frames are those of the URDF in Pinocchio."""
    text = ET.tostring(root, encoding="unicode")
    if robot.description.floating_base:
        model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    else:
        model = pin.buildModelFromXML(text)
    data = model.createData()
    convert = px.convert
    for seed in range(3):
        q, qd, qdd = robot.random_state(rng=seed)
        p, v = convert.to_pinocchio(robot, model, q, qd)
        a = convert.to_pinocchio(robot, model, q, qdd)[1]
        tau = convert.tau_from_pinocchio(robot, model, q, pin.rnea(model, data, p, v, a))
        agree(robot.inverse_dynamics(q, qd, qdd), tau, 1e-13)
        B = convert.pinocchio_basis(robot, model, q)
        M = pin.crba(model, data, p)
        M = np.triu(M) + np.triu(M, 1).T
        agree(robot.mass_matrix(q), B.T @ M @ B, 1e-13)
        agree(robot.forward_dynamics(q, qd, tau), qdd, 1e-9)
        if not robot.is_coupled:  # there Pinocchio solves for followers, too
            theirs = pin.aba(model, data, p, v, pin.rnea(model, data, p, v, a))
            _, found = convert.to_pinocchio(robot, model, q, robot.forward_dynamics(q, qd, tau))
            agree(found, theirs, 1e-10)
        pin.framesForwardKinematics(model, data, p)
        for name in robot.frame_names:
            if model.existFrame(name):
                pose = data.oMf[model.getFrameId(name)].homogeneous
                agree(robot.frame_pose(q, name), pose, 1e-13)


def saved(robot: px.Robot, folder: Path) -> px.Robot:
    """The robot read back from a file, which is the same."""
    robot.save(folder / "robot.json")
    again = px.load(folder / "robot.json")
    assert again == robot == pickle.loads(pickle.dumps(robot))
    assert again.digest == robot.digest
    return again


def rewritten(robot: px.Robot, q: np.ndarray, *rates: np.ndarray) -> None:
    """Raise unless the robot's URDF has its dynamics, for joints of one coordinate."""
    again = px.load(robot.to_urdf(), floating_base=robot.description.floating_base)
    assert again.joint_names == robot.joint_names
    agree(again.inverse_dynamics(q, *rates), robot.inverse_dynamics(q, *rates), 1e-12)


# ------------------------------------------------------------------- against Pinocchio


def test_a_tool_is_a_frame_of_pinocchio(tmp_path: Path) -> None:
    root = xml_of("panda.urdf")
    ET.SubElement(root, "link", name="tool")
    add_joint(root, "tool_joint", "fixed", "panda_hand", "tool", POSE * OTHER)
    robot = px.load(file_of("panda.urdf")).with_frame("flange", "panda_hand", POSE.homogeneous)
    tool = robot.with_frame("tool", "flange", OTHER.homogeneous)
    agrees_with_pinocchio(tool, root)
    saved(tool, tmp_path)
    rewritten(tool, *tool.random_state(rng=1))
    assert tool.remove("tool") == robot


def test_a_mounted_tool_is_that_of_pinocchio(tmp_path: Path) -> None:
    root, gripper = xml_of("solo12.urdf"), renamed(xml_of("finger_edu.urdf"), "arm_")
    for element in (*gripper.findall("link"), *gripper.findall("joint")):
        root.append(element)
    base = px.load(file_of("finger_edu.urdf")).frame_names[0]
    add_joint(root, "mount", "fixed", "base_link", f"arm_{base}", POSE)
    other = px.load(file_of("finger_edu.urdf"), floating_base=True)
    robot = px.load(file_of("solo12.urdf"), floating_base=True)
    both = robot.attach(other, "base_link", POSE.homogeneous, prefix="arm_", joint="mount")
    assert both.nv == robot.nv + other.nv - 6
    assert both.joint_names == (*robot.joint_names, *(f"arm_{j}" for j in other.joint_names))
    agrees_with_pinocchio(both, root)
    saved(both, tmp_path)


def test_two_arms_side_by_side_are_those_of_pinocchio(tmp_path: Path) -> None:
    root = renamed(xml_of("panda.urdf"), "left_")
    other = renamed(xml_of("ur5_robot.urdf"), "right_")
    ET.SubElement(root, "link", name="all")
    for element in (*other.findall("link"), *other.findall("joint")):
        root.append(element)
    left, right = px.load(file_of("panda.urdf")), px.load(file_of("ur5_robot.urdf"))
    add_joint(root, "a", "fixed", "all", f"left_{left.frame_names[0]}", POSE)
    add_joint(root, "b", "fixed", "all", "right_world", OTHER)
    poses = POSE.homogeneous, OTHER.homogeneous
    both = left.merge(right, poses=poses, prefixes=("left_", "right_"), name="pair")
    assert (both.name, both.nq) == ("pair", left.nq + right.nq)
    agrees_with_pinocchio(both, root)
    saved(both, tmp_path)
    rewritten(both, *both.random_state(rng=1))
    q = np.concatenate([left.random_state(rng=1)[0], right.random_state(rng=1)[0]])
    agree(both.mass_matrix(q)[: left.nv, : left.nv], left.mass_matrix(q[: left.nq]), 1e-13)


def test_floating_robots_side_by_side_are_independent() -> None:
    robot = px.load("two_link", floating_base=True).replace(armature=np.linspace(0.1, 0.2, 8))
    both = robot.merge(robot, poses=(None, POSE.homogeneous), prefixes=("a_", "b_"))
    assert both.joint_types.count("floating") == 2
    q, qd, qdd = robot.random_state(rng=1)
    own = robot.inverse_dynamics(q, qd, qdd)
    there = POSE.act(q[:3])
    placed = np.concatenate([there, quaternion_of(POSE.rotation @ rotation_of(q[3:7])), q[7:]])
    weights = robot.inverse_dynamics(placed, qd, qdd)
    tau = both.inverse_dynamics(*(np.concatenate([x, x]) for x in (q, qd, qdd)))
    agree(tau, np.concatenate([own, weights]), 1e-13)


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    return pin.Quaternion(*np.roll(quaternion, 1)).matrix()


@pytest.mark.parametrize(
    ("name", "link"), [("panda.urdf", "panda_hand"), ("talos_reduced.urdf", "arm_left_4_link")]
)
def test_a_robot_without_a_gripper_is_that_of_pinocchio(name: str, link: str, tmp_path: Path) -> None:
    floating = name.startswith("talos")
    robot = px.load(file_of(name), floating_base=floating).remove(link)
    assert link not in robot.frame_names
    agrees_with_pinocchio(robot, without(xml_of(name), link))
    saved(robot, tmp_path)
    rewritten(robot, *robot.random_state(rng=1))


@pytest.mark.parametrize(
    ("name", "link", "floating"),
    [
        ("panda.urdf", "panda_link4", False),
        ("ur5_robot.urdf", "tool0", False),
        ("solo12.urdf", "HR_FOOT", True),
        ("talos_reduced.urdf", "gripper_left_base_link", True),
    ],
)
def test_a_robot_with_another_base_is_that_of_pinocchio(
    name: str, link: str, floating: bool, tmp_path: Path
) -> None:
    robot = px.load(file_of(name), floating_base=floating)
    other = robot.reroot(link)
    assert sorted(other.joint_names) == sorted(robot.joint_names)
    agrees_with_pinocchio(other, turned_round(xml_of(name), link))
    again = saved(other, tmp_path).reroot(root_of(robot))
    q, qd, qdd = robot.random_state(rng=5)
    agree(again.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-13)
    rewritten(other, *other.random_state(rng=1))


# ------------------------------------------------------------------- edits against each other


@pytest.mark.parametrize("kind", joint_types())
def test_joints_of_every_type_lead_the_other_way_with_the_inverse_motion(kind: str) -> None:
    type_ = joint_type(kind)
    axis, axis2 = (0.36, 0.48, -0.8), (0.6, 0.0, 0.8)
    q = type_.normalize(np.random.default_rng(1).standard_normal(type_.nq))
    back = type_.steps(*type_.reversed_axes(axis, axis2), 0.3)
    found = pose_of(back, type_.reversed_coordinates(q)) @ pose_of(type_.steps(axis, axis2, 0.3), q)
    np.testing.assert_allclose(found, np.eye(4), atol=1e-15)


def isotropic(robot: px.Robot) -> px.Robot:
    """The robot without armature and limits along axes that may be others after an edit."""
    planar = [j for j, kind in zip(robot.joint_names, robot.joint_types, strict=True) if kind == "planar"]
    limits = dict.fromkeys(planar, dict.fromkeys(("lower", "upper", "velocity", "effort")))
    return robot.replace(armature=np.zeros(robot.nv), limits=limits)


def root_of(robot: px.Robot) -> str:
    carried = {joint.child for joint in robot.description.joints}
    return next(x.name for x in robot.description.links if x.name not in carried)


@given(trees(), seeds)
def test_energy_and_frames_of_floating_robots_do_not_depend_on_the_base(robot: px.Robot, seed: int) -> None:
    robot = isotropic(robot.with_floating_base())
    link = str(np.random.default_rng(seed).choice([x.name for x in robot.description.links]))
    other = robot.reroot(link)
    q, _, _ = robot.random_state(rng=seed)
    p = robot.with_configuration("now", q).reroot(link).configurations["now"]
    agree(other.potential_energy(p), robot.potential_energy(q), 1e-11, least=1.0)
    for frame in robot.frame_names:
        agree(other.frame_pose(p, frame), robot.frame_pose(q, frame), 1e-11)
    # Rates from the velocities of the links: both robots' Jacobians of all links have full rank together.
    _, qd, _ = robot.random_state(rng=seed + 1)
    twists = np.concatenate([robot.jacobian(q, f) @ qd for f in robot.frame_names])
    J = np.concatenate([other.jacobian(p, f) for f in robot.frame_names])
    pd = np.linalg.lstsq(J, twists, rcond=None)[0]
    agree(J @ pd, twists, 1e-9)
    agree(other.kinetic_energy(p, pd), robot.kinetic_energy(q, qd), 1e-8)
    agree(other.center_of_mass(p), robot.center_of_mass(q), 1e-11)


@given(trees(), seeds)
def test_another_base_and_back_is_the_same_robot(robot: px.Robot, seed: int) -> None:
    robot = isotropic(robot)
    link = str(np.random.default_rng(seed).choice([x.name for x in robot.description.links]))
    root = root_of(robot)
    q, qd, qdd = robot.random_state(rng=seed)
    there = robot.with_configuration("q", q).reroot(link)
    back = there.reroot(root)
    assert back.joint_names == robot.joint_names
    agree(back.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 1e-12, least=1.0)
    agree(abs(back.configurations["q"]), abs(robot.normalize(q)), 1e-12)
    for attribute in ("lower", "upper", "velocity", "effort"):
        agree(getattr(back.limits, attribute), getattr(robot.limits, attribute), 0.0)


@given(trees(types=[*MOVING_TYPES, "fixed"]), seeds)
def test_a_part_taken_off_and_mounted_again_is_the_whole(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    name = str(rng.choice(robot.joint_names)) if robot.joint_names else ""
    if not name:
        return
    q, _, _ = robot.random_state(rng=seed)
    whole = robot.fix({name: q[robot.q_slices[name]]})
    weld = next(j for j in whole.description.joints if j.name == name)
    rest, part = whole.remove(weld.child), whole.subtree(weld.child)
    pose = (weld.origin @ weld.after).matrix
    again = rest.attach(part, weld.parent, pose, joint=name)
    assert sorted(again.frame_names) == sorted(whole.frame_names)
    order = [again.v_slices[j] for j in whole.v_slices]
    at = [again.q_slices[j] for j in whole.q_slices]
    q, qd, qdd = whole.random_state(rng=seed)
    state = [np.zeros(again.nq), np.zeros(again.nv), np.zeros(again.nv)]
    for i, joint in enumerate(whole.v_slices):
        state[0][at[i]] = q[whole.q_slices[joint]]
        for mine, x in zip(state[1:], (qd, qdd), strict=True):
            mine[order[i]] = x[whole.v_slices[joint]]
    tau = again.inverse_dynamics(*state)
    if not order:
        return
    found = np.concatenate([tau[s] for s in order])
    agree(
        found, np.concatenate([whole.inverse_dynamics(q, qd, qdd)[s] for s in whole.v_slices.values()]), 1e-12
    )


def test_mimic_joints_follow_in_copies_and_with_another_base() -> None:
    robot = px.load(file_of("panda.urdf"))
    follower, driver = "panda_finger_joint2", "panda_finger_joint1"
    assert robot.mimics[follower].joint == driver
    both = robot.merge(robot, prefixes=("a_", "b_"))
    assert both.mimics[f"b_{follower}"].joint == f"b_{driver}"
    turned = robot.reroot("panda_leftfinger")
    assert turned.mimics == robot.mimics
    independent = px.load(file_of("panda.urdf"), mimic="independent")
    mixed = robot.merge(independent, prefixes=("a_", "b_"))
    assert (mixed.nv, list(mixed.mimics)) == (robot.nv + independent.nv, [f"a_{follower}"])
    other = independent.merge(robot, prefixes=("a_", "b_"))
    assert (other.nv, list(other.mimics)) == (mixed.nv, [f"b_{follower}"])
    with pytest.raises(
        px.PhalanxError, match=r'joint "panda_finger_joint2" follows "panda_finger_joint1", which'
    ):
        robot.remove("panda_leftfinger")
    assert independent.remove("panda_leftfinger").nv == independent.nv - 1


def test_what_belongs_to_a_link_goes_and_moves_with_it() -> None:
    builder = px.RobotBuilder("r")
    for k in range(4):
        builder.add_link(f"l{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
    for k in range(3):
        builder.add_joint(
            f"j{k}", "revolute", f"l{k}", f"l{k + 1}", origin=(0.1, 0.2, 0.3), lower=-1, upper=2
        )
    builder.add_frame("tip", "l3")
    builder.add_loop("loop", "spherical", "l0", "l3")
    robot = builder.build().with_actuation(["j0", "j2"]).with_configuration("home", {"j0": 0.5, "j2": 1.0})
    short = robot.remove("l3")
    assert (short.loops, short.frame_names) == ((), ("l0", "l1", "l2"))
    assert short.actuated.names == ("j0",)
    assert short.configurations["home"].tolist() == [0.5, 0.0]
    assert robot.fix({"j2": 0.3}).actuated.names == ("j0",)
    part = robot.subtree("l2", name="part")
    assert (part.name, part.actuated.names, part.frame_names) == ("part", ("j2",), ("l2", "l3", "tip"))
    turned = robot.reroot("l3")
    assert turned.loops == robot.loops
    q = np.array([0.5, 0.7, 0.9])
    poses = [robot.frame_pose(q, f) for f in ("l3", "l0")]
    moved = turned.frame_pose(q[::-1], "l0")
    agree(moved, np.linalg.inv(poses[0]) @ poses[1], 1e-14)
    assert turned.limits.lower.tolist() == [-1.0] * 3
    pair = robot.merge(robot, prefixes=("a_", "b_"))
    assert [x.name for x in pair.loops] == ["a_loop", "b_loop"]
    assert pair.actuated.names == ("a_j0", "a_j2", "b_j0", "b_j2")
    assert pair.configurations["home"].tolist() == [0.5, 0.0, 1.0] * 2
    np.testing.assert_array_equal(pair.actuated.matrix, np.kron(np.eye(2), robot.actuated.matrix))
    mixed = robot.merge(builder.build(), prefixes=("a_", "b_"))  # of which nothing is stated
    assert mixed.actuated.names == ("a_j0", "a_j2", "b_j0", "b_j1", "b_j2")


def test_links_between_several_joints_of_a_body_go_with_it() -> None:
    pytest.importorskip("mujoco")
    geom = '<geom size="0.1" mass="1"/>'
    body = f'<body name="b"><joint name="x" type="slide"/><joint name="y" axis="0 1 0"/>{geom}</body>'
    robot = px.load(
        f'<mujoco><worldbody><body name="a"><joint name="z"/>{geom}{body}</body></worldbody></mujoco>'
    )
    assert robot.remove("b").joint_names == ("z",)


def test_the_world_stays_where_a_free_joint_carries_the_robot() -> None:
    pytest.importorskip("mujoco")
    geom = '<geom size="0.1" mass="1" pos="0.1 0.2 0"/>'
    inner = f'<body name="b" pos="0 0 1"><joint name="z"/>{geom}</body>'
    text = (
        f'<mujoco><worldbody><body name="a"><freejoint name="free"/>{geom}{inner}</body></worldbody></mujoco>'
    )
    robot = px.load(text)
    q, _, _ = robot.random_state(rng=1)
    other = robot.with_configuration("q", q).reroot("b")
    assert other.joint_types == ("floating", "continuous")
    p = other.configurations["q"]
    for link in ("a", "b"):
        agree(other.frame_pose(p, link), robot.frame_pose(q, link), 1e-14)
    agree(other.potential_energy(p), robot.potential_energy(q), 1e-13)


def test_pictures_follow_the_links(tmp_path: Path) -> None:
    box = '<visual><geometry><box size="{0} {0} {0}"/></geometry></visual>'
    text = (
        '<robot name="r"><link name="a">{}</link><link name="b">{}</link><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/><origin xyz="1 0 0"/></joint></robot>'
    )
    files = [tmp_path / f"{k}.urdf" for k in range(2)]
    for k, file in enumerate(files):
        file.write_text(text.format(box.format(1 + k), box.format(3 + k)))
    one, other = (px.load(file) for file in files)
    both = one.remove("b").attach(other, "a", prefix="p_").attach(other.subtree("b"), "a")
    scene = px.visuals(both)
    found = [(part.visual.frame, float(part.visual.shape.size[0])) for part in scene.parts]
    assert sorted(found) == [("a", 1.0), ("b", 4.0), ("p_a", 2.0), ("p_b", 4.0)]
    turned = px.visuals(both.reroot("p_b"))
    q = np.array([0.7])
    seen = dict(zip([p.visual.frame for p in scene.parts], scene.poses(q), strict=True))
    there = dict(zip([p.visual.frame for p in turned.parts], turned.poses(q), strict=True))
    for link in seen:
        agree(there[link], np.linalg.inv(seen["p_b"]) @ seen[link], 1e-14)


# ------------------------------------------------------------------- what is refused


SKEWED = np.diag([1.0, 1.0, 1.1, 1.0])
MIRRORED = np.diag([1.0, 1.0, -1.0, 1.0])
LAST_ROW = np.eye(4) + np.eye(4, k=-3)
REFUSED: dict[str, tuple[Callable[[px.Robot], object], str]] = {
    "parent": (lambda r: r.with_frame("t", "lnk2"), r'has no frame .lnk2.; did you mean "link2"\?'),
    "frame": (lambda r: r.with_frame("link1", "link2"), r'there is a link or frame "link1" already'),
    "no name": (lambda r: r.with_frame("", "link2"), "the name is empty"),
    "own parent": (lambda r: r.with_frame("t", "t"), "has no frame 't'"),
    "skewed": (lambda r: r.with_frame("t", "link2", SKEWED), "pose is no rigid motion"),
    "mirrored": (lambda r: r.attach(r, "link2", MIRRORED, prefix="p"), "pose is no rigid motion"),
    "last row": (lambda r: r.with_frame("t", "link2", LAST_ROW), "pose is no rigid motion"),
    "shape": (lambda r: r.with_frame("t", "link2", np.eye(3)), r"pose is an array of shape"),
    "NaN": (lambda r: r.with_frame("t", "link2", [0, np.nan, 0]), "expected finite numbers"),
    "text": (lambda r: r.with_frame("t", "link2", "up"), "pose is 'up'; expected finite numbers"),
    "collision": (lambda r: r.attach(r, "link2"), r'too has a link or frame .*Give a prefix such as'),
    "no robot": (lambda r: r.attach("panda", "link2"), "expected a Robot"),
    "mount": (lambda r: r.attach(r, "link2", prefix="p", joint="joint1"), '"joint1" already'),
    "prefix": (lambda r: r.attach(r, "link2", prefix=3), "prefix: got 3, expected text"),
    "frame of mount": (lambda r: r.attach(r, "hnd", prefix="p"), "has no frame 'hnd'"),
    "merged": (lambda r: r.merge(r), r"expected different names\. Give prefixes such as"),
    "gravity": (lambda r: r.merge(r.replace(gravity=(0, 0, 1))), r"gravity is .* expected one for both"),
    "poses": (lambda r: r.merge(r, poses=(None,)), "expected two, one for each robot"),
    "prefixes": (lambda r: r.merge(r, prefixes="ab"), "prefixes: got 'ab'; expected two"),
    "base": (lambda r: r.remove("base"), r'link "base" is the base, .* robot\.reroot'),
    "unknown": (lambda r: r.remove("link9"), r"has no link 'link9'; did you mean"),
    "no text": (lambda r: r.subtree(None), "has no link None"),
    "a frame": (lambda r: r.with_frame("tip", "link2").reroot("tip"), r'"tip" is a frame, no link'),
    "rerooted": (lambda r: r.reroot("Link3"), r"has no link 'Link3'; did you mean \"link3\""),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_makes_no_robot_is_refused(case: str) -> None:
    edit, message = REFUSED[case]
    robot = px.chain(3)
    assert robot.frame_names[0] == "base"
    with pytest.raises(px.PhalanxError, match=message) as caught:
        edit(robot)
    assert "obot" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("spherical", {"armature": {"joint2": (0.1, 0.2, 0.1)}}),
        ("spherical", {"friction": {"joint2": (0.1, 0.1, 0.1)}}),
        ("planar", {"damping": {"joint2": (0.1, 0.1, 0.1)}}),
        ("planar", {"limits": {"joint2": ([-1, -1, -1], [1, 1, 1])}}),
        ("floating", {"armature": {"joint2": [0.1] * 6}}),
        ("spherical", {"limits": {"joint2": {"velocity": 2.0}}}),
    ],
)
def test_joints_with_numbers_along_axes_that_change_are_refused_with_a_remedy(kind: str, change: Any) -> None:
    robot = isotropic(px.tree(3, 0.0, seed=1, joints=(kind,))).replace(**change)
    with pytest.raises(
        px.PhalanxError, match=r'joint "joint2" .*Leave it out with replace\((.*)\)\.$'
    ) as caught:
        robot.reroot("link3")
    remedy = str(caught.value).rsplit("replace(", 1)[1][:-2]
    assert eval(f"robot.replace({remedy})", {"robot": robot}).reroot("link3").nv == robot.nv


def test_numbers_that_are_the_same_along_all_axes_stay() -> None:
    robot = px.tree(3, 0.0, seed=1, joints=("spherical",)).replace(
        armature={"joint2": 0.2}, damping={"joint2": 0.3}
    )
    other = robot.reroot("link3")
    assert other.armature[other.v_slices["joint2"]].tolist() == [0.2] * 3
    assert other.damping[other.v_slices["joint2"]].tolist() == [0.3] * 3
    universal = px.tree(3, 0.0, seed=1, joints=("universal",)).replace(damping={"joint2": (0.1, 0.2)})
    assert universal.reroot("link3").damping[2:4].tolist() == [0.2, 0.1]
    with pytest.raises(
        px.PhalanxError, match=r'floating base has armature .* replace\(armature=\{"": 0.0\}\)'
    ):
        robot.with_floating_base().replace(armature={"": 0.1}).reroot("link3")


@given(st.integers(0, 10**6))
def test_quaternions_of_rotations_are_theirs(seed: int) -> None:
    q = np.random.default_rng(seed).standard_normal(4)
    q[seed % 4] *= 1e-9
    q /= np.linalg.norm(q)
    agree(rotation_of(quaternion_of(rotation_of(q))), rotation_of(q), 1e-15)


def held() -> px.Robot:
    """A two-link arm whose tip is held at the world, with joints coupled."""
    robot = px.load("two_link")
    tip, (first, second) = robot.frame_names[-1], robot.joint_names
    return robot.with_constraint(
        px.constraint.point(tip, at=(1.0, 0.0, 0.5), name="tip"),
        px.constraint.coupling(first, second, (0.0, 2.0), name="geared"),
    )


def test_constraints_follow_their_frames_and_joints_when_robots_are_put_together() -> None:
    arm, pose = held(), np.eye(4)
    pose[:3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    pose[:3, 3] = (0.3, -0.2, 0.1)
    both = arm.merge(arm, poses=(None, pose), prefixes=("left_", "right_"))
    assert [c.name for c in both.constraints] == ["left_tip", "left_geared", "right_tip", "right_geared"]
    q = arm.random_state(rng=0)[0]
    error = both.constraint_error(np.concatenate([q, q]))
    alone = arm.constraint_error(q)  # closures of frames before equations of joints
    assert np.allclose(error[:6], np.tile(alone[:3], 2), rtol=0, atol=1e-14)
    assert np.allclose(error[6:], alone[3], rtol=0, atol=1e-14)
    mounted = px.load("ur5").attach(arm, px.load("ur5").frame_names[-1], pose, prefix="tool_")
    error = mounted.constraint_error(np.concatenate([mounted.neutral()[:6], q]))
    assert np.allclose(error, arm.constraint_error(q), rtol=0, atol=1e-14)


def test_constraints_that_an_edit_would_break_are_refused() -> None:
    arm = held()
    with pytest.raises(px.PhalanxError, match='constraint "geared" couples'):
        arm.fix({arm.joint_names[0]: 0.1})
    with pytest.raises(px.PhalanxError, match='constraint "tip" holds a frame at the world'):
        arm.reroot(arm.link_names[-1])
    assert arm.fix(dict.fromkeys(arm.joint_names, 0.1)).description.constraints[0].name == "tip"
