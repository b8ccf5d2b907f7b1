# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""VCR-B written out: the right matrix, the operations of the library and those of the slides."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms.inertia.frames import proximal_moments
from phalanx.robot.dh.chain import proximal_offsets, proximal_rotations
from phalanx.study.papers.kane.serial import (
    AS_PRINTED,
    Charged,
    LinkConstants,
    counted,
    mass_matrix,
    serial_differences,
    serial_work_as_charged,
)
from reference.sampling import agree


def links_of(robot: px.Robot, q: np.ndarray) -> LinkConstants:
    chain = robot.model.dh
    h, k = proximal_moments(chain)
    angle = q + chain.theta
    return LinkConstants(
        first=proximal_rotations(chain, q)[0],
        cos_sin=np.stack([np.cos(angle), np.sin(angle)], axis=-1),
        twist=np.stack([chain.before("ca", 1.0), chain.before("sa", 0.0)], axis=-1),
        p=proximal_offsets(chain, q),
        m=chain.m,
        h=h,
        k=k,
        total=np.cumsum(chain.m[::-1])[::-1],
    )


@pytest.mark.parametrize("how", [Charged(*on) for on in product((False, True), repeat=4)], ids=str)
def test_every_way_gives_the_matrix(how: Charged) -> None:
    for n in (1, 2, 5):
        robot = px.chain(n, seed=n).replace(armature=0.0)
        q = robot.random_state(rng=n)[0]
        found, _ = mass_matrix(links_of(robot, q), how)
        agree(found.astype(float), robot.mass_matrix(q, algorithm="crba", backend="numpy"), 1e-13)


@pytest.mark.parametrize("n", [3, 6, 9])
def test_the_plain_way_takes_what_the_library_takes(n: int) -> None:
    found = px.cost(px.chain(n), "mass_matrix", "composite_variant", customise="none")
    assert counted(Charged(), n) == (found.multiplications, found.additions)


def test_four_choices_make_up_the_difference_of_every_link() -> None:
    found = serial_differences(["9/2n^2+231/2n-181", "4n^2+88n-137"])
    assert found.holds
    assert found.figures.count(";") == 3
    assert not serial_differences(["9/2n^2+230/2n-181", "4n^2+88n-137"]).holds


def test_only_the_ends_of_the_chain_are_left() -> None:
    products, sums = serial_work_as_charged()
    assert (str(products), str(sums)) == ("9/2 n^2 + 231/2 n - 164", "4n^2 + 88n - 138")
    assert counted(AS_PRINTED, 6) == (691, 534)
