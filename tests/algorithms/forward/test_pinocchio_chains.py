# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""All algorithms of forward dynamics against Pinocchio's on chains of one to three hundred links."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from phalanx.algorithms import ALGORITHMS
from reference.chains import KINDS, chain, pinocchio_accelerations
from reference.sampling import agree

TOLERANCE = 1e-9


def variants() -> list[tuple[Any, float]]:
    """Every algorithm with every choice of its listed options, and its tolerance for three hundred links.

    As published, `cfa` subtracts the joint forces of the whole chain's bias, which grow along the chain while
    the inverse mass matrix undoes them: the one exception, and said so in its documentation.
    """
    found = []
    for entry in ALGORITHMS["forward_dynamics"].values():
        listed = {k: v for k, v in entry.options.items() if isinstance(v, tuple)}
        for choice in product(*listed.values()):
            options = dict(zip(listed, choice, strict=True))
            bound = 1e-5 if options.get("bias") == "global" else TOLERANCE
            found.append(((entry.name, options), bound))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 5, 12, 40])
def test_all_algorithms_agree_with_pinocchio(n: int, kind: str) -> None:
    robot = chain(n, kind)
    state = robot.random_state((2,), rng=n)
    wanted = pinocchio_accelerations(robot, *state)
    for algorithm, _ in variants():
        found = robot.forward_dynamics(*state, algorithm=algorithm, backend="numpy")
        agree(found, wanted, TOLERANCE)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
def test_all_algorithms_agree_with_pinocchio_on_three_hundred_links(kind: str) -> None:
    robot = chain(300, kind)
    state = robot.random_state((1,), rng=300)
    wanted = pinocchio_accelerations(robot, *state)
    size = np.abs(wanted).max()
    errors = {}
    for algorithm, bound in variants():
        found = robot.forward_dynamics(*state, algorithm=algorithm, backend="numpy")
        errors[str(algorithm)] = float(np.abs(found - wanted).max() / size), bound
    wrong = {name: pair for name, pair in errors.items() if not pair[0] < pair[1]}
    assert not wrong
