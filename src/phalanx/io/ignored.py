# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot file has and a robot leaves out, in one phrase for each kind and one warning for each file.

Shapes, materials, cameras and lights are not named: nearly every file has them, and dynamics need none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from phalanx.errors import listing, warn
from phalanx.io.xml import Element
from phalanx.robot.constraint import constraints_of, not_enforced
from phalanx.robot.description import Description

MOST = 5  # names of a kind that a message lists
Item = tuple[str, str]  # of URDF: kind, name
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


def counted(kind: str, several: str = "", *, count: int, note: str = "") -> list[str]:
    """A list with a phrase such as "2 sensors (note)"; an empty list where `count` is 0."""
    if not count:
        return []
    word = kind if count == 1 else several or f"{kind}s"
    return [f"{count} {word}{f' ({note})' * bool(note)}"]


def named(kind: str, several: str = "", *, names: Collection[str]) -> list[str]:
    """An entry about several elements, listed by name."""
    return counted(kind, several, count=len(names), note=listing(names, most=MOST))


def leaving_out(description: Description, phrases: Iterable[str]) -> Description:
    """The description with what it leaves out; one warning names that, its loops and other constraints."""
    left_out = tuple(phrases)
    loops = named("loop", names=[f"{x.name}: {x.predecessor} to {x.successor}" for x in description.loops])
    held = named("constraint", names=[x.name for x in description.constraints])
    if loops or held or left_out:
        where = ""
        if constraints_of(description):
            what = "loops and constraints" if loops and held else "loops" if loops else "constraints"
            where = f" The {what} are kept as robot.constraints, which simulations hold."
        if open_loops := not_enforced(description):
            where += f" Loops of these types are kept as robot.loops alone: {listing(open_loops, most=MOST)}."
        warn(
            f"{description.where}: left out, for they are not part of a tree of rigid bodies: "
            f"{'; '.join((*loops, *held, *left_out))}.{where} Remove them from the file if they do "
            "not matter."
        )
    return replace(description, left_out=left_out) if left_out else description


# ------------------------------------------------------------------- URDF


def left_out(element: Element) -> Iterator[Item]:
    """The kind and name of each part of an element of the robot that is neither link, joint nor loop."""
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
    """What is ignored of a joint: its safety controller."""
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
