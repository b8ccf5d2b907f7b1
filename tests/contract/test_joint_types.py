# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Every joint type, wherever joints are used: kernels, frames, recordings, pictures, exports, files."""

from __future__ import annotations

import ast
import re
from itertools import product
from pathlib import Path

import pytest

import phalanx as px
from phalanx.robot.joints import Helix, JointBody, JointType, Motion, frame_along, joint_type, register
from phalanx.robot.joints.motions import Turn
from reference.joint_checks import CHECKS
from reference.sampling import ALL_TYPES, MOVING_TYPES

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"


# Pairs, so that quick runs have all of them.
@pytest.mark.parametrize("case", list(product(MOVING_TYPES, CHECKS)), ids="-".join)
def test_a_joint_type_is_the_same_everywhere(case: tuple[str, str]) -> None:
    kind, check = case
    CHECKS[check](kind)


@pytest.mark.parametrize("kind", ALL_TYPES)
def test_a_type_says_units_and_labels_of_its_rates(kind: str) -> None:
    joint = joint_type(kind)
    assert len(joint.units) == len(joint.labels) == joint.nv
    assert [{"rad": "N·m", "m": "N"}[unit] for unit in joint.units] == list(joint.force_units())
    assert len(set(joint.labels)) == joint.nv


@pytest.mark.parametrize("kind", MOVING_TYPES)
def test_its_coordinates_are_stated_in_the_conventions(kind: str) -> None:
    (table,) = re.findall(r"\| Joint \| `q` \|(.+?)\n\n", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert kind in re.findall(r"[a-z]+", " ".join(row.split("|")[1] for row in table.splitlines()[2:]))


def test_only_joints_and_file_formats_name_types() -> None:
    """What else knows a type by its name would not know the next one."""
    source = Path(px.__file__).parent
    named = [
        f"{file.relative_to(source).as_posix()}:{node.lineno}"
        for file in source.rglob("*.py")
        if file.relative_to(source).parts[0] != "io" and source / "robot" / "joints" not in file.parents
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in ALL_TYPES
    ]
    assert not named


def _type(**facts: object) -> type[JointType]:
    return type("Toy", (joint_type("universal"),), {"name": "toy", **facts})


def _screw(motion: type[Motion], axis: tuple[float, ...]) -> type[JointType]:
    """A joint type of two such bodies."""
    steps = [JointBody(motion, axis, frame_along((0.0, 0.0, 1.0)))] * 2
    return _type(steps=classmethod(lambda cls, *given: steps))


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (_type(name="revolute"), 'there is a joint type "revolute" already'),
        (_type(units=("rad",)), r"units are .*, expected \"rad\" or \"m\" for each of 2 rates"),
        (_type(units=("rad", "deg")), r"units are .*'deg'.*, expected \"rad\" or \"m\""),
        (_type(labels=("",)), "labels are .*, expected one for each of 2 rates"),
        (
            _screw(Turn, (0, 0, 2, 0, 0, 0)),
            "Turn does not move along the axis .*; screw.* makes a body that does",
        ),
        (_screw(Helix, (0, 1, 1, 0, 0, 0)), "Helix does not move along the axis"),
        (_type(nq=3), "2 bodies with 2 coordinates, expected one for each of 2 rates and 3 coordinates"),
    ],
)
def test_a_type_that_contradicts_itself_is_refused(kind: type[JointType], message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        register(kind)
