# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What the page shows, without a page: coordinates, forces, ellipsoids, simulations, schedules."""

import math

import numpy as np
import pytest

import phalanx as px
from phalanx.studio.running import DROP, HOLD, LAW, LiveSimulation
from phalanx.studio.session import Session, groups
from phalanx.studio.stage import quaternions

KINDS = ("revolute", "spherical", "prismatic", "planar", "universal", "helical")


@pytest.fixture
def session() -> Session:
    return Session(px.visuals("panda"))


def test_sliders_cover_every_coordinate_within_its_limits(session: Session) -> None:
    robot = session.robot
    assert [s.index for s in session.sliders] == list(range(robot.nq))
    for s in session.sliders:
        assert robot.limits.lower[s.index] <= s.lower < s.upper <= robot.limits.upper[s.index]
        assert s.lower <= session.value(s) <= s.upper
        assert s.unit == "rad"


@pytest.mark.parametrize(
    "robot", [px.tree(12, joints=KINDS, seed=2), px.tree(4).with_floating_base(), px.snake(3)], ids=str
)
def test_sliders_of_all_joint_types_read_what_they_have_set(robot: px.Robot) -> None:
    session = Session(px.visuals(robot))
    assert len(session.sliders) == robot.nv  # angles for quaternions
    for k, slider in enumerate(session.sliders):
        value = 0.5 * slider.upper * (-1) ** k
        session.move(slider, value)
        assert session.value(slider) == pytest.approx(value, abs=1e-12)
    for slider, k in zip(session.sliders, range(robot.nv), strict=True):
        assert session.value(slider) == pytest.approx(0.5 * slider.upper * (-1) ** k, abs=1e-9)
    assert len(session.rate_names) == len(set(session.rate_names)) == robot.nv
    np.testing.assert_allclose(robot.normalize(session.q), session.q, atol=1e-12)


def test_gravity_torques_are_the_slope_of_the_potential_energy(session: Session) -> None:
    session.q = session.robot.random_state(rng=1)[0]
    step = 1e-6 * np.eye(session.robot.nv)
    up, down = (session.robot.potential_energy(session.q + s) for s in (step, -step))
    np.testing.assert_allclose(session.gravity_torques(), (up - down) / 2e-6, atol=1e-6)


def test_a_push_does_the_work_of_its_force(session: Session) -> None:
    session.q = session.robot.random_state(rng=2)[0]
    session.push = np.array([3.0, -2.0, 5.0])
    rate = np.random.default_rng(0).normal(size=session.robot.nv)
    here, there = (
        session.robot.frame_pose(session.q + h * rate, session.push_frame)[:3, 3] for h in (0, 1e-7)
    )
    assert session.pushed() @ rate == pytest.approx(session.push @ (there - here) / 1e-7, rel=1e-5)
    forced = session.accelerations() @ session.robot.mass_matrix(session.q)
    np.testing.assert_allclose(forced, session.pushed() - session.gravity_torques(), atol=1e-9)


def test_the_manipulability_ellipsoid_is_that_of_the_jacobian(session: Session) -> None:
    session.q = session.robot.random_state(rng=3)[0]
    radii, axes, product = session.manipulability("panda_hand")
    jacobian = session.robot.jacobian(session.q, "panda_hand")[3:]
    assert product == pytest.approx(math.sqrt(np.linalg.det(jacobian @ jacobian.T)))
    np.testing.assert_allclose(np.sort(np.linalg.svd(jacobian)[1]), radii)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_arrows_stand_on_joints_along_their_axes(session: Session) -> None:
    session.q = session.robot.random_state(rng=4)[0]
    poses = session.link_poses()
    tau = np.arange(1.0, 8.0) * (-1) ** np.arange(7)
    points, signs = session.torque_arrows(tau, poses, 0.5)
    np.testing.assert_array_equal(signs, np.sign(tau))
    for k in range(7):
        axis = session.robot.jacobian(session.q, session.robot.link_names[k])[
            :3, k
        ]  # its rate turns about it
        np.testing.assert_allclose(points[k, 0], poses[k, :3, 3], atol=1e-12)
        np.testing.assert_allclose(points[k, 1] - points[k, 0], axis * 0.5 * tau[k] / 7.0, atol=1e-12)


def test_quaternions_of_rotations_turn_back_into_them() -> None:
    robot = px.chain(30)
    turns = robot.forward_kinematics(robot.random_state((5,), rng=0)[0])[..., :3, :3].reshape(-1, 3, 3)
    turns = np.concatenate([turns, [np.diag(d) for d in ((1, -1, -1), (-1, 1, -1), (-1, -1, 1), (1, 1, 1))]])
    w, x, y, z = quaternions(turns).T
    back = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)
    np.testing.assert_allclose(back, turns, atol=1e-12)


def test_a_robot_without_joints_is_refused() -> None:
    with pytest.raises(px.PhalanxError, match="no degree of freedom"):
        Session(px.visuals(px.load("two_link").fix({"joint1": 0, "joint2": 0})))


# ------------------------------------------------------------------------ simulations


def test_a_dropped_pendulum_keeps_its_energy_and_records_it() -> None:
    robot = px.load("two_link")
    q = np.array([0.3, 0.2])
    run = LiveSimulation(robot, q, np.zeros(2), DROP)
    for _ in range(30):
        run.advance(1 / 30, np.zeros(2))
    past = run.history()
    assert run.seconds == pytest.approx(0.99)  # whole steps of a millisecond
    total = np.array(past["kinetic"]) + past["potential"]
    assert np.ptp(total) < 0.02 * max(past["kinetic"])
    assert past["kinetic"][-1] == pytest.approx(float(robot.kinetic_energy(run.q, run.qd)))
    assert past["q"].shape == (30, 2)
    assert len(run.history(most=10)["time"]) == 10


def test_a_held_pose_stays_and_a_push_moves_it() -> None:
    robot = px.load("panda")
    q = np.array([0, -0.5, 0, -2, 0, 1.5, 0.3])
    run = LiveSimulation(robot, q, np.zeros(7), HOLD)
    for _ in range(5):
        run.advance(1 / 30, np.zeros(7))
    np.testing.assert_allclose(run.q, q, atol=1e-9)
    np.testing.assert_allclose(run.tau, robot.gravity_forces(q), atol=1e-6)
    push = np.array([5.0, 0, 0, 0, 0, 0, 0])
    for _ in range(10):
        run.advance(1 / 30, push)
    assert run.q[0] > 0.001


def test_a_law_comes_from_a_file_and_a_broken_one_tells_its_line(tmp_path) -> None:
    robot, q = px.load("two_link"), np.array([0.2, 0.1])
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("def law(t, q, qd, u, robot):\n    return robot.gravity_forces(q) - 3 * qd\n")
    bad.write_text("def law(t, q, qd, u, robot):\n    x = 1\n    return q + nothing\n")
    run = LiveSimulation(robot, q, np.zeros(2), LAW, str(good))
    run.advance(0.1, np.zeros(2))
    np.testing.assert_allclose(run.q, q, atol=1e-9)
    with pytest.raises(px.PhalanxError, match=r"bad\.py.*3|line 3"):
        LiveSimulation(robot, q, np.zeros(2), LAW, str(bad))
    with pytest.raises(px.PhalanxError, match="no file"):
        LiveSimulation(robot, q, np.zeros(2), LAW, str(tmp_path / "gone.py"))


def test_long_chains_fall_step_by_step() -> None:
    robot = px.chain(60)
    run = LiveSimulation(robot, robot.neutral(), np.zeros(60), DROP)
    start = float(robot.potential_energy(robot.neutral()))
    run.advance(0.02, np.zeros(60))
    assert run.history()["kinetic"][-1] > 0
    assert run.history()["potential"][-1] < start


def test_a_diverging_law_ends_in_words(tmp_path) -> None:
    law = tmp_path / "wild.py"
    law.write_text("def law(t, q, qd, u, robot):\n    return 1e9 * q\n")
    run = LiveSimulation(px.load("two_link"), np.array([0.3, 0.2]), np.zeros(2), LAW, str(law))
    with pytest.raises(px.PhalanxError, match="diverged"):
        run.advance(3.0, np.zeros(2))


def test_many_joints_come_in_groups() -> None:
    assert groups(7) == {"Joints": slice(0, 7)}
    assert groups(20) == {"Joints 1 to 16": slice(0, 16), "Joints 17 to 20": slice(16, 20)}


@pytest.mark.parametrize("floating", [False, True])
def test_a_dragged_frame_is_followed_within_the_limits_and_a_floating_base_stays(floating: bool) -> None:
    robot = px.load("panda")
    session = Session(px.visuals(robot.with_floating_base() if floating else robot))
    if floating:
        session.q[:3] = 0.3, -0.2, 0.5
        session.q[3:7] = np.array([0.6, 0.0, 0.8, 0.0])[[1, 2, 3, 0]]
    pose = session.frame_pose("panda_hand")
    for _ in range(5):
        pose[:3, 3] += 0.02
        session.q = session.reach("panda_hand", pose, turns=True)
        np.testing.assert_allclose(session.frame_pose("panda_hand"), pose, atol=3e-6)
    if floating:
        assert session.q[:3].tolist() == [0.3, -0.2, 0.5]
    pose[:3, 3] += 5.0
    q = session.reach("panda_hand", pose, turns=False)
    assert (q[-7:] >= robot.limits.lower).all()
    assert (q[-7:] <= robot.limits.upper).all()
    session.q = q
    assert np.linalg.norm(session.frame_pose("panda_hand")[:3, 3] - pose[:3, 3]) > 1.0
    pose[0, 3] = np.nan
    assert session.reach("panda_hand", pose, turns=False) is None
