# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""`phalanx info`: the facts as text and as JSON."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.cli import main
from phalanx.cli.info import MOST_LINES, draw_tree
from phalanx.io.loading import load
from phalanx.robot.description import LoopClosure, Pose

# The published inertias of the PUMA 560 break the triangle inequality.
pytestmark = pytest.mark.filterwarnings("ignore::phalanx.errors.PhalanxWarning")

TWO_FINGERS = """
<robot name="gripper">
  <link name="base"/>
  <link name="left"><inertial><mass value="0.25"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="0.5"/>
    <inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="pad"/>
  <joint name="open" type="prismatic"><parent link="base"/><child link="left"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.04" velocity="0.2" effort="20"/></joint>
  <joint name="follow" type="prismatic"><parent link="base"/><child link="right"/>
    <axis xyz="0 -1 0"/><limit lower="0" upper="0.04" velocity="0.2" effort="20"/>
    <mimic joint="open" multiplier="2"/></joint>
  <joint name="glue" type="fixed"><parent link="left"/><child link="pad"/></joint>
</robot>
"""


@pytest.fixture
def gripper(tmp_path: Path) -> str:
    file = tmp_path / "gripper.urdf"
    file.write_text(TWO_FINGERS)
    return str(file)


def test_what_the_file_has_and_the_robot_leaves_out_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drives = (
        '<transmission name="t"/>' * 12 + '<gazebo><plugin name="p"/><joint name="tie"/></gazebo><extra/>'
    )
    file = tmp_path / "gripper.urdf"
    file.write_text(TWO_FINGERS.replace("</robot>", f"{drives}</robot>"))
    text = text_of([str(file)], capsys)
    assert 'left out  12 transmissions; 1 Gazebo plugin; 1 Gazebo joint ("tie"); 1 <extra>\n\n' in text
    left_out = ["12 transmissions", "1 Gazebo plugin", '1 Gazebo joint ("tie")', "1 <extra>"]
    assert json_of([str(file)], capsys)["left_out"] == left_out


def test_inputs_and_configurations_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = '<group_state name="ready"><joint name="joint2" value="0.5"/></group_state>'
    srdf = tmp_path / "arm.srdf"
    srdf.write_text(f'<robot name="two_link">{state}</robot>')
    text = text_of(["two_link", "--srdf", str(srdf)], capsys)
    assert "actuated  2 inputs, one for each degree of freedom of joints: none are stated\n" in text
    assert "states    ready\n" in text
    file = tmp_path / "arm.json"
    inputs = {"joint1": {"gear": 50.0, "rotor_inertia": 0.25}, "pull": {"joints": {"joint1": 1, "joint2": 2}}}
    px.load("two_link").with_actuation(inputs).save(file)
    text = text_of([str(file)], capsys)
    assert "actuated  2 inputs\n" in text
    assert "joint1    joint1            50   0.25" in text
    assert "pull      joint1, joint2     1      0" in text
    facts = json_of([str(file), "--srdf", str(srdf)], capsys)
    assert facts["configurations"] == {"ready": [0.0, 0.5]}
    assert [x["joints"] for x in facts["actuators"]] == [["joint1"], ["joint1", "joint2"]]
    assert facts["actuation_stated"] is True


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def text_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["info", *arguments]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    return text


def json_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert main(["info", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_text_names_every_joint_link_and_total(capsys: pytest.CaptureFixture[str]) -> None:
    robot = load("puma560")
    text = text_of(["puma560"], capsys)
    for name in (*robot.joint_names, *robot.link_names):
        assert name in text
    assert "serial chain" in text
    assert "nv = 6" in text
    assert f"{robot.total_mass:.4g} kg" in text


def test_json_agrees_with_the_robot(capsys: pytest.CaptureFixture[str]) -> None:
    robot = load("puma560")
    facts = json_of(["puma560"], capsys)
    assert (facts["nq"], facts["nv"], facts["n_links"]) == (6, 6, 6)
    assert facts["depth"] == 6
    assert facts["is_serial"] is True
    assert facts["total_mass"] == robot.total_mass
    assert facts["gravity"] == robot.gravity.tolist()
    assert [joint["name"] for joint in facts["joints"]] == list(robot.joint_names)
    np.testing.assert_array_equal(
        [joint["lower"][0] if joint["lower"][0] is not None else -np.inf for joint in facts["joints"]],
        robot.limits.lower,
    )


def test_what_does_not_move_has_a_mass_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = px.RobotBuilder("table")
    table.add_link("plate", mass=2.0, inertia=(0.1, 0.1, 0.1))
    table.add_link("leg", mass=0.5, inertia=(0.1, 0.1, 0.1))
    table.add_joint("glue", "fixed", "plate", "leg")
    file = tmp_path / "table.json"
    table.build().save(file)
    assert "0 kg, and 2.5 kg that do not move" in text_of([str(file)], capsys)
    facts = json_of([str(file)], capsys)
    assert (facts["total_mass"], facts["fixed_mass"]) == (0.0, 2.5)
    floating = json_of([str(file), "--floating-base"], capsys)
    assert (floating["total_mass"], floating["fixed_mass"]) == (2.5, 0.0)


def test_a_floating_base_is_the_first_joint(gripper: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json_of([gripper, "--floating-base"], capsys)
    assert facts["floating_base"] is True
    assert facts["joints"][0]["type"] == "floating"
    assert facts["joints"][0]["q"] == [0, 7]
    assert facts["joints"][1]["parent"] == "base"
    assert "(floating base) ─ base" in text_of([gripper, "--floating-base"], capsys)


def test_a_follower_names_its_driver_and_has_no_limits(
    gripper: str, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = json_of([gripper], capsys)
    assert facts["nv"] == 1
    assert facts["joints"][1]["mimic"] == {"joint": "open", "multiplier": 2.0, "offset": 0.0}
    assert facts["joints"][1]["lower"] == []
    text = text_of([gripper], capsys)
    assert "follow ─ right (follows open)" in text
    assert "coupled   1 of the joints: follow ← open" in text
    assert "coupled" not in text_of([gripper, "--mimic", "independent"], capsys)


def test_independent_mimic_joints_have_limits(gripper: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json_of([gripper, "--mimic", "independent"], capsys)
    assert facts["nv"] == 2
    assert facts["joints"][1]["mimic"] is None
    assert facts["joints"][1]["upper"] == [0.04]


def test_welded_links_are_frames(gripper: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert json_of([gripper], capsys)["frames"] == ["base", "left", "right", "pad"]


def test_standard_input_is_a_robot(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(TWO_FINGERS))
    assert json_of(["-"], capsys)["name"] == "gripper"


def long_chain(n: int) -> str:
    """URDF text of an unbranched chain of n moving links."""
    joint = (
        '<joint name="joint{0}" type="revolute"><parent link="link{1}"/><child link="link{0}"/>'
        '<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" velocity="2" effort="3"/></joint>'
    )
    inertial = (
        '<link name="link{0}"><inertial><mass value="0.1"/>'
        '<inertia ixx="1e-3" iyy="1e-3" izz="1e-3" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    body = "".join(inertial.format(i) for i in range(n + 1))
    body += "".join(joint.format(i, i - 1) for i in range(1, n + 1))
    return f'<robot name="long">{body}</robot>'


def test_ten_thousand_links_print_on_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "long.urdf"
    file.write_text(long_chain(10_000))
    text = text_of([str(file)], capsys)
    assert text.count("… 9,980 more") == 2
    assert len(text.splitlines()) < 70
    assert "link10000" in text


def test_all_prints_every_joint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "long.urdf"
    file.write_text(long_chain(300))
    text = text_of([str(file), "--all"], capsys)
    assert "more" not in text
    assert len(text.splitlines()) > 600


def test_joints_without_limits_show_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    urdf = TWO_FINGERS.replace('<limit lower="0" upper="0.04" velocity="0.2" effort="20"/>', "").replace(
        "prismatic", "continuous"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO(urdf))
        row = next(line for line in text_of(["-"], capsys).splitlines() if line.startswith("open "))
    assert row.split() == ["open", "continuous", "0", "–", "–", "–", "–", "0.25"]


def test_a_robot_that_cannot_move_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.StringIO('<robot name="rock"><link name="stone"/></robot>'))
        assert "no moving joints" in text_of(["-"], capsys)


def test_loops_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = load(TWO_FINGERS)
    poses = Pose.of(None, (0.1, 0.2, 0.3)), Pose.of(None, (0.0, 0.0, 0.4))
    loop = LoopClosure("rod", "spherical", "left", "right", *poses)
    file = tmp_path / "gripper.json"
    px.Robot(replace(robot.description, loops=(loop,))).save(file)
    text = text_of([str(file)], capsys)
    row = next(line for line in text.splitlines() if line.startswith("rod "))
    assert row.split() == ["rod", "point", "3", "left", "right"]
    assert "held by simulations, constrained_dynamics and its relatives" in text
    assert "held      1 constraints of 3 rows: see below" in text
    (facts,) = json_of([str(file)], capsys)["loops"]
    assert (facts["name"], facts["type"]) == ("rod", "spherical")
    assert (facts["predecessor"], facts["successor"]) == ("left", "right")
    assert [row[3] for row in facts["successor_pose"]] == [0.0, 0.0, 0.4, 1.0]


def names(n: int) -> list[str]:
    return [f"link{i}" for i in range(n)]


def test_a_branching_indents_and_a_run_does_not() -> None:
    lines = draw_tree([-1, 0, 1, 2, 1, -1], list("abcdef"), width=80)
    assert lines == [
        "world",
        "├─ a",
        "│  b",
        "│  ├─ c",
        "│  │  d",
        "│  └─ e",
        "└─ f",
    ]


def test_a_long_run_keeps_both_ends_and_says_how_many_are_missing() -> None:
    lines = draw_tree(list(range(-1, 9999)), names(10_000), width=80)
    assert len(lines) == 22
    assert lines[1] == "└─ link0"
    assert lines[11] == "   … 9,980 more"
    assert lines[-1] == "   link9999"


def test_everything_prints_every_link_of_a_run() -> None:
    lines = draw_tree(list(range(-1, 9999)), names(10_000), width=80, everything=True)
    assert len(lines) == 10_001


def test_a_large_star_stops_and_counts_the_rest() -> None:
    lines = draw_tree([-1] * 1000, names(1000), width=80)
    assert lines[-1] == f"… {1000 - MOST_LINES:,} more"
    assert len(lines) == MOST_LINES + 2


def test_a_deep_comb_stays_within_the_width() -> None:
    # Every second link is a tip, so that each level would indent once more.
    parents = [-1] + [2 * ((i - 1) // 2) for i in range(1, 4001)]
    lines = draw_tree(parents, names(4001), width=80)
    assert max(map(len, lines)) <= 80
    assert len(lines) < 100
    assert any("more" in line for line in lines)


def test_no_links_leave_the_world_alone() -> None:
    assert draw_tree([], [], width=80) == ["world"]


def test_long_names_are_shortened_to_the_width() -> None:
    lines = draw_tree([-1], ["x" * 200], width=60)
    assert len(lines[1]) == 60
    assert "…" in lines[1]
