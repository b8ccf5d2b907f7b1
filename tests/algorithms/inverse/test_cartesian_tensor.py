# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Newton-Euler on Cartesian tensors against the textbook, with the base at rest and moving."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import phalanx as px
from reference import dynamics as textbook
from reference.sampling import agree, seeds, trees

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


@pytest.mark.parametrize(
    "given_motion", [(), ("base_velocity",), ("base_acceleration",), ("base_velocity", "base_acceleration")]
)
@given(robot=trees(), seed=seeds)
def test_it_agrees_with_the_textbook(given_motion: tuple[str, ...], robot: px.Robot, seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, qd, qdd = robot.random_state(rng=rng)
    more = {name: rng.standard_normal(6) for name in given_motion}
    more["external"] = rng.standard_normal((robot.n_links, 6))
    tau = robot.inverse_dynamics(q, qd, qdd, **more, algorithm="cartesian_tensor")
    agree(tau, textbook.inverse_dynamics(robot, q, qd, qdd, **more))
