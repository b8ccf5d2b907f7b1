# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The Denavit-Hartenberg table of a robot: as text, as data, and read back."""

from __future__ import annotations

import json

import numpy as np

import phalanx as px
from reference.dh_chains import (
    R,
    X,
    Y,
    Z,
    check_table,
    loaded,
    rebuilt,
    robot_of,
    tilted,
    turn,
)
from reference.sampling import agree


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
