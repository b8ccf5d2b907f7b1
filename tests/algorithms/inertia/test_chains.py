# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""The mass-matrix algorithms of serial chains against Pinocchio, against each other and across backends."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS, default_algorithm
from reference.sampling import agree

pytestmark = pytest.mark.usefixtures("auto_is_numpy")

ENTRIES = [a for a in ALGORITHMS["mass_matrix"].values() if a.topology == "chain" and not a.splits]
CHOICES: list[Any] = [
    *(a.name for a in ENTRIES),
    *(
        (a.name, {option: value})
        for a in ENTRIES
        for option, values in a.options.items()
        for value in values[1:]
    ),
]
each_choice = pytest.mark.parametrize(
    "choice", CHOICES, ids=lambda c: c if isinstance(c, str) else f"{c[0]}-{c[1]}"
)


@cache
def chain(n: int, prismatic: float) -> px.Robot:
    return px.chain(n, seed=n, prismatic=prismatic).replace(armature=np.linspace(0.1, 0.3, n))


@cache
def built_in(name: str) -> px.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        return px.load(name)


@cache
def expected(robot: px.Robot) -> tuple[np.ndarray, np.ndarray]:
    """Three states and Pinocchio's mass matrices."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from reference.pinocchio import model_of

    model, _ = model_of(robot.description)
    data = model.createData()
    q, _, _ = robot.random_state(3, rng=1)
    upper = [np.triu(pin.crba(model, data, x)) for x in q]
    return q, np.array([U + np.triu(U, 1).T for U in upper])


def test_all_of_them_are_known() -> None:
    names = "kane_original kane_variant newton_euler_original newton_euler_variant composite_original"
    more = "composite_variant recursive_doubling processor_array"
    assert {a.name for a in ENTRIES} == {*names.split(), *more.split()}
    assert {a.joints for a in ENTRIES} == {"turning, sliding"}
    assert {a.name: a.work for a in ENTRIES if a.work != "O(n^2)"} == {
        "kane_original": "O(n^3)",
        "processor_array": "O(n^2 log n)",
    }
    assert {a.name for a in ENTRIES if a.span == "O(log n)"} == {"recursive_doubling", "processor_array"}
    assert default_algorithm("mass_matrix").name == "crba"


@each_choice
@pytest.mark.parametrize("prismatic", [0.0, 0.4])
def test_they_agree_with_pinocchio_for_any_number_of_links(choice: Any, prismatic: float) -> None:
    for n in range(1, 34):
        robot = chain(n, prismatic)
        q, M = expected(robot)
        agree(robot.mass_matrix(q, algorithm=choice, backend="numpy"), M, 1e-11)


@each_choice
@pytest.mark.parametrize("name", ["puma560", "stanford"])
def test_they_agree_with_pinocchio_on_classic_arms(choice: Any, name: str) -> None:
    robot = built_in(name)
    q, M = expected(robot)
    agree(robot.mass_matrix(q, algorithm=choice, backend="numpy"), M, 1e-11)


@each_choice
@pytest.mark.parametrize(
    "robot", [built_in("stanford"), chain(1, 0.0), chain(7, 0.4)], ids=lambda r: f"{r.nv}"
)
def test_compiled_code_gives_the_same(choice: Any, robot: px.Robot) -> None:
    q, _, _ = robot.random_state((2, 5), rng=3)
    reference = robot.mass_matrix(q, algorithm=choice, backend="numpy")
    assert reference.shape == (2, 5, robot.nv, robot.nv)
    agree(robot.mass_matrix(q, algorithm=choice, backend="native"), reference, 1e-13)


@each_choice
def test_links_without_mass_do_no_harm(choice: Any) -> None:
    builder = px.RobotBuilder("bare tip")
    builder.add_link("base")
    for k, mass in enumerate((2.0, 0.0, 1.0, 0.0)):
        inertia = {"mass": mass, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0, 0, 0.2, 0, 0.15)} if mass else {}
        builder.add_link(f"link{k}", **inertia)
        parent = f"link{k - 1}" if k else "base"
        axis = ((0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1))[k]
        builder.add_joint(f"joint{k}", "revolute", parent, f"link{k}", axis=axis, origin=(0.3, 0.1, 0.2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", px.PhalanxWarning)
        robot = builder.build()
    q, _, _ = robot.random_state(3, rng=2)
    agree(
        robot.mass_matrix(q, algorithm=choice, backend="numpy"), robot.mass_matrix(q, algorithm="crba"), 1e-12
    )


@each_choice
def test_single_precision_stays_single(choice: Any) -> None:
    robot = chain(5, 0.4)
    q = robot.random_state(4, rng=5)[0].astype(np.float32)
    M = robot.mass_matrix(q, algorithm=choice, backend="numpy")
    assert M.dtype == np.float32
    agree(M, robot.mass_matrix(q.astype(float)), 1e-5)


@each_choice
def test_they_refuse_trees_and_name_one_that_does_not(choice: Any) -> None:
    tree = px.tree(5, 1.0, seed=3)
    with pytest.raises(px.PhalanxError, match=r"does not cover robot.*branches.*crba"):
        tree.mass_matrix(tree.neutral(), algorithm=choice)
