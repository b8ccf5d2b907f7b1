# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The built-in robots against published numbers, closed forms and the files they stem from."""

import math
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from phalanx.errors import PhalanxError
from phalanx.io.loading import builtin, robots
from phalanx.robot.checks import check_numbers, unphysical
from phalanx.robot.description import Description, ordered

Build = Callable[[Description], Any]
pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")

# Corke's nominal posture and what his toolbox publishes for it: the test suite of the Robotics
# Toolbox for Python (test_gravload, test_inertia), printed to four decimals, gravity 9.81.
NOMINAL = np.array([0.0, math.pi / 4, math.pi, 0.0, math.pi / 4, 0.0])
GRAVITY_LOAD = [0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0]
INERTIA = [
    [3.6594, -0.4044, 0.1006, -0.0025, 0.0000, 0.0000],
    [-0.4044, 4.4137, 0.3509, 0.0000, 0.0024, 0.0000],
    [0.1006, 0.3509, 0.9378, 0.0000, 0.0015, 0.0000],
    [-0.0025, 0.0000, 0.0000, 0.1925, 0.0000, 0.0000],
    [0.0000, 0.0024, 0.0015, 0.0000, 0.1713, 0.0000],
    [0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.1941],
]


def mass_matrix(model: Any, q: np.ndarray) -> np.ndarray:
    upper = np.triu(pin.crba(model, model.createData(), q))
    return upper + np.triu(upper, 1).T


def example(package: str, file: str) -> Any:
    """Pinocchio's model of a file of example-robot-data."""
    for folder in Path(pin.__file__).parents:
        path = folder / "share" / "example-robot-data" / "robots" / package / "urdf" / file
        if path.exists():
            return pin.buildModelFromUrdf(str(path))
    pytest.skip("the package example-robot-data is not installed")


def test_the_six_robots_are_there() -> None:
    assert robots() == ["iiwa14", "panda", "puma560", "stanford", "two_link", "ur5"]


@pytest.mark.parametrize("name", robots())
def test_a_built_in_robot_is_one_tree_of_sound_numbers_under_its_name(name: str) -> None:
    robot = builtin(name)
    ordered(robot)
    check_numbers(robot)
    assert robot.name == name


@pytest.mark.parametrize("name", robots())
def test_a_built_in_robot_cites_its_source(name: str) -> None:
    text = resources.files("phalanx.io.robots").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    assert text.startswith("# Copyright")
    assert '\nsource = "' in text


def test_only_the_published_inertias_known_for_it_are_unphysical() -> None:
    found = {name: [link for link, *_ in unphysical(builtin(name))] for name in robots()}
    assert {name: links for name, links in found.items() if links} == {
        "puma560": ["link1", "link3"],
        "stanford": ["link5"],
    }


def test_an_unknown_name_brings_the_nearest() -> None:
    with pytest.raises(
        PhalanxError, match='no built-in robot "puma"; did you mean "puma560"\\? built in: "iiwa14"'
    ):
        builtin("puma")


def test_puma_carries_the_published_gravity_load(pinocchio_model: Build) -> None:
    model = pinocchio_model(builtin("puma560"))
    load = pin.computeGeneralizedGravity(model, model.createData(), NOMINAL)
    np.testing.assert_allclose(load, GRAVITY_LOAD, atol=6e-5)


def test_puma_has_the_published_inertia_with_its_motors(pinocchio_model: Build) -> None:
    model = pinocchio_model(builtin("puma560"))
    np.testing.assert_allclose(mass_matrix(model, NOMINAL), INERTIA, atol=6e-5)


def test_puma_has_the_published_friction_at_its_joints() -> None:
    # B G² and the mean of Tc times |G| of joint 2; limits -45 and 225 degrees.
    joint = builtin("puma560").joints[1]
    assert joint.damping == (pytest.approx(0.817e-3 * 107.815**2),)
    assert joint.friction == (pytest.approx((0.126 + 0.071) / 2 * 107.815),)
    assert joint.lower + joint.upper == pytest.approx((-math.pi / 4, 5 * math.pi / 4))


def test_stanford_reaches_where_its_geometry_says(pinocchio_model: Build) -> None:
    # At q = 0 but for the boom: column 0.412 up, shoulder 0.154 sideways, boom and hand upwards.
    robot = builtin("stanford")
    model = pinocchio_model(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0]))
    tip = data.oMi[6].act(np.array(robot.joints[5].after.translation))
    np.testing.assert_allclose(tip, [0.0, 0.154, 0.412 + 0.5 + 0.263], atol=1e-15)
    assert [joint.type for joint in robot.joints].index("prismatic") == 2


def test_two_link_obeys_the_equations_of_the_textbook(pinocchio_model: Build) -> None:
    # Spong, Hutchinson & Vidyasagar 2006, section 7.4, with l = 1, lc = 1/2, m = 1, I = 1/12.
    model = pinocchio_model(builtin("two_link"))
    q, qd = np.array([0.3, -1.1]), np.array([0.7, 1.9])
    cosine, h = math.cos(q[1]), -0.5 * math.sin(q[1])
    mass = [[5 / 3 + cosine, 1 / 3 + cosine / 2], [1 / 3 + cosine / 2, 1 / 3]]
    coriolis = np.array([h * (2 * qd[0] * qd[1] + qd[1] ** 2), -h * qd[0] ** 2])
    outer = 0.5 * math.cos(q.sum())
    gravity = 9.81 * np.array([1.5 * math.cos(q[0]) + outer, outer])
    np.testing.assert_allclose(mass_matrix(model, q), mass, rtol=1e-13)
    bias = pin.nonLinearEffects(model, model.createData(), q, qd)
    np.testing.assert_allclose(bias, coriolis + gravity, rtol=1e-13)


def compare(ours: Any, theirs: Any, robot: Description) -> None:
    """Same joints, limits and frames, and the same torques at random states."""
    rng = np.random.default_rng(0)
    assert list(ours.names) == list(theirs.names)
    # The file writes right angles with twelve digits, ours are exact: 5e-12 of the largest torques.
    states = rng.uniform(-2, 2, (20, 3, ours.nv))
    expected = np.array([pin.rnea(theirs, theirs.createData(), *state) for state in states])
    found = np.array([pin.rnea(ours, ours.createData(), *state) for state in states])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    for field, values in (
        ("lower", theirs.lowerPositionLimit),
        ("upper", theirs.upperPositionLimit),
        ("velocity", theirs.velocityLimit),
        ("effort", theirs.effortLimit),
        ("damping", theirs.damping),
    ):
        assert [(getattr(joint, field) or (0.0,))[0] for joint in moving] == values.tolist()


def test_ur5_is_the_one_of_example_robot_data(pinocchio_model: Build) -> None:
    theirs = example("ur_description", "ur5_robot.urdf")
    compare(pinocchio_model(builtin("ur5")), theirs, builtin("ur5"))


def test_panda_is_the_one_of_example_robot_data_with_its_fingers_held(pinocchio_model: Build) -> None:
    full = example("panda_description", "panda.urdf")
    fingers = [full.getJointId(f"panda_finger_joint{i}") for i in (1, 2)]
    theirs = pin.buildReducedModel(full, fingers, pin.neutral(full))
    compare(pinocchio_model(builtin("panda")), theirs, builtin("panda"))


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_all_links_of_the_file_are_kept_with_their_mass(name: str) -> None:
    file = {"panda": ("panda_description", "panda.urdf"), "ur5": ("ur_description", "ur5_robot.urdf")}[name]
    theirs = example(*file)
    bodies = {frame.name for frame in theirs.frames if frame.type == pin.FrameType.BODY}
    assert {link.name for link in builtin(name).links} == bodies
    assert sum(link.mass for link in builtin(name).links) == pytest.approx(
        sum(i.mass for i in theirs.inertias)
    )


def test_iiwa14_stretches_to_the_height_of_its_data_sheet(pinocchio_model: Build) -> None:
    # KUKA: 360 mm to the shoulder, 420 to the elbow, 400 to the wrist, 126 to the flange.
    robot = builtin("iiwa14")
    model = pinocchio_model(robot)
    data = model.createData()
    pin.forwardKinematics(model, data, np.zeros(7))
    np.testing.assert_allclose(data.oMi[2].translation, [0, 0, 0.36], atol=1e-15)
    np.testing.assert_allclose(data.oMi[4].translation, [0, 0, 0.78], atol=1e-15)
    np.testing.assert_allclose(data.oMi[6].translation, [0, 0, 1.18], atol=1e-15)
    flange = data.oMi[7].act(np.array([0, 0, 0.045]))
    np.testing.assert_allclose(flange, [0, 0, 1.306], atol=1e-15)
    assert sum(link.mass for link in robot.links) == pytest.approx(30.61)


@pytest.mark.parametrize("name", robots())
def test_right_angles_of_the_robots_are_exact(name: str) -> None:
    for joint in builtin(name).joints:
        for pose in (joint.origin, joint.after):
            assert not any(0.0 < abs(x) < 1e-6 for x in pose.rotation + pose.translation)
