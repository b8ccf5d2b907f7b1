# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled kernels against the NumPy reference: any robot, any function, any size, any vector width."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.algorithms import ALGORITHMS, FUNCTIONS, Algorithm
from phalanx.dispatch import resolve
from phalanx.program.rolled import roll
from phalanx.program.task import TraceTask
from phalanx.robot.model import Model, joint_kinematics
from phalanx.spatial import Tensor, dot
from phalanx.sweeps.orders.sequential import Sequential
from phalanx.sweeps.verbs import children, ordering, parent, paths, scan
from reference.sampling import MOVING_TYPES, agree

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.backends.native import compile, loop
from phalanx.backends.native.compile import Target, aarch64, host
from phalanx.backends.native.emit.codegen import block_function
from reference.rolling import block_lines, has_loops, kernel, lines_of, program, reference, states, tolerance


@cache
def robots() -> dict[str, px.Robot]:
    """Chains and trees of all joint types; one, two and three bodies, many registers and a rest."""
    mixed = px.tree(12, 0.6, seed=3, joints=MOVING_TYPES)
    return {
        "one": px.chain(1),
        "two": px.chain(2),
        "three": px.chain(3),
        "chain": px.chain(41, prismatic=0.3),
        "tree": px.tree(17, seed=1),
        "mixed tree": mixed.replace(armature=np.linspace(0.1, 0.5, mixed.nv)),
        "mixed chain": px.tree(9, 0.0, seed=4, joints=MOVING_TYPES),
        "ball": px.tree(1, joints=("spherical",)),
        "floating snake": px.snake(13).with_floating_base(),
    }


PAIRS = [(function, name) for function in FUNCTIONS for name in ALGORITHMS[function]]
EVERY = [
    (function, name)
    for function, name in PAIRS
    if ALGORITHMS[function][name].topology == "tree" and not ALGORITHMS[function][name].splits
    if has_loops(px.chain(1), function, name)
]


FIRST = ("one", "chain", "mixed tree")  # on the others, what "auto" may take
ROWS = [
    (which, function, algorithm)
    for which in robots()
    for function, algorithm in EVERY
    if which in FIRST
    or function
    in ("inverse_dynamics", "mass_matrix", "forward_dynamics", "jacobian", "operational_space_inertia")
    if has_loops(robots()[which], function, algorithm)
    if not FUNCTIONS[function].full_rank or which in ("chain", "floating snake")
]
ON_TREES = [
    case for case in EVERY if has_loops(robots()["mixed tree"], *case) and not FUNCTIONS[case[0]].full_rank
]


@pytest.mark.parametrize(("which", "function", "algorithm"), ROWS)
def test_every_function_agrees_with_the_reference(which: str, function: str, algorithm: str) -> None:
    robot = robots()[which]
    inputs = states(robot, function, 11)
    out = kernel(program(robot, function, algorithm))(*inputs)
    wanted = reference(robot, function, algorithm, *inputs)
    agree(out, wanted, tolerance(robot, function, inputs[0]), least=1e-3)  # some are zero but for rounding


@pytest.mark.parametrize("which", ["chain", "mixed tree", "floating snake"])
@pytest.mark.parametrize(
    ("function", "algorithm", "names"),
    [
        ("inverse_dynamics", "newton_euler", ("external", "base_velocity", "base_acceleration")),
        ("inverse_dynamics", "cartesian_tensor", ("external", "base_acceleration")),
        ("inverse_dynamics", "cartesian_tensor", ("base_velocity",)),
        ("forward_dynamics", "aba", ("external",)),
        ("forward_dynamics", "jsiia", ("external",)),
    ],
)
def test_optional_inputs_agree_with_the_reference(
    which: str, function: str, algorithm: str, names: tuple[str, ...]
) -> None:
    robot = robots()[which]
    inputs = states(robot, function, 9)
    rng = np.random.default_rng(1)
    rolled = program(robot, function, algorithm, names)
    more = {name: rng.standard_normal((9, *rolled.layout.inputs[name])) for name in names}
    wanted = reference(robot, function, algorithm, *inputs, **more)
    agree(kernel(rolled)(*inputs, *more.values()), wanted, tolerance(robot, function, inputs[0]))


def test_the_jacobian_of_a_frame_on_the_base_is_zero() -> None:
    robot = px.chain(5)
    base = next(name for name in robot.frames if robot.frame(name).link < 0)
    call = resolve(robot, "jacobian", "recursive", base)
    rolled = roll(call.task())
    assert not kernel(rolled)(robot.random_state(3, rng=0)[0]).any()


@pytest.mark.parametrize(
    ("which", "function", "algorithm"),
    [*(("chain", *case) for case in EVERY), *(("mixed tree", *case) for case in ON_TREES)],
)
def test_single_precision_keeps_six_digits(which: str, function: str, algorithm: str) -> None:
    robot = robots()[which]
    inputs = [x.astype(np.float32) for x in states(robot, function, 21)]
    out = kernel(program(robot, function, algorithm), np.float32)(*inputs)
    assert np.result_type(*(out if isinstance(out, tuple) else (out,))) == np.float32
    exact = [x.astype(float) for x in inputs]
    loose = 4e8 * tolerance(robot, function, exact[0])
    agree(out, reference(robot, function, algorithm, *exact), max(loose, 2e-5))


# ------------------------------------------------------------------- sweeps


def sums(model: Model, q: np.ndarray, qd: np.ndarray) -> Any:
    """Sums of rates from the root and from the tip, with and without one more at the end."""
    own, more = model.bodies(qd), model.gravity[1:2] + 2.0
    add = lambda a, b: a + b  # noqa: E731
    every = [scan(add, own, root=root, reverse=back) for root in (None, more) for back in (False, True)]
    return dot(np.concatenate(every, axis=-1), np.array([1.0, 2.0, 4.0, 8.0]))


def products(model: Model, q: np.ndarray, qd: np.ndarray) -> Any:
    """Orientations of all bodies, joined from the left and from the right: the order matters."""
    X, _, _ = joint_kinematics(model, q)
    join = lambda a, b: Tensor(b.matrix @ a.matrix)  # noqa: E731
    there, back = (scan(join, Tensor(X.E), reverse=reverse).matrix for reverse in (False, True))
    return there[..., 0, 1] - 2.0 * back[..., 1, 2]


def roads(model: Model, q: np.ndarray, qd: np.ndarray) -> Any:
    """Rates carried out and back along the paths, and those of children."""
    X, S, _ = joint_kinematics(model, q)
    L = paths(X)
    V = L @ (S @ qd)
    return S.T @ (L.T @ V) + children(V)[..., 2] + parent(V)[..., 4]


@pytest.mark.parametrize(
    ("which", "run"),
    [*((name, run) for name in ("one", "chain") for run in (sums, products, roads)), ("tree", roads)],
)
def test_every_sweep_agrees_with_the_reference(which: str, run: Any) -> None:
    model = robots()[which].model
    q, qd = states(robots()[which], "bias_forces", 9)
    made = Algorithm("probe", "bias_forces", run, source="")
    rolled = roll(TraceTask(made, model, {"q": (model.nq,), "qd": (model.nv,)}, {"tau": (model.nv,)}))
    with ordering(Sequential(model.parents, model.pattern)):
        wanted = run(model, q, qd)
    agree(kernel(rolled)(q, qd), wanted, 1e-13)


def test_runs_of_a_tree_are_refused() -> None:
    robot = robots()["tree"]
    made = Algorithm("probe", "bias_forces", sums, source="")
    with pytest.raises(px.PhalanxError, match="unbranched chain"):
        roll(TraceTask(made, robot.model, {"q": (robot.nq,), "qd": (robot.nv,)}, {"tau": (robot.nv,)}))


# ------------------------------------------------------------------- bits


@pytest.mark.parametrize("which", ["chain", "mixed tree"])
@pytest.mark.parametrize(
    ("function", "algorithm"),
    [("inverse_dynamics", "newton_euler"), ("forward_dynamics", "aba"), ("mass_matrix", "crba")],
)
def test_a_state_gives_the_same_bits_wherever_it_stands(which: str, function: str, algorithm: str) -> None:
    robot = robots()[which]
    inputs = states(robot, function, 29)
    run = kernel(program(robot, function, algorithm))
    out = run(*inputs)
    np.testing.assert_array_equal(run(*(x[::-1] for x in inputs))[::-1], out)
    np.testing.assert_array_equal(run(*(x[5:12] for x in inputs)), out[5:12])
    np.testing.assert_array_equal(run(*(x[7] for x in inputs)), out[7])


@pytest.mark.skipif(host().bits < 512, reason="this machine has no wider registers than AVX2")
@pytest.mark.parametrize(("function", "algorithm"), ON_TREES)
def test_narrow_registers_give_the_same_bits(function: str, algorithm: str) -> None:
    robot = robots()["mixed tree"]
    inputs = states(robot, function, 13)
    rolled = program(robot, function, algorithm)
    narrow = kernel(rolled, target=Target(host().triple, "haswell", "", 256, True))
    np.testing.assert_array_equal(narrow(*inputs), kernel(rolled)(*inputs))


def test_registers_without_multiply_add_agree() -> None:
    if not host().triple.startswith(("x86_64", "amd64")):
        pytest.skip("SSE2 is a matter of x86")
    robot = robots()["mixed tree"]
    inputs = states(robot, "inverse_dynamics", 5)
    plain = kernel(
        program(robot, "inverse_dynamics", "newton_euler"),
        target=Target(host().triple, "x86-64", "", 128, False),
    )
    agree(plain(*inputs), reference(robot, "inverse_dynamics", "newton_euler", *inputs), 1e-13)


def test_object_code_for_another_machine_is_produced() -> None:
    rolled = program(robots()["mixed tree"], "forward_dynamics", "aba")
    block, declarations, scratch = block_function(rolled.built(aarch64().lanes(8)), aarch64(), "double")
    shapes = [*rolled.layout.inputs.values(), *rolled.layout.outputs.values()]
    text = loop.module_text(block, declarations, shapes, "double", aarch64(), scratch)
    assert compile.object_code(text, aarch64())[:4] == b"\x7fELF"


# ------------------------------------------------------------------- strange states


def test_large_angles_are_as_exact_as_small_ones() -> None:
    robot = px.chain(10)
    q, qd, qdd = robot.random_state(20, rng=0)
    q[3], q[4, 2], q[11, 9] = 1e5 + np.arange(10) * 1e6, -7e19, 123456.789
    out = kernel(program(robot, "inverse_dynamics", "newton_euler"))(q, qd, qdd)
    agree(out, reference(robot, "inverse_dynamics", "newton_euler", q, qd, qdd), 1e-13)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_stays_in_its_state(value: float) -> None:
    robot = robots()["mixed tree"]
    q, qd, tau = robot.random_state(12, rng=0)
    run = kernel(program(robot, "forward_dynamics", "aba"))
    out = run(q, qd, tau)
    q[5] = value
    spoilt = run(q, qd, tau)
    assert np.isnan(spoilt[5]).all()
    others = np.arange(12) != 5
    np.testing.assert_array_equal(spoilt[others], out[others])


# ------------------------------------------------------------------- any length


@pytest.mark.parametrize(("function", "algorithm"), EVERY)
def test_the_text_does_not_grow_with_the_robot(function: str, algorithm: str) -> None:
    # Both lengths leave a remainder of one lane, for which there is text of its own; signs of the
    # last frame's constants may differ.
    assert (
        block_lines(px.chain(97), function, algorithm)[0]
        <= block_lines(px.chain(65), function, algorithm)[0] + 10
    )


@pytest.mark.parametrize(
    ("function", "algorithm"), [pair for pair in EVERY if pair[1] not in ("jsiia", "ltl", "through_inverse")]
)
def test_scratch_memory_grows_with_the_bodies_only(function: str, algorithm: str) -> None:
    small, middle, large = (block_lines(px.chain(n), function, algorithm)[1] for n in (64, 128, 256))
    assert large - middle == 2 * (middle - small)


def test_ten_thousand_links_compile_to_the_text_of_a_hundred() -> None:
    robot, case = px.chain(10_001), ("inverse_dynamics", "newton_euler")
    rolled = program(robot, *case)
    assert lines_of(rolled)[0] <= block_lines(px.chain(97), *case)[0] + 10
    q, qd, qdd = robot.random_state(2, rng=0)
    agree(kernel(rolled)(q, qd, qdd), reference(robot, *case, q, qd, qdd), 1e-12)
