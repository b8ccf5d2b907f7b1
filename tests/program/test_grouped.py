# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Programs of work-groups: what they mean in any order of their iterations, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import FUNCTIONS, algorithms
from phalanx.dispatch import resolve
from phalanx.program.grouped import grouped, items_of, local_offsets
from phalanx.program.interpret import interpret
from phalanx.program.ir import For, ParallelFor, statements
from phalanx.program.task import SEGMENTS, refusal_of_loops
from phalanx.program.verify import verify

FORMS: list[tuple[str, Any]] = [
    ("inverse_dynamics", "scan"),
    ("inverse_dynamics", "lathrop"),
    ("inverse_dynamics", "partition"),
    ("forward_dynamics", "partition"),
    ("forward_dynamics", "abia"),
    ("forward_dynamics", ("abia", {"form": "hybrid"})),
    ("forward_dynamics", ("cfa", {"solver": "odd_even", "bias": "global"})),
    ("forward_dynamics", "cfa"),
    ("forward_dynamics", ("jsiia", {"inertia": "columns"})),
    ("forward_dynamics", "jsiia"),
    ("mass_matrix", "crba"),
    ("mass_matrix", "newton_euler_original"),
]


def result(robot: px.Robot, function: str, algorithm: Any, items: int = 4) -> tuple[Any, Any]:
    """What a program of a group computes in a shuffled order, and the same by NumPy."""
    call = resolve(robot, function, algorithm)
    program = grouped(call, (), items).program
    verify(program)
    q, qd, qdd = robot.random_state(rng=0)
    known = {"q": q, "qd": qd, "qdd": qdd, "tau": qdd}
    state = [known[name] for name in call.function.inputs]
    rng = np.random.default_rng(1)
    given = dict(zip(call.function.inputs, state, strict=True))
    found = interpret(program, given, order=lambda k: tuple(rng.permutation(k)))
    wanted = getattr(robot, function)(*state, backend="numpy")
    outputs = wanted if isinstance(wanted, tuple) else (wanted,)
    return np.stack(list(found.values())), np.stack(outputs)


@pytest.mark.parametrize(("function", "algorithm"), FORMS, ids=str)
def test_groups_compute_the_function_in_any_order(function: str, algorithm: Any) -> None:
    # The published elimination loses digits: on NumPy, too.
    bound = 1e-9 if "odd_even" in str(algorithm) else 1e-12
    found, wanted = result(px.chain(5, prismatic=0.3), function, algorithm)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=bound * np.abs(wanted).max())


@pytest.mark.exhaustive
@pytest.mark.parametrize("function", [f for f in FUNCTIONS if not FUNCTIONS[f].frame])
def test_every_function_of_a_chain(function: str) -> None:
    robot = px.chain(7)
    for algorithm in algorithms(function):
        call = resolve(robot, function, algorithm.name)
        if refusal_of_loops(call.algorithm, robot.model) and call.algorithm.splits != SEGMENTS:
            continue
        found, wanted = result(robot, function, algorithm.name)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_joints_with_several_bodies() -> None:
    robot = px.tree(6, 0.0, seed=2, joints=("spherical", "revolute", "universal"))
    for function, algorithm in (("inverse_dynamics", "scan"), ("forward_dynamics", "cfa")):
        found, wanted = result(robot, function, algorithm)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_sweeps_take_a_logarithm_of_the_links_and_rows_of_a_level_are_parallel() -> None:
    call = resolve(px.chain(100), "inverse_dynamics", "scan")
    program = grouped(call, (), 32).program
    loops = [s for s in program.body if isinstance(s, For)]
    assert [s.end for s in loops] == [7, 7, 7]  # V, Vd and F
    for s in loops:
        assert all(isinstance(x, ParallelFor) for x in s.body)
    links = {s.end for s in statements(program.body) if isinstance(s, ParallelFor)}
    assert 100 in links


def test_columns_and_ancestors_of_a_pivot_are_parallel() -> None:
    call = resolve(px.chain(20), "forward_dynamics", ("jsiia", {"inertia": "columns"}))
    program = grouped(call, (), 8).program
    serial = [s for s in program.body if not isinstance(s, For | ParallelFor)]
    assert not serial
    assert not any(isinstance(s, ParallelFor) and s.end == 1 for s in program.body[8:])


def test_segments_are_as_many_as_links_in_each() -> None:
    def form(n: int, items: int, algorithm: Any = "partition") -> str:
        return grouped(resolve(px.chain(n), "forward_dynamics", algorithm), (), items).form

    assert form(30, 64) == "6 segments of 30 links over 64 work-items"
    assert form(30, 4, ("partition", {"segments": 7})) == "7 segments of 30 links over 4 work-items"
    assert form(30, 16, "aba") == "30 links over 16 work-items, sweeps by doubling"


def test_the_smallest_buffers_are_local() -> None:
    program = grouped(resolve(px.chain(20), "forward_dynamics", "cfa"), (), 8).program
    sizes = sorted(b.size for b in program.scratch if b.size)
    found = local_offsets(program, 8, 8 * sizes[0])
    assert [b.size for b in found] == sizes[:1]
    every = local_offsets(program, 4, 4 * sum(sizes))
    assert sum(b.size for b in every) == sum(sizes)
    assert max(at + b.size for b, at in every.items()) == sum(sizes)
    assert local_offsets(program, 8, 0) == {}


@pytest.mark.parametrize(
    ("robot", "function", "algorithm", "message"),
    [
        (
            lambda: px.tree(6, 0.6, seed=1),
            "inverse_dynamics",
            "scan",
            "share the links of a chain, and robot",
        ),
        (lambda: px.chain(1), "inverse_dynamics", "scan", "has one body, which no work-items can share"),
        (lambda: px.chain(4), "regressor", "auto", "leave out group= or take another algorithm"),
    ],
)
def test_what_cannot_be_shared_is_refused(robot: Any, function: str, algorithm: Any, message: str) -> None:
    with pytest.raises(px.PhalanxError, match=message):
        grouped(resolve(robot(), function, algorithm), (), 8)


@pytest.mark.parametrize("group", [0, -4, 2.5, True, "64"])
def test_a_group_is_a_positive_number_of_work_items(group: Any) -> None:
    with pytest.raises(px.PhalanxError, match="expected the work-items of a group, a positive integer"):
        items_of(group)
