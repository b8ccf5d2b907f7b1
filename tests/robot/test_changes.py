# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Changed copies of a robot against the same change made otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from reference.sampling import MOVING_TYPES, agree, seeds, trees

INF = float("inf")
pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@given(trees(), seeds)
def test_fixed_joints_are_joints_held_still(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, qdd = robot.random_state(rng=rng)
    held = [name for name in robot.joint_names if rng.random() < 0.5]
    smaller = robot.fix({name: q[robot.q_slices[name]] for name in held})
    free_q, free_v = np.ones(robot.nq, bool), np.ones(robot.nv, bool)
    for name in held:
        free_q[robot.q_slices[name]] = free_v[robot.v_slices[name]] = False
    assert (smaller.nq, smaller.nv) == (free_q.sum(), free_v.sum())
    assert smaller.frame_names == robot.frame_names
    qd, qdd = qd * free_v, qdd * free_v
    tau = robot.inverse_dynamics(q, qd, qdd)
    scale = 1e-12 * (1.0 + np.abs(tau).max())
    np.testing.assert_allclose(
        smaller.inverse_dynamics(q[free_q], qd[free_v], qdd[free_v]), tau[free_v], rtol=0.0, atol=scale
    )
    M = robot.mass_matrix(q)[free_v][:, free_v]
    agree(smaller.mass_matrix(q[free_q]), M, 1e-12)
    for frame in robot.frame_names:
        agree(smaller.frame_pose(q[free_q], frame), robot.frame_pose(q, frame), 1e-12)
        agree(smaller.jacobian(q[free_q], frame), robot.jacobian(q, frame)[:, free_v], 1e-11)


@pytest.mark.parametrize("kind", MOVING_TYPES)
def test_joints_of_every_type_can_be_fixed(kind: str) -> None:
    robot = px.tree(3, 0.0, seed=1, joints=(kind,))
    q, _, _ = robot.random_state(rng=2)
    value = q[robot.q_slices["joint2"]]
    smaller = robot.fix({"joint2": value if len(value) > 1 else float(value[0])})
    rest = np.delete(q, robot.q_slices["joint2"])
    agree(smaller.frame_pose(rest, "link3"), robot.frame_pose(q, "link3"), 1e-13)
    assert smaller.joint_names == ("joint1", "joint3")


@given(trees(), seeds)
def test_a_payload_is_a_welded_link(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = str(rng.choice(robot.frame_names))
    mass, com, moments = rng.uniform(0.5, 2.0), rng.standard_normal(3), rng.uniform(1.0, 1.5, 3)
    loaded = robot.with_payload(frame, mass, com, moments)
    builder = px.RobotBuilder(robot.name, gravity=robot.gravity)
    builder._links, builder._joints = list(robot.description.links), list(robot.description.joints)
    builder.add_link("load", mass=mass, com=com, inertia=moments)
    builder.add_joint("weld", "fixed", frame, "load")
    welded = builder.build(floating_base=robot.description.floating_base).replace(armature=robot.armature)
    state = robot.random_state(rng=rng)
    np.testing.assert_array_equal(loaded.inverse_dynamics(*state), welded.inverse_dynamics(*state))
    moving = robot.frame(frame).link >= 0
    assert loaded.total_mass == pytest.approx(robot.total_mass + mass * moving)
    assert loaded.frame_names == (*robot.frame_names, f"{frame}_payload")


@given(trees(), seeds)
def test_a_payload_weighs_on_the_robot_as_a_wrench_does(robot: px.Robot, seed: int) -> None:
    robot = robot.replace(armature=0.0)
    q, _, _ = robot.random_state(rng=seed)
    frame = robot.link_names[-1]
    R, p = robot.frame_pose(q, frame)[:3, :3], np.array([0.1, -0.2, 0.3])
    force = 2.0 * robot.gravity
    wanted = robot.gravity_forces(q) - robot.jacobian(q, frame).T @ np.r_[np.cross(R @ p, force), force]
    agree(robot.with_payload(frame, 2.0, p).gravity_forces(q), wanted)


def test_payloads_may_be_stacked() -> None:
    robot = (
        px.chain(2).with_payload("link2", 1.0).with_payload("link2", 2.0).with_payload("link2_payload", 3.0)
    )
    assert robot.frame_names[-3:] == ("link2_payload", "link2_payload1", "link2_payload_payload")
    assert robot.total_mass == pytest.approx(px.chain(2).total_mass + 6.0)


def test_replace_changes_what_it_names() -> None:
    robot = px.chain(3)
    moon = robot.replace(gravity=[0, 0, -1.62], name="moon", armature=[0.1, 0.2, 0.3])
    assert moon.name == "moon"
    assert moon.gravity.tolist() == [0.0, 0.0, -1.62]
    assert moon.armature.tolist() == [0.1, 0.2, 0.3]
    assert robot.gravity.tolist() == [0.0, 0.0, -9.81]
    assert robot.replace() == robot
    assert moon.replace(armature=0).armature.tolist() == [0.0, 0.0, 0.0]


def test_armature_survives_on_a_floating_base() -> None:
    robot = px.chain(2).with_floating_base().replace(armature=np.arange(8.0))
    assert robot.armature.tolist() == list(range(8))
    assert robot.fix({"joint1": 0.0}).armature.tolist() == [0, 1, 2, 3, 4, 5, 7]


FAULTS: list[tuple[Any, str]] = [
    (
        lambda r: r.replace(gravity=[1, 2]),
        r'robot "chain": gravity: got shape \(2,\), expected three numbers',
    ),
    (lambda r: r.replace(gravity="down"), "gravity: got 'down', expected three numbers"),
    (lambda r: r.replace(gravity=[0, 0, np.nan]), "gravity = nan; expected finite numbers"),
    (
        lambda r: r.replace(armature=[1, 2]),
        r"armature got \[1, 2\]; expected one number or \(3,\), finite, >= 0",
    ),
    (lambda r: r.replace(armature=-1), "armature got -1; expected one number"),
    (lambda r: r.replace(armature=np.inf), "armature got inf; expected one number"),
    (lambda r: r.replace(armature="much"), "armature got 'much'; expected one number"),
    (lambda r: r.fix({"jont1": 0}), 'has no moving joint "jont1"; did you mean "joint1"?'),
    (lambda r: r.fix({1: 0}), 'has no moving joint "1"; joints: "joint1"'),
    (lambda r: r.fix({"": 0}), 'has no moving joint ""'),
    (lambda r: r.fix(["joint1"]), r"fix got list, expected a mapping from joints to coordinates"),
    (
        lambda r: r.fix({"joint1": "a"}),
        r"joint \"joint1\" \(revolute\) got the coordinates 'a'; expected 1 finite number",
    ),
    (lambda r: r.fix({"joint1": [1, 2]}), r"got the coordinates \[1, 2\]; expected 1 finite number"),
    (lambda r: r.fix({"joint1": np.nan}), "got the coordinates nan; expected 1 finite number"),
    (lambda r: r.with_payload("lnk3", 1), "has no frame 'lnk3'; did you mean \"link3\"?"),
    (
        lambda r: r.with_payload("link3", -1),
        'link "link3_payload" has the negative mass -1 kg; expected >= 0',
    ),
    (
        lambda r: r.with_payload("link3", "heavy"),
        "payload on \"link3\": mass: got 'heavy', expected a number",
    ),
    (lambda r: r.with_payload("link3", np.nan), 'link "link3_payload" has mass = nan; expected finite'),
    (lambda r: r.with_payload("link3", 1, com=[1, 2]), r"com: got shape \(2,\), expected three numbers"),
    (
        lambda r: r.with_payload("link3", 1, inertia=[1, 2]),
        r"got shape \(2,\), expected \(3, 3\), \(6,\) or \(3,\)",
    ),
    (
        lambda r: r.with_payload("link3", 1, inertia=np.arange(9).reshape(3, 3)),
        "matrix that is not symmetric",
    ),
]


@pytest.mark.parametrize(("change", "message"), FAULTS)
def test_bad_changes_are_refused(change: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        change(px.chain(3))


def test_what_is_wrong_with_a_payload_is_told_of_the_payload() -> None:
    robot = px.load("panda")
    where = 'with_payload: robot "panda", payload on "panda_link7"'
    with pytest.raises(px.PhalanxError) as caught:
        robot.with_payload("panda_link7", -1.0)
    assert str(caught.value).startswith(f"{where}: link")
    with pytest.warns(px.PhalanxWarning) as warned:
        robot.with_payload("panda_link7", 1.0, inertia={"xx": 1.0})
    text = str(warned[0].message)
    assert text.startswith(f"{where}: 1 link has an inertia that no rigid body has")
    assert text.endswith("The numbers are used as they are; check mass, com and inertia.")
    assert "strict" not in text
    assert "panda.toml" not in text


# ------------------------------------------------------------------- numbers of joints

PER_JOINT = ("armature", "damping", "friction", "stiffness")


@given(trees(), seeds)
def test_numbers_of_joints_are_replaced_by_arrays_or_by_name(robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for label in PER_JOINT:
        values = rng.uniform(0.1, 1.0, robot.nv)
        if robot.description.floating_base and label != "armature":
            values[:6] = 0.0
        new = robot.replace(**{label: values})
        np.testing.assert_array_equal(getattr(new, label), values)
        by_name = {name: values[s] for name, s in robot.v_slices.items() if name or label == "armature"}
        assert robot.replace(**{label: by_name}) == new.replace(**{label: getattr(new, label)})
        single = getattr(robot.replace(**{label: 0.5}), label)
        for name, s in robot.v_slices.items():
            assert single[s].tolist() == (
                [0.5] if s.stop - s.start == 1 and name else [0.0] * (s.stop - s.start)
            )
    q, _, _ = robot.random_state(rng=rng)
    if robot.description.floating_base:
        q[:7] = robot.neutral()[:7]
    np.testing.assert_array_equal(robot.replace(spring_reference=q).spring_reference, q)
    assert robot.replace(limits=robot.limits).limits.lower.tolist() == robot.limits.lower.tolist()


def test_limits_are_replaced_by_name_or_by_those_of_another_robot(tmp_path: Path) -> None:
    robot = px.tree(3, 0.0, seed=1, joints=("revolute", "continuous", "prismatic"))
    names = robot.joint_names
    new = robot.replace(
        limits={names[0]: (-1, 2), names[1]: {"upper": 3, "effort": 5.0}, names[2]: (None, None)}
    )
    assert (new.limits.lower.tolist(), new.limits.upper.tolist()) == ([-1, -INF, -INF], [2, 3, INF])
    assert new.limits.effort[1] == 5.0
    assert new.limits.velocity.tolist() == robot.limits.velocity.tolist()
    assert "continuous" not in [
        t for t, low in zip(new.joint_types, new.limits.upper, strict=True) if low < INF
    ]
    same = robot.replace(limits=new.limits)
    for label in ("lower", "upper", "velocity", "effort"):
        assert getattr(same.limits, label).tolist() == getattr(new.limits, label).tolist()
    new.save(tmp_path / "r.json")
    assert px.load(tmp_path / "r.json") == new


def test_dampers_of_followers_are_theirs_unless_one_number_is_given() -> None:
    builder = px.RobotBuilder()
    for name in "abc":
        builder.add_link(name, mass=1.0, inertia=(1, 1, 1))
    builder.add_joint("drive", "revolute", "a", "b")
    builder.add_joint("follow", "revolute", "b", "c", mimic=("drive", 2.0), damping=0.3)
    robot = builder.build()
    dampings = lambda r: [j.damping for j in r.description.joints]  # noqa: E731
    assert dampings(robot.replace(damping=[0.1])) == [(0.1,), (0.3,)]
    assert dampings(robot.replace(damping=0.1)) == [(0.1,), ()]
    assert dampings(robot.replace(damping={"follow": 0.1})) == [(), (0.1,)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"damping": -1.0}, r"damping got -1.0; expected one number or \(2,\), finite, >= 0, or a mapping"),
        ({"friction": [1.0]}, r"friction got \[1.0\]; expected one number or \(2,\)"),
        ({"stiffness": {"joint9": 1.0}}, 'has no moving joint "joint9"; did you mean "joint2"'),
        ({"stiffness": {"": 1.0}}, 'has no moving joint ""'),
        ({"spring_reference": 1.0}, r"spring_reference got 1.0; expected \(2,\), finite, or a mapping"),
        (
            {"spring_reference": {"joint1": np.nan}},
            r"spring_reference got nan; expected one number, finite\.",
        ),
        ({"limits": {"joint1": (2, 1)}}, "lower limit 2 above its upper limit 1"),
        ({"limits": {"joint1": 3}}, r"limits got 3; expected \(lower, upper\)"),
        ({"limits": {"joint1": {"uper": 3}}}, r'unknown entry .uper.; did you mean "upper"'),
        ({"limits": {"joint1": {"velocity": -3}}}, "velocity got -3; expected 1 number, >= 0, or None"),
        ({"limits": {"joint1": ("a", 1)}}, "lower got 'a'; expected 1 number, or None for no limit"),
        ({"limits": px.load("panda").limits}, r"expected those of a robot with as many coordinates"),
        ({"limits": 3}, "limits got 3; expected those of a robot"),
    ],
)
def test_numbers_that_no_joint_has_are_refused(change: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        px.load("two_link").replace(**change)


def test_a_floating_base_has_no_dampers_and_quaternions_no_limits() -> None:
    floating = px.load("two_link", floating_base=True)
    with pytest.raises(px.PhalanxError, match=r"damping of the floating base is \[1.0.*only joints have any"):
        floating.replace(damping=np.ones(8))
    ball = px.tree(2, 0.0, seed=1, joints=("spherical",))
    with pytest.raises(px.PhalanxError, match=r"\(spherical\) got limits .*such joints have none"):
        ball.replace(limits={"joint1": ([0] * 4, [1] * 4)})
