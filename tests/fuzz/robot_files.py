# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Robot files of every format: valid ones from a seed, and what becomes of them when they are damaged."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from random import Random
from typing import Any

from . import elements, tables
from .elements import Node, leaf, node

FORMATS = ("urdf", "mjcf", "dh", "table", "saved", "sdf")
SUFFIXES = {
    "urdf": (".urdf", ".xml"),
    "mjcf": (".xml", ".mjcf"),
    "sdf": (".sdf",),
    "dh": (".toml", ".json"),
    "table": (".toml", ".json"),
    "saved": (".json",),
}


@dataclass(frozen=True)
class RobotFile:
    """What is loaded: the content, the ending of its name, and how it is handed over."""

    content: str | bytes
    suffix: str
    way: str  # "path", "text", "bytes" or "object"
    options: dict[str, Any]


def robot_file(kind: str, seed: int, *, damaged: bool = True) -> RobotFile:
    """A file of some format from a seed; one in sixteen, or with `damaged=False` every one, is valid."""
    rng = Random(f"{kind} {seed}")
    suffix = rng.choice(SUFFIXES[kind])
    changes = rng.choice((0, *(1,) * 7, *(2,) * 4, *(3,) * 3, 8)) if damaged else 0
    content: str | bytes
    if kind in ("urdf", "mjcf", "sdf"):
        root = {"urdf": urdf, "mjcf": mjcf, "sdf": sdf}[kind](rng)
        for _ in range(changes):
            elements.damage(root, rng)
        content, spoil = elements.written(root), elements.damaged_text
    else:
        table = {"dh": dh, "table": links_and_joints, "saved": saved}[kind](rng)
        for _ in range(changes):
            tables.damage(table, rng)
        toml = suffix == ".toml"
        content, spoil = tables.as_toml(table) if toml else tables.as_json(table), tables.damaged_text
    if damaged and rng.random() < 0.25:
        content = spoil(content, rng)
    way = rng.choice(("path", "path", "text", "bytes", "object"))
    if damaged and rng.random() < 0.1:
        content, way = elements.damaged_bytes(content, rng), rng.choice(("path", "bytes", "object"))
    if damaged and rng.random() < 0.05:
        suffix = rng.choice(("", ".urdf", ".xml", ".json", ".toml", ".sdf", ".xacro", ".URDF", ".png"))
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["floating_base"] = True
    if rng.random() < 0.2:
        options["mimic"] = "independent"
    if rng.random() < 0.2:
        options["strict"] = True
    return RobotFile(content, suffix, way, options)


# ------------------------------------------------------------------- numbers


def _triple(rng: Random, size: float = 1.0) -> list[float]:
    return [rng.uniform(-size, size) for _ in range(3)]


def _axis(rng: Random) -> list[float]:
    return rng.choice(([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.6, 0.8], _triple(rng)))


def _moments(rng: Random) -> list[float]:
    a, b, c = (rng.uniform(0.1, 1.0) for _ in range(3))
    return [b + c, a + c, a + b]


def _parents(rng: Random, most: int = 8) -> list[int]:
    """The parent of each link but the first."""
    n = rng.randrange(most)
    return [rng.randrange(i + 1) if rng.random() < 0.4 else i for i in range(n)]


# ------------------------------------------------------------------- formats


def urdf(rng: Random) -> Node:
    """A valid URDF."""
    parents = _parents(rng)
    links = [node("link", _urdf_inertial(rng), name=f"link{i}") for i in range(len(parents) + 1)]
    joints, drivers = [], list[str]()
    for i, parent in enumerate(parents):
        kind = rng.choice(("revolute", "revolute", "continuous", "prismatic", "fixed", "floating", "planar"))
        parts = [node("parent", link=f"link{parent}"), node("child", link=f"link{i + 1}")]
        parts += [node("origin", xyz=_triple(rng), rpy=_triple(rng, 3.0)), node("axis", xyz=_axis(rng))]
        if kind in ("revolute", "prismatic"):
            parts.append(node("limit", lower=-1.0, upper=1.0, effort=10.0, velocity=2.0))
            parts.append(node("dynamics", damping=0.1, friction=0.2))
        if kind in ("revolute", "continuous", "prismatic"):
            if drivers and rng.random() < 0.3:
                parts.append(node("mimic", joint=rng.choice(drivers), multiplier=0.5, offset=0.1))
            drivers.append(f"joint{i}")
        joints.append(node("joint", *parts, name=f"joint{i}", type=kind))
    both = [*links, *joints]
    if rng.random() < 0.3:
        rng.shuffle(both)
    extras = [node("material", node("color", rgba="1 0 0 1"), name="red"), node("gazebo", reference="link0")]
    return node("robot", *both, *extras[: rng.randrange(3)], name="robot")


def _urdf_inertial(rng: Random) -> Node:
    xx, yy, zz = _moments(rng)
    return node(
        "inertial",
        node("origin", xyz=_triple(rng), rpy=_triple(rng)),
        node("mass", value=rng.uniform(0.1, 5.0)),
        node("inertia", ixx=xx, iyy=yy, izz=zz, ixy=0.0, ixz=0.0, iyz=0.0),
    )


def mjcf(rng: Random) -> Node:
    """A valid MJCF model."""
    bodies = [node("worldbody")]
    joints: list[str] = []
    for i, parent in enumerate([0, *(p + 1 for p in _parents(rng, 6))]):
        body = node("body", name=f"body{i}", pos=_triple(rng), euler=_triple(rng, 90.0))
        if i == 0 and rng.random() < 0.3:
            body.children.append(node("freejoint", name="free"))
        else:
            for k in range(rng.choice((0, 1, 1, 1, 2))):
                kind = rng.choice(("hinge", "hinge", "slide", "ball")) if k == 0 else "hinge"
                names = {"name": f"joint{i}_{k}", "type": kind, "pos": _triple(rng, 0.1)}
                if kind != "ball":
                    joints.append(f"joint{i}_{k}")
                    names |= {"axis": _axis(rng), "range": [-50.0, 50.0], "armature": 0.1, "damping": 0.5}
                body.children.append(node("joint", **names))
                if kind == "ball":  # nothing may turn after it
                    break
        if rng.random() < 0.5:
            body.children.append(
                node("inertial", pos=_triple(rng), mass=rng.uniform(0.1, 3.0), diaginertia=_moments(rng))
            )
        else:
            shape = rng.choice(("sphere", "capsule", "box", "cylinder", "ellipsoid"))
            body.children.append(node("geom", type=shape, size=[0.1, 0.2, 0.3], pos=_triple(rng)))
        body.children.append(node("site", name=f"site{i}", pos=_triple(rng)))
        bodies[parent].children.append(body)
        bodies.append(body)
    parts = [
        node("compiler", angle=rng.choice(("degree", "radian")), autolimits="true"),
        node("option", gravity=[0.0, 0.0, -9.81], timestep=0.002),
        node("default", node("geom", density=1000.0), node("joint", frictionloss=0.1)),
        node("asset", node("material", name="red", rgba="1 0 0 1")),
        bodies[0],
    ]
    if len(joints) > 1:
        one, other = rng.sample(joints, 2)
        parts.append(node("equality", node("joint", joint1=one, joint2=other, polycoef="0 1 0 0 0")))
        parts.append(node("actuator", node("motor", joint=one, gear=50.0)))
        parts.append(node("tendon", node("fixed", node("joint", joint=one, coef=1.0), name="tendon")))
    parts += rng.sample(
        [
            node("include", file="other.xml"),
            node("worldbody", node("replicate", node("geom", size=0.1), count=5, euler="0 0 10")),
            node("option", node("flag", gravity="disable", equality="disable")),
            node("contact", node("exclude", body1="body0", body2="world")),
            node("asset", node("mesh", name="m", file="no.stl")),
            node("size", memory="1M"),
        ],
        rng.choice((0, 0, 0, 1)),
    )
    return node("mujoco", *parts, model="robot")


def sdf(rng: Random) -> Node:
    """A valid SDF model."""
    parents = _parents(rng)
    model = node("model", name="robot")
    for i in range(len(parents) + 1):
        xx, yy, zz = (leaf(f"i{k}{k}", x) for k, x in zip("xyz", _moments(rng), strict=True))
        inertial = node("inertial", leaf("pose", [*_triple(rng), 0.0, 0.0, 0.0]), leaf("mass", 1.0))
        inertial.children.append(node("inertia", xx, yy, zz, leaf("ixy", 0.0)))
        model.children.append(
            node("link", leaf("pose", [*_triple(rng), *_triple(rng)]), inertial, name=f"link{i}")
        )
    for i, parent in enumerate(parents):
        kind = rng.choice(("revolute", "prismatic", "fixed", "ball", "universal", "continuous", "screw"))
        axis = node("axis", leaf("xyz", _axis(rng), expressed_in="__model__"))
        axis.children.append(node("limit", leaf("lower", -1.0), leaf("upper", 1.0), leaf("effort", 5.0)))
        parts = [leaf("parent", f"link{parent}"), leaf("child", f"link{i + 1}"), axis]
        model.children.append(node("joint", *parts, name=f"joint{i}", type=kind))
    return node("sdf", model, version="1.7")


def dh(rng: Random) -> dict[str, Any]:
    """A valid Denavit-Hartenberg table."""
    rows = []
    for i in range(rng.randrange(1, 7)):
        row: dict[str, Any] = {"a": rng.uniform(-1, 1), "alpha": rng.uniform(-2, 2), "d": rng.uniform(-1, 1)}
        row |= {"theta": rng.uniform(-3, 3), "type": rng.choice(("revolute", "prismatic", "fixed"))}
        row |= {"mass": 1.5, "com": _triple(rng), "inertia": _moments(rng)}
        if rng.random() < 0.3:
            row |= {"name": f"axis{i}", "link": f"part{i}"}
        if rng.random() < 0.3 and row["type"] != "fixed":
            row |= {"motor_inertia": 1e-4, "gear_ratio": 50.0, "lower": -1.0, "upper": 1.0, "velocity": 3.0}
        rows.append(row)
    table: dict[str, Any] = {"name": "arm", "convention": rng.choice(("standard", "modified"))}
    table |= {"angles": rng.choice(("radians", "degrees")), "gravity": [0, 0, -9.81]}
    table |= {"base": {"xyz": _triple(rng), "rpy": _triple(rng)}, "tool": {"xyz": _triple(rng)}}
    return table | {rng.choice(("row", "rows")): rows}


def links_and_joints(rng: Random) -> dict[str, Any]:
    """A valid table of links and joints."""
    parents = _parents(rng)
    links = [
        {"name": f"link{i}", "mass": 1.0, "com": _triple(rng), "inertia": _moments(rng)}
        for i in range(len(parents) + 1)
    ]
    joints: list[dict[str, Any]] = []
    for i, parent in enumerate(parents):
        kind = rng.choice(("revolute", "prismatic", "fixed", "helical", "universal", "spherical", "planar"))
        joint: dict[str, Any] = {"name": f"joint{i}", "type": kind, "parent": f"link{parent}"}
        joint |= {"child": f"link{i + 1}", "xyz": _triple(rng), "rpy": _triple(rng), "axis": _axis(rng)}
        joint |= {"axis2": [0.9, 0.1, -0.4], "pitch": 0.1} if kind in ("universal", "helical") else {}
        if kind in ("revolute", "prismatic"):
            joint |= {"lower": -1.0, "upper": [1.0], "armature": 0.1}
            if joints and joints[0]["type"] in ("revolute", "prismatic") and rng.random() < 0.4:
                joint["mimic"] = {"joint": joints[0]["name"], "multiplier": 2.0, "offset": 0.0}
        joints.append(joint)
    return {"name": "robot", "gravity": [0, 0, -9.81], "links": links, "joints": joints}


def saved(rng: Random) -> dict[str, Any]:
    """A valid saved robot."""
    table = copy.deepcopy(links_and_joints(rng))
    for joint in table["joints"]:
        del joint["rpy"]
        turn = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
        joint["origin"] = {"rotation": turn, "translation": joint.pop("xyz")}
        for key in ("lower", "upper", "armature"):
            if key in joint and not isinstance(joint[key], list):
                joint[key] = [joint[key]]
    for link in table["links"]:
        xx, yy, zz = link["inertia"]
        link["inertia"] = [xx, 0.0, 0.0, yy, 0.0, zz]
    return {"format": "phalanx-robot", "version": 1, "floating_base": False, "coupled": True, **table}
