# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""SRDF: named configurations from its <group_state> elements; one warning counts the other elements."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import PhalanxError, nearest, shown, warn
from ..files import path_text, read_bytes
from ..robot.description import BASE, Configuration, Description
from ..robot.joints import FREE, WELD, joint_type
from .xml import Element, parse

ROOT_JOINT = "root_joint"  # what files call the joint under a floating base, as Pinocchio does
_PLURALS = {
    "disable_collisions": ("pair without collision checks", "pairs without collision checks"),
    "enable_collisions": ("pair with collision checks", "pairs with collision checks"),
    "end_effector": ("end effector", "end effectors"),
    "passive_joint": ("passive joint", "passive joints"),
    "rotor_params": ("table of rotors", "tables of rotors"),
}


def with_srdf(description: Description, source: Any) -> Description:
    """The description with the configurations of an SRDF file, a text of one or an open file."""
    text, label = _read(source)
    root = parse(text, source=label)
    if root.tag != "robot":
        raise PhalanxError(
            f"{label}:{root.line}: the root element is <{root.tag}>; expected <robot> of an SRDF file."
        )
    if root.find("link") is not None:
        raise PhalanxError(f"{label}: the file has links: it is URDF, not SRDF; expected <group_state>s.")
    reader = _SrdfReader(description, label, root)
    states: dict[str, dict[str, tuple[float, ...]]] = {}
    for state in root.findall("group_state"):
        reader.state(state, states)
    old = {c.name: c for c in description.configurations}
    for name, values in states.items():
        if values:
            old[name] = Configuration(name, tuple(values), tuple(values.values()))
    left_out = _left_out(root)
    if left_out:
        warn(f"{label}: left out, for only <group_state>s are read: {'; '.join(left_out)}.")
    return replace(
        description,
        configurations=tuple(old.values()),
        left_out=tuple(dict.fromkeys((*description.left_out, *left_out))),
    )


def _read(source: Any) -> tuple[str | bytes, str]:
    """The text of an SRDF file and its name in messages."""
    if isinstance(source, (str, bytes)) and source.lstrip()[:1] in ("<", b"<"):
        return source, "<srdf>"
    if hasattr(source, "read"):
        return source.read(), str(getattr(source, "name", "<file object>"))
    if not isinstance(source, (str, os.PathLike)):
        raise PhalanxError(f"with_srdf: got {shown(source)}, expected a path, a file object or XML text.")
    path = Path(os.path.expanduser(path_text(source, "with_srdf")))
    try:
        return read_bytes(str(path)), str(path)
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else str(error.strerror or error)
        raise PhalanxError(f'with_srdf: cannot read "{path}": {reason}. Expected an SRDF file.') from None


class _SrdfReader:
    """Elements to values of joints, with the robot and the file's name at hand for messages."""

    def __init__(self, description: Description, source: str, root: Element) -> None:
        self.source = source
        self.robot = description.name
        self.joints = {joint.name: joint for joint in description.joints}
        self.coupled = description.coupled
        bases = [x.attrib.get("name", "") for x in root.findall("virtual_joint")]
        self.bases = {name for name in (ROOT_JOINT, *bases) if name not in self.joints}

    def error(self, element: Element, message: str) -> PhalanxError:
        return PhalanxError(f"{self.source}:{element.line}: {message}")

    def state(self, state: Element, states: dict[str, dict[str, tuple[float, ...]]]) -> None:
        """Add the values of a <group_state> to those of the same name."""
        name = state.attrib.get("name", "")
        if not name:
            raise self.error(state, "a <group_state> has no name; expected one. Add it.")
        known = states.setdefault(name, {})
        for element in state.findall("joint"):
            joint, values = self.values(element, name)
            if joint is None:
                continue
            if known.get(joint, values) != values:
                raise self.error(
                    element,
                    f'<group_state> "{name}": joint "{element.attrib["name"]}" is at {list(known[joint])} '
                    f"and at {list(values)}; expected one value. States of one name are one: rename one.",
                )
            known[joint] = values
        self.follow(state, name, known)

    def values(self, element: Element, state: str) -> tuple[str | None, tuple[float, ...]]:
        """The joint of an element and its coordinates; no joint where it is fixed."""
        where, given = f'<group_state> "{state}"', element.attrib.get("name", "")
        name = BASE if given in self.bases else given
        if name != BASE and name not in self.joints:
            hint = nearest(given, self.joints, what="joints")
            message = f'{where}: robot "{self.robot}" has no joint "{given}";{hint}'
            raise self.error(
                element, f"{message} Load the robot of the file; edits afterwards keep its states."
            )
        kind = joint_type(FREE if name == BASE else self.joints[name].type)
        text = element.attrib.get("value", "")
        try:
            values = tuple(map(float, text.split()))
        except ValueError:
            values = ()
        if kind.name == WELD:
            return None, ()
        if len(values) != kind.nq or not all(map(math.isfinite, values)):
            raise self.error(
                element,
                f'{where}: joint "{given}" ({kind.name}) has the value "{text[:60]}"; expected {kind.nq} '
                f"finite number{'s' * (kind.nq > 1)}.",
            )
        return name, values

    def follow(self, state: Element, name: str, values: dict[str, tuple[float, ...]]) -> None:
        """Raise where a follower is not where its driver takes it; drop its value, for the driver has it."""
        for joint in [x for x in values if x != BASE and self.coupled and self.joints[x].mimic is not None]:
            mimic = self.joints[joint].mimic
            assert mimic is not None
            at = values.get(mimic.joint, (0.0,))[0]
            if abs(mimic.multiplier * at + mimic.offset - values[joint][0]) > 1e-6:
                raise self.error(
                    state,
                    f'<group_state> "{name}": joint "{joint}" is at {values[joint][0]:g}, but follows '
                    f'"{mimic.joint}", which takes it to {mimic.multiplier * at + mimic.offset:g}. Correct '
                    'one of them, or load with mimic="independent".',
                )


def _left_out(root: Element) -> list[str]:
    """One phrase for each kind of element that is no <group_state>, with the count."""
    counts: dict[str, int] = defaultdict(int)
    for element in root:
        if element.tag not in ("group_state", "virtual_joint"):
            counts[element.tag] += 1
    phrases = []
    for tag, count in counts.items():
        one, several = _PLURALS.get(tag, (f"SRDF {tag}", f"SRDF {tag}s"))
        phrases.append(f"{count} {one if count == 1 else several}")
    return phrases
