# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass matrix by runs of ancestors: against Pinocchio, one ancestor after another, extended precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import find
from phalanx.dispatch import resolve
from phalanx.program.lowering import looped
from phalanx.program.rolled import RolledProgram
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import ordering
from reference.chains import KINDS, chain, chains_of_all_types, pinocchio_chain
from reference.sampling import agree


def scaled_error(found: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error of an entry, relative to the diagonal entries of its row and column."""
    size = np.sqrt(np.diagonal(wanted, axis1=-2, axis2=-1))
    return float((np.abs(found - wanted) / (size[..., :, None] * size[..., None, :])).max())


@pytest.mark.parametrize("kind", KINDS)
def test_it_agrees_with_pinocchio(kind: str) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    for n in (1, 7, 16, 17, 40, 131):
        robot = chain(n, kind)
        model, _ = pinocchio_chain(robot)
        q = robot.random_state(2, rng=n)[0]
        found = robot.mass_matrix(q, algorithm="partition", backend="native")
        for state, M in zip(q, found, strict=True):
            upper = np.triu(pin.crba(model, model.createData(), state))
            agree(M, upper + np.triu(upper, 1).T, 1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_whatever_is_left_of_the_last_run_every_entry_is_there(dtype: Any) -> None:
    # Lengths that leave no, one or many bodies before the first run, at every width of registers.
    for n in (16, 17, 31, 32, 33, 47, 70):
        robot = chain(n, "mixed").replace(armature=np.linspace(0.0, 1.0, n))
        q = robot.random_state(3, rng=n)[0]
        wanted = robot.mass_matrix(q, algorithm="crba", backend="numpy")
        memory = np.full((4, n, n), 7.0, dtype)
        found = robot.mass_matrix(q.astype(dtype), algorithm="partition", backend="native", out=memory[:3])
        assert scaled_error(found, wanted) < (1e-13 if dtype is np.float64 else 1e-4)
        np.testing.assert_array_equal(found, found.swapaxes(1, 2))
        assert (memory[3] == 7.0).all()
        one = robot.mass_matrix(q[1].astype(dtype), algorithm="partition", backend="native")
        np.testing.assert_array_equal(one, found[1])


def test_long_chains_are_computed_by_runs_short_ones_are_written_out() -> None:
    short, long = (looped(resolve(chain(n), "mass_matrix", "partition"), ()) for n in (5, 40))
    assert short is None
    assert isinstance(long, RolledProgram)
    assert long.one_state
    plain = looped(resolve(chain(40), "mass_matrix", "crba"), ())
    assert isinstance(plain, RolledProgram)
    assert not plain.one_state


def test_all_joint_types_agree_with_one_ancestor_after_another() -> None:
    for robot in (
        *chains_of_all_types(),
        px.tree(30, 0.0, seed=1, joints=("spherical", "planar", "revolute")),
    ):
        q = robot.random_state(2, rng=0)[0]
        wanted = robot.mass_matrix(q, algorithm="crba", backend="numpy")
        for backend in ("numpy", "native"):
            agree(robot.mass_matrix(q, algorithm="partition", backend=backend), wanted, 1e-12)


@pytest.mark.parametrize("make", [px.chain, px.snake, lambda n: px.chain(n, prismatic=0.4)])
def test_it_is_as_accurate_as_one_ancestor_after_another(make: Any) -> None:
    robot = make(160)
    q = robot.random_state(2, rng=0)[0]
    exact = robot.model.cast(lambda array: array.astype(np.longdouble))
    with ordering(Sequential(exact.parents, exact.pattern)):
        wanted = np.asarray(find("mass_matrix", "crba").run(exact, q.astype(np.longdouble)), dtype=float)
    errors = [
        scaled_error(robot.mass_matrix(q, algorithm=name, backend="native"), wanted)
        for name in ("partition", "crba")
    ]
    assert errors[0] < 5.0 * errors[1] + 1e-14


def test_a_state_that_is_no_number_spoils_no_other() -> None:
    robot = chain(50)
    q = robot.random_state(3, rng=0)[0]
    clean = robot.mass_matrix(q, algorithm="partition")
    q[1, 20] = np.nan
    spoilt = robot.mass_matrix(q, algorithm="partition")
    assert np.isnan(spoilt[1]).any()
    np.testing.assert_array_equal(spoilt[[0, 2]], clean[[0, 2]])
