# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Every joint type: its bodies, its motion and the geometry of its coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from phalanx.robot.description import Joint
from phalanx.robot.joints import (
    frame_along,
    joint_type,
    pose_of,
    quaternion_exp,
    quaternion_log,
    quaternion_product,
    rotate,
    screw,
    split_rotation,
    types,
)
from phalanx.robot.joints.types import JointBody, JointType
from reference import dynamics as textbook
from reference.sampling import ALL_TYPES, MOVING_TYPES, agree, seeds

SIZES = {
    "fixed": (0, 0), "revolute": (1, 1), "continuous": (1, 1), "prismatic": (1, 1), "helical": (1, 1),
    "universal": (2, 2), "planar": (3, 3), "spherical": (4, 3), "floating": (7, 6),
}  # fmt: skip


def coordinates(kind: str, rng: np.random.Generator) -> np.ndarray:
    q = rng.standard_normal(joint_type(kind).nq)
    turn = joint_type(kind).quaternion
    if turn is not None:
        q[turn] /= np.linalg.norm(q[turn])
    return q


def test_types_have_the_sizes_of_the_conventions() -> None:
    assert {kind: (joint_type(kind).nq, joint_type(kind).nv) for kind in SIZES} == SIZES


@pytest.mark.parametrize("kind", ALL_TYPES)
def test_a_type_has_one_body_per_degree_of_freedom(kind: str) -> None:
    found = joint_type(kind)
    steps = found.steps((1.0, 2.0, 3.0), (0.0, 1.0, 0.0), 0.3)
    assert len(steps) == found.nv
    assert sum(step.motion.nq for step in steps) == found.nq
    for k, step in enumerate(steps):
        agree(step.frame.T @ step.frame, np.eye(3), 1e-14)
        assert k + step.carrier < len(steps)
    assert found.neutral().shape == (found.nq,)


@pytest.mark.parametrize("kind", ALL_TYPES)
@given(seed=seeds)
def test_its_pose_is_that_of_the_textbook(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    axis, axis2 = rng.standard_normal((2, 3))
    joint = Joint("j", kind, "a", "b", axis=tuple(axis), axis2=tuple(axis2), pitch=0.4)
    q = coordinates(kind, rng)
    found = joint_type(kind)
    wanted, _, _ = textbook.joint_motion(joint, q, np.zeros(found.nv))
    agree(pose_of(found.steps(joint.axis, joint.axis2, joint.pitch), q), wanted, 1e-14)
    agree(pose_of(found.steps(joint.axis, joint.axis2, joint.pitch), found.neutral()), np.eye(4), 1e-15)


@pytest.mark.parametrize("kind", MOVING_TYPES)
@given(seed=seeds, exponent=st.integers(-16, 0))
def test_difference_undoes_integrate(kind: str, seed: int, exponent: int) -> None:
    rng = np.random.default_rng(seed)
    found = joint_type(kind)
    q = coordinates(kind, rng)
    dq = rng.standard_normal(found.nv)
    dq *= 10.0**exponent / np.linalg.norm(dq)
    there = found.integrate(q, dq)
    back = found.difference(q, there)
    np.testing.assert_allclose(back, dq, rtol=0.0, atol=4e-15 * (1.0 + np.linalg.norm(q)))


@pytest.mark.parametrize("kind", MOVING_TYPES)
@given(seed=seeds, exponent=st.integers(-200, 200))
def test_changes_of_coordinates_are_rates_and_slopes_go_back(kind: str, seed: int, exponent: int) -> None:
    """For quaternions of any length: rates of the coordinates' rates, and both ways transposed."""
    joint = joint_type(kind)
    rng = np.random.default_rng(seed)
    q = joint.integrate(joint.neutral(), rng.standard_normal(joint.nv))
    if joint.quaternion is not None:
        q[joint.quaternion] *= 10.0**exponent
    rate, slope = rng.standard_normal((2, joint.nv))
    agree(joint.rates_of(q, joint.coordinate_rates(q, rate)), rate, 1e-13)
    change = joint.coordinate_rates(q, rng.standard_normal(joint.nv))
    if joint.quaternion is not None:
        change[joint.quaternion] += 0.3 * q[joint.quaternion]  # along the quaternion: no rate
    back = joint.coordinate_slopes(q, slope)
    agree(slope @ joint.rates_of(q, change), back @ change, 1e-12)


@pytest.mark.parametrize("kind", ["spherical", "floating"])
@given(seed=seeds, gap=st.sampled_from((0.5, 1e-2, 1e-5, 1e-8, 1e-12)))
def test_differences_up_to_half_a_turn_are_recovered(kind: str, seed: int, gap: float) -> None:
    rng = np.random.default_rng(seed)
    found = joint_type(kind)
    q, dq = coordinates(kind, rng), rng.standard_normal(found.nv)
    dq[:3] *= (np.pi - gap) / np.linalg.norm(dq[:3])
    agree(found.difference(q, found.integrate(q, dq)), dq, 1e-14)


@pytest.mark.parametrize("kind", ["spherical", "floating"])
@given(seed=seeds)
def test_larger_turns_come_back_the_short_way(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = joint_type(kind)
    q, dq = coordinates(kind, rng), rng.standard_normal(found.nv)
    dq[:3] *= 5.0 / np.linalg.norm(dq[:3])
    back = found.difference(q, found.integrate(q, dq))
    assert np.linalg.norm(back[:3]) <= np.pi
    there, again = found.integrate(q, dq), found.integrate(q, back)
    steps = found.steps((0, 0, 1), (0, 1, 0), 0.0)
    agree(pose_of(steps, again), pose_of(steps, there), 1e-13)


def test_half_a_turn_and_no_turn_stay_finite() -> None:
    found = joint_type("floating")
    q = found.neutral()
    half = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    agree(np.abs(found.difference(q, half)), [np.pi, 0.0, 0.0, 0.0, 0.0, 0.0], 1e-15)
    agree(found.difference(q, q), np.zeros(6), 1e-300)
    agree(found.integrate(q, np.zeros(6)), q, 1e-300)


@given(seeds)
def test_a_floating_body_moves_with_its_constant_twist(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = joint_type("floating")
    q, V = coordinates("floating", rng), rng.standard_normal(6)
    whole = found.integrate(q, V)
    halves = found.integrate(found.integrate(q, V / 2), V / 2)
    agree(whole, halves, 1e-14)


@given(seeds)
def test_quaternions_multiply_turn_and_have_logarithms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w, u, v = rng.standard_normal((3, 3))
    w *= min(1.0, 3.1 / np.linalg.norm(w))  # the logarithm is that of the shorter rotation
    a, b = quaternion_exp(w), quaternion_exp(u)
    agree(rotate(a, v), textbook.turn(w / np.linalg.norm(w), np.linalg.norm(w)) @ v, 1e-14)
    agree(rotate(quaternion_product(a, b), v), rotate(a, rotate(b, v)), 1e-14)
    agree(rotate(-7.0 * a, v), rotate(a, v), 1e-14)
    agree(quaternion_log(3.0 * a), w, 1e-14)


@given(seeds)
def test_a_frame_along_an_axis_is_a_rotation(seed: int) -> None:
    axis = np.random.default_rng(seed).standard_normal(3)
    R = frame_along(axis)
    agree(R @ R.T, np.eye(3), 1e-14)
    assert np.linalg.det(R) > 0
    agree(R[:, 2], axis / np.linalg.norm(axis), 1e-15)


@pytest.mark.parametrize("axis", np.vstack([np.eye(3), -np.eye(3)]).tolist())
def test_a_frame_along_a_main_axis_is_a_signed_permutation(axis: list[float]) -> None:
    assert sorted(np.abs(frame_along(axis)).ravel()) == [0.0] * 6 + [1.0] * 3


@given(st.floats(-1e-7, 1e-7), st.integers(0, 3))
def test_what_is_left_of_a_right_angle_moves_into_the_joint_angle(leftover: float, quarters: int) -> None:
    E = textbook.turn(np.array([0.0, 0.0, 1.0]), quarters * np.pi / 2 + leftover).T
    E[np.abs(E) < 1e-15] = 0.0
    E0, offset = split_rotation(E)
    c, s = np.cos(offset), np.sin(offset)
    agree(np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ E0, E, 1e-15)
    if abs(leftover) > 1e-14:
        assert np.count_nonzero(E0) == 3


def test_an_unknown_type_is_refused_with_the_nearest() -> None:
    message = 'joint: joint has the type "revolut"; did you mean "revolute"? supported: "fixed", "revolute", '
    with pytest.raises(px.PhalanxError) as caught:
        joint_type("revolut")
    assert str(caught.value).startswith(message)


class Gimbal(JointType):
    """Three turns in a row: a joint type that somebody may add."""

    name, nq, nv, axes = "gimbal", 3, 3, 0
    units, labels = ("rad",) * 3, ("roll", "pitch", "yaw")

    @classmethod
    def steps(cls, axis: Sequence[float], axis2: Sequence[float], pitch: float) -> list[JointBody]:
        return [screw(a, turn=1.0) for a in np.eye(3)]


def test_another_joint_type_is_served_or_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(types._TYPES, "gimbal", Gimbal)
    robot = px.tree(2, 0.0, seed=1, joints=("gimbal",))
    q, qd, qdd = robot.random_state(2, rng=0)
    tau = robot.inverse_dynamics(q, qd, qdd, backend="numpy")
    agree(robot.forward_dynamics(q, qd, tau, algorithm="aba", backend="numpy"), qdd, 1e-9)
    with pytest.raises(px.PhalanxError, match='has axes that move in every frame; use algorithm "aba"'):
        robot.forward_dynamics(q, qd, tau, algorithm="cfa", backend="numpy")
    with pytest.raises(px.PhalanxError, match='to_urdf: joint "joint1" has type "gimbal", which URDF cannot'):
        robot.to_urdf()
