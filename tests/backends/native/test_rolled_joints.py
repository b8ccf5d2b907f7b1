# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Loops over links whose joints have several bodies: chains of constraint forces."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from reference.chains import pinocchio_accelerations
from reference.sampling import MOVING_TYPES, agree, pairwise

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.backends.native.compile import Target, host
from phalanx.dispatch import resolve
from phalanx.program import lowering, unroll_policy
from reference.rolling import block_lines, kernel, program, reference, states, tolerance

CHOICES: list[Any] = [
    ("cfa", {}),
    ("cfa", {"solver": "odd_even"}),
    ("cfa", {"solver": "serial"}),
    ("cfa", {"bias": "global"}),
    ("cfa", {"refine": 1}),
    ("cfa", {"solver": "odd_even", "bias": "global", "refine": 1}),
    ("cfa", {"solver": "serial", "refine": 1}),
    ("dca", {}),
]
FEW = [CHOICES[0], CHOICES[1], CHOICES[2], CHOICES[-1]]
ROBOTS = ("free", "balls", "base", "one wrist", "mixed", "long")


def name_of(value: Any) -> str:
    return "-".join([value[0], *map(str, value[1].values())]) if isinstance(value, tuple) else str(value)


@cache
def robot(name: str, rotors: bool = False) -> px.Robot:
    """A chain in which some joints have several axes; of its rotors every third is missing."""
    if rotors:
        plain = robot(name)
        return plain.replace(armature=np.linspace(0.1, 0.5, plain.nv) * (np.arange(plain.nv) % 3 > 0))
    match name:
        case "free":
            return px.tree(1, 0.0, seed=1, joints=("floating",))
        case "balls":
            return px.tree(5, 0.0, seed=2, joints=("spherical",))
        case "base":
            return px.chain(10, prismatic=0.3).with_floating_base()
        case "one wrist":  # of the same size everywhere but at the end
            return wrist(7)
        case "mixed":
            return px.tree(16, 0.0, seed=3, joints=MOVING_TYPES)
        case "long":
            return px.tree(40, 0.0, seed=4, joints=MOVING_TYPES)
        case "thousand":
            return px.tree(1000, 0.0, seed=5, joints=MOVING_TYPES)
    raise AssertionError(name)


def wrist(n: int) -> px.Robot:
    """Turns with a universal joint at the end."""
    builder = px.RobotBuilder("wrist")
    before = builder.add_link("base")
    for k in range(n):
        link = builder.add_link(f"link{k}", mass=1.0 + 0.1 * k, com=(0.1, 0.2, 0.1), inertia=[0.1, 0.2, 0.15])
        kind = "universal" if k == n - 1 else "revolute"
        axes = {"axis": (1.0, 0.0, 0.0) if k % 2 else (0.0, 0.0, 1.0), "axis2": (0.0, 1.0, 0.0)}
        builder.add_joint(f"joint{k}", kind, before, link, origin=(0.1, 0.0, 0.3), **axes)
        before = link
    return builder.build()


def bound(r: px.Robot, choice: Any, q: np.ndarray) -> float:
    """Constraint forces lose digits of their own, more so with a global bias."""
    return (1e4 if choice[1].get("bias") else 100.0) * tolerance(r, "forward_dynamics", q)


# ------------------------------------------------------------------- the same numbers


@pytest.mark.parametrize(
    ("name", "choice", "rotors", "external"),
    [
        *pairwise(ROBOTS, [CHOICES[0], CHOICES[-1]], (False, True), (False, True)),
        *pairwise(("balls", "one wrist", "mixed"), CHOICES[1:-1], (False, True), (False, True)),
    ],
    ids=name_of,
)
def test_every_choice_agrees_with_the_reference(name: str, choice: Any, rotors: bool, external: bool) -> None:
    r = robot(name, rotors)
    inputs = states(r, "forward_dynamics", 11)
    more = {}
    if external:
        more["external"] = np.random.default_rng(1).standard_normal((11, r.n_links, 6))
    run = kernel(program(r, "forward_dynamics", choice, tuple(more)))
    with np.errstate(all="raise"):  # nothing undefined is computed on the way
        out = run(*inputs, *more.values())
    wanted = reference(r, "forward_dynamics", choice, *inputs, **more)
    agree(out, wanted, bound(r, choice, inputs[0]))
    recursion = reference(r, "forward_dynamics", "aba", *inputs, **more)
    agree(out, recursion, 10.0 * bound(r, choice, inputs[0]))


@pytest.mark.parametrize("seed", range(12))
def test_random_chains_agree_with_articulated_bodies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 41))
    types = rng.choice(MOVING_TYPES, rng.integers(1, len(MOVING_TYPES) + 1), replace=False).tolist()
    r = px.tree(n, 0.0, seed=seed, joints=(*types, "universal"))
    choice = CHOICES[seed % len(CHOICES)]
    inputs = states(r, "forward_dynamics", 3, seed)
    out = kernel(program(r, "forward_dynamics", choice))(*inputs)
    wanted = reference(r, "forward_dynamics", "aba", *inputs)
    agree(out, wanted, 10.0 * bound(r, choice, inputs[0]))


@pytest.mark.parametrize("choice", FEW, ids=name_of)
@pytest.mark.parametrize("rotors", [False, True], ids=["plain", "rotors"])
def test_chains_agree_with_pinocchio(choice: Any, rotors: bool) -> None:
    types = ("revolute", "spherical", "helical", "universal", "floating", "prismatic")
    r = px.tree(24, 0.0, seed=8, joints=types)
    if rotors:
        r = r.replace(armature=np.linspace(0.1, 0.5, r.nv))
    inputs = states(r, "forward_dynamics", 3)
    agree(kernel(program(r, "forward_dynamics", choice))(*inputs), pinocchio_accelerations(r, *inputs), 1e-9)


@pytest.mark.parametrize("choice", FEW, ids=name_of)
def test_a_thousand_links_agree_with_the_reference_and_the_recursion(choice: Any) -> None:
    r = robot("thousand")
    inputs = states(r, "forward_dynamics", 2)
    out = kernel(program(r, "forward_dynamics", choice))(*inputs)
    agree(out, reference(r, "forward_dynamics", choice, *inputs), 1e-9)
    agree(out, r.forward_dynamics(*inputs, algorithm="aba", backend="native"), 1e-9)


@pytest.mark.parametrize("choice", FEW, ids=name_of)
def test_single_precision_keeps_its_digits(choice: Any) -> None:
    r = robot("balls")
    inputs = [x.astype(np.float32) for x in states(r, "forward_dynamics", 21)]
    out = kernel(program(r, "forward_dynamics", choice), np.float32)(*inputs)
    assert out.dtype == np.float32
    agree(out, reference(r, "forward_dynamics", choice, *(x.astype(float) for x in inputs)), 1e-3)


# ------------------------------------------------------------------- bits


@pytest.mark.parametrize("choice", FEW, ids=name_of)
def test_a_state_gives_the_same_bits_wherever_it_stands(choice: Any) -> None:
    r = robot("mixed", rotors=True)
    inputs = states(r, "forward_dynamics", 29)
    run = kernel(program(r, "forward_dynamics", choice))
    out = run(*inputs)
    np.testing.assert_array_equal(run(*(x[::-1] for x in inputs))[::-1], out)
    np.testing.assert_array_equal(run(*(x[5:12] for x in inputs)), out[5:12])
    np.testing.assert_array_equal(run(*(x[7] for x in inputs)), out[7])
    inputs[0][5] = np.nan
    spoilt = run(*inputs)
    others = np.arange(29) != 5
    assert np.isnan(spoilt[5]).any()
    np.testing.assert_array_equal(spoilt[others], out[others])


@pytest.mark.skipif(host().bits < 512, reason="this machine has no wider registers than AVX2")
@pytest.mark.parametrize("choice", FEW, ids=name_of)
def test_narrow_registers_give_the_same_bits(choice: Any) -> None:
    r = robot("mixed")
    inputs = states(r, "forward_dynamics", 13)
    rolled = program(r, "forward_dynamics", choice)
    narrow = kernel(rolled, target=Target(host().triple, "haswell", "", 256, True))
    np.testing.assert_array_equal(narrow(*inputs), kernel(rolled)(*inputs))


# ------------------------------------------------------------------- any length


@pytest.mark.parametrize("choice", CHOICES, ids=name_of)
def test_text_and_scratch_memory_do_not_grow_beyond_the_bodies(choice: Any) -> None:
    few, middle, many = (
        block_lines(px.chain(n).with_floating_base(), "forward_dynamics", choice) for n in (59, 91, 123)
    )
    assert many[0] <= few[0] + 10
    assert many[1] - middle[1] == middle[1] - few[1]


@pytest.mark.parametrize("choice", [CHOICES[1], CHOICES[-1]], ids=name_of)
def test_ten_thousand_links_take_the_text_of_few(choice: Any) -> None:
    long, short = (
        px.tree(n, 0.0, seed=6, joints=("revolute", "universal", "spherical")) for n in (10_000, 100)
    )
    few, many = (block_lines(r, "forward_dynamics", choice)[0] for r in (short, long))
    assert many <= 1.1 * few


@pytest.mark.parametrize("choice", CHOICES, ids=name_of)
def test_long_chains_are_served(choice: Any) -> None:
    call = resolve(robot("thousand"), "forward_dynamics", choice)
    assert unroll_policy.serves(call)
    assert not lowering.unrolls(call)


def test_results_do_not_depend_on_how_long_chains_are_called() -> None:
    r = robot("long")
    q, qd, tau = r.random_state(37, rng=0)
    alone = r.forward_dynamics(q, qd, tau, algorithm="cfa", backend="native", threads=1)
    both = r.forward_dynamics(q, qd, tau, algorithm="cfa", backend="native", threads=2)
    np.testing.assert_array_equal(both, alone)
    np.testing.assert_array_equal(r.forward_dynamics(q, qd, tau, algorithm="cfa"), alone)
