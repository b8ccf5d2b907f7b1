# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Transmissions of URDF as actuators with gears and rotors: from one motor to one joint, and differentials.

A differential has the joint forces j1 (a1 u1 + a2 u2) and j2 (a1 u1 - a2 u2), a and j being the reductions of
its motors and joints, as `transmission_interface::DifferentialTransmission` of ros_control.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from phalanx.errors import PhalanxError
from phalanx.io.xml import Element
from phalanx.robot.description import Actuator, Joint
from phalanx.robot.joints import joint_type

_SIMPLE, _DIFFERENTIAL = "SimpleTransmission", "DifferentialTransmission"
_REDUCTION = "mechanicalReduction"
_ROTOR, _GEAR = "drake:rotor_inertia", "drake:gear_ratio"


Complain = Callable[[Element, str], PhalanxError]


def read_transmissions(
    elements: Iterable[Element], joints: Iterable[Joint], error: Complain
) -> tuple[tuple[Actuator, ...] | None, list[Element]]:
    """The actuators, None where there is no transmission that is read; and the elements that are not.

    These have another type, another number of joints or motors, or a joint that does not move.
    """
    moving = {j.name for j in joints if joint_type(j.type).nv == 1}
    made: dict[str, Actuator] = {}
    others = []
    for element in elements:
        found = list(_actuators(element, moving, error))
        if not found:
            others.append(element)
        for actuator in found:
            if any(
                (a.joints, a.arms, a.gear) == (actuator.joints, actuator.arms, actuator.gear)
                for a in made.values()
            ):
                continue  # one motor with several interfaces has a transmission for each
            name = next(n for n in _names(actuator.name, actuator.joints[0]) if n not in made)
            made[name] = replace(actuator, name=name)
    return tuple(made.values()) or None, others


def _actuators(element: Element, moving: set[str], error: Complain) -> Iterator[Actuator]:
    """The actuators of a transmission; none if it is not read."""
    where = f'transmission "{element.attrib.get("name", "")}"'
    kind, motors, driven = _type(element), element.findall("actuator"), element.findall("joint")
    names = tuple(x.attrib.get("name", "") for x in driven)
    if not set(names) <= moving:
        return
    if kind in ("", _SIMPLE) and len(motors) == len(driven) == 1:
        yield _motor(element, motors[0], driven[0], where, error)
    elif kind == _DIFFERENTIAL and len(motors) == len(set(names)) == 2:
        (a, b), (first, second) = _by_role(motors), _by_role(driven)
        names = first.attrib["name"], second.attrib["name"]
        ratios = [_reduction((x,), where, error) or 1.0 for x in (first, second)]
        for motor, sign in ((a, 1.0), (b, -1.0)):
            gear = _reduction((motor,), where, error) or 1.0
            yield Actuator(motor.attrib.get("name", ""), names, ((ratios[0],), (sign * ratios[1],)), gear)


def _by_role(elements: list[Element]) -> list[Element]:
    """Motors or joints in the order of their roles, "actuator1" before "actuator2"."""

    def role(element: Element) -> str:
        child = element.find("role")
        return "" if child is None else (child.text or "").strip()

    return sorted(elements, key=role)


def _names(name: str, joint: str) -> Iterable[str]:
    """Names that an actuator may have, the better ones first: files repeat "motor1" for every joint."""
    yield from (x for x in (name, joint) if x)
    while True:
        joint += "_"
        yield joint


def _type(element: Element) -> str:
    """The type of a transmission without its package, in an element or, of old, in an attribute."""
    child = element.find("type")
    text = element.attrib.get("type", "") if child is None else child.text or ""
    return text.strip().rpartition("/")[2]


def _motor(element: Element, motor: Element, joint: Element, where: str, error: Complain) -> Actuator:
    """The actuator of a simple transmission; rotors are as Drake writes them."""
    gear = _reduction((motor, joint, element), where, error)
    own, rotor = (motor.find(tag) for tag in (_GEAR, _ROTOR))
    if own is not None:
        ratio = _number(own, own.attrib.get("value"), where, error)
        if gear not in (None, 1.0, ratio):
            raise error(
                motor, f"{where}: <{_REDUCTION}> is {gear:g}, <{_GEAR}> {ratio:g}; expected one gear."
            )
        gear = ratio
    inertia = 0.0 if rotor is None else _number(rotor, rotor.attrib.get("value"), where, error, signed=False)
    return Actuator(motor.attrib.get("name", ""), (joint.attrib["name"],), ((1.0,),), gear or 1.0, inertia)


def _reduction(holders: Iterable[Element], where: str, error: Complain) -> float | None:
    """The reduction that the first of some elements states, if any does."""
    for holder in holders:
        found = holder.find(_REDUCTION)
        if found is not None:
            return _number(found, found.text, where, error)
    return None


def _number(found: Element, text: str | None, where: str, error: Complain, *, signed: bool = True) -> float:
    """A gear, which is not zero, or an inertia, which is not negative."""
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (value == 0.0 if signed else value < 0.0):
        expected = "a finite number that is not 0" if signed else "a finite number >= 0"
        raise error(found, f'{where}: <{found.tag}> is "{(text or "").strip()[:60]}"; expected {expected}.')
    return value
