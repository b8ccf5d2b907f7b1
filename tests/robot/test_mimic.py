# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Mimic joints: coupled ones against the projection of independent ones, and chains of them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from phalanx.robot.description import Mimic
from reference.sampling import agree, seeds

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

SCALAR = ("revolute", "continuous", "prismatic", "helical")
Drive = dict[str, tuple[str, float, float]]


def coupled_tree(seed: int, drives: Drive, n: int = 7, floating: bool = False, **choice: str) -> px.Robot:
    """A random tree whose joints follow others as told."""
    described = px.tree(n, 0.5, seed=seed, joints=SCALAR).description
    joints = tuple(
        replace(j, mimic=Mimic(*drives[j.name]) if j.name in drives else None) for j in described.joints
    )
    robot = replace(described, joints=joints, floating_base=floating)
    return px.load(robot, **choice)


@st.composite
def drives(draw: Any) -> Drive:
    """Joints 2, 4, 6 and 7 driven by others with all kinds of ratios and offsets, in chains too."""
    number = st.floats(-2.0, 2.0).filter(lambda x: abs(x) > 0.1)
    sources = {"joint2": "joint1", "joint4": "joint5", "joint6": "joint2", "joint7": "joint6"}
    chosen = draw(st.sets(st.sampled_from(sorted(sources)), min_size=1))
    return {name: (sources[name], draw(number), draw(number)) for name in chosen}


@given(seeds, drives(), st.booleans())
def test_coupled_dynamics_are_the_projection_of_independent_ones(
    seed: int, told: Drive, floating: bool
) -> None:
    coupled = coupled_tree(seed % 50, told, floating=floating).replace(armature=0.1)
    free = coupled_tree(seed % 50, told, floating=floating, mimic="independent")
    assert coupled.nv == free.nv - len(told)
    assert coupled.joint_names == free.joint_names
    Q, offset, A = projection(coupled, free, told)
    q, qd, qdd = coupled.random_state(2, rng=seed)
    full, rate = q @ Q.T + offset, qd @ A.T
    agree(coupled.expand(q), full, 1e-14)
    agree(coupled.coupling, A, 1e-15)
    np.testing.assert_array_equal(free.expand(full), full)
    np.testing.assert_array_equal(free.coupling, np.eye(free.nv))
    M = A.T @ free.mass_matrix(full) @ A + np.diag(coupled.armature)
    agree(coupled.mass_matrix(q), M, 1e-12)
    tau = free.inverse_dynamics(full, rate, qdd @ A.T) @ A + coupled.armature * qdd
    agree(coupled.inverse_dynamics(q, qd, qdd), tau, 1e-12)
    bias = free.bias_forces(full, rate) @ A
    agree(coupled.bias_forces(q, qd), bias, 1e-12)
    wanted = np.linalg.solve(M, (tau - bias)[..., None])[..., 0]
    agree(coupled.forward_dynamics(q, qd, tau), wanted, 1e-10)
    agree(coupled.mass_matrix_inverse(q), np.linalg.inv(M), 1e-9)
    agree(coupled.forward_kinematics(q), free.forward_kinematics(full), 1e-12)
    agree(coupled.jacobian(q, "link7"), free.jacobian(full, "link7") @ A, 1e-12)
    agree(
        coupled.kinetic_energy(q, qd), free.kinetic_energy(full, rate) + 0.5 * qd**2 @ coupled.armature, 1e-12
    )
    agree(coupled.potential_energy(q), free.potential_energy(full), 1e-12, least=1.0)
    agree(coupled.center_of_mass(q), free.center_of_mass(full), 1e-12)


def projection(coupled: px.Robot, free: px.Robot, told: Drive) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Q, offset, A): coordinates and rates of the independent robot from those of the coupled one."""
    Q, offset, A = np.zeros((free.nq, coupled.nq)), np.zeros(free.nq), np.zeros((free.nv, coupled.nv))
    for name in free.q_slices:
        ratio, shift, driver = 1.0, 0.0, name
        while driver in told:
            driver, multiplier, constant = told[driver]
            shift, ratio = shift + ratio * constant, ratio * multiplier
        own, rates = free.q_slices[name], free.v_slices[name]
        Q[own, coupled.q_slices[driver]] = ratio * np.eye(own.stop - own.start)
        A[rates, coupled.v_slices[driver]] = ratio * np.eye(rates.stop - rates.start)
        offset[own] = shift
    return Q, offset, A


def test_chains_of_mimics_are_multiplied_out() -> None:
    told = {"joint2": ("joint1", 2.0, 0.5), "joint3": ("joint2", -3.0, 0.25), "joint4": ("joint3", 0.5, 0.0)}
    robot = coupled_tree(0, told, n=4)
    assert robot.nq == 1
    assert robot.mimics == {
        "joint2": Mimic("joint1", 2.0, 0.5),
        "joint3": Mimic("joint1", -6.0, -1.25),
        "joint4": Mimic("joint1", -3.0, -0.625),
    }
    assert robot.q_slices == dict.fromkeys(("joint1", "joint2", "joint3", "joint4"), slice(0, 1))


def test_armature_of_a_follower_is_seen_through_the_ratio_squared() -> None:
    described = px.chain(2).description
    first, second = described.joints
    joints = (
        replace(first, armature=(0.1,)),
        replace(second, armature=(0.2,), mimic=Mimic("joint1", -3.0, 1.0)),
    )
    robot = px.load(replace(described, joints=joints))
    agree(robot.armature, [0.1 + 9.0 * 0.2], 1e-15)
    assert robot.replace(armature=0.7).armature.tolist() == [0.7]


@pytest.mark.parametrize("driver", ["joint1", "joint5"])
def test_fixing_a_driver_fixes_all_that_follow_it(driver: str) -> None:
    told = {"joint2": ("joint1", 2.0, 0.5), "joint6": ("joint2", -1.5, 0.25), "joint4": ("joint5", 0.5, 1.0)}
    robot = coupled_tree(3, told)
    q, _, _ = robot.random_state(rng=0)
    smaller = robot.fix({driver: q[robot.q_slices[driver]]})
    rest = np.delete(q, robot.q_slices[driver])
    assert smaller.nq == robot.nq - 1
    for frame in robot.frame_names:
        agree(smaller.frame_pose(rest, frame), robot.frame_pose(q, frame), 1e-13)


def test_a_follower_cannot_be_fixed_alone() -> None:
    robot = coupled_tree(3, {"joint2": ("joint1", 2.0, 0.5), "joint3": ("joint2", 1.0, 0.0)})
    with pytest.raises(
        px.PhalanxError, match='joint "joint3" follows "joint1" and cannot be fixed alone; fix its driver'
    ):
        robot.fix({"joint3": 0.0})
    independent = px.load(robot.description, mimic="independent")
    assert independent.fix({"joint1": 0.0}).nv == independent.nv - 1


def test_coupled_robots_pickle_and_save(tmp_path: Path) -> None:
    robot = coupled_tree(1, {"joint2": ("joint1", 2.0, 0.5), "joint3": ("joint2", 1.0, 0.0)})
    robot.save(tmp_path / "coupled.json")
    for other in (pickle.loads(pickle.dumps(robot)), px.load(tmp_path / "coupled.json")):
        assert other == robot
        assert other.digest == robot.digest
        assert other.is_coupled


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"joint2": ("joint2", 1.0, 0.0)}, 'the mimic joints "joint2" follow each other in a circle'),
        (
            {"joint1": ("joint3", 1.0, 0.0), "joint2": ("joint1", 1.0, 0.0), "joint3": ("joint2", 1.0, 0.0)},
            'the mimic joints "joint1", "joint3", "joint2" follow each other in a circle; '
            'expected one of them to move by itself. Remove one <mimic>, or load with mimic="independent".',
        ),
        (
            {"joint2": ("jont1", 1.0, 0.0)},
            'joint "joint2" mimics "jont1", which is unknown; did you mean "joint1"?',
        ),
        ({"joint2": ("joint1", np.nan, 0.0)}, 'joint "joint2" has mimic = nan; expected finite numbers.'),
    ],
)
def test_mimics_that_lead_nowhere_are_refused(told: Drive, message: str) -> None:
    with pytest.raises(px.PhalanxError) as caught:
        coupled_tree(0, told, n=4)
    assert message in str(caught.value)


def test_a_circle_does_not_matter_to_independent_joints() -> None:
    told = {"joint1": ("joint2", 1.0, 0.0), "joint2": ("joint1", 1.0, 0.0)}
    assert coupled_tree(0, told, n=3, mimic="independent").nv == 3


@pytest.mark.parametrize("kind", ["spherical", "planar", "universal", "floating"])
def test_joints_of_several_coordinates_neither_drive_nor_follow(kind: str) -> None:
    described = px.tree(2, 0.0, seed=0, joints=(kind,)).description
    first, second = described.joints
    joints = (first, replace(second, mimic=Mimic("joint1")))
    with pytest.raises(
        px.PhalanxError, match=rf'"joint2" mimics "joint1"; both need one coordinate \({kind} has'
    ):
        px.load(replace(described, joints=joints))


def test_a_fixed_driver_is_refused() -> None:
    described = px.chain(3).description
    first, second, third = described.joints
    joints = (replace(first, type="fixed"), replace(second, mimic=Mimic("joint1")), third)
    with pytest.raises(
        px.PhalanxError, match=r'"joint2" mimics "joint1", which is fixed\. Fix the follower too'
    ):
        px.load(replace(described, joints=joints))


def test_a_fixed_follower_follows_nothing() -> None:
    described = px.chain(3).description
    first, second, third = described.joints
    joints = (first, replace(second, type="fixed", mimic=Mimic("joint1")), third)
    robot = px.load(replace(described, joints=joints))
    assert not robot.is_coupled
    assert robot.nv == 2


def test_a_driver_and_its_followers_can_be_fixed_together() -> None:
    told: Drive = {"joint2": ("joint1", -1.5, 0.25), "joint6": ("joint2", 2.0, 0.0)}
    robot = coupled_tree(3, told)
    whole = {"joint1": 0.4, "joint2": -0.35, "joint6": -0.7}
    assert robot.fix(whole) == robot.fix({"joint1": 0.4})
    assert robot.fix(dict(reversed(whole.items()))) == robot.fix({"joint1": 0.4})
    rounded = {"joint1": 0.4, "joint2": np.float32(-0.35), "joint6": [-0.7000003]}
    assert robot.fix(rounded) == robot.fix({"joint1": 0.4})


@pytest.mark.parametrize(
    ("joints", "said"),
    [
        (
            {"joint1": 0.4, "joint2": 0.0},
            r'"joint2" is to be fixed at 0.0, but follows "joint1", which takes it to -0.35; leave',
        ),
        ({"joint2": -0.35}, 'joint "joint2" follows "joint1" and cannot be fixed alone; fix its driver'),
        ({"joint1": 0.4, "joint2": "x"}, "got the coordinates 'x'; expected 1 finite number"),
        ({"joint1": "x", "joint2": 0.0}, "got the coordinates 'x'; expected 1 finite number"),
    ],
)
def test_followers_are_not_fixed_elsewhere(joints: dict[str, Any], said: str) -> None:
    robot = coupled_tree(3, {"joint2": ("joint1", -1.5, 0.25)})
    with pytest.raises(px.PhalanxError, match=said):
        robot.fix(joints)


def test_a_multiplier_that_leaves_no_finite_armature_is_refused() -> None:
    builder = px.RobotBuilder()
    for name in ("base", "a", "b"):
        builder.add_link(name, mass=1.0, inertia=(1.0, 1.0, 1.0))
    builder.add_joint("j", "revolute", "base", "a")
    builder.add_joint("k", "revolute", "a", "b", mimic=("j", 1e200), armature=1.0)
    with pytest.raises(px.PhalanxError, match=r'joint "k" follows another 1e\+200 times as far'):
        builder.build()
