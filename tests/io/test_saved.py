# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Saved robots return as they were, to the bit, and damaged files say what is wrong."""

import json
import math
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.errors import PhalanxError
from phalanx.io.link_tables import read_table
from phalanx.io.loading import builtin, robots
from phalanx.io.robots.generators import tree
from phalanx.io.saved import read_description, write_description
from phalanx.robot.description import (
    Actuator,
    Configuration,
    Description,
    FixedFrame,
    Joint,
    Link,
    LoopClosure,
    Mimic,
    Pose,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
anything = st.floats(allow_nan=False)


def several(numbers: st.SearchStrategy[float], size: int) -> st.SearchStrategy[tuple[float, ...]]:
    return st.tuples(*[numbers] * size)


def some(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[float, ...]]:
    return st.lists(numbers, max_size=7).map(tuple)


poses = st.builds(Pose, several(finite, 9), several(finite, 3))
links = st.builds(Link, st.text(), finite, several(finite, 3), several(finite, 6))
joints = st.builds(
    Joint, *[st.text()] * 4, poses, poses, several(finite, 3), several(finite, 3), finite,
    *[some(anything)] * 7, st.none() | st.builds(Mimic, st.text(), finite, finite), *[some(finite)] * 2,
)  # fmt: skip
frames = st.builds(FixedFrame, st.text(), st.text(), poses)
loops = st.builds(LoopClosure, *[st.text()] * 4, poses, poses, several(finite, 3), several(finite, 3), finite)
rows = st.lists(some(finite), max_size=3).map(tuple)


@st.composite
def of_joints(draw: Any, kind: Any, *more: st.SearchStrategy[Any]) -> Any:
    """An actuator or a configuration: as many names of joints as lists of numbers."""
    values = draw(rows)
    names = draw(st.lists(st.text(), min_size=len(values), max_size=len(values)).map(tuple))
    return kind(draw(st.text()), names, values, *map(draw, more))


actuators = of_joints(Actuator, finite, finite, anything, anything)
descriptions = st.builds(
    Description,
    st.text(),
    st.lists(links, max_size=3).map(tuple),
    st.lists(joints, max_size=3).map(tuple),
    several(finite, 3),
    floating_base=st.booleans(),
    base_armature=some(finite),
    coupled=st.booleans(),
    frames=st.lists(frames, max_size=3).map(tuple),
    loops=st.lists(loops, max_size=3).map(tuple),
    actuators=st.none() | st.lists(actuators, max_size=3).map(tuple),
    configurations=st.lists(of_joints(Configuration), max_size=3).map(tuple),
)


def returned(description: Description) -> Description:
    return read_description(json.loads(write_description(description)), source="robot.json")


def bits(description: Description) -> str:
    """Text that differs wherever a bit does: 0.0 and -0.0 compare equal."""
    return repr([getattr(description, f.name) for f in fields(description) if f.name != "source"])


@settings(max_examples=60)
@given(descriptions)
def test_every_description_returns_to_the_bit(description: Description) -> None:
    assert returned(description) == description
    assert bits(returned(description)) == bits(description)


def test_a_negative_zero_stays_negative() -> None:
    joint = Joint("j", "helical", "a", "b", axis=(-0.0, 0.0, 1.0), pitch=-0.0)
    robot = Description("r", (Link("a", -0.0), Link("b")), (joint,), gravity=(0.0, -0.0, -9.81))
    assert bits(returned(robot)) == bits(robot)


@pytest.mark.parametrize("name", robots())
def test_every_built_in_robot_returns(name: str) -> None:
    assert bits(returned(builtin(name))) == bits(builtin(name))


def test_a_tree_of_all_joint_types_returns() -> None:
    types = ("revolute", "continuous", "prismatic", "spherical", "planar", "universal", "helical", "floating")
    robot = tree(40, seed=3, joints=types)
    assert bits(returned(robot)) == bits(robot)


def test_the_file_remembers_no_source_but_its_own() -> None:
    robot = builtin("ur5")
    assert robot.source not in write_description(robot)
    assert returned(robot).source == "robot.json"


def test_infinite_limits_are_written_as_text_so_that_any_json_reader_takes_the_file() -> None:
    joint = Joint("j", "revolute", "a", "b", lower=(-math.inf,), upper=(math.inf,))
    text = write_description(Description("r", (Link("a"), Link("b")), (joint,)))
    assert '"lower": ["-inf"], "upper": ["inf"]' in text
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_nan_is_refused_when_writing() -> None:
    with pytest.raises(PhalanxError, match=r'robot "r": NaN in .*; a robot is saved with numbers only.'):
        write_description(Description("r", (Link("a", math.nan),), ()))


def saved() -> dict[str, Any]:
    robot: dict[str, Any] = json.loads(write_description(builtin("two_link")))
    return robot


def test_a_saved_robot_is_recognised_among_tables() -> None:
    assert read_table(saved(), source="x.json") == builtin("two_link")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"format": "urdf"}, 'x.json: "format" is "urdf", expected "phalanx-robot"; only robots written by'),
        ({"version": 2}, "x.json: saved in version 2 of the format; this Phalanx reads version 1."),
        ({"version": None}, "x.json: saved in version None of the format; this Phalanx reads version 1."),
        ({"links": {}}, 'x.json: "links" is {}; expected a list of tables.'),
        ({"links": [5]}, "x.json: link 1: got 5, expected a table of keys and values."),
        ({"links": [{"name": "a", "mas": 1}]}, 'x.json: link 1: unknown key "mas"; did you mean "mass"?'),
        (
            {"links": [{"name": "a", "mass": "inf"}]},
            'x.json: link 1: "mass" is "inf"; expected a finite number.',
        ),
        ({"links": [{"mass": 1}]}, 'x.json: link 1: "name" is missing; expected text.'),
        ({"gravity": [0, 0]}, 'x.json: "gravity" is [0, 0]; expected a list of 3 finite numbers.'),
        ({"coupled": 1}, 'x.json: "coupled" is 1; expected true or false.'),
        ({"joints": [{"name": "a", "type": "fixed", "parent": "x"}]}, 'x.json: joint 1: "child" is missing'),
        ({"extra": 1}, 'x.json: unknown key "extra"'),
    ],
)
def test_damage_is_named(damage: dict[str, Any], message: str) -> None:
    with pytest.raises(PhalanxError) as error:
        read_description(saved() | damage, source="x.json")
    assert message in str(error.value)


@pytest.mark.parametrize("key", ["name", "links", "joints", "gravity"])
def test_a_missing_part_is_named(key: str) -> None:
    robot = saved()
    del robot[key]
    with pytest.raises(PhalanxError, match=f'x.json: "{key}" is missing'):
        read_description(robot, source="x.json")


@pytest.mark.parametrize("content", [{}, [], {"rows": []}, "text", None])
def test_foreign_content_is_refused(content: Any) -> None:
    with pytest.raises(PhalanxError, match=r'x.json: "format" is None, expected "phalanx-robot"'):
        read_description(content, source="x.json")


def test_a_damaged_pose_is_named() -> None:
    robot = saved()
    robot["joints"][0]["after"]["rotation"][3] = "x"
    with pytest.raises(
        PhalanxError, match=r'x.json: joint 1: "after": "rotation" is .*; expected a list of 9'
    ):
        read_description(robot, source="x.json")
