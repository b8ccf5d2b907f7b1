# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Errors against extended precision."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import phalanx as px
from phalanx.study.accuracy import exact_result, relative_error, state_errors
from reference import extended
from reference.sampling import MOVING_TYPES


@pytest.mark.parametrize("n", [1, 6, 20])
def test_exact_results_agree_with_dense_loops_to_forty_digits(n: int) -> None:
    robot = px.chain(n, seed=n).replace(armature=np.linspace(0.0, 0.3, n))
    q, qd, tau = robot.random_state(rng=n)
    found = exact_result(robot, "forward_dynamics", [q, qd, tau])
    expected = extended.accelerations(robot, q, qd, tau)
    size = max(abs(x) for x in expected)
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < 1e-40 * size


def test_a_known_error_is_found() -> None:
    assert relative_error([1.0, -2.5], [1.0, -2.0]) == 0.25
    assert relative_error([np.nan], [1.0]) == np.inf
    assert relative_error([3.0], [0.0]) == 3.0


def test_algorithms_are_compared_with_articulated_bodies() -> None:
    robot = px.chain(50, seed=1)  # long enough that the factor loses digits whatever the last bits are
    good, bad = (px.accuracy(robot, algorithm=a, backend="numpy", states=2) for a in ("abia", "jsiia"))
    assert good.reference == bad.reference == "aba"
    assert good.error < 1e-13
    assert good.digits > 13.0
    assert good.digits_lost < 1.0 < bad.digits_lost
    assert "digits lost against aba" in str(bad)


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "kinetic_energy", "center_of_mass"])
def test_other_functions_and_joint_types_have_an_accuracy_too(function: str) -> None:
    robot = px.tree(8, 0.4, seed=3, joints=MOVING_TYPES)
    assert px.accuracy(robot, function, backend="numpy").error < 1e-13


def test_single_precision_is_measured_at_its_own_inputs() -> None:
    result = px.accuracy(px.chain(6, seed=2), dtype="float32", backend="numpy")
    assert result.dtype == "float32"
    assert 1e-9 < result.error < 1e-3


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpmath", None)
    with pytest.raises(px.PhalanxError, match=r'install "\.\[accuracy\]"'):
        px.accuracy(px.chain(2))


def test_functions_of_a_frame_are_asked_for_one() -> None:
    with pytest.raises(px.PhalanxError, match="frame_pose: frame is None, expected the name of one"):
        px.accuracy(px.chain(2), "frame_pose")
    found = px.accuracy(px.chain(2), "frame_velocity", frame=px.chain(2).link_names[-1], backend="numpy")
    assert found.error < 1e-14


def test_each_of_several_results_counts_in_every_state() -> None:
    right = np.full((2, 3), 1e-3), np.full((2, 3), 1e3)
    found = right[0] + [[0.0, 0.0, 0.0], [0.0, 1e-4, 0.0]], right[1]
    assert state_errors(found, right) == [0.0, pytest.approx(0.1)]
    robot = px.chain(3)
    exact = px.accuracy(
        robot, "inverse_dynamics_derivatives", algorithm="carpentier_mansard", backend="numpy"
    )
    assert exact.error < 1e-14
    assert exact.reference == "idsva"
