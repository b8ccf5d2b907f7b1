# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What is computed for every frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from data.making import motion

ROBOT = px.load("panda")


@pytest.fixture(scope="module")
def state() -> dict[str, np.ndarray]:
    return motion(ROBOT, 50)


def computed(state: dict[str, np.ndarray], functions: Any, **options: Any) -> dict[str, np.ndarray]:
    return px.data.transform(ROBOT, functions, **options)(state)


def test_power_is_force_times_rate_and_changes_the_energy(state: dict[str, np.ndarray]) -> None:
    found = computed(state, ["power", "energy"])
    np.testing.assert_array_equal(found["power"], state["tau"] * state["qd"])
    energy = found["kinetic_energy"] + found["potential_energy"]
    # Central differences at 100 frames a second.
    np.testing.assert_allclose(
        np.gradient(energy, 0.01)[1:-1], found["power"].sum(axis=1)[1:-1], rtol=5e-3, atol=5e-3
    )


def test_residuals_are_measured_forces_less_computed_ones(state: dict[str, np.ndarray]) -> None:
    measured = {**state, "tau": state["tau"] + 0.25}
    np.testing.assert_allclose(computed(measured, "residual")["residual"], 0.25, atol=1e-12)


def test_violations_tell_how_far_beyond_limits() -> None:
    limits = ROBOT.limits
    q = np.stack([limits.upper + 0.5, limits.lower - 0.25, 0.5 * (limits.lower + limits.upper)])
    qd = np.stack([-limits.velocity - 1.0, limits.velocity, 0 * limits.velocity])
    found = computed({"q": q, "qd": qd, "qdd": 0 * qd}, "limits")
    np.testing.assert_allclose(found["limit_violations.position"], np.repeat([[0.5], [0.25], [0.0]], 7, 1))
    np.testing.assert_allclose(found["limit_violations.velocity"], np.repeat([[1.0], [0.0], [0.0]], 7, 1))
    effort = np.abs(ROBOT.inverse_dynamics(q, qd, 0 * qd)) - limits.effort
    np.testing.assert_allclose(found["limit_violations.effort"], np.maximum(effort, 0.0))


def test_functions_of_frames_are_asked_for_some(state: dict[str, np.ndarray]) -> None:
    found = computed(state, ["frame_pose", "jacobian"], frames=["panda_link7", "panda_link3"])
    assert list(found) == [f"{f}.panda_link{k}" for f in ("frame_pose", "jacobian") for k in (7, 3)]
    np.testing.assert_array_equal(
        found["frame_pose.panda_link3"], ROBOT.frame_pose(state["q"], "panda_link3")
    )
    assert list(computed(state, "frame_pose:panda_link7")) == ["frame_pose.panda_link7"]
    for wrong in ("mass_matrix:panda_link7", "jvp:frame_pose:panda_link7", "mass_matrix+inertias"):
        with pytest.raises(px.PhalanxError, match="no function"):
            computed(state, wrong)
    with pytest.raises(px.PhalanxError, match="of which frame"):
        computed(state, "frame_pose")
    with pytest.raises(px.PhalanxError, match="panda_link"):
        computed(state, "frame_pose", frames=["panda_lnk7"])


@pytest.mark.parametrize("functions", ["inverse_dynamic", ["torques", 3], [], "inverse_dynamics_derivatives"])
def test_other_functions_are_refused(functions: Any, state: dict[str, np.ndarray]) -> None:
    with pytest.raises(px.PhalanxError, match="function"):
        computed(state, functions)
