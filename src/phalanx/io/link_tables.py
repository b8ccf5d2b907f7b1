# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robots as tables of links and joints, and the choice between the kinds of tables.

A table, as TOML or JSON gives it (SI units, angles in rad):

    name = "arm"
    gravity = [0, 0, -9.81]        # in the frame of the root link; optional
    source = "where the numbers come from"

    [[link]]                       # in JSON: "links": [{…}, …]
    name = "upper"
    mass = 2
    com = [0, 0, 0.2]              # in the link's frame
    inertia = [0.03, 0.03, 0.001]  # about the mass centre; 3x3, [xx, xy, xz, yy, yz, zz], [xx, yy, zz]
                                   # or { xx = 0.03, … }

    [[joint]]                      # in JSON: "joints": [{…}, …]
    name = "shoulder"
    type = "revolute"              # any joint type of Phalanx, fixed too
    parent = "base"
    child = "upper"
    xyz = [0, 0, 0.3]              # the child's frame in the parent's at rest
    rpy = [0, 0, 0]                # roll, pitch, yaw about fixed axes
    axis = [0, 0, 1]               # and axis2 of a universal, pitch of a helical joint
    lower = -3                     # also upper, velocity, effort, damping, friction, armature, stiffness,
                                   # spring_reference; a list where the joint has several coordinates
    mimic = { joint = "other", multiplier = 1, offset = 0 }
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import PhalanxError, listing
from ..robot.description import PER_COORDINATE, Description, Joint, Link
from ..robot.joints import joint_type
from .dh import read_dh
from .fields import Fields
from .saved import read_description

_TOP = (
    *("name", "gravity", "source", "floating_base", "link", "links", "joint", "joints"),
    *("visual", "visuals"),  # read by `visuals.of_table`
)
_LINK = ("name", "mass", "com", "inertia")
_JOINT = (
    *("name", "type", "parent", "child", "xyz", "rpy", "axis", "axis2", "pitch", "mimic"),
    *PER_COORDINATE,
)


def read_table(table: Mapping[str, Any], *, source: str) -> Description:
    """The description in a parsed TOML or JSON file: a saved robot, a DH table, or links and joints."""
    if "format" in table:
        return read_description(table, source=source)
    if "rows" in table or "row" in table:
        return read_dh(table, source=source)
    if {"link", "links", "joint", "joints"} & set(table):
        return read_links(table, source=source)
    raise PhalanxError(
        f"{source}: not a robot (keys: {listing(map(str, table)) or 'none'}); expected the rows of a "
        'Denavit-Hartenberg table ("rows"), "links" and "joints", or a robot saved by Phalanx ("format").'
    )


def read_links(table: Mapping[str, Any], *, source: str) -> Description:
    """The description in a parsed table of links and joints."""
    top = Fields(table, source, _TOP)
    top.text("source", "")
    links = [
        _link(Fields(e, f"{source}: link {i}", _LINK)) for i, e in enumerate(top.tables("links", "link"), 1)
    ]
    found = top.tables("joints", "joint") if "joints" in top or "joint" in top else []
    joints = [_joint(Fields(e, f"{source}: joint {i}", _JOINT)) for i, e in enumerate(found, 1)]
    return Description(
        top.text("name", "robot"),
        tuple(links),
        tuple(joints),
        top.triple("gravity", Description.gravity),
        floating_base=top.flag("floating_base", False),
        source=source,
    )


def _link(link: Fields) -> Link:
    name = link.text("name")
    link.where += f' ("{name}")'
    return Link(name, link.number("mass", 0.0), link.triple("com", (0.0, 0.0, 0.0)), link.inertia("inertia"))


def _joint(joint: Fields) -> Joint:
    name = joint.text("name")
    joint.where += f' ("{name}")'
    kind = joint_type(joint.text("type"), where=joint.where)
    several: dict[str, Any] = {key: _per_coordinate(joint, key) for key in PER_COORDINATE if key in joint}
    for given, missing, value in (("lower", "upper", math.inf), ("upper", "lower", -math.inf)):
        if given in several and missing not in several:
            several[missing] = (value,) * len(several[given])
    return Joint(
        name,
        kind.name,
        joint.text("parent"),
        joint.text("child"),
        origin=joint.xyz_rpy(),
        axis=joint.triple("axis", (0.0, 0.0, 1.0)),
        axis2=joint.triple("axis2", (0.0, 1.0, 0.0)),
        pitch=joint.number("pitch", 0.0),
        mimic=joint.mimic("mimic"),
        **several,
    )


def _per_coordinate(joint: Fields, key: str) -> tuple[float, ...]:
    unlimited = key in ("lower", "upper", "velocity", "effort")
    if isinstance(joint.table[key], list | tuple):
        return joint.numbers(key, None, unlimited=unlimited)
    return (joint.number(key, unlimited=unlimited),)
