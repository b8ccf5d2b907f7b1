# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot tells of itself, and that nobody can change it."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.description import Pose
from reference.sampling import MOVING_TYPES

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


def hand() -> px.RobotBuilder:
    """A palm on a wrist with two fingers, the second given first, and a camera welded on."""
    builder = px.RobotBuilder("hand")
    for name in ("base", "palm", "right", "left", "camera", "stand"):
        builder.add_link(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1))
    builder.add_joint("right_joint", "prismatic", "palm", "right", lower=-0.1, upper=0.2, velocity=0.5)
    builder.add_joint("camera_mount", "fixed", "palm", "camera", origin=(0.0, 0.0, 0.3))
    builder.add_joint("wrist", "universal", "base", "palm", damping=(1.0, 2.0), friction=(0.1, 0.2))
    builder.add_joint("left_joint", "revolute", "palm", "left", effort=7.0, armature=0.5, upper=1.0)
    builder.add_joint("foot", "fixed", "base", "stand")
    return builder


def test_joints_and_links_come_in_file_order_made_parents_first() -> None:
    robot = hand().build()
    assert robot.joint_names == ("wrist", "right_joint", "left_joint")
    assert robot.link_names == ("palm", "right", "left")
    assert robot.joint_types == ("universal", "prismatic", "revolute")
    assert robot.frame_names == ("base", "palm", "right", "left", "camera", "stand")
    assert robot.parents.tolist() == [-1, 0, 0]
    assert (robot.name, robot.nq, robot.nv, robot.n_links) == ("hand", 4, 4, 3)
    assert (robot.is_serial, robot.depth, robot.is_coupled) == (False, 2, False)
    assert repr(robot) == '<Robot "hand": tree of 3 links, nq = 4, nv = 4>'


def test_a_floating_base_is_the_first_link_but_no_named_joint() -> None:
    robot = hand().build(floating_base=True)
    assert robot.joint_names == ("wrist", "right_joint", "left_joint")
    assert robot.link_names == ("base", "palm", "right", "left")
    assert robot.parents.tolist() == [-1, 0, 1, 1]
    assert (robot.nq, robot.nv, robot.n_links) == (11, 10, 4)
    assert robot == hand().build().with_floating_base()
    assert robot.with_floating_base() == robot
    assert robot.q_slices == {
        "": slice(0, 7),
        "wrist": slice(7, 9),
        "right_joint": slice(9, 10),
        "left_joint": slice(10, 11),
    }
    assert robot.v_slices[""] == slice(0, 6)


def test_masses_count_what_moves() -> None:
    robot = hand().build()
    assert robot.link_masses.tolist() == [2.0, 1.0, 1.0]
    assert robot.total_mass == 4.0
    assert robot.with_floating_base().total_mass == 6.0


def test_limits_damping_friction_and_armature_stand_per_coordinate() -> None:
    robot = hand().build()
    inf = np.inf
    np.testing.assert_array_equal(robot.limits.lower, [-inf, -inf, -0.1, -inf])
    np.testing.assert_array_equal(robot.limits.upper, [inf, inf, 0.2, 1.0])
    np.testing.assert_array_equal(robot.limits.velocity, [inf, inf, 0.5, inf])
    np.testing.assert_array_equal(robot.limits.effort, [inf, inf, inf, 7.0])
    np.testing.assert_array_equal(robot.damping, [1.0, 2.0, 0.0, 0.0])
    np.testing.assert_array_equal(robot.friction, [0.1, 0.2, 0.0, 0.0])
    np.testing.assert_array_equal(robot.armature, [0.0, 0.0, 0.0, 0.5])


def test_damping_and_friction_are_never_applied() -> None:
    with_both = hand().build()
    plain = px.load(with_both.description)
    bare = hand()
    bare._joints = [j.__class__(**{**j.__dict__, "damping": (), "friction": ()}) for j in bare._joints]
    state = plain.random_state(rng=0)
    np.testing.assert_array_equal(with_both.forward_dynamics(*state), bare.build().forward_dynamics(*state))


# ------------------------------------------------------------- immutability and sharing


def test_nothing_of_a_robot_can_be_changed() -> None:
    robot = hand().build()
    for name in ("name", "nq", "limits", "model", "description", "gravity", "joint_names", "anything"):
        with pytest.raises(AttributeError, match=r"immutable; use robot\.replace"):
            setattr(robot, name, 1)
    with pytest.raises(AttributeError, match="immutable"):
        del robot.model
    with pytest.raises(FrozenInstanceError):
        robot.model.nq = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        robot.frames["x"] = None  # type: ignore[index]
    with pytest.raises(TypeError):
        robot.q_slices["x"] = None  # type: ignore[index]


def test_its_arrays_are_read_only() -> None:
    robot = px.tree(6, seed=1, joints=MOVING_TYPES)
    model, limits = robot.model, robot.limits
    arrays = [robot.gravity, robot.armature, robot.damping, robot.friction, robot.link_masses, robot.parents]
    arrays += [robot.stiffness, robot.spring_reference, robot.coupling, *model.indices(), *model.constants()]
    arrays += [limits.lower, limits.upper, limits.velocity, limits.effort]
    arrays += [model.parents, model.links, model.carrier, model.axis, model.rest.E, model.rest.r]
    arrays += [model.inertia.m, model.inertia.h, model.inertia.moment, model.link_frame.E]
    arrays += [a for g in model.groups for a in (g.bodies, g.coordinates)]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.flags.writeable = True
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.view().setflags(write=True)
        assert array.copy().flags.writeable


def test_arrays_of_tables_are_read_only_too() -> None:
    for array in (px.load("ur5").model.dh.theta, px.load("ur5").model.dh.m):
        with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
            array.flags.writeable = True


def test_robots_without_joints_have_arrays_as_well() -> None:
    builder = px.RobotBuilder("stone")
    builder.add_link("stone", mass=1.0)
    robot = builder.build()
    assert robot.armature.shape == robot.damping.shape == robot.parents.shape == (0,)


def test_robots_compare_by_their_description() -> None:
    robot = px.chain(4)
    assert robot == px.chain(4)
    assert hash(robot) == hash(px.chain(4))
    assert robot != px.chain(4, seed=1)
    assert robot != robot.replace(name="other")
    assert robot != "chain"
    assert len({robot, px.chain(4), px.chain(5)}) == 2


def test_equal_robots_have_equal_hashes_whatever_the_sign_of_zero() -> None:
    first, second = (px.chain(2).replace(gravity=(zero, 0.0, -9.81)) for zero in (0.0, -0.0))
    assert first == second
    assert hash(first) == hash(second)


def test_robots_pickle_and_copy_to_the_bit() -> None:
    robot = px.tree(8, seed=2, joints=MOVING_TYPES).with_floating_base().replace(armature=0.1)
    state = robot.random_state(3, rng=0)
    before = robot.forward_dynamics(*state)
    for other in (pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot)):
        assert other == robot
        assert other.digest == robot.digest
        np.testing.assert_array_equal(other.forward_dynamics(*state), before)


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_threads_may_share_a_new_robot(function: str) -> None:
    robot = px.tree(12, seed=9, joints=MOVING_TYPES)
    inputs = robot.random_state(20, rng=0)[: 1 if function == "mass_matrix" else 3]
    wanted = getattr(px.tree(12, seed=9, joints=MOVING_TYPES), function)(*inputs)
    start = threading.Barrier(8)

    def work(_: int) -> np.ndarray:
        start.wait()
        return getattr(robot, function)(*inputs)

    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(work, range(8)):
            np.testing.assert_array_equal(result, wanted)


# --------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    "make",
    [
        lambda: px.tree(9, seed=5, joints=MOVING_TYPES).replace(armature=0.2, gravity=(1.0, 2.0, 3.0)),
        lambda: hand().build(floating_base=True).replace(armature=np.arange(10) / 7),
        lambda: px.load("ur5").with_payload("tool0", 1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1)),
        lambda: px.load("panda").fix({"panda_joint3": 0.1}),
    ],
)
def test_saved_robots_come_back_to_the_bit(make: Any, tmp_path: Path) -> None:
    robot = make()
    robot.save(tmp_path / "robot.json")
    back = px.load(tmp_path / "robot.json")
    assert back == robot
    assert back.digest == robot.digest
    state = robot.random_state(3, rng=0)
    np.testing.assert_array_equal(back.inverse_dynamics(*state), robot.inverse_dynamics(*state))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(px.PhalanxError, match=r'save: cannot write ".*nowhere/robot.json": No such file'):
        px.chain(1).save(tmp_path / "nowhere" / "robot.json")
    with pytest.raises(px.PhalanxError, match="save: got int, expected a path"):
        px.chain(1).save(3)  # type: ignore[arg-type]


# ------------------------------------------------------------------------- inertias


def broken(strict: bool = False) -> px.Robot:
    builder = px.RobotBuilder("broken")
    builder.add_link("base")
    builder.add_link("thin", mass=1.0, inertia=(1.0, 1.0, 3.0))
    builder.add_link("odd", mass=1.0, inertia=(-0.5, 1.0, 1.0))
    builder.add_link("fine", mass=1.0, inertia=(1.0, 1.0, 2.0))
    builder.add_joint("a", "revolute", "base", "thin")
    builder.add_joint("b", "revolute", "thin", "odd")
    builder.add_joint("c", "revolute", "odd", "fine")
    return builder.build(strict=strict)


TEXT = (
    'robot "broken": 2 links have inertias that no rigid body has ("thin": triangle inequality exceeded by '
    '1 kg m2; "odd": negative principal moment -0.5 kg m2).'
)


def test_unphysical_inertias_give_one_warning_with_links_and_amounts() -> None:
    with pytest.warns(px.PhalanxWarning) as caught:
        robot = broken()
    assert [str(w.message) for w in caught] == [
        f"{TEXT} The numbers are used as they are; strict=True refuses them."
    ]
    # Copies are not new robots: the suite turns warnings into errors.
    pickle.loads(pickle.dumps(robot))
    robot.replace(gravity=(0.0, 0.0, 0.0)).fix({"a": 0.0}).with_floating_base()


def test_unphysical_inertias_are_refused_on_request() -> None:
    with pytest.raises(px.PhalanxError) as caught:
        broken(strict=True)
    assert str(caught.value) == f"{TEXT} Correct them, or leave out strict=True."


def test_an_unphysical_payload_gives_a_warning_of_its_own() -> None:
    with pytest.warns(
        px.PhalanxWarning, match='1 link has an inertia that no rigid body has .*"link1_payload"'
    ):
        px.chain(1).with_payload("link1", 1.0, inertia=(1.0, 1.0, 3.0))


def test_poses_of_frames_are_kept_in_the_link_that_carries_them() -> None:
    robot = hand().build()
    assert robot.frame("camera").link == 0
    assert robot.frame("camera").pose == Pose.of(None, (0.0, 0.0, 0.3))
    assert robot.frame("stand").link == -1


FLYING = """
<robot name="drone">
  <link name="world"/>
  <link name="body"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="root" type="floating"><parent link="world"/><child link="body"/></joint>
</robot>
"""


def test_a_robot_that_floats_gets_no_second_floating_base(tmp_path: Path) -> None:
    message = r'the robot floats already: joint "root" lets link "body" move freely in the massless "world"'
    with pytest.raises(px.PhalanxError, match=message):
        px.load(FLYING, floating_base=True)
    robot = px.load(FLYING)
    with pytest.raises(px.PhalanxError, match=message):
        robot.with_floating_base()
    robot.save(tmp_path / "drone.json")
    with pytest.raises(px.PhalanxError, match=message):
        px.load(tmp_path / "drone.json", floating_base=True)


def test_a_base_with_a_mass_floats_beside_what_is_free() -> None:
    builder = px.RobotBuilder("satellite")
    for name in ("hull", "tool"):
        builder.add_link(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 1.0, 1.0))
    builder.add_joint("lost", "floating", "hull", "tool")
    robot = builder.build(floating_base=True)
    assert robot.nv == 12
    assert np.linalg.cond(robot.mass_matrix(robot.random_state(rng=0)[0])) < 1e4


def test_springs_stand_per_coordinate_and_survive_saving(tmp_path: Path) -> None:
    builder = px.RobotBuilder("springs")
    for name in "abc":
        builder.add_link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
    builder.add_joint("hinge", "revolute", "a", "b", stiffness=3.0, spring_reference=0.5)
    half = (0.0, 0.0, 0.6, 0.8)
    builder.add_joint("ball", "spherical", "b", "c", stiffness=(1.0, 2.0, 3.0), spring_reference=half)
    robot = builder.build(floating_base=True)
    assert robot.stiffness.tolist() == [0.0] * 6 + [3.0, 1.0, 2.0, 3.0]
    assert robot.spring_reference.tolist() == [0, 0, 0, 0, 0, 0, 1, 0.5, *half]
    robot.save(tmp_path / "robot.json")
    assert px.load(tmp_path / "robot.json") == robot
    builder.add_link("d")
    builder.add_joint("odd", "revolute", "c", "d", spring_reference=(1.0, 2.0))
    with pytest.raises(
        px.PhalanxError, match=r'"odd" \(revolute\) has 2 values of spring_reference; expected'
    ):
        builder.build()


def test_springs_survive_a_table() -> None:
    row = {"a": 0.3, "alpha": 0.2, "d": 0.1, "theta": 0, "stiffness": 2.0, "spring_reference": 30.0}
    robot = px.Robot.from_dh([row], angles="degrees")
    assert robot.stiffness.tolist() == [2.0]
    np.testing.assert_allclose(robot.spring_reference, [np.pi / 6])
    table = robot.to_dh()
    again = px.Robot.from_dh(table.rows, base=table.base, tool=table.tool)
    np.testing.assert_array_equal(again.spring_reference, robot.spring_reference)
    np.testing.assert_array_equal(again.stiffness, robot.stiffness)
