# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Denavit-Hartenberg tables: rows of four parameters, a mass and an inertia per link.

A table, as TOML or JSON gives it (lengths in m, angles in rad, masses in kg, SI throughout):

    name = "arm"                   # optional, as everything but the rows
    convention = "standard"        # or "modified"
    angles = "radians"             # or "degrees": alpha, theta, rpy, and the limits lower, upper
                                   # and velocity of revolute joints
    gravity = [0, 0, -9.81]        # in the base frame
    source = "where the numbers come from"
    base = { xyz = [0, 0, 0.5], rpy = [0, 0, 0] }    # frame 0 in the base frame; or a 4x4 matrix
    tool = { xyz = [0, 0, 0.1] }                     # a frame "tool" in the last link's frame

    [[row]]                        # in JSON: "rows": [{…}, …]
    a = 0.4
    alpha = 0
    d = 0
    theta = 0                      # an offset where the joint turns, as d is where it slides
    type = "revolute"              # or "prismatic", or "fixed": a row without a joint
    direction = 1                  # or -1: q counts the other way round
    name = "joint1"                # of the joint; `link` names the link
    mass = 2
    com = [-0.2, 0, 0]             # in the link's own DH frame
    inertia = [0, 0.03, 0.03]      # 3x3, [xx, xy, xz, yy, yz, zz], [xx, yy, zz] or { xx = 0, … };
                                   # in the DH axes
    inertia_about = "com"          # or "frame"
    lower = -3                     # limits: lower, upper, velocity, effort
    armature = 0.1                 # rotor inertia felt at the joint; or motor_inertia and gear_ratio
    damping = 0.5                  # or motor_damping and gear_ratio
    friction = 0.1                 # or motor_friction and gear_ratio
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import PhalanxError
from ..reproducible import product, rotation_x, rotation_z, times
from ..robot.description import Description, Joint, Link, Pose, Triple
from .fields import Fields

CONVENTIONS = ("standard", "modified")
_TOP = (
    *("name", "convention", "angles", "gravity", "source", "base", "tool", "row", "rows"),
    *("visual", "visuals"),  # read by `visuals.of_table`
)
ROW = (
    *("a", "alpha", "d", "theta", "type", "direction", "name", "link"),
    *("mass", "com", "inertia", "inertia_about"),
    *("lower", "upper", "velocity", "effort", "damping", "friction", "armature"),
    *("stiffness", "spring_reference"),
    *("gear_ratio", "motor_inertia", "motor_damping", "motor_friction"),
)
# Keys of other programs, with what to write here.
_ELSEWHERE = {
    "offset": 'the offset of q is "theta" where the joint turns and "d" where it slides',
    "sigma": 'write type = "revolute" or type = "prismatic"',
    "flip": "write direction = -1 for a joint that counts backwards",
    "sign": "write direction = -1 for a joint that counts backwards",
    "qlim": 'write "lower" and "upper"',
    "limits": 'write "lower" and "upper", "velocity" and "effort"',
    "m": 'write "mass"',
    "r": 'write "com", the mass centre in the link\'s own frame',
    "cog": 'write "com", the mass centre in the link\'s own frame',
    "I": 'write "inertia"; its six entries go xx, xy, xz, yy, yz, zz',
    "G": 'write "gear_ratio"',
    "Jm": 'write "motor_inertia", with a "gear_ratio"; or "armature" at the joint',
    "B": 'write "motor_damping", with a "gear_ratio"; or "damping" at the joint',
    "Tc": 'write "motor_friction", with a "gear_ratio"; or "friction" at the joint',
    "tool": "the tool goes beside the rows, not in one of them",
    "base": "the base goes beside the rows, not in one of them",
}
# What a motor's quantity is multiplied by to be felt at the joint.
_REFLECTED = {
    "armature": ("motor_inertia", 2),
    "damping": ("motor_damping", 2),
    "friction": ("motor_friction", 1),
}


def read_dh(table: Mapping[str, Any], *, source: str) -> Description:
    """The description of a robot from a parsed table; `source` names the file in messages."""
    top = Fields(table, source, _TOP)
    top.text("source", "")
    degrees = top.choice("angles", ("radians", "degrees"), "radians") == "degrees"
    gravity = top.triple("gravity", Description.gravity)
    name = top.text("name", "robot")
    standard = top.choice("convention", CONVENTIONS, "standard") == "standard"
    links = [Link("base")]
    joints: list[Joint] = []
    for number, entry in enumerate(top.tables("rows", "row"), start=1):
        row = Fields(entry, f"{source}: row {number}", ROW, _ELSEWHERE)
        links.append(_link(row, number))
        joints.append(_joint(row, number, links[-2].name, links[-1].name, standard, degrees))
    if not joints:
        raise PhalanxError(f'{source}: "rows" is empty; expected one row per joint.')
    joints[0] = _on_base(joints[0], top.pose("base", degrees=degrees))
    if "tool" in top:
        tool = top.pose("tool", degrees=degrees)
        joints.append(Joint("tool", "fixed", links[-1].name, "tool", origin=tool))
        links.append(Link("tool"))
    return Description(name, tuple(links), tuple(joints), gravity, source=source)


def description_from_dh(
    rows: Iterable[Mapping[str, Any]],
    *,
    convention: str = "standard",
    name: str = "robot",
    gravity: Any = (0.0, 0.0, -9.81),
    base: Any = None,
    tool: Any = None,
    angles: str = "radians",
) -> Description:
    """The description of a robot from rows with the keys of a table's rows.

    `base` and `tool` are None, a `Pose`, a translation, a 4x4 matrix or {xyz, rpy}.
    """
    if isinstance(rows, Mapping | str | bytes | np.ndarray) or not isinstance(rows, Iterable):
        raise PhalanxError(f"from_dh: rows is {type(rows).__name__}; expected a list of rows, one per joint.")
    table: dict[str, Any] = {"rows": list(rows), "convention": convention, "name": name, "angles": angles}
    table |= {key: value for key, value in (("base", base), ("tool", tool)) if value is not None}
    return read_dh({**table, "gravity": gravity}, source="from_dh")


def standard_pose(a: float, alpha: float, d: float, theta: float) -> Pose:
    """Rz(theta) Tz(d) Tx(a) Rx(alpha): a row in the convention of Denavit and Hartenberg (1955)."""
    rotation = rotation_z(theta)
    return Pose.of(
        product(rotation, rotation_x(alpha)), times(rotation, (a, 0.0, 0.0)) + np.array((0.0, 0.0, d))
    )


def modified_pose(a: float, alpha: float, d: float, theta: float) -> Pose:
    """Rx(alpha) Tx(a) Rz(theta) Tz(d): a row in the convention of Craig (1986)."""
    twist = rotation_x(alpha)
    return Pose.of(product(twist, rotation_z(theta)), times(twist, (a, 0.0, d)) + 0.0)


def inertia_about_com(mass: float, com: Triple, inertia: tuple[float, ...]) -> tuple[float, ...]:
    """The inertia about the mass centre from that about the frame (parallel axes), packed."""
    x, y, z = com
    shift = (y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y)
    return tuple(i - mass * s for i, s in zip(inertia, shift, strict=True))


def _link(row: Fields, number: int) -> Link:
    mass = row.number("mass", 0.0)
    com = row.triple("com", Link.com)
    inertia = row.inertia("inertia")
    if row.choice("inertia_about", ("com", "frame"), "com") == "frame":
        inertia = inertia_about_com(mass, com, inertia)
    return Link(row.text("link", f"link{number}"), mass, com, inertia)


def _joint(row: Fields, number: int, parent: str, child: str, standard: bool, degrees: bool) -> Joint:
    kind = row.choice("type", ("revolute", "prismatic", "fixed"), "revolute")
    unit = math.radians(1.0) if degrees else 1.0
    a, d = row.number("a", 0.0), row.number("d", 0.0)
    alpha, theta = (_angle(row.number(key, 0.0), degrees) for key in ("alpha", "theta"))
    # The offsets d and theta commute with the motion, so a modified row needs no `after`.
    pose = standard_pose(a, alpha, d, theta) if standard else modified_pose(a, alpha, d, theta)
    direction = row.number("direction", 1.0)
    if direction not in (1.0, -1.0):
        raise row.refuse("direction", "1, or -1 for a joint that counts backwards")
    values: dict[str, Any] = {
        "axis": (0.0, 0.0, direction),
        "after" if standard else "origin": pose,
        **limits(row, unit if kind == "revolute" else 1.0),
        **{key: _reflected(row, key) for key in _REFLECTED},
    }
    return Joint(row.text("name", f"joint{number}"), kind, parent, child, **values)


def limits(row: Fields, unit: float = 1.0) -> dict[str, tuple[float, ...]]:
    """The limits of a joint with one coordinate; `unit` converts positions and velocities."""
    found: dict[str, tuple[float, ...]] = {}
    if "lower" in row or "upper" in row:
        lower = row.number("lower", -math.inf, unlimited=True) * unit
        upper = row.number("upper", math.inf, unlimited=True) * unit
        if lower > upper:
            raise PhalanxError(f"{row.where}: lower = {lower:g} is above upper = {upper:g}; swap them.")
        found |= {"lower": (lower,), "upper": (upper,)}
    for key, scale in (("velocity", unit), ("effort", 1.0)):
        if key in row:
            found[key] = (row.number(key, unlimited=True) * scale,)
    for key, scale in (("stiffness", 1.0), ("spring_reference", unit)):
        if key in row:
            found[key] = (row.number(key) * scale,)
    return found


def _reflected(row: Fields, key: str) -> tuple[float, ...]:
    motor, power = _REFLECTED[key]
    if motor not in row:
        return (row.number(key),) if key in row else ()
    if key in row:
        raise PhalanxError(f'{row.where}: both "{key}" and "{motor}" are given; expected one of them.')
    if "gear_ratio" not in row:
        raise PhalanxError(
            f'{row.where}: "{motor}" needs a "gear_ratio"; add it, or give "{key}" at the joint.'
        )
    # Motors may turn against their joint: the sign of the ratio matters to neither result.
    ratio = abs(row.number("gear_ratio"))
    felt = row.number(motor) * (ratio * ratio if power == 2 else ratio)
    if not math.isfinite(felt):
        raise row.refuse("gear_ratio", f'a ratio at which "{motor}" is a finite {key} at the joint')
    return (felt,)


def _angle(value: float, degrees: bool) -> float:
    return math.radians(value) if degrees else value


def _on_base(joint: Joint, base: Pose) -> Joint:
    return joint if base == Pose() else replace(joint, origin=base @ joint.origin)
