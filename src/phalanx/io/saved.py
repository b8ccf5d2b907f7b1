# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Saved robots: a description as JSON that preserves every bit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..errors import PhalanxError
from ..robot.description import (
    IDENTITY,
    PER_COORDINATE,
    Actuator,
    Configuration,
    Constraint,
    Description,
    FixedFrame,
    Joint,
    Link,
    LoopClosure,
    Mimic,
    Pose,
)
from .fields import Fields, brief

FORMAT = "phalanx-robot"
VERSION = 1

_TOP = ("format", "version", *(f.name for f in fields(Description) if f.name not in ("source", "origins")))
_LINK = tuple(f.name for f in fields(Link))
_JOINT = tuple(f.name for f in fields(Joint))
_FRAME = tuple(f.name for f in fields(FixedFrame))
_LOOP = tuple(f.name for f in fields(LoopClosure))
_ACTUATOR = tuple(f.name for f in fields(Actuator))
_CONFIGURATION = tuple(f.name for f in fields(Configuration))
_CONSTRAINT = tuple(f.name for f in fields(Constraint))
_LISTS = ("links", "joints", "frames", "loops", "constraints", "actuators", "configurations")
# Absent where they are as by default, so that older versions read the file.
_OPTIONAL = {f.name: f.default for f in fields(Description) if f.name in _LISTS[2:]}


def write_description(description: Description) -> str:
    """JSON text from which `read_description` returns an equal description."""
    head: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    head |= {key: _plain(getattr(description, key)) for key in _TOP[2:] if key not in _LISTS}
    # One link or joint a line: readable, and changes show in a diff.
    parts = [f'"{key}": {_dump(value, description)}' for key, value in head.items()]
    for key in _LISTS:
        items = getattr(description, key)
        if key in _OPTIONAL and items == _OPTIONAL[key]:
            continue
        lines = ",\n    ".join(_dump(_plain_item(item), description) for item in items)
        parts.append(f'"{key}": [\n    {lines}\n  ]' if lines else f'"{key}": []')
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


def read_description(table: Mapping[str, Any], *, source: str) -> Description:
    """The description in a parsed save file; `source` names the file in messages."""
    kind = table.get("format") if isinstance(table, Mapping) else None
    if kind != FORMAT:
        raise PhalanxError(
            f'{source}: "format" is {brief(kind)}, expected "{FORMAT}"; only robots written by '
            "robot.save are read this way."
        )
    version = table.get("version")
    if version != VERSION or isinstance(version, bool):
        raise PhalanxError(
            f"{source}: saved in version {brief(version)} of the format; this Phalanx reads "
            f"version {VERSION}. Save the robot again, or upgrade Phalanx."
        )
    top = Fields(table, source, _TOP)
    return Description(
        top.text("name"),
        tuple(_link(Fields(x, f"{source}: link {i}", _LINK)) for i, x in enumerate(top.tables("links"), 1)),
        tuple(
            _joint(Fields(x, f"{source}: joint {i}", _JOINT)) for i, x in enumerate(top.tables("joints"), 1)
        ),
        top.triple("gravity"),
        floating_base=top.flag("floating_base", False),
        base_armature=top.numbers("base_armature", None, ()),
        coupled=top.flag("coupled", True),
        frames=tuple(
            FixedFrame(frame.text("name"), frame.text("link"), _pose(frame, "pose"))
            for frame in _some(top, "frames", "frame", _FRAME)
        ),
        loops=tuple(_loop(loop) for loop in _some(top, "loops", "loop", _LOOP)),
        actuators=tuple(_actuator(x) for x in _some(top, "actuators", "actuator", _ACTUATOR))
        if "actuators" in top
        else None,
        configurations=tuple(
            Configuration(x.text("name"), _texts(x, "joints"), _rows(x, "values"))
            for x in _some(top, "configurations", "configuration", _CONFIGURATION)
        ),
        constraints=tuple(_constraint(each) for each in _some(top, "constraints", "constraint", _CONSTRAINT)),
        source=source,
    )


def _some(top: Fields, key: str, what: str, keys: tuple[str, ...]) -> list[Fields]:
    """The tables under a key that may be absent."""
    tables = top.tables(key) if key in top else []
    return [Fields(x, f"{top.where}: {what} {i}", keys) for i, x in enumerate(tables, 1)]


def _plain_item(
    item: Link | Joint | FixedFrame | LoopClosure | Actuator | Configuration | Constraint,
) -> dict[str, Any]:
    """The fields of an item that differ from their defaults."""
    return {
        f.name: _plain(value) for f in fields(item) if not _same(value := getattr(item, f.name), f.default)
    }


def _same(value: Any, default: Any) -> bool:
    # -0.0 == 0.0, but the file distinguishes them.
    return bool(value == default) and repr(value) == repr(default)


def _plain(value: Any) -> Any:
    if isinstance(value, Pose | Mimic):
        return {key: _plain(entry) for key, entry in value._asdict().items()}
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def _dump(value: Any, description: Description) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        raise PhalanxError(
            f"{description.where}: NaN in {brief(value)}; a robot is saved with numbers only."
        ) from None


def _link(link: Fields) -> Link:
    six = link.numbers("inertia", 6, Link.inertia)
    return Link(link.text("name"), link.number("mass", 0.0), link.triple("com", Link.com), six)


def _joint(joint: Fields) -> Joint:
    return Joint(
        joint.text("name"),
        joint.text("type"),
        joint.text("parent"),
        joint.text("child"),
        origin=_pose(joint, "origin"),
        after=_pose(joint, "after"),
        axis=joint.triple("axis", Joint.axis),
        axis2=joint.triple("axis2", Joint.axis2),
        pitch=joint.number("pitch", Joint.pitch),
        mimic=joint.mimic("mimic"),
        **{key: joint.numbers(key, None, (), unlimited=True) for key in PER_COORDINATE},
    )


def _loop(loop: Fields) -> LoopClosure:
    return LoopClosure(
        loop.text("name"),
        loop.text("type"),
        loop.text("predecessor"),
        loop.text("successor"),
        predecessor_pose=_pose(loop, "predecessor_pose"),
        successor_pose=_pose(loop, "successor_pose"),
        axis=loop.triple("axis", LoopClosure.axis),
        axis2=loop.triple("axis2", LoopClosure.axis2),
        pitch=loop.number("pitch", LoopClosure.pitch),
    )


def _actuator(actuator: Fields) -> Actuator:
    return Actuator(
        actuator.text("name"),
        _texts(actuator, "joints"),
        _rows(actuator, "arms"),
        gear=actuator.number("gear", Actuator.gear),
        rotor_inertia=actuator.number("rotor_inertia", Actuator.rotor_inertia),
        lower=actuator.number("lower", Actuator.lower, unlimited=True),
        upper=actuator.number("upper", Actuator.upper, unlimited=True),
    )


def _texts(item: Fields, key: str) -> tuple[str, ...]:
    """The list of texts at `key`."""
    return tuple(
        Fields({key: x}, f'{item.where}: "{key}" {i}', (key,)).text(key)
        for i, x in enumerate(item.tables(key), 1)
    )


def _rows(item: Fields, key: str) -> tuple[tuple[float, ...], ...]:
    """The lists of numbers at `key`, one for each joint."""
    rows = [
        Fields({key: x}, f'{item.where}: "{key}" {i}', (key,)).numbers(key, None)
        for i, x in enumerate(item.tables(key), 1)
    ]
    if len(rows) != len(item.tables("joints")):
        raise item.refuse(key, "one list of numbers for each joint")
    return tuple(rows)


def _constraint(each: Fields) -> Constraint:
    return Constraint(
        each.text("name"),
        each.text("kind"),
        first=each.text("first", ""),
        second=each.text("second", ""),
        first_pose=_pose(each, "first_pose"),
        second_pose=_pose(each, "second_pose"),
        joints=each.texts("joints"),
        factors=each.numbers("factors", None, ()),
        offset=each.number("offset", 0.0),
        drivers=each.texts("drivers"),
        driver_factors=each.numbers("driver_factors", None, ()),
        driver_offset=each.number("driver_offset", 0.0),
        polynomial=each.numbers("polynomial", None, ()),
    )


def _pose(joint: Fields, key: str) -> Pose:
    if key not in joint:
        return IDENTITY
    pose = Fields(joint.table[key], f'{joint.where}: "{key}"', Pose._fields)
    return Pose(pose.numbers("rotation", 9), pose.triple("translation"))
