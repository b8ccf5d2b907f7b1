# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Tables of links and joints."""

import math
import tomllib
from typing import Any

import pytest

from phalanx.errors import PhalanxError
from phalanx.io.link_tables import read_table
from phalanx.robot.description import IDENTITY, Joint, Link, Mimic, Pose

ARM = """
name = "arm"
[[link]]
name = "base"
[[link]]
name = "upper"
mass = 2
com = [0, 0, 0.2]
inertia = [0.03, 0.03, 0.001]
[[joint]]
name = "shoulder"
type = "universal"
parent = "base"
child = "upper"
xyz = [0, 0, 0.3]
rpy = [0, 0, 1.570796326794897]
axis2 = [1, 0, 0]
lower = [-1, -2]
effort = [5, inf]
"""


def test_links_and_joints_are_read_as_the_table_tells() -> None:
    robot = read_table(tomllib.loads(ARM), source="arm.toml")
    assert robot.links == (
        Link("base"),
        Link("upper", 2.0, (0.0, 0.0, 0.2), (0.03, 0.0, 0.0, 0.03, 0.0, 0.001)),
    )
    turn = Pose((0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.3))
    assert robot.joints == (
        Joint(
            "shoulder", "universal", "base", "upper", origin=turn, after=IDENTITY, axis2=(1.0, 0.0, 0.0),
            lower=(-1.0, -2.0), upper=(math.inf, math.inf), effort=(5.0, math.inf),
        ),
    )  # fmt: skip


def test_a_mimic_joint_is_read() -> None:
    joint: dict[str, Any] = {"name": "b", "type": "prismatic", "parent": "base", "child": "tip"}
    table = {
        "links": [{"name": "base"}, {"name": "tip"}],
        "joints": [joint | {"mimic": {"joint": "a", "offset": 2}}],
    }
    assert read_table(table, source="x").joints[0].mimic == Mimic("a", 1.0, 2.0)


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (
            {"type": "revolut"},
            'x.json: joint 1 ("j"): joint has the type "revolut"; did you mean "revolute"?',
        ),
        ({"parent": 3}, 'x.json: joint 1 ("j"): "parent" is 3; expected text.'),
        ({"xyz": [0, 0]}, 'x.json: joint 1 ("j"): "xyz" is [0, 0]; expected a list of 3 finite numbers.'),
        ({"limit": 1}, 'x.json: joint 1: unknown key "limit"'),
        ({"lower": "low"}, 'x.json: joint 1 ("j"): "lower" is "low"; expected a number.'),
        ({"mimic": "k"}, 'x.json: joint 1 ("j"): "mimic": got "k", expected a table of keys and values.'),
    ],
)
def test_a_bad_joint_is_refused_by_name(joint: dict[str, Any], message: str) -> None:
    good = {"name": "j", "type": "revolute", "parent": "base", "child": "tip"}
    with pytest.raises(PhalanxError) as error:
        read_table({"links": [{"name": "base"}], "joints": [good | joint]}, source="x.json")
    assert message in str(error.value)


def test_a_link_without_a_name_is_refused() -> None:
    with pytest.raises(PhalanxError, match=r'x.json: link 1: "name" is missing; expected text.'):
        read_table({"links": [{"mass": 1}]}, source="x.json")
