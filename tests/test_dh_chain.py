# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Serial chains in Denavit-Hartenberg frames: exact for every position of the axes, and convertible."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx import dh
from phalanx.dh import DHChain
from phalanx.spatial import unpack
from reference.sampling import agree

PLAIN = {"algorithm": "newton_euler", "backend": "numpy"}
Z = np.array([0.0, 0.0, 1.0])
RIGHT = math.pi / 2


# ------------------------------------------------------------------- robots of given geometry


def turn(axis: Any, angle: float) -> np.ndarray:
    """Rotation matrix about an axis."""
    k = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return np.eye(3) + math.sin(angle) * K + 2.0 * math.sin(angle / 2.0) ** 2 * K @ K


def robot_of(joints: list[tuple[Any, ...]], seed: int = 0) -> px.Robot:
    """A chain of joints (type, place, axis[, rotation]) in the frame of the link before, random bodies."""
    rng = np.random.default_rng(seed)
    builder = px.RobotBuilder("hand-made", gravity=(1.0, -2.0, -9.0))
    builder.add_link("root")
    for i, (kind, place, axis, *rotation) in enumerate(joints):
        points = rng.normal(size=(3, 4)) * 0.1
        second = points @ points.T
        mass, com = rng.uniform(0.5, 2.0), rng.normal(size=3) * 0.1
        builder.add_link(f"link{i}", mass=mass, com=com, inertia=np.trace(second) * np.eye(3) - second)
        pose = np.eye(4)
        pose[:3, 3] = place
        pose[:3, :3] = rotation[0] if rotation else np.eye(3)
        before = f"link{i - 1}" if i else "root"
        builder.add_joint(f"joint{i}", kind, before, f"link{i}", origin=pose, axis=axis, armature=0.1 * i)
    return builder.build()


def tilted(angle: float, kinds: str, every: int, seed: int, n: int = 7) -> px.Robot:
    """A chain in which all axes but every `every`-th are tilted against the one before by `angle` only."""
    rng = np.random.default_rng(seed)
    joints = []
    for i in range(n):
        kind = "revolute" if kinds[i % len(kinds)] == "R" else "prismatic"
        by = turn([*rng.normal(size=2), 0.0], angle if i % every else rng.uniform(0.5, 2.5))
        joints.append((kind, rng.normal(size=3) * 0.3, Z, by))
    return robot_of(joints, seed)


X, Y, MINUS = (1, 0, 0), (0, 1, 0), (0, 0, -1)
R, P, C = "revolute", "prismatic", "continuous"
HAND_MADE: dict[str, list[tuple[Any, ...]]] = {
    "planar": [(R, (0, 0, 0), Z), (R, (1, 0, 0), Z), (R, (0.5, 0, 0), Z), (R, (0.2, 0, 0), Z)],
    "parallel, scattered": [(R, (0.1, 0.2, 0.3), Z), (R, (0.3, -0.4, 0.7), Z), (R, (-0.2, 0.1, -0.5), Z)],
    "parallel to nothing": [(R, (0.1, 0.2, 0.3), (1, 2, 3)), (R, (0.3, -0.4, 0.7), (1, 2, 3))],
    "antiparallel": [(R, (0, 0, 0.5), Z), (R, (0.4, 0.1, 0), MINUS), (R, (0, 0.3, 0.2), Z), (R, X, Y)],
    "coincident": [(R, (0, 0, 0), Z), (R, (0, 0, 0.3), Z), (R, (0, 0, 0.4), MINUS), (R, (0.1, 0, 0), X)],
    "one point": [(R, (0, 0, 0), Z), (R, (0, 0, 0), Y), (R, (0, 0, 0), X), (R, (0, 0, 0), Z)],
    "intersecting": [(R, (0, 0, 1), Z), (R, (0, 0, 0.2), (0, 1, 1)), (R, (0, 0.3, 0.3), (1, 0, 1))],
    "skew": [(R, (0.1, 0, 1), Y), (R, (0.3, 0.1, 0.2), (0, 1, 2)), (R, (0.2, 0.3, 0.3), (-1, 0.3, 1))],
    "Cartesian": [(P, (0, 0, 0), X), (P, (0, 0.1, 0), Y), (P, (0.2, 0, 0), Z)],
    "slides in line": [(P, (0, 0, 0), Z), (P, (0.1, 0.2, 0.3), Z), (P, (0.1, 0, 0), MINUS), (P, X, Z)],
    "SCARA": [(R, (0, 0, 0.4), Z), (R, (0.3, 0, 0), Z), (P, (0.25, 0, 0), MINUS), (C, (0, 0, 0), MINUS)],
    "slide first": [(P, (0.1, 0.2, 0.3), (1, 1, 0)), (R, (0, 0.3, 0), Z), (R, (0.5, 0, 0), Y)],
    "slide last": [(R, (0, 0.3, 0), Y), (R, (0.5, 0, 0), X), (P, (0.1, 0.2, 0.3), (1, 1, 0))],
    "one turn": [(R, (0.3, 0.2, 0.1), (3, 2, 1))],
    "one slide": [(P, (0.3, 0.2, 0.1), (3, 2, 1))],
    "stacked": [(R, (0.1, 0, 1), Z)] * 30,
    "stacked slides": [(P, (0.3, 0.1, 1), Z), (P, (0.1, 0.3, 1), X)] * 15,
    "straight base": [(C, (0, 0, 0.3), Z, turn(Z, 0.7)), (R, (0, 0.1, 0.2), Y), (R, (0, 0, 0.4), Y)],
}
BUILT_IN = ("puma560", "stanford", "ur5", "panda", "iiwa14", "two_link")


def loaded(name: str) -> px.Robot:
    """A built-in robot; some carry inertias that no rigid body has, as published."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.load(name)


# ------------------------------------------------------------------- textbook loops on a chain


def mv(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Matrix times vector."""
    return (A @ x[..., None])[..., 0]


def frames(chain: DHChain, q: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Rotations to the world and origins of O_1 … O_n."""
    A, p = dh.rotations(chain, q), dh.offsets(chain, q)
    turns, origins = [chain.base.E.T], [chain.base.r]
    for i in range(chain.n):
        turns.append(turns[-1] @ A[..., i, :, :])
        origins.append(origins[-1] + mv(turns[-1], p[..., i, :]))
    return turns[1:], origins[1:]


def poses(chain: DHChain, q: np.ndarray) -> np.ndarray:
    """Poses of the links' frames in the file."""
    result = np.zeros((*q.shape, 4, 4))
    for i, (turned, origin) in enumerate(zip(*frames(chain, q), strict=True)):
        result[..., i, :3, :3] = turned @ chain.links.E[i].T
        result[..., i, :3, 3] = origin + mv(turned, chain.links.r[i])
        result[..., i, 3, 3] = 1.0
    return result


def torques(chain: DHChain, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
    """Lathrop's Table 2, joint after joint."""
    A, p, axes = dh.rotations(chain, q), dh.offsets(chain, q), dh.axes(chain)
    w = wd = np.zeros((*q.shape[:-1], 3))
    pdd = w - chain.gravity
    forces, moments = [], []
    for i in range(chain.n):
        back, z, r, J = np.swapaxes(A[..., i, :, :], -1, -2), axes[i], chain.s[i], unpack(chain.J[i])
        v, a = qd[..., i, None], qdd[..., i, None]
        if chain.turns[i]:
            wd = mv(back, wd + Z * a + np.cross(w, Z * v))
            w = mv(back, w + Z * v)
        else:
            w, wd = mv(back, w), mv(back, wd)
        pdd = mv(back, pdd) + np.cross(wd, p[..., i, :]) + np.cross(w, np.cross(w, p[..., i, :]))
        if not chain.turns[i]:
            pdd = pdd + z * a + 2.0 * np.cross(w, z * v)
        forces.append(chain.m[i] * (np.cross(w, np.cross(w, r)) + np.cross(wd, r) + pdd))
        moments.append(mv(J, wd) + np.cross(w, mv(J, w)))
    tau = np.empty(q.shape)
    f = n = np.zeros(3)
    for i in range(chain.n - 1, -1, -1):
        if i + 1 < chain.n:
            f, n = mv(A[..., i + 1, :, :], f), mv(A[..., i + 1, :, :], n)
        n = n + moments[i] + np.cross(p[..., i, :] + chain.s[i], forces[i]) + np.cross(p[..., i, :], f)
        f = f + forces[i]
        tau[..., i] = ((n if chain.turns[i] else f) * axes[i]).sum(axis=-1)
    return tau + chain.armature * qdd


def check_chain(robot: px.Robot, tolerance: float = 1e-12) -> DHChain:
    """Hold the chain of a robot to the robot's own poses and torques, and return it."""
    q, qd, qdd = robot.random_state(5, rng=1)
    chain = robot.model.dh
    agree(poses(chain, q), robot.forward_kinematics(q, backend="numpy"), tolerance)
    agree(torques(chain, q, qd, qdd), robot.inverse_dynamics(q, qd, qdd, **PLAIN), tolerance)
    return chain


def rebuilt(robot: px.Robot) -> px.Robot:
    """The robot that a robot's DH table describes."""
    table = robot.to_dh()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.Robot.from_dh(table.rows, base=table.base, tool=table.tool, gravity=table.gravity)


def check_table(robot: px.Robot, tolerance: float = 1e-12) -> None:
    """Hold the robot of a robot's DH table to the robot itself."""
    other = rebuilt(robot)
    q, qd, qdd = robot.random_state(5, rng=2)
    last = robot.forward_kinematics(q, backend="numpy")[..., -1, :, :]
    agree(other.frame_pose(q, "tool", backend="numpy"), last, tolerance)
    expected = robot.inverse_dynamics(q, qd, qdd, **PLAIN)
    agree(other.inverse_dynamics(q, qd, qdd, **PLAIN), expected, tolerance)
    agree(other.mass_matrix(q, backend="numpy"), robot.mass_matrix(q, backend="numpy"), tolerance)


# ------------------------------------------------------------------- every geometry


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


# ------------------------------------------------------------------- functions on a chain


@pytest.mark.parametrize("robot", [px.chain(6, seed=1, prismatic=0.5), tilted(1e-7, "RRP", 2, 1)])
def test_proximal_frames_lie_on_their_joints_and_carry_the_same_bodies(robot: px.Robot) -> None:
    chain = robot.model.dh
    q = robot.random_state(rng=0)[0]
    U, p = dh.proximal_rotations(chain, q), dh.proximal_offsets(chain, q)
    s, J = dh.proximal_inertias(chain)
    turned, origin = chain.base.E.T, chain.base.r
    for i, (distal, place) in enumerate(zip(*frames(chain, q), strict=True)):
        axis = turned @ U[i] @ Z
        before = chain.base.r if i == 0 else frames(chain, q)[1][i - 1]
        origin, turned = origin + turned @ p[i], turned @ U[i]
        agree(axis, distal @ dh.axes(chain)[i], 1e-13)
        agree(np.cross(origin - before, axis), np.zeros(3), 1e-13, least=1.0)
        agree(origin + turned @ s[i], place + distal @ chain.s[i], 1e-13)
        world = distal @ unpack(chain.J[i]) @ distal.T
        agree(turned @ unpack(J[i]) @ turned.T, world, 1e-13)


def test_wrenches_in_link_frames_become_wrenches_at_dh_frames() -> None:
    robot = px.chain(5, seed=2, prismatic=0.4)
    q = robot.random_state(3, rng=0)[0]
    given = np.random.default_rng(0).normal(size=(3, 5, 6))
    chain = robot.model.dh
    moved = dh.link_wrenches_dh(chain, given)
    files = robot.forward_kinematics(q, backend="numpy")
    for i, (turned, origin) in enumerate(zip(*frames(chain, q), strict=True)):
        R_file, place = files[:, i, :3, :3], files[:, i, :3, 3]
        force = mv(R_file, given[:, i, 3:])
        agree(mv(turned, moved[:, i, 3:]), force, 1e-13)
        agree(
            mv(turned, moved[:, i, :3]), mv(R_file, given[:, i, :3]) + np.cross(place - origin, force), 1e-13
        )


def test_functions_broadcast_over_any_batch() -> None:
    chain = px.chain(4, seed=0, prismatic=0.5).model.dh
    q = np.random.default_rng(0).normal(size=(2, 3, 4))
    for f, shape in (
        (dh.rotations, (3, 3)),
        (dh.offsets, (3,)),
        (dh.proximal_rotations, (3, 3)),
        (dh.proximal_offsets, (3,)),
    ):
        result = f(chain, q)
        assert result.shape == (2, 3, 4, *shape)
        agree(result[1, 2], f(chain, q[1, 2]), 1e-15)


def test_chain_follows_its_model_into_other_numbers() -> None:
    robot = px.chain(5, seed=3, prismatic=0.4)
    q, qd, qdd = robot.random_state(4, rng=0)
    chain = robot.model.dh
    single = robot.model.cast(lambda a: a.astype(np.float32)).dh
    assert {getattr(single, k).dtype for k in ("a", "sa", "s", "J", "gravity")} == {np.dtype(np.float32)}
    assert dh.rotations(single, q.astype(np.float32)).dtype == np.float32
    assert dh.offsets(single, q.astype(np.float32)).dtype == np.float32
    agree(torques(single, q, qd, qdd), torques(chain, q, qd, qdd), 1e-5)
    boxed = robot.model.cast(lambda a: a.astype(object)).dh
    for f in (dh.rotations, dh.offsets, dh.proximal_rotations, dh.proximal_offsets):
        result = f(boxed, q[0].astype(object))
        assert result.dtype == object
        agree(result.astype(float), f(chain, q[0]), 1e-15)
    assert all(type(x) is float for x in dh.axes(boxed).ravel())


def test_regrouping_leaves_the_chain_its_own_inertias() -> None:
    robot = px.chain(5, seed=3)
    assert robot.model.regrouped().dh is robot.model.dh
    boxed = robot.model.regrouped().cast(lambda a: a.astype(object)).dh
    agree(boxed.m.astype(float), robot.model.dh.m)


# ------------------------------------------------------------------- tables


def test_table_reads_in_eighty_columns() -> None:
    for robot in (tilted(1e-6, "RRP", 2, 3, n=12), loaded("ur5"), px.chain(33, prismatic=0.5)):
        lines = str(robot.to_dh()).splitlines()
        assert max(map(len, lines)) <= 80
    text = str(loaded("stanford").to_dh())
    assert text == "\n".join(
        [
            'Denavit-Hartenberg table (standard) of "stanford": m, degrees, kg',
            "    joint                  theta             d          a      alpha       mass",
            "  1 joint1                    q1         0.412          0        -90       9.29",
            "  2 joint2                    q2         0.154          0         90       5.01",
            "  3 joint3                   -90            q3          0          0       4.25",
            "  4 joint4                    q4             0          0        -90       1.08",
            "  5 joint5                    q5             0          0         90       0.63",
            "  6 joint6                    q6         0.263          0          0       0.51",
        ]
    )
    assert "base: xyz (0, 0, 0), rpy (90, 0, 0)" in str(loaded("two_link").to_dh())


def test_nearly_parallel_axes_take_a_fixed_row() -> None:
    tilt = turn(Y, 1e-9)
    robot = robot_of([(R, (0, 0, 0), Z), (R, (0.5, 0.2, 0), Z, tilt), (R, (0.5, 0, 0), X)])
    table = robot.to_dh()
    assert table.types == ("revolute", "fixed", "revolute", "revolute")
    assert table.rows[1]["name"] == "joint0_tilt"
    assert "    joint0_tilt " in str(table)
    assert rebuilt(robot).joint_names == robot.joint_names


def test_table_keeps_names_limits_and_friction() -> None:
    robot = loaded("puma560")
    other = rebuilt(robot)
    assert other.joint_names == robot.joint_names
    assert other.link_names == robot.link_names
    for key in ("lower", "upper", "velocity", "effort"):
        np.testing.assert_array_equal(getattr(other.limits, key), getattr(robot.limits, key))
    for key in ("damping", "friction", "armature", "gravity"):
        np.testing.assert_array_equal(getattr(other, key), getattr(robot, key))
    agree(other.link_masses, robot.link_masses)


def test_table_is_plain_data() -> None:
    table = loaded("panda").to_dh()
    assert json.loads(json.dumps(table.rows)) == table.rows


def test_links_may_carry_the_names_that_a_table_reserves() -> None:
    builder = px.RobotBuilder("arm")
    builder.add_link("world")
    builder.add_link("base", mass=1.0, com=(0.1, 0.0, 0.0))
    builder.add_link("tool", mass=1.0, com=(0.1, 0.0, 0.0))
    builder.add_joint("first", R, "world", "base")
    builder.add_joint("tool", R, "base", "tool", axis=X, origin=(0.3, 0.1, 0.0))
    robot = builder.build()
    assert rebuilt(robot).link_names == ("base_link", "tool_link")
    check_table(robot)


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
        dh.chain_of(robot.model, "arm")
