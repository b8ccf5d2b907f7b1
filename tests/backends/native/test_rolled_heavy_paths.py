# Copyright (c) 2026 The Phalanx developers
# SPDX-License-Identifier: MIT
"""Rolled kernels of divide and conquer on trees: heavy paths on heavy paths, of any shape and size."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import phalanx as px
from phalanx.program.rolled.heavy_path_tables import heavy_path_rows
from reference.sampling import MOVING_TYPES, agree

pytest.importorskip("llvmlite", reason="llvmlite is not installed")

from phalanx.backends.native.compile import Target, host
from phalanx.dispatch import resolve
from phalanx.program.lowering import unrolls
from phalanx.program.unroll_policy import serves
from reference.rolling import block_lines, kernel, lines_of, program, reference, states, tolerance

FORWARD = "forward_dynamics"
SHAPES: dict[str, list[int]] = {
    "one": [-1],
    "two on the world": [-1, -1],
    "star": [-1, *[0] * 7],
    "star on the world": [-1] * 6,
    "fork": [-1, 0, 1, 1],
    "binary": [-1, *((k - 1) // 2 for k in range(1, 31))],
    "comb": [k - 1 if k % 2 == 0 else k - 2 + (k == 1) for k in range(17)],
    "spine": [-1, *range(32), *(3 * k for k in range(11)), 33, 43, 44],
    "late branches": [-1, *range(16), *[16] * 5, 17, 18, 22],
    "arms on the world": [-1, 0, 1, -1, 3, 4, 4, -1, 7, 5, 9, 10],
}


def grown(parents: list[int], joints: tuple[str, ...] = ("revolute",), seed: int = 0) -> px.Robot:
    """A robot of given shape: link k hangs on link parents[k], in general position."""
    rng, builder = np.random.default_rng(seed), px.RobotBuilder("grown")
    builder.add_link("link-1", mass=3.0, inertia=(0.3, 0.4, 0.5))
    for k, parent in enumerate(parents):
        pose = np.eye(4)
        pose[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        pose[:3, 0] *= np.linalg.det(pose[:3, :3])
        com, pose[:3, 3], axis = rng.normal(scale=0.3, size=(3, 3))
        builder.add_link(f"link{k}", mass=rng.uniform(0.5, 2.0), com=com, inertia=rng.uniform(0.2, 0.3, 3))
        kind, axis = str(rng.choice(joints)), axis / np.linalg.norm(axis)
        builder.add_joint(f"joint{k}", kind, f"link{parent}", f"link{k}", origin=pose, axis=axis)
    return builder.build()


@cache
def shaped(shape: str, rotors: bool = False) -> px.Robot:
    robot = grown(SHAPES[shape], ("revolute", "prismatic"))
    return robot.replace(armature=np.linspace(0.0, 0.5, robot.nv)) if rotors else robot


@cache
def whole(shape: str) -> px.Robot:
    """A robot some of whose joints have several axes."""
    if shape == "floating":
        return grown(SHAPES["arms on the world"]).with_floating_base()
    if shape == "planar":
        return px.tree(11, 0.5, seed=5, joints=("planar", "revolute"))
    if shape == "all joints":
        robot = px.tree(24, 0.5, seed=6, joints=MOVING_TYPES)
        return robot.replace(armature=np.linspace(0.0, 0.5, robot.nv))
    return px.tree(24, 1.0, seed=7, joints=("spherical", "universal"))


@cache
def compiled(robot: px.Robot, optional: tuple[str, ...] = ()) -> Any:
    return kernel(program(robot, FORWARD, "dca", optional))


def agrees(robot: px.Robot, count: int = 11) -> None:
    """Compare a kernel with the reference and with articulated bodies."""
    inputs = states(robot, FORWARD, count)
    near = tolerance(robot, FORWARD, inputs[0])
    with np.errstate(all="raise"):  # nothing undefined is computed on the way
        out = compiled(robot)(*inputs)
    agree(out, reference(robot, FORWARD, "dca", *inputs), near)
    agree(out, reference(robot, FORWARD, "aba", *inputs), 10.0 * near)


EACH = [(shape, bool(k % 2)) for k, shape in enumerate(SHAPES)]  # every second one with rotors


@pytest.mark.parametrize(("shape", "rotors"), EACH)
def test_trees_of_any_shape_agree_with_the_reference(shape: str, rotors: bool) -> None:
    agrees(shaped(shape, rotors))


@pytest.mark.parametrize("shape", ["floating", "planar", "all joints", "balls"])
def test_joints_with_several_axes_agree_with_the_reference(shape: str) -> None:
    agrees(whole(shape))


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_agree_with_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reach = rng.integers(1, 8)  # how far back a link may hang
    parents = [int(rng.integers(max(-1, k - reach - 1), k)) for k in range(int(rng.integers(8, 60)))]
    agrees(grown(parents, ("revolute", "prismatic"), seed), 5)


@pytest.mark.parametrize(("shape", "rotors"), EACH)
def test_trees_agree_with_pinocchio(shape: str, rotors: bool) -> None:
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    from reference.pinocchio import model_of

    robot = shaped(shape, rotors)
    model, _ = model_of(robot.description)
    data = model.createData()
    inputs = states(robot, FORWARD, 3)
    order = [model.idx_vs[model.getJointId(name)] for name in robot.joint_names]
    wanted = np.empty_like(inputs[0])
    for state, found in zip(zip(*inputs, strict=True), wanted, strict=True):
        there = [np.empty(robot.nv) for _ in state]
        for given, x in zip(state, there, strict=True):
            x[order] = given
        found[:] = pin.aba(model, data, *there)[order]
    agree(compiled(robot)(*inputs), wanted, 10.0 * tolerance(robot, FORWARD, inputs[0]))


@pytest.mark.parametrize("shape", ["spine", "star on the world", "floating", "all joints"])
def test_wrenches_on_links_agree_with_the_reference(shape: str) -> None:
    robot = shaped(shape, rotors=True) if shape in SHAPES else whole(shape)
    inputs = states(robot, FORWARD, 9)
    wrenches = np.random.default_rng(1).standard_normal((9, len(robot.link_names), 6))
    wrenches = wrenches[:, : program(robot, FORWARD, "dca", ("external",)).layout.inputs["external"][0]]
    out = compiled(robot, ("external",))(*inputs, wrenches)
    near = tolerance(robot, FORWARD, inputs[0])
    agree(out, reference(robot, FORWARD, "dca", *inputs, external=wrenches), near)
    assert np.abs(out - compiled(robot)(*inputs)).max() > 1e-3


def test_arms_on_the_world_do_not_feel_each_other() -> None:
    robot = shaped("two on the world")
    q, qd, tau = states(robot, FORWARD, 5)
    before = compiled(robot)(q, qd, tau)
    tau[:, 0] += 1.0
    after = compiled(robot)(q, qd, tau)
    np.testing.assert_array_equal(before[:, 1], after[:, 1])
    assert (before[:, 0] != after[:, 0]).all()


# ------------------------------------------------------------------- bits


@pytest.mark.parametrize("robot", [shaped("spine", True), whole("all joints")], ids=["spine", "all joints"])
def test_a_state_gives_the_same_bits_wherever_it_stands(robot: px.Robot) -> None:
    inputs, run = states(robot, FORWARD, 29), compiled(robot)
    out = run(*inputs)
    np.testing.assert_array_equal(run(*(x[::-1] for x in inputs))[::-1], out)
    np.testing.assert_array_equal(run(*(x[5:12] for x in inputs)), out[5:12])
    np.testing.assert_array_equal(run(*(x[7] for x in inputs)), out[7])


@pytest.mark.skipif(host().bits < 512, reason="this machine has no wider registers than AVX2")
@pytest.mark.parametrize("robot", [shaped("binary"), whole("floating")], ids=["binary", "floating"])
def test_narrow_registers_give_the_same_bits(robot: px.Robot) -> None:
    inputs = states(robot, FORWARD, 13)
    narrow = kernel(program(robot, FORWARD, "dca"), target=Target(host().triple, "haswell", "", 256, True))
    np.testing.assert_array_equal(narrow(*inputs), compiled(robot)(*inputs))


def test_what_is_no_number_stays_in_its_state() -> None:
    robot = shaped("binary")
    inputs = states(robot, FORWARD, 12)
    out = compiled(robot)(*inputs)
    for value in (np.nan, np.inf):
        inputs[0][5] = value
        spoilt = compiled(robot)(*inputs)
        assert np.isnan(spoilt[5]).all()
        others = np.arange(12) != 5
        np.testing.assert_array_equal(spoilt[others], out[others])


def test_any_number_of_threads_gives_the_same_bits() -> None:
    robot = shaped("comb")
    q, qd, tau = states(robot, FORWARD, 700)
    alone, both = (
        robot.forward_dynamics(q, qd, tau, algorithm="dca", backend="native", threads=k) for k in (1, 2)
    )
    np.testing.assert_array_equal(both, alone)


# ------------------------------------------------------------------- any size


def spiny(n: int) -> list[int]:
    """A long chain; every fourth link is a side branch, every eighth has one more on it."""
    return [-1, *(k - 1 if k % 4 != 1 else max(k - 2, 0) for k in range(1, n))]


def test_the_text_does_not_grow_with_the_robot() -> None:
    (few, small), (middle, between), (many, large) = (
        block_lines(grown(spiny(n)), FORWARD, "dca") for n in (65, 129, 257)
    )
    assert middle <= few + 10
    assert many <= few + 10
    assert large - between == 2 * (between - small)


@pytest.mark.parametrize("branching", [0.02, 0.4, 1.0])
def test_ten_thousand_links_compile_to_the_text_of_few(branching: float) -> None:
    robot = px.tree(10_000, branching, seed=1)
    assert len(heavy_path_rows(robot.model).first) > 100
    few = px.tree(200, branching, seed=1)
    rolled = program(robot, FORWARD, "dca")
    assert lines_of(rolled)[0] <= 1.1 * block_lines(few, FORWARD, "dca")[0]
    run = kernel(rolled)
    q, qd, tau = states(robot, FORWARD, 2)
    wanted = robot.forward_dynamics(q, qd, tau, algorithm="aba", backend="native")
    agree(run(q, qd, tau), wanted, 1e-9)


def test_humanoids_and_forests_are_served() -> None:
    floating = px.tree(33, 0.3, seed=2).with_floating_base()
    for robot in (floating, px.tree(3000, 0.3, seed=2), shaped("arms on the world")):
        call = resolve(robot, FORWARD, "dca")
        assert serves(call)
        assert not unrolls(call)


# ------------------------------------------------------------------- tables


@pytest.mark.parametrize("robot", [shaped("spine"), whole("all joints"), px.chain(9)])
def test_rows_list_every_link_once_and_carriers_come_later(robot: px.Robot) -> None:
    model, rows = robot.model, heavy_path_rows(robot.model)
    assert sorted(rows.bodies) == model.links.tolist()
    assert rows.branches == (not model.is_chain)
    first_body = np.append(0, model.links[:-1] + 1)  # of each link's joint
    above = {
        int(last): int(model.parents[first]) for first, last in zip(first_body, model.links, strict=True)
    }
    row_of = {int(body): row for row, body in enumerate(rows.bodies)}
    for first, length, carrier, count, start in zip(
        rows.first, rows.length, rows.carrier, rows.loaded_count, rows.loaded_first, strict=True
    ):
        heavy_path = rows.bodies[first : first + length]
        assert [above[int(body)] for body in heavy_path[1:]] == heavy_path[:-1].tolist()
        assert above[int(heavy_path[0])] == (-1 if carrier == rows.no_carrier else carrier)
        assert carrier == rows.no_carrier or row_of[int(carrier)] >= first + length
        loaded = [k for k, body in enumerate(heavy_path) if body in rows.carrier]
        assert rows.place[rows.loaded[start : start + count]].tolist() == loaded
        assert rows.place[first : first + length].tolist() == list(range(length))
