# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What a compiled MuJoCo model has that acts on bodies and is no part of a tree of rigid bodies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from phalanx.errors import listing
from phalanx.io.mjcf.tree import TYPES, drives_scalar_joint, rotors, springs_are_off
from phalanx.io.mujoco_names import MujocoNames
from phalanx.robot.description import Loop

MOST = 5  # names of a kind that a message lists


def left_out(model: Any, names: MujocoNames, loops: list[Loop], others: list[str]) -> list[str]:
    """One phrase for each kind of thing that is left out: how many there are, and their names."""

    def of(what: str, chosen: Iterable[Any]) -> list[str]:
        given = names.at(getattr(model, f"name_{what}adr"))
        return [given[i] or f"{what}{i}" for i in chosen]

    balls = model.jnt_limited.astype(bool) & (model.jnt_type == TYPES.index("spherical"))
    joints, bodies = np.array(names.joints, dtype=object), np.array(names.bodies, dtype=object)
    kinds = (
        ("loop", "loops", [f"{x.name}: {x.predecessor} to {x.successor}" for x in loops]),
        ("equality constraint", "equality constraints", others),
        ("tendon", "tendons", of("tendon", range(model.ntendon))),
        ("nonlinear joint spring", "nonlinear joint springs", joints[_stiff(model)]),
        ("nonlinear joint damping", "nonlinear joint dampings", joints[_nonlinear(model)]),
        ("limit of a ball joint", "limits of ball joints", joints[balls]),
        ("gravity compensation", "gravity compensations", bodies[model.body_gravcomp != 0]),
        (
            "rotor inertia not at a hinge or slide",
            "rotor inertias not at a hinge or slide",
            of("actuator", (a for a, _ in rotors(model) if not drives_scalar_joint(model, a))),
        ),
        ("flexible body", "flexible bodies", of("flex", range(getattr(model, "nflex", 0)))),
    )
    found = [
        f"{len(items)} {one if len(items) == 1 else several} ({listing(items, most=MOST)})"
        for one, several, items in kinds
        if len(items)
    ]
    if model.opt.density or model.opt.viscosity:
        found.append("fluid forces")
    return found


def _stiff(model: Any) -> Any:
    """Which joints have springs that act, and not in proportion to their deflection."""
    if springs_are_off(model):
        return np.zeros(model.njnt, dtype=bool)
    higher = getattr(model, "jnt_stiffnesspoly", np.zeros((model.njnt, 1)))
    return higher.any(axis=1)


def _nonlinear(model: Any) -> Any:
    """Which joints have damping that is not proportional to their rates."""
    higher = getattr(model, "dof_dampingpoly", np.zeros((model.nv, 1)))
    which = np.zeros(model.njnt, dtype=bool)
    which[model.dof_jntid[higher.any(axis=1)]] = True
    return which
