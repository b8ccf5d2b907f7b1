# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Small robots as URDF text, and what is read from them."""

from __future__ import annotations

from phalanx.io.urdf import read_urdf
from phalanx.robot.description import Description, Joint

LINKS = '<link name="a"/><link name="b"/>'
ENDS = '<parent link="a"/><child link="b"/>'


def robot(body: str) -> Description:
    return read_urdf(f'<robot name="r">\n{body}\n</robot>', source="arm.urdf")


def one_joint(inside: str = "", kind: str = "revolute") -> Joint:
    return robot(f'{LINKS}<joint name="j" type="{kind}">{ENDS}{inside}</joint>').joints[0]


def one_link(inertial: str) -> Description:
    return robot(f'<link name="a">\n<inertial>{inertial}</inertial></link>')
