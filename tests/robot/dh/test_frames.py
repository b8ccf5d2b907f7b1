# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Denavit-Hartenberg frames: exact for every position of the axes, and the tables that are known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.robot.dh import chain as dh
from phalanx.robot.dh.frames import chain_of
from reference.dh_chains import (
    BUILT_IN,
    HAND_MADE,
    MINUS,
    RIGHT,
    R,
    X,
    Y,
    Z,
    check_chain,
    check_table,
    loaded,
    robot_of,
    tilted,
    torques,
    turn,
)
from reference.sampling import agree


@pytest.mark.parametrize("geometry", HAND_MADE)
def test_any_position_of_axes_keeps_poses_and_torques(geometry: str) -> None:
    robot = robot_of(HAND_MADE[geometry])
    chain = check_chain(robot)
    assert not chain.slipped.any(), "only nearly parallel axes need the fifth parameter"
    check_table(robot)


@pytest.mark.parametrize("prismatic", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 33])
def test_random_chains_keep_poses_and_torques(n: int, prismatic: float) -> None:
    for seed in range(3):
        robot = px.chain(n, seed=seed, prismatic=prismatic)
        check_chain(robot)
        check_table(robot)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_robots_keep_poses_and_torques(name: str) -> None:
    robot = loaded(name)
    check_chain(robot)
    check_table(robot)


@pytest.mark.parametrize("kinds", ["R", "RP", "PRR"])
@pytest.mark.parametrize("angle", [1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-13, 2e-14, 1e-15])
def test_nearly_parallel_axes_lose_no_digit(angle: float, kinds: str) -> None:
    for seed, every in enumerate((2, 3, 100)):
        robot = tilted(angle, kinds, every, seed)
        # Angles below the tolerance of 1e-14 are rounding.
        chain = check_chain(robot, 1e-14 if angle > 1e-14 else 1e-13)
        assert np.abs(chain.d).max() < 20.0
        assert np.abs(chain.s).max() < 20.0
        check_table(robot, 1e-14 if angle > 1e-14 else 1e-13)


def test_nearly_antiparallel_axes_lose_no_digit() -> None:
    for angle in (1e-3, 1e-6, 1e-9, 1e-12):
        flip = turn(X, math.pi - angle)
        robot = robot_of([(R, X, Y), (R, (0.3, 0.2, 0.1), Z, flip), (R, (0.2, 0.3, 0.4), Z, flip), (R, X, Y)])
        assert check_chain(robot, 1e-14).slipped.any()
        check_table(robot, 1e-14)


def test_an_angle_is_not_rounded_away() -> None:
    robot = robot_of([(R, (0, 0, 0), Z), (R, (0.5, 0, 0), Z, turn(Y, 1e-9)), (R, (0.5, 0, 0), Z)])
    assert robot.model.dh.sa[0] == pytest.approx(1e-9, rel=1e-6)


def test_frames_stay_near_their_links_along_parallel_axes() -> None:
    for geometry in ("stacked", "stacked slides"):
        assert np.abs(robot_of(HAND_MADE[geometry]).model.dh.s).max() < 20.0


# ------------------------------------------------------------------- known tables, exact zeros


def test_puma_and_stanford_give_back_their_own_tables() -> None:
    puma, stanford = loaded("puma560").to_dh(), loaded("stanford").to_dh()
    agree(puma.alpha, [RIGHT, 0, -RIGHT, RIGHT, -RIGHT, 0], 1e-15)
    agree(puma.a, [0, 0.4318, 0.0203, 0, 0, 0], 1e-15)
    agree(puma.d, [0, 0, 0.15005, 0.4318, 0, 0], 1e-15)
    agree(puma.theta, np.zeros(6))
    agree(stanford.alpha, [-RIGHT, RIGHT, 0, -RIGHT, RIGHT, 0], 1e-15)
    agree(stanford.a, np.zeros(6))
    agree(stanford.d, [0.412, 0.154, 0, 0, 0, 0.263], 1e-15)
    agree(stanford.theta, [0, 0, -RIGHT, 0, 0, 0], 1e-15)
    assert stanford.types == ("revolute", "revolute", "prismatic", "revolute", "revolute", "revolute")
    for table in (puma, stanford):
        agree(table.base, np.eye(4))
        agree(table.tool, np.eye(4))


def test_any_table_gives_itself_back() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows: list[dict[str, Any]] = []
        for _ in range(5):
            row = dict(zip(("a", "alpha", "d", "theta"), rng.uniform(-1.0, 1.0, 4), strict=True))
            row["alpha"] = rng.choice([0.0, RIGHT, -RIGHT, rng.uniform(0.5, 2.5), -rng.uniform(0.5, 2.5)])
            row["a"] *= rng.integers(2)
            row["type"] = rng.choice(["revolute", "prismatic"])
            rows.append({**row, "type": str(row["type"]), "mass": 1.0, "inertia": [0.1, 0.1, 0.1]})
        base = np.eye(4)
        base[:3, :3], base[:3, 3] = turn(rng.normal(size=3), 1.0), rng.normal(size=3)
        table = px.Robot.from_dh(rows, base=base).to_dh()
        for key in ("a", "alpha", "d", "theta"):
            given = np.array([row[key] for row in rows])
            agree(getattr(table, key), given, 1e-13, least=1.0)
        agree(table.base, base, 1e-14)
        agree(table.tool, np.eye(4), 1e-13)


def test_iiwa_and_panda_have_their_published_tables() -> None:
    iiwa, panda = loaded("iiwa14").to_dh(), loaded("panda").to_dh()
    agree(iiwa.d[:6], [0.36, 0, 0.42, 0, 0.4, 0], 1e-14)
    agree(np.abs(iiwa.alpha[:6]), np.full(6, RIGHT), 1e-14)
    agree(panda.d[:6], [0.333, 0, 0.316, 0, 0.384, 0], 1e-14)
    agree(panda.a[:6], [0, 0, 0.0825, 0.0825, 0, 0.088], 1e-14)


@pytest.mark.parametrize("name", BUILT_IN)
def test_right_angles_and_crossings_are_exact_zeros(name: str) -> None:
    chain = loaded(name).model.dh
    assert set(np.abs([*chain.sa, *chain.ca]).tolist()) <= {0.0, 1.0}
    for values in (chain.a, chain.d, chain.s, chain.w, chain.links.r):
        small = np.abs(values) < 1e-9
        assert (values[small] == 0.0).all()
    q = loaded(name).neutral()
    A = dh.rotations(chain, q)[~chain.turns]
    assert (A[np.abs(A) < 1e-9] == 0.0).all(), "a slide's rotation is constant and exact"


def test_rounding_in_a_file_counts_as_zero() -> None:
    for seed in range(5):
        by = turn(np.random.default_rng(seed).normal(size=3), 1.0 + seed)  # nothing but rounding is small
        joints = [(R, by @ place, by @ axis) for place, axis in ((Z, Z), (X, Y), (Y, Y), (X, X))]
        chain = robot_of(joints).model.dh
        assert set(np.abs([*chain.sa, *chain.ca]).tolist()) <= {0.0, 1.0}
        for values in (chain.a, chain.d):
            assert (values[np.abs(values) < 1e-9] == 0.0).all()


def test_signs_and_order_of_joints_are_the_users() -> None:
    up = robot_of([(R, (0, 0, 0), Z), (R, (0.5, 0, 0), Z)])
    down = robot_of([(R, (0, 0, 0), Z), (R, (0.5, 0, 0), MINUS)])
    q, qd, qdd = up.random_state(4, rng=0)
    sign = np.array([1.0, -1.0])
    tau = torques(up.model.dh, q, qd, qdd)
    agree(torques(down.model.dh, q * sign, qd * sign, qdd * sign) * sign, tau, 1e-13)


def test_massless_links_have_their_centre_at_the_frame() -> None:
    rows = [{"a": 0.5, "alpha": 1.0}, {"a": 0.3, "mass": 1.0, "com": [0.1, 0.2, 0.3]}]
    robot = px.Robot.from_dh(rows)
    assert (robot.model.dh.s[0] == 0.0).all()
    check_chain(robot)


# ------------------------------------------------------------------- refusals


def mimicking() -> px.Robot:
    """Two joints of which one follows the other."""
    builder = px.RobotBuilder("gripper")
    for name in ("root", "left", "right"):
        builder.add_link(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint("a", R, "root", "left")
    builder.add_joint("b", R, "left", "right", mimic=("a", -1.0))
    return builder.build()


REFUSED = [
    (lambda: px.tree(5, branching=1.0, seed=1), "it branches"),
    (lambda: px.chain(3).with_floating_base(), "its base floats"),
    (mimicking, "its mimic joints follow other joints"),
    (lambda: px.chain(1).fix({"joint1": 0.0}), "no joint moves"),
    *(
        (
            lambda kind=kind: px.tree(2, 0.0, joints=(kind,)),
            'joint "joint1" is neither revolute nor prismatic',
        )
        for kind in ("helical", "universal", "planar", "spherical", "floating")
    ),
]


@pytest.mark.parametrize(("make", "reason"), REFUSED)
def test_other_robots_are_refused_by_name_reason_and_remedy(make: Any, reason: str) -> None:
    robot = make()
    with pytest.raises(px.PhalanxError) as caught:
        robot.to_dh()
    text = str(caught.value)
    assert text.startswith(f'robot "{robot.name}": {reason};')
    assert text.endswith('The algorithms "newton_euler", "crba" and "aba" cover any tree.')


@pytest.mark.parametrize(("make", "reason"), REFUSED[:2])
def test_algorithms_in_dh_frames_refuse_the_same_robots(make: Any, reason: str) -> None:
    robot = make()
    with pytest.raises(px.PhalanxError, match='algorithm "luh_walker_paul" does not cover') as caught:
        robot.inverse_dynamics(*robot.random_state(rng=0), algorithm="luh_walker_paul")
    assert reason in str(caught.value)
    assert '"newton_euler"' in str(caught.value)


def test_a_model_alone_names_the_joint_by_number() -> None:
    robot = px.tree(2, 0.0, joints=("helical",))
    with pytest.raises(px.PhalanxError, match='robot "arm": joint 1 is neither'):
        chain_of(robot.model, "arm")
