# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The generated robots: shape, physics, repeatability."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.errors import PhalanxError
from phalanx.io.robots.generators import chain, coil, dill, snake, tree
from phalanx.robot.checks import check_numbers, unphysical
from phalanx.robot.description import Description, ordered
from reference.effort import calls_of

TYPES = ("revolute", "continuous", "prismatic", "spherical", "planar", "universal", "helical", "floating")


def parents(robot: Description) -> list[int]:
    """Index of the parent link of each link but the root, whose index is 0."""
    index = {link.name: i for i, link in enumerate(robot.links)}
    assert [index[joint.child] for joint in robot.joints] == list(range(1, len(robot.links)))
    return [index[joint.parent] for joint in robot.joints]


def inertia_about_origin(robot: Description, link: int) -> np.ndarray:
    body = robot.links[link]
    xx, xy, xz, yy, yz, zz = body.inertia
    c = np.array(body.com)
    shift = body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) + shift


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32), st.sampled_from([0.0, 0.3, 1.0]))
def test_a_chain_is_serial_physical_and_in_general_position(n: int, seed: int, prismatic: float) -> None:
    robot = chain(n, seed, prismatic)
    check_numbers(robot)
    assert not unphysical(robot)
    assert parents(robot) == list(range(n))
    assert sum(joint.type == "prismatic" for joint in robot.joints) == round(prismatic * n)
    for joint, link in zip(robot.joints, robot.links[1:], strict=True):
        assert all(x != 0.0 for x in (*joint.axis, *joint.origin.rotation, *joint.origin.translation))
        assert all(x != 0.0 for x in (link.mass, *link.com, *link.inertia))
        assert math.hypot(*joint.axis) == pytest.approx(1.0)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 60), st.floats(0, 1), st.integers(0, 2**32), st.lists(st.sampled_from(TYPES), min_size=1)
)
def test_a_tree_is_one_tree_of_the_types_asked_for(
    n: int, branching: float, seed: int, joints: list[str]
) -> None:
    robot = tree(n, branching, seed, joints)
    ordered(robot)
    check_numbers(robot)
    assert not unphysical(robot)
    assert len(parents(robot)) == n
    assert {joint.type for joint in robot.joints} <= set(joints)
    if n >= len(joints):
        assert {joint.type for joint in robot.joints} == set(joints)


def test_branching_goes_from_a_chain_to_a_bushy_tree() -> None:
    assert parents(tree(50, branching=0.0)) == list(range(50))
    children = np.bincount(parents(tree(2000, branching=1.0)), minlength=2001)
    assert 0.4 < np.mean(children == 0) < 0.6  # half the nodes of a random recursive tree are leaves


def test_a_tree_has_limits_on_some_joints_and_pitches_and_two_axes_everywhere() -> None:
    robot = tree(400, seed=1, joints=TYPES)
    limited = {kind: [bool(j.lower) for j in robot.joints if j.type == kind] for kind in TYPES}
    for kind in ("revolute", "prismatic", "planar", "universal", "helical"):
        assert 0.2 < np.mean(limited[kind]) < 0.8
    for kind in ("continuous", "spherical", "floating"):
        assert not any(limited[kind])
    assert all(abs(np.dot(joint.axis, joint.axis2)) < 0.71 for joint in robot.joints)
    assert all(0.02 <= abs(joint.pitch) <= 0.2 for joint in robot.joints)


def test_a_seed_gives_the_same_robot_again_and_another_seed_another() -> None:
    assert chain(20, seed=5, prismatic=0.5) == chain(20, seed=5, prismatic=0.5)
    assert chain(20, seed=5) != chain(20, seed=6)
    assert tree(20, seed=5, joints=TYPES) == tree(20, seed=5, joints=TYPES)
    assert tree(20, seed=5) != tree(20, seed=6)


def test_work_grows_with_the_number_of_links_only() -> None:
    assert calls_of(lambda: chain(4000)) < 4.4 * calls_of(lambda: chain(1000))
    assert len(chain(10_000).joints) == 10_000


def test_a_snake_alternates_pitch_and_yaw_over_equal_modules() -> None:
    robot = snake(5)
    assert [joint.axis for joint in robot.joints] == [
        (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 0.0),
    ]  # fmt: skip
    assert parents(robot) == [0, 1, 2, 3, 4]
    assert len({(link.mass, link.com, link.inertia) for link in robot.links}) == 1
    # A solid cylinder along x: m r²/2 along, m (3 r² + l²)/12 across.
    assert robot.links[0].inertia[0] == pytest.approx(0.2 * 0.025**2 / 2)
    assert robot.links[0].inertia[5] == pytest.approx(0.2 * (3 * 0.025**2 + 0.1**2) / 12)


def test_a_coil_has_the_published_inertia_about_its_joints() -> None:
    # As Bullet's CoilCreator writes them: about the origin of the link.
    n = 37
    robot = coil(n)
    expected = np.diag([1e-4 / (2 * n), *[(3e-4 + 4 / n**2) / (12 * n)] * 2])
    np.testing.assert_allclose(inertia_about_origin(robot, 5), expected, rtol=1e-13, atol=1e-20)
    assert sum(link.mass for link in robot.links) == pytest.approx(1.0)


def test_a_coil_is_straight_at_zero_and_a_helix_at_equal_angles(
    pinocchio_model: Callable[[Description], Any],
) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    n = 50
    model = pinocchio_model(coil(n))
    data = model.createData()

    def points(angle: float) -> np.ndarray:
        pin.forwardKinematics(model, data, np.full(n, angle))
        return np.array([data.oMi[i].translation for i in range(1, n + 1)])

    straight = np.column_stack([np.arange(1, n + 1) / n, np.zeros((n, 2))])
    np.testing.assert_allclose(points(0.0), straight, atol=1e-12)
    # A helix repeats itself: chords over k links are equally long wherever they start.
    helix = points(10 * math.pi / n)
    for k in (2, 5, 11):
        chords = np.linalg.norm(helix[k:] - helix[:-k], axis=1)
        np.testing.assert_allclose(chords, chords[0], rtol=1e-10)
        assert chords[0] < 0.99 * k / n
    # It leaves the plane, by the twist of Bullet and the toolbox: 5 pi/n a link about x.
    assert np.linalg.matrix_rank(helix - helix.mean(axis=0), tol=1e-3) == 3
    twist = coil(n).joints[7].origin.rotation
    assert math.atan2(twist[7], twist[4]) == pytest.approx(5 * math.pi / n)


def test_a_dill_has_a_branch_of_every_lower_level() -> None:
    def level(robot: Description, link: int, children: list[list[int]]) -> int:
        found = sorted(level(robot, child, children) for child in children[link])
        assert found == list(range(len(found)))
        return len(found)

    robot = dill(6)
    assert len(robot.joints) == 64
    children: list[list[int]] = [[] for _ in robot.links]
    for child, parent in enumerate(parents(robot), start=1):
        children[parent].append(child)
    assert level(robot, 1, children) == 6


def test_a_dill_has_the_published_bodies_about_their_joints() -> None:
    # As Bullet's DillCreator writes them: size s, mass s³/10, about the origin of the link.
    robot = dill(3)
    for link, size in ((1, 3), (2, 1), (3, 1), (5, 2)):
        expected = np.diag([size**5 / 0.2e6, *[size**5 * 403 / 1.2e6] * 2])
        np.testing.assert_allclose(inertia_about_origin(robot, link), expected, rtol=1e-12, atol=1e-18)
        assert robot.links[link].mass == pytest.approx(0.1 * size**3)
        assert robot.links[link].com == pytest.approx((0.05 * size, 0.0, 0.0))


def test_a_dill_carries_its_last_branch_at_the_tip_and_the_others_on_its_surface() -> None:
    robot = dill(3)
    branches = [joint for joint in robot.joints if joint.parent == "link1"]
    for i, joint in enumerate(branches, start=1):
        x, y, z = joint.origin.translation
        assert x == pytest.approx(0.1 * i)
        assert math.hypot(y, z) == pytest.approx(0.0 if i == 3 else 0.03)


def test_dill_of_level_zero_is_one_body() -> None:
    assert len(dill(0).joints) == 1


@pytest.mark.parametrize("robot", [snake(7), coil(100), dill(5)], ids=lambda robot: robot.name)
def test_the_systems_of_the_literature_are_sound(robot: Description) -> None:
    ordered(robot)
    check_numbers(robot)
    assert not unphysical(robot)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: chain(0), "chain: n is 0; expected at least 1."),
        (lambda: chain(2.5), "chain: n is 2.5; expected an integer."),
        (lambda: chain(True), "chain: n is True; expected an integer."),
        (lambda: chain(3, seed=-1), "chain: seed is -1; expected at least 0."),
        (lambda: chain(3, prismatic=2), "chain: prismatic is 2; expected a fraction between 0 and 1."),
        (
            lambda: chain(3, prismatic=math.nan),
            "chain: prismatic is nan; expected a fraction between 0 and 1.",
        ),
        (lambda: tree(3, branching="x"), "tree: branching is 'x'; expected a probability between 0 and 1."),
        (lambda: tree(3, joints=()), "tree: joints is (); expected a list of joint types"),
        (lambda: tree(3, joints="revolute"), "tree: joints is 'revolute'; expected a list of joint types"),
        (
            lambda: tree(3, joints=("revolut",)),
            'tree: joint has the type "revolut"; did you mean "revolute"?',
        ),
        (lambda: snake("3"), "snake: n is '3'; expected an integer."),
        (lambda: coil(0), "coil: n is 0; expected at least 1."),
        (lambda: dill(-1), "dill: k is -1; expected at least 0."),
        (lambda: dill(99), "dill: k is 99, which asks for 2**99 links; expected at most 20."),
    ],
)
def test_impossible_sizes_are_refused(make: Callable[[], Description], message: str) -> None:
    with pytest.raises(PhalanxError) as error:
        make()
    assert message in str(error.value)
