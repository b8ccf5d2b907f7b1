# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a URDF file has beside links, joints and loops: drives, sensors and elements of other programs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from phalanx.io.ignored import counted, named
from phalanx.io.xml import Element

_SILENT = ("material", "mujoco")  # colours; where a compiler finds meshes
_KINDS = {  # of elements of the robot
    "transmission": "transmission",
    "ros2_control": "ros2_control system",
    "sensor": "sensor",
}
# Inside <gazebo>: what moves or measures bodies. The rest is about colours and contacts.
_GAZEBO = {
    "plugin": "Gazebo plugin",
    "sensor": "sensor",
    "joint": "Gazebo joint",
    "springStiffness": "Gazebo spring",
}
_WEIGHTLESS = "link without gravity in Gazebo"
_PLURALS = {_WEIGHTLESS: "links without gravity in Gazebo"}
_NAMED = ("coupling", "Gazebo joint")  # they tie links to each other

Item = tuple[str, str]  # kind, name


def left_out(element: Element) -> Iterator[Item]:
    """The kind and name of each thing in an element of the robot that is neither link, joint nor loop."""
    if element.tag == "gazebo":
        for part in element:
            if part.tag in _GAZEBO:
                yield _GAZEBO[part.tag], part.attrib.get("name", "")
            elif part.tag == "turnGravityOff" and (part.text or "").strip() in ("true", "1"):
                yield _WEIGHTLESS, ""
    elif element.tag == "coupling" or element.tag in _KINDS:
        yield _KINDS.get(element.tag, element.tag), element.attrib.get("name", "")
    elif element.tag not in _SILENT and not element.tag.startswith("xacro:"):
        yield f"<{element.tag}>", ""


def soft_limits(joint: Element) -> Iterator[Item]:
    """The same of a joint: its safety controller."""
    if joint.find("safety_controller") is not None:
        yield "safety controller", ""


def summary(items: Iterable[Item]) -> list[str]:
    """One phrase for each kind: how many there are, and the names of what ties links together."""
    groups: dict[str, list[str]] = defaultdict(list)
    for kind, name in items:
        groups[kind].append(name)
    phrases: list[str] = []
    for kind, names in groups.items():
        several = _PLURALS.get(kind, kind if kind.startswith("<") else "")
        phrases += named(kind, names=names) if kind in _NAMED else counted(kind, several, count=len(names))
    return phrases
