# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse kinematics: solutions by Pinocchio's kinematics, limits, bits, unreachable targets, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px

TIPS = {
    "panda": "panda_hand",
    "ur5": "tool0",
    "iiwa14": "iiwa_link_ee",
    "stanford": "link6",
    "puma560": "link6",
}


def reachable(robot: px.Robot, frame: str, count: Any, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Random configurations and the poses of a frame there."""
    q = robot.random_state(count, np.random.default_rng(seed))[0]
    return q, robot.frame_pose(q, frame)


def within(robot: px.Robot, q: np.ndarray) -> bool:
    """Whether coordinates are inside the limits, to the last bit."""
    wide = q.astype(float)
    return bool(((wide >= robot.limits.lower) & (wide <= robot.limits.upper)).all())


@pytest.mark.parametrize("name", TIPS)
def test_random_reachable_poses_are_found_by_pinocchios_kinematics(name: str) -> None:
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from reference import pinocchio as other

    robot, frame = px.load(name), TIPS[name]
    _, poses = reachable(robot, frame, (400,))
    s = robot.inverse_kinematics({frame: poses})
    assert s.converged.mean() >= 0.995
    assert within(robot, s.q)
    model, place = other.model_of(robot.description)
    data = model.createData()
    joint, offset = place[frame]
    for q, pose, good in zip(s.q, poses, s.converged, strict=True):
        if not good:
            continue
        other.pin.forwardKinematics(model, data, q)
        left = (data.oMi[joint] * offset).actInv(other.pin.SE3(pose))
        assert np.linalg.norm(left.translation) <= 1.001e-6
        assert np.linalg.norm(other.pin.log3(left.rotation)) <= 1.001e-6


def test_tracking_finds_the_solution_near_the_start() -> None:
    robot = px.load("panda")
    q, poses = reachable(robot, "panda_hand", (2000,))
    rng = np.random.default_rng(1)
    start = np.clip(q + rng.uniform(-0.3, 0.3, q.shape), robot.limits.lower, robot.limits.upper)
    s = robot.inverse_kinematics({"panda_hand": poses}, start)
    assert s.converged.mean() >= 0.9995
    assert np.median(np.abs(s.q - start).max(axis=-1)) < 0.4
    assert s.iterations.mean() < 8
    again = robot.inverse_kinematics({"panda_hand": poses}, s.q, seeds=1)
    assert again.converged[s.converged].all()
    assert np.array_equal(again.q[s.converged], s.q[s.converged])  # one look is enough
    assert (again.iterations[s.converged] == 1).all()


def test_the_same_bits_alone_in_any_batch_order_and_thread() -> None:
    robot = px.load("panda")
    _, poses = reachable(robot, "panda_hand", (300,))
    whole = robot.inverse_kinematics({"panda_hand": poses})
    order = np.random.default_rng(2).permutation(300)
    shuffled = robot.inverse_kinematics({"panda_hand": poses[order]})
    threads = robot.inverse_kinematics({"panda_hand": poses}, threads=2)
    for a, b, c in zip(whole[:4], shuffled[:4], threads[:4], strict=True):
        assert np.array_equal(a[order], b)
        assert np.array_equal(a, c)
    for k in (0, 17, 299):
        alone = robot.inverse_kinematics({"panda_hand": poses[k]})
        assert alone.q.shape == (7,)
        assert alone.converged.shape == ()
        assert np.array_equal(alone.q, whole.q[k])
        assert alone.iterations == whole.iterations[k]


def test_other_seeds_of_rng_start_elsewhere_and_equal_ones_agree() -> None:
    robot = px.load("panda")
    _, poses = reachable(robot, "panda_hand", (20,))
    first, same, other = (robot.inverse_kinematics({"panda_hand": poses}, rng=k).q for k in (5, 5, 6))
    generator = robot.inverse_kinematics({"panda_hand": poses}, rng=np.random.default_rng(5)).q
    assert np.array_equal(first, same)
    assert np.array_equal(first, generator)
    assert not np.allclose(first, other)


def test_batches_of_targets_and_of_starts_broadcast() -> None:
    robot = px.load("ur5")
    _, poses = reachable(robot, "tool0", (3, 1))
    starts = robot.random_state((4,), np.random.default_rng(3))[0]
    s = robot.inverse_kinematics({"tool0": poses}, starts)
    assert s.q.shape == (3, 4, 6)
    assert s.error.shape == (3, 4, 6)
    assert s.converged.shape == s.iterations.shape == (3, 4)
    assert np.array_equal(s.q[2, 1], robot.inverse_kinematics({"tool0": poses[2, 0]}, starts[1]).q)
    assert robot.inverse_kinematics({"tool0": np.empty((0, 4, 4))}).q.shape == (0, 6)


def test_what_cannot_be_reached_gets_the_nearest_configuration_and_its_error() -> None:
    robot = px.load("two_link")
    frame = robot.frame_names[-1]
    reach = np.linalg.norm(robot.frame_pose(np.zeros(2), frame)[:3, 3])
    tip = robot.frame_pose(np.array([0.4, 0.0]), frame)[:3, 3]
    s = robot.inverse_kinematics({frame: 3.0 * tip})
    assert not s.converged
    assert np.isclose(np.linalg.norm(s.error), 2.0 * reach, rtol=1e-3)
    assert np.allclose(s.error, 3.0 * tip - robot.frame_pose(s.q, frame)[:3, 3])
    mixed = robot.inverse_kinematics({frame: np.array([tip, 3.0 * tip])})
    assert mixed.converged.tolist() == [True, False]


def test_at_the_edge_of_the_reach() -> None:
    robot = px.load("two_link")
    frame = robot.frame_names[-1]
    q = np.stack([np.linspace(-3.0, 3.0, 50), np.zeros(50)], axis=-1)
    s = robot.inverse_kinematics({frame: robot.frame_pose(q, frame)[:, :3, 3]})
    assert s.converged.all()


def test_nan_flags_its_state_alone() -> None:
    robot = px.load("panda")
    _, poses = reachable(robot, "panda_hand", (20,))
    clean = robot.inverse_kinematics({"panda_hand": poses})
    poses[3, 0, 3], poses[11, 1, 1] = np.nan, np.inf
    s = robot.inverse_kinematics({"panda_hand": poses})
    assert not s.converged[[3, 11]].any()
    assert np.isnan(s.q[[3, 11]]).all()
    rest = np.delete(np.arange(20), [3, 11])
    assert np.array_equal(s.q[rest], clean.q[rest])


def test_limits_may_be_left_alone() -> None:
    robot = px.load("panda")
    q = np.array([0.0, 0.5, 0.0, 0.3, 0.0, 1.0, 0.0])  # beyond the elbow's limit
    pose = robot.frame_pose(q, "panda_hand")
    free = robot.inverse_kinematics({"panda_hand": pose}, q, limits=False)
    assert free.converged
    assert np.array_equal(free.q, q)
    assert within(robot, robot.inverse_kinematics({"panda_hand": pose}, q).q)


def test_single_precision_keeps_limits_as_well() -> None:
    robot = px.load("panda")
    _, poses = reachable(robot, "panda_hand", (1000,))
    s = robot.inverse_kinematics({"panda_hand": poses.astype(np.float32)}, tolerance=1e-4)
    assert s.q.dtype == np.float32
    assert s.converged.mean() >= 0.995
    assert within(robot, s.q)
    found = robot.frame_pose(s.q[s.converged].astype(float), "panda_hand")
    assert np.abs(found - poses[s.converged]).max() < 1.2e-4


@pytest.mark.parametrize("seed", range(3))
def test_trees_of_all_joint_types_and_floating_bases(seed: int) -> None:
    kinds = ("revolute", "prismatic", "spherical", "universal", "continuous", "planar", "floating", "helical")
    robot = px.tree(8, branching=0.2, seed=seed, joints=kinds).with_floating_base()
    leaves = [i for i in range(robot.n_links) if i not in set(robot.parents)][:2]
    q = robot.random_state((30,), np.random.default_rng(seed))[0]
    targets = {robot.link_names[i]: robot.frame_pose(q, robot.link_names[i]) for i in leaves}
    s = robot.inverse_kinematics(targets, robot.random_state((30,), np.random.default_rng(seed + 9))[0])
    assert s.converged.mean() > 0.9
    assert s.error.shape == (30, 6 * len(leaves))
    for name, pose in targets.items():
        assert np.abs(robot.frame_pose(s.q, name) - pose)[s.converged].max() < 3e-6
    assert np.allclose(robot.normalize(s.q), s.q, atol=1e-12)


def test_mimic_joints() -> None:
    inertial = (
        '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'

    def joint(name: str, kind: str, above: str, below: str, x: float, more: str = "") -> str:
        return (
            f'<joint name="{name}" type="{kind}"><origin xyz="{x} 0 0"/><parent link="{above}"/>'
            f'<child link="{below}"/><axis xyz="0 0 1"/>{limit}{more}</joint>'
        )

    text = f"""<robot name="finger"><link name="a"/><link name="b">{inertial}</link><link name="c"/>
      <link name="tip"/>{joint("j", "revolute", "a", "b", 0)}
      {joint("k", "revolute", "b", "c", 1, '<mimic joint="j" multiplier="0.5"/>')}
      {joint("t", "fixed", "c", "tip", 1)}</robot>"""
    robot = px.load(text)
    assert robot.nq == 1
    q = np.linspace(-0.9, 0.9, 7)[:, None]
    s = robot.inverse_kinematics({"tip": robot.frame_pose(q, "tip")})
    assert s.converged.all()
    assert np.allclose(s.q, q, atol=1e-5)


def test_joints_that_move_no_target_stay() -> None:
    robot = px.load("panda")
    frame = "panda_link3"
    _, poses = reachable(robot, frame, (10,))
    start = robot.random_state((10,), np.random.default_rng(8))[0]
    s = robot.inverse_kinematics({frame: poses}, start)
    assert s.converged.all()
    assert np.array_equal(s.q[:, 3:], start[:, 3:])


def test_joints_that_always_move_targets_alike_start_elsewhere_too() -> None:
    """A slide and a turn with constant columns of the Jacobian: an arm of the SCARA kind."""
    builder = px.RobotBuilder("scara")
    above = builder.add_link("base")
    axes = [
        ("revolute", 0.0, 2.6),
        ("revolute", 0.325, 2.5),
        ("prismatic", 0.225, 0.2),
        ("revolute", 0.0, 3.1),
    ]
    for k, (kind, x, far) in enumerate(axes):
        link, origin = builder.add_link(f"link{k}", mass=1.0), np.eye(4)
        origin[0, 3] = x
        builder.add_joint(
            f"joint{k}", kind, above, link, origin=origin, axis=(0, 0, 1), lower=-far, upper=far
        )
        above = link
    robot = builder.build()
    _, poses = reachable(robot, above, (2000,))
    s = robot.inverse_kinematics({above: poses})
    assert s.converged.all()
    assert within(robot, s.q)


def test_several_frames_positions_and_the_mass_centre() -> None:
    robot = px.tree(10, branching=0.6, seed=4).with_floating_base()
    leaves = [robot.link_names[i] for i in range(robot.n_links) if i not in set(robot.parents)][:2]
    q = robot.random_state((20,), np.random.default_rng(0))[0]
    targets: dict[str, Any] = {name: robot.frame_pose(q, name)[:, :3, 3] for name in leaves}
    targets["center_of_mass"] = robot.center_of_mass(q)
    s = robot.inverse_kinematics(targets, robot.random_state((20,), np.random.default_rng(1))[0])
    assert s.converged.all()
    assert s.error.shape == (20, 9)
    for name in leaves:
        assert np.abs(robot.frame_pose(s.q, name)[:, :3, 3] - targets[name]).max() < 2e-6
    assert np.abs(robot.center_of_mass(s.q) - targets["center_of_mass"]).max() < 2e-6


def test_points_axes_and_points_to_look_at() -> None:
    robot = px.load("panda")
    q, poses = reachable(robot, "panda_hand", (100,))
    at, axis = (0.1, 0.0, 0.05), np.array([0.0, 0.6, 0.8])
    there = poses[:, :3, 3] + poses[:, :3, :3] @ np.array(at)
    both = [px.target.point(there, at=at), px.target.axis(poses[:, :3, :3] @ axis, axis=3.0 * axis)]
    s = robot.inverse_kinematics({"panda_hand": both})
    assert s.converged.mean() > 0.98
    assert s.error.shape == (100, 5)
    found = robot.frame_pose(s.q, "panda_hand")[s.converged]
    moved = found[:, :3, 3] + found[:, :3, :3] @ np.array(at)
    assert np.abs(moved - there[s.converged]).max() < 2e-6
    assert np.abs((found - poses[s.converged])[:, :3, :3] @ axis).max() < 2e-6
    seen = poses[:, :3, 3] + 0.7 * poses[:, :3, 2]
    s = robot.inverse_kinematics({"panda_hand": [px.target.look_at(seen), px.target.point(poses[:, :3, 3])]})
    assert s.converged.mean() > 0.98
    found = robot.frame_pose(s.q, "panda_hand")[s.converged]
    way = seen[s.converged] - found[:, :3, 3]
    assert np.abs(np.cross(way, found[:, :3, 2])).max() < 2e-6
    assert ((way * found[:, :3, 2]).sum(axis=-1) > 0.0).all()
    turned = robot.inverse_kinematics(
        {"panda_hand": px.target.axis(-robot.frame_pose(q, "panda_hand")[:, :3, 2])}, q
    )
    assert turned.converged.mean() > 0.98  # half a turn away
    back = poses @ np.diag([-1.0, -1.0, 1.0, 1.0])
    s = robot.inverse_kinematics({"panda_hand": back}, q, limits=False)
    assert s.converged.all()


def test_the_length_of_a_direction_does_not_matter() -> None:
    robot = px.load("panda")
    _, poses = reachable(robot, "panda_hand", (50,))
    for length in (1e-3, 1.0, 50.0):
        s = robot.inverse_kinematics({"panda_hand": px.target.axis(length * poses[:, :3, 2])})
        assert s.converged.all()
        found = robot.frame_pose(s.q, "panda_hand")[:, :3, 2]
        assert np.abs(found - poses[:, :3, 2]).max() < 2e-6


def test_position_only_frees_the_orientation_of_poses() -> None:
    robot = px.load("panda")
    _, poses = reachable(robot, "panda_hand", (50,))
    s = robot.inverse_kinematics({"panda_hand": poses}, position_only=True)
    assert s.converged.all()
    assert np.array_equal(s.q, robot.inverse_kinematics({"panda_hand": poses[:, :3, 3]}).q)
    free = robot.inverse_kinematics({"panda_hand": poses}, weights={"panda_hand": (0.0, 1.0)})
    assert free.converged.all()
    assert np.linalg.norm(free.error[:, 3:], axis=-1).max() <= 1e-6
    assert np.linalg.norm(free.error[:, :3], axis=-1).min() > 1e-3


def test_weights_decide_between_targets_that_conflict() -> None:
    robot = px.load("panda")
    q = robot.random_state((), np.random.default_rng(5))[0]
    here = robot.frame_pose(q, "panda_hand")[:3, 3]
    left = {}
    for heavy in (0.1, 10.0):
        targets = {"panda_hand": here, "panda_link8": here + np.array([0.3, 0.0, 0.0])}
        s = robot.inverse_kinematics(targets, q, weights={"panda_hand": heavy}, seeds=1)
        assert not s.converged
        left[heavy] = np.linalg.norm(s.error[:3]), np.linalg.norm(s.error[3:])
    assert left[10.0][0] < 0.1 * left[0.1][0]
    assert left[10.0][1] > left[0.1][1]


def test_a_solved_try_is_taken_whatever_weighs_more() -> None:
    robot = px.load("panda")
    _, poses = reachable(robot, "panda_hand", (200,))
    s = robot.inverse_kinematics({"panda_hand": poses}, weights={"panda_hand": (0.02, 1.0)}, seeds=64)
    assert s.converged.mean() >= 0.99


def test_every_distinct_solution_of_a_six_axis_arm() -> None:
    robot = px.load("ur5")
    q, pose = reachable(robot, "tool0", (), 3)
    s = robot.inverse_kinematics({"tool0": pose}, q, all=True, seeds=200, limits=False)
    assert s.all is not None
    assert s.all.shape == (8, 6)  # the number of a UR arm in general position
    assert np.abs(robot.frame_pose(s.all, "tool0") - pose).max() < 3e-6
    assert np.array_equal(s.all[0], s.q)
    batch = robot.inverse_kinematics({"tool0": np.stack([pose, pose])}, q, all=True, seeds=200, limits=False)
    assert np.array_equal(batch.all, np.stack([s.all, s.all]))
    far = pose.copy()
    far[:3, 3] = 9.0
    assert robot.inverse_kinematics({"tool0": far}, all=True).all.shape == (0, 6)


def test_rest_is_the_nearest_solution_by_a_general_optimiser() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    robot = px.load("panda")
    q, poses = reachable(robot, "panda_hand", (4,), 3)
    rest = np.array([0.0, -0.4, 0.0, -1.8, 0.0, 1.5, 0.7])
    s = robot.inverse_kinematics({"panda_hand": poses}, q, rest=rest)
    assert s.converged.all()
    assert within(robot, s.q)
    bounds = list(zip(robot.limits.lower, robot.limits.upper, strict=True))
    for start, pose in zip(s.q, poses, strict=True):
        best = optimize.minimize(
            lambda x: 0.5 * ((x - rest) ** 2).sum(),
            start,
            bounds=bounds,
            method="SLSQP",
            constraints={
                "type": "eq",
                "fun": lambda x, pose=pose: (robot.frame_pose(x, "panda_hand") - pose)[:3].ravel(),
            },
            options={"ftol": 1e-12},
        )
        assert 0.5 * ((start - rest) ** 2).sum() <= best.fun + 1e-4


def test_a_cost_of_ones_own_is_lowered_in_the_null_space() -> None:
    robot = px.load("panda")
    q, poses = reachable(robot, "panda_hand", (50,), 3)

    def elbow(q: Any, robot: Any) -> Any:
        return -robot.frame_pose(q, "panda_link4")[2, 3]

    plain = robot.inverse_kinematics({"panda_hand": poses}, q)
    high = robot.inverse_kinematics({"panda_hand": poses}, q, cost=elbow)
    assert high.converged.all()
    height = [robot.frame_pose(s.q, "panda_link4")[:, 2, 3] for s in (plain, high)]
    assert (height[1] > height[0] - 1e-5).all()
    assert (height[1] - height[0]).mean() > 0.02


TARGET = px.load("ur5").frame_pose(np.zeros(6), "tool0")
BAD: list[tuple[Any, dict[str, Any], str]] = [
    ({}, {}, "expected a dict"),
    (TARGET, {}, "expected a dict"),
    ({"tool": TARGET}, {}, 'did you mean "tool0"'),
    ({"tool0": TARGET[:3]}, {}, "expected poses"),
    ({"tool0": "home"}, {}, "convert it"),
    ({"tool0": 2.0 * TARGET}, {}, "no rigid motion"),
    ({"tool0": np.diag([1.0, 1.0, -1.0, 1.0])}, {}, "no rigid motion"),
    ({"tool0": np.stack([TARGET, TARGET.T])}, {}, "at index 1"),
    ({"tool0": [px.target.pose(TARGET), px.target.pose(TARGET)]}, {}, "two targets of the kind pose"),
    ({"center_of_mass": TARGET}, {}, "no position"),
    ({"tool0": TARGET}, {"q0": np.zeros(5)}, "q0 has shape"),
    ({"tool0": np.stack([TARGET] * 3)}, {"q0": np.zeros((2, 6))}, "do not broadcast"),
    ({"tool0": TARGET}, {"tolerance": 0.0}, "tolerance"),
    ({"tool0": TARGET}, {"tolerance": "small"}, "tolerance"),
    ({"tool0": TARGET.astype(np.float32)}, {}, "tolerance=1e-4"),
    ({"tool0": TARGET}, {"seeds": 0}, "seeds"),
    ({"tool0": TARGET}, {"iterations": 1.5}, "iterations"),
    ({"tool0": TARGET}, {"rng": -1}, "rng"),
    ({"tool0": TARGET}, {"rng": "today"}, "rng"),
    ({"tool0": TARGET}, {"limits": 1}, "limits"),
    ({"tool0": TARGET}, {"weights": {"tool": 1.0}}, 'did you mean "tool0"'),
    ({"tool0": TARGET}, {"weights": {"tool0": (0.0, 0.0)}}, "not both zero"),
    ({"tool0": TARGET[:3, 3]}, {"weights": {"tool0": (1.0, 0.0)}}, "zero"),
    ({"tool0": TARGET}, {"rest": np.zeros(6), "cost": abs}, "both rest and cost"),
    ({"tool0": TARGET}, {"cost": 3}, "cost is 3"),
    ({"tool0": TARGET}, {"cost": lambda q, robot: q}, "expected a number"),
    ({"tool0": TARGET}, {"threads": 0}, "threads"),
    ({"tool0": px.target.axis(np.zeros(3))}, {}, r"a direction \(0, 0, 0\)"),
    ({"world": TARGET}, {}, "no joint"),
]


@pytest.mark.parametrize(("targets", "options", "message"), BAD)
def test_bad_input_is_named(targets: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.load("ur5").inverse_kinematics(targets, **options)


def test_misspelt_options_and_bad_targets_are_refused() -> None:
    with pytest.raises(TypeError, match="tolerence"):
        px.load("ur5").inverse_kinematics({"tool0": TARGET}, tolerence=1e-3)
    with pytest.raises(px.PhalanxError, match="direction"):
        px.target.axis([0.0, 0.0, 1.0], axis=[0.0, 0.0, 0.0])
    with pytest.raises(px.PhalanxError, match="three finite numbers"):
        px.target.point([0.0, 0.0, 1.0], at=[0.0, 1.0])
    with pytest.raises(px.PhalanxError, match="expected real numbers"):
        px.target.look_at("there")


def test_without_a_compiler_the_program_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    from phalanx.inverse_kinematics import solve

    robot = px.load("ur5")
    q, poses = reachable(robot, "tool0", (2,))
    compiled = robot.inverse_kinematics({"tool0": poses}, q + 0.1)
    monkeypatch.setattr(solve.availability, "refusal", lambda: "no llvmlite")
    monkeypatch.setattr(solve.availability, "warn_of_numpy", lambda: None)
    other = px.load("ur5").replace(name="other")
    found = other.inverse_kinematics({"tool0": poses}, q + 0.1)
    assert found.converged.all()
    assert np.allclose(found.q, compiled.q, atol=1e-9)
