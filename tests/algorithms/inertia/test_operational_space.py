# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The inertia at a frame: against its definition, against forward dynamics, and where it has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference import dynamics as textbook
from reference.c_library import Library
from reference.sampling import MOVING_TYPES, agree

REFERENCES = ("world_aligned", "world", "local")
MIXED = px.tree(9, 0.0, seed=4, joints=MOVING_TYPES)
ROBOTS = {
    "panda": px.load("panda"),
    "chain": px.chain(30, seed=3, prismatic=0.2),
    "mixed": MIXED.replace(armature=np.linspace(0.1, 0.5, MIXED.nv)),
    "floating": px.load("ur5").with_floating_base(),
}


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("algorithm", ["ltl", "articulated"])
@pytest.mark.parametrize("name", ROBOTS)
def test_it_is_what_jacobian_and_mass_matrix_say(name: str, algorithm: str, backend: str) -> None:
    robot = ROBOTS[name]
    frame = robot.link_names[-1]
    q = robot.random_state(3, rng=2)[0]
    for reference in REFERENCES:
        found = robot.operational_space_inertia(
            q, frame, reference=reference, algorithm=algorithm, backend=backend
        )
        for k in range(3):
            wanted = textbook.operational_space_inertia(robot, q[k], frame, reference)
            agree(found[k], wanted, 1e-13 * np.linalg.cond(wanted))
            agree(found[k], found[k].T, 1e-14)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_wrench_on_the_frame_accelerates_it_by_the_inverse(name: str) -> None:
    """At rest and without gravity; by articulated bodies, which form neither matrix."""
    robot = ROBOTS[name].replace(gravity=(0.0, 0.0, 0.0))
    frame = robot.link_names[-1]
    q, still = robot.random_state(rng=5)[0], np.zeros(robot.nv)
    wrench = np.random.default_rng(6).standard_normal(6)
    qdd = robot.forward_dynamics(q, still, still, external={frame: wrench}, algorithm="aba")
    acceleration = robot.frame_acceleration(q, still, qdd, frame, reference="local")
    shown = robot.operational_space_inertia(q, frame, reference="local")
    agree(shown @ acceleration, wrench, 1e-12 * np.linalg.cond(shown))


def test_mimic_joints_are_covered() -> None:
    builder = px.RobotBuilder("arm")
    builder.add_link("base")
    for k in range(8):
        builder.add_link(f"link{k}", mass=1.0, com=(0.1, 0.02, 0.3), inertia=(0.1, 0.2, 0.15))
        follows: Any = {"mimic": ("joint2", 0.7, 0.1)} if k == 5 else {}
        builder.add_joint(
            f"joint{k}",
            "revolute",
            "base" if k == 0 else f"link{k - 1}",
            f"link{k}",
            axis=np.roll([1.0, 0.2, 0.1 * k], k),
            origin=(0.1, 0.05 * k, 0.3),
            **follows,
        )
    robot = builder.build()
    assert robot.nv == 7
    q = robot.random_state(rng=1)[0]
    J, M = robot.jacobian(q, "link7"), robot.mass_matrix(q)
    wanted = np.linalg.inv(J @ np.linalg.solve(M, J.T))
    for backend in ("numpy", "native"):
        found = robot.operational_space_inertia(q, "link7", backend=backend)
        agree(found, wanted, 1e-13 * np.linalg.cond(wanted))


def test_frames_that_cannot_move_in_six_directions_are_refused() -> None:
    flat = px.RobotBuilder("flat")
    flat.add_link("base")
    for k in range(8):
        flat.add_link(f"link{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        above = "base" if k == 0 else f"link{k - 1}"
        flat.add_joint(f"joint{k}", "revolute", above, f"link{k}", axis=(0, 0, 1), origin=(0.3, 0.0, 0.0))
    for robot, frame, count in (
        (px.load("two_link"), "link2", 2),
        (flat.build(), "link7", 3),
        (px.load("panda"), "panda_link0", 0),
    ):
        told = rf'operational_space_inertia: .* move frame "{frame}" in {count} directions, expected 6'
        for ask in (
            lambda r=robot, f=frame: r.operational_space_inertia(r.neutral(), f),
            lambda r=robot, f=frame: r.kernel("operational_space_inertia", frame=f),
            lambda r=robot, f=frame: r.vjp("operational_space_inertia", (r.neutral(),), np.eye(6), frame=f),
        ):
            with pytest.raises(px.PhalanxError, match=told):
                ask()


def test_a_singular_configuration_stays_in_its_lane() -> None:
    robot = px.load("ur5")
    frame = robot.link_names[-1]
    q = robot.random_state(9, rng=3)[0]
    alone = robot.operational_space_inertia(q, frame)
    q[4] = 0.0  # stretched: the wrist and the elbow line up
    together = robot.operational_space_inertia(q, frame)
    others = np.arange(9) != 4
    np.testing.assert_array_equal(together[others], alone[others])
    assert not (np.abs(together[4]) < 1e12).all()


def test_it_is_exported(tmp_path: Path) -> None:
    robot = px.load("panda")
    functions = ("operational_space_inertia:panda_hand", "center_of_mass_acceleration")
    library = Library(robot, functions, tmp_path)
    q, qd, qdd = robot.random_state(4, rng=8)
    (found,) = library("operational_space_inertia_panda_hand", q)
    wanted = robot.operational_space_inertia(q, "panda_hand")
    agree(np.reshape(found, wanted.shape), wanted, 1e-13 * np.linalg.cond(wanted).max())
    (found,) = library("center_of_mass_acceleration", q, qd, qdd)
    agree(np.reshape(found, (4, 3)), robot.center_of_mass_acceleration(q, qd, qdd), 1e-13)
