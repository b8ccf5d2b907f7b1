# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Divide and conquer: against Pinocchio, articulated bodies and fifty digits."""

from __future__ import annotations

import numpy as np
import pytest

from reference.chains import (
    KINDS,
    SIZES,
    agrees_with_articulated_bodies,
    agrees_with_pinocchio,
    chain,
    chains_of_all_types,
    error,
)


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_pinocchio(kind: str) -> None:
    for n in (*SIZES, 5, 9):
        agrees_with_pinocchio("dca", kind, n)


def test_it_covers_all_joint_types() -> None:
    for k, robot in enumerate(chains_of_all_types()):
        agrees_with_articulated_bodies("dca", robot, k, scale=1e3)


def test_three_hundred_links_agree_with_the_serial_recursion() -> None:
    robot = chain(300, "mixed")
    q, qd, tau = robot.random_state(rng=1)
    found, wanted = (robot.forward_dynamics(q, qd, tau, algorithm=a) for a in ("dca", "aba"))
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(wanted).max()


def test_it_loses_digits_on_light_links_and_none_under_a_heavy_tip() -> None:
    assert error("dca", "random", 100) < 1e-12
    assert error("dca", "heavy tip", 100) < 1e-2 * error("aba", "heavy tip", 100)
    assert error("dca", "light links", 100) > 1e3 * error("aba", "light links", 100)
