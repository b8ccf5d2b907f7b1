# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Inverse kinematics of robots with loops: targets are reached with the loops closed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native.compile import host


def along(x: float) -> np.ndarray:
    made = np.eye(4)
    made[0, 3] = x
    return made


def four_bar() -> px.Robot:
    """Three links in a chain whose end is held at a point of the base."""
    builder = px.RobotBuilder("four_bar")
    above = builder.add_link("base")
    for k, x in enumerate((0.0, 0.4, 0.7)):
        link = builder.add_link(f"link{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        builder.add_joint(
            f"joint{k}", "revolute", above, link, origin=along(x), axis=(0, 1, 0), lower=-3, upper=3
        )
        above = link
    builder.add_frame("coupler", "link1", along(0.35))
    builder.add_frame("end", "link2", along(0.5))
    return builder.build().with_constraint(px.constraint.point("end", at=(0.6, 0.0, 0.0)))


def closed(robot: px.Robot, q: np.ndarray) -> np.ndarray:
    """Configurations near q, inside the limits, whose loops are closed."""
    found = robot.close_loops(q)
    good = found.q[np.asarray(found.converged)]
    return good[((good >= robot.limits.lower) & (good <= robot.limits.upper)).all(axis=-1)]


def test_a_four_bar_linkage_reaches_points_of_its_coupler_curve_by_pinocchios_kinematics() -> None:
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from reference import pinocchio as other

    robot = four_bar()
    q = closed(robot, robot.random_state((60,), np.random.default_rng(0))[0])
    points = robot.frame_pose(q, "coupler")[:, :3, 3]
    s = robot.inverse_kinematics({"coupler": points})
    assert s.converged.all()
    assert s.error.shape == (len(q), 6)  # of the point, and of the loop
    model, place = other.model_of(robot.description)
    data = model.createData()
    for x, point in zip(s.q, points, strict=True):
        other.pin.forwardKinematics(model, data, x)
        coupler, end = (
            (data.oMi[place[link][0]] * place[link][1]).act(np.array([length, 0.0, 0.0]))
            for link, length in (("link1", 0.35), ("link2", 0.5))
        )
        assert np.linalg.norm(coupler - point) < 1.001e-6
        assert np.linalg.norm(end - [0.6, 0.0, 0.0]) < 1.001e-6


@pytest.mark.skipif(not shutil.which("gcc"), reason="no C compiler")
def test_c_closes_loops_with_the_same_bits(tmp_path: Path) -> None:
    from reference.c_library import Library

    robot = four_bar()
    flags = ("-O1", "-march=native") if host().fma else ("-O1",)
    library = Library(robot, "inverse_kinematics:coupler", tmp_path, "float64", "gcc", flags)
    q = closed(robot, robot.random_state((20,), np.random.default_rng(0))[0])
    poses, start = robot.frame_pose(q, "coupler"), 0.9 * q
    found = robot.inverse_kinematics({"coupler": poses}, start, seeds=4, iterations=50)
    settings = np.tile([1e-6, 4.0, 50.0, 0.0], (len(q), 1))
    x, error, _ = library("inverse_kinematics_coupler", start, poses, settings)
    assert found.converged.all()
    assert np.array_equal(x, found.q)
    assert np.array_equal(error, found.error)


def test_off_the_coupler_curve_nothing_is_reached() -> None:
    s = four_bar().inverse_kinematics({"coupler": np.array([0.1, 0.0, 2.0])})
    assert not s.converged
    assert np.isfinite(s.q).all()


@pytest.mark.parametrize("kind", ["weld", "axis", "coupling"])
def test_welds_hinges_and_couplings_hold_and_solutions_follow_their_targets(kind: str) -> None:
    robot, rng = px.chain(9, seed=1), np.random.default_rng(3)
    tip, middle = robot.link_names[-1], robot.link_names[5]
    q = robot.random_state((), rng)[0]
    pose = robot.frame_pose(q, tip)
    constraint: dict[str, Any] = {
        "weld": lambda: px.constraint.weld(tip, at=pose),
        "axis": lambda: px.constraint.axis(tip, at=pose[:3, 3], at_axis=pose[:3, 2]),
        "coupling": lambda: px.constraint.coupling(
            robot.joint_names[1], robot.joint_names[3], (0.1, -0.5, 0.2)
        ),
    }
    robot = robot.with_constraint(constraint[kind]())
    good = closed(robot, q + 0.2 * rng.normal(size=(40, 9)))
    points = robot.frame_pose(good, middle)[:, :3, 3]
    s = robot.inverse_kinematics({middle: points}, q)
    assert s.converged.mean() > 0.95
    assert np.abs(robot.constraint_error(s.q[s.converged])).max() <= 1e-6
    if kind == "axis":  # and not the other way round
        found = robot.frame_pose(s.q[s.converged], tip)
        assert (found[:, :3, 2] @ pose[:3, 2] > 0.999).all()
    at = s.q[s.converged][0]
    rates = robot.inverse_kinematics_derivatives(at, {middle: points[s.converged][0]}, limits=False)[middle]
    assert np.allclose(robot.constraint_jacobian(at) @ rates, 0.0, atol=1e-5)
    assert np.allclose(robot.jacobian(at, middle)[3:] @ rates, np.eye(3), atol=1e-5)
