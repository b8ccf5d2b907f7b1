# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Denavit-Hartenberg tables against the matrices of the textbooks."""

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from phalanx.errors import PhalanxError
from phalanx.io.dh import ROW, description_from_dh, inertia_about_com, read_dh
from phalanx.io.link_tables import read_table
from phalanx.robot.description import Description, Joint, Pose

HALF = math.pi / 2
SNAPPED = 1e-12  # angles within 1e-14 of a right angle become right, times lengths up to 3
small = st.floats(-3.0, 3.0)


def standard_matrix(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """A of Spong, Hutchinson & Vidyasagar 2006, equation 3.10."""
    ct, st_, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
    rows = [
        [ct, -st_ * ca, st_ * sa, a * ct],
        [st_, ct * ca, -ct * sa, a * st_],
        [0, sa, ca, d],
        [0, 0, 0, 1],
    ]
    return np.array(rows)


def modified_matrix(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """T of Craig 2005, equation 3.6."""
    ct, st_, ca, sa = math.cos(theta), math.sin(theta), math.cos(alpha), math.sin(alpha)
    rows = [
        [ct, -st_, 0, a],
        [st_ * ca, ct * ca, -sa, -sa * d],
        [st_ * sa, ct * sa, ca, ca * d],
        [0, 0, 0, 1],
    ]
    return np.array(rows)


def across(joint: Joint, q: float) -> np.ndarray:
    """Pose of the child link in the parent link; all axes of a table are z."""
    motion = np.eye(4)
    if joint.type == "revolute":
        motion[:2, :2] = [[math.cos(q), -math.sin(q)], [math.sin(q), math.cos(q)]]
    elif joint.type == "prismatic":
        motion[2, 3] = q
    assert joint.axis == (0.0, 0.0, 1.0)
    return joint.origin.matrix @ motion @ joint.after.matrix


def one_row(row: dict[str, Any], **top: Any) -> Description:
    return read_dh({**top, "rows": [row]}, source="arm.toml")


@given(small, small, small, small, small)
@pytest.mark.parametrize(
    ("convention", "matrix"), [("standard", standard_matrix), ("modified", modified_matrix)]
)
def test_a_revolute_row_is_the_textbook_matrix(
    convention: str, matrix: Any, a: float, alpha: float, d: float, theta: float, q: float
) -> None:
    joint = one_row({"a": a, "alpha": alpha, "d": d, "theta": theta}, convention=convention).joints[0]
    np.testing.assert_allclose(across(joint, q), matrix(a, alpha, d, theta + q), atol=SNAPPED)


@given(small, small, small, small, small)
@pytest.mark.parametrize(
    ("convention", "matrix"), [("standard", standard_matrix), ("modified", modified_matrix)]
)
def test_a_prismatic_row_is_the_textbook_matrix(
    convention: str, matrix: Any, a: float, alpha: float, d: float, theta: float, q: float
) -> None:
    row = {"a": a, "alpha": alpha, "d": d, "theta": theta, "type": "prismatic"}
    joint = one_row(row, convention=convention).joints[0]
    np.testing.assert_allclose(across(joint, q), matrix(a, alpha, d + q, theta), atol=SNAPPED)


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize(
    "alpha", [0.0, HALF, -HALF, math.pi, 1.570796326794897, -1.570796326794897, 3 * HALF]
)
@pytest.mark.parametrize("theta", [0.0, HALF, -math.pi, 1.570796326794897])
def test_right_angles_give_exact_zeros_and_ones(convention: str, alpha: float, theta: float) -> None:
    joint = one_row({"a": 0.3, "alpha": alpha, "d": 0.7, "theta": theta}, convention=convention).joints[0]
    for pose in (joint.origin, joint.after):
        assert set(pose.rotation) <= {0.0, 1.0, -1.0}
        assert {abs(x) for x in pose.translation} <= {0.0, 0.3, 0.7}
        assert not any(math.copysign(1.0, x) < 0 and x == 0 for x in pose.translation + pose.rotation)


def test_an_angle_that_is_nearly_right_stays_as_it_is() -> None:
    # Twelve digits as many files write them: other engines take them at their word too.
    joint = one_row({"alpha": 1.57079632679}).joints[0]
    assert joint.after.rotation[4] == pytest.approx(4.9e-12, rel=1e-3)


def test_degrees_give_the_robot_that_radians_give() -> None:
    row = {"alpha": 30.0, "theta": 45.0, "lower": -90.0, "upper": 120.0, "velocity": 60.0}
    radians = {key: math.radians(value) for key, value in row.items()}
    turned = one_row(row, angles="degrees", base={"rpy": [10, 20, 30]}, tool={"rpy": [0, 0, 90]})
    plain = one_row(radians, base={"rpy": np.radians([10, 20, 30]).tolist()}, tool={"rpy": [0, 0, HALF]})
    assert turned == plain


def test_degrees_leave_the_limits_of_a_sliding_joint_alone() -> None:
    joint = one_row(
        {"type": "prismatic", "lower": 0.1, "upper": 0.4, "velocity": 2}, angles="degrees"
    ).joints[0]
    assert (joint.lower, joint.upper, joint.velocity) == ((0.1,), (0.4,), (2.0,))


def test_links_and_joints_are_numbered_unless_named() -> None:
    robot = description_from_dh([{"a": 1}, {"a": 1, "name": "elbow", "link": "forearm"}], name="arm")
    assert [link.name for link in robot.links] == ["base", "link1", "forearm"]
    assert [(j.name, j.parent, j.child) for j in robot.joints] == [
        ("joint1", "base", "link1"),
        ("elbow", "link1", "forearm"),
    ]


def test_base_and_tool_are_poses_before_the_first_and_after_the_last_frame() -> None:
    base, tool = {"xyz": [1, 2, 3], "rpy": [0, 0, HALF]}, Pose.of(None, (0, 0, 0.1)).matrix
    robot = description_from_dh([{"a": 0.5, "alpha": HALF}, {"d": 0.2}], base=base, tool=tool)
    bare = description_from_dh([{"a": 0.5, "alpha": HALF}, {"d": 0.2}])
    frame0 = np.array([[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]])
    np.testing.assert_array_equal(across(robot.joints[0], 0.3), frame0 @ across(bare.joints[0], 0.3))
    assert robot.joints[1] == bare.joints[1]
    assert (robot.joints[2].type, robot.joints[2].parent, robot.joints[2].child) == ("fixed", "link2", "tool")
    np.testing.assert_array_equal(robot.joints[2].origin.matrix, tool)
    assert robot.links[-1].mass == 0.0


@given(st.floats(0.1, 10.0), st.tuples(small, small, small))
def test_an_inertia_about_the_frame_is_moved_to_the_mass_centre(
    mass: float, com: tuple[float, float, float]
) -> None:
    about_com = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]])
    c = np.array(com)
    about_frame = about_com + mass * (c @ c * np.eye(3) - np.outer(c, c))
    row = {"mass": mass, "com": com, "inertia": about_frame, "inertia_about": "frame"}
    found = one_row(row).links[1].inertia
    np.testing.assert_allclose(found, (2.0, 0.1, 0.2, 3.0, 0.3, 4.0), atol=1e-12 * (1 + mass * c @ c))
    assert found == inertia_about_com(mass, com, tuple(about_frame[np.triu_indices(3)].tolist()))


def test_the_three_forms_of_an_inertia_agree() -> None:
    forms = [[[1, 0, 0], [0, 2, 0], [0, 0, 3]], [1, 0, 0, 2, 0, 3], [1, 2, 3]]
    assert {one_row({"inertia": form}).links[1].inertia for form in forms} == {(1.0, 0.0, 0.0, 2.0, 0.0, 3.0)}


def test_a_motor_acts_at_the_joint_through_its_gears() -> None:
    motor = {"motor_inertia": 2e-4, "motor_damping": 1e-3, "motor_friction": 0.1, "gear_ratio": -50.0}
    joint = one_row(motor).joints[0]
    assert (joint.armature, joint.damping, joint.friction) == ((0.5,), (2.5,), (5.0,))
    plain = one_row({"armature": 0.5, "damping": 2.5, "friction": 5}).joints[0]
    assert joint == plain


def test_one_limit_leaves_the_other_side_open() -> None:
    joint = one_row({"lower": -1}).joints[0]
    assert (joint.lower, joint.upper) == ((-1.0,), (math.inf,))
    assert one_row({}).joints[0].lower == ()


def test_toml_and_json_give_the_same_robot() -> None:
    lines = ['name = "arm"', "gravity = [0, 0, -1.62]", "[[row]]", "a = 1", "mass = 2"]
    toml = "\n".join([*lines, "[[row]]", 'type = "prismatic"', "upper = inf"])
    rows = [{"a": 1, "mass": 2}, {"type": "prismatic", "upper": math.inf}]
    text = json.dumps({"name": "arm", "gravity": [0, 0, -1.62], "rows": rows})
    first = read_table(tomllib.loads(toml), source="arm.toml")
    assert first == read_table(json.loads(text), source="arm.json")
    assert first.gravity == (0.0, 0.0, -1.62)
    assert first.source == "arm.toml"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"alpa": 1}, 'arm.toml: row 1: unknown key "alpa"; did you mean "alpha"?'),
        ({"a": "wide"}, 'arm.toml: row 1: "a" is "wide"; expected a finite number.'),
        ({"a": "1.0"}, 'arm.toml: row 1: "a" is "1.0"; expected a finite number.'),
        ({"d": math.nan}, 'arm.toml: row 1: "d" is nan; expected a finite number.'),
        ({"theta": math.inf}, 'arm.toml: row 1: "theta" is inf; expected a finite number.'),
        ({"mass": True}, 'arm.toml: row 1: "mass" is True; expected a finite number.'),
        ({"mass": None}, 'arm.toml: row 1: "mass" is None; expected a finite number.'),
        ({"mass": 10**400}, 'arm.toml: row 1: "mass" is 1000'),
        ({"com": [0, 1]}, 'arm.toml: row 1: "com" is [0, 1]; expected a list of 3 finite numbers.'),
        ({"com": "abc"}, 'arm.toml: row 1: "com" is "abc"; expected a list of 3 finite numbers.'),
        ({"com": [0, math.nan, 1]}, 'arm.toml: row 1: "com" is [0, nan, 1]; expected a list of 3 finite'),
        ({"inertia": [1, 2]}, 'arm.toml: row 1: "inertia" is [1, 2]; expected finite numbers: a 3x3 matrix'),
        ({"inertia": [1, "x", 2]}, "arm.toml: row 1: \"inertia\" is [1, 'x', 2]; expected finite numbers"),
        ({"inertia": [[1], [2, 3]]}, 'arm.toml: row 1: "inertia" is [[1], [2, 3]]; expected finite numbers'),
        ({"inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]}, "the matrix symmetric"),
        (
            {"inertia_about": "origin"},
            'arm.toml: row 1: "inertia_about" is "origin"; supported: "com", "frame".',
        ),
        ({"type": "revolut"}, 'arm.toml: row 1: "type" is "revolut"; did you mean "revolute"?'),
        ({"name": 3}, 'arm.toml: row 1: "name" is 3; expected text.'),
        ({"lower": 2, "upper": 1}, "arm.toml: row 1: lower = 2 is above upper = 1; swap them."),
        ({"motor_inertia": 1}, 'arm.toml: row 1: "motor_inertia" needs a "gear_ratio"'),
        (
            {"motor_inertia": 1, "armature": 1},
            'arm.toml: row 1: both "armature" and "motor_inertia" are given',
        ),
        ([1, 2], "arm.toml: row 1: got [1, 2], expected a table of keys and values."),
    ],
)
def test_a_bad_row_is_refused_with_file_row_and_key(row: Any, message: str) -> None:
    with pytest.raises(PhalanxError) as error:
        one_row(row)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"rows": [], "name": "x"}, 'arm.toml: "rows" is empty; expected one row per joint.'),
        ({"rows": 3}, 'arm.toml: "rows" is 3; expected a list of tables.'),
        ({"name": "x"}, 'arm.toml: "rows" is missing; expected a list of tables.'),
        ({"rows": [{}], "row": [{}]}, 'arm.toml: both "rows", "row" are given; expected one of them.'),
        ({"rows": [{}], "convension": "standard"}, 'unknown key "convension"; did you mean "convention"?'),
        ({"rows": [{}], "convention": "craig"}, 'arm.toml: "convention" is "craig"; supported: "standard"'),
        ({"rows": [{}], "angles": "degree"}, 'arm.toml: "angles" is "degree"; did you mean "degrees"?'),
        (
            {"rows": [{}], "gravity": 9.81},
            'arm.toml: "gravity" is 9.81; expected a list of 3 finite numbers.',
        ),
        (
            {"rows": [{}], "base": [[1, 2], [3, 4]]},
            'arm.toml: "base" is [[1, 2], [3, 4]]; expected {xyz, rpy}',
        ),
        (
            {"rows": [{}], "tool": {"xyzz": [1, 2, 3]}},
            'arm.toml: "tool": unknown key "xyzz"; did you mean "xyz"?',
        ),
        (
            {"rows": [{}], "base": np.diag([1, 1, -1, 1])},
            'arm.toml: "base" is an array of shape (4, 4); expected',
        ),
        ([1], "arm.toml: got [1], expected a table of keys and values."),
    ],
)
def test_a_bad_table_is_refused_with_file_and_key(table: Any, message: str) -> None:
    with pytest.raises(PhalanxError) as error:
        read_dh(table, source="arm.toml")
    assert message in str(error.value)


def test_rows_that_are_no_list_are_refused() -> None:
    with pytest.raises(PhalanxError, match=r"from_dh: rows is dict; expected a list of rows"):
        description_from_dh({"a": 1})  # type: ignore[arg-type]
    with pytest.raises(PhalanxError, match='from_dh: row 2: "d" is "x"; expected a finite number'):
        description_from_dh([{}, {"d": "x"}])


@pytest.mark.parametrize("table", [{"colour": 1}, {}])
def test_a_table_that_is_no_robot_says_what_is_expected(table: dict[str, Any]) -> None:
    with pytest.raises(
        PhalanxError, match=r"x.toml: not a robot .*expected the rows of a Denavit-Hartenberg table"
    ):
        read_table(table, source="x.toml")


def test_a_gear_ratio_beyond_all_numbers_is_refused() -> None:
    row = {"a": 1.0, "motor_inertia": 1.0, "gear_ratio": 1e300}
    with pytest.raises(
        PhalanxError, match=r'row 1: "gear_ratio" is 1e\+300; expected a ratio at which "motor'
    ):
        description_from_dh([row])


# ------------------------------------------------------------------- inertias, directions, hints


def test_inertias_by_name_by_matrix_and_by_six_numbers_are_the_same() -> None:
    matrix = [[0.3, 0.01, 0.02], [0.01, 0.4, -0.03], [0.02, -0.03, 0.5]]
    named = {"zz": 0.5, "xx": 0.3, "xy": 0.01, "yy": 0.4, "yz": -0.03, "xz": 0.02}
    six = [0.3, 0.01, 0.02, 0.4, -0.03, 0.5]
    found = [read_dh({"rows": [{"inertia": x}]}, source="f").links[1].inertia for x in (matrix, named, six)]
    assert found[0] == found[1] == found[2] == tuple(six)
    part = read_dh({"rows": [{"inertia": {"xx": 1, "yy": 2, "zz": 3}}]}, source="f").links[1].inertia
    assert part == (1.0, 0.0, 0.0, 2.0, 0.0, 3.0)
    with pytest.raises(PhalanxError, match='row 1: "inertia": unknown key "xxx"; did you mean "xx"'):
        read_dh({"rows": [{"inertia": {"xxx": 1}}]}, source="f")
    with pytest.raises(PhalanxError, match='row 1: "inertia": "xx" is "a"; expected a finite number'):
        read_dh({"rows": [{"inertia": {"xx": "a"}}]}, source="f")


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_joint_that_counts_backwards_is_the_one_with_minus_q(convention: str, kind: str) -> None:
    row = {"a": 0.4, "alpha": 0.3, "d": 0.2, "theta": 0.5, "type": kind, "mass": 1.0, "inertia": [1, 1, 1]}
    rows = [row, {**row, "direction": -1}]
    plain = px.Robot.from_dh([row, row], convention=convention)
    back = px.Robot.from_dh(rows, convention=convention)
    q, qd, qdd = plain.random_state(3, rng=0)
    flip = np.array([1.0, -1.0])
    expected = plain.inverse_dynamics(q * flip, qd * flip, qdd * flip) * flip
    np.testing.assert_allclose(back.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        back.frame_pose(q, "link2"), plain.frame_pose(q * flip, "link2"), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"offset": 1},
            'unknown key "offset"; the offset of q is "theta" where the joint turns and "d" where',
        ),
        ({"flip": True}, 'unknown key "flip"; write direction = -1'),
        ({"Jm": 1}, 'unknown key "Jm"; write "motor_inertia"'),
        ({"sigma": 1}, 'unknown key "sigma"; write type = "revolute"'),
        ({"direction": 2}, '"direction" is 2; expected 1, or -1 for a joint that counts backwards'),
        ({"massive": 2}, 'unknown key "massive"; did you mean "mass"?'),
        ({"wobble": 2}, 'unknown key "wobble"; known keys: '),
    ],
)
def test_keys_of_other_programs_get_the_key_to_write(row: dict[str, Any], message: str) -> None:
    with pytest.raises(PhalanxError) as caught:
        px.Robot.from_dh([row])
    assert message in str(caught.value)


def test_unphysical_tables_recommend_what_from_dh_takes() -> None:
    rows = [{"a": 1.0, "mass": 1.0, "inertia": [1.0, 0.0, 0.0]}]
    with pytest.warns(px.PhalanxWarning, match=r"^from_dh: 1 link .* strict=True refuses them\.$"):
        px.Robot.from_dh(rows)
    with pytest.raises(PhalanxError, match=r"^from_dh: .* Correct them, or leave out strict=True\.$"):
        px.Robot.from_dh(rows, strict=True)


def test_the_page_tells_of_all_keys_of_a_row() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "dh_tables.md").read_text(encoding="utf-8")
    table = page[page.index("## Rows") : page.index("## Inertias")]
    told = [
        key
        for line in table.splitlines()
        if line.startswith("| `")
        for key in re.findall(r"`(\w+)`", line.split("|")[1])
    ]
    assert sorted(told) == sorted(ROW)
