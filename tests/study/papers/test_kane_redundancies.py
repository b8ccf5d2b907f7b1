# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Forms of the mass matrix between ON-EB and VN-EB: right, and each cheaper than the one before."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms.inertia.frames import moments
from phalanx.robot.dh.chain import axes, offsets, rotations
from phalanx.study.papers.kane.redundancies import FORMS, Joints, redundancies
from reference.sampling import agree


def joints_of(robot: px.Robot, q: np.ndarray) -> Joints:
    chain = robot.model.dh
    h, k = moments(chain, q)
    return Joints(rotations(chain, q), axes(chain), offsets(chain, q), chain.s, chain.m, chain.J, h, k)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_matrix(form: str) -> None:
    for n in (1, 2, 5):
        robot = px.chain(n, seed=n).replace(armature=0.0)
        q = robot.random_state(rng=n)[0]
        found = FORMS[form](joints_of(robot, q)).astype(float)
        agree(found, robot.mass_matrix(q, algorithm="crba", backend="numpy"), 1e-13)


def test_every_redundancy_costs_operations() -> None:
    found = redundancies()
    assert found.holds
    assert found.figures.count(";") == 4
