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
from phalanx.description import Pose
from reference.sampling import MOVING_TYPES


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


# ------------------------------------------------------------------------ random states


def test_random_states_lie_within_the_limits() -> None:
    robot = px.tree(30, seed=4, joints=MOVING_TYPES)
    q, qd, qdd = robot.random_state(500, rng=1)
    limits = robot.limits
    plain = np.ones(robot.nq, bool)
    for name, part in robot.q_slices.items():
        kind = dict(zip(robot.joint_names, robot.joint_types, strict=True))[name]
        if kind in ("spherical", "floating"):
            plain[part.stop - 4 : part.stop] = False
            np.testing.assert_allclose(
                np.linalg.norm(q[:, part.stop - 4 : part.stop], axis=-1), 1.0, rtol=1e-14
            )
    lower = np.where(np.isfinite(limits.lower), limits.lower, -np.pi)
    upper = np.where(np.isfinite(limits.upper), limits.upper, np.pi)
    assert ((q >= lower) & (q <= upper))[:, plain].all()
    spread = (q.max(axis=0) - q.min(axis=0)) / (upper - lower)
    assert (spread[plain] > 0.95).all()
    assert (np.abs(qd) <= limits.velocity).all()
    free = np.isinf(limits.velocity)
    assert 0.9 < qd[:, free].std() < 1.1
    assert 0.9 < qdd.std() < 1.1
    assert np.abs(qdd).max() > 3.0


def test_a_limit_on_one_side_leaves_a_window_on_the_other() -> None:
    q, _, _ = hand().build().random_state(400, rng=0)
    assert (1.0 - 2 * np.pi <= q[:, 3]).all()
    assert (q[:, 3] <= 1.0).all()


@pytest.mark.parametrize(
    ("batch", "shape"), [((), ()), (3, (3,)), ((2, 3), (2, 3)), ([0], (0,)), (np.int64(2), (2,))]
)
def test_random_states_have_the_batch_that_is_asked_for(batch: Any, shape: tuple[int, ...]) -> None:
    q, qd, qdd = px.chain(3).random_state(batch)
    assert q.shape == qd.shape == qdd.shape == (*shape, 3)


def test_random_states_repeat_with_their_seed_and_advance_a_generator() -> None:
    robot = px.chain(3)
    np.testing.assert_array_equal(robot.random_state(rng=5), robot.random_state(rng=5))
    rng = np.random.default_rng(5)
    first, second = robot.random_state(rng=rng), robot.random_state(rng=rng)
    np.testing.assert_array_equal(first, robot.random_state(rng=5))
    assert (first[0] != second[0]).any()


@pytest.mark.parametrize("batch", [-1, (2, -3), "many", (2, 1.5), None])
def test_a_bad_batch_is_refused(batch: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r"random_state: batch is .*; expected a size or a shape"):
        px.chain(2).random_state(batch)


@pytest.mark.parametrize("rng", ["seed", -1, 1.5])
def test_a_bad_seed_is_refused(rng: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r"random_state: rng is .*numpy\.random\.Generator"):
        px.chain(2).random_state(rng=rng)


# ------------------------------------------------------------------- configurations


def test_neutral_is_zero_with_unit_quaternions() -> None:
    robot = px.tree(4, 0.0, seed=1, joints=("spherical", "revolute")).with_floating_base()
    q = robot.neutral()
    assert (robot.normalize(q) == q).all()
    assert q[:7].tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
    assert q.sum() == 3.0


def test_integrate_and_difference_are_inverse_on_whole_robots() -> None:
    robot = px.tree(12, seed=3, joints=MOVING_TYPES).with_floating_base()
    q, dq, _ = robot.random_state((4, 3), rng=0)
    there = robot.integrate(q, 0.5 * dq)
    np.testing.assert_allclose(robot.difference(q, there), 0.5 * dq, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(robot.difference(there, q), -0.5 * dq, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(robot.normalize(there), there, rtol=0.0, atol=1e-14)


def test_integrate_broadcasts_and_keeps_the_dtype() -> None:
    robot = px.tree(5, seed=3, joints=("spherical", "floating", "planar"))
    q, dq, _ = robot.random_state((3, 1), rng=0)
    _, more, _ = robot.random_state(2, rng=1)
    assert robot.integrate(q, more).shape == (3, 2, robot.nq)
    assert robot.difference(q, q[0]).shape == (3, 1, robot.nv)
    narrow = robot.integrate(q.astype(np.float32), dq.astype(np.float32))
    assert narrow.dtype == np.float32
    np.testing.assert_allclose(narrow, robot.integrate(q, dq), atol=2e-5)
    assert robot.difference(q.astype(np.float32), narrow).dtype == np.float32
    assert robot.normalize(narrow).dtype == np.float32


def test_normalize_changes_quaternions_only_and_copies() -> None:
    robot = px.tree(3, 0.0, seed=0, joints=("floating", "revolute"))
    q, _, _ = robot.random_state(rng=1)
    stretched = q.copy()
    for part in robot.q_slices.values():
        if part.stop - part.start == 7:
            stretched[part.stop - 4 : part.stop] *= 5.0
    kept = stretched.copy()
    np.testing.assert_allclose(robot.normalize(stretched), q, rtol=1e-15)
    np.testing.assert_array_equal(stretched, kept)


def test_a_quaternion_of_zeros_becomes_nan_without_noise() -> None:
    robot = px.tree(1, seed=0, joints=("spherical",))
    assert np.isnan(robot.normalize(np.zeros((2, 4)))).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.integrate(np.zeros(4), np.zeros(3)), r"q has shape \(4,\), expected \(…, 3\).*nq = 3"),
        (lambda r: r.integrate(np.zeros(3), np.zeros(4)), r"dq has shape \(4,\), expected \(…, 3\).*nv = 3"),
        (lambda r: r.difference(np.zeros(3), "abc"), "q1 has dtype <U3, expected real numbers"),
        (lambda r: r.normalize([1j, 0, 0]), "q has dtype complex128, expected real numbers"),
        (
            lambda r: r.integrate(np.zeros((2, 3)), np.zeros((4, 3))),
            r"integrate: .*broadcast: q \(2,\), dq \(4,\)",
        ),
        (lambda r: r.difference(np.zeros((2, 3)), np.zeros((4, 3))), r"difference: .*q0 \(2,\), q1 \(4,\)"),
    ],
)
def test_bad_coordinates_are_refused(call: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        call(px.chain(3))


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
    arrays += [limits.lower, limits.upper, limits.velocity, limits.effort]
    arrays += [model.parents, model.links, model.carrier, model.axis, model.rest.E, model.rest.r]
    arrays += [model.inertia.m, model.inertia.h, model.inertia.moment, model.link_frame.E]
    arrays += [a for g in model.groups for a in (g.bodies, g.coordinates)]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


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
        f"{TEXT} The numbers are used as they are; load with strict=True to refuse them."
    ]
    # Copies are not new robots: the suite turns warnings into errors.
    pickle.loads(pickle.dumps(robot))
    robot.replace(gravity=(0.0, 0.0, 0.0)).fix({"a": 0.0}).with_floating_base()


def test_unphysical_inertias_are_refused_on_request() -> None:
    with pytest.raises(px.PhalanxError) as caught:
        broken(strict=True)
    assert str(caught.value) == f"{TEXT} Correct them, or load with strict=False."


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
