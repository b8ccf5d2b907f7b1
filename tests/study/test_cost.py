# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""What functions of a robot cost: against an independent count, the kernel's instructions, the papers."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.backends.native.compile import host
from phalanx.backends.native.emit.codegen import block_function
from phalanx.dispatch import resolve
from phalanx.program.builder import straight
from phalanx.program.graph import Graph
from phalanx.program.lowering import unrolls
from phalanx.program.passes.fuse import fuse
from phalanx.program.passes.order import sincos_first
from phalanx.study.closed_form import general_chain
from reference.counting import general_count, operations
from reference.kernels import robot
from reference.llvm_counting import counted_module

COUNTED = ("inverse_dynamics", "mass_matrix", "forward_dynamics")


@cache
def counted(name: str) -> px.Robot:
    match name:
        case "one link":
            return px.chain(1)
        case "turning":
            return px.chain(3)
        case "sliding":
            return px.chain(4, seed=2, prismatic=0.5)
        case "rotors":
            return px.chain(2, seed=3).replace(armature=0.1)
        case "floating":
            return px.tree(2, 0.0, seed=1).with_floating_base()
        case "tree":
            return px.tree(6, 0.5, seed=3, joints=("revolute", "prismatic", "spherical", "universal"))
    raise AssertionError(name)


CASES = [
    (name, function, a.name, options)
    for name in ("one link", "turning", "sliding", "rotors", "floating", "tree")
    for function in COUNTED
    for a in px.algorithms(function)
    if not a.refusal(counted(name))
    for options in (
        {},
        *(
            {key: value}
            for key, values in a.options.items()
            if isinstance(values, tuple)
            for value in values[1:]
        ),
    )
]


@pytest.mark.parametrize(
    ("name", "function", "algorithm", "options"), CASES, ids=["-".join(map(str, c)) for c in CASES]
)
def test_general_equations_equal_an_independent_count(
    name: str, function: str, algorithm: str, options: dict[str, Any]
) -> None:
    r = counted(name)
    found = px.cost(r, function, (algorithm, options), customise="none", convention="program")
    ours = Counter(
        mul=found.multiplications, add=found.additions, div=found.divisions, turn=found.trigonometric
    )
    other = general_count(r, function, algorithm, **options)
    other["turn"] = other.pop("sin", 0) + other.pop("cos", 0)
    del other["neg"]
    assert +ours == +other


@pytest.mark.parametrize(
    "algorithm", ["kane_original", "kane_variant", "composite_original", "recursive_doubling"]
)
@pytest.mark.parametrize("n", [1, 3, 6])
def test_conventions_equal_an_independent_count(algorithm: str, n: int) -> None:
    found = px.cost(general_chain(n), "mass_matrix", algorithm, customise="none")
    assert (found.multiplications, found.additions, found.divisions) == operations(algorithm, n)


def test_columns_by_newton_euler_cost_what_was_counted_by_hand() -> None:
    # On six joints, what is multiplied by the first link's acceleration, which is zero, left out.
    found = px.cost(general_chain(6), "mass_matrix", "newton_euler_variant", customise="none")
    assert (found.multiplications, found.additions) == (1176, 918)


TWO_OVER_PI = "0x3FE45F306DC9C883"
FLOATS = re.compile(r"= (fmul|fadd|fsub|fdiv|call [^@]*@llvm\.fma)\b")


def in_block(text: str) -> Counter[str]:
    """Multiplications, additions and divisions in the function that does the arithmetic of a kernel."""
    body = re.search(r"^define [^@]*@block\(.*?^}", text, re.DOTALL | re.MULTILINE)
    assert body is not None
    seen = Counter(found.split("@")[-1] for found in FLOATS.findall(body.group(0)))
    both = seen["llvm.fma"]
    return Counter(mul=seen["fmul"] + both, add=seen["fadd"] + seen["fsub"] + both, div=seen["fdiv"])


@cache
def of_one_turn() -> Counter[str]:
    """What sine and cosine of one angle take."""
    program = straight({"q": (1,)}, {"x": (1,)}, [Graph().input("q", 0).sin()])
    return in_block(block_function(sincos_first(fuse(program)), host(), "double")[0])


KERNELS = [
    (name, function, a.name)
    for name in ("two_link", "ur5", "panda", "puma560", "mixed", "floating")
    for function in COUNTED
    for a in px.algorithms(function)
    if not a.refusal(robot(name)) and not a.splits
]


@pytest.mark.parametrize(("name", "function", "algorithm"), KERNELS, ids=["-".join(c) for c in KERNELS])
def test_full_counts_are_the_instructions_of_the_kernel(name: str, function: str, algorithm: str) -> None:
    r = robot(name)
    if not unrolls(resolve(r, function, algorithm)):
        pytest.skip("a kernel of loops, as counted in test_loop_cost.py")
    found = px.cost(r, function, algorithm)
    text = counted_module(resolve(r, function, algorithm), (), np.dtype(np.float64), host())
    left = in_block(text)
    for _ in range(text.count(TWO_OVER_PI)):  # once for every angle
        left.subtract(of_one_turn())
    assert left == Counter(mul=found.multiplications, add=found.additions, div=found.divisions)


def test_a_kernel_tells_the_same_cost() -> None:
    r = robot("panda")
    kernel, found = r.kernel("mass_matrix"), px.cost(r, "mass_matrix")
    assert kernel.cost.total == found.total
    assert kernel.cost.span == found.span
    assert kernel.cost.by_quantity == found.by_quantity


def test_customising_never_adds_work() -> None:
    r = robot("ur5")
    for function in COUNTED:
        none, semi, full = (
            px.cost(r, function, customise=level, convention="program") for level in ("none", "semi", "full")
        )
        assert full.total < semi.total < none.total
        assert full.span.total <= semi.span.total <= none.span.total


def test_general_equations_do_not_see_the_numbers_of_a_robot() -> None:
    one, other = px.chain(4, seed=1), px.chain(4, seed=2)
    for function in COUNTED:
        counts = [px.cost(r, function, customise="none") for r in (one, other)]
        assert counts[0] == counts[1] or counts[0].by_quantity == counts[1].by_quantity


def test_diagonal_inertias_are_structure() -> None:
    puma = robot("puma560")
    semi = px.cost(puma, "inverse_dynamics", "zomaya_morris", customise="semi")
    assert (semi.multiplications, semi.additions) == (105 * 6, 83 * 6)
    none = px.cost(puma, "inverse_dynamics", "zomaya_morris", customise="none")
    assert (none.multiplications, none.additions) == (900, 696)


def test_rows_of_the_semi_customised_table() -> None:
    found = px.cost(general_chain(6), "inverse_dynamics", "zomaya_morris", customise="semi").by_quantity
    rows = {"w": (8, 6), "wd": (10, 8), "vd": (26, 20), "psi": (18, 15), "F": (3, 0), "N": (24, 18)}
    assert {k: (found[k].multiplications / 6, found[k].additions / 6) for k in rows} == rows


def test_links_are_told_by_name_and_what_belongs_to_none_is_the_worlds() -> None:
    r = robot("panda")
    assert list(px.cost(r, "inverse_dynamics").by_link) == list(r.link_names)
    moving = px.cost(r, "inverse_dynamics", customise="none").by_link
    assert set(moving) == {*r.link_names, "world"}
    assert r.kernel("inverse_dynamics").cost.by_link == px.cost(r, "inverse_dynamics").by_link
    floating = px.tree(2, 0.0, seed=1).with_floating_base()
    assert set(px.cost(floating, "inverse_dynamics").by_link) <= set(floating.link_names)


def test_a_function_of_a_frame_has_a_cost_too() -> None:
    r = robot("panda")
    assert px.cost(r, "jacobian", frame=r.frame_names[-1]).total > 0
    with pytest.raises(px.PhalanxError, match="frame"):
        px.cost(r, "jacobian")


def test_a_named_convention_also_applies_to_numbers() -> None:
    puma = robot("puma560")
    whole = px.cost(puma, "inverse_dynamics", "zomaya_morris")
    papers = px.cost(puma, "inverse_dynamics", "zomaya_morris", convention="zomaya_morris")
    assert whole.convention == "program"
    assert papers.convention == "zomaya_morris"
    assert "A" in whole.by_quantity
    assert "A" not in papers.by_quantity
    assert papers.trigonometric == 0


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"customise": "ful"}, 'customise=.ful.; did you mean "full"'),
        ({"convention": "paper"}, "unknown convention .paper."),
        ({"algorithm": "nothing"}, "unknown algorithm .nothing."),
        ({"algorithm": "lathrop", "function": "mass_matrix"}, "unknown algorithm"),
        (
            {"function": "mass_matrix", "customise": "semi", "convention": "zomaya_morris"},
            'ends a count with f, n, which algorithm "crba" does not compute',
        ),
    ],
)
def test_bad_choices_are_refused(choice: dict[str, Any], message: str) -> None:
    function = choice.pop("function", "inverse_dynamics")
    with pytest.raises(px.PhalanxError, match=message):
        px.cost(robot("ur5"), function, choice.pop("algorithm", "auto"), **choice)


def test_programs_too_long_to_hold_are_refused() -> None:
    with pytest.raises(px.PhalanxError, match=r"about .* operations, more than 1,000,000; count a shorter"):
        px.cost(px.snake(2000), "mass_matrix", "kane_original", customise="none")


def test_mimic_robots_have_a_cost() -> None:
    builder = px.RobotBuilder("gripper")
    builder.add_link("base")
    for name in ("left", "right"):
        builder.add_link(name, mass=1.0, com=(0.1, 0.2, 0.0), inertia=[0.1, 0.1, 0.1])
    builder.add_joint("open", "revolute", "base", "left", axis=(1.0, 0.0, 0.0))
    builder.add_joint("follow", "revolute", "base", "right", mimic=("open", 2.0, 0.1), axis=(1.0, 0.0, 0.0))
    r = builder.build()
    for level in ("none", "semi", "full"):
        assert px.cost(r, "inverse_dynamics", "newton_euler", customise=level).total > 0


def test_a_robot_that_cannot_move_costs_nothing() -> None:
    builder = px.RobotBuilder("rock")
    builder.add_link("base")
    for level in ("none", "semi", "full"):
        found = px.cost(builder.build(), "inverse_dynamics", customise=level)
        assert (found.total, found.width, found.max_width) == (0, (), 0)


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_a_robot_without_joints_costs_nothing_by_any_algorithm(function: str) -> None:
    arm = px.load("ur5")
    still = arm.fix(dict.fromkeys(arm.joint_names, 0.0))
    for algorithm in px.algorithms(function):
        if algorithm.refusal(still):
            assert algorithm.frames == "dh"
        else:
            assert px.cost(still, function, algorithm).total == 0
