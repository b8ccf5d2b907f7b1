# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Algorithms that name no segments, run in segments: programs interpreted, and forms of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.dispatch import resolve
from phalanx.program.interpret import interpret
from phalanx.program.ir import ParallelFor, SimdRegion, statements
from phalanx.program.lowering import looped
from phalanx.program.rolled.segments.roll import SegmentProgram
from phalanx.program.verify import verify
from reference.sampling import agree

INVERSE = ("cartesian_tensor", "lathrop", "luh_walker_paul", "newton_euler", "scan", "zomaya_morris")
FORWARD = ("abia", "cfa", "dca")
CASES = [*(("inverse_dynamics", n) for n in INVERSE), *(("forward_dynamics", n) for n in FORWARD)]


def chain(n: int, algorithm: str) -> px.Robot:
    made = px.chain(n, seed=n, prismatic=0.0 if algorithm == "zomaya_morris" else 0.3)
    return made.replace(armature=np.linspace(0.0, 0.1, n))


def moved(robot: px.Robot, function: str) -> dict[str, np.ndarray]:
    """Wrenches on links, and a base that moves where a function takes that."""
    rng = np.random.default_rng(robot.nv)
    more = {"external": rng.standard_normal((robot.n_links, 6))}
    if function == "inverse_dynamics":
        more |= {name: rng.standard_normal(6) for name in ("base_velocity", "base_acceleration")}
    return more


@pytest.mark.parametrize(("function", "algorithm"), CASES)
def test_programs_compute_what_the_algorithm_does(function: str, algorithm: str) -> None:
    # Lengths that leave one, some or no segments short, fewer and more segments than lanes.
    for n, count, lanes in ((7, 2, 8), (12, 3, 4), (11, 5, 4)):
        robot = chain(n, algorithm)
        more = moved(robot, function)
        loops = looped(resolve(robot, function, (algorithm, {"segments": count})), tuple(more))
        assert isinstance(loops, SegmentProgram)
        assert len(loops.bodies) == count
        state = robot.random_state(rng=1)
        names = [name for name in loops.inputs if name not in more]
        found = interpret(loops.built(lanes), dict(zip(names, state, strict=True)) | more)["out"]
        wanted = getattr(robot, function)(*state, algorithm=algorithm, backend="numpy", **more)
        agree(found, wanted, 1e-10)


@pytest.mark.parametrize(("function", "algorithm"), CASES)
def test_one_state_of_a_long_chain_fills_all_lanes(function: str, algorithm: str) -> None:
    robot = chain(131, algorithm)
    one, many = robot.kernel(function, algorithm, batch=1), robot.kernel(function, algorithm)
    assert one.form.startswith(
        "one state in all lanes: sweeps run in 8 segments of the chain, one in each lane; "
    )
    assert many.form.startswith("looped over bodies")
    assert "segments" not in many.form
    assert "lanes=" in str(one.program())
    state, more = robot.random_state(rng=2), moved(robot, function)
    for given in ({}, more):
        found, wanted = one(*state, **given), many(*state, **given)
        agree(found, wanted, 1e-10)
        method = getattr(robot, function)
        for _ in range(2):  # by the slow path, then by the fast one
            np.testing.assert_array_equal(method(*state, algorithm=algorithm, **given), found)
        batch = method(*(np.stack([x, x]) for x in state), algorithm=algorithm, **given)
        np.testing.assert_array_equal(batch[1], many(*(np.stack([x, x]) for x in state), **given)[1])


@pytest.mark.parametrize(("function", "algorithm"), CASES)
def test_on_numpy_the_order_gives_the_same(function: str, algorithm: str) -> None:
    robot = chain(40, algorithm)
    state, more = robot.random_state(3, rng=4), moved(robot, function)
    call = getattr(robot, function)
    wanted = call(*state, algorithm=algorithm, backend="numpy", **more)
    for count in (2, 7, 40):
        cut = (algorithm, {"segments": count})
        agree(call(*state, algorithm=cut, backend="numpy", **more), wanted, 1e-10)
        agree(call(*state, algorithm=cut, **more), wanted, 1e-10)


SEVERAL = {
    "floating base": lambda: px.chain(70, seed=1).with_floating_base(),
    "spherical": lambda: px.tree(50, 0.0, seed=1, joints=("spherical",)),
    "mixed": lambda: px.tree(
        60, 0.0, seed=1, joints=("universal", "spherical", "planar", "helical", "fixed")
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_joints_with_several_axes(name: str) -> None:
    robot = SEVERAL[name]()
    for function, algorithm in (("inverse_dynamics", "scan"), ("forward_dynamics", "abia")):
        state, more = robot.random_state(rng=1), {"external": np.ones((robot.n_links, 6))}
        kernel = robot.kernel(function, (algorithm, {"segments": 5}))
        assert kernel.form.startswith("one state in all lanes")
        wanted = getattr(robot, function)(*state, algorithm=algorithm, backend="numpy", **more)
        agree(kernel(*state, **more), wanted, 1e-10)


@pytest.mark.parametrize("function", ["bias_forces", "gravity_forces", "forward_kinematics"])
def test_functions_with_one_algorithm(function: str) -> None:
    for n in (130, 135):
        robot = chain(n, "newton_euler")
        one, many = robot.kernel(function, batch=1), robot.kernel(function)
        assert one.form.startswith("one state in all lanes")
        state = robot.random_state(rng=2)[: one.ufunc.nin]
        found, method = one(*state), getattr(robot, function)
        agree(found, method(*state, backend="numpy"), 1e-10)
        for _ in range(2):
            np.testing.assert_array_equal(method(*state), found)
        batch = [np.stack([x, x]) for x in state]
        np.testing.assert_array_equal(method(*batch), many(*batch))
        out = np.full((3, *found.shape), 7.0)
        one(*state, out=out[1])
        np.testing.assert_array_equal(out[1], found)
        assert (out[[0, 2]] == 7.0).all()


def test_links_with_several_bodies_have_no_poses_in_segments() -> None:
    robot = SEVERAL["spherical"]()
    kernel = robot.kernel("forward_kinematics", batch=1)
    assert kernel.form.startswith("looped over bodies")
    q, _, _ = robot.random_state(rng=1)
    agree(kernel(q), robot.forward_kinematics(q, backend="numpy"), 1e-12)
    agree(robot.forward_kinematics(q), robot.forward_kinematics(q, backend="numpy"), 1e-12)


@pytest.mark.parametrize("options", [{"bias": "global"}, {"refine": 1}, {"solver": "odd_even", "refine": 1}])
def test_forms_of_constraint_forces(options: Any) -> None:
    robot, state = px.chain(133, seed=3), px.chain(133, seed=3).random_state(rng=5)
    kernel = robot.kernel("forward_dynamics", ("cfa", options), batch=1)
    assert kernel.form.startswith("one state in all lanes")
    agree(kernel(*state), robot.forward_dynamics(*state, algorithm="aba", backend="numpy"), 1e-9)


@pytest.mark.parametrize(("n", "count", "lanes"), [(7, 2, 8), (12, 3, 4), (11, 5, 4), (16, 2, 2)])
def test_levels_on_rows_are_parallel_loops(n: int, count: int, lanes: int) -> None:
    robot = chain(n, "cfa")
    cut = ("cfa", {"solver": "odd_even", "segments": count})
    loops = looped(resolve(robot, "forward_dynamics", cut), ())
    assert isinstance(loops, SegmentProgram)
    program = verify(loops.built(lanes))
    alone = [x for s in program.body if isinstance(s, SimdRegion) for x in statements(s.body)]
    assert sum(isinstance(x, ParallelFor) for x in alone) == 2
    q, qd, tau = robot.random_state(rng=1)
    wanted = robot.forward_dynamics(q, qd, tau, algorithm=cut[0], backend="numpy")
    first = interpret(program, {"q": q, "qd": qd, "tau": tau})["out"]
    agree(first, wanted, 1e-10)
    for order in (lambda rows: rows[::-1], lambda rows: np.random.default_rng(1).permutation(rows)):
        found = interpret(program, {"q": q, "qd": qd, "tau": tau}, order=order)["out"]
        np.testing.assert_array_equal(found, first)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [129, 137, 255, 256, 257, 500, 1000])
def test_all_lengths(n: int) -> None:
    robot = px.chain(n, seed=n)
    state = robot.random_state(rng=n)
    wanted = robot.forward_dynamics(*state, algorithm="aba")
    for options in ({}, {"bias": "global"}, {"solver": "odd_even"}, {"solver": "odd_even", "refine": 1}):
        kernel = robot.kernel("forward_dynamics", ("cfa", options), batch=1)
        digits = 1e-6 if options.get("solver") and not options.get("refine") else 1e-8
        agree(kernel(*state), wanted, digits)
    agree(robot.kernel("forward_dynamics", "dca", batch=1)(*state), wanted, 1e-9)


def test_links_with_several_bodies_have_no_halving_in_segments() -> None:
    robot = px.chain(150, seed=1).with_floating_base()
    state = robot.random_state(rng=1)
    for algorithm in ("cfa", "dca"):
        kernel = robot.kernel("forward_dynamics", algorithm, batch=1)
        assert "; one segment: some joint has several axes; " in kernel.form
        agree(kernel(*state), robot.forward_dynamics(*state, algorithm="aba"), 1e-9)


def test_a_chain_in_segments_agrees_with_pinocchio() -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    robot = px.chain(140, seed=7)
    q, qd, tau = robot.random_state(rng=3)
    model = pin.buildModelFromXML(robot.to_urdf())
    wanted = pin.aba(model, model.createData(), q, qd, tau)
    for algorithm in FORWARD:
        agree(robot.kernel("forward_dynamics", algorithm, batch=1)(q, qd, tau), wanted, 1e-9)
    upper = np.triu(pin.crba(model, model.createData(), q))
    matrix = robot.kernel("mass_matrix", "recursive_doubling", batch=1)(q)
    agree(np.triu(matrix), upper, 1e-10)


@pytest.mark.parametrize(("n", "lanes"), [(16, 8), (21, 4), (33, 8)])
def test_columns_of_recursive_doubling_pass_several_links(n: int, lanes: int) -> None:
    robot = chain(n, "recursive_doubling")
    call = resolve(robot, "mass_matrix", ("recursive_doubling", {"segments": 2}))
    loops = looped(call, ())
    assert loops is not None
    assert loops.one_state
    q, _, _ = robot.random_state(rng=1)
    found = interpret(verify(loops.built(lanes)), {"q": q})["out"].reshape(n, n)
    agree(found, robot.mass_matrix(q, algorithm="crba", backend="numpy"), 1e-12)


def test_one_state_of_recursive_doubling() -> None:
    robot = chain(90, "recursive_doubling")
    q, _, _ = robot.random_state(rng=1)
    one = robot.kernel("mass_matrix", "recursive_doubling", batch=1)
    assert one.form.startswith("one state in all lanes: columns pass several links of the chain at once; ")
    found = one(q)
    for _ in range(2):
        np.testing.assert_array_equal(robot.mass_matrix(q, algorithm="recursive_doubling"), found)
    cut = ("recursive_doubling", {"segments": 8})
    agree(found, robot.mass_matrix(q, algorithm=cut, backend="numpy"), 1e-12)
    agree(found, robot.mass_matrix(q, algorithm="crba"), 1e-12)
    np.testing.assert_array_equal(found, found.T)


def test_other_inertias() -> None:
    robot = chain(80, "scan")
    state, inertias = robot.random_state(rng=1), robot.inertial_parameters.reshape(80, 10) * 1.25
    kernel = robot.kernel("inverse_dynamics", "scan", batch=1)
    wanted = robot.inverse_dynamics(*state, algorithm="scan", backend="numpy", inertias=inertias)
    agree(kernel(*state, inertias=inertias), wanted, 1e-10)


def test_what_is_not_cut_says_so() -> None:
    short = px.chain(20).kernel("inverse_dynamics", "lathrop", batch=1).form
    assert "one segment: more of a chain of 20 degrees of freedom save no time" in short
    assert (
        "one segment: the robot is no chain" in px.tree(90).kernel("inverse_dynamics", "scan", batch=1).form
    )
    long = px.chain(90).kernel("inverse_dynamics", "scan", batch=1)
    assert long.form.startswith("one state")
    assert "; derivatives run in no segments; " in long.jvp.form
    # Segments much lighter than what hangs on their tips lose digits in forward dynamics.
    heavy = px.chain(200).with_payload(px.chain(200).link_names[-1], 1e4)
    assert "cost digits" in heavy.kernel("forward_dynamics", "abia", batch=1).form


@pytest.mark.parametrize(
    "algorithm",
    [
        ("aba", {"segments": 4}),
        ("abia", {"form": "hybrid", "segments": 4}),
        ("cfa", {"solver": "serial", "segments": 4}),
    ],
)
def test_algorithms_that_cannot_be_cut(algorithm: Any) -> None:
    with pytest.raises(px.PhalanxError, match=r"has no option segments=4|takes segments with .* alone"):
        px.chain(90).kernel("forward_dynamics", algorithm)
    with pytest.raises(px.PhalanxError, match=r"segments=0, expected an integer from 1 on"):
        px.chain(90).kernel("inverse_dynamics", ("scan", {"segments": 0}))
