# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""One pass of inverse dynamics for each joint: against inverse dynamics, and its work."""

from __future__ import annotations

import numpy as np
import pytest

import phalanx as px
from reference.counting import operations
from reference.sampling import agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")


def test_columns_are_inverse_dynamics_of_unit_accelerations() -> None:
    robot = px.chain(6, seed=2, prismatic=0.4)
    q, _, _ = robot.random_state(rng=1)
    still = np.zeros(6)
    columns = robot.inverse_dynamics(q, still, np.eye(6)) - robot.inverse_dynamics(q, still, still)
    agree(robot.mass_matrix(q, algorithm="newton_euler_original"), columns.T, 1e-13)


def test_work_is_within_four_percent_of_n_passes() -> None:
    multiplications, additions, _ = operations("newton_euler_original", 6)
    assert multiplications == pytest.approx(4992, rel=0.04)
    assert additions == pytest.approx(3960, rel=0.04)
