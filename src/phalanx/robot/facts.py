# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a robot is made of, as plain data."""

from __future__ import annotations

from typing import Any

from .assembly import BASE
from .description import Constraint, LoopClosure
from .joints import FREE
from .robot import Robot


def describe(robot: Robot) -> dict[str, Any]:
    """Return the facts as plain data, one entry of `joints` per link."""
    floating = BASE in robot.q_slices
    names = [BASE] * floating + list(robot.joint_names)
    types = [FREE] * floating + list(robot.joint_types)
    return {
        "name": robot.name,
        "nq": robot.nq,
        "nv": robot.nv,
        "n_links": robot.n_links,
        "depth": robot.depth,
        "is_serial": robot.is_serial,
        "floating_base": floating,
        "total_mass": robot.total_mass,
        "fixed_mass": sum(link.mass for link in robot.description.links if robot.frames[link.name].link < 0),
        "gravity": robot.gravity,
        "joints": _joints(robot, names, types),
        "actuators": _actuators(robot),
        "actuation_stated": robot.actuated.is_stated,
        "configurations": dict(robot.configurations),
        "frames": list(robot.frame_names),
        "loops": [_loop(loop) for loop in robot.loops],
        "constraints": [_constraint(c) for c in robot.constraints],
        "left_out": list(robot.left_out),
    }


def _loop(loop: LoopClosure) -> dict[str, Any]:
    return {
        "name": loop.name,
        "type": loop.type,
        "predecessor": loop.predecessor,
        "successor": loop.successor,
        "predecessor_pose": loop.predecessor_pose.matrix,
        "successor_pose": loop.successor_pose.matrix,
        "axis": loop.axis,
    }


def _actuators(robot: Robot) -> list[dict[str, Any]]:
    inputs = robot.actuated
    return [
        {
            "name": name,
            "joints": list(inputs.joints[k]),
            "gear": inputs.gear[k],
            "rotor_inertia": inputs.rotor_inertia[k],
            "lower": inputs.lower[k],
            "upper": inputs.upper[k],
        }
        for k, name in enumerate(inputs.names)
    ]


def _constraint(c: Constraint) -> dict[str, Any]:
    """A closure by its frames, an equation by its joints."""
    return {
        "name": c.name,
        "kind": c.kind,
        "rows": c.rows,
        "first": c.first or " ".join(c.joints),
        "second": c.second or " ".join(c.drivers) or ("" if c.joints else "world"),
        "polynomial": list(c.polynomial),
    }


def _joints(robot: Robot, names: list[str], types: list[str]) -> list[dict[str, Any]]:
    mimics = {j.name: j.mimic for j in robot.description.joints if j.mimic} if robot.is_coupled else {}
    joints = []
    for i, (name, kind) in enumerate(zip(names, types, strict=True)):
        q, v = robot.q_slices[name], robot.v_slices[name]
        parent = int(robot.parents[i])
        mimic = mimics.get(name)
        # The slices of a follower belong to its driver.
        own_q, own_v = (slice(0), slice(0)) if mimic else (q, v)
        joints.append(
            {
                "name": name,
                "type": kind,
                "link": robot.link_names[i],
                "parent": robot.link_names[parent] if parent >= 0 else None,
                "mass": robot.link_masses[i],
                "q": [q.start, q.stop],
                "v": [v.start, v.stop],
                "mimic": mimic._asdict() if mimic else None,
                "lower": robot.limits.lower[own_q],
                "upper": robot.limits.upper[own_q],
                "velocity": robot.limits.velocity[own_v],
                "effort": robot.limits.effort[own_v],
                "damping": robot.damping[own_v],
                "friction": robot.friction[own_v],
                "armature": robot.armature[own_v],
                "stiffness": robot.stiffness[own_v],
                "spring_reference": robot.spring_reference[own_q],
            }
        )
    return joints
