# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Matrices of robots with mimic joints: interpreted loops give what the equations do."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.interpret import interpret
from phalanx.program.rolled import roll
from phalanx.program.verify import verify
from phalanx.robot.description import Mimic

DRIVES = {"joint2": ("joint1", 0.7, 0.3), "joint4": ("joint5", -1.3, 0.1), "joint7": ("joint3", 0.5, 0.0)}


@cache
def robot() -> px.Robot:
    """Followers before and behind their drivers, on other branches."""
    free = px.tree(9, 0.5, seed=3, joints=("revolute", "prismatic"))
    joints = tuple(
        replace(j, mimic=Mimic(*DRIVES[j.name])) if j.name in DRIVES else j for j in free.description.joints
    )
    return px.load(replace(free.description, joints=joints)).replace(armature=np.linspace(0.1, 0.3, 6))


@pytest.mark.parametrize(
    ("function", "algorithm"),
    [("mass_matrix", "crba"), ("inverse_dynamics", "newton_euler"), ("forward_dynamics", "jsiia")],
)
@pytest.mark.parametrize("lanes", [1, 4])
def test_bodies_of_a_degree_of_freedom_add_up(function: str, algorithm: str, lanes: int) -> None:
    task = resolve(robot(), function, algorithm).task()
    q, qd, other = robot().random_state(rng=1)
    known = {"q": q, "qd": qd, "qdd": other, "tau": other}
    given = {name: known[name] for name in task.shapes}
    (found,) = interpret(verify(roll(task).built(lanes)), given).values()
    wanted = getattr(robot(), function)(*given.values(), algorithm=algorithm, backend="numpy")
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-11 * np.abs(wanted).max())


def test_the_packed_matrix_has_an_entry_for_each_pair_of_degrees_of_freedom() -> None:
    made = roll(resolve(robot(), "mass_matrix", "crba").task()).built(1)
    sizes = {b.name: b.size for b in made.scratch}
    assert sizes["matrix"] == robot().nv * (robot().nv + 1) // 2
